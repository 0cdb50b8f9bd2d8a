"""Comparison, logic, bits, selection and conversion: exact ops, bitwise NumPy's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..registry import Map, OpError, dtype_param, op
from ..scalar import ScalarBuilder, Value
from ..types import DTYPES, DType, TensorType, tensor_type

NUMBERS = frozenset({"int", "uint", "float"})
ANY = NUMBERS | {"bool"}
BITS = frozenset({"bool", "int", "uint"})
BOOL = DTYPES["bool"]


class _Compare(Map):
    """Shared by comparisons: two operands of one dtype, a bool result, false with a NaN (but for not_equal)."""

    arity = 2
    dtypes = ANY
    result = "bool"
    predicate = "eq"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.emit(cls.predicate, xs, BOOL)


@op
class Less(_Compare):
    """``x < y``."""

    numpy = np.less
    seeds = "Eigen <"
    predicate = "lt"


@op
class LessEqual(_Compare):
    """``x <= y``."""

    numpy = np.less_equal
    seeds = "Eigen <="
    predicate = "le"


@op
class Greater(_Compare):
    """``x > y``."""

    numpy = np.greater
    seeds = "Eigen >"
    predicate = "gt"


@op
class GreaterEqual(_Compare):
    """``x >= y``."""

    numpy = np.greater_equal
    seeds = "Eigen >="
    predicate = "ge"


@op
class Equal(_Compare):
    """``x == y``."""

    numpy = np.equal
    seeds = "Eigen =="
    commutative = True
    predicate = "eq"


@op
class NotEqual(_Compare):
    """``x != y``: true where either is NaN."""

    numpy = np.not_equal
    seeds = "Eigen !="
    commutative = True
    predicate = "ne"


class _Logical(Map):
    """Shared by logic on truth values: anything but zero is true (NaN too)."""

    arity = 2
    dtypes = ANY
    result = "bool"
    commutative = True


@op
class LogicalAnd(_Logical):
    """Whether both are true."""

    numpy = np.logical_and
    seeds = "Eigen &&"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.cast(xs[0], BOOL) & b.cast(xs[1], BOOL)


@op
class LogicalOr(_Logical):
    """Whether one is true."""

    numpy = np.logical_or
    seeds = "Eigen ||"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.cast(xs[0], BOOL) | b.cast(xs[1], BOOL)


@op
class LogicalXor(_Logical):
    """Whether just one is true."""

    numpy = np.logical_xor

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.cast(xs[0], BOOL) ^ b.cast(xs[1], BOOL)


@op
class LogicalNot(Map):
    """Whether it is false."""

    numpy = np.logical_not
    seeds = "Eigen !"
    dtypes = ANY
    result = "bool"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return ~b.cast(xs[0], BOOL)


class _Bits(Map):
    """Shared by bitwise ops on integers and bools."""

    arity = 2
    dtypes = BITS
    commutative = True


@op
class BitwiseAnd(_Bits):
    """``x & y``."""

    numpy = np.bitwise_and
    seeds = "Eigen &"
    algebra = ("idempotent",)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0] & xs[1]


@op
class BitwiseOr(_Bits):
    """``x | y``."""

    numpy = np.bitwise_or
    seeds = "Eigen |"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0] | xs[1]


@op
class BitwiseXor(_Bits):
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
    dtypes = BITS
    algebra = ("involution",)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return ~xs[0]


@op
class LeftShift(Map):
    """``x << y``; 0 for shifts by the width or more, and for negative ones."""

    numpy = np.left_shift
    arity = 2
    dtypes = frozenset({"int", "uint"})
    domain = (0.0, 7.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0] << xs[1]


@op
class RightShift(Map):
    """``x >> y``, arithmetic on signed types; all sign bits for shifts by the width or more, and for negative ones."""

    numpy = np.right_shift
    arity = 2
    dtypes = frozenset({"int", "uint"})
    domain = (0.0, 7.0)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0] >> xs[1]


class _Extreme(Map):
    """Shared by the elementwise extremes.  On bools: or, and."""

    arity = 2
    dtypes = ANY
    commutative = True
    #: ``max`` or ``min``
    pick = "max"

    @classmethod
    def better(cls, b: ScalarBuilder, x: Value, y: Value) -> Value:
        """``x`` where it is beyond `y`, else `y`: also where either is NaN."""
        if x.dtype is BOOL:
            return x | y if cls.pick == "max" else x & y
        return b.maximum(x, y) if cls.pick == "max" else b.minimum(x, y)


class _Fast(_Extreme):
    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return cls.better(b, *xs)


class _Propagating(_Extreme):
    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        best = cls.better(b, x, y)
        return b.select(x.differs(x), x, best) if x.dtype.is_float else best


class _Numbers(_Extreme):
    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        best = cls.better(b, x, y)
        return b.select(y.differs(y), x, best) if x.dtype.is_float else best


@op
class CwiseMax(_Fast):
    """The greater, ``x > y ? x : y``: gives `y` where either is NaN (Eigen's PropagateFast)."""

    seeds = "Eigen cwiseMax"

    @staticmethod
    def numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(x > y, x, y)


@op
class CwiseMin(_Fast):
    """The lesser, ``x < y ? x : y``: gives `y` where either is NaN (Eigen's PropagateFast)."""

    seeds = "Eigen cwiseMin"
    pick = "min"

    @staticmethod
    def numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(x < y, x, y)


@op
class CwiseMaxPropagate(_Propagating):
    """The greater; NaN where either is NaN."""

    numpy = np.maximum
    seeds = "Eigen cwiseMax<PropagateNaN>"


@op
class CwiseMinPropagate(_Propagating):
    """The lesser; NaN where either is NaN."""

    numpy = np.minimum
    seeds = "Eigen cwiseMin<PropagateNaN>"
    pick = "min"


@op
class CwiseMaxNumbers(_Numbers):
    """The greater; the other one where one is NaN."""

    numpy = np.fmax
    seeds = "Eigen cwiseMax<PropagateNumbers>"


@op
class CwiseMinNumbers(_Numbers):
    """The lesser; the other one where one is NaN."""

    numpy = np.fmin
    seeds = "Eigen cwiseMin<PropagateNumbers>"
    pick = "min"


@op
class Clip(Map):
    """``min(max(x, lo), hi)``: NaN stays NaN."""

    numpy = np.clip
    seeds = "Eigen clip"
    arity = 3
    dtypes = NUMBERS

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, lo, hi = xs
        return b.op("cwise_min_propagate", b.op("cwise_max_propagate", x, lo), hi)

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        if len({t.dtype for t in operands}) > 1:
            raise OpError(f"clip needs operands of one dtype, got {', '.join(map(str, operands))}", code="TX0111")
        return super().infer(operands, attrs)


@op
class Select(Map):
    """`a` where the condition holds, else `b`."""

    numpy = np.where
    seeds = "Eigen select"
    arity = 3
    dtypes = ANY

    @classmethod
    def build(cls, b: ScalarBuilder, *xs: Value, **attrs: Any) -> Value:
        return b.emit("select", xs, xs[1].dtype)

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        condition, x, y = operands
        if condition.dtype is not BOOL or x.dtype is not y.dtype:
            shown = ", ".join(map(str, operands))
            raise OpError(f"select needs a bool and two tensors of one dtype, got {shown}", code="TX0111")
        return super().infer(operands, attrs)


@op
class Cast(Map):
    """The value in another dtype.  Floats to integers truncate and saturate, NaN gives 0; integers wrap."""

    seeds = "Eigen cast"
    dtypes = ANY
    params = {"dtype": dtype_param()}

    @classmethod
    def build(cls, b: ScalarBuilder, *xs: Value, **attrs: Any) -> Value:
        return b.cast(xs[0], attrs["dtype"])

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        return (tensor_type(attrs["dtype"], operands[0].dims),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (x,) = arrays
        to: DType = attrs["dtype"]
        if to.is_integer and x.dtype.kind not in "biu":
            info = np.iinfo(to.numpy)
            wide = np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
            inside = (wide > float(info.min)) & (wide < float(info.max))
            safe = np.where(inside, wide, 0.0).astype(to.numpy)
            return (
                np.where(inside, safe, np.where(wide > 0, info.max, np.where(wide < 0, info.min, 0))).astype(to.numpy),
            )
        with np.errstate(all="ignore"):
            return (x.astype(to.numpy),)


@op
class Isnan(Map):
    """Whether it is NaN."""

    numpy = np.isnan
    seeds = "Eigen isnan"
    result = "bool"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0].differs(xs[0])


@op
class Isinf(Map):
    """Whether it is an infinity."""

    numpy = np.isinf
    seeds = "Eigen isinf"
    result = "bool"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return abs(xs[0]).equals(float("inf"))


@op
class Isfinite(Map):
    """Whether it is neither NaN nor an infinity."""

    numpy = np.isfinite
    seeds = "Eigen isfinite"
    result = "bool"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return abs(xs[0]) < float("inf")
