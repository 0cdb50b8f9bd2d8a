"""Instructions of a whole warp: shuffles, votes, matches, reductions ("Parallel Synchronization").

Each begins a basic block, where a path waits until every thread that the member mask names has come.  A mask that names
threads that have ended is an error, as is a value taken from a thread that takes no part.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..execution.divergence import Path, bits_of
from ..execution.special_registers import WARP
from ..memory.byte_memory import Fault
from ..ptx.syntax import Pair
from ..ptx.types import TYPES, Array
from .decode import Decoding, Run, instruction

_SYNC = "Parallel Synchronization and Communication Instructions"
_FULL = np.uint32(0xFFFFFFFF)


def lanes_of(p: Path) -> Array:
    """Each thread's place in its warp."""
    return p.threads % WARP


def spread(values: Array, p: Path) -> Array:
    """One element a thread."""
    return values if len(values) == len(p) else np.repeat(values, len(p))


class Warps:
    """The warps of a path: a table of 32 places each."""

    def __init__(self, p: Path):
        self.path = p
        self.numbers, self.row = np.unique(p.threads // WARP, return_inverse=True)
        self.lane = lanes_of(p)
        self.place = np.full((len(self.numbers), WARP), -1)
        self.place[self.row, self.lane] = np.arange(len(p))

    def table(self, values: Array, default: int | float = 0) -> Array:
        """Values by warp and lane."""
        found = np.full(self.place.shape, default, values.dtype)
        found[self.row, self.lane] = values
        return found

    def word(self, holds: Array) -> Array:
        """For each warp, the lanes where a predicate holds, as bits."""
        table = self.table(spread(holds, self.path))
        return np.packbits(table, axis=1, bitorder="little").view(np.uint32).reshape(-1)

    def present(self) -> Array:
        return self.word(np.ones(1, bool))


def members(d: Decoding, at: int = -1) -> int:
    """Where the member mask is read; the block waits for those threads."""
    mask = d.source(d.operands[at], TYPES["b32"])
    d.gathers = mask
    return mask


@instruction("shfl", types="b32", forms="sync idx up down bfly", section="Data Movement and Conversion: shfl")
def shuffle(d: Decoding) -> Run:
    """``shfl.sync.mode d|p, a, b, c, mask``: c holds the segments' mask and the last lane to read from."""
    type_ = d.type()
    d.choice("sync")
    mode = d.choice("idx", "up", "down", "bfly")
    d.done()
    into = d.operands[0]
    pair = (into.first, into.second) if isinstance(into, Pair) else (into, None)
    target = d.target(pair[0])
    inside = d.target(pair[1]) if pair[1] is not None else None
    a, b, c = (d.source(o, type_) for o in d.operands[1:4])
    mask = members(d)

    def run(r: list[Array], p: Path) -> None:
        value = bits_of(r[a])
        lane = lanes_of(p).astype(np.int32)
        delta = (r[b].view(np.uint32) & np.uint32(31)).astype(np.int32)
        limits = r[c].view(np.uint32)
        last = (limits & np.uint32(31)).astype(np.int32)
        segment = (limits >> np.uint32(8) & np.uint32(31)).astype(np.int32)
        most, least = (lane & segment) | (last & ~segment), lane & segment
        source = {
            "up": lambda: lane - delta,
            "down": lambda: lane + delta,
            "bfly": lambda: lane ^ delta,
            "idx": lambda: least | (delta & ~segment),
        }[mode]()
        valid = source >= most if mode == "up" else source <= most
        source = np.where(valid, source, lane)
        if len(value) > 1:
            at = _places(p, lane, source)
            named = (spread(r[mask].view(np.uint32), p) >> source.astype(np.uint32)) & np.uint32(1)
            if at.min() < 0 or not named.all():
                wrong = int(np.argmax((at < 0) | (named == 0)))
                raise Fault(f"shuffle from lane {int(source[wrong])}, which takes no part", wrong)
            value = value[at]
        p.batch.races.synchronise_warps(p)
        if target is not None:
            r[target.number] = value
        if inside is not None:
            r[inside.number] = valid

    return run


def _places(p: Path, lane: Array, source: Array) -> Array:
    """Where in the path each thread's source lane lies, -1 where it takes no part."""
    n = len(p)
    if n % WARP == 0 and p.threads[0] % WARP == 0 and p.threads[-1] - p.threads[0] == n - 1:
        return np.arange(n) - lane + source
    warps = Warps(p)
    return warps.place[warps.row, source]


@instruction("vote", types="pred b32", forms="sync any all uni ballot", section=f"{_SYNC}: vote.sync")
def vote(d: Decoding) -> Run:
    type_ = d.type()
    d.choice("sync")
    kind = d.choice("any", "all", "uni", "ballot")
    d.done()
    target = d.target(d.operands[0])
    at, negated = d.predicate(d.operands[1])
    mask = members(d)
    if (kind == "ballot") != (type_.name == "b32"):
        d.fail("ballot gives .b32, the others .pred")

    def run(r: list[Array], p: Path) -> None:
        warps = Warps(p)
        named = spread(r[mask].view(np.uint32), p) & warps.present()[warps.row]
        holds = warps.word(r[at] ^ negated)[warps.row] & named
        p.batch.races.synchronise_warps(p)
        if target is None:
            return
        r[target.number] = {
            "ballot": lambda: holds,
            "any": lambda: holds != 0,
            "all": lambda: holds == named,
            "uni": lambda: (holds == 0) | (holds == named),
        }[kind]()

    return run


@instruction("activemask", types="b32", section=f"{_SYNC}: activemask")
def active_mask(d: Decoding) -> Run:
    """The threads that go the same way here; a machine may give fewer."""
    d.type()
    d.done()
    target = d.target(d.operands[0])

    def run(r: list[Array], p: Path) -> None:
        warps = Warps(p)
        if target is not None:
            r[target.number] = warps.present()[warps.row]

    return run


@instruction("match", types="b32 b64", forms="sync any all", section=f"{_SYNC}: match.sync")
def match(d: Decoding) -> Run:
    """The members with this thread's value; ``all`` gives them only where every member has it."""
    type_ = d.type()
    d.choice("sync")
    kind = d.choice("any", "all")
    d.done()
    into = d.operands[0]
    target = d.target(into.first if isinstance(into, Pair) else into)
    equal = d.target(into.second) if isinstance(into, Pair) else None
    at = d.source(d.operands[1], type_)
    mask = members(d)

    def run(r: list[Array], p: Path) -> None:
        warps = Warps(p)
        values = spread(bits_of(r[at]), p)
        named = spread(r[mask].view(np.uint32), p) & warps.present()[warps.row]
        same = warps.table(values)[warps.row] == values[:, None]
        bits = np.packbits(same, axis=1, bitorder="little").view(np.uint32).reshape(-1) & named
        p.batch.races.synchronise_warps(p)
        if kind == "all":
            whole = bits == named
            bits = np.where(whole, bits, np.uint32(0))
            if equal is not None:
                r[equal.number] = whole
        if target is not None:
            r[target.number] = bits

    return run


_REDUCTIONS: dict[str, tuple[Callable[..., Array], int | None]] = {
    "add": (np.add, 0), "min": (np.minimum, None), "max": (np.maximum, None), "and": (np.bitwise_and, -1),
    "or": (np.bitwise_or, 0), "xor": (np.bitwise_xor, 0),
}  # fmt: skip


@instruction("redux", types="u32 s32 b32", forms=f"sync {' '.join(_REDUCTIONS)}", section=f"{_SYNC}: redux.sync")
def reduce(d: Decoding) -> Run:
    type_ = d.type()
    d.choice("sync")
    name = d.choice(*_REDUCTIONS)
    d.done()
    target = d.target(d.operands[0])
    at = d.source(d.operands[1], type_)
    mask = members(d)
    function, identity = _REDUCTIONS[name]
    info = np.iinfo(type_.dtype)
    neutral = np.array({"min": info.max, "max": info.min}.get(name, identity)).astype(type_.dtype)

    def run(r: list[Array], p: Path) -> None:
        warps = Warps(p)
        values = warps.table(spread(r[at].view(type_.dtype), p))[warps.row]
        named = spread(r[mask].view(np.uint32), p) & warps.present()[warps.row]
        member = np.unpackbits(named.view(np.uint8).reshape(-1, 4), axis=1, bitorder="little").astype(bool)
        p.batch.races.synchronise_warps(p)
        if target is not None:
            r[target.number] = function.reduce(np.where(member, values, neutral), axis=1)  # type: ignore[attr-defined]

    return run


@instruction("nanosleep", types="u32", section="Miscellaneous Instructions: nanosleep")
def sleep(d: Decoding) -> Run:
    """Others go first."""
    d.source(d.operands[0], d.type())
    d.done()

    def run(r: list[Array], p: Path) -> None:
        p.polled = True

    return run


@instruction("trap", section="Miscellaneous Instructions: trap")
def trap(d: Decoding) -> Run:
    """An error of the program's own."""
    d.done()

    def run(r: list[Array], p: Path) -> None:
        raise Fault("the kernel stopped itself")

    return run


@instruction("elect", forms="sync", section=f"{_SYNC}: elect.sync")
def elect(d: Decoding) -> Run:
    """The lowest member leads."""
    d.choice("sync")
    d.done()
    into = d.operands[0]
    if not isinstance(into, Pair):
        d.fail("elect gives a lane and a predicate")
    lane, leads = d.target(into.first), d.target(into.second)
    mask = members(d)

    def run(r: list[Array], p: Path) -> None:
        named = spread(r[mask].view(np.uint32), p)
        lowest = named & (~named + np.uint32(1))
        first = np.bitwise_count(lowest - np.uint32(1)).astype(np.uint32)
        if lane is not None:
            r[lane.number] = first
        if leads is not None:
            r[leads.number] = lanes_of(p) == first

    return run


@instruction("bar", "barrier", forms="warp cta sync arrive red popc and or aligned", section=f"{_SYNC}: bar, barrier")
def barrier(d: Decoding) -> Run:
    """``bar.warp.sync mask``; barriers of a block end a basic block and are `barriers.py`."""
    d.choice("warp")
    d.choice("sync")
    d.done()
    members(d, 0)
    return lambda r, p: p.batch.races.synchronise_warps(p)
