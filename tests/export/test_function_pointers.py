"""Function pointers: jitted functions called by C types through ctypes and SciPy, and every refusal by its text."""

from __future__ import annotations

import ctypes
import gc
import math
import pickle
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import txc
from txc.dialects.types import DTYPES

SHIFT = np.array([0.5, 2.0])
FACTOR = 2.0


def doubles(*values: float) -> Any:
    """Memory of C with numbers in it."""
    return (ctypes.c_double * len(values))(*values)


@txc.jit
def damped(x):
    return np.exp(-x * x) * np.cos(3 * x)


@txc.jit
def quadratic(x, a, b):
    return a * x**2 + np.sin(b * x)


@txc.jit
def median(window):
    return np.median(window)


@txc.jit
def peak(window):
    return window.max()


@txc.jit
def root(x):
    return math.sqrt(x)


@txc.jit
def product(a, b):
    return a @ b


@txc.jit
def oscillator(t, y):
    return np.array([y[1], -t * y[0]])


@txc.jit
def stored(t, y, out):
    out[0], out[1] = y[1], -t * y[0]


def test_the_default_is_a_double_of_doubles():
    assert damped.ctypes(0.25) == damped(0.25)
    assert quadratic.ctypes(0.5, 2.0, 3.0) == quadratic(0.5, 2.0, 3.0)
    assert quadratic.address == quadratic.address
    called = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 3)(quadratic.address)
    assert called(0.5, 2.0, 3.0) == quadratic(0.5, 2.0, 3.0)


def test_parameters_with_a_default_may_be_left_out():
    @txc.jit
    def scaled(x, factor=2.0, *, offset=1.0):
        return x * factor + offset

    assert scaled.ctypes(1.5) == 4.0
    assert scaled.c_function("double(double, double)").ctypes(1.5, 4.0) == 7.0


@pytest.mark.parametrize("name", ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"])
def test_numbers_of_every_type_go_by_value(name: str):
    @txc.jit
    def last(x, y):
        return y

    dtype = DTYPES[name].numpy
    called = last.c_function(f"{name}({name}, {name})").ctypes
    if dtype.kind in "iu":
        values: list[Any] = [np.iinfo(dtype).min, np.iinfo(dtype).max]
    else:
        values = [False, True] if name == "bool" else [-2.5, np.inf]
    assert [called(1, value) for value in values] == values


def test_integers_are_numpys_and_results_become_what_the_type_says():
    @txc.jit
    def doubled(x):
        return x * 2

    assert doubled.c_function("i32(i32)").ctypes(2**30) == -(2**31)  # as np.int32's
    assert doubled.c_function("i64(i32)").ctypes(-3) == -6
    assert doubled.c_function("f64(u8)").ctypes(200) == 144.0
    assert doubled.c_function("f32(f64)").ctypes(0.1) == np.float32(0.2)
    assert doubled.c_function("float64(float32)").ctypes(0.1) == np.float32(0.1) * 2

    three = txc.jit(lambda x: 3)
    assert (three.c_function("u8(f64)").ctypes(0.0), three.ctypes(0.0)) == (3, 3.0)


def test_arrays_with_the_length_beside_them():
    median_of = median.c_function("f64(i32, f64*)").ctypes
    values = [3.0, -1.0, 4.0, 9.0]
    for n in range(1, 5):
        assert median_of(n, doubles(*values)) == np.median(values[:n])
    behind = median.c_function("f64(f64*, i64)").ctypes
    assert behind(doubles(*values), 3) == 3.0
    long = np.random.default_rng(0).standard_normal(5001)
    assert behind(long.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), 5001) == np.median(long)


def test_lengths_that_do_not_fit_give_nan():
    dot = product.c_function("f64(i32, f64*, i32, f64*)").ctypes
    a, b = doubles(1, 2, 3), doubles(4, 5, 6)
    assert dot(3, a, 3, b) == 32.0
    assert dot(0, a, 0, b) == 0.0 and dot(-1, a, -5, b) == 0.0
    assert math.isnan(dot(3, a, 2, b)) and math.isnan(dot(2, a, 3, b))
    assert math.isnan(dot(3, None, 3, b))
    of_two = quadratic.c_function("f64(i32, f64*)").ctypes
    assert of_two(3, doubles(0.5, 2, 3)) == quadratic(0.5, 2.0, 3.0)
    assert math.isnan(of_two(2, doubles(0.5, 2))) and math.isnan(of_two(3, None))


