"""Bitwise logic and shifts, bitwise NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...registry import Map, op
from ...scalar.language import ScalarBuilder, Value
from ...types import Interval

WHOLE = frozenset({"bool", "int", "uint"})


class _Bitwise(Map):
    arity = 2
    dtypes = WHOLE
    commutative = True


@op
class BitwiseAnd(_Bitwise):
    """``x & y``."""

    numpy = np.bitwise_and
    seeds = "Eigen &"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0] & xs[1]

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        # A number that is not negative keeps some of its bits.
        kept = [b for a, b in operands if a >= 0]
        return (0, min(kept)) if kept else None


@op
class BitwiseOr(_Bitwise):
    """``x | y``."""

    numpy = np.bitwise_or
    seeds = "Eigen |"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0] | xs[1]


@op
class BitwiseXor(_Bitwise):
    """``x ^ y``."""

    numpy = np.bitwise_xor
    seeds = "Eigen ^"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0] ^ xs[1]


@op
class BitwiseNot(Map):
    """``~x``."""

    numpy = np.invert
    seeds = "Eigen ~"
    dtypes = WHOLE
    algebra = ("involution",)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return ~xs[0]


class _Shift(Map):
    """Shifts by the width or more, and by negative counts, push every bit out."""

    arity = 2
    dtypes = frozenset({"int", "uint"})
    domain = (0.0, 8.0)


@op
class LeftShift(_Shift):
    """``x << y``; 0 where `y` is the width or more, or negative."""

    numpy = np.left_shift

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0] << xs[1]

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        (a, b), (c, d) = operands
        if c < 0 or d >= 64:
            return None
        return min(a << c, a << d), max(b << c, b << d)

    @classmethod
    def inexact(cls, apply: Callable[..., Any], attrs: dict[str, Any], result: Any, *operands: Any) -> Any:
        x, by = operands
        return apply("not_equal", apply("right_shift", result, by), x)


@op
class RightShift(_Shift):
    """``x >> y``, with copies of the sign bit; 0 or -1 where `y` is the width or more, or negative."""

    numpy = np.right_shift

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0] >> xs[1]

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        (a, b), (c, d) = operands
        if c < 0:
            return None
        return min(a >> c, a >> d), max(b >> c, b >> d)
