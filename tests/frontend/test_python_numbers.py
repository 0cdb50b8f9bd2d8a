"""Python's numbers that only compiled code knows: each operator and function beside CPython, at the edges.

What compiled code cannot say is an OverflowError (an int of more than 64 bits, a quotient of ints that are no floats)
or the ValueError that tells what to write; never another number.
"""

import itertools
import linecache
import math
from typing import Any

import numpy as np
import pytest

import txc

INTS = [0, 1, -1, 2, 3, -7, 10, 63, 64, 2**31, -(2**31) - 1, 2**53 - 1, 2**53, 2**53 + 1, 2**62, -(2**62), 2**63 - 1]
INTS += [-(2**63)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.5, -7.25, 1e16, 2.0**53, 2.0**63, -(2.0**63), 1e308, -1e308, 5e-324]
FLOATS += [math.inf, -math.inf, math.nan]

OF_TWO_INTS = [
    "a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "divmod(a, b)", "a >> b", "a & b", "a | b", "a ^ b",
    "a < b", "a <= b", "a == b", "a != b", "a > b", "a >= b", "max(a, b)", "min(a, b)",
    "a if a > b else b - 1", "(a < b) + (a == b)", "b and a // b",
]  # fmt: skip
#: What needs more than 64 bits on the way to results that do not.
THROUGH_MORE_BITS = ["math.gcd(a, b)", "a + b - b", "a * 3 + b * 5", "(a * b) % 7"]
OF_AN_INT = [
    "-a", "+a", "abs(a)", "~a", "a ** 2", "a ** 3", "a ** 0", "a ** -1", "a ** 0.5", "a << 3", "a >> 70", "a << 70",
    "a / 2", "7 / a", "a // 7", "a // -3", "a % 7", "a % -7", "100 // a", "100 % a", "divmod(a, -5)",
    "divmod(100, a)", "float(a)", "int(a)", "bool(a)", "a * 1.5", "a * 1j", "a + 0.5", "a < 2.5", "a == 2.0**53",
    "a > 2.0**53", "a <= 2.0**63", "a < 9007199254740993.0", "0.5 > a", "round(a)", "round(a, 2)", "math.sqrt(a)",
    "math.floor(a)", "math.log(a)", "a & 255", "a | 1", "a ^ -1", "not a", "a and 5", "a or 7", "complex(a, 1)",
    "max(a, 5)", "min(3, a)", "True + a", "a - True", "a == True", "isinstance(a, int)", "a != 2**63", "a < 2**64",
    "np.float32(a)", "np.int64(a)", "np.sqrt(a)", "np.float64(a) / 3",
]  # fmt: skip
OF_TWO_FLOATS = [
    "a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "divmod(a, b)", "a < b", "a <= b", "a == b", "a != b",
    "max(a, b)", "min(a, b)", "a ** b", "math.fmod(a, b)", "math.atan2(a, b)", "math.copysign(a, b)", "math.pow(a, b)",
    "math.hypot(a, b)", "complex(a, b)",
]  # fmt: skip
OF_A_FLOAT = [
    "-a", "+a", "abs(a)", "a ** 2", "a ** 3", "a ** -1", "a ** -2", "a ** 0.5", "a ** 0", "a ** 1", "2 ** a",
    "0.5 ** a", "(-2.0) ** 3", "1 / a", "1.0 / a", "a / 0.5", "1 // a", "7 % a", "a // 2", "a % 3", "a % -3",
    "divmod(a, 2)", "divmod(7, a)", "int(a)", "float(a)", "bool(a)", "round(a)", "not a", "a and 1.5", "a or 2.5",
    "math.sqrt(a)", "math.exp(a)", "math.log(a)", "math.log(a, 2)", "math.log2(a)", "math.log10(a)", "math.log1p(a)",
    "math.expm1(a)", "math.sin(a)", "math.cos(a)", "math.tan(a)", "math.asin(a)", "math.acos(a)", "math.atan(a)",
    "math.sinh(a)", "math.cosh(a)", "math.tanh(a)", "math.asinh(a)", "math.acosh(a)", "math.atanh(a)", "math.floor(a)",
    "math.ceil(a)", "math.trunc(a)", "math.fabs(a)", "math.erf(a)", "math.erfc(a)", "math.isnan(a)", "math.cbrt(a)",
    "math.degrees(a)", "math.radians(a)", "math.nextafter(a, 1.0)", "int(a) + 1", "int(a) * 2", "complex(a)",
    "(a + 1j) / a", "1j / a", "abs(complex(a, a))", "np.float64(a) / 0.0", "np.sqrt(a)", "isinstance(a, float)",
    "min(a, 1.0)", "max(0.0, a)", "a == 2**53", "a < 2**53 + 1", "a >= 2**63 - 1", "2**53 + 1 > a",
    "(a < 4, -7 >= a, a == True, a != -(2**53), 0 < a, a <= 2**53, 1 == a)",
]  # fmt: skip
#: Numbers whose exact values Python's own library, or NumPy's, gives to the last bit only here or there.
ROUNDED = 4e-16


