"""Scans: the seeds' examples in every spelling, their order of arithmetic, what fuses with them, every schedule."""

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.interpret.bisect import bisect

A = np.array([[1, 2, 3], [4, 5, 6]], np.int64)
V = np.array([1, 2, 3, 4], np.int64)
RNG = np.random.default_rng(3)


EXAMPLES = [[1, 3, 6], [4, 9, 15]], [1, 3, 6, 10], [0, 1, 3, 6], [1, 2, 6, 24], [1, 1, 2, 6]


def examples(a: Any, v: Any) -> Any:
    return a.cumsum(1), v.cumsum(0), v.cumsum(0, exclusive=True), v.cumprod(0), v.cumprod(0, True)


@pytest.mark.parametrize("layout", ["row", "col"])
def test_the_examples_of_the_eigen_documents_as_methods(layout: str) -> None:
    for got, wanted in zip(examples(txc.asarray(A, layout=layout), txc.asarray(V)), EXAMPLES, strict=True):
        np.testing.assert_array_equal(np.asarray(got), wanted)


@pytest.mark.parametrize("threads", [1, 4])
def test_the_examples_of_the_eigen_documents_compiled(threads: int) -> None:
    module = txc.compile_source(
        "def examples(a: i64[n, m], v: i64[k]):\n"
        "    return a.cumsum(1), v.cumsum(0), cumsum(v, 0, exclusive=True), cumprod(v, 0), v.cumprod(0, True)\n"
    )
    for found in (txc.jit(examples, threads=threads)(A, V), module.examples(A, V)):
        for got, wanted in zip(found, EXAMPLES, strict=True):
            np.testing.assert_array_equal(got, wanted)


def functions(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (
        np.cumsum(x, axis=1), np.cumprod(x, axis=-1), x.cumsum(), np.cumsum(x, 0, dtype=np.float64),
        np.add.accumulate(x), np.maximum.accumulate(x, axis=1), np.minimum.accumulate(x),
        np.logaddexp.accumulate(x, axis=1), np.logical_and.accumulate(x > 0, axis=1), np.logical_or.accumulate(x > 1),
        np.cumulative_sum(x, axis=1, include_initial=True), np.cumulative_prod(x, axis=0),
        np.cumulative_sum(x[0]), np.cumsum(e / e.sum(axis=1, keepdims=True), axis=1) * 2, np.cumsum(x.T[::-1], axis=0),
    )  # fmt: skip


def test_numpy_functions_under_jit() -> None:
    x = RNG.normal(size=(6, 37)).astype(np.float32)
    for number, (got, wanted) in enumerate(zip(txc.jit(functions)(x), functions(x), strict=True)):
        assert got.dtype == wanted.dtype, f"result {number}"
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5, err_msg=f"result {number}")


def test_small_integers_and_bools_add_up_in_64_bits() -> None:
    x = np.full(300, 200, np.uint8)
    got = txc.jit(lambda x: (x.cumsum(), (x > 0).cumsum(), np.maximum.accumulate(x)))(x)
    for found, wanted in zip(got, (x.cumsum(), (x > 0).cumsum(), x), strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_along_outer_dims_floats_add_up_as_in_numpy() -> None:
    x = RNG.normal(size=(300, 40)).astype(np.float32)
    x[0, 3] = -0.0
    got = txc.jit(lambda x: np.cumsum(x, axis=0))(x)
    wanted = np.cumsum(x, axis=0)
    np.testing.assert_array_equal(got.view(np.uint32), wanted.view(np.uint32))


def test_the_sum_of_no_elements_is_zero_and_of_negative_zeros_negative() -> None:
    x = np.full((2, 9), -0.0, np.float32)
    up_to, before = txc.jit(lambda x: (x.cumsum(1), x.cumsum(1, exclusive=True)))(x)
    assert np.signbit(up_to).all() and not np.signbit(before).any()


SCHEDULES = {
    "rows": ((7, 2100), 1),
    "one long row": ((40_001,), 0),
    "bands": ((40, 2500), 0),
    "bands of a middle dim": ((3, 5, 70), 1),
    "without neighbours": ((4, 33, 1), 1),
    "shorter than a run": ((5, 3), 1),
    "no elements": ((0, 4), 0),
    "no rows": ((0, 4), 1),
}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("exclusive", [False, True])
def test_every_level_and_any_number_of_threads_agree(name: str, exclusive: bool) -> None:
    shape, axis = SCHEDULES[name]
    x = RNG.normal(size=shape).astype(np.float32)
    with Trace("f") as trace:
        t = trace.array_input("x", x)
        graph = trace.finish((t * 3).cumsum(axis, exclusive=exclusive) - t)
    report = bisect(graph, {"x": x})
    assert report.culprit is None, str(report)

    def f(x: Any) -> Any:
        return (x * 3).cumsum(axis, exclusive=exclusive) - x

    expected = txc.jit(f, threads=1)(x)
    for threads in (2, 5):
        np.testing.assert_array_equal(txc.jit(f, threads=threads)(x), expected)


def test_several_stretches_of_a_long_row_agree_for_any_number_of_threads() -> None:
    x = RNG.normal(size=600_001).astype(np.float32)
    expected = txc.jit(lambda x: np.cumsum(x), threads=1)(x)
    np.testing.assert_allclose(expected, np.cumsum(x.astype(np.float64)), rtol=1e-4, atol=1e-2)
    for threads in (2, 5):
        np.testing.assert_array_equal(txc.jit(lambda x: np.cumsum(x), threads=threads)(x), expected)


def test_elements_are_computed_once_and_prefixes_go_on_to_the_next_map() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sqrt(np.cumsum(np.exp(x), axis=1)) + y

    x, y = RNG.normal(size=(2, 5, 64))
    text = txc.jit(f).lower(x, y).as_text("fused")
    assert text.count("kernel.generic") == 1 and " scan inclusive " in text
    np.testing.assert_allclose(txc.jit(f)(x, y), f(x, y))


def test_errors() -> None:
    x = np.ones((2, 3), np.float32)
    with pytest.raises(txc.TxcError, match="axis 2 is out of range for rank 2"):
        txc.jit(lambda x: x.cumsum(2))(x)
    with pytest.raises(txc.TxcError, match=r"np\.hypot\.accumulate is not supported|np\.hypot is not supported"):
        txc.jit(lambda x: np.hypot.accumulate(x))(x)
    with pytest.raises(txc.TxcError, match=r"np\.arctan2\.accumulate is not supported|np\.arctan2 is not supported"):
        txc.jit(lambda x: np.arctan2.accumulate(x))(x)
    with pytest.raises(txc.TxcError, match=r"cumulative_sum of f32\[2, 3\] needs an axis|needs an axis"):
        txc.jit(lambda x: np.cumulative_sum(x))(x)
