"""Reductions and scans by functions of users: `Tensor.reduce` and `Tensor.scan`, Eigen's custom reducers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.interpret.bisect import bisect

RNG = np.random.default_rng(4)


def horner(total: Any, x: Any) -> Any:
    return total * 0.5 + x


def largest_size(total: Any, x: Any) -> Any:
    return total if abs(total) > abs(x) else x


def divisor(a: Any, b: Any) -> Any:
    """Euclid's: a loop inside the fold."""
    while b != 0:
        a, b = b, a % b
    return a


def folded(f: Any, x: np.ndarray, init: Any, exclusive: bool | None = None) -> np.ndarray:
    """What Python gives, in the type that is accumulated; with `exclusive` all partial results."""
    wide = np.float32 if x.dtype == np.float16 else x.dtype.type
    total, found = wide(init), []
    for element in x:
        before = total
        total = wide(f(total, wide(element)))
        found.append(before if exclusive else total)
    return np.asarray(total if exclusive is None else found).astype(x.dtype)


CASES: dict[str, tuple[Any, np.ndarray, Any]] = {
    "f32": (horner, RNG.normal(size=(7, 33)).astype(np.float32), 1.0),
    "f64": (horner, RNG.normal(size=(3, 70)), 1.0),
    "f16": (horner, RNG.normal(size=(5, 9)).astype(np.float16), 1.0),
    "c64": (horner, (RNG.normal(size=(4, 19)) + 1j * RNG.normal(size=(4, 19))).astype(np.complex64), 2.0),
    "branch": (largest_size, RNG.integers(-99, 99, (6, 40)), 0),
    "loop": (divisor, RNG.integers(1, 60, (8, 5)) * 12, 0),
    "bool": (lambda total, x: total ^ x, RNG.integers(0, 2, (6, 31)).astype(bool), False),
    "empty": (horner, np.zeros((3, 0), np.float32), 4.0),
}


@pytest.mark.parametrize("name", CASES)
def test_reduce(name: str) -> None:
    f, x, init = CASES[name]
    expected = [np.array([folded(f, row, init) for row in rows], x.dtype).reshape(-1) for rows in (x.T, x, [x.ravel()])]
    for threads in (1, 4):
        reduced = txc.jit(lambda x: tuple(x.reduce(d, f, init) for d in (0, [1], None)), threads=threads)(x)
        for got, wanted in zip(reduced, expected, strict=True):
            np.testing.assert_array_equal(np.ravel(got), wanted)
    np.testing.assert_array_equal(np.asarray(txc.asarray(x).reduce(0, f, init)), expected[0])


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_scan(name: str, exclusive: bool) -> None:
    f, x, init = CASES[name]
    for axis in (0, 1):
        rows = [folded(f, row, init, exclusive) for row in np.moveaxis(x, axis, -1)]
        expected = np.moveaxis(np.array(rows, x.dtype).reshape(np.moveaxis(x, axis, -1).shape), -1, axis)
        got = txc.jit(lambda x, axis=axis: x.scan(axis, f, init, exclusive=exclusive))(x)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", ["f32", "c64", "loop"])
def test_every_level_agrees(name: str) -> None:
    f, x, init = CASES[name]
    with Trace("f") as trace:
        t = trace.array_input("x", x)
        graph = trace.finish((t.reduce(1, f, init), t.reduce(0, f, init), t.scan(1, f, init), t.scan(0, f, init)))
    report = bisect(graph, {"x": x})
    assert report.culprit is None, str(report)


def test_an_associative_function_has_the_order_of_a_sum() -> None:
    x = RNG.normal(size=(3, 5000)).astype(np.float32)
    tree = txc.jit(lambda x: x.reduce(1, lambda a, b: a + b, 0.0, order="tree"))(x)
    np.testing.assert_array_equal(tree, txc.jit(lambda x: x.sum(1))(x))


def test_what_surrounds_a_fold_is_fused_into_it() -> None:
    lowered = txc.jit(lambda x: np.sqrt((x * 2).reduce(1, horner, 0.0))).lower(CASES["f64"][1])
    assert lowered.as_text("fused").count("kernel.generic") == 1
    assert "#tx.order<serial>" in lowered.as_text("tensor")


def test_column_major_tensors_are_folded_as_they_lie() -> None:
    x = CASES["f64"][1]
    t = txc.asarray(x, layout="col")
    np.testing.assert_array_equal(np.asarray(t.reduce([0], horner, 1.0)), [folded(horner, c, 1.0) for c in x.T])
    np.testing.assert_array_equal(np.asarray(t.reduce(None, horner, 1.0)), folded(horner, x.ravel(order="F"), 1.0))


def test_the_dtype_that_is_accumulated() -> None:
    x = RNG.integers(0, 9, 50).astype(np.int8)
    count = txc.jit(lambda x: x.reduce(0, lambda n, v: n + (v > 4), 0, dtype="i64"))(x)
    assert count == (x > 4).sum() and count.dtype == np.int64
    assert txc.jit(lambda x: x.reduce(0, horner, 0.5))(x).dtype == np.float64


def test_errors() -> None:
    x = np.ones((2, 3), np.float32)
    for message, call in {
        "reduce starts from a number, not from array([1.])": lambda x: x.reduce(0, horner, np.ones(1)),
        "gives bool for two scalars of f32": lambda x: x.reduce(0, lambda a, b: a > b, 0.0),
        "uses 1 value(s) that are known only when the compiled function runs": lambda x: x.scan(
            0, lambda a, b, k=x[0, 0]: a + b * k, 0.0
        ),
        "'chain' is not one of 'serial', 'tree'": lambda x: x.reduce(0, horner, 0.0, order="chain"),
        "an expression takes a function of scalars, not 3": lambda x: x.reduce(0, 3, 0.0),
    }.items():
        with pytest.raises(txc.TxcError) as raised:
            txc.jit(call)(x)
        assert message in str(raised.value)
