"""Lazy expressions that were evaluated before: found again by their form, and by nothing that others share."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import txc
from txc import tensure
from txc.compiler.diagnostics import TxcError
from txc.compiler.driver.executable import Executable
from txc.compiler.frontend.lazy import eval_cache, evaluate, op_templates, structural_key
from txc.compiler.frontend.lazy.deferred import DeferredValue
from txc.compiler.frontend.tensor.conversion import asarray
from txc.compiler.frontend.tensor.tensor import Tensor


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eval_cache, "_calls", {})
    monkeypatch.setattr(eval_cache, "OFTEN", 0)
    monkeypatch.setattr(op_templates, "_templates", {})
    structural_key.forget()


def numbers(*shape: int, seed: int = 0, dtype: str = "f4") -> np.ndarray:
    return (np.random.default_rng(seed).random(shape) * 8 - 4).astype(dtype)


def no_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on expressions must be known."""
    monkeypatch.setattr(evaluate, "lazy_graph", None)


def chain(x: Any, y: Any) -> Any:
    return np.abs((x - y) * x + 1) / 2


def test_an_expression_of_other_arrays_is_known(monkeypatch):
    shape = (3, 5)
    for seed in range(3):
        x, y = numbers(*shape, seed=seed), numbers(*shape, seed=seed + 9)
        np.testing.assert_array_equal(np.asarray(chain(asarray(x), asarray(y))), chain(x, y))
        no_graphs(monkeypatch)


def test_a_store_in_memory_is_known(monkeypatch):
    t = txc.Tensor("f32", (6,)).set_values([1, 2, 3, 4, 5, 6])
    expected = np.arange(1, 7, dtype=np.float32)
    for _ in range(3):
        t[1:] = t[:-1] * 2 + t[1:]
        expected[1:] = expected[:-1] * 2 + expected[1:]
        assert np.asarray(t).tolist() == expected.tolist()
        no_graphs(monkeypatch)


