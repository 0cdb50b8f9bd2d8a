"""Floats as their bits: the sign, and the neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...registry import Map, op
from ...scalar.language import ScalarBuilder, Value
from ...types import DTYPES

BITS = {"f16": DTYPES["i16"], "bf16": DTYPES["i16"], "f32": DTYPES["i32"], "f64": DTYPES["i64"]}
#: The sign bit alone, by width.
SIGN = {16: -(2**15), 32: -(2**31), 64: -(2**63)}


@op
class Signbit(Map):
    """Whether the sign bit is set: of -0.0 and of negative NaNs too."""

    numpy = np.signbit
    promotes = "float"
    result = "bool"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (x,) = xs
        return b.bitcast(x, BITS[x.dtype.name]) < 0


@op
class Nextafter(Map):
    """The float next to the first operand towards the second; NaN where either is."""

    numpy = np.nextafter
    arity = 2
    promotes = "float"
    cost = 6.0

    @classmethod
    def build(cls, b: ScalarBuilder, *xs: Value, **attrs: Any) -> Value:
        return cls.scalar(b, *xs)  # neighbours in the operands' own width, half too

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        x, y = xs
        element = x.dtype
        whole = BITS[element.name]
        bits = b.bitcast(x, whole)
        # The bits of a magnitude grow with it, so stepping towards zero counts down.
        inwards = (y > x) ^ (bits >= 0)
        stepped = b.select(inwards, bits - 1, bits + 1)
        smallest = b.select(y < x, b.constant(SIGN[whole.bits] + 1, whole), b.constant(1, whole))
        found = b.bitcast(b.select(x.equals(0.0), smallest, stepped), element)
        nan = x.differs(x) | y.differs(y)
        return b.select(x.equals(y), y, b.select(nan, b.constant(np.nan, element), found))
