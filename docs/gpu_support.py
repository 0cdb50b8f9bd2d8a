"""Which ops become PTX, measured by compiling each: ``python docs/gpu_support.py`` writes docs/gpu_support.json.

For each op the element types of one kind each (`KINDS`) for which a function that only applies it compiles for `sm_90`.
`docs/reference/operations.md` shows them, and `tests/test_operations.py` compiles part of them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import txc
from txc.compiler.codegen.target.llvm_backend import make_target
from txc.compiler.codegen.target.target import Target
from txc.compiler.config.options import Options
from txc.compiler.frontend.tensor.apply import apply
from txc.compiler.frontend.trace.graph import Graph
from txc.compiler.pipeline import run_stages
from txc.dialects import ops as _ops  # noqa: F401  (fills the registry)
from txc.dialects.registry import OPS, Map, Op, OpError, Reduction, Scan
from txc.dialects.types import DTYPES

__all__ = ["KINDS", "TARGET", "applied_to", "compiled_kinds", "measured"]

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
}


def _target() -> Target:
    return make_target("nvptx64-nvidia-cuda", "sm_90", "+ptx80")


def _grown(x: Any) -> Any:
    """A function with a loop."""
    while abs(x) < 100:
        x = x + x + 1
    return x


def _repeated(x: Any) -> Any:
    for i in range(x.shape[0]):
        x = x + x[i]
    return x


def _until(x: Any) -> Any:
    total = x
    while abs(total).sum() < 100:
        total = total + x
    return total


def _chosen(x: Any) -> Any:
    if abs(x).sum() > 1:
        return x + 1
    return x - 1


def _stored(x: Any) -> Any:
    y = x * 1
    y[1:3] = x[:2]
    return y


def _scattered(x: Any) -> Any:
    y = x * 1
    y[np.array([0, 3, 0])] = x[:3]
    return y


def _of_pairs(name: str) -> Callable[[Any], Any]:
    return lambda x: apply(name, x, x)


#: What applies an op to a tensor where applying it to tensors of one type, with `PARAMETERS`, does not.
EXAMPLES: dict[str, Callable[[Any], Any]] = {
    "scalar_map": lambda x: x.unary_expr(_grown),
    "fold": lambda x: x.reduce(1, lambda total, v: total * 2 + v, 0),
    "running": lambda x: x.scan(1, lambda total, v: total * 2 + v, 0),
    "contract": lambda x: apply("contract", x, x, pairs=[(1, 1)]),
    "concatenate": lambda x: apply("concatenate", x, x, axis=0),
    "convolve": lambda x: x.convolve(x.slice((0, 0), (2, 2)), [0, 1]),
    "cross_entropy": _of_pairs("cross_entropy"),
    "heaviside": _of_pairs("heaviside"),
    "logaddexp2": _of_pairs("logaddexp2"),
    "fft": lambda x: x.fft([1]),
    "dft": lambda x: x.fft([1]),
    "extract_image_patches": lambda x: x.reshape((1, 4, 6, 1)).extract_image_patches(2, 2),
    "extract_volume_patches": lambda x: x.reshape((1, 2, 2, 6, 1)).extract_volume_patches(2, 2, 2),
    "expand": lambda x: np.broadcast_to(x, (3, *x.shape)),
    "as_strided": lambda x: apply("as_strided", x.ravel(), offset=(3,), dims=(4, 5), strides=(4, 1)),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)),
    "squeeze": lambda x: x[:1].squeeze(0),
    "take": lambda x: x[np.array([1, 0])],
    "scatter": _scattered,
    "insert": _stored,
    "for": _repeated,
    "while": _until,
    "if": _chosen,
    "constant": lambda x: x + 1,
    "dim": lambda x: x * x.shape[0],
    "iota": lambda x: x * txc.arange(x.shape[1]),
    "fraction": lambda x: x + txc.random.uniform((4, 6), seed=1).astype(x.dtype),
    "philox": lambda x: x + txc.random.uniform((4, 6), seed=1).astype(x.dtype),
    "sort": lambda x: np.sort(x, axis=1),
    "argsort": lambda x: np.argsort(x, axis=1),
    "sort_with_positions": lambda x: apply("sort_with_positions", x, axis=1),
    "searchsorted": lambda x: np.searchsorted(np.sort(x[0]), x[1]),
    "kth_elements": lambda x: np.median(x, axis=1),
    "partition_positions": lambda x: apply("partition_positions", x, x[:, 2:3]),
    "flatnonzero": lambda x: apply("flatnonzero", x[0] != 0, extent=6),
    "cholesky": lambda x: np.linalg.cholesky(x[:, :4]),
    "eliminate": lambda x: np.linalg.solve(x[:, :4], x[:, 4:]),
    "qr": lambda x: np.linalg.qr(x).R,
    "jacobi_eigh": lambda x: np.linalg.eigvalsh(x[:, :4]),
    "eigenvalues": lambda x: np.linalg.eigvals(x[:, :4]),
    "eigenvectors": lambda x: np.linalg.eig(x[:, :4]),
    "jacobi_svd": lambda x: np.linalg.svd(x, compute_uv=False),
}


def applied_to(op: type[Op], x: Any) -> Any:
    """The op on tensors like `x`; OpError where it is not defined on them."""
    if op.name in EXAMPLES:
        return EXAMPLES[op.name](x)
    if issubclass(op, Map):
        first = [x > 0] if op.name == "select" else []
        return apply(op, *first, *[x] * (op.arity - len(first)), **PARAMETERS.get(op.name, {}))
    if issubclass(op, Reduction):
        return apply(op, x, dims=(1,))
    if issubclass(op, Scan):
        return apply(op, x, axis=1)
    return apply(op, x, **PARAMETERS.get(op.name, {}))


def _graph_of(op: type[Op], name: str) -> Graph | None:
    """A function that applies the op to a tensor of the element type `name`; None where it is not defined on it."""

    def applied(x: Any) -> Any:
        return applied_to(op, x)

    example = np.ones(SHAPE, DTYPES[name].numpy)
    try:
        graph = txc.jit(EXAMPLES.get(op.name, applied), device="ptx-sim").graph(example)
    except OpError:
        return None
    if op.family == "structural" and f" {op.name} " not in str(graph):
        raise AssertionError(f"the example of {op.name} does not hold it:\n{graph}")
    element = graph.outputs[0].type.dtype
    if op.family == "map" and element.is_float and not DTYPES[name].is_float:
        return None  # an integer that became a float first
    return graph


def compiled_kinds(op: type[Op]) -> list[str]:
    """The element types for which it becomes PTX."""
    found = []
    for name in KINDS:
        graph = _graph_of(op, name)
        if graph is None:
            continue
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
