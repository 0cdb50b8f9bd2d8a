"""Row fusion: nests that share outer iterators and hand each other one row at a time become one `kernel.row_group`.

A group is worth making where it holds a reduction along a row: softmax is a maximum, a map, a sum and a division whose
rows stay in cache, so memory is passed over once.  A contraction stands alone: one row of it at a time would read the
whole right operand for every row, where tiles of several rows read it once for all of them.  Where schedules take a
panel of several rows at a time, a group may begin with a contraction, whose rows the others use, and end with one that
uses theirs, as attention does (`Contractions`).  Where reductions are column-major, and maps would have to be so with
them, column tiles of rows are computed together, by a schedule that has such (`column_major`); else whole tensors are
passed over along memory instead.  Loops of maps are interchanged (`interchange.py`) where only the order of their
iterators keeps them from running by rows.  A group has no more nests than make a kernel of reasonable length
(`CostModel.fits_kernel`); the next ones make another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.dims.dims import Dim
from ...dialects.dims.index_map import IndexMap
from ...dialects.kernel import GenericOp, ReadOp, RowGroupOp, YieldOp
from ..cost.kernel_stats import kernel_label
from ..cost.model import CostModel
from ..cost.remarks import enabled, remark
from ..cost.work import bytes_of, operations_of
from ..schedule.matmul.match import MatmulOperands, match_matmul
from .blocks import blocks_of
from .interchange import interchange, inverse_permutation, read_permutation, shared_leading_dims

__all__ = ["RowFusionPass", "is_column_major"]

#: Where contractions may stand in rows: nowhere, at either end, or at both ends and not at one alone.
Contractions = Literal["none", "either", "both"]


@dataclass(frozen=True)
class RowFusionPass(ModulePass):
    """Nests that exchange rows to `kernel.row_group`; with ``enabled=false`` they stay as they are.

    `contractions` says where rows may have contractions, which a schedule then takes several rows at a time;
    `column_major` whether rows may lie across memory, of which it takes many side by side.
    """

    name = "tx-fuse-rows"
    enabled: bool = True
    contractions: Contractions = "both"
    column_major: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.enabled:
            for function, block in blocks_of(op):
                fuse_rows(block, CostModel.of(function), self.contractions, self.column_major)


def fuse_rows(block: Block, costs: CostModel, contractions: Contractions, column_major: bool) -> None:
    """Group runs of adjacent nests of a block into rows, in place."""
    group = _RowGroup(costs, contractions, column_major)
    for op in list(block.ops):
        factors = match_matmul(op) if isinstance(op, GenericOp) else None
        if (
            not isinstance(op, GenericOp)
            or op.outs
            or _is_chain(op)
            or (factors is not None and contractions == "none")
        ):
            group.close()
            group = _RowGroup(costs, contractions, column_major)
            continue
        if factors is not None:
            ends = group.ends_with(op, factors)
            if ends:
                group.add(op, factors)
            group.close()
            group = _RowGroup(costs, contractions, column_major)
            if not ends:
                group.add(op, factors)
            continue
        if group.has_producer_only and not group.accepts(op):
            group = group.without_first()
        if group.nests:
            group = group.accepts_interchanged(op) or group
        if group.nests and not group.accepts(op):
            if not group.consumes_from(op) and group.has_reduction:
                op.detach()  # nothing to do with the group: out of its way, so that the group can go on
                _block_of(group.nests[0]).insert_op_before(op, group.nests[0])
                continue
            if enabled():
                _remark(costs, [*group.nests, op], "not fused", "a value is used outside its row")
            group.close()
            group = _RowGroup(costs, contractions, column_major)
        elif group.nests and not group.has_capacity_for(op):
            if enabled():
                _remark(costs, [group.nests[-1], op], "not fused", "the kernel would become too long")
            group.close()
            group = _RowGroup(costs, contractions, column_major)
        group.add(op)
    group.close()


class _RowGroup:
    """Nests that may become rows.

    `leading` holds the extents of the parallel iterators that all share, of which a row fixes the first `shared`;
    `written` where the nests write what they produce; `given` what they read or produce; `operations` are all theirs.
    `first` has the factors of a contraction that makes the rows, `last` those of one that uses them.
    """

    def __init__(self, costs: CostModel, contractions: Contractions, column_major: bool):
        self.costs = costs
        self.contractions: Contractions = contractions
        self.column_major = column_major
        self.nests: list[GenericOp] = []
        self.leading: tuple[Dim, ...] = ()
        self.shared = 0
        self.written: dict[SSAValue, IndexMap] = {}
        self.given: set[SSAValue] = set()
        self.operations = 0.0
        self.first: MatmulOperands | None = None
        self.last: MatmulOperands | None = None
        #: The permutations that undo interchanges, the last one first.
        self.interchanged: list[tuple[GenericOp, tuple[int, ...]]] = []

    @property
    def has_producer_only(self) -> bool:
        """Whether there is a contraction at the first end only, which is not enough."""
        return self.contractions == "both" and self.first is not None and self.last is None

    @property
    def has_reduction(self) -> bool:
        """Whether there is more than the contraction that makes the rows."""
        return len(self.nests) > (self.first is not None)

    def accepts(self, op: GenericOp) -> bool:
        """Whether a nest has to do with the others, and only row by row."""
        related = self.given.intersection(op.ins) if self.has_reduction else self.consumes_from(op)
        return bool(related) and self.shared_with(op) > 0

    def accepts_interchanged(self, op: GenericOp) -> _RowGroup | None:
        """The group that accepts a nest after an interchange: of the nest's loops, or of the maps' of the group.

        None where there is nothing to gain: where all iterators that can be shared are.
        """
        before = self.shared_with(op) if self.accepts(op) else 0
        most = min(self.shared, op.n_parallel)
        if before == most or not self.column_major or self.first is not None or not self.has_capacity_for(op):
            return None
        maps_only = not any(nest.is_reduction for nest in self.nests)
        for value, index in zip(op.ins, op.maps_in()):
            if value not in self.written:
                continue
            if not op.is_reduction:
                order, to_interchange = read_permutation(index, self.written[value]), [op]
            elif maps_only and len({nest.extents for nest in self.nests}) == 1:
                order, to_interchange = read_permutation(self.written[value], index), self.nests
            else:
                continue
            if order is None:
                continue
            for nest in to_interchange:
                interchange(nest, order)
            group = self if to_interchange[0] is op else self._again()
            if group.accepts(op) and group.shared_with(op) > before:
                group.interchanged += [(nest, inverse_permutation(order)) for nest in to_interchange]
                return group
            for nest in to_interchange:
                interchange(nest, inverse_permutation(order))
        return None

    def _again(self) -> _RowGroup:
        """The same group, with its nests interchanged."""
        made = _RowGroup(self.costs, self.contractions, self.column_major)
        for nest in self.nests:
            made.add(nest)
        made.interchanged = list(self.interchanged)
        return made

    def ends_with(self, op: GenericOp, factors: MatmulOperands) -> bool:
        """Whether a contraction uses the rows that others have made, row by row."""
        whole = self.shared_with(op) == self.shared and _is_row_local(op, factors, self.shared)
        same = self.contractions == "either" or (self.first is not None and self.first.batch == factors.batch)
        return same and self.has_reduction and self.consumes_from(op) and whole and self.has_capacity_for(op)

    def add(self, op: GenericOp, factors: MatmulOperands | None = None) -> None:
        first = not self.nests
        if first:
            self.first = factors
        else:
            self.last = factors
        self.shared = op.n_parallel if first else min(self.shared, self.shared_with(op))
        self.leading = op.extents.data[: op.n_parallel] if first else self._leading_with(op)
        self.nests.append(op)
        self.operations += operations_of(op)
        self.written.update(zip(op.results, op.maps_out()))
        self.given.update((*op.results, *op.ins))

    def _leading_with(self, op: GenericOp) -> tuple[Dim, ...]:
        same = takewhile(lambda pair: pair[0] == pair[1], zip(self.leading, op.extents.data[: op.n_parallel]))
        return tuple(extent for extent, _ in same)

    def shared_with(self, op: GenericOp) -> int:
        """How many leading iterators a nest can share with these; 0 where a value would be needed beyond its row."""
        count = len(self._leading_with(op))
        for value, index in zip(op.ins, op.maps_in()):
            if value in self.written:
                count = min(count, shared_leading_dims(index, self.written[value]))
        if self.first is not None and not _is_row_local(self.nests[0], self.first, count):
            return 0
        return 0 if any(v in self.written for v in _read_inside(op)) else count

    def has_capacity_for(self, op: GenericOp) -> bool:
        """Whether the kernel does not become too long by a nest."""
        return self.costs.kernel_size_ok(len(self.nests) + 1, self.operations + operations_of(op))

    def consumes_from(self, op: GenericOp) -> bool:
        """Whether a nest reads what one of these produces."""
        return any(v in self.written for v in (*op.operands, *_read_inside(op)))

    def without_first(self) -> _RowGroup:
        """The group of the other nests."""
        rest = _RowGroup(self.costs, self.contractions, self.column_major)
        for nest in self.nests[1:]:
            rest.add(nest)
        return rest

    def close(self) -> None:
        """Make a rows op of the nests where that is worth it."""
        if self.has_producer_only:
            return self.without_first().close()
        if not _close(self.nests, self.shared, self.costs, self.column_major):
            for nest, back in reversed(self.interchanged):
                interchange(nest, back)


def _is_chain(op: GenericOp) -> bool:
    """A scan along an outer dim, which runs many results side by side and so holds no single row."""
    return op.is_scan and op.order is not None and op.order.data.kind == "serial"


def _is_row_local(nest: GenericOp, factors: MatmulOperands, shared: int) -> bool:
    """Whether a contraction's left factor has one row where the first `shared` iterators stand, and the right one is
    the same for neighbouring rows."""
    along = {*factors.batch, *factors.left} == set(range(shared)) and shared - 1 in factors.left
    return along and nest.order is not None and nest.order.data.kind != "unit"


def _block_of(nest: GenericOp) -> Block:
    block = nest.parent
    assert block is not None
    return block


def _read_inside(op: GenericOp) -> Iterator[SSAValue]:
    """What the ops of a nest's regions read, whole tensors at computed indices among them."""
    return (v for region in op.regions for b in region.blocks for inner in b.ops for v in inner.operands)


