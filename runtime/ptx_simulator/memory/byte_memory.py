"""Byte-addressed memory that knows of each byte whether it is allocated and whether it was written.

One `Memory` is a row of equal *windows*: one for the device's global memory, one a block for shared memory, one a
thread for local memory.  An address counts from its window's start; what lies past the window is nobody's.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from ..ptx.types import Array, unsigned

__all__ = ["ALLOCATED", "WRITTEN", "Fault", "Memory"]

#: States of a byte; written ones are allocated too.
ALLOCATED, WRITTEN = 1, 3


class Fault(Exception):
    """What a thread did wrong; `lane` is its place among those that ran the instruction."""

    def __init__(self, what: str, lane: int = 0):
        super().__init__(what)
        self.what, self.lane = what, lane


def _repeated(state: int) -> dict[int, Any]:
    """By width, the state of that many bytes as one number."""
    return {w: unsigned(8 * w).type(int.from_bytes(bytes([state]) * w, "little")) for w in (1, 2, 4, 8)}


_ALL_WRITTEN, _ALL_ALLOCATED = _repeated(WRITTEN), _repeated(ALLOCATED)


class Memory:
    """`windows` of `size` bytes each, all of it allocated, or (`allocated=False`) none."""

    def __init__(self, space: str, size: int, windows: int = 1, allocated: bool = True):
        self.space, self.size, self.windows = space, size, windows
        self.stride = -(-max(size, 1) // 256) * 256
        total = self.stride * windows
        self.bytes = np.zeros(total, np.uint8)
        self.state = np.zeros(total, np.uint8)
        if allocated:
            self.state.reshape(windows, self.stride)[:, :size] = ALLOCATED
        self.views = {w: (self.bytes.view(unsigned(8 * w)), self.state.view(unsigned(8 * w))) for w in (1, 2, 4, 8)}
        self.starts: list[int] = []
        self.sizes: list[int] = []

    def load(self, address: Array, start: Array | int, width: int, count: int = 1) -> list[Array]:
        """`count` elements of `width` bytes from each address of the window that begins at `start`; unsigned bits."""
        at = self._places(address, start, width, count)
        data, state = self.views[width]
        found = []
        for k in range(count):
            where = at + k if k else at
            try:
                states, values = state[where], data[where]
            except IndexError:
                self._refuse(address, width, count)
                raise
            if np.count_nonzero(states != _ALL_WRITTEN[width]):
                self._refuse(address, width, count)
                self._explain(address + k * width, states, width, WRITTEN)
            found.append(values)
        return found

    def store(self, address: Array, start: Array | int, values: list[Array]) -> bool:
        """Write `values`, unsigned arrays of one width, one behind the other; whether that changed memory."""
        width, count = values[0].itemsize, len(values)
        at = self._places(address, start, width, count)
        data, state = self.views[width]
        written, allocated = _ALL_WRITTEN[width], _ALL_ALLOCATED[width]
        changed = False
        for k, value in enumerate(values):
            where = at + k if k else at
            try:
                states, before = state[where], data[where]
            except IndexError:
                self._refuse(address, width, count)
                raise
            if np.count_nonzero(states != written):
                if np.count_nonzero(states & allocated != allocated):
                    self._refuse(address, width, count)
                    self._explain(address + k * width, states, width, ALLOCATED)
                state[where] = written
                changed = True
            elif not changed:
                changed = bool(np.count_nonzero(before != value))
            data[where] = value
        return changed

    def _places(self, address: Array, start: Array | int, width: int, count: int) -> Array:
        """Indices into the view of `width` bytes.  What is misaligned or past all memory is an index past its end.

        The bits of an address below its alignment go round to the top of the index.
        """
        whole = width * count
        if self.windows > 1 or whole == 1:
            if np.count_nonzero(address > np.uint64(self.stride - whole)):
                self._refuse(address, width, count)
        if count > 1 and np.count_nonzero(address & np.uint64(whole - 1)):
            self._refuse(address, width, count)
        if not isinstance(start, int):
            address = address + start
        if width == 1:
            return address.view(np.int64)
        shift = np.uint64(width.bit_length() - 1)
        return ((address >> shift) | (address << (np.uint64(64) - shift))).view(np.int64)

    def _refuse(self, address: Array, width: int, count: int) -> None:
        """Raise for an address that is misaligned or past its window, if one is."""
        whole = width * count
        misaligned = np.flatnonzero(address & np.uint64(whole - 1))
        if len(misaligned):
            lane = int(misaligned[0])
            kind = "vector access" if count > 1 else "access"
            raise Fault(
                f"misaligned {kind}: {whole} bytes at {self.space} address {int(address[lane]):#x}, "
                f"which must be a multiple of {whole}",
                lane,
            )
        lane = int(address.argmax())
        if int(address[lane]) + whole > self.stride:
            raise Fault(self.out_of_bounds(int(address[lane]), whole), lane)

    def _explain(self, address: Array, state: Array, width: int, needed: int) -> None:
        states = np.ascontiguousarray(state).view(np.uint8).reshape(-1, width)
        address = np.broadcast_to(address, (len(states),))
        for bit, text in ((ALLOCATED, self.out_of_bounds), (needed, self._unwritten)):
            lanes = np.flatnonzero(((states & bit) != bit).any(axis=1))
            if len(lanes):
                lane = int(lanes[0])
                raise Fault(text(int(address[lane]), width), lane)

    def _unwritten(self, address: int, width: int) -> str:
        return f"read of never-written memory: {width} bytes at {self._named(address)}"

    def out_of_bounds(self, address: int, width: int) -> str:
        """What to say of an access outside of all allocations."""
        what = f"out of bounds: {width} bytes at {self.space} address {address:#x}"
        if self.space != "global":
            return f"{what}, which has {self.size} bytes"
        found = bisect_right(self.starts, address) - 1
        if found < 0:
            return f"{what}, below every allocation"
        past = address - self.starts[found] - self.sizes[found]
        place = f"{past} bytes past the end of" if past >= 0 else f"{-past} bytes before the end of"
        return f"{what}, {place} an allocation of {self.sizes[found]} bytes at {self.starts[found]:#x}"

    def _named(self, address: int) -> str:
        found = bisect_right(self.starts, address) - 1
        if self.space != "global" or found < 0:
            return f"{self.space} address {address:#x}"
        offset = address - self.starts[found]
        return f"offset {offset} of an allocation of {self.sizes[found]} bytes at {self.starts[found]:#x}"
