"""The length of what is compiled does not grow with sizes or with how often loops run."""

from __future__ import annotations

import numpy as np
import pytest

import txc
from txc.compiler.frontend.tx.parser import parse
from txc.compiler.pipeline import run_stages

from .frontend.control import same

#: ``S`` stands for a size.
PROGRAMS = {
    "map": "def f(x: f32[S], y: f32[S]) -> f32[S]:\n    return exp(x) * y + 1.0\n",
    "sum": "def f(x: f32[S]) -> f32:\n    return x.sum()\n",
    "columns": "def f(x: f32[S, 7]) -> f32[7]:\n    return x.sum([0])\n",
    "contraction": "def f(x: f32[30, S], y: f32[S, 20]) -> f32[30, 20]:\n    return x @ y\n",
    "scan": "def f(x: f32[S]) -> f32[S]:\n    return x.cumsum(0)\n",
    "loop": "def f(x: f32[S]) -> f32[S]:\n    for i in range(S):\n        x = x * 0.5 + 1.0\n    return x\n",
}


def lengths(source: str) -> tuple[int, int]:
    """The lines of stage `loops` and of the LLVM IR."""
    (function,) = parse(source, "sizes.tx").functions.values()
    loops = run_stages(function.graph(), stop_after="loops").module
    llvm = run_stages(function.graph(), stop_after="llvm").llvm
    assert loops is not None and llvm is not None
    return len(str(loops).splitlines()), len(llvm.splitlines())


@pytest.mark.parametrize("name", PROGRAMS)
def test_code_for_known_sizes_is_no_longer_for_larger_ones(name):
    small, large, larger = (lengths(PROGRAMS[name].replace("S", str(size))) for size in (10, 10**5, 10**6))
    assert large[0] == larger[0] and larger[1] <= 1.1 * large[1]
    # Small sizes need no blocks; what they have instead is bounded.
    assert small[0] <= 2 * larger[0] and small[1] <= 2 * larger[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_code_for_any_size_is_not_much_longer_than_for_one(name):
    known, symbolic = (lengths(PROGRAMS[name].replace("S", size)) for size in ("1000000", "n"))
    assert symbolic[0] <= 2 * known[0] and symbolic[1] <= 2 * known[1]


def by_for(x, n):
    for i in range(n):
        x = x * 0.5 + i
    return x


def by_while(x, n):
    i = 0
    while i < n:
        x = x * 0.5 + i
        i += 1
    return x


def by_fori_loop(x, n):
    return txc.fori_loop(0, n, lambda i, x: x * 0.5 + i, x)


@pytest.mark.parametrize("loop", [by_for, by_while, by_fori_loop])
def test_one_version_serves_every_number_of_iterations(loop):
    jitted = txc.jit(loop)
    for n in (10, 1000, 2000):
        np.testing.assert_allclose(jitted(np.ones(3), n), loop(np.ones(3), n), rtol=1e-12)
    assert jitted.explain_compile().count("compiled because") == 1


def counts(x, rounds):
    i = 0
    while i < int(rounds):
        x = x * 0.5 + i
        i += 1
    return x, i


def first_assigned_inside(x, rounds):
    i = 0
    while i < int(rounds):
        y = x * 0.5
        x = y + i
        i += 1
    return x, y, i  # pyright: ignore[reportPossiblyUnboundVariable]


def counts_first(x, rounds):
    i = 0
    while i < int(rounds):
        i += 1
        if i % 3 == 0:
            continue
        x = x * 0.5 + i
    return x, i


def by_a_float(x, rounds):
    share, total = 1.0, 0
    while share > 0.5 ** int(rounds):
        total += share * x
        share *= 0.5
    return total, share


def until_it_is_large(x, rounds):
    i = 0
    while i < int(rounds):
        if x.sum() > 1000:
            break
        x = x + i
        i += 1
    return x, i


def stores(x, rounds):
    i = 0
    while i < int(rounds):
        x[i % 3] += i
        i += 1


def gets_floats(x, rounds):
    x, i = x.astype(np.int64), 0
    while i < int(rounds):
        x = x * 0.5
        i += 1
    return x


@pytest.mark.parametrize(
    "loop", [counts, first_assigned_inside, counts_first, by_a_float, until_it_is_large, stores, gets_floats]
)
def test_a_while_over_numbers_known_while_staging_is_no_longer_for_more_rounds(loop):
    texts = []
    for rounds in (5, 20, 900):
        jitted = same(loop, (np.arange(3.0), rounds))
        texts.append(str(jitted.graph(np.arange(3.0), rounds)).splitlines())
    short, long, longer = texts
    assert len(long) == len(longer)
    written_out = not any(" while " in line or " for " in line for line in short)
    assert written_out is (loop is not until_it_is_large)
