"""Calls of jitted functions: results, errors and effects are the same on both of the paths that a call can take."""

from __future__ import annotations

import pickle
import sys
import types
from typing import Any, NamedTuple

import numpy as np
import pytest

import txc

rng = np.random.default_rng(7)
TABLE = np.arange(4, dtype=np.float32)
FACTOR = 2.5
SPACE = types.SimpleNamespace(scale=3.0, nested=types.SimpleNamespace(table=np.full(4, 0.5, np.float32)))


def f32(*shape: int) -> np.ndarray:
    return rng.random(shape, dtype=np.float32) + np.float32(0.5)


def same(found: Any, expected: Any) -> None:
    """Equal values, and the same types all the way down."""
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            same(found[key], expected[key])
    elif isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            same(a, b)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        numbers: Any = found, expected
        np.testing.assert_allclose(*numbers, rtol=2e-6)
    else:
        assert found == expected


def add(x, y):
    return x + y


def three(x, y):
    return x * 2 - y


def scaled(x, s):
    return x * s


class Pair(NamedTuple):
    first: Any
    second: Any = "default"


def named_tuples(x, y):
    return Pair(x + y), [Pair(1, Pair(x, y - 1))]


def named_by_numpy(x, y):
    q, r = np.linalg.qr(x)
    return np.linalg.slogdet(x), q @ r, np.linalg.eigh(y).eigenvalues


def with_default(x, s=2.0, n=3):
    return x * s + n


def keyword_only(x, *, s, n=2):
    return x * s - n


def positional_only(x, s=1.5, /, n=1):
    return x * s + n


def reduced(x, axis=0):
    return x.sum(axis=axis)


def named(x, kind, offset=None):
    return x * 2 if kind == "double" else x + 1


def everything(x):
    return x.sum()


def several(x, y):
    return x + y, x.max(), {"d": [x - y, None, "text"], 3: (y,)}, []


def sized(x, n):
    return x[:4] * n + x.shape[0]


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def matmul(a, b):
    return a @ b


def transposed(x):
    return (x + 1).T


def moved(x):
    return np.moveaxis(x * 2, 0, 1)


def number(s, n):
    return s * n


def table(x):
    return x + TABLE


def factor(x):
    return x * FACTOR


def attributes(x):
    return x * SPACE.scale + SPACE.nested.table


