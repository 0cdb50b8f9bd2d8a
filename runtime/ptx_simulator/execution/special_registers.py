"""Registers that the machine defines ("Special Registers")."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ptx.types import Array
from .divergence import Path

__all__ = ["SPECIAL_REGISTERS", "special_register"]

Read = Callable[[Path], Array]
WARP = 32


def _number(value: int) -> Array:
    return np.array([value], np.uint32)


def _of_thread(axis: int) -> Read:
    def read(p: Path) -> Array:
        batch = p.batch
        return _number(0) if batch.block[axis] == 1 else batch.thread_places[axis][p.threads]

    return read


def _of_block(axis: int) -> Read:
    def read(p: Path) -> Array:
        places = p.batch.block_places[axis]
        return places if len(places) == 1 else places[p.blocks]

    return read


def _registers() -> dict[str, Read]:
    found: dict[str, Read] = {}
    for axis, letter in enumerate("xyz"):
        found[f"%tid.{letter}"] = _of_thread(axis)
        found[f"%ctaid.{letter}"] = _of_block(axis)
        found[f"%ntid.{letter}"] = lambda p, axis=axis: _number(p.batch.block[axis])
        found[f"%nctaid.{letter}"] = lambda p, axis=axis: _number(p.batch.grid[axis])
    found["%laneid"] = _lane
    found["%warpid"] = lambda p: (p.threads % p.batch.slots // WARP).astype(np.uint32)
    found["%nwarpid"] = lambda p: _number(p.batch.slots // WARP)
    found["%lanemask_eq"] = lambda p: np.uint32(1) << _lane(p)
    found["%lanemask_lt"] = lambda p: (np.uint32(1) << _lane(p)) - np.uint32(1)
    found["%lanemask_le"] = lambda p: (np.uint32(2) << _lane(p)) - np.uint32(1)
    found["%lanemask_gt"] = lambda p: ~((np.uint32(2) << _lane(p)) - np.uint32(1))
    found["%lanemask_ge"] = lambda p: ~((np.uint32(1) << _lane(p)) - np.uint32(1))
    found["%clock"] = lambda p: _number(p.batch.clock & 0xFFFFFFFF)
    found["%clock64"] = lambda p: np.array([p.batch.clock], np.uint64)
    found["%globaltimer"] = found["%clock64"]
    found["%smid"] = lambda p: _number(0)
    found["%nsmid"] = lambda p: _number(1)
    found["%dynamic_smem_size"] = lambda p: _number(p.batch.dynamic_shared)
    return found


def _lane(p: Path) -> Array:
    return (p.threads % p.batch.slots % WARP).astype(np.uint32)


#: What each register holds for a path's threads.
SPECIAL_REGISTERS = _registers()


def special_register(name: str) -> Read | None:
    return SPECIAL_REGISTERS.get(name)
