"""One way to run a module of any stage: inputs in, results out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...dialects.attributes import BufferInfo, BufferType, from_attr
from . import kernel, loops, tensor
from .memory import bind_symbols, evaluate, uninitialized
from .setup import function_of

__all__ = ["run_stage"]

Array = np.ndarray[Any, Any]


def run_stage(
    stage: str, module: ModuleOp, inputs: Sequence[Array], symbols: Mapping[str, int], *, has_fma: bool = True
) -> list[Array]:
    """The results of a module that is at `stage`, one of `stages.IR_STAGES`; `inputs` are not written.

    `symbols` gives the symbols that are no dim of an input.  Raises InterpretError (ValueError above `fused`).
    """
    if stage == "fused":
        return kernel.run(module, inputs, symbols, has_fma=has_fma)
    if stage not in ("buffers", "loops"):
        return tensor.run(module, inputs, symbols)
    function = function_of(module)
    infos = [a.type.data for a in function.body.block.args if isinstance(a.type, BufferType)]
    named = [(f"input {i}", info.dims, array) for i, (info, array) in enumerate(zip(infos, inputs))]
    env = bind_symbols(symbols, named)
    held = [np.array(a, order="K") for a in inputs]
    held += [_fresh(info, env) for info in infos[len(inputs) :]]
    run = kernel.run if stage == "buffers" else loops.run
    run(module, held, symbols, has_fma=has_fma)
    return [held[number] for number in from_attr(function.attributes["tx.outputs"])]


def _fresh(info: BufferInfo, env: Mapping[Any, Any]) -> Array:
    """An output's memory, with the strides of its type."""
    dims = [int(evaluate(d, env)) for d in info.dims]
    strides = [int(evaluate(s, env)) for s in info.strides]
    if 0 in dims:
        return np.empty(dims, info.dtype.numpy)
    size = 1 + sum(s * (d - 1) for s, d in zip(strides, dims))
    flat = uninitialized([size], info.dtype)
    return np.ndarray(dims, flat.dtype, flat, 0, [s * flat.itemsize for s in strides])
