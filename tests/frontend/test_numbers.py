"""Numbers are Python's: sizes, int arguments, counters and flags behave as in the same function undecorated."""

import math

import numpy as np
import pytest

import txc

X = np.arange(12.0).reshape(3, 4)
TEMPLATE = "{} {}"


def ufuncs(x, n):
    return x / np.sqrt(x.shape[-1]), np.sqrt(n), np.log(x.shape[0]), np.maximum(n, 3), np.float64(2.5) * n


def arithmetic(x, n):
    return n * 1j, n / 3, 7 / n, n // 2.0, n % 1.5, n**2, n**0.5, n**-1, 2**n, 2.0**n, divmod(n, 3), divmod(17, n)


def bits(x, n):
    return 1 << n, n << 2, n >> 1, 100 >> n, n & 1, n | 1, ~n, n ^ 5, n & 6, 5 | n, 3 & n, -n & 12, -n | 5, -n >> 1


def comparisons(x, n):
    return n < 2.5, n == 2.0, n > 2.5, 2.5 < n, n != 3.5, n <= 3.0, n == float("nan"), n < math.inf, n == 3 + 0j


def text(x, n):
    return (
        f"{x.shape} {n:03d}",
        str(n),
        TEMPLATE.format(n, x.shape),
        repr(x.shape),
        "a" * n,
        [1, 2, 3, 4, 5, 6, 7, 8][n],
        f"{n / 2:.2f}",
    )


def hashing(x, n):
    return {3: 5, 7: 1}.get(n, 0), n in {1, 2, 3}, hash(n), len({n, 3, 7})


def creation(x, n):
    return np.eye(n), np.full(n, 2.5), np.arange(n), np.linspace(0, 1, n), np.zeros(n >> 1), np.zeros(int(n / 2))


def builtins(x, n):
    shorter = min(n, 2), max(n, x.shape[0], 3), min([n, x.shape[0]]), sum([n, x.shape[0]])
    return *shorter, abs(-n), round(n), round(n / 3), round(n / 2), round(n / 3, 1), int(n / 2), float(n), bool(n)


def of_math(x, n):
    exact = math.ceil(n / 2), math.floor(-n / 2), math.gcd(n, 6), math.isqrt(n), math.trunc(-n / 2)
    return *exact, math.sqrt(n), math.log2(n), math.exp(n / 2), int(x.shape[0] * 0.7)


def conversions(x, n):
    scale = np.float32(1 / x.shape[-1] ** 0.5)
    return np.float32(n), np.float64(n), np.int32(n), scale, np.complex128(n), np.bool_(n), x.dtype.type(3.7)


def types(x, n):
    return isinstance(n, int), isinstance(n, float), type(n) is int, np.isscalar(n), n.bit_length(), complex(n, 2)


def compared(jitted, plain, *args):
    for _ in range(2):
        same(jitted(*args), plain(*args))


def same(found, expected):
    if isinstance(expected, (tuple, list)):
        assert type(found) is type(expected) and len(found) == len(expected)
        for a, b in zip(found, expected):
            same(a, b)
    elif isinstance(expected, (str, dict)):
        assert found == expected
    else:
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize(
    "function",
    [ufuncs, arithmetic, bits, comparisons, text, hashing, creation, builtins, of_math, conversions, types],
)
def test_an_int_argument_and_a_size_are_ints(function):
    jitted = txc.jit(function)
    for n in (3, 7, 1, 4):
        compared(jitted, function, X, n)


@pytest.mark.parametrize("n", [-3, -1, -64])
def test_bits_of_negative_ints(n):
    def function(x, n):
        return n & 1, n & 6, n | 5, n ^ 9, ~n, n >> 2, n & -n, n % 3, n // 3

    compared(txc.jit(function), function, X, n)


def test_sizes_stay_generic_in_arithmetic():
    def function(x):
        return x / np.sqrt(x.shape[0]) + x.shape[0] / 2 + (x.shape[0] >> 1) + np.float32(x.shape[0])

    jitted = txc.jit(function)
    for n in range(2, 9):
        compared(jitted, function, np.arange(float(n)))
    assert jitted.explain_compile().count(", version ") == 1


@pytest.mark.parametrize("n", [100, 62, -2, 0])
def test_powers_and_their_types_are_pythons(n):
    def function(n):
        return 2**n if n < 63 else n, float(2**n) if n >= 0 else 2**n

    compared(txc.jit(function), function, n)


@pytest.mark.parametrize(
    "function",
    [
        lambda n: 1 / n,
        lambda n: 7 // n,
        lambda n: 7 % n,
        lambda n: n**-1,
        lambda n: divmod(3, n),
        lambda n: 2.0 / n,
        lambda n: 1 << (n - 1),
    ],
)
def test_what_python_raises_is_raised(function):
    def called(n):
        return function(n)

    jitted = txc.jit(called)
    same(jitted(2), called(2))
    with pytest.raises((ZeroDivisionError, ValueError)) as expected:
        called(0)
    with pytest.raises(expected.type):
        jitted(0)
    same(jitted(3), called(3))


