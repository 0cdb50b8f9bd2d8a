"""The device's global memory: who has which bytes of it."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from ...gpu.gpu_device import DeviceError
from .byte_memory import ALLOCATED, WRITTEN, Memory

__all__ = ["Heap"]

#: Allocations begin at multiples of this, and at least this much lies between them, so that running over the end of one
#: is seen rather than landing in the next.
GRAIN = 256


class Heap(Memory):
    """First fit over `size` bytes, of which the first grain is nobody's: address 0 is no address."""

    def __init__(self, size: int):
        super().__init__("global", size, allocated=False)

    def allocate(self, size: int) -> int:
        """The address of `size` bytes that nobody has written.  DeviceError when there is no room."""
        if size < 0:
            raise DeviceError(f"an allocation of {size} bytes")
        end = GRAIN
        place = len(self.starts)
        for i, (start, length) in enumerate(zip(self.starts, self.sizes, strict=True)):
            if start - end >= size + GRAIN:
                place = i
                break
            end = -(-(start + length + GRAIN) // GRAIN) * GRAIN
        if end + size + GRAIN > self.stride:
            raise DeviceError(
                f"out of memory: {size} bytes asked for, {sum(self.sizes)} of {self.size} in use by "
                f"{len(self.sizes)} allocations"
            )
        self.starts.insert(place, end)
        self.sizes.insert(place, size)
        self.state[end : end + size] = ALLOCATED
        return end

    def free(self, address: int) -> None:
        """Make the bytes nobody's.  DeviceError for an address that `allocate` did not give."""
        place = self._allocation(address)
        if place is None or self.starts[place] != address:
            raise DeviceError(f"free of address {address:#x}, which is no allocation")
        self.state[address : address + self.sizes[place]] = 0
        del self.starts[place], self.sizes[place]

    def write(self, address: int, array: np.ndarray) -> None:
        data = self._host_bytes(array, address, "write")
        self.bytes[address : address + len(data)] = data
        self.state[address : address + len(data)] = WRITTEN

    def read(self, address: int, array: np.ndarray, written: bool) -> None:
        data = self._host_bytes(array, address, "read")
        unwritten = np.flatnonzero(self.state[address : address + len(data)] != WRITTEN)
        if written and len(unwritten):
            raise DeviceError(f"copy to the host of never-written memory: {self._named(address + int(unwritten[0]))}")
        data[...] = self.bytes[address : address + len(data)]

    def _host_bytes(self, array: np.ndarray, address: int, what: str) -> np.ndarray:
        if not array.flags.c_contiguous:
            raise DeviceError(f"{what} needs a C-contiguous array; this one has strides {array.strides}")
        data = array.reshape(-1).view(np.uint8)
        place = self._allocation(address)
        if len(data) and (place is None or address + len(data) > self.starts[place] + self.sizes[place]):
            raise DeviceError(f"{what} by the host {self.out_of_bounds(address + len(data) - 1, 1)}")
        return data

    def _allocation(self, address: int) -> int | None:
        place = bisect_left(self.starts, address + 1) - 1
        return place if place >= 0 else None
