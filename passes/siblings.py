"""Sibling fusion: elementwise nests over one iteration space become one nest with several results.

Merged are nests where the later one either reads what the earlier one wrote, at the same point, or shares an input
with it: then one pass over memory serves both.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Set
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from ..dialects.attributes import DimAttr, DimsAttr
from ..dialects.index_map import IndexMap
from ..dialects.kernel import GenericOp, ReadOp, YieldOp
from ..dialects.loop import BindOp
from .costs import Costs
from .kernel_figures import kernel_label
from .remarks import listening, remark
from .work import bytes_of

__all__ = ["merge_siblings"]

#: What a body computes (`_computed`), and by which op.
_Known: TypeAlias = dict[Hashable, Operation]
#: Attributes that a merged nest keeps.
KEPT = ("loc", "layout")


def merge_siblings(block: Block, costs: Costs) -> None:
    """Merge nests of a block, in place: each with the first one behind it that fits, and what comes of it again."""
    op = block.first_op
    while op is not None:
        if isinstance(op, GenericOp):
            op = _grown(op, costs)
        op = op.next_op


def _grown(nest: GenericOp, costs: Costs) -> GenericOp:
    """A nest with all that can be merged with it."""
    group = _Group(nest)
    while (found := _sibling(group, costs)) is not None:
        group.take(found)
    return group.finished()


class _Group:
    """A nest and those merged with it so far, which become one operation when there are no more.

    The body grows inside `nest`, the first of them, which keeps its place; `results` are those of the single nests,
    `outs` where each is stored and `values` what the body gives for it.
    """

    def __init__(self, nest: GenericOp):
        self.nest = nest
        self.ins, self.maps = list(nest.ins), list(nest.maps_in())
        self.results: list[SSAValue] = list(nest.results)
        self.outs = list(nest.maps_out())
        self.values: list[SSAValue] = []
        self.taken: list[GenericOp] = []
        self._known: _Known = {}
        self._arguments: dict[tuple[SSAValue, IndexMap], SSAValue] = {}

    def take(self, second: GenericOp) -> None:
        """Add a nest's body, what it reads of the results so far being taken from registers."""
        body, more = self.nest.body.block, second.body.block
        if not self.taken:
            self._open(body)
        produced = dict(zip(self.results, self.values))
        for value, index, argument in zip(second.ins, second.maps_in(), more.args):
            given = produced.get(value)
            argument.replace_all_uses_with(self._read(body, value, index, argument) if given is None else given)
        _append(body, more, self._known)
        yielded = _without_yield(body)  # not before: what it yields may have been computed already
        self.taken.append(second)
        self.results += second.results
        self.outs += second.maps_out()
        self.values += yielded
        second.detach()
        second.drop_all_references()
        self._drop_unused()

    def _open(self, body: Block) -> None:
        """Get ready for the first other nest."""
        self.values = _without_yield(body)
        self._arguments = {(v, m): a for v, m, a in zip(self.ins, self.maps, body.args)}
        bound = _bound(body)
        self._known.update((key, op) for op in body.ops if (key := _computed(op, bound)) is not None)

    def _read(self, body: Block, value: SSAValue, index: IndexMap, like: SSAValue) -> SSAValue:
        """The argument that is a tensor's element."""
        found = self._arguments.get((value, index))
        if found is None:
            self.ins.append(value)
            self.maps.append(index)
            found = self._arguments[value, index] = body.insert_arg(like.type, len(body.args))
        return found

    def _drop_unused(self) -> None:
        """Leave out results that only the nests themselves read."""
        kept = [i for i, result in enumerate(self.results) if result.first_use is not None]
        if kept and len(kept) < len(self.results):
            self.results = [self.results[i] for i in kept]
            self.outs = [self.outs[i] for i in kept]
            self.values = [self.values[i] for i in kept]

    def finished(self) -> GenericOp:
        """The one nest, where the first stood."""
        nest, block = self.nest, self.nest.parent
        if not self.taken:
            return nest
        assert block is not None
        body = nest.body.block
        body.add_op(YieldOp(*self.values))
        nest.body.detach_block(body)
        types = [r.type for r in self.results]
        merged = GenericOp(self.ins, (), nest.extents.data, self.maps, self.outs, body, types)
        merged.attributes.update({k: nest.attributes[k] for k in KEPT if k in nest.attributes})
        block.insert_op_after(merged, nest)
        for old, new in zip(self.results, merged.results):
            old.replace_all_uses_with(new)
        nest.detach()
        for single in (nest, *self.taken):
            single.erase()
        return merged


