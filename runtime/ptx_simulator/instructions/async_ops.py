"""The instructions of copies that run beside their thread: `cp.async`."""

from __future__ import annotations

import numpy as np

from ..execution.divergence import Path
from ..memory.byte_memory import Fault
from ..ptx.types import TYPES, Array
from .bulk_ops import bulk_copy
from .decode import Decoding, Run, instruction
from .memory_ops import effective
from .warp_ops import spread

_SECTION = "Data Movement and Conversion Instructions: cp.async"


_FORMS = "async bulk tensor 1d…5d tile ca cg shared global mbarrier:: commit_group wait_group wait_all"


@instruction("cp", forms=_FORMS, section=_SECTION)
def copy(d: Decoding) -> Run:
    """``cp.async.cg.shared.global [to], [from], size{, how much of it to read}``; the rest is zeros."""
    d.choice("async")
    if d.flag("bulk"):
        return bulk_copy(d)
    if d.flag("commit_group"):
        d.done()
        return lambda r, p: p.batch.copies.commit(p)
    if d.flag("wait_all"):
        d.done()
        return lambda r, p: p.batch.copies.wait(p, None)
    if d.flag("wait_group"):
        d.done()
        newest = d.integer(d.operands[0])
        return lambda r, p: p.batch.copies.wait(p, newest)
    d.modifiers = [m.split("::")[0] for m in d.modifiers]
    d.choice("ca", "cg")
    d.choice("shared")
    d.choice("global")
    d.drop("L2")
    d.done()
    to, to_offset, _ = d.address(d.operands[0])
    source, source_offset, _ = d.address(d.operands[1])
    size = d.integer(d.operands[2])
    if size not in (4, 8, 16):
        d.fail("4, 8 or 16 bytes are copied")
    read = d.source(d.operands[3], TYPES["u32"]) if len(d.operands) > 3 else None

    def run(r: list[Array], p: Path) -> None:
        n = len(p)
        addresses = spread(effective(r, source, source_offset), p)
        if (addresses & np.uint64(size - 1)).any():
            lane = int(np.argmax(addresses & np.uint64(size - 1) != 0))
            raise Fault(f"misaligned copy: {size} bytes from global address {int(addresses[lane]):#x}", lane)
        sizes = spread(r[read].view(np.uint32), p) if read is not None else np.full(n, size, np.uint32)
        data = np.zeros((n, size), np.uint8)
        whole = np.flatnonzero(sizes == size)
        if len(whole):
            parts = p.batch.load(p.part(whole, ()), "global", addresses[whole], 4, size // 4)
            data[whole] = np.stack(parts, axis=1).view(np.uint8)
        for k in range(size):
            lanes = np.flatnonzero((sizes > k) & (sizes < size))
            if len(lanes):
                data[lanes, k] = p.batch.load(p.part(lanes, ()), "global", addresses[lanes] + np.uint64(k), 1, 1)[0]
        words = data.view(np.uint32)
        values = [np.ascontiguousarray(words[:, k]) for k in range(size // 4)]
        p.batch.copies.add(p, "shared", spread(effective(r, to, to_offset), p), values)

    return run
