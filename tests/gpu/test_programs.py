"""Python programs on a GPU: what the host and kernels share of them, and generated ones beside Python."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from ..frontend.programs.compare import FAULTS, compare
from ..frontend.programs.generate import generate
from .devices import GPUS, on_gpus


def numbers_between_kernels(x: Any, y: Any, n: Any) -> Any:
    """One kernel computes a number, and another one stores it."""
    y[x.argmin()] += x[2] * 0.5
    k = 0
    while k < n:
        y[k] = y[3] + x[k]
        k += 1
    s = 0.0
    for i, v in enumerate(x):
        y[i] = s + y[i]
        s -= 3 * v
    return x, s


def counters_that_index(x: Any, y: Any, n: Any) -> Any:
    k = 1
    for i in range(1, len(x)):
        while k < i:
            x[k] += k * y[i]
            k += n + 1
    return k


def several_results(x: Any, y: Any, n: Any) -> Any:
    """Each path has results that the other one leaves without a value."""
    z = x
    if y.all():
        for _ in range(n):
            z = z[::1]
        return (z, y.sum())
    if y[0] > n:
        return y * 2
    return x


def errors_behind_stores(x: Any, y: Any, n: Any) -> Any:
    v = x[1:] * 2
    y[1] = 6
    if not y.argmax():
        raise ValueError("the largest is the first")
    y[x.argmax() + n] = 1
    return v


X, Y = np.array([3.0, 1.0, 4.0, 1.5, 9.0]), np.array([2.0, 7.0, 1.0, 8.0, 2.5])


@GPUS
@pytest.mark.parametrize(
    "program", [numbers_between_kernels, counters_that_index, several_results, errors_behind_stores]
)
def test_it_does_what_python_does(program: Callable[..., Any], device: str) -> None:
    f = txc.jit(program, device=device)
    for x, y, n in ((X, Y, 3), (Y, X, 2), (X, Y - 2.5, 1), (X, Y - 2, 1), (X, Y[::-1], 0), (X * 0, Y * 9, 4)):
        expected, got = (outcome(g, *copy.deepcopy((x, y, n))) for g in (program, f))
        assert repr(got) == repr(expected)


def outcome(f: Callable[..., Any], *arguments: Any) -> Any:
    """What a call gives or raises, and what it leaves in its arguments."""
    try:
        return f(*arguments), arguments
    except (ValueError, IndexError) as error:
        return type(error), arguments


@pytest.mark.parametrize(("device", "seed"), on_gpus(range(3_000, 3_120), most=16))
def test_generated_programs(device: str, seed: int) -> None:
    program = generate(seed)
    outcome = compare(program, device=device)
    assert outcome.verdict not in FAULTS, f"{program.text}# {program.calls}\n{outcome.detail}"


@GPUS
def test_a_size_that_values_decide_is_refused_at_its_line(device: str) -> None:
    def positive(x: Any) -> Any:
        y = x * 2
        return y[y > 1]

    with pytest.raises(txc.TxcError, match=r"(?s)values decide.*TX0252.*return y\[y > 1\].*run it on the CPU"):
        txc.jit(positive, device=device)(X)