X, Y, Z = numbers(4, 4), numbers(4, 4, seed=1), numbers(4, 4, seed=3)
ROW, D, WHOLE = numbers(4, seed=2), numbers(4, 4, dtype="f8"), np.arange(16, dtype=np.int32).reshape(4, 4)
#: In each, expressions that must not be taken for one another.
APART: dict[str, list[Callable[[Callable[[Any], Any]], Any]]] = {
    "one array or two": [lambda a: a(X) + a(Y), lambda a: (lambda x: x + x)(a(X)), lambda a: a(Y) + a(X)],
    "order of operands": [lambda a: a(X) - a(Y), lambda a: (lambda y, x: x - y)(a(Y), a(X))],
    "leaves of several": [
        lambda a: (lambda x, y, z: (x - y) / (z - x))(a(X), a(Y), a(Z)),
        lambda a: (lambda x, y, z: (x - y) / (y - z))(a(X), a(Y), a(Z)),
        lambda a: (lambda x, y, z: (x - y) / (z - a(X)))(a(X), a(Y), a(Z)),
        lambda a: (lambda x, y: (x - y) / (y - x))(a(X), a(Y)),
        lambda a: (lambda x, y: (x - y) / (x - y))(a(X), a(Y)),
        lambda a: (lambda x, y: (y - x) / (a(Y) - x))(a(X), a(Y)),
    ],
    "diamonds": [
        lambda a: (lambda d: d * d - d)(a(X) - a(Y)), lambda a: (lambda d, e: d * e - d)(a(X) - a(Y), a(X) - a(Y)),
        lambda a: (lambda d, e: d * e - d)(a(X) - a(Y), a(Y) - a(X)), lambda a: (lambda x: x / x - x)(a(X)),
        lambda a: (lambda x, y: x / y - x)(a(X), a(Y)),
    ],
    "shared operands": [
        lambda a: (lambda x, y: (x * y) + (x * y) * x)(a(X), a(Y)),
        lambda a: (lambda x, y: (x * y) + (y * y) * x)(a(X), a(Y)),
        lambda a: (lambda x, y: (x * y) + (x * y) * y)(a(X), a(Y)),
    ],
    "zeros": [lambda a: np.copysign(a(X), a(X) * 0.0), lambda a: np.copysign(a(X), a(X) * -0.0)],
    "kinds of numbers": [
        lambda a: a(WHOLE) + 1, lambda a: a(WHOLE) + 1.0, lambda a: a(WHOLE) + True, lambda a: a(WHOLE) + np.int64(1),
        lambda a: a(WHOLE) + np.float32(1), lambda a: a(WHOLE) * np.float64(1),
    ],
    "strides": [lambda a: a(X) + 1, lambda a: a(X.T) + 1, lambda a: a(X[::-1, ::2]) + 1, lambda a: a(X[:, ::-1]) + 1],
    "dtypes": [lambda a: a(X) * 2, lambda a: a(D) * 2, lambda a: a(WHOLE) * 2, lambda a: a(WHOLE.astype("u2")) * 2],
    "shapes": [lambda a: a(X) + a(ROW), lambda a: a(X[:2]) + a(ROW), lambda a: a(X[:1]) + a(ROW), lambda a: a(ROW) + 1],
    "places": [lambda a: a(X)[1] + 1, lambda a: a(X)[2] + 1, lambda a: a(X)[:, 2] + 1, lambda a: a(X)[1:3] + 1],
    "axes": [lambda a: a(X).sum(0), lambda a: a(X).sum(1), lambda a: a(X).max(1)],
    "nans": [lambda a: a(X) * np.nan, lambda a: a(X) * np.inf],
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_other_expressions_are_not_taken_for_known_ones(name):
    for _ in range(2):
        for f in APART[name]:
            found, expected = np.asarray(f(asarray)), f(lambda x: x)
            assert found.dtype == expected.dtype and found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_an_array_that_gets_another_shape_is_what_it_was():
    """The caller's array object may change, in place; the tensor's is its own."""
    for make in (asarray, txc.TensorMap, lambda a: asarray(a) + a):
        for late in (False, True):
            array = numbers(6)
            wanted = make(array) * 2
            wanted = np.asarray(wanted).copy()
            t = make(array)
            found = None if late else t * 2
            array.shape = (2, 3)
            np.testing.assert_array_equal(np.asarray(t * 2 if found is None else found), wanted)
    whole = asarray(X) + 1
    whole.__array__().shape = (2, 8)
    np.testing.assert_array_equal(np.asarray(whole * 1), X + 1)


def test_arrays_that_code_cannot_walk():
    memory = np.zeros(8 * 4 + 1, np.uint8)
    misaligned = memory[1:].view("f4")
    misaligned[:] = range(8)
    kinds = [misaligned, np.arange(8, dtype="f4").view(np.recarray), np.arange(16, dtype="f4")[::2]]
    for _ in range(2):
        for array in kinds:
            plain = np.array(array, "f4")
            x: Any = asarray(array)
            np.testing.assert_array_equal(np.asarray((x + x) * x - asarray(plain)), (plain + plain) * plain - plain)
            np.testing.assert_array_equal(np.asarray(asarray(plain) + np.asarray(array)), plain + plain)


def test_what_was_evaluated_is_found_without_a_walk(monkeypatch):
    def f(x: Any, y: Any) -> Any:
        return chain(x, y) + x[1] * y.sum(0)

    x, y = asarray(X), asarray(Y)
    wanted, _ = np.asarray(f(x, y)), np.asarray(f(x, y))
    again = f(x, y)
    looked: list[Any] = []
    monkeypatch.setattr(structural_key, "key_of", lambda value: looked.append(value))
    np.testing.assert_array_equal(np.asarray(again), wanted)
    assert not looked


def test_what_comes_often_is_prepared_once(monkeypatch):
    monkeypatch.setattr(eval_cache, "OFTEN", 2)
    prepared: list[Any] = []
    original = Executable.repeated
    monkeypatch.setattr(Executable, "repeated", lambda self, given: (prepared.append(given), original(self, given))[1])
    for i in range(6):
        np.testing.assert_array_equal(np.asarray(asarray(X + i) * 2), (X + i) * 2)
        assert len(prepared) == (i > 2)


def test_an_expression_of_many_arrays(monkeypatch):
    monkeypatch.setattr(structural_key, "MOST_LEAVES", 3)
    arrays = [numbers(4, seed=i) for i in range(6)]
    for _ in range(2):
        for count in range(1, 7):
            t: Any = asarray(arrays[0])
            for a in arrays[1:count]:
                t = t + asarray(a)
            assert (structural_key.key_of(t.deferred_value)[0] is None) == (count > 3)
            np.testing.assert_allclose(np.asarray(t), np.sum(arrays[:count], 0), rtol=1e-5)
        assert sum(1 for key in eval_cache._calls) == 2


def test_threads_that_meet_the_same_arrays():
    x, y = asarray(X), asarray(Y)
    wanted = np.asarray(chain(X, Y))
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: np.asarray(chain(x, y)), range(64)))
    for found in made:
        np.testing.assert_array_equal(found, wanted)


def test_column_major_tensors_are_apart():
    for _ in range(2):
        for layout in ("row", "col"):
            x, y = (asarray(a, layout=layout) for a in (X, X[0]))
            np.testing.assert_array_equal(np.asarray(x * 2 + y), X * 2 + X[0])


