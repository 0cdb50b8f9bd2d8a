"""The instructions of bulk copies, of bytes in a row and of boxes that a tensor map describes."""

from __future__ import annotations

import re

import numpy as np

from ..execution.divergence import Path
from ..memory.byte_memory import Fault
from ..memory.state_spaces import WINDOWS
from ..memory.tensor_maps import BYTES, box_of, decoded
from ..ptx.syntax import Address
from ..ptx.types import TYPES, Array
from .decode import Decoding, Run
from .memory_ops import effective
from .warp_ops import spread

__all__ = ["bulk_copy"]

U32, B32 = TYPES["u32"], TYPES["b32"]


def bulk_copy(d: Decoding) -> Run:
    """``cp.async.bulk.shared.global.mbarrier::complete_tx::bytes [to], [from], size, [mbarrier]``, and back.

    What goes to global memory goes at once, and groups of it never wait.
    """
    if d.flag("tensor"):
        return _tensor_copy(d)
    if d.flag("commit_group"):
        d.done()
        return lambda r, p: None
    if d.flag("wait_group"):
        d.flag("read")
        d.done()
        d.integer(d.operands[0])
        return lambda r, p: None
    names = [m.split("::")[0] for m in d.modifiers]
    to_shared = names[:2] == ["shared", "global"]
    if not to_shared and names[:2] != ["global", "shared"]:
        d.fail("a bulk copy that is not known")
    if d.modifiers[2:] != (["mbarrier::complete_tx::bytes"] if to_shared else ["bulk_group"]):
        d.fail("a bulk copy ends at an mbarrier or in a group")
    to, to_offset, _ = d.address(d.operands[0])
    source, source_offset, _ = d.address(d.operands[1])
    size = d.source(d.operands[2], U32)
    at = d.address(d.operands[3]) if to_shared else None

    def run(r: list[Array], p: Path) -> None:
        tos = spread(effective(r, to, to_offset), p)
        sources = spread(effective(r, source, source_offset), p)
        sizes = spread(r[size].view(np.uint32), p)
        starts = (p.blocks * p.batch.shared.stride).astype(np.uint64)
        for lane in range(len(p)):
            try:
                _check(tos[lane], sources[lane], sizes[lane])
                steps = 8 * np.arange(int(sizes[lane]) // 8, dtype=np.uint64)
                start = np.full(len(steps), starts[lane])
                if at is not None:
                    words = p.batch.launch.heap.load(sources[lane] + steps, 0, 8)[0]
                    barrier = spread(effective(r, at[0], at[1]), p)[lane] + starts[lane]
                    thread = int(p.threads[lane])
                    p.batch.mbarriers.copy(thread, int(barrier), tos[lane] + steps, int(starts[lane]), words)
                else:
                    words = p.batch.shared.load(sources[lane] + steps, start, 8)[0]
                    p.batch.launch.heap.store(tos[lane] + steps, 0, [words])
            except Fault as fault:
                raise Fault(fault.what, lane) from None

    return run


def _check(to: int, source: int, size: int) -> None:
    if to % 16 or source % 16 or size % 16 or not size:
        raise Fault(f"a bulk copy of {size} bytes from {source:#x} to {to:#x}: each is a multiple of 16")


def _tensor_copy(d: Decoding) -> Run:
    """``cp.async.bulk.tensor.Nd.shared.global.tile.mbarrier::complete_tx::bytes [to], [map, {places}], [mbarrier]``.

    Places count from the contiguous dim on.  All bytes of a box count, those beyond the tensor too.
    """
    dims = re.fullmatch(r"([1-5])d", d.modifiers.pop(0) if d.modifiers else "")
    names = [m.split("::")[0] for m in d.modifiers[:2]]
    d.modifiers = [m for m in d.modifiers[2:] if m != "tile"]
    if dims is None or names != ["shared", "global"] or d.modifiers != ["mbarrier::complete_tx::bytes"]:
        d.fail("a tensor copy that is not known")
    to, to_offset, _ = d.address(d.operands[0])
    described, offset, _ = d.address(d.operands[1])
    assert isinstance(d.operands[1], Address)
    places = [d.source(o, B32) for part in d.operands[1].rest for o in d.items(part)]
    if len(places) != int(dims[1]):
        d.fail(f"{dims[1]} places are needed")
    barrier, barrier_offset, _ = d.address(d.operands[2])

    def run(r: list[Array], p: Path) -> None:
        tos, maps, barriers = (
            spread(effective(r, base, more), p)
            for base, more in ((to, to_offset), (described, offset), (barrier, barrier_offset))
        )
        at = np.stack([spread(r[place].view(np.int32), p) for place in places], axis=1)
        starts = (p.blocks * p.batch.shared.stride).astype(np.uint64)
        for lane, thread in enumerate(p.threads.tolist()):
            try:
                tensor = decoded(_described_at(p, int(maps[lane])))
                words, within, addresses = box_of(tensor, at[lane, ::-1].tolist(), p.batch.launch.heap)
                into = _exchanged(int(tos[lane]), within)
                place = int(barriers[lane] + starts[lane])
                p.batch.mbarriers.copy(thread, place, into, int(starts[lane]), words)
            except Fault as fault:
                raise Fault(fault.what, lane) from None
            if p.batch.counts is not None:
                p.batch.counts.global_copy(addresses)

    return run


def _described_at(p: Path, address: int) -> bytes:
    """The bytes of a tensor map among the kernel's parameters or in global memory."""
    if address % 64:
        raise Fault(f"a tensor map at {address:#x}, which must be a multiple of 64")
    at = address - WINDOWS["param"]
    if at >= 0:
        return p.batch.launch.parameters[at : at + BYTES]
    words = p.batch.launch.heap.load(np.arange(address, address + BYTES, 8, dtype=np.uint64), 0, 8)[0]
    return words.tobytes()


def _exchanged(to: int, within: Array) -> Array:
    """Addresses in shared memory: bits 4 to 6 take the exclusive or with bits 7 to 9 ("Swizzling Modes")."""
    if to % 128:
        raise Fault(f"a tensor copy to shared address {to:#x}, which must be a multiple of 128")
    addresses = within + np.uint64(to)
    return addresses ^ (addresses >> np.uint64(7) & np.uint64(7)) << np.uint64(4)