def _without_yield(body: Block) -> list[SSAValue]:
    """The values that a body yields; the op that does so is erased."""
    last = body.last_op
    assert isinstance(last, YieldOp)
    values = list(last.values)
    last.detach()
    last.erase()
    return values


def _sibling(group: _Group, costs: Costs) -> GenericOp | None:
    """The next nest that can be merged with these; those between may not give it anything."""
    given: set[SSAValue] = set()
    first = group.nest
    alone = first.is_reduction or bool(first.outs)
    op = first.next_op
    while isinstance(op, GenericOp) and not (alone and given):
        if not given or not _reads(op, given):
            reason = _apart(group, op)
            if listening() and (not reason or op is first.next_op):
                _remark(costs, group, op, reason)
            if not reason:
                return op
        given.update(op.results)
        op = op.next_op
    return None


def _apart(group: _Group, second: GenericOp) -> str:
    """Why a nest stays apart from a group; empty where they become one."""
    first = group.nest
    if first.is_reduction or second.is_reduction:
        return "one of them folds"
    if first.outs or second.outs:
        return "one of them updates in place"
    if first.extents != second.extents:
        return "they run over different sizes"
    if first.attributes.get("layout") != second.attributes.get("layout"):
        return "they are stored in different orders"
    results = set(group.results)
    reads = [(v, m) for v, m in zip(second.ins, second.maps_in())]
    if any(v in results and not m.is_identity for v, m in reads) or _reads_at_computed(second, results):
        return "the later one reads the earlier one at other points"
    if results.isdisjoint(second.ins) and set(group.ins).isdisjoint(second.ins):
        return "they have no operand in common"
    return ""


def _remark(costs: Costs, group: _Group, second: GenericOp, reason: str) -> None:
    """Both ways' traffic: one pass reads what both use once, and what flows between them not at all."""
    between = [v for v in second.ins if v in group.results]
    both = [v for v in second.ins if v in group.ins]
    apart = [*group.ins, *group.results, *second.ins, *second.results]
    saved = sum(map(bytes_of, [*between, *both]))
    total = sum(map(bytes_of, apart))
    choices = {"one pass": costs.moving(total - saved, near=False), "two": costs.moving(total, near=False)}
    what = f"{kernel_label(group.nest)} | {kernel_label(second)}"
    chosen, why = ("two passes", reason) if reason else ("one pass", "they share operands, point by point")
    remark("fusion", what, chosen, why, choices if not reason else None, second)


def _reads(nest: GenericOp, values: set[SSAValue]) -> bool:
    return not values.isdisjoint(nest.operands) or _reads_at_computed(nest, values)


def _reads_at_computed(nest: GenericOp, values: set[SSAValue]) -> bool:
    """Whether the body reads one of the values at computed indices, which needs it whole."""
    return any(isinstance(op, ReadOp) and op.source in values for op in nest.body.block.ops)


def _append(body: Block, more: Block, known: _Known) -> None:
    """Move the ops of a body behind those of another; what is `known` to be computed is not computed again."""
    bound = _bound(more)
    for op in list(more.ops):
        key = _computed(op, bound)
        found = None if key is None else known.setdefault(key, op)
        op.detach()
        if found is None or found is op:
            body.add_op(op)
            continue
        for result, same in zip(op.results, found.results):
            result.replace_all_uses_with(same)
        op.erase()


def _bound(body: Block) -> Set[str]:
    return {op.symbol.data for op in body.ops if isinstance(op, BindOp)}


def _computed(op: Operation, bound: Set[str]) -> Hashable | None:
    """What an op computes, wherever it stands; None where it does more, or where regions would have to be compared.

    The symbols `bound` are other numbers in other places.
    """
    if op.regions or not op.results or (bound and not bound.isdisjoint(_symbols(op))):
        return None
    attributes = frozenset((name, a) for name, a in op.attributes.items() if name != "loc")
    return op.name, tuple(op.operands), attributes, frozenset(op.properties.items()), tuple(r.type for r in op.results)


def _symbols(op: Operation) -> Iterator[str]:
    """The names in an op's index expressions."""
    for attribute in op.attributes.values():
        exprs = (attribute.data,) if isinstance(attribute, DimAttr) else ()
        for expr in attribute.data if isinstance(attribute, DimsAttr) else exprs:
            yield from (symbol.name for symbol in expr.symbols())
