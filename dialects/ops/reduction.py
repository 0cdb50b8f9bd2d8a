"""Reductions: monoids folded along dims, in the order that `dialects.order` fixes."""

from __future__ import annotations

import typing
from collections.abc import Sequence

import numpy as np

from ..registry import Composite, OpError, Reduction, axes, op
from ..scalar import ScalarBuilder, Value
from ..types import DTYPES, DType, TensorType, dtype, tensor_type

ANY = frozenset({"bool", "int", "uint", "float"})
I64 = DTYPES["i64"]

States = tuple[Value, ...]


@op
class Sum(Reduction):
    """The sum; of no elements, 0."""

    numpy = np.sum
    seeds = "Eigen sum"
    promotes = "sum"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (-0.0 if element.is_float else 0,)  # -0.0 + x is x for every x, -0.0 itself included

    @classmethod
    def combine(cls, b: ScalarBuilder, older: States, newer: States) -> States:
        return (older[0] + newer[0],)

    @classmethod
    def finish(cls, b: ScalarBuilder, states: States, element: DType) -> States:
        (total,) = states
        # Only a sum of nothing, or of nothing but -0.0, is -0.0: NumPy gives 0.0 and -0.0; we give 0.0 for both.
        return (b.cast(total + 0.0 if element.is_float else total, element),)


@op
class Prod(Reduction):
    """The product; of no elements, 1."""

    numpy = np.prod
    seeds = "Eigen prod"
    promotes = "sum"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (1,)

    @classmethod
    def combine(cls, b: ScalarBuilder, older: States, newer: States) -> States:
        return (older[0] * newer[0],)


def _lowest(element: DType) -> float | int | bool:
    if element.is_float:
        return -float("inf")
    return False if element.kind == "bool" else int(np.iinfo(element.numpy).min)


def _highest(element: DType) -> float | int | bool:
    if element.is_float:
        return float("inf")
    return True if element.kind == "bool" else int(np.iinfo(element.numpy).max)


class _Extreme(Reduction):
    """Shared by the greatest and the least: exact, so any order gives the same bits."""

    dtypes = ANY
    empty = False

    @classmethod
    def exact(cls, element: DType) -> bool:
        return True


@op
class Maximum(_Extreme):
    """The greatest element; NaN where there is one.  An empty extent is an error."""

    numpy = np.max
    seeds = "Eigen maximum"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (_lowest(element),)

    @classmethod
    def combine(cls, b: ScalarBuilder, older: States, newer: States) -> States:
        return (b.op("cwise_max_propagate", older[0], newer[0]),)


@op
class Minimum(_Extreme):
    """The least element; NaN where there is one.  An empty extent is an error."""

    numpy = np.min
    seeds = "Eigen minimum"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (_highest(element),)

    @classmethod
    def combine(cls, b: ScalarBuilder, older: States, newer: States) -> States:
        return (b.op("cwise_min_propagate", older[0], newer[0]),)


class _Logical(Reduction):
    """Shared by `all` and `any`."""

    dtypes = frozenset({"bool"})
    promotes = "bool"


@op
class All(_Logical):
    """Whether every element is true; of none, true."""

    numpy = np.all
    seeds = "Eigen all"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (True,)

    @classmethod
    def combine(cls, b: ScalarBuilder, older: States, newer: States) -> States:
        return (older[0] & newer[0],)


@op
class Any(_Logical):
    """Whether some element is true; of none, false."""

    numpy = np.any
    seeds = "Eigen any"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (False,)

    @classmethod
    def combine(cls, b: ScalarBuilder, older: States, newer: States) -> States:
        return (older[0] | newer[0],)


class _ArgExtreme(_Extreme):
    """The position of an extreme along one dim, or in the flattened tensor: the lowest wins; NaN counts as extreme."""

    indexed = True

    @classmethod
    def states(cls, element: DType) -> tuple[DType, ...]:
        return (element.computes_in, I64)

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (cls.worst(element), np.iinfo(np.int64).max)

    @classmethod
    def worst(cls, element: DType) -> float | int | bool:
        raise NotImplementedError

    @classmethod
    def beats(cls, x: Value, y: Value) -> Value:
        raise NotImplementedError

    @classmethod
    def element(cls, b: ScalarBuilder, x: Value, k: Value) -> States:
        return (b.cast(x, x.dtype.computes_in), k)

    @classmethod
    def combine(cls, b: ScalarBuilder, older: States, newer: States) -> States:
        (x, i), (y, j) = older, newer
        better, same = cls.beats(y, x), y.equals(x)
        if x.dtype.is_float:
            x_nan, y_nan = x.differs(x), y.differs(y)
            better = (better | y_nan) & ~x_nan
            same = same | (x_nan & y_nan)
        take = better | (same & (j < i))
        return (b.select(take, y, x), b.select(take, j, i))

    @classmethod
    def finish(cls, b: ScalarBuilder, states: States, element: DType) -> States:
        return (states[1],)

    @classmethod
    def result_dtypes(cls, element: DType) -> tuple[DType, ...]:
        return (I64,)

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, typing.Any]) -> tuple[TensorType, ...]:
        if len(attrs["dims"]) not in (1, operands[0].rank):
            raise OpError(f"{cls.name} takes one dim or all of them, not {attrs['dims']}", code="TX0114")
        return super().infer(operands, attrs)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, typing.Any]) -> tuple[np.ndarray, ...]:
        (x,) = arrays
        dims = attrs["dims"]
        return (np.asarray(cls.numpy(x, axis=dims[0] if len(dims) == 1 else None)),)


@op
class Argmax(_ArgExtreme):
    """Where the greatest element is, as i64: the lowest position wins."""

    numpy = np.argmax
    seeds = "Eigen argmax"

    @classmethod
    def worst(cls, element: DType) -> float | int | bool:
        return _lowest(element)

    @classmethod
    def beats(cls, x: Value, y: Value) -> Value:
        return x > y


@op
class Argmin(_ArgExtreme):
    """Where the least element is, as i64: the lowest position wins."""

    numpy = np.argmin
    seeds = "Eigen argmin"

    @classmethod
    def worst(cls, element: DType) -> float | int | bool:
        return _highest(element)

    @classmethod
    def beats(cls, x: Value, y: Value) -> Value:
        return x < y


@op
class Mean(Composite):
    """The sum over the number of elements; integers and bools become f64."""

    numpy = np.mean
    seeds = "Eigen mean"
    params = {"dims": axes()}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, typing.Any]) -> tuple[TensorType, ...]:
        (operand,) = operands
        kept = tuple(d for i, d in enumerate(operand.dims) if i not in attrs["dims"])
        element = operand.dtype if operand.dtype.is_float else DTYPES["f64"]
        return (tensor_type(element, kept),)

    @classmethod
    def expand(cls, *tensors: typing.Any, **attrs: typing.Any) -> typing.Any:
        (x,) = tensors
        if not dtype(x.dtype).is_float:
            x = x.cast("f64")
        dims = attrs["dims"]
        return x.sum(dims) / x.count(dims)
