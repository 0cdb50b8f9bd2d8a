"""Arguments of every kind, right and wrong: both paths agree on results and errors, and nothing crashes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import txc
from txc.runtime.stub.cpython_layout import problem

pytestmark = pytest.mark.skipif(bool(problem()), reason="calls go through Python")

DTYPES = ["?", "b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "e", "f", "d", ">f", ">i", "F", "S3", "O", "M8[s]"]


class Sub(np.ndarray):
    """A subclass."""


@st.composite
def arrays(draw: st.DrawFn) -> Any:
    """Arrays of any dtype, small shape and layout; now and then misaligned, read-only or a subclass."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    shape = tuple(draw(st.lists(st.integers(0, 3), max_size=3)))
    array = np.zeros(shape, dtype)
    if dtype.kind in "?biuef":
        array[...] = (np.arange(array.size) % 5).reshape(shape)
    form = draw(st.sampled_from(["packed", "fortran", "backwards", "sparse", "read-only", "sub", "misaligned"]))
    if form == "fortran":
        return np.asfortranarray(array)
    if form == "backwards" and array.ndim:
        return array[::-1]
    if form == "sparse" and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    if form == "read-only":
        array.flags.writeable = False
    if form == "sub":
        return array.view(Sub)
    if form == "misaligned" and dtype.kind != "O" and array.size:
        raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
        raw[:] = np.frombuffer(array.tobytes(), np.uint8)
        return raw.view(dtype).reshape(shape)
    return array


scalars = st.one_of(
    st.integers(-(2**65), 2**65), st.booleans(), st.floats(allow_nan=False, width=32), st.none(), st.text(max_size=2),
    st.sampled_from([np.float32(1.5), np.float64(2.5), np.int8(3), np.uint64(4), np.True_, np.complex64(1j)]),
    st.just([1.0, 2.0]), st.just((1, 2)), st.just({"a": 1}), st.just(object), st.just(np.ndarray), st.just(np),
)  # fmt: skip
values = st.one_of(arrays(), scalars, st.lists(arrays(), max_size=2), st.tuples(arrays(), scalars))


def combined(x, y, s=2.0):
    return x * s + y, x.sum()


def contained(x, *rest):
    return x[0] * 2 + rest[0]["a"], [x[1]]


def updated(x, y):
    x += y
    return x


def described(result: Any) -> Any:
    """A result, containers and all, as values that can be compared."""
    if isinstance(result, (tuple, list)):
        return type(result), [described(part) for part in result]
    if isinstance(result, dict):
        return dict, [(key, described(part)) for key, part in result.items()]
    array = np.asarray(result)  # of objects it holds addresses
    return type(result), getattr(result, "dtype", None), repr(array.tolist()) if array.dtype == "O" else array.tobytes()


def outcome(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result's description, or the error's; and the arguments afterwards."""
    args = tuple(a.copy(order="K") if isinstance(a, np.ndarray) and a.flags.writeable else a for a in args)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*args, **kwargs)
    except RecursionError:
        raise
    except Exception as error:
        return type(error), str(error)
    return described(result), [a.tobytes() for a in args if isinstance(a, np.ndarray) and a.dtype != "O"]


@pytest.fixture(scope="module")
def paths() -> dict[str, tuple[Any, Any]]:
    """Each function twice: compiled with entries, and, under another setting, without."""
    functions: tuple[Any, ...] = (combined, updated, contained)
    return {f.__name__: (txc.jit(f), txc.jit(f)) for f in functions}


@pytest.mark.parametrize("name", ["combined", "updated", "contained"])
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_both_paths_agree_on_anything(paths, name, data):
    direct, by_python = paths[name]
    if name == "combined":
        args = tuple(data.draw(st.lists(values, min_size=0, max_size=4)))
        kwargs = data.draw(st.dictionaries(st.sampled_from(["x", "y", "s", "z", "out"]), values, max_size=2))
    elif name == "updated":
        args, kwargs = (data.draw(arrays()), data.draw(values)), {}
    else:
        first = st.one_of(st.tuples(arrays(), values), st.lists(arrays(), min_size=1, max_size=3), values)
        rest = st.one_of(st.dictionaries(st.sampled_from(["a", "b", 1]), values, max_size=2), values)
        args, kwargs = (data.draw(first), *data.draw(st.lists(rest, max_size=2))), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TXC_NATIVE_ENTRY", "0")
        expected = outcome(by_python, args, kwargs)
    found = outcome(direct, args, kwargs)
    again = outcome(direct, args, kwargs)
    assert found == expected
    assert again == expected


@settings(max_examples=300)
@given(st.lists(values, max_size=3), st.dictionaries(st.sampled_from(["x", "y", "s", "z"]), values, max_size=2))
def test_a_compiled_version_never_takes_what_is_not_its_own(args, kwargs):
    """The entry for one kind of arguments gets everything; what it takes, it computes as NumPy does."""
    x = np.arange(4, dtype=np.float32)
    _only(x, x)
    found = outcome(_only, tuple(args), kwargs)
    fits = len(args) == 2 and not kwargs and all(type(a) is np.ndarray and a.dtype == np.float32 for a in args)
    if fits and args[0].shape == args[1].shape:
        assert found[0] == outcome(_plain, tuple(args), kwargs)[0]


def _plain(x, y):
    return x * 2 + y


_only = txc.jit(_plain)
