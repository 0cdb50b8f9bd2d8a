"""Bits packed into bytes, and taken apart again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ......dialects.types import DTYPES
from ....tensor.apply import apply, as_tensor
from ....tensor.methods import reducing, reshaping
from ....tensor.promotion import cast, truth
from ....tensor.tensor import Tensor
from ....trace.symint import SymInt, is_integer
from ..registry import handles

__all__: list[str] = []


def _places(bitorder: str) -> Tensor:
    """How far each of the eight bits of a byte is from its lowest."""
    if bitorder not in ("big", "little"):
        raise ValueError("'bitorder' must be either 'little' or 'big'")
    return as_tensor(np.arange(8, dtype=np.uint8)[:: -1 if bitorder == "big" else 1].copy())


def _last(a: Tensor, axis: Any) -> tuple[Tensor, int]:
    """The tensor with the axis last; flat where none is given."""
    if axis is None:
        return reshaping.ravel(a), 0
    axis = reshaping.axis_of(axis, a.ndim)
    return reshaping.moveaxis(a, axis, -1), axis


@handles(np.packbits)
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Tensor:
    """Eight elements that are zero or not as a byte; the last one is filled up with zeros."""
    a = as_tensor(a)
    if a.element.kind != "bool" and not a.element.is_integer:
        raise TypeError("Expected an input array of integer or boolean data type")
    shifts = _places(bitorder)
    bits, axis = _last(truth(a), axis)
    size = bits.shape[-1]
    count = (size + 7) // 8
    padded = apply("pad", bits, pairs=(*[(0, 0)] * (bits.ndim - 1), (0, count * 8 - size)))
    groups = reshaping.reshape(padded, (*bits.shape[:-1], count, 8))
    shifted = apply("left_shift", cast(groups, DTYPES["u8"]), shifts)
    return reshaping.moveaxis(reducing.reduce("sum", shifted, -1, np.uint8), -1, axis)


@handles(np.unpackbits)
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Tensor:
    """The bits of bytes, `count` of them along the axis: zeros behind the last, or without the last where negative."""
    a = as_tensor(a)
    if a.element is not DTYPES["u8"]:
        raise TypeError("Expected an input array of unsigned byte data type")
    if count is not None and not is_integer(count):
        raise OpError("np.unpackbits of a count that is known only at run time", "slice its result", "TX0252")
    shifts = _places(bitorder)
    groups, axis = _last(a, axis)
    bits = apply("bitwise_and", apply("right_shift", reshaping.expand_dims(groups, -1), shifts), np.uint8(1))
    total = groups.shape[-1] * 8
    bits = reshaping.reshape(bits, (*groups.shape[:-1], total))
    if count is not None and not (isinstance(count, SymInt) or isinstance(total, SymInt)) and -count > total:
        raise ValueError(f"-count larger than number of elements (count={count}, total={total})")
    if count is not None:
        more = count - total if count >= 0 else 0
        if more > 0:
            bits = apply("pad", bits, pairs=(*[(0, 0)] * (bits.ndim - 1), (0, more)))
        else:
            bits = bits[..., :count]
    return reshaping.moveaxis(bits, -1, axis)
