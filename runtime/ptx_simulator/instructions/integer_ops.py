"""Integer arithmetic, logic and shifts ("Integer Arithmetic Instructions", "Logic and Shift Instructions")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ptx.types import TYPES, Array, Type
from . import float_ops
from .decode import Decoding, Run, instruction

_ARITHMETIC = "Integer Arithmetic Instructions"
_LOGIC = "Logic and Shift Instructions"
_INTEGERS = "u16 u32 u64 s16 s32 s64"
_PAIRS = "u16x2 s16x2"
_BITS = "pred b16 b32 b64"


def wide_type(type_: Type) -> Type:
    """The integer type of twice the width."""
    return TYPES[f"{type_.kind}{2 * type_.bits}"]


@instruction("add", types=f"{_INTEGERS} {_PAIRS} {float_ops.ALL}", forms="rn rz rm rp ftz sat", section=_ARITHMETIC)
@instruction("sub", types=f"{_INTEGERS} {float_ops.ALL}", forms="rn rz rm rp ftz sat", section=_ARITHMETIC)
def add_or_subtract(d: Decoding) -> Run:
    """``add.sat.s32`` clamps, everything else wraps; floats are `float_ops`."""
    type_ = d.type()
    if not type_.is_integer:
        return float_ops.binary(d, type_)
    function: Callable[..., Array] = np.add if d.instruction.opcode == "add" else np.subtract
    if d.flag("sat"):
        if type_.name != "s32":
            d.fail(".sat is for .s32")
        exact = function
        function = lambda a, b: np.clip(exact(a.astype(np.int64), b), -(2**31), 2**31 - 1).astype(np.int32)  # noqa: E731
    d.done()
    return d.compute(float_ops.packed(type_, lambda _: function), type_, (type_, type_))


def _high(a: Array, b: Array) -> Array:
    """The upper half of the product, without a type of twice the width: schoolbook on halves."""
    half = np.uint64(32)
    low = np.uint64(0xFFFFFFFF)
    ua, ub = a.view(np.uint64), b.view(np.uint64)
    a0, a1, b0, b1 = ua & low, ua >> half, ub & low, ub >> half
    middle = a1 * b0 + (a0 * b0 >> half)
    cross = (middle & low) + a0 * b1
    high = a1 * b1 + (middle >> half) + (cross >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, ub, np.uint64(0)) - np.where(b < 0, ua, np.uint64(0))
    return high.view(a.dtype)


def _product(d: Decoding, type_: Type) -> tuple[Callable[[Array, Array], Array], Type]:
    part = d.choice("lo", "hi", "wide")
    if part == "lo":
        return np.multiply, type_
    if part == "hi" and type_.bits == 64:
        return _high, type_
    if type_.bits == 64:
        d.fail(".wide is for 16 and 32 bits")
    wide = wide_type(type_)
    if part == "wide":
        return lambda a, b: a.astype(wide.dtype) * b, wide
    shift = wide.dtype.type(type_.bits)
    return lambda a, b: (a.astype(wide.dtype) * b >> shift).astype(type_.dtype), type_


@instruction("mul", types=f"{_INTEGERS} {float_ops.ALL}", forms="lo hi wide rn rz rm rp ftz sat", section=_ARITHMETIC)
def multiply(d: Decoding) -> Run:
    type_ = d.type()
    if type_.kind not in ("u", "s"):
        return float_ops.binary(d, type_)
    function, result = _product(d, type_)
    d.done()
    return d.compute(function, result, (type_, type_))


@instruction("mad", types=f"{_INTEGERS} f32 f64", forms="lo hi wide rn rz rm rp ftz sat", section=_ARITHMETIC)
def multiply_add(d: Decoding) -> Run:
    """Floats: `mad` is `fma`."""
    type_ = d.type()
    if type_.is_float:
        return float_ops.multiply_add_of(d, type_)
    product, result = _product(d, type_)
    d.done()
    return d.compute(lambda a, b, c: product(a, b) + c, result, (type_, type_, result))


@instruction("mul24", "mad24", types="u32 s32", forms="lo hi", section=_ARITHMETIC)
def multiply_24(d: Decoding) -> Run:
    """Products of the lower 24 bits; `hi` is bits 16 to 47."""
    type_ = d.type()
    shift = {"lo": 0, "hi": 16}[d.choice("lo", "hi")]
    d.done()
    wide = np.int64

    def product(a: Array, b: Array) -> Array:
        a, b = ((x.astype(wide) << 40) >> 40 if type_.is_signed else x.astype(wide) & 0xFFFFFF for x in (a, b))
        return (a * b >> shift).astype(type_.dtype)

    if d.instruction.opcode == "mul24":
        return d.compute(product, type_, (type_, type_))
    return d.compute(lambda a, b, c: product(a, b) + c, type_, (type_, type_, type_))


def _quotient(a: Array, b: Array) -> Array:
    """Rounded towards zero.  PTX says nothing of a division by zero; here it gives all bits set."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    found = a // safe
    if a.dtype.kind == "i":
        found = found + ((a - found * safe != 0) & ((a < 0) != (safe < 0)))
    return np.where(b == 0, ~a.dtype.type(0), found).astype(a.dtype)


