"""Epilogues: the maps after a reduction that run on its result before anything is stored."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from ...dialects import tx

__all__ = ["epilogue_root", "is_materialized", "single_transpose_use"]


def is_materialized(value: SSAValue) -> bool:
    """Whether the value goes to memory as it is: every use returns it, yields it or materialises it."""
    return all(isinstance(u.operation, (func.ReturnOp, tx.YieldOp, tx.EvalOp)) for u in value.uses)


def single_transpose_use(value: SSAValue) -> tx.ViewOp | None:
    """The permutation of dims that is the only use of a reduction's result: the nest can run in its order of results.

    Not where both operands of a contraction have dims of their own: those are tiles of rows by columns.
    """
    op = value.owner
    if not value.uses.get_length() == 1:
        return None
    (use,) = value.uses
    view = use.operation
    if not isinstance(view, tx.ViewOp) or not view.map.is_permutation or view.parent is not op.parent:
        return None
    if isinstance(op, tx.ContractOp):
        shared_dims = len(op.batch) + len(op.pairs)
        return view if any(tensor.rank == shared_dims for tensor in op.operand_tensors) else None
    return view if isinstance(op, tx.ReductionOp) and not isinstance(op, tx.ScanOp) else None


def epilogue_root(value: SSAValue) -> SSAValue | None:
    """The one value at the end of all maps that follow from this one, if it is stored once and nothing else leaves.

    Values in between may be used many times: one body computes them once.  A permutation may come first
    (`single_transpose_use`).
    """
    assert isinstance(value.owner, Operation)
    block = value.owner.parent
    view = single_transpose_use(value)
    if view is not None:
        value = view.results[0]
        if is_materialized(value) and value.uses.get_length() == 1:
            return value
    waiting, seen, ends = [value], {value}, []
    while waiting:
        current = waiting.pop()
        if current is not value and is_materialized(current) and current.uses.get_length() == 1:
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
