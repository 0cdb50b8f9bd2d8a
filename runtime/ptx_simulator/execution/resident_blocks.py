"""Blocks of a launch that run together: their places in the grid, their memories, what a path's accesses mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..memory.async_copies import AsyncCopies
from ..memory.byte_memory import Fault, Memory
from ..memory.global_memory import Heap
from ..memory.mbarriers import Mbarriers
from ..memory.races import Races
from ..memory.state_spaces import WINDOW_BITS, space_of
from ..ptx.types import Array, Type
from .divergence import Path, bits_of
from .perf_counters import KernelCounts
from .special_registers import WARP
from .wgmma_groups import Products

__all__ = ["Batch", "Launch"]

Apply = Callable[..., Array]


class Launch:
    """A grid of blocks: what all of its batches share."""

    def __init__(
        self, heap: Heap, grid: tuple[int, int, int], block: tuple[int, int, int], parameters: bytes, shared: int,
        dynamic_shared: int, local: int, shared_grain: int,
    ):  # fmt: skip
        self.heap, self.grid, self.block, self.parameters = heap, grid, block, parameters
        self.shared, self.dynamic_shared, self.local = shared, dynamic_shared, local
        self.shared_grain = shared_grain
        self.threads = block[0] * block[1] * block[2]
        self.slots = -(-self.threads // WARP) * WARP
        self.blocks = grid[0] * grid[1] * grid[2]


class Batch:
    """Blocks `first` to ``first + count`` of a launch.  A thread's number is its block's times `slots` plus its own."""

    def __init__(
        self, launch: Launch, first: int, count: int, blank: Sequence[Array | None], counts: KernelCounts | None = None
    ):
        self.launch, self.first, self.count, self.counts = launch, first, count, counts
        self.grid, self.block, self.slots = launch.grid, launch.block, launch.slots
        self.dynamic_shared = launch.dynamic_shared
        self._blank = list(blank)
        inside = np.arange(self.slots)
        x, y, _ = launch.block
        places = (inside % x, inside // x % y, inside // (x * y))
        self.thread_places = [np.tile(place, count).astype(np.uint32) for place in places]
        numbers = np.arange(first, first + count)
        gx, gy, _ = launch.grid
        self.block_places = [
            place.astype(np.uint32) for place in (numbers % gx, numbers // gx % gy, numbers // (gx * gy))
        ]
        self.shared = Memory("shared", launch.shared + launch.dynamic_shared, count)
        self.local = Memory("local", launch.local, count * self.slots if launch.local else 1)
        #: Whether each thread's slot still runs.
        self.alive = np.tile(inside < launch.threads, count)
        self.running = launch.threads * count
        #: By warp and lane, whether the launch has such a thread.
        self.exists = self.alive.reshape(-1, WARP).copy()
        self.copies = AsyncCopies(self.slots * count)
        self.mbarriers = Mbarriers(self)
        self.products = Products(self)
        #: Grows whenever memory changes: what waiting threads may be waiting for.
        self.version = 0
        self.races = Races(self, launch.shared_grain if launch.shared + launch.dynamic_shared else 0)
        self.clock = 0

    def blank(self) -> list[Array]:
        """Registers of a new path: only constants are there."""
        return self._blank.copy()  # type: ignore[return-value]

    def parameter(self, at: int, type_: Type) -> Array:
        return np.frombuffer(self.launch.parameters, type_.dtype, 1, at)

    def where(self, thread: int) -> str:
        """``block (x, y, z), thread (x, y, z)`` of a thread's number."""
        return f"block {self.block_at(thread // self.slots)}, thread {self.thread_in_block(thread)}"

    def block_at(self, number: int) -> tuple[int, ...]:
        """The coordinates of a block of the batch."""
        return tuple(int(place[number]) for place in self.block_places)

    def thread_in_block(self, thread: int) -> tuple[int, ...]:
        """A thread's coordinates in its block."""
        return tuple(int(place[thread]) for place in self.thread_places)

    # Memory

    def _memory(self, space: str, p: Path) -> tuple[Memory, Array | int]:
        """A space's memory, and where each thread's window of it begins."""
        if space in ("global", "const"):
            return self.launch.heap, 0
        if space == "shared":
            if self.count == 1:
                return self.shared, 0
            return self.shared, (p.blocks * self.shared.stride).astype(np.uint64)
        return self.local, (p.threads * self.local.stride).astype(np.uint64)

    def load(self, p: Path, space: str, addresses: Array, width: int, count: int) -> list[Array]:
        """Unsigned values; one element each where all threads read one place."""
        if not space:
            return self._generic(p, addresses, lambda q, s, a, _: self.load(q, s, a, width, count), count, width)
        memory, start = self._memory(space, p)
        found = memory.load(addresses, start, width, count)
        if self.counts is not None:
            self._count(p, space, addresses, width * count, store=False)
        if space == "shared":
            self.races.loaded(p, addresses + start, width * count)
        return found

    def store(self, p: Path, space: str, addresses: Array, values: list[Array]) -> None:
        if not space:
            self._generic(p, addresses, lambda q, s, a, lanes: self.store(q, s, a, _at(values, lanes)) or [])
            return
        memory, start = self._memory(space, p)
        n = len(p)
        if len(addresses) == 1 and n > 1:
            addresses = np.broadcast_to(addresses, (n,))
        if memory.store(addresses, start, values):
            self.version += 1
        if self.counts is not None:
            self._count(p, space, addresses, values[0].itemsize * len(values), store=True)
        if space == "shared":
            clash = self.races.stored(p, addresses + start, values[0].itemsize * len(values))
            if clash is not None:
                self._check_clash(memory, addresses, start, values, clash)

    def _count(self, p: Path, space: str, addresses: Array, size: int, store: bool) -> None:
        assert self.counts is not None
        if space == "shared":
            self.counts.shared_access(p.threads, addresses, size)
        elif space == "global":
            self.counts.global_access(p.threads, addresses, size, store)

    def _check_clash(
        self, memory: Memory, addresses: Array, start: Array | int, values: list[Array], lanes: Array
    ) -> None:
        """Threads that store to one place in one instruction must store one value."""
        stays = memory.load(addresses, start, values[0].itemsize, len(values))
        for kept, value in zip(stays, values, strict=True):
            wrong = lanes & (kept != value)
            if wrong.any():
                lane = int(np.argmax(wrong))
                raise self.races.clash(lane, int(addresses[lane]))

    def atomic(self, p: Path, space: str, addresses: Array, values: list[Array], apply: Apply) -> Array:
        """What lay there before each thread's turn; threads at one address take turns in their order."""
        if not space:
            return self._generic(
                p,
                addresses,
                lambda q, s, a, lanes: [self.atomic(q, s, a, _at(values, lanes), apply)],
                1,
                values[0].itemsize,
            )[0]
        memory, start = self._memory(space, p)
        width = values[0].itemsize
        before = np.empty(len(addresses), values[0].dtype)
        places = addresses + start
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        firsts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        turn = np.arange(len(order)) - np.repeat(firsts, np.diff(np.append(firsts, len(order))))
        for k in range(int(turn.max()) + 1):
            lanes = order[turn == k]
            begin = start if isinstance(start, int) else start[lanes]
            old = memory.load(addresses[lanes], begin, width)[0]
            new = apply(old, *(v[lanes] for v in values))
            if memory.store(addresses[lanes], begin, [np.broadcast_to(bits_of(np.atleast_1d(new)), len(lanes))]):
                self.version += 1
            before[lanes] = old
        if space == "shared":
            self.races.stored(p, addresses + start, width, atomic=True)
        return before

    def _generic(
        self, p: Path, addresses: Array, access: Callable[[Path, str, Array, Array | None], list[Array]],
        count: int = 0, width: int = 0,
    ) -> list[Array]:  # fmt: skip
        """An access by generic addresses, space by space."""
        low = np.uint64((1 << WINDOW_BITS) - 1)
        spaces = space_of(addresses)
        if len(spaces) == 1:
            return access(p, spaces[0][0], addresses & low, None)
        found = [np.empty(len(p), f"u{width}") for _ in range(count)]
        for space, lanes in spaces:
            assert lanes is not None
            try:
                part = access(p.part(lanes, ()), space, addresses[lanes] & low, lanes)
            except Fault as fault:
                raise Fault(fault.what, int(lanes[fault.lane])) from None
            for into, values in zip(found, part, strict=True):
                into[lanes] = values
        return found


def _at(values: list[Array], lanes: Array | None) -> list[Array]:
    return values if lanes is None else [v if len(v) == 1 else v[lanes] for v in values]