@instruction("div", types=f"{_INTEGERS} f32 f64", forms="rn rz rm rp approx full ftz", section=_ARITHMETIC)
def divide(d: Decoding) -> Run:
    type_ = d.type()
    if type_.is_float:
        return float_ops.binary(d, type_)
    d.done()
    return d.compute(_quotient, type_, (type_, type_))


@instruction("rem", types=_INTEGERS, section=_ARITHMETIC)
def remainder(d: Decoding) -> Run:
    type_ = d.type()
    d.done()
    return d.compute(lambda a, b: np.where(b == 0, a, a - _quotient(a, b) * b), type_, (type_, type_))


@instruction("neg", "abs", types=f"s16 s32 s64 {float_ops.ALL}", forms="ftz", section=_ARITHMETIC)
def negate(d: Decoding) -> Run:
    type_ = d.type()
    if not type_.is_signed:
        return float_ops.sign(d, type_)
    d.done()
    return d.compute(np.negative if d.instruction.opcode == "neg" else np.abs, type_, (type_,))


@instruction(
    "min", "max", types=f"{_INTEGERS} {_PAIRS} {float_ops.ALL}", forms="ftz NaN xorsign abs relu", section=_ARITHMETIC
)
def least(d: Decoding) -> Run:
    type_ = d.type()
    if not type_.is_integer:
        return float_ops.least(d, type_)
    function: Callable[..., Array] = np.minimum if d.instruction.opcode == "min" else np.maximum
    if d.flag("relu"):
        bounded = function
        function = lambda a, b: np.maximum(bounded(a, b), a.dtype.type(0))  # noqa: E731
    d.done()
    return d.compute(float_ops.packed(type_, lambda _: function), type_, (type_, type_))


@instruction("sad", types=_INTEGERS, section=_ARITHMETIC)
def absolute_difference(d: Decoding) -> Run:
    type_ = d.type()
    d.done()
    return d.compute(lambda a, b, c: c + np.where(a < b, b - a, a - b), type_, (type_, type_, type_))


# Logic


@instruction("and", "or", "xor", types=_BITS, section=_LOGIC)
def logic(d: Decoding) -> Run:
    type_ = d.type()
    d.done()
    function = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[d.instruction.opcode]
    return d.compute(function, type_, (type_, type_))


@instruction("not", types=_BITS, section=_LOGIC)
@instruction("cnot", types="b16 b32 b64", section=_LOGIC)
def complement(d: Decoding) -> Run:
    type_ = d.type()
    d.done()
    if d.instruction.opcode == "not":
        return d.compute(np.invert, type_, (type_,))
    return d.compute(lambda a: (a == 0).astype(a.dtype), type_, (type_,))


