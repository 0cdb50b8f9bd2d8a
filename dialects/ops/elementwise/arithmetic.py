"""Addition to remainder, and the one-operand arithmetic: exact or correctly rounded, bitwise NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...registry import INEXACT, Map, op
from ...scalar import complex_functions
from ...scalar.language import ScalarBuilder, Value
from ...types import Interval

REAL = frozenset({"int", "uint", "float"})
NUMBERS = REAL | {"complex"}


@op
class Add(Map):
    """``x + y``; on bools, logical or."""

    numpy = np.add
    seeds = "Eigen +"
    arity = 2
    dtypes = NUMBERS | {"bool"}
    commutative = True
    algebra = (("neutral", -0.0),)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        return x | y if x.dtype.kind == "bool" else x + y

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        (a, b), (c, d) = operands
        return a + c, b + d

    @classmethod
    def inexact(cls, apply: Callable[..., Any], attrs: dict[str, Any], result: Any, *operands: Any) -> Any:
        # A sum that left the type has another sign than both operands.
        x, y = operands
        return apply("less", apply("bitwise_and", apply("bitwise_xor", x, result), apply("bitwise_xor", y, result)), 0)


@op
class Sub(Map):
    """``x - y``."""

    numpy = np.subtract
    seeds = "Eigen -"
    arity = 2
    dtypes = NUMBERS
    algebra = (("right neutral", 0.0),)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        return x - y

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        (a, b), (c, d) = operands
        return a - d, b - c

    @classmethod
    def inexact(cls, apply: Callable[..., Any], attrs: dict[str, Any], result: Any, *operands: Any) -> Any:
        x, y = operands
        return apply("less", apply("bitwise_and", apply("bitwise_xor", x, y), apply("bitwise_xor", x, result)), 0)


@op
class Mul(Map):
    """``x * y``; on bools, logical and."""

    numpy = np.multiply
    seeds = "Eigen *"
    arity = 2
    dtypes = NUMBERS | {"bool"}
    commutative = True
    algebra = (("neutral", 1.0),)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        return x & y if x.dtype.kind == "bool" else x * y

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        (a, b), (c, d) = operands
        corners = a * c, a * d, b * c, b * d
        return min(corners), max(corners)

    @classmethod
    def inexact(cls, apply: Callable[..., Any], attrs: dict[str, Any], result: Any, *operands: Any) -> Any:
        # A product that left the type is wrong by a multiple of 2**64, the one of floats by much less than 2**62.
        x, y, found = (apply("cast", v, dtype="f64") for v in (*operands, result))
        return apply("greater", apply("abs", apply("sub", apply("mul", x, y), found)), 2.0**62)


@op
class Div(Map):
    """``x / y``, true division: integers become floats."""

    numpy = np.true_divide
    also = (np.divide,)
    seeds = "Eigen /"
    arity = 2
    promotes = "float"
    dtypes = INEXACT
    algebra = (("right neutral", 1.0),)
    cost = 4.0
    domain = (0.1, 10.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        return x / y


@op
class Negate(Map):
    """``-x``."""

    numpy = np.negative
    seeds = "Eigen unary -"
    dtypes = NUMBERS
    algebra = ("involution",)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return -xs[0]

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        ((a, b),) = operands
        return -b, -a

    @classmethod
    def inexact(cls, apply: Callable[..., Any], attrs: dict[str, Any], result: Any, *operands: Any) -> Any:
        # Only the least int has no negative: it is its own.
        return apply("logical_and", apply("equal", result, operands[0]), apply("not_equal", result, 0))


@op
class Positive(Map):
    """``+x``: a copy."""

    numpy = np.positive
    dtypes = NUMBERS
    algebra = ("idempotent",)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0]

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        return operands[0]


@op
class Abs(Map):
    """``|x|``; the smallest signed integer stays itself."""

    numpy = np.absolute
    also = (np.fabs,)
    seeds = "Eigen abs"
    dtypes = NUMBERS | {"bool"}
    algebra = ("idempotent",)
    result = "part"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        return abs(x) if x.dtype.is_signed else x

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        ((a, b),) = operands
        return max(a, -b, 0), max(-a, b)

    @classmethod
    def inexact(cls, apply: Callable[..., Any], attrs: dict[str, Any], result: Any, *operands: Any) -> Any:
        return apply("less", result, 0)


@op
class Square(Map):
    """``x * x``."""

    numpy = np.square
    seeds = "Eigen square"
    dtypes = NUMBERS

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0] * xs[0]


def _cube(x: np.ndarray) -> np.ndarray:
    return x * x * x


@op
class Cube(Map):
    """``x * x * x``, rounded twice as written."""

    numpy = _cube
    seeds = "Eigen cube"
    dtypes = NUMBERS
    cost = 2.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0] * xs[0] * xs[0]


@op
class Inverse(Map):
    """``1 / x``: floats only, where NumPy's `reciprocal` truncates integers."""

    numpy = np.reciprocal
    seeds = "Eigen inverse"
    promotes = "float"
    dtypes = INEXACT
    cost = 4.0
    domain = (0.1, 10.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return 1.0 / xs[0]


@op
class Sqrt(Map):
    """The square root, correctly rounded; NaN below zero."""

    numpy = np.sqrt
    seeds = "Eigen sqrt"
    promotes = "float"
    dtypes = INEXACT
    cost = 5.0
    domain = (0.0, 100.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.sqrt(xs[0])

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.sqrt(b, xs[0])


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(x)


@op
class Rsqrt(Map):
    """``1 / sqrt(x)``, |error| <= 1.5 ulp."""

    numpy = _rsqrt
    seeds = "Eigen rsqrt"
    promotes = "float"
    dtypes = INEXACT
    ulp = 1.5
    cost = 9.0
    domain = (0.01, 100.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return 1.0 / b.sqrt(xs[0])

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return 1.0 / complex_functions.sqrt(b, xs[0])


@op
class FloorDivide(Map):
    """``x // y`` as NumPy: rounded towards minus infinity; an integer over zero is 0."""

    numpy = np.floor_divide
    arity = 2
    dtypes = REAL
    cost = 12.0
    domain = (0.5, 10.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        if x.dtype.is_float:
            # NumPy's steps: from the exact remainder, then one down where the remainder has the wrong sign.
            r = b.op("fmod", x, y)
            down = (r < 0.0) & (y > 0.0) | (r > 0.0) & (y < 0.0)
            quotient = (x - r) / y
            quotient = b.select(down, quotient - 1.0, quotient)
            whole = b.floor(quotient)
            whole = b.select((quotient - whole) > 0.5, whole + 1.0, whole)
            one = b.constant(1.0, x.dtype)
            sign = b.copysign(one, x) * b.copysign(one, y)
            whole = b.select(quotient.equals(0.0), sign * 0.0, whole)
            return b.select(y.equals(0.0) & (abs(x) > 0.0), sign * np.inf, whole)
        quotient = x / y
        if x.dtype.kind == "uint":
            return quotient
        rest = x - quotient * y
        down = rest.differs(0) & ((rest ^ y) < 0) & y.differs(0)
        return quotient - b.cast(down, x.dtype)

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        (a, b), (c, d) = operands
        divisors = [n for n in (c, d, -1, 1) if c <= n <= d and n]
        quotients = [n // by for n in (a, b) for by in divisors] + [0] * (c <= 0 <= d)
        return min(quotients), max(quotients)

    @classmethod
    def inexact(cls, apply: Callable[..., Any], attrs: dict[str, Any], result: Any, *operands: Any) -> Any:
        # Of two negative numbers only the least int and -1 have a negative quotient.
        x, y = operands
        both = apply("bitwise_and", apply("bitwise_and", x, y), result)
        return apply("less", both, 0)


@op
class Remainder(Map):
    """``x % y`` as NumPy: exact, with the divisor's sign; an integer over zero is 0."""

    numpy = np.remainder
    also = (np.mod,)
    seeds = "Eigen %"
    arity = 2
    dtypes = REAL
    cost = 12.0
    domain = (0.5, 10.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        if x.dtype.is_float:
            r = b.op("fmod", x, y)
            moved = b.select((r < 0.0) & (y > 0.0) | (r > 0.0) & (y < 0.0), r + y, r)
            return b.select(r.equals(0.0), b.copysign(r, y), moved)
        r = b.rem(x, y)
        if x.dtype.kind == "uint":
            return r
        return b.select(r.differs(0) & ((r ^ y) < 0), r + y, r)

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        (a, b), (c, d) = operands
        if 0 <= a and b < c:
            return a, b
        return min(c + 1, 0), max(d - 1, 0)
