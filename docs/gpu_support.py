"""Which ops become PTX, measured by compiling each: ``python docs/gpu_support.py`` writes docs/gpu_support.json.

For each op the element types of one kind each (`KINDS`) for which a function that only applies it compiles for `sm_90`.
`docs/operations.md` shows them, and `tests/test_operations.py` compiles part of them again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from txc.compiler.codegen.machine import make_target
from txc.compiler.codegen.target import Target
from txc.compiler.frontend.apply import apply
from txc.compiler.frontend.trace import Trace
from txc.compiler.options import Options
from txc.compiler.pipeline import run_stages
from txc.dialects import ops as _ops  # noqa: F401  (fills the registry)
from txc.dialects.registry import OPS, Composite, Map, Op, OpError, Reduction, Scan, View
from txc.dialects.types import DTYPES

__all__ = ["KINDS", "TARGET", "compiled_kinds", "measured"]

TARGET = Path(__file__).with_name("gpu_support.json")
#: One element type of each kind of arithmetic.
KINDS = ("i32", "f32", "c64")
SHAPE = (4, 6)
PARAMETERS: dict[str, dict[str, Any]] = {
    "broadcast": {"factors": (2, 3)},
    "cast": {"dtype": "f32"},
    "chip": {"offset": 1, "dim": 0},
    "extract_patches": {"patch_dims": (2, 2)},
    "inflate": {"strides": (2, 2)},
    "pad": {"pairs": [(1, 1), (0, 2)]},
    "reshape": {"dims": (6, 4)},
    "reverse": {"flags": (True, False)},
    "shuffle": {"permutation": (1, 0)},
    "slice": {"offsets": (1, 1), "extents": (2, 3)},
    "stride": {"strides": (2, 2)},
    "strided_slice": {"start": (0, 1), "stop": (4, 5), "strides": (1, 2)},
    "diagonal": {},
    "swap_layout": {},
}


def _target() -> Target:
    return make_target("nvptx64-nvidia-cuda", "sm_90", "+ptx80")


def _doubled(x: Any) -> Any:
    """A function with a loop."""
    while abs(x) < 100:
        x = x + x + 1
    return x


def _applied(op: type[Op], x: Any) -> Any:
    """The op on tensors like `x`; OpError where it is not defined on them."""
    if op.name == "scalar_map":
        return x.unary_expr(_doubled)
    if op.name == "fold":
        return x.reduce(1, lambda total, v: total * 2 + v, 0)
    if op.name == "running":
        return x.scan(1, lambda total, v: total * 2 + v, 0)
    if issubclass(op, Map):
        first = [x > 0] if op.name == "select" else []
        return apply(op, *first, *[x] * (op.arity - len(first)), **PARAMETERS.get(op.name, {}))
    if issubclass(op, Reduction):
        return apply(op, x, dims=(1,))
    if issubclass(op, Scan):
        return apply(op, x, axis=1)
    if op.name == "contract":
        return apply(op, x, x, pairs=[(1, 1)])
    if op.name == "concatenate":
        return apply(op, x, x, axis=0)
    if op.name == "convolve":
        return x.convolve(x.slice((0, 0), (2, 2)), [0, 1])
    if op.name == "fft":
        return x.fft([1])
    if op.name == "extract_image_patches":
        return x.reshape((1, 4, 6, 1)).extract_image_patches(2, 2)
    if op.name == "extract_volume_patches":
        return x.reshape((1, 2, 2, 6, 1)).extract_volume_patches(2, 2, 2)
    if op.name in ("take", "scatter"):
        return apply("take", x, np.array([1, 0]), axis=0)
    if issubclass(op, View | Composite) or op.name == "eval":
        return apply(op, x, **PARAMETERS.get(op.name, {}))
    raise OpError(f"{op.name} has no example here")


def compiled_kinds(op: type[Op]) -> list[str]:
    """The element types for which it becomes PTX."""
    found = []
    for name in KINDS:
        with Trace("f") as trace:
            try:
                x = trace.array_input("x", np.ones(SHAPE, DTYPES[name].numpy))
                result = _applied(op, x)
            except OpError:
                continue
            if (
                not isinstance(result, tuple)
                and op.family == "map"
                and result.element.is_float
                and not x.element.is_float
            ):
                continue  # an integer that became a float first
            graph = trace.finish(result)
        try:
            run_stages(graph, Options.of(), target=_target(), stop_after="asm")
        except Exception:  # whatever goes wrong, it is no PTX
            continue
        found.append(name)
    return found


def measured() -> dict[str, list[str]]:
    """`compiled_kinds` of every op, by name."""
    return {name: compiled_kinds(op) for name, op in sorted(OPS.items())}


if __name__ == "__main__":
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(kinds)}" for name, kinds in measured().items())
    TARGET.write_text(f'{{\n  "kinds": {json.dumps(KINDS)},\n  "ops": {{\n{lines}\n  }}\n}}\n', encoding="utf-8")
