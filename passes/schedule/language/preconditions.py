"""What a primitive asks of a nest, and the error that names the precondition which fails."""

from __future__ import annotations

from collections.abc import Iterable

from ....dialects import kernel
from ....dialects.dims.analysis import linear_in
from ....dialects.dims.dims import Dim, Sym, dim, maximum, minimum
from ....dialects.registry import OpError
from ...memory.row_buffers import are_apart, reads
from .axes import FusedAxis
from .record import Call

__all__ = ["IllegalSchedule", "carried_dependence", "guarded_range", "names", "require"]


class IllegalSchedule(OpError):
    """A primitive that the nest does not allow: TX0420 with the call, the precondition that fails, and a way out."""

    def __init__(self, call: Call, why: str, hint: str = ""):
        super().__init__(f"{call}: {why}", hint, "TX0420")


def require(condition: bool, call: Call, why: str, hint: str = "") -> None:
    """`IllegalSchedule` unless the condition holds."""
    if not condition:
        raise IllegalSchedule(call, why, hint)


def carried_dependence(nest: kernel.GenericOp) -> str:
    """How elements depend on one another, so that their order matters; empty where it does not.

    A nest that updates an array in place may read where it stores, and where it never stores.
    """
    outs = dict(zip(nest.outs, nest.maps_out()))
    for number, (value, index) in enumerate(reads(nest)):
        store = outs.get(value)
        if store is not None and index != store and not are_apart(index, store):
            where = f"operand {number}" if index is not None else "the body"
            return f"{where} reads elements of the array that other iterations store"
    return ""


def guarded_range(
    nest: kernel.GenericOp, axis: FusedAxis, lower: Dim, upper: Dim
) -> tuple[Dim, Dim, frozenset[Dim]] | None:
    """The part of a range of an axis where all guards that ask for it alone hold, and these; None without any."""
    symbol = axis.symbols[-1]
    others = {Sym(f"d{i}") for i in range(len(nest.extents.data))} - {symbol}
    first, last, found = lower, upper, set[Dim]()
    for guard in (g for index in nest.maps_in() for g in index.guards):
        parts = linear_in(guard, [symbol])
        if parts is None or guard.symbols() & others or (step := parts[0].get(symbol, dim(0)).const) not in (1, -1):
            continue
        found.add(guard)
        if step == 1:
            first = maximum(first, -parts[1])
        else:
            last = minimum(last, parts[1] + 1)
    if not found:
        return None
    first = minimum(first, upper)
    return first, maximum(first, last), frozenset(found)


def names(loops: Iterable[object]) -> str:
    """Loops as a sentence has them."""
    return ", ".join(map(str, loops))
