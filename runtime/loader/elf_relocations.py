"""What each relocation of x86-64 and AArch64 writes, and the stubs through which code calls what lies far away.

LLVM's small code model reaches 2 GiB (AArch64: 128 MiB for calls); the C library and CPython may be further off.  So a
call of an outside function goes to a 16-byte stub beside the code: an indirect jump and, behind it, the address.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NamedTuple

from .elf import LoaderError

__all__ = ["GOT_BYTES", "MACHINES", "STUB_BYTES", "Machine", "Place"]

STUB_BYTES = 16
GOT_BYTES = 8


class Place(NamedTuple):
    """What a relocation may be computed from: addresses of the bytes, the symbol, its stub and its table slot."""

    here: int
    symbol: int
    stub: int
    slot: int
    addend: int


class Rule(NamedTuple):
    """`needs` is ``symbol``, ``call`` (a stub where the symbol is outside) or ``slot`` (of the offset table).

    `apply(place, old)` gives the new bytes, as many as there are old ones.
    """

    width: int
    needs: str
    apply: Callable[[Place, bytes], bytes]


class Machine(NamedTuple):
    """A processor: ELF's number for it, its relocations, and the stub's code before the address."""

    number: int
    rules: dict[int, Rule]
    stub: bytes


def _fitted(value: int, bits: int, what: str) -> int:
    """A signed number as the bits of a field; LoaderError where it does not fit."""
    if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise LoaderError(f"{what} {value:#x} does not fit {bits} bits")
    return value & ((1 << bits) - 1)


def _absolute(place: Place, _: bytes) -> bytes:
    return struct.pack("<Q", (place.symbol + place.addend) % (1 << 64))


def _relative(width: int, needs: str = "symbol") -> Rule:
    """The distance from here to the symbol, its stub or its slot."""

    def apply(place: Place, _: bytes) -> bytes:
        to = {"symbol": place.symbol, "call": place.stub, "slot": place.slot}[needs]
        distance = _fitted(to + place.addend - place.here, 8 * width, "a distance of")
        return distance.to_bytes(width, "little")

    return Rule(width, needs, apply)


_X86_64 = Machine(
    62,
    {
        1: Rule(8, "symbol", _absolute),  # 64
        2: _relative(4),  # PC32
        4: _relative(4, "call"),  # PLT32
        9: _relative(4, "slot"),  # GOTPCREL
        24: _relative(8),  # PC64
        41: _relative(4, "slot"),  # GOTPCRELX
        42: _relative(4, "slot"),  # REX_GOTPCRELX
    },
    bytes.fromhex("ff2502000000 9090"),  # jmp [rip + 2]; nop; nop
)


def _field(word: bytes, value: int, low: int, bits: int) -> bytes:
    """An instruction with `bits` bits from bit `low` on replaced."""
    (old,) = struct.unpack("<I", word)
    mask = ((1 << bits) - 1) << low
    return struct.pack("<I", (old & ~mask) | (value << low & mask))


def _pages(place: Place, word: bytes, to: int) -> bytes:
    """ADRP: the distance in pages of 4 KiB."""
    pages = _fitted((to >> 12) - (place.here >> 12), 21, "a distance in pages of")
    return _field(_field(word, pages & 3, 29, 2), pages >> 2, 5, 19)


def _low_bits(scale: int, needs: str = "symbol") -> Rule:
    """The offset inside the page, in units of the access's size."""

    def apply(place: Place, word: bytes) -> bytes:
        to = place.slot if needs == "slot" else place.symbol + place.addend
        if to & ((1 << scale) - 1):
            raise LoaderError(f"an address {to:#x} is not aligned to {1 << scale} bytes")
        return _field(word, (to & 0xFFF) >> scale, 10, 12)

    return Rule(4, needs, apply)


def _branch(bits: int, low: int, needs: str) -> Rule:
    """A branch: the distance in instructions."""

    def apply(place: Place, word: bytes) -> bytes:
        distance = (place.stub if needs == "call" else place.symbol) + place.addend - place.here
        if distance % 4:
            raise LoaderError("a branch goes between two instructions")
        return _field(word, _fitted(distance >> 2, bits, "a branch of"), low, bits)

    return Rule(4, needs, apply)


def _adr(place: Place, word: bytes) -> bytes:
    distance = _fitted(place.symbol + place.addend - place.here, 21, "a distance of")
    return _field(_field(word, distance & 3, 29, 2), distance >> 2, 5, 19)


_AARCH64 = Machine(
    183,
    {
        257: Rule(8, "symbol", _absolute),  # ABS64
        260: _relative(8),  # PREL64
        261: _relative(4),  # PREL32
        274: Rule(4, "symbol", _adr),  # ADR_PREL_LO21
        275: Rule(4, "symbol", lambda p, w: _pages(p, w, p.symbol + p.addend)),  # ADR_PREL_PG_HI21
        277: _low_bits(0),  # ADD_ABS_LO12_NC
        278: _low_bits(0),  # LDST8_ABS_LO12_NC
        279: _branch(14, 5, "symbol"),  # TSTBR14
        280: _branch(19, 5, "symbol"),  # CONDBR19
        282: _branch(26, 0, "call"),  # JUMP26
        283: _branch(26, 0, "call"),  # CALL26
        284: _low_bits(1),  # LDST16_ABS_LO12_NC
        285: _low_bits(2),  # LDST32_ABS_LO12_NC
        286: _low_bits(3),  # LDST64_ABS_LO12_NC
        299: _low_bits(4),  # LDST128_ABS_LO12_NC
        311: Rule(4, "slot", lambda p, w: _pages(p, w, p.slot)),  # ADR_GOT_PAGE
        312: _low_bits(3, "slot"),  # LD64_GOT_LO12_NC
    },
    bytes.fromhex("50000058 00021fd6"),  # ldr x16, .+8; br x16
)

#: By `platform.machine()`.
MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}
