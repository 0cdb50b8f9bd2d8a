"""An index outside is an IndexError of the call: reads and stores, loops and branches, lazy tensors, `.tx`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.dialects.dims.index_map import product
from txc.runtime.check_errors import CHECKS, LEAST, MOST, packed, unpacked

from .control import every_stage, same

#: Which elements machine code touches is asked here.
pytestmark = pytest.mark.vectors

X = np.arange(30.0).reshape(5, 6)


def reads(x, i):
    return x[i]


def reads_two(x, i):
    return x[0, i], x[i, 0]


def reads_a_grid(x, i):
    return x[i[:, None], np.arange(i.shape[0])[None]]


def takes(x, i):
    return np.take(x, i, axis=1)


def takes_along(x, i):
    return np.take_along_axis(x, i.reshape(1, -1), 0)


def stores(x, i):
    x[i] = 7.0


def puts_along(x, i):
    np.put_along_axis(x, i.reshape(1, -1), 9.0, 0)


def adds(x, i):
    np.add.at(x, i, 1.5)


def one_by_one(x, i):
    total = 0.0
    for k in range(i.shape[0]):
        total += x[i[k], 1]
    return total


def stores_one_by_one(x, i):
    for k in range(i.shape[0]):
        x[i[k], 0] += 1


def nested(x, i):
    total = 0.0
    for _ in range(3):
        for k in range(i.shape[0]):
            if x[0, 1] > 0:
                total += x[i[k], 0]
    return total


def where_the_condition_reads(x, i):
    flat, k = x.reshape(-1), i[0]
    while flat[k] < 40.0:
        k += 7
    return k


def where_the_body_reads(x, i):
    k, total = i[0], 0.0
    while total < 1e9:
        total += x[k, 0]
        k += 1
    return total


FINE = np.array([0, 4, -5, 2])
CASES: list[tuple[Callable[..., Any], list[int], str]] = [
    (reads, [0, 5], "index 5 is out of bounds for a dim of size 5"),
    (reads, [-6, 1], "index -6 is out of bounds for a dim of size 5"),
    (reads_two, [5], "index 5 is out of bounds for a dim of size 5"),
    (reads_a_grid, [0, 5], "index 5 is out of bounds for a dim of size 5"),
    (reads_a_grid, [0, -6], "index -6 is out of bounds for a dim of size 5"),
    (reads_two, [6], "index 6 is out of bounds for a dim of size 6"),
    (takes, [6], "index 6 is out of bounds for a dim of size 6"),
    (takes_along, [0, 0, 9, 0, 0, 0], "index 9 is out of bounds for a dim of size 5"),
    (stores, [1, 5], "index 5 is out of bounds for a dim of size 5"),
    (puts_along, [0, 0, 0, 0, 0, -7], "index -7 is out of bounds for a dim of size 5"),
    (adds, [1, 10**15], "index 140737488355327 is out of bounds for a dim of size 5"),
    (one_by_one, [1, 2, 12], "index 12 is out of bounds for a dim of size 5"),
    (stores_one_by_one, [5, 1], "index 5 is out of bounds for a dim of size 5"),
    (nested, [0, 8], "index 8 is out of bounds for a dim of size 5"),
    (where_the_condition_reads, [3], "index 31 is out of bounds for a dim of size 30"),
    (where_the_body_reads, [2], "index 5 is out of bounds for a dim of size 5"),
]


@pytest.mark.parametrize(("f", "indices", "message"), CASES)
def test_an_index_outside(f: Callable[..., Any], indices: list[int], message: str) -> None:
    """Of the version's first call, which Python makes, and of the next, which machine code answers."""
    bad = np.array(indices)
    with pytest.raises(IndexError):
        f(X.copy(), bad)
    jitted = txc.jit(f)
    for _ in range(3):
        with pytest.raises(IndexError) as raised:
            jitted(X.copy(), bad)
        assert str(raised.value) == message


@pytest.mark.parametrize(
    "f", [reads, reads_two, reads_a_grid, takes, stores, adds, one_by_one, stores_one_by_one, nested]
)
def test_indices_inside(f: Callable[..., Any]) -> None:
    every_stage(same(f, (X, FINE), (X, FINE.astype(np.int8)), (X, FINE[:0])), X, FINE)


def test_a_condition_that_indexes() -> None:
    x = X.copy()
    x[4, 4] = 50.0
    every_stage(same(where_the_condition_reads, (x, np.array([0]))), x, np.array([0]))


def test_unsigned_indices() -> None:
    with pytest.raises(IndexError, match="index 200 is out of bounds for a dim of size 5"):
        txc.jit(reads)(X, np.array([1, 200], np.uint8))
    np.testing.assert_array_equal(txc.jit(reads)(X, np.array([1, 4], np.uint8)), X[[1, 4]])