def function(text: str) -> Any:
    """A function made of its text, which `txc` reads from the line cache."""
    name = f"<python numbers {len(linecache.cache)}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    scope: dict[str, Any] = {"math": math, "np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def outcome(f, *args):
    try:
        with np.errstate(all="ignore"):
            return f(*args)
    except (ArithmeticError, ValueError) as error:
        return error


def agree(found, expected):
    """Whether a jitted function did what Python does, or said that it cannot."""
    if isinstance(expected, Exception):
        return isinstance(found, type(expected))
    if isinstance(found, OverflowError):
        return beyond(expected) or "quotient" in str(found)
    if isinstance(found, ValueError):
        return "write" in str(found)
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(agree, found, expected))
    if type(found) is not type(expected):
        return False
    if isinstance(expected, complex):
        return agree(found.real, expected.real) and agree(found.imag, expected.imag)
    if isinstance(expected, (float, np.floating)) and math.isfinite(expected) and expected:
        return math.isclose(found, expected, rel_tol=ROUNDED)
    return repr(found) == repr(expected)


def beyond(value):
    """Whether an int on the way to a value may need more than 64 bits."""
    parts = value if isinstance(value, tuple) else (value,)
    return any(isinstance(v, int) and not -(2**62) < v < 2**62 for v in parts)


def differences(text, arguments):
    """What a jitted function of that text does otherwise than Python, for some of many arguments."""
    plain = function(text)
    jitted = txc.jit(plain)
    for args in arguments:
        found, expected = outcome(jitted, *args), outcome(plain, *args)
        if not agree(found, expected):
            yield f"{args}: {found!r}, Python: {expected!r}"


def differing(kind, expression, values, count):
    """What a function of elements of arrays, as ints or floats of Python's, does otherwise than Python."""
    names = "ab"[:count]
    lines = [f"def f({', '.join(f'x{n}' for n in names)}):", *(f"    {n} = {kind.__name__}(x{n}[0])" for n in names)]
    text = "\n".join([*lines, f"    return {expression}\n"])
    dtype = np.int64 if kind is int else np.float64
    arguments = itertools.product([np.array([v], dtype) for v in values], repeat=count)
    return list(differences(text, arguments))


@pytest.mark.parametrize("expression", OF_AN_INT)
def test_of_an_int(expression):
    assert differing(int, expression, INTS, 1) == []


@pytest.mark.parametrize("expression", OF_A_FLOAT)
def test_of_a_float(expression):
    assert differing(float, expression, FLOATS, 1) == []


@pytest.mark.parametrize("expression", OF_TWO_INTS)
def test_of_two_ints(expression):
    assert differing(int, expression, [0, 1, -1, 3, -7, 64, 2**31, 2**53 + 1, -(2**62), 2**63 - 1, -(2**63)], 2) == []


@pytest.mark.parametrize("expression", THROUGH_MORE_BITS)
def test_of_two_ints_by_way_of_more_bits(expression):
    assert differing(int, expression, [0, 1, -1, 3, -7, 64, 2**31 - 5, -(2**29)], 2) == []
    found = differing(int, expression, [1, 2**62, 2**63 - 1, -(2**63)], 2)
    assert all("OverflowError" in text for text in found)


@pytest.mark.parametrize("expression", ["a << b", "a ** b", "2 ** b", "(-3) ** b"])
def test_shifts_and_powers(expression):
    assert differing(int, expression, [0, 1, -1, 2, 3, -7, 39, 62, 63, 64, 100], 2) == []


def test_a_shift_that_python_has_no_memory_for():
    jitted = txc.jit(function("def f(x):\n    return 1 << int(x[0])\n"))
    with pytest.raises(OverflowError, match="64 bits"):
        jitted(np.array([2**62]))


@pytest.mark.parametrize("expression", OF_TWO_FLOATS)
def test_of_two_floats(expression):
    values = [0.0, -0.0, 1.0, -2.5, 3.0, 1e16, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan]
    assert differing(float, expression, values, 2) == []


