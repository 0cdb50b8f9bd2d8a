"""The smallest and the largest in one pass: a reduction with two results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...registry import Reduction, op
from ...scalar.language import ScalarBuilder, Value
from ...types import DType


@op
class Minmax(Reduction):
    """The smallest and the largest along `dims`; both NaN where any element is."""

    results = 2
    dtypes = frozenset({"int", "uint", "float"})
    empty = False

    @classmethod
    def accumulators(cls, element: DType) -> tuple[DType, ...]:
        return (element.computes_in, element.computes_in)

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        if element.is_float:
            return (np.inf, -np.inf)
        info = np.iinfo(element.numpy)
        return (int(info.max), int(info.min))

    @classmethod
    def map_element(cls, b: ScalarBuilder, x: Value, k: Value) -> tuple[Value, ...]:
        wide = b.cast(x, x.dtype.computes_in)
        return (wide, wide)

    @classmethod
    def combine(cls, b: ScalarBuilder, older: tuple[Value, ...], newer: tuple[Value, ...]) -> tuple[Value, ...]:
        return (b.op("cwise_min_propagate", older[0], newer[0]), b.op("cwise_max_propagate", older[1], newer[1]))

    @classmethod
    def result_dtypes(cls, element: DType) -> tuple[DType, ...]:
        return (element, element)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        (x,) = arrays
        return np.asarray(np.min(x, axis=attrs["dims"])), np.asarray(np.max(x, axis=attrs["dims"]))
