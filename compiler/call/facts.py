"""Facts of a call: what compiled code may depend on.  Nothing else of an argument selects or makes code.

dtype, rank and *stride fact* of an array, the kind of a scalar; sizes are symbols.
`docs/inside/architecture.md` has the whole list.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from ...runtime.gpu.device_array import OnDevice

__all__ = [
    "Identity", "StrideClass", "as_dense_strided", "describe", "element_name", "resolve_aliasing", "shares_memory",
    "stride_fact", "value_fact",
]  # fmt: skip

#: ``("packed",)``, ``("order", slowest dim, …, fastest dim)``, or ``("strides", …)`` with "0", "1" or "s" for each dim.
StrideClass = tuple[Any, ...]


def as_dense_strided(array: np.ndarray) -> np.ndarray:
    """The array, or a packed copy where no compiled code can walk it: foreign byte order, misaligned, odd strides."""
    if type(array) is not np.ndarray:
        array = np.asarray(array)
    if not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="))
    flags, item = array.flags, array.itemsize
    if not flags.aligned or (not flags.c_contiguous and any(s % item for s in array.strides)):
        return np.array(array, order="C")
    return array


def element_name(array: np.ndarray) -> str:
    """txc's name of a walkable array's element type.  TypeError, naming the types there are, where there is none."""
    element = array.dtype
    if element.isbuiltin == 1 and element.kind in "iufc" and element.itemsize <= (16 if element.kind == "c" else 8):
        return f"{element.kind}{8 * element.itemsize}"
    from ...dialects.types import dtype  # the table of all types, which a hit does without

    return dtype(element).name


def stride_fact(array: np.ndarray) -> StrideClass:
    """How a walkable array lies in memory."""
    if array.flags.c_contiguous:
        return ("packed",)
    if array.flags.f_contiguous:
        return ("order", *reversed(range(array.ndim)))
    item = array.itemsize
    return ("strides", *("0" if s == 0 else "1" if s == item else "s" for s in array.strides))


class Identity:
    """A Python object as a fact: that very one, kept alive so that no later one can be taken for it."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)

    def __str__(self) -> str:
        return f"the same {type(self.value).__name__}"


def value_fact(value: Any) -> Any:
    """What of an argument that is no number, array or container selects code: flags and texts by value.

    Objects are by identity: what the function reads of one is a fact of its own
    (`compiler/frontend/trace/captures.py`).
    """
    if value is None or isinstance(value, (bool, str, bytes, np.dtype, Enum)):
        return value
    return Identity(value)


#: How many candidates are tried to tell whether two arrays whose bounds overlap share an element.
_CANDIDATES = 10_000


def shares_memory(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays have an element in common; True where that takes long to tell."""
    if not np.may_share_memory(a, b):
        return False
    if isinstance(a, OnDevice) or isinstance(b, OnDevice):
        return True
    try:
        # NumPy's own types know of two of the numbers that it takes.
        return np.shares_memory(a, b, max_work=_CANDIDATES)  # pyright: ignore[reportArgumentType]
    except np.exceptions.TooHardError:
        return True


def resolve_aliasing(arrays: Sequence[np.ndarray], written: Sequence[int]) -> list[np.ndarray]:
    """The arrays, with a snapshot in place of each that shares memory with one that is written.

    Snapshots keep the strides, for which the code was compiled.  Compiled code may then assume that what it writes
    is disjoint from all else.
    """
    found = list(arrays)
    for i, array in enumerate(arrays):
        if any(i != w and shares_memory(array, arrays[w]) for w in written):
            if i in written:
                raise ValueError("two arguments that are both written in place overlap: pass a copy of one of them")
            if isinstance(array, OnDevice):
                raise ValueError("an array on a GPU overlaps one that is written in place: pass a copy of one of them")
            found[i] = _snapshot(array)
    return found


def _snapshot(array: np.ndarray) -> np.ndarray:
    if array.size == 0:
        return array
    reach = [s * (n - 1) for s, n in zip(array.strides, array.shape)]
    low, high = sum(min(0, r) for r in reach), sum(max(0, r) for r in reach)
    memory = np.empty(high - low + array.itemsize, np.uint8)
    copy = np.ndarray(array.shape, array.dtype, memory.data, -low, array.strides)
    copy[...] = array
    return copy


def describe(key: Any) -> str:
    """An argument's facts in words, for `explain`."""
    kind, *rest = key
    if kind in ("array", "column array"):
        name, rank, fact = rest
        layout = {"packed": "row-major", "order": f"stored in order {fact[1:]}", "strides": f"strides {fact[1:]}"}[
            fact[0]
        ]
        return f"{name} {kind} of rank {rank}, {layout}"
    return f"{kind} {' '.join(map(str, rest))}".strip()
