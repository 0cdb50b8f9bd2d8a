"""In which order memory has the dims of values: what arguments say, and what views and maps make of it.

An order lists dims from the slowest to the fastest; row-major is ``(0, 1, …)``.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import BlockArgument, SSAValue

from ...dialects import tx
from ...dialects.attributes import DimsAttr, tensor_of
from ...dialects.dims.dims import Dim, Sym
from ...dialects.dims.index_map import IndexMap

__all__ = ["Order", "argument_layouts", "contraction_layout", "is_dense_read", "row_major", "view_layout"]

Order = tuple[int, ...]


def row_major(rank: int) -> Order:
    return tuple(range(rank))


def argument_layouts(function: func.FuncOp) -> dict[SSAValue, Order]:
    """The orders of inputs that are packed in some other order than row-major."""
    found: dict[SSAValue, Order] = {}
    given = function.attributes.get("tx.strides")
    if not isinstance(given, ArrayAttr):
        return found
    for argument, strides in zip(function.body.block.args, given.data):
        if isinstance(strides, DimsAttr):
            order = _packed_order(tensor_of(argument.type).dims, strides.data)
            if order is not None:
                found[argument] = order
    return found


def _packed_order(dims: tuple[Dim, ...], strides: tuple[Dim, ...]) -> Order | None:
    """The order in which memory without gaps holds the dims, where the strides are such."""
    rest, order = set(range(len(dims))), []
    running: Dim | None = None
    while rest:
        fits = [
            i
            for i in sorted(rest, reverse=True)
            if (strides[i].const == 1 if running is None else strides[i] is running)
        ]
        if not fits:
            return None
        order.append(fits[0])
        running = dims[fits[0]] if running is None else running * dims[fits[0]]
        rest.remove(fits[0])
    return tuple(reversed(order))


def view_layout(view: tx.ViewOp, order: Order) -> Order | None:
    """The order of a view whose dims are dims of its operand, which has the given one; None of any other view."""
    walkers = _walkers(view.map)
    return None if walkers is None else tuple(i for i in (walkers[d] for d in order) if i is not None)


def contraction_layout(op: tx.ContractOp, orders: Sequence[Order]) -> Order | None:
    """How a product is stored whose columns lie together, of operands of the given orders; None of any other.

    So where the left operand's dims that are not summed lie together, and those of the right one do not.  Then it is
    the product of the transposes, and rows of the left operand take the place of the right one's columns.
    """
    met = [[pair[side] for pair in (*op.batch, *op.pairs)] for side in (0, 1)]
    (left, rows), (right, columns) = (
        (order, [i for i in order if i not in summed]) for order, summed in zip(orders, met)
    )
    if not rows or not columns or left[-1] not in rows or right[-1] not in [j for _, j in op.pairs]:
        return None
    batch = len(op.batch)
    place = {d: batch + i for i, d in enumerate(sorted(rows))}
    other = {d: batch + len(rows) + i for i, d in enumerate(sorted(columns))}
    return (*range(batch), *(other[d] for d in columns), *(place[d] for d in rows))


def _walkers(index: IndexMap) -> tuple[int | None, ...] | None:
    """The iterator that walks each dim of a view's operand; None unless each iterator walks one dim, and alone.

    So of permutations, slices, strides, reversals, rolls, pads, and of what takes one index of a dim.
    """
    numbers = {Sym(f"d{i}"): i for i in range(index.rank)}
    found: list[int | None] = []
    for e in index.exprs:
        here = [numbers[s] for s in e.symbols() if s in numbers]
        if len(here) > 1:
            return None
        found.append(here[0] if here else None)
    return tuple(found) if sorted(i for i in found if i is not None) == list(range(index.rank)) else None


def is_dense_read(value: SSAValue) -> bool:
    """Whether a map reads as many elements of memory as it has points: not a broadcast value, not a constant."""
    while True:
        owner = value.owner
        if isinstance(value, BlockArgument) or not isinstance(owner, tx.TxOp):
            return tensor_of(value.type).rank > 1
        if isinstance(owner, tx.ViewOp):
            index = owner.map
            if not index.is_permutation:
                return len(index.used()) == index.rank and index.rank > 1
            value = owner.operands[0]
            continue
        return not isinstance(owner, (tx.ConstantOp, tx.DimOp, tx.IotaOp)) and tensor_of(value.type).rank > 1
