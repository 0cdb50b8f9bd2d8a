"""Updates in place in one sweep have the bits of two, whatever rows, reach and threads.

See `passes/schedule/stencil/in_place.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import txc
from txc.compiler.config.options import Options
from txc.compiler.interpret.loops import run as run_loops
from txc.compiler.pipeline import run_stages
from txc.passes.cost.remarks import collect

from .layouts import as_tuple

RNG = np.random.default_rng(3)
APART = "tx-schedule-cpu{inplace-stencils=false}"


def heat(y: Any) -> Any:
    y = y.copy()
    for _ in range(2):
        y[1:-1, 1:-1] = y[1:-1, 1:-1] + (y[1:-1, :-2] + y[1:-1, 2:] + y[:-2, 1:-1] + y[2:, 1:-1] - 4 * y[1:-1, 1:-1])
    return y


def from_above(y: Any) -> Any:
    y = y.copy()
    for _ in range(2):
        y[3:] = y[3:] + y[:-3]
    return y


def from_below(y: Any) -> Any:
    y = y.copy()
    for _ in range(2):
        y[:-2, 1:] = y[2:, :-1] - y[1:-1, 1:]
    return y


def of_planes(y: Any) -> Any:
    y = y.reshape(y.shape[0], -1, 1) + y[0, 0]
    for _ in range(2):
        y[1:-1] = y[:-2] * 2 - y[2:]
    return y


def with_another(y: Any) -> Any:
    z, y = y * 2, y.copy()
    for i in range(2):
        y[1:-1] = y[2:] + z[:-2] * i + y[:-2]
    return y


PROGRAMS = [heat, from_above, from_below, of_planes, with_another]
#: Fewer rows than two chunks have, and than one; rows of one element, and of more than vectors hold.
SHAPES = [(7, 5), (8, 9), (9, 9), (24, 17), (25, 1), (65, 40), (200, 133)]


#: Rows that are read above and below: all up to three, in rows of which each number of either comes twice.
REACHES = [(above, (above + turn) % 4) for above in range(4) for turn in (0, 1)]


def small(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers whose sums are exact, so that no order of them shows."""
    return RNG.integers(-2, 3, shape).astype(dtype)


def sweeps(program: Callable[..., Any], *arrays: np.ndarray) -> bool:
    with collect() as remarks:
        run_stages(txc.jit(program).graph(*arrays), stop_after="loops")
    return any("in place, one pass with a ring buffer" in str(remark) for remark in remarks)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i2", "c8"])
def test_results_are_those_of_numpy(program: Callable[..., Any], dtype: str) -> None:
    """Of f4 by code in which no index is outside and no temporary too short."""
    usual = txc.jit(program, check_bounds=dtype == "f4")
    for threads in (1, 2, 3, 5):
        made = usual.options(threads=threads)
        for shape in SHAPES:
            x = small(shape, dtype)
            np.testing.assert_array_equal(made(x), program(x), f"{shape} by {threads} threads")
    assert sweeps(program, small((65, 40), dtype))


@pytest.mark.parametrize("program", PROGRAMS)
def test_bits_are_those_of_two_sweeps(program: Callable[..., Any]) -> None:
    made = [txc.jit(program, threads=2, passes=passes) for passes in ("", APART)]
    for shape in SHAPES:
        x = RNG.standard_normal(shape).astype("f4")
        for given_ in (x, np.asfortranarray(x)):
            one, two = (f(given_) for f in made)
            assert np.asarray(one).tobytes() == np.asarray(two).tobytes()


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("shape", [(9, 9), (24, 17)])
def test_loops_say_the_same_as_their_code(program: Callable[..., Any], shape: tuple[int, int]) -> None:
    x = small(shape, "f8")
    expected = program(x)
    module = run_stages(txc.jit(program).graph(x), Options.of(threads=3), stop_after="loops").module
    assert module is not None
    (*_, found) = run_loops(module, [x.copy(), np.empty_like(expected)], dict(zip(("y.0", "y.1"), shape)))
    np.testing.assert_array_equal(found, expected)


@cache
def update_of_reach(above: int, below: int) -> tuple[Callable[..., Any], Any]:
    """An update that reads so many rows above and below, in Python and compiled."""

    def update(y: Any) -> Any:
        y = y.copy()
        n = y.shape[0] - above - below
        for _ in range(2):
            y[above : above + n] = y[:n] * 2 - y[above + below : above + below + n]
        return y

    return update, txc.jit(update)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(3, 90), columns=st.integers(1, 40), reach=st.sampled_from(REACHES), threads=st.integers(1, 4),
)  # fmt: skip
def test_any_reach(rows: int, columns: int, reach: tuple[int, int], threads: int) -> None:
    update, made = update_of_reach(*reach)
    x = small((rows + sum(reach), columns), "f8")
    np.testing.assert_array_equal(made.options(threads=threads)(x), update(x))


def test_an_argument_is_updated_in_place() -> None:
    def step(y: Any) -> None:
        y[1:-1] = y[:-2] + y[2:] * 2

    made = txc.jit(step, threads=2)
    for shape in SHAPES:
        x = small(shape, "f4")
        expected = x.copy()
        step(expected)
        made(x)
        np.testing.assert_array_equal(x, expected)
    assert sweeps(step, small((65, 40), "f4"))


def turned(y: Any) -> Any:
    y = y.copy()
    for _ in range(2):
        y[1:] = y[:-1] + y.T[:-1]
    return y


def of_one_dim(y: Any) -> Any:
    y = y.reshape(-1) + 0
    for _ in range(2):
        y[1:-1] = y[2:] + y[:-2]
    return y


def upside_down(y: Any) -> Any:
    y = y.copy()
    for _ in range(2):
        y[1:] = y[:-1] + y[::-1][1:]
    return y


def with_a_use_of_what_was_made(y: Any) -> Any:
    y, total = y.copy(), y[0].copy()
    for _ in range(2):
        new = y[2:] + y[:-2]
        y[1:-1] = new
        total = total + new.sum(0)
    return y, total


@pytest.mark.parametrize("program", [turned, of_one_dim, upside_down, with_a_use_of_what_was_made])
def test_what_reads_rows_far_away_is_computed_aside(program: Callable[..., Any]) -> None:
    x = small((40, 40), "f8")
    assert not sweeps(program, x)
    for found, expected in zip(as_tuple(txc.jit(program)(x)), as_tuple(program(x)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_rows_of_which_the_second_cache_holds_no_ring_are_computed_aside() -> None:
    """Known only when it runs: both ways are in the code."""
    graph = txc.jit(from_above).graph(np.ones((20, 4), "f4"))
    text = str(run_stages(graph, Options.of(), stop_after="loops").module)
    assert text.count("loop.if") == 1
    x = small((30, 40_000), "f4")
    np.testing.assert_array_equal(txc.jit(from_above, threads=2, check_bounds=True)(x), from_above(x))
