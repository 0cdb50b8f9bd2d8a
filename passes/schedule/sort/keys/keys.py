"""Unsigned numbers made of elements such that comparing these is the order of `dialects.ops.sort`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .....dialects.scalar.language import ComplexValue, ScalarBuilder, Value
from .....dialects.types import DTYPES, DType

__all__ = ["LEAST_BITS", "Key", "as_number", "from_ordered_key", "keys_of", "to_ordered_key"]

#: Vectors of so many bits have an instruction for the lesser one of two numbers of 64 bits.
LEAST_BITS = 512
#: The bits of infinity.
_INFINITY = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F80_0000, "f64": 0x7FF0_0000_0000_0000}


@dataclass(frozen=True)
class Key:
    """A part of an order: `make` gives the key, of which the low `bits` count, of an element.

    `element` makes elements of keys again, where that can be; NaNs then are all the same.  Zeros of both signs have one
    key, or two neighbouring ones: then `negative_zero` has the bits of that of one.
    """

    bits: int
    dtype: DType
    make: Callable[[ScalarBuilder, Value], Value]
    element: Callable[[ScalarBuilder, Value], Value] | None = None
    negative_zero: int | None = None

    @property
    def reversed(self) -> Key:
        """The opposite order."""
        all_bits, back = (1 << self.bits) - 1, self.element
        return replace(
            self,
            make=lambda b, x: self.make(b, x) ^ all_bits,
            element=back and (lambda b, k: back(b, k ^ all_bits)),
            negative_zero=None if self.negative_zero is None else self.negative_zero ^ all_bits,
        )

    @property
    def signed(self) -> Key:
        """The same order of signed numbers, which vectors of more machines compare."""
        n, back = self.dtype.bits, self.element
        signed, sign = DTYPES[f"i{n}"], 1 << n - 1
        assert self.bits == n
        return replace(
            self,
            dtype=signed,
            make=lambda b, x: b.bitcast(self.make(b, x) ^ sign, signed),
            element=back and (lambda b, k: back(b, b.bitcast(k, self.dtype) ^ sign)),
            negative_zero=None if self.negative_zero is None else self.negative_zero ^ sign,
        )

    @property
    def least_zero(self) -> int:
        """The lesser key of both zeros, which are those in the middle."""
        return -1 if self.dtype.is_signed else (1 << self.bits - 1) - 1


def to_ordered_key(element: DType, descending: bool, vector_bits: int) -> Key:
    """A key whose lesser and greater one of two vectors find in few operations: a signed number.

    Of 64 bits few machines have an instruction for that, but all have one for f64, which is its own key then, with NaN
    as it is.
    """
    if element.name != "f64" or vector_bits >= LEAST_BITS:
        (key,) = keys_of(element, descending, True)
        return key.signed
    if descending:
        return Key(64, element, lambda b, x: -x, lambda b, k: -k, 0)
    return Key(64, element, lambda b, x: x, lambda b, k: k, 1 << 63)


def as_number(b: ScalarBuilder, key: Value) -> Value:
    """A signed number in the order of keys that are floats without NaN, and these; of a number itself."""
    if not key.dtype.is_float:
        return key
    n = key.dtype.bits
    return _flip_negative(b.bitcast(key, DTYPES[f"i{n}"]), n)


def from_ordered_key(b: ScalarBuilder, number: Value, dtype: DType) -> Value:
    """The key that `as_number` made a number of."""
    return b.bitcast(_flip_negative(number, dtype.bits), dtype) if dtype.is_float else number


def _flip_negative(bits: Value, n: int) -> Value:
    """All bits but that of the sign flipped where it is set."""
    return bits ^ (bits >> n - 1 & (1 << n - 1) - 1)


def keys_of(element: DType, descending: bool, invertible: bool) -> list[Key]:
    """The parts of the order of a type, the least important first; `invertible` asks for keys that have `element`."""
    keys = _complex_keys(element.part) if element.is_complex else [_key(element, invertible)]
    return [key.reversed for key in keys] if descending else keys


def _key(element: DType, invertible: bool) -> Key:
    n = element.bits
    if element.kind == "bool":
        u8 = DTYPES["u8"]
        return Key(1, u8, lambda b, x: b.cast(x, u8), lambda b, k: b.cast(k, element))
    unsigned = DTYPES[f"u{n}"]
    if element.is_float:
        return _float_key(element, unsigned, DTYPES[f"i{n}"], invertible)
    if not element.is_signed:
        return Key(n, unsigned, lambda b, x: x, lambda b, k: k)
    sign = 1 << n - 1
    return Key(n, unsigned, lambda b, x: b.bitcast(x, unsigned) ^ sign, lambda b, k: b.bitcast(k ^ sign, element))


def _float_key(element: DType, unsigned: DType, signed: DType, invertible: bool) -> Key:
    """Numbers whose order is that of floats, every NaN being the same and above all others."""
    n, infinity = element.bits, _INFINITY[element.name]
    sign = 1 << n - 1

    def make(b: ScalarBuilder, x: Value) -> Value:
        """Magnitudes with their signs: low bits that all elements lack, keys lack too."""
        bits = b.bitcast(x, signed)
        magnitude, negative = bits & sign - 1, bits >> n - 1
        nan = b.constant(infinity | (infinity & -infinity) >> 1, signed)
        key = b.select(magnitude > infinity, nan, (magnitude ^ negative) - negative)
        return b.bitcast(key, unsigned) ^ sign

    def make_invertible(b: ScalarBuilder, x: Value) -> Value:
        """Negative numbers with all bits flipped, others with that of the sign."""
        bits = b.bitcast(x, unsigned)
        flipped = b.bitcast(b.bitcast(bits, signed) >> n - 1, unsigned) | sign
        largest = b.constant((1 << n) - 1, unsigned)
        return b.select((bits & sign - 1) > infinity, largest, bits ^ flipped)

    def back(b: ScalarBuilder, key: Value) -> Value:
        flipped = ~b.bitcast(b.bitcast(key, signed) >> n - 1, unsigned) | sign
        return b.bitcast(key ^ flipped, element)

    return Key(n, unsigned, make_invertible, back, sign - 1) if invertible else Key(n, unsigned, make)


def _complex_keys(part: DType) -> list[Key]:
    """The imaginary part, the real part, then which of them are NaN."""
    key = _key(part, False)

    def real(b: ScalarBuilder, z: Value) -> Value:
        assert isinstance(z, ComplexValue)
        return key.make(b, z.re)

    def imaginary(b: ScalarBuilder, z: Value) -> Value:
        assert isinstance(z, ComplexValue)
        return key.make(b, z.im)

    def nans(b: ScalarBuilder, z: Value) -> Value:
        assert isinstance(z, ComplexValue)
        re, im = (b.cast(x.differs(x), key.dtype) for x in (z.re, z.im))
        return re * 2 + im

    return [replace(key, make=imaginary), replace(key, make=real), replace(key, bits=2, make=nans)]
