"""What a kernel asks of a machine: instructions by class, sectors of global memory, conflicts of shared memory's banks.

Counted as Nsight Compute's tables of the memory system do: a warp's access is one request, which takes as many 32-byte
sectors as it touches; of shared memory it takes one pass, and one more for every further word in its busiest bank (see
the CUDA programming guide, "Device Memory Accesses" and "Shared Memory").
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ..ptx.types import Array
from .special_registers import WARP

__all__ = ["KernelCounts"]

SECTOR = 32
BANKS, BANK_BYTES = 32, 4


@dataclass
class KernelCounts:
    """Sums over all launches of a kernel.

    `instructions` counts executions by one thread, by class: a chapter of the PTX ISA manual.  Requests and what they
    take are counted by warp; a warp whose threads have parted makes a request for each part.
    """

    launches: int = 0
    instructions: Counter[str] = field(default_factory=Counter)
    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    shared_requests: int = 0
    shared_bank_conflicts: int = 0

    def figures(self) -> dict[str, int]:
        """Sums that a profile shows, by their names there; bytes are those of the sectors that were moved."""
        return {
            "instructions": self.instructions.total(),
            "float": self.instructions["Floating Point"],
            "bytes read": self.global_load_sectors * SECTOR,
            "bytes written": self.global_store_sectors * SECTOR,
            "requests": self.global_load_requests + self.global_store_requests,
            "bank conflicts": self.shared_bank_conflicts,
        }

    def global_access(self, threads: Array, addresses: Array, size: int, store: bool) -> None:
        """Threads access `size` bytes each at these addresses (one for all, or one each)."""
        warps = threads // WARP
        requests = len(np.unique(warps))
        sectors = 0
        # An access is aligned to its size, so it crosses no border of a sector that it does not fill.
        for part in range(0, size, SECTOR):
            touched = (addresses.view(np.int64) + part) // SECTOR
            if len(touched) == 1:
                sectors += requests
            else:
                sectors += len(np.unique(np.stack([warps, touched]), axis=1).T)
        if store:
            self.global_store_requests += requests
            self.global_store_sectors += sectors
        else:
            self.global_load_requests += requests
            self.global_load_sectors += sectors

    def global_copy(self, addresses: Array) -> None:
        """A copy that no thread waits for reads these addresses, each within a sector: one request."""
        self.global_load_requests += 1
        self.global_load_sectors += len(np.unique(addresses.view(np.int64) // SECTOR))

    def shared_access(self, threads: Array, addresses: Array, size: int) -> None:
        """The same of shared memory: accesses of 8 and 16 bytes go by half and quarter warps."""
        warps = threads // WARP
        self.shared_requests += len(np.unique(warps))
        if len(addresses) == 1:
            return
        words = max(1, size // BANK_BYTES)
        phase = threads % WARP // max(1, WARP // words)
        group = np.tile(warps * words + phase, words)
        first = addresses.view(np.int64) // BANK_BYTES
        word = np.concatenate([first + k for k in range(words)])
        distinct = np.unique(np.stack([group, word]), axis=1)
        banks, passes = np.unique(np.stack([distinct[0], distinct[1] % BANKS]), axis=1, return_counts=True)
        starts = np.flatnonzero(np.concatenate([[True], banks[0][1:] != banks[0][:-1]]))
        self.shared_bank_conflicts += int((np.maximum.reduceat(passes, starts) - 1).sum())
