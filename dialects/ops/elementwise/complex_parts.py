"""Complex numbers from and to their parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...registry import Map, op
from ...scalar.language import ComplexValue, ScalarBuilder, Value
from ...types import DType

NUMBERS = frozenset({"int", "uint", "float", "complex"})


@op
class Real(Map):
    """The real part; a real number itself."""

    numpy = np.real
    seeds = "Eigen real"
    dtypes = NUMBERS | {"bool"}
    result = "part"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (z,) = xs
        return z.re if isinstance(z, ComplexValue) else z


@op
class Imag(Map):
    """The imaginary part; zero for a real number."""

    numpy = np.imag
    seeds = "Eigen imag"
    dtypes = NUMBERS | {"bool"}
    result = "part"

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (z,) = xs
        return z.im if isinstance(z, ComplexValue) else b.constant(0, z.dtype)


@op
class Conjugate(Map):
    """The complex conjugate; a real number itself."""

    numpy = np.conjugate
    also = (np.conj,)
    seeds = "Eigen conjugate"
    methods = ("conjugate", "conj")
    dtypes = NUMBERS
    algebra = ("involution",)

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (z,) = xs
        return b.complex_of(z.re, -z.im) if isinstance(z, ComplexValue) else z


@op
class Arg(Map):
    """The angle of a complex number, between -pi and pi; 0 or pi for a real one.  |error| <= 3 ulp."""

    numpy = np.angle
    seeds = "Eigen arg"
    promotes = "float"
    dtypes = frozenset({"float", "complex"})
    result = "part"
    ulp = 3.0
    cost = 40.0

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        (z,) = xs
        if isinstance(z, ComplexValue):
            return b.op("atan2", z.im, z.re)
        return b.op("atan2", b.constant(0.0, z.dtype), z)


def _complex(re: np.ndarray, im: np.ndarray) -> np.ndarray:
    made = np.empty(np.shape(re), np.result_type(re, im, np.complex64))
    made.real, made.imag = re, im
    return made


@op
class Complex(Map):
    """The complex number of a real and an imaginary part (floats of one type; half-width ones give c64)."""

    numpy = _complex
    methods = ()
    arity = 2
    promotes = "float"

    @classmethod
    def result_dtype(cls, operand: DType) -> DType:
        return operand.as_complex

    @classmethod
    def scalar(cls, b: ScalarBuilder, *xs: Value) -> Value:
        return b.complex_of(*xs)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        re, im = (np.asarray(a, np.float32) if a.dtype.itemsize == 2 else a for a in arrays)
        return (_complex(re, im),)
