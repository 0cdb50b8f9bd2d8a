"""A reduction that makes the row it reads has the same bits, and a whole row, at every length.

See `passes/schedule/rows/fuse_map_into_reduction.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.config.options import Options
from txc.compiler.interpret.loops import run as run_loops
from txc.compiler.pipeline import run_stages

RNG = np.random.default_rng(4)


def normalised(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def with_another(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e * x, axis=1, keepdims=True)


def below_the_largest(x: Any) -> Any:
    e = np.exp(x - np.min(x, axis=1, keepdims=True))
    return e - np.max(e, axis=1, keepdims=True)


def by_panels(x: Any) -> Any:
    return normalised(x + x.reshape(x.shape[1], x.shape[0]).T)


PROGRAMS = [normalised, with_another, below_the_largest, by_panels]
APART = "tx-schedule-cpu{fuse-reductions=false}"


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_bits_are_those_of_rows_stored_before(program: Callable[[Any], Any], dtype: str) -> None:
    joined, apart = txc.jit(program), txc.jit(program, passes=APART)
    for columns in (1, 2, 7, 16, 31, 33, 63, 64, 65, 127, 130, 1023, 1025, 3000):
        x = RNG.standard_normal((5, columns)).astype(dtype)
        assert joined(x).tobytes() == apart(x).tobytes()
        np.testing.assert_allclose(joined(x), program(x), 1e-4 if dtype == "f4" else 1e-12)


@pytest.mark.parametrize("program", PROGRAMS)
def test_there_is_a_loop_less(program: Callable[[Any], Any]) -> None:
    x = RNG.standard_normal((5, 130)).astype("f4")
    joined, apart = (str(txc.jit(program, passes=p).lower(x).as_text("loops")) for p in ("", APART))
    assert joined.count("loop.for") == apart.count("loop.for") - 1


@pytest.mark.parametrize("program", PROGRAMS)
def test_loops_say_the_same_as_their_code(program: Callable[[Any], Any]) -> None:
    x = RNG.standard_normal((5, 130)).astype("f4")
    module = run_stages(txc.jit(program).graph(x), Options.of(threads=1), stop_after="loops").module
    assert module is not None
    expected = txc.jit(program)(x)
    (*_, found) = run_loops(module, [x.copy(), np.empty_like(expected)], {"x.0": 5, "x.1": 130})
    np.testing.assert_array_equal(found, expected)