def test_an_index_is_checked_each_time(monkeypatch):
    for place in (2, 4, -5, 3):
        x, at = asarray(X[0]), asarray(np.array([0, place]))
        taken = x[at] * 1
        if -4 <= place < 4:
            assert np.asarray(taken).tolist() == X[0][[0, place]].tolist()
        else:
            with pytest.raises(IndexError, match=f"index {place} is out of bounds for a dim of size 4"):
                np.asarray(taken)
        no_graphs(monkeypatch)


def test_what_the_environment_says_selects_code(monkeypatch):
    assert np.asarray(asarray(X) + 1).tolist() == (X + 1).tolist()
    monkeypatch.setenv("TXC_PASSES", "tx-no-such-pass{}")
    with pytest.raises(ValueError, match="no-such-pass"):
        np.asarray(asarray(X) + 1)


def test_calls_and_recipes_are_forgotten_in_the_end(monkeypatch):
    monkeypatch.setattr(eval_cache, "MOST", 2)
    monkeypatch.setattr(op_templates, "MOST", 3)
    monkeypatch.setattr(structural_key, "MOST", 4)
    for i in range(9):
        np.testing.assert_array_equal(np.asarray(asarray(X[:, : i % 4 + 1]) * 2), X[:, : i % 4 + 1] * 2)
        assert len(eval_cache._calls) <= 2 and len(op_templates._templates) <= 3 and len(structural_key._forms) <= 4


def test_arrays_are_free_when_expressions_are():
    """At once, without Python's collector: the next result takes their memory."""
    np.asarray(asarray(numbers(4)) + 1)
    gc.disable()
    try:
        array = numbers(4)
        given = weakref.ref(array)
        result = asarray(array, copy=None) + 1
        computed = weakref.ref(result._array("this test"))
        assert given() is not None and computed() is not None
        del array, result
        assert given() is None and computed() is None

        for known in (False, True):
            array = numbers(4)
            x, given = asarray(array, copy=None), weakref.ref(array)
            part = (x - 1) / x
            whole = abs(part * part + x)
            np.asarray(whole)
            del array, x, part
            if not known:
                gc.collect()
            assert given() is None
    finally:
        gc.enable()


# Recipes --------------------------------------------------------------------------------------------------------------


def test_nodes_are_made_at_their_own_lines():
    x = asarray(X)
    made = []
    for _ in range(2):
        made.append(x + 1)
        made.append(x + 1)
    lines = [t.value.node.loc.line for t in made]
    assert lines == [lines[0], lines[0] + 1] * 2


@pytest.mark.parametrize(
    "op",
    [
        lambda x, y: x + y, lambda x, y: x * 2, lambda x, y: 2 - x, lambda x, y: -x, lambda x, y: np.add(x, y),
        lambda x, y: x.sum(0), lambda x, y: tensure.add(x, y), lambda x, y: tensure.abs_(tensure.sub(x, y)),
    ],
)  # fmt: skip
def test_each_way_to_an_op_knows_its_line(op: Any):
    of_tensure = "tensure" in op.__code__.co_names
    x, y = (tensure.array(a) if of_tensure else asarray(a) for a in (X, Y))
    for _ in range(3):
        made = op(x, y)
        value = made._parent.present if of_tensure else made.deferred_value
        loc = value.loc if isinstance(value, DeferredValue) else value.node.loc
        assert loc is not None and (loc.filename, loc.function) == (__file__, "<lambda>")
        assert loc.line == op.__code__.co_firstlineno and loc.column > 0


def test_what_never_fits_is_an_error_each_time():
    x, y = asarray(X), asarray(X[:, :3])
    for _ in range(2):
        with pytest.raises(TxcError, match=r"add cannot broadcast f32\[4, 4\] and f32\[4, 3\]") as caught:
            _ = x + y
        assert caught.value.loc is not None and caught.value.loc.filename == __file__


def test_a_recipe_of_several_results():
    x = asarray(X)
    for _ in range(2):
        mantissa, exponent = np.frexp(x)
        expected = np.frexp(X)
        np.testing.assert_array_equal(np.asarray(mantissa), expected[0])
        np.testing.assert_array_equal(np.asarray(exponent), expected[1])


def test_results_are_tensors_of_their_own():
    """What gives its operand back, or stands for a view, is no recipe."""
    x = asarray(X)
    first, second = abs(x), abs(x)
    assert first is not second and isinstance(second, Tensor)
    second[0] = 7
    np.testing.assert_array_equal(np.asarray(first), abs(X))
    assert np.asarray(second)[0].tolist() == [7] * 4