@pytest.mark.parametrize("expression", [e for e in OF_A_FLOAT if e != "isinstance(a, float)"])
def test_of_a_float_argument(expression):
    assert list(differences(f"def f(a):\n    return {expression}\n", [(v,) for v in FLOATS])) == []


def test_ints_that_a_loop_carries_do_not_wrap():
    def fibonacci(n):
        a, b = 0, 1
        for _ in range(n):
            a, b = b, a + b
        return a

    jitted = txc.jit(fibonacci)
    assert jitted(91) == fibonacci(91)
    with pytest.raises(OverflowError, match="64 bits"):
        jitted(100)


def test_a_loop_ends_where_an_int_leaves_64_bits():
    def doubled(x):
        n = int(x[0])
        while n < 2**62 + 1:
            n *= 2
        return n

    with pytest.raises(OverflowError, match="64 bits"):
        txc.jit(doubled)(np.array([1]))
    assert txc.jit(doubled)(np.array([2**62 + 1])) == 2**62 + 1


def test_a_check_is_made_only_where_python_gets_there():
    def function(x):
        n = int(x[0])
        return (n * 4 if n < 2**40 else n), (1.0 / float(x[1]) if x[1] else 0.0)

    jitted = txc.jit(function)
    assert jitted(np.array([2**62, 0])) == (2**62, 0.0)
    assert jitted(np.array([3, 4])) == (12, 0.25)


def test_what_does_not_fit_the_array_raises():
    def stored(x, y):
        y[0] = int(x[0])
        return y

    def added(x, y):
        return y + int(x[0])

    for dtype in (np.int8, np.uint8, np.int32, np.uint64):
        for plain in (stored, added):
            jitted = txc.jit(plain)
            for v in (-1.0, 5.0, 300.0, 1e10):
                found, expected = (outcome(f, np.array([v]), np.zeros(2, dtype)) for f in (jitted, plain))
                assert type(found) is type(expected)
                assert str(found) == str(expected)


def test_numbers_of_numpys_wrap_as_numpys():
    def function(x):
        return x[0] + x[0], np.int64(2) * x[0], np.float64(1.0) / np.float64(x[1])

    with np.errstate(all="ignore"):
        assert repr(txc.jit(function)(np.array([2**62, 0]))) == repr(function(np.array([2**62, 0])))


def test_a_size_beside_a_number_of_numpys_is_numpys():
    def function(x):
        n = x.shape[0]
        return n + np.int64(3), np.int8(3) * n, n // np.int32(2), n / np.float32(2), np.float64(2) ** n, n & np.int64(1)

    assert repr(txc.jit(function)(np.zeros(5))) == repr(function(np.zeros(5)))


def test_equal_programs_of_pythons_and_numpys_ints_keep_their_types():
    def pythons(x):
        return int(x[0])

    def numpys(x):
        return np.int64(int(x[0]))

    for plain in (pythons, numpys):
        jitted = txc.jit(plain)
        assert [type(jitted(np.array([3]))) for _ in range(3)] == [type(plain(np.array([3])))] * 3


def counting(x):
    c = 0
    for i in range(len(x)):
        for j in range(i):
            if x[i] > x[j]:
                c += 1
    return c


def congruential(x):
    s = 1
    for i in range(len(x)):
        s = (s * 1103515245 + 12345) % 2**31
        x[i] = s
    return x


def stencil(x):
    y = np.zeros_like(x)
    for i in range(1, len(x) - 1):
        k = i * 2 // 2
        y[k] = (x[i - 1] + x[i + 1]) * 0.5
    return y


def steps(x):
    n, k = 0, 10
    while x[n] > 0:
        n += 3
        k = max(k - 1, 0) if n % 2 else k
    return n * 4 + k


@pytest.mark.parametrize("plain", [counting, congruential, stencil, steps])
def test_ints_that_surely_fit_are_not_checked(plain):
    x = np.array([1.0, 3.0, 2.0, 5.0, 4.0, 1.0, 0.0])
    jitted = txc.jit(plain)
    np.testing.assert_array_equal(jitted(x.copy()), plain(x.copy()))
    assert not [check for check in jitted.graph(x).checks if check.error == "OverflowError"]


