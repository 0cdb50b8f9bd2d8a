"""Degrees and radians."""

from __future__ import annotations

import numpy as np

from ..registry import Map, op
from ..scalar import ScalarBuilder, Value


@op
class Radians(Map):
    """Degrees as radians: one product."""

    numpy = np.radians
    also = (np.deg2rad,)
    promotes = "float"
    ulp = 1.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0] * (np.pi / 180.0)


@op
class Degrees(Map):
    """Radians as degrees: one product."""

    numpy = np.degrees
    also = (np.rad2deg,)
    promotes = "float"
    ulp = 1.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return xs[0] * (180.0 / np.pi)