def test_sizes_beyond_64_bits_give_nan():
    cube = txc.jit(lambda x: len(x) * len(x) * len(x)).c_function("f64(i64, f64*)").ctypes
    assert cube(2_097_151, doubles(0)) == float(2_097_151**3) and math.isnan(cube(2_097_152, doubles(0)))


def test_what_python_raises_an_error_for_gives_nan():
    assert (root.ctypes(4.0), math.isnan(root.ctypes(-1.0))) == (2.0, True)

    @txc.jit
    def picked(x, i):
        if x[0] < 0:
            raise ValueError("negative")
        return x[i]

    at = picked.c_function("f64(i32, f64*, i64)").ctypes
    assert (at(3, doubles(1, 2, 3), 2), at(3, doubles(1, 2, 3), -1)) == (3.0, 3.0)
    assert math.isnan(at(3, doubles(1, 2, 3), 3)) and math.isnan(at(3, doubles(-1, 2, 3), 0))


def test_results_that_are_stored():
    out = doubles(0, 0)
    assert oscillator.c_function("void(f64, f64[2], f64[2])").ctypes(3.0, doubles(5, 7), out) is None
    assert [*out] == [7.0, -15.0]
    assert stored.c_function("void(f64, f64[2], f64[2])").ctypes(4.0, doubles(5, 7), out) is None
    assert [*out] == [7.0, -20.0]
    damped.c_function("void(f64, f64[1])").ctypes(0.25, out)
    assert out[0] == damped(0.25)

    status = peak.c_function("i32(f64*, i64, f64*, void*)").ctypes
    assert (status(doubles(3, 1, 2), 3, out, None), out[0]) == (1, 3.0)
    assert status(doubles(3, 1, 2), 3, None, None) == 0 and status(doubles(), 0, out, None) == 0

    weighted = txc.jit(lambda window, weights: (window * weights).sum())
    status = weighted.c_function("i32(f64*, i64, f64*, f64[3])").ctypes
    assert (status(doubles(1, 2, 3), 3, out, doubles(4, 5, 6)), out[0]) == (1, 32.0)
    assert status(doubles(1, 2, 3), 2, out, doubles(4, 5, 6)) == 0

    ordered = txc.jit(lambda x: np.sort(x)).c_function("i32(f64*, i64, f64*, i64)").ctypes
    assert (ordered(doubles(9, 8), 2, out, 2), [*out]) == (1, [8.0, 9.0])
    assert (ordered(doubles(1, 0), 2, out, 1), [*out]) == (0, [8.0, 9.0])

    squared = txc.jit(lambda z: z * z).c_function("void(c128[1], c128[1])").ctypes
    squared(doubles(1, 2), out)
    assert [*out] == [-3.0, 4.0]


def test_status_of_a_function_that_only_stores():
    @txc.jit
    def differences(line, out):
        out[:] = line[1:] - line[:-1]

    called = differences.c_function("i32(f64*, i64, f64*, i64, void*)").ctypes
    out = doubles(0, 0)
    assert (called(doubles(1, 4, 9), 3, out, 2, None), [*out]) == (1, [3.0, 5.0])
    assert (called(doubles(1, 4, 9), 3, out, 1, None), [*out]) == (0, [3.0, 5.0])


def test_what_is_outside_is_what_it_was():
    global FACTOR

    @txc.jit
    def moved(x):
        return x * FACTOR + SHIFT[1]

    made = moved.c_function("f64(f64)").ctypes
    FACTOR, SHIFT[1] = 5.0, 100.0
    try:
        assert (made(1.0), moved(1.0)) == (4.0, 105.0)
    finally:
        FACTOR, SHIFT[1] = 2.0, 2.0


def test_options_are_the_jitted_functions():
    assert damped.options(threads=3, debug=True).ctypes(0.25) == damped(0.25)
    with pytest.raises(txc.TxcError, match=r'(?s)runs on the CPU, and damped on ptx-sim.*device="cpu"'):
        damped.options(device="ptx-sim").address  # noqa: B018


