"""Every reduction, scan and most views for operands of rank 1 to 6: machine code against the op's NumPy meaning.

As in `test_generated.py` one compiled function an op holds all its cases, here one a rank with strides known only at
run time; dtypes take turns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from txc.compiler.bisect import differing
from txc.compiler.frontend.apply import apply
from txc.dialects.registry import OPS, Reduction, Scan, View
from txc.dialects.types import tensor_type

from .generated import REDUCTIONS, SCANS, Program, any_strides, values
from .test_generated import ALL_LAYOUTS, TAME, check_reduction, check_scan, real_dtypes

RANKS = range(7)
SIZES = (2, 3, 1, 4, 2, 3)


def shapes(rank: int) -> list[tuple[int, ...]]:
    """Of usual sizes, of ones, and of no elements, where that is another shape."""
    usual = SIZES[:rank]
    empty = tuple(0 if i == rank // 2 else n for i, n in enumerate(usual))
    return [usual, usual[::-1], (1,) * rank, empty] if rank else [()]


def turn(names: list[str], at: int) -> str:
    return names[at % len(names)]


def laid_out(a: np.ndarray, at: int) -> np.ndarray:
    return list(ALL_LAYOUTS.values())[at % len(ALL_LAYOUTS)](a) if a.ndim else a


def reduction_ranks(op: type[Reduction]) -> list[tuple[int, str, tuple[int, ...]]]:
    """Ranks, dtypes and dims: every second one, or all of them."""
    names = real_dtypes(op)
    return [(rank, turn(names, rank), tuple(range(0, rank, 1 if rank % 3 == 2 else 2))) for rank in RANKS[1:]]


@pytest.mark.parametrize("op", REDUCTIONS, ids=lambda op: op.name)
def test_reduction(op: type[Reduction]) -> None:
    cases = reduction_ranks(op)
    domain = (0.5, 1.5) if op.name == "prod" else (-40, 40)
    with Program(op.name) as program:
        for rank, name, dims in cases:
            x = program.input(values(name, SIZES[:rank], 0, domain, False), any_strides(rank))
            made = apply(op, x, dims=dims)
            program.outputs.extend(made if isinstance(made, tuple) else (made,))
    executable = program.compile()
    for seed in range(4 if op.empty else 3):
        special = op.name not in TAME
        given = [
            laid_out(values(n, shapes(r)[seed], seed + i, domain, special), seed + r)
            for i, (r, n, _) in enumerate(cases)
        ]
        got = iter(executable(given))
        for x, (_, name, dims) in zip(given, cases):
            results = [next(got) for _ in range(op.results)]
            check_reduction(op, x, dims, results, f"{op.name} of {name} over {dims} for {x.shape}")


@pytest.mark.parametrize("op", SCANS, ids=lambda op: op.name)
def test_scan(op: type[Scan]) -> None:
    names = real_dtypes(op)
    cases = [(rank, turn(names, rank), rank // 2) for rank in RANKS[1:]]
    domain = (0.5, 1.5) if op.fold().name == "prod" else (-40, 40)
    with Program(op.name) as program:
        for rank, name, axis in cases:
            x = program.input(values(name, SIZES[:rank], 0, domain, False), any_strides(rank))
            program.outputs.append(apply(op, x, axis=axis, exclusive=bool(rank % 2)))
    executable = program.compile()
    for seed in range(4):
        given = [
            laid_out(values(n, shapes(r)[seed], seed + i, domain, False), seed + r) for i, (r, n, _) in enumerate(cases)
        ]
        for x, (rank, name, axis), got in zip(given, cases, executable(given), strict=True):
            what = f"{op.name} of {name} along {axis} for {x.shape}"
            check_scan(op, x, {"axis": axis, "exclusive": bool(rank % 2)}, got, what)


#: Parameters of views for operands of a rank, whose sizes are at most `SIZES`.
VIEWS: dict[str, Any] = {
    "shuffle": lambda r: {"permutation": (*range(1, r), 0)},
    "reverse": lambda r: {"flags": tuple(i % 2 == 0 for i in range(r))},
    "stride": lambda r: {"strides": tuple(1 + i % 2 for i in range(r))},
    "pad": lambda r: {"pairs": tuple(i % 3 for i in range(2 * r)), "fill": 1.0},
    "inflate": lambda r: {"strides": tuple(1 + i % 2 for i in range(r)), "fill": 0.0},
    "broadcast": lambda r: {"factors": tuple(1 + i % 2 for i in range(r))},
    "chip": lambda r: {"offset": 0, "dim": r // 2},
}
VIEW_DTYPES = ["bool", "i16", "f32", "c64", "f64", "c128", "bf16"]


@pytest.mark.parametrize("name", VIEWS)
def test_view(name: str) -> None:
    op = OPS[name]
    assert issubclass(op, View)
    cases = [(rank, turn(VIEW_DTYPES, rank), VIEWS[name](rank)) for rank in RANKS[1:]]
    with Program(name) as program:
        for rank, element, attrs in cases:
            x = program.input(values(element, SIZES[:rank], 0, (-9, 9), False), any_strides(rank))
            program.outputs.append(apply(op, x, **attrs))
    executable = program.compile()
    for seed in range(3):
        given = [laid_out(values(e, shapes(r)[seed], seed + r, (-9, 9), True), seed + r) for r, e, _ in cases]
        for x, (_, element, attrs), got in zip(given, cases, executable(given), strict=True):
            (expected,) = op.evaluate([x], op.bind([tensor_type(x.dtype, x.shape)], attrs))
            difference = differing([expected], [got])
            assert difference is None, f"{name} {attrs} of {element} for {x.shape}: {difference}"


#: How many comparisons of one result with its meaning the tests above make, by family.
COUNTED = {
    "reduction": sum(len(reduction_ranks(op)) * (4 if op.empty else 3) for op in REDUCTIONS),
    "scan": len(SCANS) * 6 * 4,
    "view": len(VIEWS) * 6 * 3,
}
