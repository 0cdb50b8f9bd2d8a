"""Memory of a device that is given out again: asking the driver for memory stops the device and takes microseconds.

All work of a device goes through one queue, so a block may be used again as soon as it is given back: what still uses
it was queued before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from .gpu_device import DeviceError

__all__ = ["DevicePool"]

_SMALL, _LARGE = 512, 2 << 20


class DevicePool:
    """Blocks by size.  `allocate` of the driver gives memory or raises `full`; `free` takes it back."""

    def __init__(self, allocate: Callable[[int], int], free: Callable[[int], None], full: type[Exception], name: str):
        self._allocate, self._free, self._full, self._name = allocate, free, full, name
        self._blocks: dict[int, list[int]] = defaultdict(list)
        #: The size of each block that is in use.
        self._used: dict[int, int] = {}

    @property
    def used(self) -> int:
        """Bytes in use."""
        return sum(self._used.values())

    @property
    def kept(self) -> int:
        """Bytes that are free here, but not the driver's."""
        return sum(size * len(addresses) for size, addresses in self._blocks.items())

    def take(self, size: int) -> int:
        """The address of at least `size` bytes.

        Where the device is full, what is kept goes back to the driver first; DeviceError where that does not help.
        """
        rounded = _rounded(size)
        if self._blocks[rounded]:
            address = self._blocks[rounded].pop()
        else:
            address = self._new(rounded, size)
        self._used[address] = rounded
        return address

    def _new(self, rounded: int, size: int) -> int:
        try:
            return self._allocate(rounded)
        except self._full:
            self.release()
        try:
            return self._allocate(rounded)
        except self._full:
            raise DeviceError(
                f"{self._name} is out of memory: {size} bytes were asked for, and txc holds {self.used} there"
            ) from None

    def give(self, address: int) -> None:
        """The block may be used again."""
        self._blocks[self._used.pop(address)].append(address)

    def release(self) -> None:
        """Give what is free back to the driver."""
        for addresses in self._blocks.values():
            while addresses:
                self._free(addresses.pop())


def _rounded(size: int) -> int:
    """The size of a block: few different ones, so that blocks fit again, and at most an eighth more than asked for."""
    if size <= _SMALL:
        return _SMALL
    step = max(_SMALL, 1 << (size.bit_length() - 4)) if size < 8 * _LARGE else _LARGE
    return -(-size // step) * step