@pytest.mark.parametrize("element", ["u1", "i4", "i8", "?", "f4"])
@pytest.mark.parametrize("where", ["at", "slice", "mask", "places", "fill", "literal"])
def test_a_float_stored_into_integers_is_an_int_that_fits(where: str, element: str):
    """NumPy takes ``int(value)`` of Python's floats; those of its own it casts."""

    def stores(x, v, c):
        if where == "at":
            x[1] = v
        elif where == "slice":
            x[1:] = v
        elif where == "mask":
            x[x == 0] = v
        elif where == "places":
            x[np.array([0, 2])] = v
        elif where == "fill":
            x.fill(v)
        elif c:
            x[0] = 256.0
        else:
            x[0] = -1.0

    def outcome(f, value):
        x = np.zeros(3, element)
        try:
            f(x, value, value > 100)
        except (OverflowError, ValueError) as error:
            return type(error), repr(x)
        return None, repr(x)

    compiled = txc.jit(stores)
    for value in (-1.0, -0.5, 255.9, 256.0, 1e10, 1e30, math.nan, math.inf, 2.5):
        assert outcome(compiled, value) == outcome(stores, value), value


def divided_by_counters(x, g):
    s = 0
    for i in range(len(x)):
        x[i] = 7
        s += g // (i - 2) + g % (i - 2)
    return s


def divided_by_counters_behind_a_test(x, g):
    s, t = 0, 0.0
    for i in range(len(x)):
        if x[i] != 2:
            q, r = divmod(g, i - 2)
            s += q * r
            t += g / (i - 2) + 2.5 // (i - 2)
    return s, t


def divided_by_counters_of_counters(x, g):
    h = 1
    for i in range(len(x)):
        for j in range(i):
            h += g // (i - j - 1 - 4 * (j > i))
            x[j] += h
    return h


def divided_by_counters_in_a_while(x, g):
    k, s = 5, 0
    while k > x[0]:
        k -= 1
        s += g // k + k // (g + 8)
    return s


@pytest.mark.parametrize(
    "f",
    [
        divided_by_counters, divided_by_counters_behind_a_test, divided_by_counters_of_counters,
        divided_by_counters_in_a_while,
    ],
)  # fmt: skip
def test_ints_are_divided_by_counters_that_may_be_zero(f):
    compiled = txc.jit(f)
    for n in (1, 2, 3, 6):
        for g in (0, 7, -7, -8):
            theirs, ours = np.arange(float(n)), np.arange(float(n))
            try:
                expected = f(theirs, g)
            except ZeroDivisionError as error:
                with pytest.raises(ZeroDivisionError, match=str(error)):
                    compiled(ours, g)
            else:
                got = compiled(ours, g)
                assert (type(got), got) == (type(expected), expected)
            np.testing.assert_array_equal(ours, theirs)


def test_the_third_power_of_a_size():
    def cube(x):
        return len(x) ** 3, len(x) * len(x) * len(x)

    def tetrahedral(x):
        n = x.shape[0]
        return x[0] + n * (n + 1) * (n + 2)

    few, many = np.zeros(3, np.int8), np.zeros(2_100_000, np.int8)
    for x in (few, many, few):
        assert txc.jit(cube)(x) == cube(x)
    jitted = txc.jit(tetrahedral)
    for _ in range(3):  # the third call enters machine code directly
        assert jitted(few.astype(float)) == tetrahedral(few.astype(float))
    with pytest.raises(OverflowError, match="does not fit i64"):
        jitted(many.astype(float))
    assert not txc.jit(lambda x: x.mean()).graph(np.zeros((2, 3, 4))).table.guards  # the size of one array


def behind_a_complex_number(x):
    a, b = x[0], x.astype(np.float32)[0]
    made = (1j * a, 1j + a, 1j - a, 1j / a, a * 1j, 1j * b, complex(x[1], 1) * a, a * complex(x[1], 1))
    return made, (1j * a) * np.ones(2, np.float32), np.exp(1j * a) * np.ones(2, np.complex64)


def test_what_a_complex_number_takes_for_a_float():
    """``complex.__mul__`` knows a np.float64, a float, and so is asked first: the result is Python's."""
    x = np.array([2.0, 3.0])
    assert repr(txc.jit(behind_a_complex_number)(x)) == repr(behind_a_complex_number(x))
    with pytest.raises(ZeroDivisionError):
        txc.jit(lambda x: 1j / x[0])(np.zeros(2))


def test_item_of_a_place_and_of_one_element():
    def f(x):
        a = x.reshape(2, 2)
        return x.item(0), a.item(3), a.item(1, 0), a.item((0, 1)), x[:1].item(), x[1].item(), x.item(-1)

    x = np.arange(4.0)
    assert repr(txc.jit(f)(x)) == repr(f(x))
    with pytest.raises(IndexError):
        txc.jit(lambda x: x.item(7))(x)
