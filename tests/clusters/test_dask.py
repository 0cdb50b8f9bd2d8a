"""Jitted functions on arrays of Dask's: lazy arrays, equal to what NumPy makes of the whole arrays.

Elements are multiples of a quarter, so that sums are exact in any order, and bits can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.driver.jit import Jitted

da = pytest.importorskip("dask.array", reason="Dask is not installed")
dask = pytest.importorskip("dask", reason="Dask is not installed")

ROWS, COLUMNS = (3, 0, 1, 4), (1, 3)
SCALES = np.array([1.0, 2.0, 0.5, 4.0])


def quarters(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-32, 32, size=shape) / 4


X, Y, V, K = quarters(8, 4), quarters(8, 4, seed=1), quarters(4, seed=2), np.arange(8) - 4
BY_ROWS = da.from_array(X, chunks=(ROWS, 4))
BY_BOTH = da.from_array(X, chunks=(ROWS, COLUMNS))
OTHER = da.from_array(Y, chunks=((4, 4), 4))
VECTOR = da.from_array(V, chunks=2)
NUMBERS = da.from_array(K, chunks=(ROWS,))


def computed(made: Any, workers: int) -> Any:
    return dask.compute(made, scheduler="threads", num_workers=workers)[0]


def assert_same(made: Any, expected: Any) -> None:
    """Types, shapes and bits, part by part; lazy arrays say beforehand what they will be."""
    if isinstance(expected, (tuple, list)):
        assert type(made) is type(expected) and len(made) == len(expected)
        for part, wanted in zip(made, expected):
            assert_same(part, wanted)
    elif isinstance(expected, dict):
        assert list(made) == list(expected)
        assert_same([*made.values()], [*expected.values()])
    elif isinstance(made, da.Array):
        wanted = np.asarray(expected)
        assert (made.dtype, made.shape) == (wanted.dtype, wanted.shape)
        for workers in (1, 2, 5):
            found = np.asarray(computed(made, workers))
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            assert np.array_equal(found, wanted)
    else:
        assert type(made) is type(expected) and made == expected


def columns_by_loop(x):
    y = np.zeros_like(x)
    for j in range(x.shape[1]):
        y[:, j] = x[:, j] * (j + 1)
    return y


def grown(x, v):
    found, total = [], 0.0
    while total < 9000:  # how often is known only when it runs, and is more than there is room for at first
        total += abs(v[len(found) % 4]) + 1
        found.append(total)
    return x * np.array(found).sum()


def rounds(x):
    y = np.ones_like(x)
    for _ in range(3):
        y = y * 2 + x
    return y


def larger_half(x):
    if x.shape[0] > 5:  # of the whole array, whatever a chunk has
        return x + x.shape[0]
    return x - 1


def clipped(x):
    y = x.copy()
    y[y < 0] = 0
    return y


def added(k, x):
    y = np.zeros((4, x.shape[1]))
    np.add.at(y, k % 4, x)
    return y / 2


#: Each on some chunked arrays, with the same as NumPy's.
POINTWISE: list[tuple[Callable[..., Any], list[Any], list[Any]]] = [
    (lambda x, y: x * 2 + y, [BY_BOTH, OTHER], [X, Y]),
    (lambda x, v: np.where(x > v, x, v) / 2, [BY_ROWS, VECTOR], [X, V]),
    (lambda x, v: np.sqrt(x * x + v * v), [BY_BOTH, V], [X, V]),
    (lambda x: x.T * SCALES[:, None], [BY_ROWS], [X]),
    (lambda x, y: x / 2 - y, [BY_ROWS.T, BY_ROWS.T], [X.T, X.T]),
    (lambda x: x * SCALES, [BY_BOTH], [X]),
    (lambda x: x.astype(np.float32).astype(np.int16), [BY_BOTH], [X]),
    (lambda x, n, flag: x[:, None, :] * n if flag else x, [BY_ROWS, 3, True], [X, 3, True]),
    (lambda x: x - x.mean(axis=1, keepdims=True), [BY_ROWS], [X]),
    (lambda x: (x.max(axis=1), x.argmin(axis=1), x.sum(axis=1)), [BY_ROWS], [X]),
    (lambda x: np.cumsum(x, axis=1)[:, ::-1], [BY_ROWS], [X]),
    (lambda x: np.sort(x, axis=1)[:, 1:3], [BY_ROWS], [X]),
    (lambda x: np.median(x, axis=1), [BY_ROWS], [X]),
    (lambda x: np.concatenate([x, x[:, :1]], axis=1), [BY_ROWS], [X]),
    (lambda x: x.reshape(x.shape[0], 2, 2)[:, 1], [BY_ROWS], [X]),
    (lambda x, y: x @ y.T, [BY_ROWS, OTHER], [X, Y]),
    (lambda x, y: np.einsum("ij,ij->i", x, y), [BY_ROWS, OTHER], [X, Y]),
    (lambda k: SCALES[k % 4] + k, [NUMBERS], [K]),
    (grown, [BY_ROWS, V], [X, V]),
    (lambda x: (x, np.zeros_like(x), np.ones(3), x.shape, {"a": [x + 1, None]}), [BY_BOTH],
     [X]),
    (lambda pair: pair["x"] - pair["y"][0], [{"x": BY_ROWS, "y": [OTHER]}], [{"x": X, "y": [Y]}]),
    (columns_by_loop, [BY_ROWS], [X]),
    (rounds, [BY_BOTH], [X]),
    (larger_half, [BY_BOTH], [X]),
    (clipped, [BY_BOTH], [X]),
]  # fmt: skip

REDUCTIONS: list[tuple[Callable[..., Any], list[Any], list[Any]]] = [
    (lambda x: (x.sum(), x.sum(axis=0), x.sum(axis=1, keepdims=True)), [BY_BOTH], [X]),
    (lambda x: (x.min(), x.max(axis=0), np.ptp(x, axis=0)), [BY_BOTH], [X]),
    (lambda x: (x.mean(), x.mean(axis=0), x.mean(axis=1)), [BY_BOTH], [X]),
    (lambda x: ((x > 7).any(axis=0), (x > -9).all(), np.count_nonzero(x > 0, axis=0)), [BY_BOTH], [X]),
    (lambda k: (k.astype(np.int8).sum(), np.prod(k % 3 + 1), k.mean(), (k > 0).sum()), [NUMBERS], [K]),
    (lambda x, v: np.sqrt((x * x).sum(axis=0) * 4) / (v + 40), [BY_BOTH, VECTOR], [X, V]),
    (lambda x: (x.astype(np.float32).sum(axis=0), (x + 1j * x).sum()), [BY_ROWS], [X]),
    (lambda x, y: x.T @ y, [BY_BOTH, OTHER], [X, Y]),
    (lambda x, y: np.tensordot(x, y), [BY_BOTH, OTHER], [X, Y]),
    (lambda x, v: x @ v, [BY_BOTH, VECTOR], [X, V]),
    (lambda k: (np.bincount(k + 4, minlength=9), np.histogram(k, bins=4, range=(-4, 4))[0]), [NUMBERS], [K]),
    (added, [NUMBERS, BY_BOTH], [K, X]),
]


@pytest.mark.parametrize("number", range(len(POINTWISE)))
def test_pointwise(number: int) -> None:
    function, chunked, whole = POINTWISE[number]
    assert_same(txc.jit(function)(*chunked), function(*whole))


@pytest.mark.parametrize("number", range(len(REDUCTIONS)))
def test_reductions_across_chunks(number: int) -> None:
    function, chunked, whole = REDUCTIONS[number]
    assert_same(txc.jit(function)(*chunked), function(*whole))


def test_an_elementwise_function_is_one_layer_and_computes_nothing() -> None:
    @txc.jit
    def f(x, y):
        return np.exp(np.sin(x) * 2.0) + y / 2.0

    def failing(block: np.ndarray) -> np.ndarray:
        raise AssertionError("a chunk is computed")

    x = da.map_blocks(failing, BY_BOTH, dtype=np.float64, meta=np.empty((0, 0)))
    made = f(x, VECTOR.rechunk((COLUMNS,)))
    assert (made.dtype, made.shape, made.chunks) == (np.float64, X.shape, BY_BOTH.chunks)
    assert len(made.dask.layers) == len({*x.dask.layers, *VECTOR.rechunk((COLUMNS,)).dask.layers}) + 1
    with pytest.raises(AssertionError, match="a chunk is computed"):
        made.compute(scheduler="sync")
    assert np.array_equal(computed(f(BY_BOTH, VECTOR), 2), f(X, V))  # bit for bit, also of functions that round


def test_equal_calls_have_equal_names() -> None:
    f = txc.jit(lambda x, n: x * n)
    assert f(BY_ROWS, 2.0).name == f(BY_ROWS, 2.0).name != f(BY_ROWS, 3.0).name


def test_what_is_captured_is_part_of_the_call() -> None:
    scale = np.arange(8.0)[:, None]
    assert_same(txc.jit(lambda x: x * scale)(BY_ROWS), X * scale)


def test_arrays_without_elements_and_of_one_row() -> None:
    f = txc.jit(lambda x: (x * 2, x.sum(axis=0), x.sum()))
    empty = da.from_array(np.ones((0, 3)), chunks=((0, 0), 3))
    assert_same(f(empty), f.__wrapped__(np.ones((0, 3))))
    one = da.from_array(X[:1], chunks=((0, 1, 0), COLUMNS))
    assert_same(f(one), f.__wrapped__(X[:1]))
    with pytest.raises(ValueError, match="zero-size array to reduction operation max"):
        X[:0].max()
    with pytest.raises(ValueError, match="it has no elements"):
        txc.jit(lambda x: x.max())(empty)


def test_other_byte_orders_and_numbers_of_dask() -> None:
    swapped = BY_ROWS.astype(">f8")
    number = da.from_array(np.array(2.5))
    assert_same(txc.jit(lambda x, s: x * s)(swapped, number), X * np.array(2.5))


def refused(function: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(txc.TxcError) as caught:
        (function if isinstance(function, Jitted) else txc.jit(function))(*arguments)
    return str(caught.value)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_what_goes_on_behind_a_reduction_names_the_axis_and_the_rechunk() -> None:
    text = refused(softmax, BY_BOTH)
    assert "softmax by chunks: expand goes on along axis 1 of x (2 chunks) with what a reduction along it found" in text
    assert "[TX0330]" in text and "e = np.exp(x - x.max(axis=1, keepdims=True))" in text
    assert "hint: pass x.rechunk({1: -1})" in text
    whole = txc.jit(softmax)(BY_BOTH.rechunk({1: -1}))
    assert np.array_equal(computed(whole, 2), txc.jit(softmax)(X))


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: np.sort(x, axis=0), "sort needs all of axis 0 of x (4 chunks)"),
        (lambda x: x[::-1], "strided_slice needs all of axis 0 of x (4 chunks)"),
        (lambda x: x[2:], "slice makes an axis of size x.shape[0] - 2 of axis 0 of x (4 chunks)"),
        (lambda x: x[0], "chip needs all of axis 0 of x (4 chunks)"),
        (lambda x: np.cumsum(x, axis=0), "cumsum needs all of axis 0 of x (4 chunks)"),
        (lambda x: x.argmax(axis=0), "argmax needs all of axis 0 of x (4 chunks)"),
        (lambda x: x.reshape(-1), "of axis 0 of x (4 chunks)"),
        (lambda x: x @ x.T, "contract has axis 0 of x (4 chunks) twice"),
        (lambda x: x * np.arange(x.shape[0])[:, None], "cast counts along axis 0 of x (4 chunks)"),
        (lambda x: np.arange(x.shape[0]), "counts along axis 0 of x (4 chunks)"),
        (lambda x: x.sum(axis=0).sum() + x.sum(axis=1).sum(), "reduces axis 1 of x (2 chunks) after another reduction"),
    ],
)
def test_what_needs_a_whole_axis(function: Callable[..., Any], text: str) -> None:
    found = refused(function, BY_BOTH)
    assert text in found and "rechunk(" in found


def test_parts_of_containers_are_named_as_python_does() -> None:
    found = refused(lambda p: np.sort(p["x"][0], axis=0), {"x": [BY_ROWS]})
    assert "axis 0 of p['x'][0] (4 chunks)" in found and "pass p['x'][0].rechunk({0: -1})" in found


def test_arrays_that_go_together_are_both_to_be_rechunked() -> None:
    assert "pass x.rechunk({0: -1}) and y.rechunk({0: -1})" in refused(lambda x, y: (x + y)[1:], BY_ROWS, OTHER)


def test_chunks_of_unknown_size_are_refused() -> None:
    unknown = BY_ROWS[BY_ROWS[:, 0] > 0]
    text = refused(lambda x: x + 1, unknown)
    assert "x has chunks of unknown size [TX0331]" in text and "compute_chunk_sizes()" in text


def store(x):
    x[0] = 1
    return x


def indexed(x, k):
    SCALES[k]
    return x.sum()


def only_asserts(x):
    assert (x > 0).all()


def one_more(x):
    return x + 1


def test_what_no_lazy_array_is() -> None:
    assert "store writes to x" in refused(store, BY_ROWS)
    assert "raises an error that a chunk of its result does not show" in refused(indexed, BY_ROWS, NUMBERS)
    assert "raises an error that a chunk of its result does not show" in refused(lambda x: only_asserts(x), BY_ROWS)
    assert "asks which of its arguments are one array" in refused(lambda x, y: x if x is y else y, BY_ROWS, BY_ROWS)
    assert "runs on ptx-sim, and arrays of Dask's are in memory" in refused(
        txc.jit(one_more, device="ptx-sim"), BY_ROWS
    )
    assert "gives a number of Python's" in refused(lambda x: float(x.sum()), BY_ROWS)
    assert "[TX0332]" in refused(lambda x: x[x > 0], BY_ROWS)
    with pytest.raises(TypeError, match="out= of <lambda>: arrays of Dask's cannot be written to"):
        txc.jit(lambda x: x + 1)(BY_ROWS, out=np.empty(X.shape))


def test_errors_of_checks_come_when_their_chunk_is_computed() -> None:
    made: Any = txc.jit(lambda k: SCALES[k])(NUMBERS + 1)
    with pytest.raises(IndexError, match="index 4 is out of bounds for a dim of size 4"):
        made.compute(scheduler="sync")


def asserted(x, least):
    assert (x >= least).all(), "too small"
    return x + 1, x.sum(), x.shape[0]


def test_an_assertion_on_all_of_an_array_holds_for_each_part_of_the_result() -> None:
    f = txc.jit(asserted)
    assert_same(f(BY_BOTH, -8.0), asserted(X, -8.0))
    for part in f(BY_BOTH, -7.75)[:2]:
        with pytest.raises(AssertionError, match="too small"):
            computed(part, 2)


def test_chunks_that_are_no_plain_arrays_are_pythons() -> None:
    masked = da.ma.masked_greater(BY_ROWS, 4.0)
    with pytest.warns(UserWarning, match="x has chunks of class MaskedArray"):
        made = txc.jit(lambda x: x + 1)(masked)
    assert np.ma.allequal(computed(made, 1), np.ma.masked_greater(X, 4.0) + 1)


def test_workers_in_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closures, totals and their trees: a worker traces anew, and finds the code that this process compiled."""
    distributed = pytest.importorskip("distributed", reason="Dask's scheduler for clusters is not installed")
    weights = np.arange(4.0) / 2

    def f(x, v):
        y = x * weights + v
        return y, y.sum(axis=0) / 4, np.count_nonzero(y > 0)

    monkeypatch.setenv("TXC_CACHE_DIR", str(tmp_path))
    made = txc.jit(f)(BY_BOTH, VECTOR)
    assert_same(made, f(X, V))
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "300s"}),  # of a machine that has other work
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = client.gather(client.compute(made))
    for part, expected in zip(found, f(X, V), strict=True):
        assert np.array_equal(part, expected)
