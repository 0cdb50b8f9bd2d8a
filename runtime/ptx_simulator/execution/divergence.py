"""Threads that follow one path, with their registers: parting and meeting again.

A path holds a register as an array with one element a thread, in order of the threads, or with a single element where
all of them have the same.  When paths part, registers are not copied: each remembers where its values lie (`Origin`)
and takes them out when it reads them.  Where paths meet that parted from one, what neither wrote is taken back whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..ptx.types import Array

if TYPE_CHECKING:
    from .resident_blocks import Batch

__all__ = ["Path", "bits_of", "meet"]


@dataclass(eq=False)
class Origin:
    """The threads that a register's array belongs to, and where a path's own threads lie among them."""

    threads: Array
    places: Array

    def narrowed(self, places: Array) -> Origin:
        return Origin(self.threads, self.places[places])


class Path:
    """Threads at one instruction.  `registers[i]` is None where register i lies in `left` or was never written."""

    __slots__ = ("_blocks", "batch", "left", "polled", "registers", "threads")

    def __init__(
        self, batch: Batch, threads: Array, registers: list[Array], left: dict[int, tuple[Array, Origin]] | None = None
    ):
        self.batch, self.threads, self.registers = batch, threads, registers
        self.left = left or {}
        self.polled = False
        self._blocks: Array | None = None

    def __len__(self) -> int:
        return len(self.threads)

    @property
    def blocks(self) -> Array:
        """The number, in the batch, of each thread's block."""
        if self._blocks is None:
            self._blocks = self.threads // self.batch.slots
        return self._blocks

    def take(self, register: int) -> None:
        """Have a register here whose values lie where this path parted from others."""
        values, origin = self.left.pop(register)
        self.registers[register] = values[origin.places]

    def part(self, places: Array, live: Sequence[int]) -> Path:
        """The path of the threads at `places`, with the registers that are `live`."""
        registers = self.batch.blank()
        left: dict[int, tuple[Array, Origin]] = {}
        origins: dict[int, Origin] = {}
        mine = Origin(self.threads, places)
        for i in live:
            values = self.registers[i]
            if values is None:
                found, origin = self.left[i]
                narrowed = origins.get(id(origin))
                if narrowed is None:
                    narrowed = origins[id(origin)] = origin.narrowed(places)
                left[i] = found, narrowed
            elif len(values) == 1:
                registers[i] = values
            else:
                left[i] = values, mine
        return Path(self.batch, self.threads[places], registers, left)

    def uniform(self, register: int) -> bool:
        values = self.registers[register]
        return values is not None and len(values) == 1


def meet(paths: Sequence[Path], live: Sequence[int]) -> Path:
    """One path of the threads of all, with the registers that are `live`."""
    if len(paths) == 1:
        return paths[0]
    batch = paths[0].batch
    threads = np.concatenate([p.threads for p in paths])
    order = np.argsort(threads)
    threads = threads[order]
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    ends = np.cumsum([len(p) for p in paths])
    places = [rank[end - len(p) : end] for p, end in zip(paths, ends, strict=True)]
    registers = batch.blank()
    left: dict[int, tuple[Array, Origin]] = {}
    origins: dict[int, Origin] = {}
    for i in live:
        held = [p.left.get(i) for p in paths]
        first = held[0]
        if first is not None and all(h is not None and h[0] is first[0] for h in held):
            values, origin = first
            if len(values) == len(threads):
                registers[i] = values
                continue
            joined = origins.get(id(origin))
            if joined is None:
                joined = origins[id(origin)] = Origin(origin.threads, np.searchsorted(origin.threads, threads))
            left[i] = values, joined
            continue
        found = [_values(p, i) for p in paths]
        if all(len(f) == 1 for f in found) and all(bits_of(f)[0] == bits_of(found[0])[0] for f in found):
            registers[i] = found[0]
            continue
        values = np.empty(len(threads), bits_of(found[0]).dtype)
        for place, f in zip(places, found, strict=True):
            values[place] = bits_of(f)
        registers[i] = values
    return Path(batch, threads, registers, left)


def _values(path: Path, register: int) -> Array:
    values = path.registers[register]
    if values is None:
        found, origin = path.left[register]
        return found[origin.places]
    return values


_BITS = {2: np.dtype("u2"), 4: np.dtype("u4"), 8: np.dtype("u8")}


def bits_of(values: Array) -> Array:
    """The bits of a register's values, whatever type they were last used as."""
    return values if values.dtype.kind in "ub" else values.view(_BITS[values.itemsize])
