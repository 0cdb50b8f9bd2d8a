"""Reductions along dims: sums, products, extremes, logic, and where the extremes are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...registry import INEXACT, Composite, Map, Param, Reduction, axes, find_op, op
from ...scalar.language import ComplexValue, ScalarBuilder, Value
from ...types import DTYPES, DType, dtype

NUMBERS = frozenset({"int", "uint", "float"})
I64 = DTYPES["i64"]


def lowest(element: DType) -> float | int:
    """The value that no other of the type is below."""
    if element.is_float:
        return -np.inf
    return -(1 << element.bits - 1) if element.is_signed else 0


def highest(element: DType) -> float | int | bool:
    """The value that no other of the type is above."""
    if element.is_float:
        return np.inf
    return (1 << element.bits - element.is_signed) - 1


class MonoidReduction(Reduction):
    """A reduction with one accumulator, merged by the map op `by`."""

    by: ClassVar[str]

    @classmethod
    def accumulators(cls, element: DType) -> tuple[DType, ...]:
        return (element.part,) * 2 if element.is_complex else super().accumulators(element)

    @classmethod
    def map_element(cls, b: ScalarBuilder, x: Value, k: Value) -> tuple[Value, ...]:
        return (x.re, x.im) if isinstance(x, ComplexValue) else super().map_element(b, x, k)

    @classmethod
    def combine(cls, b: ScalarBuilder, older: tuple[Value, ...], newer: tuple[Value, ...]) -> tuple[Value, ...]:
        by = find_op(cls.by)
        assert issubclass(by, Map)
        merged = by.build(b, whole(b, older), whole(b, newer))
        return (merged.re, merged.im) if isinstance(merged, ComplexValue) else (merged,)

    @classmethod
    def finalize(cls, b: ScalarBuilder, accumulators: tuple[Value, ...], element: DType) -> tuple[Value, ...]:
        return super().finalize(b, (whole(b, accumulators),), element)


def whole(b: ScalarBuilder, accumulators: tuple[Value, ...]) -> Value:
    """The number that the one accumulator, or the two of a complex number, hold."""
    return b.complex_of(*accumulators) if len(accumulators) == 2 else accumulators[0]


@op
class Sum(MonoidReduction):
    """The sum along `dims`; NumPy's result type (bools and small integers are summed in 64 bits)."""

    numpy = np.sum
    seeds = "Eigen sum, Tensure esum"
    promotes = "sum"
    dtypes = NUMBERS | {"complex"}
    by = "add"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        if element.is_complex:
            return (0.0, 0.0)
        # Of floats NumPy's too: a reduction that starts from +0.0 never reaches -0.0, which alone it would change.
        return (0.0,) if element.is_float else (0,)


@op
class Prod(MonoidReduction):
    """The product along `dims`."""

    numpy = np.prod
    seeds = "Eigen prod"
    promotes = "sum"
    dtypes = NUMBERS | {"complex"}
    by = "mul"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (1.0, 0.0) if element.is_complex else (1,)


class _Extreme(MonoidReduction):
    """`exact` stays False for floats: which zero of +0 and -0 wins depends on the order."""

    empty = False

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        """Of no elements the identity: users are refused these, checks of as many indices are not."""
        (x,) = arrays
        identity = x.dtype.type(cls.identity(dtype(x.dtype))[0])
        with np.errstate(all="ignore"):
            return (np.asarray(cls.numpy(x, axis=attrs["dims"], initial=identity)).astype(x.dtype, copy=False),)


class _Largest(_Extreme):
    dtypes = NUMBERS | {"bool"}

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (False if element.kind == "bool" else lowest(element),)


class _Smallest(_Extreme):
    dtypes = NUMBERS | {"bool"}

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (True if element.kind == "bool" else highest(element),)


@op
class Maximum(_Largest):
    """The largest along `dims`; NaN where any element is NaN, as NumPy."""

    numpy = np.max
    also = (np.amax,)
    seeds = "Eigen maximum, Tensure emax"
    variants: ClassVar[dict[str, dict[str, str]]] = {
        "nan": {"fast": "maximum_fast", "propagate": "maximum", "numbers": "maximum_numbers"}
    }
    by = "cwise_max_propagate"


@op
class Minimum(_Smallest):
    """The smallest along `dims`; NaN where any element is NaN, as NumPy."""

    numpy = np.min
    also = (np.amin,)
    seeds = "Eigen minimum, Tensure emin"
    variants: ClassVar[dict[str, dict[str, str]]] = {
        "nan": {"fast": "minimum_fast", "propagate": "minimum", "numbers": "minimum_numbers"}
    }
    by = "cwise_min_propagate"


@op
class MaximumFast(_Largest):
    """The largest along `dims`, one instruction an element; unspecified which element where there are NaNs."""

    numpy = np.fmax.reduce
    seeds = 'Eigen maximum (nan="fast")'
    by = "cwise_max"


@op
class MinimumFast(_Smallest):
    """The smallest along `dims`, one instruction an element; unspecified which element where there are NaNs."""

    numpy = np.fmin.reduce
    seeds = 'Eigen minimum (nan="fast")'
    by = "cwise_min"


