"""Row fusion: nests that share outer iterators and hand each other one row at a time become one `kernel.rows`.

A group is worth making where it holds a reduction along a row: softmax is a maximum, a map, a sum and a division
whose rows stay in cache, so memory is passed over once.  A contraction stands alone: one row of it at a time
would read the whole right operand for every row, where tiles of several rows read it once for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from ..dialects.dims import iterators
from ..dialects.index_map import IndexMap
from ..dialects.kernel import GenericOp, RowsOp, YieldOp
from .contraction import factors_of
from .costs import Costs
from .kernel_figures import kernel_label
from .remarks import listening, remark
from .work import bytes_of

__all__ = ["group_rows"]


def group_rows(block: Block, costs: Costs) -> None:
    """Group runs of adjacent nests of a block into rows, in place."""
    group: list[GenericOp] = []
    shared = 0
    for op in list(block.ops):
        if not isinstance(op, GenericOp) or op.outs or _is_chain(op) or factors_of(op) is not None:
            _close(group, shared, costs)
            group = []
            continue
        common = _shared(group, op) if group else op.n_parallel
        if group and (common == 0 or not _joins(group, op)):
            if not _uses_results(group, op):
                op.detach()  # nothing to do with the group: out of its way, so that the group can go on
                _block_of(group[0]).insert_op_before(op, group[0])
                continue
            if listening():
                _remark(costs, [*group, op], "whole tensors", "a value is needed beyond its row")
            _close(group, shared, costs)
            group, common = [], op.n_parallel
        group.append(op)
        shared = common if len(group) == 1 else min(shared, common)
    _close(group, shared, costs)


def _is_chain(op: GenericOp) -> bool:
    """A scan along an outer dim, which runs many results side by side and so holds no single row."""
    return op.is_scan and op.order is not None and op.order.data.kind == "serial"


def _block_of(nest: GenericOp) -> Block:
    block = nest.parent
    assert block is not None
    return block


def _uses_results(group: list[GenericOp], op: GenericOp) -> bool:
    produced = {r for nest in group for r in nest.results}
    return any(v in produced for inner in op.walk() for v in inner.operands)


def _joins(group: list[GenericOp], op: GenericOp) -> bool:
    """Whether there is something to gain: a value that flows between them, or an input of both."""
    given = {v for nest in group for v in (*nest.results, *nest.ins)}
    return any(v in given for v in op.ins)


def _shared(group: list[GenericOp], op: GenericOp) -> int:
    """How many leading iterators the nest can share with the group; 0 where a value would be needed beyond its row."""
    first = group[0].extents.data
    produced = {r: nest for nest in group for r in nest.results}
    count = 0
    for nest in group:
        limit = min(group[0].n_parallel, nest.n_parallel, op.n_parallel)
        same = 0
        while same < limit and op.extents.data[same] == first[same] == nest.extents.data[same]:
            same += 1
        count = same if nest is group[0] else min(count, same)
    for value, index in zip(op.ins, op.maps_in()):
        if value in produced:
            count = min(count, _leading_identity(index), _leading_identity(_written(produced, value)))
    if any(v in produced for region in op.regions for b in region.blocks for o in b.ops for v in o.operands):
        return 0
    return count


def _written(produced: Mapping[Any, GenericOp], value: SSAValue) -> IndexMap:
    """Where the nest that produces a value writes it."""
    nest = produced[value]
    return nest.maps_out()[list(nest.results).index(value)]  # pyright: ignore[reportArgumentType]


def _leading_identity(index: IndexMap) -> int:
    """How many leading dims of the operand are indexed by just the iterator of the same number."""
    count = 0
    for expr, it in zip(index.exprs, iterators(len(index.exprs))):
        if expr is not it or any(it.symbol in e.symbols() for e in index.exprs[count + 1 :]):
            break
        count += 1
    return count


def _remark(costs: Costs, group: list[GenericOp], chosen: str, why: str) -> None:
    """What the values that nests exchange, and inputs of several, take: moved once, or by each nest."""
    produced = {r for nest in group for r in nest.results}
    read = [v for nest in group for v in nest.ins]
    again = sum(bytes_of(v) for v in read) - sum(bytes_of(v) for v in set(read) - produced)
    again += sum(bytes_of(r) for r in produced if all(u.operation in group for u in r.uses))
    choices = {"row by row": costs.moving(again), "whole tensors": costs.moving(again, near=False)}
    remark("rows", "; ".join(kernel_label(nest) for nest in group), chosen, why, choices, group[-1])


def _close(group: list[GenericOp], shared: int, costs: Costs) -> None:
    """Make a rows op of the group where a row holds a reduction and every nest is at most one row."""
    if len(group) < 2 or shared < 1:
        return
    reason = ""
    if not any(nest.is_reduction and nest.n_parallel == shared for nest in group):
        reason = "no fold along a row"
    elif all(len(nest.extents.data) == shared for nest in group):
        reason = "rows of one element"
    if listening():
        _remark(
            costs, group, "whole tensors" if reason else "row by row", reason or "what they exchange stays in a cache"
        )
    if reason:
        return
    parent = group[0].parent
    assert parent is not None
    inside: set[Operation] = set(group)
    escaping: list[SSAValue] = [
        r for nest in group for r in nest.results if any(u.operation not in inside for u in r.uses)
    ]
    body = Block()
    rows = RowsOp(shared, body, [v.type for v in escaping])
    if "loc" in group[-1].attributes:
        rows.attributes["loc"] = group[-1].attributes["loc"]
    parent.insert_op_after(rows, group[-1])
    for nest in group:
        nest.detach()
        body.add_op(nest)
    for value, outer in zip(escaping, rows.results):
        value.replace_uses_with_if(outer, lambda use: use.operation not in inside)
    body.add_op(YieldOp(*escaping))