CASES = {
    "named tuples": (named_tuples, [(f32(4), f32(4)), (f32(9), f32(9))]),
    "named tuples of NumPy": (named_by_numpy, [(np.diag(f32(n) + 1), np.diag(f32(n))) for n in (3, 5)]),
    "f32": (three, [(f32(4), f32(4)), (f32(9), f32(9)), (f32(0), f32(0))]),
    "f64": (three, [(np.arange(5.0), np.ones(5)), (np.arange(7.0), np.ones(7))]),
    "mixed": (add, [(f32(3), np.arange(3)), (f32(5), np.arange(5))]),
    "bool": (lambda x, y: x & y, [(f32(3) > 1, f32(3) > 1), (f32(8) > 1, f32(8) > 1)]),
    "long long": (add, [(np.arange(3, dtype=np.longlong), np.arange(3)), (np.arange(3), np.arange(3))]),
    "broadcast": (add, [(f32(3, 4), f32(4)), (f32(2, 7), f32(7))]),
    "size one": (add, [(f32(3, 1), f32(1, 4)), (f32(5, 1), f32(1, 2))]),
    "rank 0": (add, [(np.array(1.5), np.array(2.5)), (np.array(3.5), np.array(-1.0))]),
    "float": (scaled, [(f32(4), 2.0), (f32(6), -0.5)]),
    "int": (scaled, [(f32(4), 3), (f32(6), -(2**40))]),
    "python bool": (scaled, [(np.arange(4), True), (np.arange(4), False)]),
    "numpy bool": (scaled, [(np.arange(4), np.True_), (np.arange(4), np.False_)]),
    "np.float32": (scaled, [(f32(4), np.float32(2)), (f32(4), np.float32(3))]),
    "np.float64": (scaled, [(f32(4), np.float64(2)), (f32(4), np.float64(3))]),
    "np.float16": (scaled, [(f32(4), np.float16(2)), (f32(4), np.float16(3))]),
    "np.int8": (scaled, [(np.arange(4, dtype=np.int8), np.int8(2)), (np.arange(4, dtype=np.int8), np.int8(3))]),
    "np.uint64": (scaled, [(np.arange(4), np.uint64(2)), (np.arange(9), np.uint64(3))]),
    "default": (with_default, [(f32(4),), (f32(3),)]),
    "one default": (with_default, [(f32(4), 4.0), (f32(3), 5.0)]),
    "axis": (reduced, [(f32(3, 4), 1), (f32(5, 2),), (f32(7, 8), 0), (f32(7, 8), -1)]),
    "objects": (named, [(f32(3, 4), "double"), (f32(5, 2), "other"), (f32(7, 8), "double", None)]),
    "rank 0 result": (everything, [(f32(5),), (f32(300),)]),
    "containers": (several, [(f32(5), f32(5)), (f32(8), f32(8))]),
    "sizes": (sized, [(f32(5), 3), (f32(8), -2)]),
    "temporaries": (softmax, [(f32(3, 4),), (f32(40, 70),), (f32(300, 200),)]),
    "contraction": (matmul, [(f32(3, 4), f32(4, 5)), (f32(60, 70), f32(70, 90))]),
    "transposed result": (transposed, [(f32(3, 4),), (f32(1, 6),)]),
    "another order": (moved, [(f32(2, 3, 4),), (f32(5, 4, 3),)]),
    "captured array": (table, [(f32(4),), (f32(3, 4),), (f32(5, 4),)]),
    "captured number": (factor, [(f32(4),), (f32(5),)]),
    "captured attributes": (attributes, [(f32(4),), (f32(4),)]),
    "columns": (three, [(f32(6, 5)[:, ::2], f32(6, 3)), (f32(8, 9)[:, ::2], f32(8, 5))]),
    "backwards": (three, [(f32(6)[::-1], f32(6)), (f32(9)[::-1], f32(9))]),
    "fortran": (three, [(np.asfortranarray(f32(3, 4)), f32(3, 4)), (np.asfortranarray(f32(5, 6)), f32(5, 6))]),
    "broadcast view": (
        three, [(np.broadcast_to(f32(4), (3, 4)), f32(3, 4)), (np.broadcast_to(f32(2), (5, 2)), f32(5, 2))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_numpy(calls, case):
    function, arguments = CASES[case]
    jitted = calls.jit(function)
    for args in arguments:
        same(jitted(*args), function(*args))
    for args in arguments:
        same(calls.direct(lambda args=args: jitted(*args)), function(*args))


def test_a_function_of_numbers_gives_a_number_of_python(calls):
    jitted = calls.jit(number)
    same(jitted(2.5, 3), 7.5)
    same(calls.direct(lambda: jitted(-1.25, 4)), -5.0)


def kinds(x, k, v):
    return len(x), k * 2, k > 1, [k * 0.5, k * 1j], {"size": x.shape[0] + 1, "sum": x.sum()}, v, v + 1


def test_each_number_is_of_the_type_that_python_gives(calls):
    jitted = calls.jit(kinds)
    arguments = np.arange(3.0), 2.5, np.float32(3)
    jitted(*arguments)
    got, expected = calls.direct(lambda: jitted(*arguments)), kinds(*arguments)
    assert repr(got) == repr(expected)


@pytest.mark.parametrize("case", ["f32", "temporaries", "transposed result", "another order", "fortran", "columns"])
def test_results_are_laid_out_the_same_way_by_both_paths(calls, case):
    function, arguments = CASES[case]
    jitted = calls.jit(function)
    for args in arguments:
        first, second = jitted(*args), jitted(*args)
        assert first.strides == second.strides
        assert second.flags.writeable and second.flags.aligned


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (with_default, (f32(4),), {"n": 5}),
        (with_default, (f32(4),), {"n": 5, "s": 1.5}),
        (with_default, (), {"n": 5, "x": f32(4)}),
        (with_default, (f32(4), 2.5), {"n": 7}),
        (keyword_only, (f32(4),), {"s": 3.0}),
        (keyword_only, (), {"s": 3.0, "x": f32(4), "n": 1}),
        (positional_only, (f32(4), 2.0), {"n": 4}),
        (positional_only, (f32(4),), {}),
    ],
)
def test_keywords_and_defaults(calls, function, args, kwargs):
    jitted = calls.jit(function)
    same(jitted(*args, **kwargs), function(*args, **kwargs))
    same(calls.direct(lambda: jitted(*args, **kwargs)), function(*args, **kwargs))


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((), {}, "missing a required argument: 'x'"),
        ((f32(4),) * 4, {}, "too many positional arguments"),
        ((f32(4),), {"x": f32(4)}, "multiple values for argument 'x'"),
        ((f32(4),), {"unknown": 1}, "got an unexpected keyword argument 'unknown'"),
        ((f32(4), 2**70), {}, "s = 1180591620717411303424 does not fit into 64 bits: pass a float"),
        ((np.array(["a"]),), {}, "no element type dtype('<U1')"),
    ],
)
def test_wrong_arguments_have_the_same_errors_before_and_after_compiling(calls, args, kwargs, text):
    jitted = calls.jit(with_default)
    for _ in range(2):
        with pytest.raises((TypeError, OverflowError)) as error:
            jitted(*args, **kwargs)
        assert text in str(error.value)
        jitted(f32(4))


