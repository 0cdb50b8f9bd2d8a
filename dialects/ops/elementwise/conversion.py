"""Conversion between element types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ...registry import Map, Param, dtype_param, op
from ...scalar.language import ScalarBuilder, Value
from ...types import Interval, TensorType, dtype


@op
class Cast(Map):
    """Another element type: integers wrap, floats round once; floats to integers truncate and saturate, NaN is 0;
    complex to real numbers drops the imaginary part."""

    seeds = "Eigen cast"
    dtypes = frozenset({"bool", "int", "uint", "float", "complex"})
    params: ClassVar[dict[str, Param]] = {"dtype": dtype_param()}

    @classmethod
    def build(cls, b: ScalarBuilder, *xs: Value, **attrs: Any) -> Value:
        return b.cast(xs[0], attrs["dtype"])

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        return (operands[0].with_dtype(attrs["dtype"]),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        # Where C leaves the result open NumPy's is no oracle: the values are clipped into range before.
        (x,) = arrays
        to = attrs["dtype"]
        if x.dtype.kind == "c" and not to.is_complex and to.kind != "bool":
            x = np.real(x)
        with np.errstate(all="ignore"):
            if not (dtype(x.dtype).is_float and to.is_integer):
                return (x.astype(to.numpy),)
            whole = np.nan_to_num(np.trunc(x.astype(np.float64)), nan=0.0)
            info = np.iinfo(to.numpy)
            inside = np.clip(whole, float(info.min), np.nextafter(float(info.max) + 1, 0)).astype(to.numpy)
            return (np.where(whole > float(info.max) - 0.5, to.numpy.type(info.max), inside),)

    @classmethod
    def bounds(cls, attrs: dict[str, Any], *operands: Interval) -> Interval | None:
        return operands[0]

    @classmethod
    def inexact(cls, apply: Callable[..., Any], attrs: dict[str, Any], result: Any, *operands: Any) -> Any:
        low, high = attrs["dtype"].ints
        (x,) = operands
        high = min(high, x.element.ints[1])
        return apply("logical_or", apply("less", x, max(low, x.element.ints[0])), apply("greater", x, high))