def test_threads_call_it_without_pythons_lock():
    total = txc.jit(lambda x: np.sort(x).sum()).c_function("f64(i32, f64*)").ctypes
    values = np.random.default_rng(1).integers(0, 1000, (8, 3000)).astype(np.float64)
    found: dict[int, float] = {}

    def work(n: int) -> None:
        pointer = values[n].ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        results = {total(3000, pointer) for _ in range(20)}
        found[n] = results.pop() if len(results) == 1 else math.nan

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: values[n].sum() for n in range(8)}


def test_code_lives_as_long_as_what_refers_to_it():
    made = damped.c_function("f64(f64)")
    code, called = weakref.ref(made._code), made.ctypes
    del made
    assert code() is not None and called(0.5) == damped(0.5)
    gc.disable()  # no cycle has to be found
    try:
        del called
        assert code() is None
    finally:
        gc.enable()


def test_it_says_what_it_is():
    made = peak.c_function("i32( double * , int64,f64*,void*)")
    assert made.type == "i32(f64*, i64, f64*, void*)"
    assert repr(made) == f"<txc.jit peak: i32(f64*, i64, f64*, void*) at {made.address:#x}>"
    with pytest.raises(TypeError, match="is an address of this process: pickle the jitted function"):
        pickle.dumps(made)
    assert pickle.loads(pickle.dumps(damped)) is damped


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("f64 f64", r"'f64 f64' is no type of a C function.*hint: write it as f64\(f64\)"),
        ("f64(f64*[2])", r"'f64\*\[2\]' in 'f64\(f64\*\[2\]\)' is no type of a C parameter"),
        ("f64(float)", "has 'float', which is no type.*write f32 for C's float, f64 for Python's"),
        ("f64(int)", "has 'int', which is no type.*write i32 for C's int, i64 for Python's"),
        ("f64(f46)", "has 'f46', which is no type.*did you mean f64"),
        ("f64(void)", "damped is no f64.*the type has 0 for its 1 parameters"),
        ("f64(f64, void)", "a parameter of .* is void.*an address that is not used is void"),
        ("f64(c64)", r"passes c64 by value, which targets do in ways of their own.*pass its address: c64\[1\]"),
        ("f16(f64)", "passes f16 by value"),
        ("f64(f64[0])", "has an address of no elements"),
        ("f64(f64*)", r"f64\(f64\*\) does not say how many elements x has.*put the length beside it"),
        ("f64(f64, f64)", "damped is no f64.*the type has 2 for its 1 parameters"),
        ("i64(f64)", r"it returns f64, which is not converted to i64.*convert it: np.int64"),
        ("void(f64)", "it returns a value, and the type has no place for it"),
        ("f64(f64[2])", r"it returns f64\[2\], not a number"),
        ("void(f64[2], f64[3])", r"it returns f64\[2\], and f64\[3\] has 3 elements"),
        ("i32(f64[2], f64*)", r"it returns f64\[2\], not a number"),
        ("void(f64, f64[2])", r"it returns f64\[\], not an array of one dim"),
        (None, "is no type of a C function"),
    ],
)
def test_types_that_are_none_of_a_function(type_: Any, text: str):
    with pytest.raises(txc.TxcError, match=f"(?s){text}") as caught:
        damped.c_function(type_)
    assert caught.value.code in ("TX0603", "TX0604")


def _complex(x):
    return np.sqrt(x + 0j)


def _nothing(x):
    SHIFT.sum()


def _pair(x):
    return x, x


def _too_large(x):
    return 300


def _writes(x):
    SHIFT[0] = x
    return x


def _compares(a, b):
    return 1.0 if a is b else 2.0


def _of_any(*x):
    return x[0]


def _repeated(n):
    made = 1
    for i in range(n):
        made = made * i
    return made


@pytest.mark.parametrize(
    ("function", "type_", "text"),
    [
        (_complex, "f64(f64)", r"^_complex is no f64\(f64\): it returns c128, which is not.*take .real"),
        (_nothing, "f64(f64)", "it returns nothing"),
        (_pair, "f64(f64)", r"it returns a tuple.*return an array: np.array\(\["),
        (_too_large, "u8(f64)", "Python integer 300 does not fit u8"),
        (
            _writes,
            "f64(f64)",
            "the function writes captured0, an array of the surrounding.*make it a parameter",
        ),
        (_compares, "f64(f64[2], f64[2])", "it asks whether arguments are one object, which addresses do not say"),
        (_of_any, "f64(f64)", "it takes any number of arguments.*write lambda x, y: f"),
        (_repeated, "i64(i32)", "what it checks while it runs may fail, and only a float.*let it return f64"),
        (root.__wrapped__, "void(f64, f64*)", "what it checks while it runs may fail"),
        (product.__wrapped__, "void(i32, f64*, i32, f64*, f64*)", "a length may not be what it needs"),
        (median.__wrapped__, "void(i32, f64*, f64*)", "what it checks while it runs may fail|memory"),
    ],
)
def test_what_a_type_has_no_word_for(function: Any, type_: str, text: str):
    with pytest.raises(txc.TxcError, match=f"(?s){text}") as caught:
        txc.jit(function).c_function(type_)
    assert caught.value.code == "TX0604" and function.__name__ in str(caught.value)


