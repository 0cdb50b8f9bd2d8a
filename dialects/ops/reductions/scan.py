"""Scans: running sums, products, extremes and logic along an axis, one for each reduction with one accumulator."""

from __future__ import annotations

import numpy as np

from ...registry import Scan, op
from ...scalar.language import ScalarBuilder, Value
from ...types import DType


@op
class Cumsum(Scan):
    """The sum of the elements up to each one along `axis`; with `exclusive` of those before it, so that 0 is first.

    Along the innermost dim in the order ``prefix`` (see `dialects/order.py`), elsewhere in NumPy's.
    """

    numpy = np.cumsum
    seeds = "Eigen cumsum"
    by = "sum"

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        # What -0.0 is added to does not change, -0.0 included; 0.0 + -0.0 is 0.0.
        return tuple(-0.0 if accumulator.is_float else 0 for accumulator in cls.reduction().accumulators(element))

    @classmethod
    def finalize(
        cls, b: ScalarBuilder, accumulators: tuple[Value, ...], element: DType, exclusive: bool
    ) -> tuple[Value, ...]:
        if exclusive and element.part.is_float:
            accumulators = tuple(accumulator + 0.0 for accumulator in accumulators)  # the sum of no elements is 0.0
        return super().finalize(b, accumulators, element, exclusive)


@op
class Cumprod(Scan):
    """The product of the elements up to each one along `axis`; with `exclusive` of those before it: 1 is first."""

    numpy = np.cumprod
    seeds = "Eigen cumprod"
    by = "prod"


@op
class Cummax(Scan):
    """The largest of the elements up to each one along `axis`; NaN from the first NaN on."""

    numpy = np.maximum.accumulate
    by = "maximum"


@op
class Cummin(Scan):
    """The smallest of the elements up to each one along `axis`; NaN from the first NaN on."""

    numpy = np.minimum.accumulate
    by = "minimum"


@op
class Cumlogsumexp(Scan):
    """The log of the sum of e**x of the elements up to each one along `axis`, without overflow."""

    numpy = np.logaddexp.accumulate
    by = "logsumexp"


@op
class Cumall(Scan):
    """Whether all elements up to each one along `axis` are true (numbers: not zero)."""

    numpy = np.logical_and.accumulate
    by = "all"


@op
class Cumany(Scan):
    """Whether any element up to each one along `axis` is true (numbers: not zero)."""

    numpy = np.logical_or.accumulate
    by = "any"