class _OfNumbers(_Extreme):
    """An extreme for which NaN is the identity, which is the result where there is no number, as Eigen's."""

    empty = True
    extreme: ClassVar[np.ufunc]

    @classmethod
    def map_element(cls, b: ScalarBuilder, x: Value, k: Value) -> tuple[Value, ...]:
        (wide,) = super().map_element(b, x, k)
        if not x.dtype.is_float:
            return (wide,)
        by = find_op(cls.by)
        assert issubclass(by, Map)
        return (by.build(b, wide, b.constant(cls.identity(x.dtype)[0], wide.dtype)),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (x,) = arrays
        identity = x.dtype.type(cls.identity(dtype(x.dtype))[0])
        return (np.asarray(cls.extreme.reduce(x, axis=attrs["dims"], initial=identity)),)


@op
class MaximumNumbers(_OfNumbers, _Largest):
    """The largest along `dims` of those that are not NaN, as Eigen: the lowest value of the type for none."""

    seeds = 'Eigen maximum (nan="numbers")'
    by = "cwise_max_numbers"
    extreme = np.fmax


@op
class MinimumNumbers(_OfNumbers, _Smallest):
    """The smallest along `dims` of those that are not NaN, as Eigen: the highest value of the type for none."""

    seeds = 'Eigen minimum (nan="numbers")'
    by = "cwise_min_numbers"
    extreme = np.fmin


@op
class Nanmax(_Largest):
    """The largest along `dims` of those that are not NaN, as NumPy: NaN where there are none."""

    numpy = np.fmax.reduce
    also = (np.nanmax,)
    by = "cwise_max_numbers"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        # A NaN merged with a number is the number.
        return (np.nan,) if element.is_float else super().identity(element)


@op
class Nanmin(_Smallest):
    """The smallest along `dims` of those that are not NaN, as NumPy: NaN where there are none."""

    numpy = np.fmin.reduce
    also = (np.nanmin,)
    by = "cwise_min_numbers"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        # A NaN merged with a number is the number.
        return (np.nan,) if element.is_float else super().identity(element)


@op
class All(MonoidReduction):
    """Whether all elements along `dims` are true (numbers: not zero)."""

    numpy = np.all
    seeds = "Eigen all"
    promotes = "bool"
    dtypes = frozenset({"bool"})
    by = "logical_and"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (True,)


@op
class Any_(MonoidReduction):
    """Whether any element along `dims` is true (numbers: not zero)."""

    name = "any"
    numpy = np.any
    seeds = "Eigen any"
    promotes = "bool"
    dtypes = frozenset({"bool"})
    by = "logical_or"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (False,)


class _Where(Reduction):
    """The element number (i64, row-major along the reduced dims) of an extreme: the first NaN, else the first extreme.

    The accumulators are a value and its number.  Of two accumulators the one whose value lies beyond the other's stays,
    NaN beyond all; of equals the lower number.  That is a total order, so the merge is exact in any order.
    """

    dtypes = NUMBERS | {"bool"}
    empty = False
    indexed = True
    largest: ClassVar[bool]

    @classmethod
    def accumulators(cls, element: DType) -> tuple[DType, ...]:
        return (DTYPES["u8"] if element.kind == "bool" else element.computes_in, I64)

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        accumulator = cls.accumulators(element)[0]
        return (lowest(accumulator) if cls.largest else highest(accumulator), highest(I64))

    @classmethod
    def map_element(cls, b: ScalarBuilder, x: Value, k: Value) -> tuple[Value, ...]:
        return b.cast(x, cls.accumulators(x.dtype)[0]), k

    @classmethod
    def combine(cls, b: ScalarBuilder, older: tuple[Value, ...], newer: tuple[Value, ...]) -> tuple[Value, ...]:
        (old, at), (new, new_at) = older, newer
        # Of equals the newer one is taken where it comes first in memory, which a reduction in order never asks.
        take = cls._beyond(new, old) | ((new_at < at) & ~cls._beyond(old, new))
        return b.select(take, new, old), b.select(take, new_at, at)

    @classmethod
    def _beyond(cls, x: Value, y: Value) -> Value:
        if not x.dtype.is_float:
            return x > y if cls.largest else x < y
        return ~(x <= y if cls.largest else x >= y) & y.equals(y)

    @classmethod
    def finalize(cls, b: ScalarBuilder, accumulators: tuple[Value, ...], element: DType) -> tuple[Value, ...]:
        return (accumulators[1],)

    @classmethod
    def result_dtypes(cls, element: DType) -> tuple[DType, ...]:
        return (I64,)

    @classmethod
    def exact(cls, element: DType) -> bool:
        return True

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (x,) = arrays
        dims = attrs["dims"]
        kept = [d for d in range(x.ndim) if d not in dims]
        flat = x.transpose([*kept, *dims]).reshape([*(x.shape[d] for d in kept), math.prod(x.shape[d] for d in dims)])
        return (np.asarray(cls.numpy(flat, axis=-1)).astype(np.int64, copy=False),)


@op
class Argmax(_Where):
    """Where the largest element is: the lowest number of several, the first NaN before all.  Over one dim or all."""

    numpy = np.argmax
    seeds = "Eigen argmax, Tensure argmax_along"
    largest = True


@op
class Argmin(_Where):
    """Where the smallest element is: the lowest number of several, the first NaN before all.  Over one dim or all."""

    numpy = np.argmin
    seeds = "Eigen argmin, Tensure argmin_along"
    largest = False


@op
class Mean(Composite):
    """The sum along `dims` over their extent: integers in f64, half-width floats in f32, as NumPy."""

    numpy = np.mean
    seeds = "Eigen mean, Tensure emean"
    params: ClassVar[dict[str, Param]] = {"dims": axes()}

    @classmethod
    def expand(cls, *tensors: Any, **attrs: Any) -> Any:
        (x,) = tensors
        dims = attrs["dims"]
        element = dtype(x.dtype)
        inexact = element.kind in INEXACT
        wide = element.computes_in if inexact else DTYPES["f64"]
        if wide is element:
            return x.sum(dims) / x.count(dims)
        mean = x.cast(wide).sum(dims) / x.count(dims)
        return mean.cast(element) if inexact else mean
