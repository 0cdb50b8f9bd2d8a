"""Calls of a GPU's arrays that come again are made without Python's way through a call, and are the same calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.gpu.repeated_call import RepeatedCall
from txc.runtime.ptx_simulator import PtxSimulator

from .devices import GPUS

X = np.random.default_rng(4).standard_normal((6, 10)).astype(np.float32)
FACTOR = 2.0


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments of each call that was made so."""
    made: list[Any] = []
    as_it_is = RepeatedCall.__call__

    def call(self: RepeatedCall, args: Any) -> Any:
        made.append(args)
        return as_it_is(self, args)

    monkeypatch.setattr(RepeatedCall, "__call__", call)
    return made


def equal(found: Any, expected: Any) -> None:
    assert type(found) is type(expected) or isinstance(expected, np.ndarray | np.generic)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        found, expected = tuple(found.values()), tuple(expected.values())
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            equal(a, b)
    else:
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected), strict=True)


def parts(x: Any, y: Any) -> Any:
    half = (x - y) / 2
    return {"rows": half - half.mean(axis=0), "both": (half + x, y * x)}


@GPUS
def test_results_of_any_structure(device: str, repeated: list[Any]) -> None:
    made, on_cpu = txc.jit(parts, device=device), txc.jit(parts)
    for i in range(4):
        arrays = [X + np.float32(i), X[::-1] * np.float32(i)]
        equal(made(*(txc.to_device(a, device) for a in arrays)), on_cpu(*map(np.ascontiguousarray, arrays)))
    assert len(repeated) == 3, "the first call was Python's"


@GPUS
def test_arrays_of_other_forms_are_other_calls(device: str, repeated: list[Any]) -> None:
    function = txc.jit(lambda x: x * 3 - x.sum(axis=0), device=device)
    wide, narrow = txc.to_device(X, device), txc.to_device(X[:, :4], device)
    double, turned = (
        txc.to_device(X.astype(np.float64), device),
        txc.to_device(np.ascontiguousarray(X[:, :6]), device).T,
    )
    for _ in range(2):
        for array in (wide, narrow, double, turned):
            host = array.numpy()
            equal(function(array), txc.jit(lambda x: x * 3 - x.sum(axis=0))(host))
        equal(function(X), X * 3 - X.sum(axis=0))
    assert len(repeated) == 4


@GPUS
def test_what_a_function_captures_is_looked_at_again(
    device: str, repeated: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    function = txc.jit(lambda x: x * FACTOR, device=device)
    x = txc.to_device(X, device)
    for factor in (2.0, 2.0, 5.0, 5.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        equal(function(x), X * np.float32(factor))
    assert len(repeated) == 2


def stores(x: Any) -> Any:
    x[0] = 7
    return x * 2


def taken(x: Any) -> Any:
    return x[8]


@GPUS
def test_calls_that_do_more_than_launch_are_not_among_them(device: str, repeated: list[Any]) -> None:
    functions: list[Any] = [
        stores,
        taken,
        lambda x: (x, x + 1),
        lambda x: x - 1,
        lambda x, s: x * s,
        lambda x, s=2: x * s,
        lambda *xs: xs[0] * 3,
    ]
    storing, taking, same, less, scaled, doubled, collected = (txc.jit(f, device=device) for f in functions)
    for _ in range(3):
        x, expected = txc.to_device(X, device), X.copy()
        equal(storing(x), stores(expected))
        equal(x, expected)
        with pytest.raises(IndexError, match="out of bounds"):
            taking(x)
        assert same(x)[0] is x
        out = txc.to_device(np.zeros_like(X), device)
        assert less(x, out=out) is out
        equal(out, expected - 1)
        equal(scaled(x, 2.5), expected * np.float32(2.5))
        equal(doubled(x), expected * 2)
        equal(collected(x), expected * 3)
    assert repeated == []


def test_memory_is_given_back(repeated: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    function = txc.jit(lambda x: (x - x.mean(axis=0)) @ x.T, device="ptx-sim")
    x, held = txc.to_device(X, "ptx-sim"), set()
    allocate, free = PtxSimulator.allocate, PtxSimulator.free

    def noted(self: PtxSimulator, size: int) -> int:
        address = allocate(self, size)
        held.add(address)
        return address

    def given(self: PtxSimulator, address: int) -> None:
        held.discard(address)
        free(self, address)

    monkeypatch.setattr(PtxSimulator, "allocate", noted)
    monkeypatch.setattr(PtxSimulator, "free", given)
    for _ in range(3):
        result = function(x)
        assert len(held) == 1, "temporaries are not held"
        del result
    assert len(repeated) == 2 and held == set()
