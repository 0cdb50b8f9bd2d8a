"""Epilogues: the maps after a fold that can run where its result is, before anything goes to memory."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from ..dialects import tx

__all__ = ["end_of_epilogue", "is_stored"]


def is_stored(value: SSAValue) -> bool:
    """Whether the value goes to memory as it is: every use returns it, yields it or materialises it."""
    return all(isinstance(u.operation, (func.ReturnOp, tx.YieldOp, tx.EvalOp)) for u in value.uses)


def end_of_epilogue(value: SSAValue) -> SSAValue | None:
    """The one value at the end of all maps that follow from this one, if it is stored once and nothing else leaves.

    What is between may be used many times: one body computes it once.
    """
    assert isinstance(value.owner, Operation)
    block = value.owner.parent
    waiting, seen, ends = [value], {value}, []
    while waiting:
        current = waiting.pop()
        if current is not value and is_stored(current) and current.uses.get_length() == 1:
            ends.append(current)
            continue
        for use in current.uses:
            user = use.operation
            if not isinstance(user, tx.MapOp) or user.parent is not block:
                return None
            result = user.results[0]
            if result not in seen:
                seen.add(result)
                waiting.append(result)
    return ends[0] if len(ends) == 1 else None