@instruction("lop3", types="b32", section=_LOGIC)
def logic_of_three(d: Decoding) -> Run:
    """Any function of three bits: bit ``4a + 2b + c`` of the table is its value."""
    type_ = d.type()
    d.done()
    d.count(5)
    table = d.integer(d.operands[4])

    def compute(a: Array, b: Array, c: Array) -> Array:
        found = np.uint32(0)
        for i in range(8):
            if table >> i & 1:
                found = found | ((a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c))
        return found if isinstance(found, np.ndarray) else np.zeros_like(a)

    d.operands = d.operands[:4]
    return d.compute(compute, type_, (type_, type_, type_))


@instruction("shl", types="b16 b32 b64", section=_LOGIC)
@instruction("shr", types="b16 b32 b64 u16 u32 u64 s16 s32 s64", section=_LOGIC)
def shift(d: Decoding) -> Run:
    """Amounts beyond the width count as the width, as NumPy's shifts have it too."""
    type_ = d.type()
    d.done()
    function = np.left_shift if d.instruction.opcode == "shl" else np.right_shift
    most = np.uint32(type_.bits)
    return d.compute(lambda a, n: function(a, np.minimum(n, most).astype(type_.dtype)), type_, (type_, TYPES["u32"]))


@instruction("shf", types="b32", forms="l r clamp wrap", section=_LOGIC)
def funnel_shift(d: Decoding) -> Run:
    """``shf.l`` gives the upper word of ``{b, a} << n``, ``shf.r`` the lower word of ``{b, a} >> n``."""
    type_ = d.type()
    left, wrap = d.choice("l", "r") == "l", d.choice("clamp", "wrap") == "wrap"
    d.done()

    def compute(a: Array, b: Array, n: Array) -> Array:
        amount = (n & np.uint32(31) if wrap else np.minimum(n, np.uint32(32))).astype(np.uint64)
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        return ((both << amount) >> np.uint64(32) if left else both >> amount).astype(np.uint32)

    return d.compute(compute, type_, (type_, type_, type_))


# Bits


def _ones(a: Array) -> Array:
    return np.bitwise_count(a).astype(np.uint32)


def _smeared(a: Array) -> Array:
    """All bits below the highest set one set."""
    for k in (1, 2, 4, 8, 16, 32):
        if k < 8 * a.itemsize:
            a = a | (a >> a.dtype.type(k))
    return a


def _reversed_bits(a: Array) -> Array:
    kind = a.dtype.type
    for k, mask in ((1, 0x55), (2, 0x33), (4, 0x0F)):
        m = kind(int.from_bytes(bytes([mask]) * a.itemsize, "little"))
        a = ((a & m) << kind(k)) | ((a >> kind(k)) & m)
    return a.byteswap()


@instruction("popc", "clz", types="b32 b64", section=_ARITHMETIC)
def count_bits(d: Decoding) -> Run:
    type_ = d.type()
    d.done()
    if d.instruction.opcode == "popc":
        return d.compute(_ones, TYPES["u32"], (type_,))
    return d.compute(lambda a: np.uint32(type_.bits) - _ones(_smeared(a)), TYPES["u32"], (type_,))


@instruction("bfind", types="u32 u64 s32 s64", forms="shiftamt", section=_ARITHMETIC)
def find_bit(d: Decoding) -> Run:
    """The highest bit that is not the sign; none is 2**32 - 1."""
    type_ = d.type()
    from_top = d.flag("shiftamt")
    d.done()

    def compute(a: Array) -> Array:
        bits = np.where(a < 0, ~a, a).view(f"u{type_.bytes}") if type_.is_signed else a
        place = _ones(_smeared(bits)) - np.uint32(1)
        return np.where(bits == 0, ~np.uint32(0), np.uint32(type_.bits - 1) - place) if from_top else place

    return d.compute(compute, TYPES["u32"], (type_,))


@instruction("brev", types="b32 b64", section=_ARITHMETIC)
def reverse_bits(d: Decoding) -> Run:
    type_ = d.type()
    d.done()
    return d.compute(_reversed_bits, type_, (type_,))


