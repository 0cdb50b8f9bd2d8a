"""Asking for lines ahead changes no bit, at whatever size a loop ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc


def neighbours(x: Any) -> Any:
    return x[1:-1] + x[:-2] * x[2:] + x[1:-1]


def of_rows(x: Any) -> Any:
    return x / (np.sum(np.abs(x), axis=1, keepdims=True) + np.max(x, axis=0))


def padded(x: Any) -> Any:
    return np.pad(x, 1) * 2.0


def beside(x: Any) -> Any:
    return np.concatenate([x, x[:, 1:]], axis=1)


@pytest.mark.parametrize("program", [neighbours, of_rows, padded, beside])
@pytest.mark.parametrize("shape", [(3, 5), (40, 33), (300, 517)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_results_have_the_same_bits(program: Callable[..., Any], shape: tuple[int, int], dtype: str):
    x = np.random.default_rng(3).standard_normal(shape).astype(dtype)
    asking, without = txc.jit(program), txc.jit(program, passes="tx-schedule-cpu{ahead=false}")
    assert asking(x).tobytes() == without(x).tobytes()
    assert "loop.prefetch" in str(asking.lower(x).as_text("loops"))
    assert "loop.prefetch" not in str(without.lower(x).as_text("loops"))


def test_places_that_are_data_are_not_asked_for():
    x, places = np.arange(40.0), np.array([3, 1, 39, 0])
    lowered = txc.jit(lambda x, i: x[i] * 2).lower(x, places)
    asked = [line for line in lowered.as_text("loops").splitlines() if "loop.prefetch" in line]
    assert asked and not any("loop.prefetch %x" in line for line in asked)
