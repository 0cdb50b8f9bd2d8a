"""The instructions of mbarriers."""

from __future__ import annotations

import numpy as np

from ..execution.divergence import Path, bits_of
from ..ptx.syntax import Symbol
from ..ptx.types import TYPES, Array
from .decode import Decoding, Run, instruction
from .memory_ops import drop_hints, effective, taken_space
from .warp_ops import spread

_SECTION = "Parallel Synchronization and Communication Instructions: mbarrier"
U32, B64 = TYPES["u32"], TYPES["b64"]


def _places(p: Path, r: list[Array], base: int, offset: int) -> tuple[Array, Array]:
    """Addresses in shared memory, and places in that of the batch, where an mbarrier must have been written."""
    addresses = spread(effective(r, base, offset), p)
    p.batch.load(p, "shared", addresses, 8, 1)
    return addresses, _in_batch(p, addresses)


def _in_batch(p: Path, addresses: Array) -> Array:
    return addresses + (p.blocks * p.batch.shared.stride).astype(np.uint64)


@instruction(
    "mbarrier", types="b64", forms="init inval arrive expect_tx test_wait try_wait parity shared", section=_SECTION
)
def mbarrier(d: Decoding) -> Run:
    """`try_wait` comes back at once, like `test_wait`: the loop around it lets others run."""
    d.type()
    taken_space(d)
    action = d.choice("init", "inval", "arrive", "test_wait", "try_wait", default="expect_tx")
    expects, parity = d.flag("expect_tx"), d.flag("parity")
    d.flag("noComplete")
    drop_hints(d)
    d.done()
    if action == "init":
        return _initialise(d)
    if action == "inval":
        base, offset, _ = d.address(d.operands[0])
        return lambda r, p: p.batch.mbarriers.invalidate(_places(p, r, base, offset)[1])
    if action in ("test_wait", "try_wait"):
        return _wait(d, parity)
    return _arrive(d, expects) if action == "arrive" else _expect(d)


def _initialise(d: Decoding) -> Run:
    base, offset, _ = d.address(d.operands[0])
    count = d.source(d.operands[1], U32)

    def run(r: list[Array], p: Path) -> None:
        addresses = spread(effective(r, base, offset), p)
        counts = spread(r[count].view(np.uint32), p)
        p.batch.store(p, "shared", addresses, [counts.astype(np.uint64)])
        p.batch.mbarriers.initialise(p, _in_batch(p, addresses), counts)

    return run


def _arrive(d: Decoding, expects: bool) -> Run:
    state = d.operands[0]
    target = None if isinstance(state, Symbol) else d.target(state)
    base, offset, _ = d.address(d.operands[1])
    number = d.source(d.operands[2], U32) if len(d.operands) > 2 else None
    if expects and number is None:
        d.fail("the number of bytes is needed")

    def run(r: list[Array], p: Path) -> None:
        _, places = _places(p, r, base, offset)
        given = spread(r[number].view(np.uint32), p) if number is not None else np.ones(len(p), np.uint32)
        one, none = np.ones(len(p), np.uint32), np.zeros(len(p), np.uint32)
        phases = p.batch.mbarriers.arrive(p, places, one if expects else given, given if expects else none)
        if target is not None:
            r[target.number] = phases

    return run


def _expect(d: Decoding) -> Run:
    base, offset, _ = d.address(d.operands[0])
    number = d.source(d.operands[1], U32)

    def run(r: list[Array], p: Path) -> None:
        _, places = _places(p, r, base, offset)
        p.batch.mbarriers.expect(places, spread(r[number].view(np.uint32), p))

    return run


def _wait(d: Decoding, parity: bool) -> Run:
    target = d.target(d.operands[0])
    base, offset, _ = d.address(d.operands[1])
    phase = d.source(d.operands[2], U32 if parity else B64)
    if len(d.operands) > 3:
        d.source(d.operands[3], U32)  # how long to wait at most: a hint

    def run(r: list[Array], p: Path) -> None:
        p.polled = True
        _, places = _places(p, r, base, offset)
        phases = spread(bits_of(r[phase]).astype(np.uint64), p)
        over = p.batch.mbarriers.waited(p, places, phases, parity)
        if target is not None:
            r[target.number] = over

    return run