def test_truth_of_an_int():
    def function(n):
        return 1 if n % 2 else 2

    jitted = txc.jit(function)
    for n in (2, 3, 4, 5):
        compared(jitted, function, n)


def test_a_flag_is_a_fact():
    def function(x, flag, reverse=False):
        return x.sum(axis=0, keepdims=flag), np.sort(x, 0)[::-1] if reverse else x + flag, flag

    jitted = txc.jit(function)
    for _ in range(2):
        for flag in (True, False):
            for reverse in (True, False):
                same(jitted(X, flag, reverse=reverse), function(X, flag, reverse=reverse))


def test_flags_in_tuples_and_dicts_are_facts_and_bools_in_lists_are_data():
    def function(x, options, flags, data):
        return x.sum(keepdims=options["keep"]), x.sum(0, keepdims=flags[0]), np.where(data[0], x, -x)

    jitted = txc.jit(function)
    for keep in (True, False):
        for first in (True, False):
            args = X, {"keep": keep}, (first,), [first]
            same(jitted(*args), function(*args))


def test_scalars_of_run_time_numbers():
    def function(x, t):
        return (
            np.float32(x.sum()),
            np.int64(x[0, 1]),
            np.float64(t),
            np.complex128(t),
            math.atan(t),
            math.isnan(x[0, 0]),
            isinstance(t, float),
            round(x[1, 2], 1),
            complex(t, 2.0),
        )

    compared(txc.jit(function), function, X, 0.75)


def test_functions_that_have_no_code_say_what_to_write():
    def factorial(x):
        return math.factorial(int(x[0]))

    with pytest.raises(txc.TxcError, match="outside the function"):
        txc.jit(factorial)(np.array([3]))
    with pytest.raises(txc.TxcError, match=r"np\.round"):
        txc.jit(lambda t: round(t, 23))(1.234)


@pytest.mark.parametrize("n", [2**31, -(2**31), 3, 2**40, -(2**62)])
def test_ints_never_wrap(n):
    def function(x, n):
        return x + (n * n - n), x - (-n), x + (n * n + 7) // 3

    jitted = txc.jit(function)
    same(jitted(X, 5), function(X, 5))
    if abs(n) < 2**32:
        compared(jitted, function, X, n)
    else:
        with pytest.raises(txc.TxcError, match="does not fit"):
            jitted(X, n)
    same(jitted(X, 6), function(X, 6))


def test_the_least_int_has_no_negative():
    def function(x, n):
        return x - n, x * (-n)

    jitted = txc.jit(function)
    compared(jitted, function, X, 1 - 2**63)
    with pytest.raises(txc.TxcError, match="does not fit i64"):
        jitted(X, -(2**63))
    compared(jitted, function, X, 5)


@pytest.mark.parametrize("n", [3, -(2**63), 2**63 - 1, 2**40])
def test_ints_that_are_results_are_of_any_size(n):
    def function(x, n):
        h = n
        if x[0, 0] > 0:
            h = -n * n
        return -n, n * n * n + len(x), (-n) % 7, (-n // 3, [n * 4]), h, x * 2

    jitted = txc.jit(function)
    for sign in (1, -1):
        for k in (n, 5):
            x = sign * (X + 1)
            assert repr(jitted(x, k)) == repr(function(x, k))


def test_an_int_beside_small_ones_has_to_fit():
    def function(x, n):
        y = x + n
        y[0] = n
        return y

    jitted = txc.jit(function)
    x = np.arange(3, dtype=np.uint8)
    compared(jitted, function, x, 200)
    with pytest.raises(OverflowError):
        function(x, 300)
    with pytest.raises(txc.TxcError, match="does not fit u8"):
        jitted(x, 300)
    compared(jitted, function, x, 255)


def test_counters_have_to_fit():
    def function(x, n):
        for i in range(n):
            x[i % 4] = i
        return x

    jitted = txc.jit(function)
    compared(jitted, function, np.zeros(4, np.int8), 128)
    with pytest.raises(txc.TxcError, match="does not fit i8"):
        jitted(np.zeros(4, np.int8), 130)


def test_a_counter_times_itself():
    def function(x, n):
        for i in range(n):
            x += i * i
        return x

    compared(txc.jit(function), function, np.zeros(4), 50)


def test_square_roots_by_power_of_scalars_and_arrays():
    """Of NumPy's scalars ``** 0.5`` is C's `pow`, of arrays it is `sqrt`."""

    def roots(x, s):
        return s**0.5, x[0] ** 0.5, x.sum() ** 0.5, x**0.5

    jitted = txc.jit(roots)
    for kind in (np.float64, np.float32):
        for value in (-np.inf, -0.0, 0.0, 2.25, -1.0, np.inf, np.nan):
            x = np.array([value], kind)
            with np.errstate(invalid="ignore"):
                expected = roots(x, x[0])
            for found, wanted in zip(jitted(x, x[0]), expected, strict=True):
                np.testing.assert_array_equal(found, wanted)
                assert np.isnan(wanted).all() or np.signbit(found) == np.signbit(wanted)
                assert found.dtype == wanted.dtype