def _remark(costs: CostModel, group: list[GenericOp], chosen: str, why: str) -> None:
    """Memory traffic of the values that nests exchange and of shared inputs: through L2 in rows, or through DRAM."""
    produced = {r for nest in group for r in nest.results}
    read = [v for nest in group for v in nest.ins]
    again = sum(bytes_of(v) for v in read) - sum(bytes_of(v) for v in set(read) - produced)
    again += sum(bytes_of(r) for r in produced if all(u.operation in group for u in r.uses))
    choices = {
        "fused, rows in L2": costs.transfer_ns(again),
        "not fused, through DRAM": costs.transfer_ns(again, in_l2=False),
    }
    remark("row-fusion", "; ".join(kernel_label(nest) for nest in group), chosen, why, choices, group[-1])


def _close(group: list[GenericOp], shared: int, costs: CostModel, column_major: bool) -> bool:
    """Make a rows op of the group where a row holds a reduction and every nest is at most one row; whether it is."""
    if len(group) < 2 or shared < 1:
        return False
    reason = ""
    if not any(nest.is_reduction and nest.n_parallel == shared for nest in group):
        reason = "no reduction along a row"
    elif all(len(nest.extents.data) == shared for nest in group):
        reason = "rows of one element"
    elif is_column_major(group, shared) and not (column_major and _can_vectorize_across(group)):
        reason = "rows are column-major"
    if enabled():
        _remark(costs, group, "not fused" if reason else "fused", reason or "the values they exchange stay in cache")
    if reason:
        return False
    parent = group[0].parent
    assert parent is not None
    inside: set[Operation] = set(group)
    escaping: list[SSAValue] = [
        r for nest in group for r in nest.results if any(u.operation not in inside for u in r.uses)
    ]
    body = Block()
    rows = RowGroupOp(shared, body, [v.type for v in escaping])
    if "loc" in group[-1].attributes:
        rows.attributes["loc"] = group[-1].attributes["loc"]
    parent.insert_op_after(rows, group[-1])
    for nest in group:
        nest.detach()
        body.add_op(nest)
    for value, outer in zip(escaping, rows.results):
        value.replace_uses_with_if(outer, lambda use: use.operation not in inside)
    body.add_op(YieldOp(*escaping))
    return True


def is_column_major(group: Sequence[GenericOp], shared: int) -> bool:
    """Whether all reductions along rows are column-major, which their orders say, and maps would have to be so with
    them.

    Reductions alone, as those of a mean and a variance, run along many rows at a time.
    """
    orders = [nest.order.data for nest in group if nest.order is not None and nest.n_parallel == shared]
    maps = any(nest.order is None and len(nest.extents.data) > shared for nest in group)
    return maps and all(order.kind == "tree" and order.lanes == 1 and not order.product for order in orders)


def _can_vectorize_across(group: list[GenericOp]) -> bool:
    """Whether many column-major rows can be computed at once: of reductions and maps that compute no index."""
    plain = all(not nest.is_scan and match_matmul(nest) is None for nest in group)
    return plain and not any(isinstance(op, ReadOp) for nest in group for op in nest.walk())
