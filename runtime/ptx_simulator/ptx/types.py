"""The fundamental types of PTX ("Types, fundamental and alternate") as NumPy sees them.

A register holds bits; an instruction's type says what they mean.  bfloat16 has no NumPy dtype: its bits are uint16, and
`floating.py` computes with it.  Packed pairs (f16x2, bf16x2, u16x2, s16x2) are uint32 registers of two lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["TYPES", "Array", "Type", "unsigned"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Type:
    """A PTX type.  `kind` is one of ``u s b f bf pred``, with ``x2`` behind it where it is a packed pair."""

    name: str
    kind: str
    bits: int
    dtype: np.dtype[Any]

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        return self.kind in ("f", "bf")

    @property
    def is_integer(self) -> bool:
        """Integers, also packed ones, as arithmetic has them."""
        return self.kind in ("u", "s", "ux2", "sx2")

    @property
    def is_signed(self) -> bool:
        return self.kind == "s"


def _types() -> dict[str, Type]:
    found = {"pred": Type("pred", "pred", 1, np.dtype(np.bool_))}
    for kind, letter in (("u", "u"), ("s", "i"), ("b", "u")):
        for bits in (8, 16, 32, 64):
            found[f"{kind}{bits}"] = Type(f"{kind}{bits}", kind, bits, np.dtype(f"{letter}{bits // 8}"))
    for bits in (16, 32, 64):
        found[f"f{bits}"] = Type(f"f{bits}", "f", bits, np.dtype(f"f{bits // 8}"))
    found["bf16"] = Type("bf16", "bf", 16, np.dtype(np.uint16))
    for name in ("u16", "s16"):
        found[f"{name}x2"] = Type(f"{name}x2", f"{name[0]}x2", 32, np.dtype(np.uint32))
    found["f16x2"] = Type("f16x2", "fx2", 32, np.dtype(np.uint32))
    found["bf16x2"] = Type("bf16x2", "bfx2", 32, np.dtype(np.uint32))
    found["tf32"] = Type("tf32", "b", 32, np.dtype(np.uint32))
    return found


#: By the name that stands in an instruction.
TYPES = _types()
_UNSIGNED = {1: np.dtype(np.bool_), 8: np.dtype("u1"), 16: np.dtype("u2"), 32: np.dtype("u4"), 64: np.dtype("u8")}


def unsigned(bits: int) -> np.dtype[Any]:
    """What a register of that many bits is made of."""
    return _UNSIGNED[bits]
