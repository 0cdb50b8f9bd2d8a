"""The instructions of mbarriers and of bulk copies."""

from __future__ import annotations

import numpy as np

from .decode import Decoding, Run, instruction
from .memory import Fault
from .memory_ops import drop_hints, effective, taken_space
from .paths import Path, bits_of
from .syntax import Symbol
from .types import TYPES, Array
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


def bulk_copy(d: Decoding) -> Run:
    """``cp.async.bulk.shared.global.mbarrier::complete_tx::bytes [to], [from], size, [mbarrier]``, and back.

    What goes to global memory goes at once, and groups of it never wait.
    """
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
                    p.batch.mbarriers.copy(thread, int(barrier), int(tos[lane]), int(starts[lane]), words)
                else:
                    words = p.batch.shared.load(sources[lane] + steps, start, 8)[0]
                    p.batch.launch.heap.store(tos[lane] + steps, 0, [words])
            except Fault as fault:
                raise Fault(fault.what, lane) from None

    return run


def _check(to: int, source: int, size: int) -> None:
    if to % 16 or source % 16 or size % 16 or not size:
        raise Fault(f"a bulk copy of {size} bytes from {source:#x} to {to:#x}: each is a multiple of 16")
