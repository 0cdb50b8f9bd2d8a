"""`kernel.custom` in the interpreters of kernels: the loops that its generator makes for these sizes, interpreted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Block, Region

from ...dialects.attributes import BufferInfo, buffer_type, dim_attr, dims_attr
from ...dialects.dims.dims import dim, packed_strides
from ...dialects.kernel import CustomOp
from ...dialects.types import dtype
from ...passes.schedule.cpu.schedule import ScheduleCpuPass
from . import loops

__all__ = ["run_custom"]

Array = np.ndarray[Any, Any]


def run_custom(op: CustomOp, ins: Sequence[Array], outs: Sequence[Array], has_fma: bool) -> None:
    """Compute `outs` from `ins`, in place."""
    buffers = [np.asarray(a, order="C") for a in (*ins, *outs)]
    infos = [BufferInfo(dtype(a.dtype), dims, packed_strides(dims)) for a in buffers for dims in [_dims(a)]]
    block = Block(arg_types=[buffer_type(info) for info in infos])
    given, made = block.args[: len(ins)], block.args[len(ins) :]
    block.add_ops([CustomOp(op.fn.data, given, made, op.params), func.ReturnOp()])
    function = func.FuncOp("foreign", FunctionType.from_lists([a.type for a in block.args], []), Region(block))
    for name in ("tx.arena", "tx.thread_arena"):
        function.attributes[name] = dim_attr(dim(0))
    function.attributes["tx.symbols"] = dims_attr(())
    module = ModuleOp([function])
    ScheduleCpuPass().apply(Context(), module)
    loops.run(module, buffers, {}, has_fma=has_fma)
    for out, computed in zip(outs, buffers[len(ins) :]):
        out[...] = computed


def _dims(a: Array) -> tuple[Any, ...]:
    return tuple(dim(n) for n in a.shape)