@pytest.mark.parametrize("indices", [[1, 9, 5, -7, 2], [1, -9, 4, -7, 2]])
def test_of_several_the_largest_or_the_least(indices: list[int]) -> None:
    with pytest.raises(IndexError, match=f"index {max(indices, key=abs)} is out of bounds for a dim of size 5"):
        txc.jit(reads)(X, np.array(indices))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
@pytest.mark.parametrize("size", [0, 200])
def test_no_indices_are_inside(dtype: type, size: int) -> None:
    assert txc.jit(reads)(np.zeros((size, 2)), np.zeros(0, dtype)).shape == (0, 2)


def test_what_broadcasting_repeats_is_folded_once() -> None:
    graph = txc.jit(reads_a_grid).graph(X, FINE)
    limits = [node for node in graph.nodes() if node.op is not None and node.op.name in ("minimum", "maximum")]
    folded = [product(node.operands[0].type.dims) for node in limits]
    assert [str(size) for size in folded] == ["i.0"] * 4


@pytest.mark.parametrize(("rows", "columns"), [([9], []), ([], [9])])
def test_an_index_repeated_no_times_is_inside(rows: list[int], columns: list[int]) -> None:
    read = txc.jit(lambda x, i, j: x[i[:, None], j[None]])
    i, j = np.array(rows, int), np.array(columns, int)
    for _ in range(2):
        assert read(X, i, j).shape == X[i[:, None], j[None]].shape
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        read(X, np.array([9, 0]), np.array([0, 9]))


def test_a_branch_that_is_not_taken_checks_nothing() -> None:
    def f(x, i):
        y = 0.0
        if x[0, 0] > 1:
            y = x[i[0], 1]
        return y

    outside = np.array([77])
    assert txc.jit(f)(X, outside) == 0.0
    with pytest.raises(IndexError, match="index 77"):
        txc.jit(f)(X + 2, outside)


def test_what_is_never_outside_is_not_checked() -> None:
    def f(x, i):
        best = np.take_along_axis(x, np.argmax(x, axis=1)[:, None], 1)
        return best, np.take(x, i, mode="clip"), np.take(x, i, mode="wrap"), x[0][np.argsort(x[0])]

    jitted = txc.jit(f)
    assert not jitted.graph(X, FINE).checks
    assert len(jitted.graph(X, FINE).outputs) == 4
    for got, expected in zip(jitted(X, FINE + 90), f(X, FINE + 90)):
        np.testing.assert_array_equal(got, expected)


def test_nothing_is_stored_where_an_index_is_outside() -> None:
    for f in (stores, txc.jit(stores)):
        x = X.copy()
        with pytest.raises(IndexError):
            f(x, np.array([1, 5, 3]))
        np.testing.assert_array_equal(x, X)


def test_calls_with_out_and_from_the_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TXC_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        jitted, out = txc.jit(reads), np.zeros((4, 6))
        for _ in range(3):
            assert jitted(X, FINE, out=out) is out
        np.testing.assert_array_equal(out, X[FINE])
        with pytest.raises(IndexError, match="index 5 is out of bounds for a dim of size 5"):
            jitted(X, FINE + 1, out=out)


def test_lazy_tensors() -> None:
    t = txc.asarray(X)
    with pytest.raises(IndexError, match="index 5 is out of bounds for a dim of size 5"):
        np.asarray(t[np.array([5])] + 1)
    memory = txc.TensorMap(X.copy())
    with pytest.raises(IndexError, match="index -7 is out of bounds for a dim of size 6"):
        memory[:, np.array([-7])] = 1.0


def test_tx() -> None:
    module = txc.compile_source("def pick(x: f32[n], i: i64[k]) -> f32[k]:\n    return take(x, i, axis=0)\n")
    with pytest.raises(IndexError, match="index 9 is out of bounds for a dim of size 3"):
        module.pick(np.zeros(3, np.float32), np.array([9]))


def test_the_first_check_of_the_program_is_named() -> None:
    def f(x, i, j):
        return x[i].sum() + x[:, j].sum()

    with pytest.raises(IndexError, match="index 5 "):
        txc.jit(f)(X, np.array([5]), np.array([99]))


def test_words() -> None:
    for number in (0, 1, CHECKS - 1):
        for index in (LEAST, -1, 0, 7, MOST):
            word = packed(number, index)
            assert 0 < word < 1 << 63
            assert unpacked(word) == (number, index)
    assert packed(0, LEAST) > packed(1, MOST)
