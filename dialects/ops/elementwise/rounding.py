"""Rounding to integers; the identity on integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...registry import Map, op
from ...scalar.language import ScalarBuilder, Value
from ...types import dtype


class _Rounding(Map):
    dtypes = frozenset({"bool", "int", "uint", "float"})
    algebra = ("idempotent",)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        # NumPy goes by f64 and so loses the low bits of wide integers.
        return super().evaluate(arrays, attrs) if dtype(arrays[0].dtype).is_float else (arrays[0],)


@op
class Rint(_Rounding):
    """To the nearest integer, halves to even; integers become floats."""

    numpy = np.rint
    seeds = "Eigen rint"
    dtypes = frozenset({"float"})
    promotes = "float"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.rint(xs[0])


@op
class Round(_Rounding):
    """To the nearest integer, halves to even; integers stay integers."""

    numpy = np.round
    dtypes = frozenset({"int", "uint", "float"})
    also = ("scipy.special.round",)
    variants: ClassVar[dict[str, dict[str, str]]] = {"half": {"even": "round", "away": "round_half_away"}}

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.rint(xs[0]) if xs[0].dtype.is_float else xs[0]


@op
class Floor(_Rounding):
    """Down."""

    numpy = np.floor
    seeds = "Eigen floor"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.floor(xs[0]) if xs[0].dtype.is_float else xs[0]


@op
class Ceil(_Rounding):
    """Up."""

    numpy = np.ceil
    seeds = "Eigen ceil"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.ceil(xs[0]) if xs[0].dtype.is_float else xs[0]


@op
class Trunc(_Rounding):
    """Towards zero."""

    numpy = np.trunc
    also = (np.fix,)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.trunc(xs[0]) if xs[0].dtype.is_float else xs[0]


def _round_half_away(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind in "iu":
        return x
    whole = np.trunc(x)
    return np.copysign(whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0), x)


@op
class RoundHalfAway(_Rounding):
    """To the nearest integer, halves away from zero."""

    numpy = _round_half_away
    dtypes = frozenset({"int", "uint", "float"})
    seeds = 'Eigen round (round(half="away"))'
    cost = 4.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        if not x.dtype.is_float:
            return x
        # The largest float below a half, so that nothing below a half is pushed over it.
        nearly = np.nextafter(np.float32(0.5), np.float32(0)) if x.dtype.bits == 32 else np.nextafter(0.5, 0)
        return b.trunc(x + b.copysign(b.constant(float(nearly), x.dtype), x))
