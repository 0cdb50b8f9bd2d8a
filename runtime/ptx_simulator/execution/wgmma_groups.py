"""Products of four warps that nobody has waited for ("Asynchronous Warpgroup Level Matrix Instructions").

What they read counts as read until their group is waited for, so a thread that writes there without having waited, and
met the others, is a race.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..memory.byte_memory import Fault
from ..ptx.types import Array
from .divergence import Path
from .special_registers import WARP

if TYPE_CHECKING:
    from .resident_blocks import Batch

__all__ = ["Products"]


class Products:
    """Places of a batch's shared memory, 16 bytes each, by warp and group, the newest last."""

    def __init__(self, batch: Batch):
        self.batch = batch
        self._open: dict[int, list[Array]] = {}
        self._groups: dict[int, list[list[Array]]] = {}

    def begin(self, warp: int, places: Array) -> None:
        self._open.setdefault(warp, []).append(places)

    def commit(self, p: Path) -> None:
        for warp in np.unique(p.threads // WARP).tolist():
            self._groups.setdefault(warp, []).append(self._open.pop(warp, []))

    def check(self, places: Array) -> None:
        """A Fault where a product that nobody has waited for reads one of these places."""
        groups = (g for found in (*self._groups.values(), [*self._open.values()]) for g in found)
        for read in (part for group in groups for part in group):
            if np.isin(places // np.uint64(16), read // np.uint64(16)).any():
                raise Fault("shared-memory race: a bulk copy to what a product reads that nobody has waited for")

    def wait(self, p: Path, newest: int) -> None:
        """All but the `newest` groups of each warp have ended: until now they were reading."""
        for warp in np.unique(p.threads // WARP).tolist():
            groups = self._groups.get(warp, [])
            ended = groups[: len(groups) - newest] if newest else groups
            self._groups[warp] = groups[len(ended) :]
            for places in (places for group in ended for places in group):
                reader = Path(self.batch, np.full(len(places), warp * WARP), [])
                self.batch.races.loaded(reader, places, 16)