def test_a_function_that_is_no_double_of_doubles_says_what_to_write():
    with pytest.raises(txc.TxcError, match=r'(?s)too many indices.*oscillator.c_function\("f64\(i32, f64\*\)"\)'):
        oscillator.address  # noqa: B018


def test_scipy_is_asked_for_where_it_is_needed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert damped.ctypes(0.25) == damped(0.25)
    with pytest.raises(ImportError):
        damped.low_level_callable  # noqa: B018


def test_scipy_integrates():
    integrate = pytest.importorskip("scipy.integrate")
    scipy = pytest.importorskip("scipy")
    plain = damped.__wrapped__
    assert integrate.quad(damped.low_level_callable, 0, 2)[0] == pytest.approx(
        integrate.quad(plain, 0, 2)[0], rel=1e-14
    )
    plain = quadratic.__wrapped__
    got = integrate.quad(quadratic.low_level_callable, 0, 1, args=(2.0, 3.0))
    assert got[0] == pytest.approx(integrate.quad(plain, 0, 1, args=(2.0, 3.0))[0], rel=1e-14)
    ranges = [(0, 1), (0, 1), (0, 2)]
    got = integrate.nquad(quadratic.low_level_callable, ranges)
    assert got[0] == pytest.approx(integrate.nquad(plain, ranges)[0], rel=1e-12)

    norm = txc.jit(lambda p: np.sqrt((p * p).sum())).c_function("f64(i32, f64*)")
    assert integrate.quad(norm.low_level_callable, 0, 1, args=(1.0,))[0] == pytest.approx(
        integrate.quad(lambda x, a: math.hypot(x, a), 0, 1, args=(1.0,))[0], rel=1e-14
    )
    with_data = txc.jit(lambda x, p: p[0] * x + p[1]).c_function("f64(f64, f64[2])").ctypes
    data = doubles(4.0, 1.0)
    given = scipy.LowLevelCallable(with_data, ctypes.cast(data, ctypes.c_void_p), "double (double, void *)")
    assert integrate.quad(given, 0, 1)[0] == pytest.approx(3.0)


def test_scipys_filters_take_it():
    ndimage = pytest.importorskip("scipy.ndimage")
    x = np.random.default_rng(2).standard_normal((9, 11))
    window = peak.c_function("i32(f64*, i64, f64*, void*)").low_level_callable
    expected = ndimage.generic_filter(x, np.max, size=3)
    np.testing.assert_array_equal(ndimage.generic_filter(x, window, size=3), expected)

    def smooth(line, out):
        out[:] = (line[:-2] + line[1:-1] + line[2:]) / 3

    along = txc.jit(smooth).c_function("i32(f64*, i64, f64*, i64, void*)").low_level_callable
    expected = ndimage.generic_filter1d(x, smooth, 3)
    np.testing.assert_array_equal(ndimage.generic_filter1d(x, along, 3), expected)

    @txc.jit
    def moved(at, found, rank_out, rank_in):
        found[0], found[1] = at[0] - 1.0, at[1] + 0.5
        return np.int32(1)

    mapping = moved.c_function("i32(i64[2], f64[2], i32, i32, void*)").low_level_callable
    expected = ndimage.geometric_transform(x, lambda at: (at[0] - 1.0, at[1] + 0.5))
    np.testing.assert_allclose(ndimage.geometric_transform(x, mapping), expected, rtol=1e-13, atol=1e-13)

    failing = txc.jit(lambda w: math.sqrt(w[0])).c_function("i32(f64*, i64, f64*, void*)").low_level_callable
    with pytest.raises(RuntimeError):
        ndimage.generic_filter(x, failing, size=3)
