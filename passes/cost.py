"""Figures that decisions share.  Sizes known only at run time are taken to be `ASSUMED`."""

from __future__ import annotations

from ..dialects.dims import Dim
from ..dialects.types import TensorType

__all__ = ["ASSUMED", "assumed_number", "assumed_size"]

ASSUMED = 512


def assumed_number(d: Dim) -> float:
    """The value of an expression when every symbol is `ASSUMED`."""
    return float(d.evaluate({s: ASSUMED for s in d.symbols()}))


def assumed_size(tensor: TensorType) -> float:
    """The number of elements of a tensor, so estimated."""
    total = 1.0
    for d in tensor.dims:
        total *= assumed_number(d)
    return total