def test_a_keyword_that_is_not_interned_is_the_same_keyword(calls):
    jitted = calls.jit(with_default)
    name = "".join(["", "n"])
    x = f32(4)
    jitted(x, n=4)
    same(jitted(x, **{str(bytes(name, "ascii"), "ascii"): 9}), with_default(x, n=9))


def test_sizes_that_do_not_fit_are_the_errors_of_tracing(calls):
    jitted = calls.jit(add)
    jitted(f32(4), f32(4))
    with pytest.raises(txc.TxcError) as error:
        jitted(f32(4), f32(5))
    assert "4" in str(error.value) and "5" in str(error.value)


def test_versions_stand_behind_each_other(calls):
    jitted = calls.jit(add)
    kinds = [np.float32, np.float64, np.int32, np.int64, np.uint8]
    for kind in kinds:
        jitted(np.arange(3, dtype=kind), np.arange(3, dtype=kind))
    for kind in kinds:
        x = np.arange(6, dtype=kind)
        same(calls.direct(lambda x=x: jitted(x, x)), x + x)
    assert len(jitted.signatures()) == len(kinds)


def test_the_number_of_threads_of_a_view_is_its_own(calls):
    jitted = calls.jit(softmax)
    x = f32(600, 200)
    expected = jitted(x)
    for threads in (1, 2, 3):
        view = jitted.options(threads=threads)
        for _ in range(2):
            np.testing.assert_array_equal(view(x), expected)


@pytest.mark.parametrize("setting", ["1", "3"])
def test_the_environment_decides_about_threads_at_each_call(calls, monkeypatch, setting):
    jitted = calls.jit(softmax)
    x = f32(600, 200)
    expected = jitted(x)
    monkeypatch.setenv("TXC_NUM_THREADS", setting)
    np.testing.assert_array_equal(jitted(x), expected)
    monkeypatch.setenv("TXC_NUM_THREADS", "several")
    with pytest.raises(ValueError, match="TXC_NUM_THREADS must be a positive integer, not 'several'"):
        jitted(x)
    monkeypatch.delenv("TXC_NUM_THREADS")
    np.testing.assert_array_equal(jitted(x), expected)


# What is written in place ---------------------------------------------------------------------------------------------


def increment(x, y):
    x += y
    return x


def fill(x, y):
    x[1:] = y[1:] * 2


def both(x, y):
    x += 1
    y += 2


def handed_back(x, y):
    return y, x


def test_an_argument_written_in_place_is_the_result(calls):
    jitted = calls.jit(increment)
    for size in (4, 4, 6):
        x, y = f32(size), f32(size)
        expected = x + y
        assert jitted(x, y) is x
        np.testing.assert_array_equal(x, expected)
    x = f32(5)
    calls.direct(lambda: jitted(x, f32(5)))


def test_a_function_that_only_writes_gives_none(calls):
    jitted = calls.jit(fill)
    for _ in range(2):
        x, y = f32(5), f32(5)
        expected = np.concatenate([x[:1], y[1:] * 2])
        assert jitted(x, y) is None
        np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("shift", [-1, 0, 1, 2])
def test_arguments_that_overlap_what_is_written(calls, shift):
    jitted = calls.jit(fill)
    jitted(f32(6), f32(6))
    memory = f32(12)
    x, y = memory[3:9], memory[3 + shift : 9 + shift]
    before, old = y.copy(), x[0]
    jitted(x, y)
    np.testing.assert_array_equal(x[1:], before[1:] * 2)
    assert x[0] == old


def test_two_written_arguments_that_overlap_see_each_others_stores(calls):
    jitted = calls.jit(both)
    jitted(f32(4), f32(4))
    for _ in range(2):
        x = f32(5)
        expected = x.copy()
        both(expected[:4], expected[1:])
        jitted(x[:4], x[1:])
        np.testing.assert_array_equal(x, expected)


def test_empty_arrays_never_overlap(calls):
    jitted = calls.jit(both)
    jitted(f32(4), f32(4))
    x = f32(4)
    calls.direct(lambda: jitted(x[2:2], x))
    jitted(x[:0], x[:0])


