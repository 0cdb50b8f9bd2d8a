"""Arrays whose class has a say in what NumPy does: Python makes the calls that meet them, and says so once."""

from __future__ import annotations

import array
import collections
import types
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import txc

X = np.arange(1.0, 4.0)


class Thousandfold(np.ndarray):
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        return getattr(ufunc, method)(*map(np.asarray, inputs), **named) * 1000


class Functions:
    def __array_function__(self, *_: Any) -> str:
        return "mine"


class Converted:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return X.copy()

    def __mul__(self, other: object) -> str:
        return "product"


def masked() -> Any:
    return np.ma.array([1, 2, 3.0], mask=[False, True, False])


def matrix() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix([[1.0, 2], [3, 4]])


def stored(x):
    x[1] = 5
    return x


CASES: list[tuple[Any, Any, Any]] = [
    (lambda x: x.sum(), masked, 4.0),
    (lambda x: np.sum(x), masked, 4.0),
    (stored, masked, np.ma.array([1, 5, 3.0], mask=[False] * 3)),
    (lambda x: x * x, matrix, np.array([[7.0, 10], [15, 22]])),
    (lambda x: x + 1, lambda: X.view(Thousandfold), np.array([2000.0, 3000, 4000])),
    (lambda x: np.concatenate([x, x]), Functions, "mine"),
    (lambda x: x * 2, Converted, "product"),
    (lambda x: np.sum(x), Converted, 6.0),
    (lambda x: np.asarray(x) * 2, lambda: array.array("d", X), X * 2),
    (lambda x: x[0].sum(), lambda: [masked()], 4.0),
    (lambda x: x[0].sum(), lambda: (masked(),), 4.0),
    (lambda x: x["a"].sum(), lambda: {"a": masked()}, 4.0),
    (lambda x: x["missing"], collections.Counter, 0),
]


@pytest.mark.parametrize(("f", "make", "expected"), CASES)
def test_an_argument(f: Any, make: Any, expected: Any) -> None:
    jitted = txc.jit(f)
    with pytest.warns(UserWarning, match=r"is not compiled for this call, Python makes it: x.*\[TX0326\]"):
        found = jitted(make())
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        again = jitted(make())
    for result in (found, again):
        assert type(result) is type(f(make()))
        np.testing.assert_array_equal(result, expected)
        assert np.array_equal(np.ma.getmaskarray(result), np.ma.getmaskarray(expected))


MASKED = masked()
LIST = [masked()]
THING = types.SimpleNamespace(array=masked())


@pytest.mark.parametrize("f", [lambda x: x + MASKED, lambda x: x + LIST[0], lambda x: x + THING.array])
def test_one_from_outside(f: Any) -> None:
    jitted = txc.jit(f)
    with pytest.warns(UserWarning, match="MaskedArray"):
        found = jitted(X)
    for result in (found, jitted(X)):
        assert type(result) is np.ma.MaskedArray
        assert result.filled(-1).tolist() == [2, -1, 6]


def test_a_plain_array_in_its_place_is_compiled() -> None:
    thing = types.SimpleNamespace(array=masked())
    f = txc.jit(lambda x: x + thing.array)
    with pytest.warns(UserWarning, match="thing.array, of class MaskedArray"):
        f(X)
    thing.array = X
    found = f(X)
    assert type(found) is np.ndarray and found.tolist() == [2, 4, 6] and len(f.signatures()) == 1


def test_a_map_of_a_file_is_a_plain_array(tmp_path: Any) -> None:
    mapped = np.memmap(tmp_path / "m", dtype="f8", mode="w+", shape=(3,))
    mapped[:] = X
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert txc.jit(lambda x: x.sum())(mapped) == 6.0


def test_fields_are_refused() -> None:
    with pytest.raises(TypeError, match="no element type"):
        txc.jit(lambda r: r["a"] * 2)(np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]))


def test_an_array_for_results_needs_compiled_code() -> None:
    with pytest.raises(TypeError, match=r"out= of <lambda>, whose call is Python's: x, of class MaskedArray"):
        txc.jit(lambda x: x * 2)(masked(), out=np.empty(3))


def test_a_call_that_python_makes_holds_nothing_afterwards() -> None:
    f = txc.jit(lambda x: x + MASKED)
    with pytest.warns(UserWarning, match="MaskedArray"):
        f(X)
    gone = []
    for _ in range(3):
        given = X.copy()
        gone.append(weakref.ref(given))
        f(given)
        del given
    assert [found() for found in gone] == [None] * 3