@instruction("bfe", types="u32 u64 s32 s64", section=_ARITHMETIC)
def extract_field(d: Decoding) -> Run:
    """`length` bits from `start`; bits past the top are the sign: the field's highest bit."""
    type_ = d.type()
    d.done()
    bits, kind = type_.bits, type_.dtype.type

    def compute(a: Array, start: Array, length: Array) -> Array:
        first = np.minimum(start & np.uint32(0xFF), np.uint32(bits))
        size = np.minimum(length & np.uint32(0xFF), np.uint32(bits))
        if not type_.is_signed:
            mask = ~(~kind(0) << size.astype(type_.dtype))
            return (a >> first.astype(type_.dtype)) & mask
        low = a >> first.astype(type_.dtype)
        up = (np.uint32(bits) - size).astype(type_.dtype)
        return np.where(size == 0, kind(0), (low << up) >> up)

    return d.compute(compute, type_, (type_, TYPES["u32"], TYPES["u32"]))


@instruction("bfi", types="b32 b64", section=_ARITHMETIC)
def insert_field(d: Decoding) -> Run:
    type_ = d.type()
    d.done()
    kind = type_.dtype.type

    def compute(a: Array, b: Array, start: Array, length: Array) -> Array:
        first = np.minimum(start & np.uint32(0xFF), np.uint32(type_.bits)).astype(type_.dtype)
        size = np.minimum(length & np.uint32(0xFF), np.uint32(type_.bits)).astype(type_.dtype)
        mask = ~(~kind(0) << size) << first
        return ((a << first) & mask) | (b & ~mask)

    return d.compute(compute, type_, (type_, type_, TYPES["u32"], TYPES["u32"]))


@instruction("bmsk", types="b32", forms="clamp wrap", section=_ARITHMETIC)
def bit_mask(d: Decoding) -> Run:
    type_ = d.type()
    wrap = d.choice("clamp", "wrap") == "wrap"
    d.done()

    def compute(start: Array, length: Array) -> Array:
        first, size = (x & np.uint32(31) if wrap else np.minimum(x, np.uint32(32)) for x in (start, length))
        return ~(~np.uint32(0) << size) << first

    return d.compute(compute, type_, (TYPES["u32"], TYPES["u32"]))


@instruction("prmt", types="b32", section="Data Movement and Conversion Instructions: prmt")
def permute_bytes(d: Decoding) -> Run:
    """Four bytes of the eight of ``{b, a}``; bit 3 of a selector repeats its byte's sign."""
    type_ = d.type()
    d.done()

    def compute(a: Array, b: Array, selectors: Array) -> Array:
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        found = np.uint32(0)
        for i in range(4):
            selector = (selectors >> np.uint32(4 * i)) & np.uint32(15)
            byte = (both >> ((selector & np.uint32(7)) * np.uint32(8))).astype(np.uint8)
            byte = np.where(selector & np.uint32(8), (byte.view(np.int8) >> 7).view(np.uint8), byte)
            found = found | (byte.astype(np.uint32) << np.uint32(8 * i))
        return np.asarray(found)

    return d.compute(compute, type_, (type_, type_, type_))


@instruction("dp4a", types="u32 s32", section=_ARITHMETIC)
def dot_of_bytes(d: Decoding) -> Run:
    """``dp4a.atype.btype``: the types say how each operand's bytes are read; the sum is signed if either is."""
    second = d.type()
    first = d.type()
    d.done()
    total = TYPES["s32" if "s32" in (first.name, second.name) else "u32"]

    def compute(a: Array, b: Array, c: Array) -> Array:
        parts = [
            x.view(np.int8 if t.is_signed else np.uint8).reshape(-1, 4).astype(np.int64)
            for x, t in ((a, first), (b, second))
        ]
        return ((parts[0] * parts[1]).sum(axis=1) + c).astype(total.dtype)

    return d.compute(compute, total, (first, second, total))
