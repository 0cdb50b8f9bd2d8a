"""``exact=True``: sums across chunks of Dask's arrays have the bits of the function on the one array."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.config.options import OptionError

da = pytest.importorskip("dask.array", reason="Dask is not installed")
dask = pytest.importorskip("dask", reason="Dask is not installed")

#: None of these bounds is one between blocks of an order; one chunk is empty.
ROWS = (700, 1300, 0, 1, 2999)
RANDOM = np.random.default_rng(36)
X, Y = RANDOM.normal(size=(5000, 6)), RANDOM.normal(size=(5000, 3))


def in_order(values: np.ndarray, lanes: int) -> Any:
    """The sum of a vector in the order ``tree<1024, lanes>``, as `docs/concepts/order-of-arithmetic.md` has it."""
    zero = values.dtype.type(0)
    waiting: list[tuple[int, Any]] = []
    for first in range(0, len(values), 1024):
        block = values[first : first + 1024]
        found = [np.add.accumulate(np.append(zero, block[lane::lanes]))[-1] for lane in range(lanes)]
        while len(found) > 1:
            found = [a + b for a, b in zip(found[: len(found) // 2], found[len(found) // 2 :])]
        count, value = 1, found[0]
        while waiting and waiting[-1][0] == count:
            count, value = 2 * count, waiting.pop()[1] + value
        waiting.append((count, value))
    total = waiting.pop()[1]
    while waiting:
        total = waiting.pop()[1] + total
    return total


def in_chunks(x: np.ndarray, chunks: Any = (ROWS, -1)) -> Any:
    return da.from_array(x, chunks=chunks)


def bits(made: Any) -> list[tuple[Any, ...]]:
    """Types, shapes and bytes of the results of a call."""
    arrays = [np.asarray(part) for part in (made if isinstance(made, tuple) else (made,))]
    return [(a.dtype, a.shape, a.tobytes()) for a in arrays]


def computed(made: Any, workers: int = 2) -> Any:
    return dask.compute(made, scheduler="threads", num_workers=workers)[0]


def sums(x, y):
    return x.sum(), x.mean(axis=0), (x.T / 2).sum(axis=1), y.max()


def products(x, y):
    return x.T @ y, y[:, 0] @ y, (x + 1j * x).mean(axis=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("function", "columns"), [(sums, 6), (products, (2, 4))])
def test_bits_are_those_of_one_array(function: Callable[..., Any], columns: Any, dtype: type) -> None:
    x, y = X.astype(dtype), Y.astype(dtype)
    one = txc.jit(function)(x, y)
    exact = txc.jit(function, exact=True)(in_chunks(x, (ROWS, columns)), in_chunks(y, (1100, 3)))
    for workers in (1, 2):
        assert bits(computed(exact, workers)) == bits(one)
    for part, expected in zip(one, function(x, y), strict=True):
        np.testing.assert_allclose(part, expected, rtol=2e-3 if dtype is np.float32 else 1e-9)


def test_the_order_is_the_documented_one() -> None:
    f = txc.jit(lambda x: (x.sum(), x[:, 0].sum()))
    expected = bits((in_order(X.reshape(-1), 32), in_order(X[:, 0], 32)))
    assert bits(computed(f.options(exact=True)(in_chunks(X)))) == expected
    assert bits(computed(f(in_chunks(X)))) != expected  # chunks change bits where nothing is said


def test_any_chunks_of_any_axis() -> None:
    deep = RANDOM.normal(size=(4, 3000, 7)).astype(np.float32)
    f = txc.jit(lambda x: (x.sum(axis=1), x.sum(axis=(1, 2))))
    exact = f.options(exact=True)
    for rows in ((1000, 1500, 500), (1,) * 10 + (2990,), (1023, 1, 1976), (2999, 1)):
        assert bits(computed(exact(in_chunks(deep, ((1, 3), rows, 7))))) == bits(f(deep))


def test_arrays_in_column_order_have_the_bits_of_row_major_ones() -> None:
    f = txc.jit(lambda x: (x.sum(), x.sum(axis=1)))
    exact = f.options(exact=True)(in_chunks(np.asfortranarray(X)))
    assert bits(computed(exact)) == bits(f(X))


def test_chunks_are_rechunked_to_blocks_and_as_little_as_possible() -> None:
    v = X[:, 0].copy()
    f = txc.jit(lambda v: v.sum(), exact=True)
    whole_blocks = da.from_array(v, chunks=((1024, 3072, 904),))
    assert not any("rechunk" in name for name in f(whole_blocks).dask.layers)
    assert any("rechunk" in name for name in f(da.from_array(v, chunks=1000)).dask.layers)
    assert bits(computed(f(da.from_array(v[:900], chunks=10)))) == bits(txc.jit(lambda v: v.sum())(v[:900]))


def test_what_any_order_gives_is_as_without_it() -> None:
    k = np.arange(5000) % 7
    f = txc.jit(lambda k: (k.sum(), k.max(), (k > 3).any(), np.bincount(k, minlength=7)), exact=True)
    expected = (k.sum(), k.max(), np.True_, np.bincount(k, minlength=7))
    assert bits(computed(f(in_chunks(k, (ROWS,))))) == bits(expected)
    empty = da.from_array(np.ones((0, 3)), chunks=((0, 0), 3))
    assert bits(computed(txc.jit(lambda x: x.sum(axis=0), exact=True)(empty))) == bits(np.zeros(3))


def test_sums_of_halves_are_written_wide() -> None:
    """What the refusal of a sum of float16 is about: the accumulators are float32."""
    halves = X.astype(np.float16)
    wide = txc.jit(lambda x: x.astype(np.float32).sum(axis=0).astype(np.float16), exact=True)
    expected = txc.jit(lambda x: x.sum(axis=0))(halves)
    assert bits(computed(wide(in_chunks(halves)))) == bits(expected)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x.sum(), "sum has blocks of 1024 elements across chunks along axis 1 of x (2 chunks)"),
        (lambda x: np.tensordot(x, x.copy()), "contract has blocks of 512 elements across chunks along axis 1 of x"),
        (lambda x: x.astype(np.float16).sum(axis=0), "sum rounds sums of float32 to float16 behind all of axis 0 of x"),
        (lambda x: (x + 1j).prod(axis=0), "prod multiplies complex numbers along axis 0 of x (5 chunks)"),
        (lambda x: np.bincount(np.isnan(x[:, 0]).astype(int), x[:, 0], 2), "of axis 1 of x (2 chunks)"),
    ],
)
def test_what_has_no_order_by_chunks_says_what_to_rechunk(function: Callable[..., Any], text: str) -> None:
    with pytest.raises(txc.TxcError) as caught:
        txc.jit(function, exact=True)(in_chunks(X, (ROWS, (2, 4))))
    assert text in str(caught.value) and "[TX0330]" in str(caught.value)
    assert f"hint: pass x.rechunk({{{text.partition('axis ')[2][0]}: -1}})" in str(caught.value)


def test_histograms_and_products_in_other_orders_are_refused() -> None:
    def refusal(function: Any, *arrays: np.ndarray, **options: Any) -> str:
        with pytest.raises(txc.TxcError) as caught:
            txc.jit(function, exact=True, **options)(*(in_chunks(a, (1000, *a.shape[1:])) for a in arrays))
        return str(caught.value)

    weights = X[:, 0].copy()
    weighted = refusal(lambda w: np.bincount((w > 0).astype(int), w, 2), weights)
    assert "scatter adds one element after another along axis 0 of w (5 chunks), which exact=True does not" in weighted
    both = refusal(lambda x, y: np.tensordot(x, y), X, X)
    assert "contract adds along axis 0 of x (5 chunks) and others at once, which exact=True does not" in both
    allowed = refusal(lambda x, y: x.T @ y, X, Y, fastmath={"reassoc"})
    assert "contract adds along axis 0 of x (5 chunks) as fastmath= has it, which exact=True does not" in allowed


def column_sums(x):
    return x.sum(axis=0)


def test_it_is_an_option_that_calls_with_arrays_do_not_see() -> None:
    f = txc.jit(sums, exact=True)
    assert f.compile_options.exact and not f.options(exact=False).compile_options.exact
    assert f.compile_options.compiled == txc.jit(sums).compile_options.compiled
    with pytest.raises(OptionError, match="exact must be True or False, not 1"):
        txc.jit(exact=1)


def test_tasks_are_pickled_and_named_by_what_they_compute() -> None:
    f = txc.jit(column_sums, exact=True)
    made = f(in_chunks(X))
    assert made.name == f(in_chunks(X)).name != f.options(exact=False)(in_chunks(X)).name
    assert bits(computed(pickle.loads(pickle.dumps(made)))) == bits(f(X))