def test_a_read_only_argument_is_not_written(calls):
    jitted = calls.jit(increment)
    jitted(f32(4), f32(4))
    x = f32(4)
    before = x.copy()
    x.flags.writeable = False
    with pytest.raises(ValueError, match=r"increment writes to x \(shape 4\), which is read-only: pass a copy"):
        jitted(x, f32(4))
    np.testing.assert_array_equal(x, before)


def test_arguments_handed_back_may_be_read_only_and_overlap(calls):
    jitted = calls.jit(handed_back)
    x = f32(4)
    x.flags.writeable = False
    jitted(x, x)
    a, b = calls.direct(lambda: jitted(x, x[1:]))
    assert b is x and a.base is x


def test_an_argument_that_has_to_be_copied_is_written_back(calls):
    jitted = calls.jit(increment)
    swapped = np.arange(4, dtype=np.dtype(np.float32).newbyteorder())
    for _ in range(2):
        expected = swapped + np.ones(4, np.float32)
        assert jitted(swapped, np.ones(4, np.float32)) is swapped
        np.testing.assert_array_equal(swapped, expected)


# Arrays of other kinds ------------------------------------------------------------------------------------------------


class Sub(np.ndarray):
    """A subclass, whose overrides compiled code would not know."""


def test_subclasses_misaligned_and_swapped_arrays_are_right(calls):
    jitted = calls.jit(three)
    x = f32(6)
    jitted(x, x)
    misaligned = np.zeros(25, np.uint8)[1:].view(np.float32)
    misaligned[:] = x
    for other in (x.view(Sub), misaligned, x.astype(x.dtype.newbyteorder())):
        same(jitted(np.asarray(other) if isinstance(other, Sub) else other, x), three(x, x))
        np.testing.assert_array_equal(jitted(other, x), three(x, x))


def test_a_dtype_from_elsewhere_is_the_same_dtype(calls):
    jitted = calls.jit(three)
    x = f32(4)
    jitted(x, x)
    dtype = pickle.loads(pickle.dumps(np.dtype(np.float32).newbyteorder())).newbyteorder()
    other = np.ndarray(4, dtype, x.copy())
    assert other.dtype is not x.dtype
    same(calls.direct(lambda: jitted(other, x)), three(x, x))


def test_lazy_tensors_give_lazy_tensors(calls):
    jitted = calls.jit(three)
    x = f32(4)
    jitted(x, x)
    result = jitted(txc.asarray(x), x)
    assert isinstance(result, txc.Tensor)
    np.testing.assert_array_equal(np.asarray(result), three(x, x))


def test_results_too_large_are_memory_errors(calls):
    def outer(x, y):
        return x.reshape((x.shape[0], 1)) + y

    jitted = calls.jit(outer)
    jitted(f32(4), f32(5))
    huge = np.broadcast_to(np.float32(1), (1 << 36,))
    wide = calls.jit(outer)
    wide(np.broadcast_to(np.float32(1), (3,)), np.broadcast_to(np.float32(1), (4,)))
    for _ in range(3):
        with pytest.raises((MemoryError, ValueError)):
            wide(huge, huge)


def one_of_several(x):
    return (None if x[0] > 0 else 1, 3, "a" if x[1] > 0 else x, x[:1] if x[0] > x[1] else (x.sum(), {"k": 2}))


def numbers_of_several_types(x):
    s = 0
    for v in x:
        if v > 0:
            s = v
    return {"s": s, "t": (s, s)}, Pair(s, [s, x[0]]), s


@pytest.mark.parametrize("f", [one_of_several, numbers_of_several_types])
def test_one_of_several_results_is_made_by_the_entry(f: Any):
    """The first call of a version is Python's path, later ones are the native entry's; no reference is lost or kept."""
    jitted = txc.jit(f)
    calls = [np.array(v) for v in ([1.0, 2], [-1.0, 2], [2.0, -2], [-1.0, -2])]
    for _ in range(3):
        for x in calls:
            same(jitted(x), f(x))
    functions: list[str] = []
    sys.setprofile(lambda frame, event, _: functions.append(frame.f_code.co_name) if event == "call" else None)
    try:
        jitted(calls[0])
    finally:
        sys.setprofile(None)
    assert set(functions) <= {"<lambda>"}  # what makes a named tuple
    before = [sys.getrefcount(x) for x in (*calls, None, "a")]
    for _ in range(1000):
        for x in calls:
            jitted(x)
    after = [sys.getrefcount(x) for x in (*calls, None, "a")]
    assert all(abs(b - a) < 100 for a, b in zip(before, after))
    with pytest.raises(TypeError, match="it takes functions that return an array, or a tuple of arrays"):
        jitted(calls[0], out=np.zeros(2))
