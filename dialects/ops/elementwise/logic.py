"""Comparison, logic, selection and the tests for kinds of floats."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...registry import INEXACT, Map, OpError, op
from ...scalar import complex_functions
from ...scalar.language import ComplexValue, ScalarBuilder, Value
from ...types import Interval, TensorType, tensor_type

ALL = frozenset({"bool", "int", "uint", "float"})


class _Comparison(Map):
    """IEEE comparison with a bool result: false where either is NaN, but for `not_equal`."""

    arity = 2
    dtypes = ALL
    result = "bool"
    compares = True


class _Ordering(_Comparison):
    """Complex numbers are ordered as NumPy orders them: by the real part, then by the imaginary one."""

    dtypes = ALL | {"complex"}
    #: What the real parts alone decide.
    strictly: Callable[[Value, Value], Value]

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        assert isinstance(x, ComplexValue) and isinstance(y, ComplexValue)
        decided = cls.strictly(x.re, y.re) & x.im.equals(x.im) & y.im.equals(y.im)
        return decided | (x.re.equals(y.re) & cls.scalar(b, x.im, y.im))


@op
class Less(_Ordering):
    """``x < y``."""

    numpy = np.less
    seeds = "Eigen <, Tensure lt"
    strictly = staticmethod(operator.lt)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        return ~x & y if x.dtype.kind == "bool" else x < y


@op
class LessEqual(_Ordering):
    """``x <= y``."""

    numpy = np.less_equal
    seeds = "Eigen <=, Tensure le"
    strictly = staticmethod(operator.lt)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        return ~x | y if x.dtype.kind == "bool" else x <= y


@op
class Greater(_Ordering):
    """``x > y``."""

    numpy = np.greater
    seeds = "Eigen >, Tensure gt"
    strictly = staticmethod(operator.gt)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        return x & ~y if x.dtype.kind == "bool" else x > y


@op
class GreaterEqual(_Ordering):
    """``x >= y``."""

    numpy = np.greater_equal
    seeds = "Eigen >=, Tensure ge"
    strictly = staticmethod(operator.gt)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        return x | ~y if x.dtype.kind == "bool" else x >= y


@op
class Equal(_Comparison):
    """``x == y``."""

    numpy = np.equal
    seeds = "Eigen ==, Tensure eq"
    commutative = True
    dtypes = ALL | {"complex"}

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0].equals(xs[1])


@op
class NotEqual(_Comparison):
    """``x != y``; true where either is NaN."""

    numpy = np.not_equal
    seeds = "Eigen !=, Tensure ne"
    commutative = True
    dtypes = ALL | {"complex"}

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0].differs(xs[1])


def truth(x: Value) -> Value:
    """`x` as a bool: whether it is not zero."""
    return x if x.dtype.kind == "bool" else x.differs(0)


class _Logical(Map):
    """Logic on truth values: a number is true where it is not zero."""

    arity = 2
    dtypes = ALL | {"complex"}
    result = "bool"
    commutative = True


@op
class LogicalAnd(_Logical):
    """Whether both are true."""

    numpy = np.logical_and
    seeds = "Eigen &&"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return truth(xs[0]) & truth(xs[1])


@op
class LogicalOr(_Logical):
    """Whether either is true."""

    numpy = np.logical_or
    seeds = "Eigen ||"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return truth(xs[0]) | truth(xs[1])


@op
class LogicalXor(_Logical):
    """Whether exactly one is true."""

    numpy = np.logical_xor

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return truth(xs[0]) ^ truth(xs[1])


@op
class LogicalNot(_Logical):
    """Whether it is false."""

    numpy = np.logical_not
    seeds = "Eigen !"
    arity = 1
    commutative = False

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return ~truth(xs[0])


@op
class Select(Map):
    """``condition ? x : y``: a bool operand, then two of one dtype."""

    numpy = np.where
    seeds = "Eigen select"
    arity = 3
    algebra = ("choice",)
    dtypes = ALL | {"complex"}

    @classmethod
    def build(cls, b: ScalarBuilder, *xs: Value, **attrs: Any) -> Value:
        """No rounding is needed, so half-width floats stay as they are."""
        return b.select(*xs)

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        condition, x, y = operands
        if condition.dtype.kind != "bool":
            raise OpError(
                f"select needs a bool condition, got {condition}", "compare it with something, or cast(bool)", "TX0111"
            )
        if x.dtype is not y.dtype:
            raise OpError(f"select needs two branches of one dtype, got {x} and {y}", "cast one of them", "TX0111")
        if not condition.dims == x.dims == y.dims:
            shapes = ", ".join(map(str, operands))
            raise OpError(f"select needs operands of equal shape, got {shapes}", "broadcast them first", "TX0110")
        return (tensor_type(x.dtype, x.dims),)

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        _, (a, b), (c, d) = operands
        return min(a, c), max(b, d)


@op
class Isnan(Map):
    """Whether it is NaN."""

    numpy = np.isnan
    seeds = "Eigen isnan"
    result = "bool"
    promotes = "float"
    dtypes = INEXACT

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0].differs(xs[0])


@op
class Isinf(Map):
    """Whether it is plus or minus infinity."""

    numpy = np.isinf
    seeds = "Eigen isinf"
    result = "bool"
    promotes = "float"
    dtypes = INEXACT

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return abs(xs[0]).equals(np.inf)

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (z,) = xs
        assert isinstance(z, ComplexValue)
        return abs(z.re).equals(np.inf) | abs(z.im).equals(np.inf)


@op
class Isfinite(Map):
    """Whether it is neither infinite nor NaN."""

    numpy = np.isfinite
    seeds = "Eigen isfinite"
    result = "bool"
    promotes = "float"
    dtypes = INEXACT

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return abs(xs[0]) < np.inf

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (z,) = xs
        assert isinstance(z, ComplexValue)
        return (abs(z.re) < np.inf) & (abs(z.im) < np.inf)


@op
class Sign(Map):
    """-1, 0 or 1 with its sign; NaN stays, and the sign of a zero is lost."""

    numpy = np.sign
    seeds = "Eigen sign"
    dtypes = frozenset({"int", "uint", "float", "complex"})
    cost = 3.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        up = b.select(x > 0, b.constant(1, x.dtype), b.constant(0, x.dtype))
        if x.dtype.kind == "uint":
            return up
        signed = b.select(x < 0, -1, up)
        return b.select(x.differs(x), x, signed) if x.dtype.is_float else signed

    @classmethod
    def complex_scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return complex_functions.sign(b, xs[0])
