"""Index arrays and positions that are data: gathers, scatters, `ufunc.at`, and loops that store where data says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .control import every_stage, same

RNG = np.random.default_rng(11)
X = RNG.standard_normal((5, 6))
CUBE = RNG.standard_normal((3, 4, 5))
#: With negative indices, and elements that are named twice.
I = np.array([0, 3, -1, 3])
J = np.array([[0, 1], [-2, 1]])


def reads(x, i):
    return x[i], x[:, i], x[i, 1], x[1, i], x[i, i], x[i[:, None], i], x[None, i], x[i, None], x[i][:, ::2], x[i, 1:4]


def reads_of_three_dims(x, i):
    j = i % 3
    return x[j, :, j], x[j, 1:3, 0], x[:, j, 2], x[0, :, j], x[:, j[:, None], j], x[..., j], x[j, None, :, j]


def reads_by_matrices(x, j):
    return x[j], x[j, 0], x[:, j], x[j, j + 1]


def stores(x, i):
    x[i] = np.ones(6) * 2
    x[:, i] += 1
    x[1, i] = 7.0
    x[i, i] *= 3
    x[1:4][i % 3, 2] = x[0, i]
    x.T[i, 0] -= 5
    return x


def stores_of_three_dims(x, i):
    j = i % 3
    x[j, :, j] = np.arange(16.0).reshape(4, 4)
    x[:, j, 1] += x[:, 0, j]
    x[0, 1:3, j] = -1
    return x


def last_value_stays(x, i):
    x[i] = np.arange(24.0).reshape(4, 6)
    x[:, 2][i] = np.arange(4.0)
    return x


def no_accumulation(x, i):
    x[i] += 1
    x[i, 0] += np.arange(4.0)
    return x


def reads_what_it_stores(x, i):
    x[i] = x[::-1][i] * 2
    x[:4, 0] = x[i, 0]
    x[i, 1] = x[:4, 1]
    return x


def accumulator_dtype(x, i):
    np.add.at(x, i, 1.5)
    np.subtract.at(x, (i, 0), np.arange(4.0))
    np.maximum.at(x, (slice(None), i), 0.25)  # pyright: ignore[reportArgumentType]
    np.multiply.at(x[1:], i % 2, x[0])
    return x


def integers_accumulate(x, i):
    counts = np.zeros(5, dtype=np.int32)
    np.add.at(counts, i, 1)
    flags = np.zeros(5, dtype=np.bool_)
    np.logical_or.at(flags, i, x[:4, 0] > 0)
    return counts, flags


def complex_numbers(x, i):
    z = x * (1 + 2j)
    z[i] = z[:4] * 1j
    np.add.at(z, i, z[1])
    return z


def histogram_in_a_loop(x, i):
    counts = np.zeros(5, dtype=np.int64)
    for k in range(i.shape[0]):
        counts[i[k]] += 1
    return counts


def sums_by_label(x, i):
    sums = np.zeros((5, x.shape[1]))
    for k in range(i.shape[0]):
        sums[i[k]] += x[k]
        sums[i[k], 0] = k
        sums[2, i[k]] -= 1
    return sums


def walks_by_data(x, i):
    at = 0
    total = 0.0
    for _ in range(6):
        total += x[at, 0]
        at = i[at % 4]
    return total


def follows_links(x, i):
    """An index array that is replaced while it is followed."""
    for k in range(3):
        i[i[k]] = i[k]
    return i


@pytest.mark.parametrize(
    "f",
    [
        reads, stores, last_value_stays, no_accumulation, reads_what_it_stores, accumulator_dtype, integers_accumulate,
        complex_numbers,
    ],
)  # fmt: skip
@pytest.mark.parametrize("order", ["C", "F"])
def test_of_matrices(f: Callable[..., Any], order: Any):
    x = np.array(X, order=order)
    every_stage(same(f, (x, I), (x, I.astype(np.int8))), x, I)


@pytest.mark.parametrize("f", [histogram_in_a_loop, sums_by_label, walks_by_data])
def test_in_loops(f: Callable[..., Any]):
    every_stage(same(f, (X, I), (X, I[::-1].copy())), X, I)


@pytest.mark.parametrize("f", [reads_of_three_dims, stores_of_three_dims])
def test_of_three_dims(f: Callable[..., Any]):
    every_stage(same(f, (CUBE, I)), CUBE, I)


def test_by_matrices():
    every_stage(same(reads_by_matrices, (X, J)), X, J)


def test_links():
    links = np.array([2, 0, 1, 3])
    every_stage(same(follows_links, (X, links)), X, links)


def test_threads_change_nothing():
    """Rows wide enough for several threads, with elements named many times."""
    rng = np.random.default_rng(3)
    values, where = rng.standard_normal((200, 3000)).astype(np.float32), rng.integers(0, 7, 200)

    def f(values, where):
        sums = np.zeros((7, values.shape[1]), np.float32)
        np.add.at(sums, where, values)
        return sums

    one, two = (txc.jit(f, threads=n)(values, where) for n in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, f(values, where))


def test_a_position_is_stored_without_a_copy():
    """In a loop a store at a position that is data moves one element, whatever the size of the tensor."""
    text = txc.jit(histogram_in_a_loop).lower(X, I).as_text("buffers")
    inside = text[text.index("kernel.for ") :]
    assert inside.count("kernel.scatter") == 1
    assert "kernel.generic" not in inside[: inside.index("kernel.scatter")]


def test_tensors_in_memory():
    """Stores reach the memory at once, through views and parts too."""
    x = X.copy()
    t = txc.TensorMap(x)
    expected = X.copy()
    for y in (t, expected):
        y[I] = 3.0
        y[:, 1:3][I, 1] = 4.0
        y[I, 0] += 1.0
        np.add.at(y, (I, 5), 1.0)  # pyright: ignore[reportArgumentType]
    np.testing.assert_array_equal(x, expected)
    z = X + 1j
    txc.TensorMap(z).real[I] = 5.0
    np.testing.assert_array_equal(z.real[I], 5.0)
    np.testing.assert_array_equal(z.imag, 1.0)
    with pytest.raises(TxcError, match="read-only memory"):
        txc.TensorMap(np.frombuffer(X.tobytes()))[I[:1]] = 1.0


def test_a_compiled_function_stores_into_tensors_from_outside():
    t = txc.Tensor("f64", (5, 6))
    t[...] = X

    @txc.jit
    def f(i):
        t[i] = 1.0
        np.add.at(t, (i, 0), 1.0)  # pyright: ignore[reportArgumentType]

    f(I)
    expected = X.copy()
    expected[I] = 1.0
    np.add.at(expected, (I, 0), 1.0)  # pyright: ignore[reportArgumentType]
    np.testing.assert_array_equal(np.asarray(t), expected)


@pytest.mark.parametrize("in_memory", [False, True])
def test_lazy_tensors(in_memory: bool):
    t = txc.asarray(X.copy()) * 1
    if in_memory:
        np.asarray(t)  # computed: its elements are in memory from now on
    t[I] = 3.0
    np.add.at(t, (I, 0), 1.0)  # pyright: ignore[reportArgumentType]
    expected = X.copy()
    expected[I] = 3.0
    np.add.at(expected, (I, 0), 1.0)  # pyright: ignore[reportArgumentType]
    np.testing.assert_array_equal(np.asarray(t), expected)


@pytest.mark.parametrize(
    ("shape", "mask"),
    [((2, 3), (2, 2)), ((2, 3), (3,)), ((0, 0), (0, 1)), ((2, 3), (0, 2)), ((4,), (4, 1)), ((), (1,))],
)
def test_masks_of_other_sizes(shape, mask):
    """As NumPy: an IndexError."""
    x, chosen = txc.ones(shape), np.ones(mask, np.bool_)
    with pytest.raises(IndexError):
        np.ones(shape)[chosen]
    text = "too many indices" if len(mask) > len(shape) else f"does not fit dim .* of {x.user_type}".replace("[", r"\[")
    with pytest.raises(IndexError, match=text):
        x[txc.asarray(chosen)]
    with pytest.raises(IndexError, match=text):
        x[txc.asarray(chosen)] = 0


@pytest.mark.parametrize("mask", [(0, 3), (0, 0), (2, 0), (0,)])
def test_masks_without_elements_choose_nothing(mask):
    chosen = np.ones(mask, np.bool_)
    found = txc.ones((2, 3))[txc.asarray(chosen)]
    assert found.shape == np.ones((2, 3))[chosen].shape


def test_an_index_outside_a_lazy_tensor_is_an_index_error():
    x = txc.ones((2, 3))
    for key, text in ((2, "index 2 is out of bounds for dim 0"), ((0, 1, 2), "too many indices: 3")):
        with pytest.raises(IndexError, match=text):
            _ = x[key]


def test_lazy_tensors_outside_a_compiled_function():
    t = txc.asarray(X.copy()) * 1

    @txc.jit
    def f(v):
        t[I] = v
        return t.sum()

    expected = X.copy()
    for v in (2.0, 3.0):
        expected[I] = v
        assert f(np.full((), v)) == pytest.approx(expected.sum())
        np.testing.assert_array_equal(np.asarray(t), expected)


@pytest.mark.parametrize("true", [False, True])
def test_masks_of_rank_0(true: bool):
    t = txc.asarray(np.array(2.0))
    np.asarray(t)
    t[txc.asarray(true)] = 3.0
    assert float(t) == (3.0 if true else 2.0)
    assert t[txc.asarray(true)].shape == (int(true),)


def flags(x):
    y = x.copy()
    y[True] += 1
    y[1, True] = 5.0
    y[False] = 9.0
    return x[True], x[False], x[True, 0], x[1:, np.True_], x[True, [0, 1]], x[[0, 1], True], x[True, False], y


def test_bools_are_masks_of_rank_0():
    """As in NumPy: a flag is a new dim, of one element or none."""
    same(flags, (X,))
    for got, want in zip(flags(txc.asarray(X)), flags(X), strict=True):
        np.testing.assert_array_equal(np.asarray(got), want)


def test_column_major():
    t = txc.asarray(X.copy(), layout="col")
    gathered = t[I, 1:]
    assert gathered.layout == "col"
    np.testing.assert_array_equal(np.asarray(gathered), X[I, 1:])
    t[1:, I] = 2.0
    expected = X.copy()
    expected[1:, I] = 2.0
    np.testing.assert_array_equal(np.asarray(t), expected)


def masked(x, i):
    x[x > 0] = np.sqrt(x[x > 0]) + 1
    y = x * 2
    x[x < 0] = x[x < 0] ** 2 - y[x < 0] / 3
    chosen = x[x > 1]
    return chosen.sum(), np.mean(chosen), chosen.size, (chosen > 2).any()


def test_masked_values():
    every_stage(same(masked, (X, I), (-X, I)), X, I)


ERRORS: list[tuple[Callable[..., Any], str]] = [
    (lambda x, i: x[i * 0.5], "index arrays are integers or bools, not f64[i.shape[0]]"),
    (lambda x, i: x[i, np.arange(3)], "an index cannot broadcast i64[i.0] and i64[3]"),
    (lambda x, i: x.__setitem__(i, np.ones(5)), "cannot store f64[5] into elements of f64[x.0, x.1]"),
    (lambda x, i: x.__setitem__(i, np.ones((2, 4, 6))), "that have 2 dims"),
    (lambda x, i: np.exp.at(x, i), "np.exp.at takes an array, an index and one value"),
]


@pytest.mark.parametrize(("f", "text"), ERRORS, ids=range(len(ERRORS)))
def test_errors(f: Callable[..., Any], text: str):
    with pytest.raises(TxcError) as caught:
        txc.jit(f)(X.copy(), I)
    assert text in str(caught.value)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_parts_of_complex_elements_by_positions_in_code_without_vectors(n: int):
    """The imaginary part lies behind a place that is computed there, so it is not known before the loop."""

    def program(x, i, w):
        y = x[i[:n]]
        known = np.isnan(y.real) | (y.real == 0)
        return np.all(np.where(known, w, y.real) == np.where(known, w, 5e22)), np.any(y.imag > w), np.sum(y)

    x, i, w = np.array([1 + 2j, 0j, 5e22 + 3j]), np.arange(n) % 3, np.array(2.0)
    for got, expected in zip(txc.jit(program)(x, i, w), program(x, i, w), strict=True):
        np.testing.assert_array_equal(got, expected)
