"""Sibling fusion: nests over one iteration space become one nest with several results.

Merged are elementwise nests where the later one either reads what the earlier one wrote, at the same point, or shares
an input with it: then one pass over memory serves both.  Reductions are merged where they take the same elements in one
order; the nest then has the accumulators of both, and what comes after the later reduction may use what the earlier one
gave.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.attributes import DimAttr, DimsAttr
from ...dialects.dims.index_map import IndexMap
from ...dialects.kernel import GenericOp, YieldOp
from ...dialects.loop import BindOp
from ...dialects.order import FREE
from ..cost.kernel_stats import kernel_label
from ..cost.model import CostModel
from ..cost.remarks import enabled, remark
from ..cost.work import bytes_of
from ..schedule.access import backward_slice
from ..schedule.matmul.match import match_matmul
from .blocks import blocks_of

__all__ = ["SiblingFusionPass"]

#: What a body computes (`_computed`), and by which op.
_Known: TypeAlias = dict[Hashable, Operation]
#: Inputs, and which element of each belongs to a point.
_Operands: TypeAlias = tuple[Sequence[SSAValue], Sequence[IndexMap]]
#: Attributes that a merged nest preserves.
PRESERVED = ("loc", "layout")
#: Accumulators of merged reductions: each takes registers for every vector that is reduced beside others.
MAX_ACCUMULATORS = 4


@dataclass(frozen=True)
class SiblingFusionPass(ModulePass):
    """Nests over one iteration space to one nest; with ``enabled=false`` they stay as they are."""

    name = "tx-fuse-siblings"
    enabled: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.enabled:
            for function, block in blocks_of(op):
                merge_siblings(block, CostModel.of(function))


def merge_siblings(block: Block, costs: CostModel) -> None:
    """Merge nests of a block, in place: each with the first one behind it that fits, and what comes of it again."""
    op = block.first_op
    while op is not None:
        if isinstance(op, GenericOp):
            op = _grown(op, costs)
        op = op.next_op


def _grown(nest: GenericOp, costs: CostModel) -> GenericOp:
    """A nest with all that can be merged with it."""
    group = _SiblingGroup(nest)
    while (found := _sibling(group, costs)) is not None:
        group.absorb(found)
    return group.build()


class RegionMerger:
    """A region of a nest that takes in other nests' regions; `ins` are what its last arguments are elements of.

    `values` are what it yields, from `open` on.
    """

    def __init__(self, block: Block, ins: Sequence[SSAValue], maps: Sequence[IndexMap]):
        self.block, self.ins, self.maps = block, list(ins), list(maps)
        self.values: list[SSAValue] = []
        self._known: _Known = {}
        self._arguments: dict[tuple[SSAValue, IndexMap], SSAValue] = {}

    def open(self) -> None:
        """Get ready for the first other region."""
        self.values = _without_yield(self.block)
        arguments = self.block.args[len(self.block.args) - len(self.ins) :]
        self._arguments = {(v, m): a for v, m, a in zip(self.ins, self.maps, arguments)}
        bound = _bound(self.block)
        self._known.update((key, op) for op in self.block.ops if (key := _computed(op, bound)) is not None)

    def read(self, value: SSAValue, index: IndexMap, like: SSAValue) -> SSAValue:
        """The argument that is a tensor's element."""
        found = self._arguments.get((value, index))
        if found is None:
            self.ins.append(value)
            self.maps.append(index)
            found = self._arguments[value, index] = self.block.insert_arg(like.type, len(self.block.args))
        return found

    def absorb(self, more: Block, operands: Sequence[SSAValue]) -> None:
        """Add the ops of another region, with these values for its arguments."""
        for argument, operand in zip(more.args, operands, strict=True):
            argument.replace_all_uses_with(operand)
        _append(self.block, more, self._known)
        self.values += _without_yield(self.block)  # not before: what it yields may have been computed already

    def closed(self) -> Block:
        """The block, with its yield."""
        self.block.add_op(YieldOp(*self.values))
        parent = self.block.parent
        assert parent is not None
        return parent.detach_block(self.block)


class _SiblingGroup:
    """A nest and those merged with it so far, which become one operation when there are no more.

    The regions grow inside `nest`, the first of them, which keeps its place; `results` are those of the single nests,
    `outs` where each is stored.  Of reductions, `identity` has the accumulators that they start from.
    """

    def __init__(self, nest: GenericOp):
        self.nest = nest
        self.results: list[SSAValue] = list(nest.results)
        self.outs = list(nest.maps_out())
        self.taken: list[GenericOp] = []
        self.order = None if nest.order is None else nest.order.data
        self.identity = _identity(nest)
        entering, posts = _operands(nest)
        self.body = RegionMerger(nest.body.block, *entering)
        self.merge = RegionMerger(nest.combiner.block, (), ()) if nest.is_reduction else None
        self.epilogue = RegionMerger(nest.epilogue.block, *posts) if nest.is_reduction else None

    @property
    def ins(self) -> list[SSAValue]:
        return self.body.ins + (self.epilogue.ins if self.epilogue is not None else [])

    def absorb(self, second: GenericOp) -> None:
        """Add a nest, what it reads of the results so far being taken from registers."""
        if not self.taken:
            for region in (self.body, self.merge, self.epilogue):
                if region is not None:
                    region.open()
        self._take_elements(second)
        if self.merge is not None and self.epilogue is not None:
            self._absorb_reduction(second, self.merge, self.epilogue)
        self.taken.append(second)
        self.results += second.results
        self.outs += second.maps_out()
        second.detach()
        second.drop_all_references()
        self._drop_unused()

    @property
    def _last(self) -> RegionMerger:
        """The region that yields results."""
        return self.body if self.epilogue is None else self.epilogue

    def _take_elements(self, second: GenericOp) -> None:
        entering, _ = _operands(second)
        more = second.body.block
        self.body.absorb(more, self._given(self.body, *entering, more.args))

    def _absorb_reduction(self, second: GenericOp, merge: RegionMerger, epilogue: RegionMerger) -> None:
        """Add a reduction's accumulators: behind the others, in both halves of what `merge` takes and in what
        `epilogue` does."""
        count, more = len(self.identity), second.epilogue.block
        types = [a.type for a in more.args[: len(_identity(second))]]
        older = [merge.block.insert_arg(t, count + i) for i, t in enumerate(types)]
        newer = [merge.block.insert_arg(t, len(merge.block.args)) for t in types]
        merge.absorb(second.combiner.block, [*older, *newer])
        finals = [epilogue.block.insert_arg(t, count + i) for i, t in enumerate(types)]
        _, posts = _operands(second)
        epilogue.absorb(more, [*finals, *self._given(epilogue, *posts, more.args[len(types) :])])
        self.identity += _identity(second)
        assert self.order is not None and second.order is not None
        if self.order == FREE:
            self.order = second.order.data

    def _given(
        self, region: RegionMerger, ins: Sequence[SSAValue], maps: Sequence[IndexMap], arguments: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """What stands in a region for a nest's inputs: results so far, or arguments."""
        produced = dict(zip(self.results, self._last.values))
        return [
            produced[value] if value in produced else region.read(value, index, argument)
            for value, index, argument in zip(ins, maps, arguments, strict=True)
        ]

    def _drop_unused(self) -> None:
        """Leave out results that only the nests themselves read."""
        used = [i for i, result in enumerate(self.results) if result.first_use is not None]
        if used and len(used) < len(self.results):
            self.results = [self.results[i] for i in used]
            self.outs = [self.outs[i] for i in used]
            self._last.values = [self._last.values[i] for i in used]

    def build(self) -> GenericOp:
        """The one nest, where the first stood."""
        nest, block = self.nest, self.nest.parent
        if not self.taken:
            return nest
        assert block is not None
        ins, maps = self.ins, self.body.maps + (self.epilogue.maps if self.epilogue is not None else [])
        types = [r.type for r in self.results]
        merge, epilogue = (None if region is None else region.closed() for region in (self.merge, self.epilogue))
        merged = GenericOp(
            ins, (), nest.extents.data, maps, self.outs, self.body.closed(), types,
            parallel=nest.n_parallel, epilogue_inputs=len(ins) - len(self.body.ins), order=self.order,
            identity=self.identity, combiner=merge, epilogue=epilogue,
        )  # fmt: skip
        merged.attributes.update({k: nest.attributes[k] for k in PRESERVED if k in nest.attributes})
        block.insert_op_after(merged, nest)
        for old, new in zip(self.results, merged.results):
            old.replace_all_uses_with(new)
        nest.detach()
        for single in (nest, *self.taken):
            single.erase()
        return merged


def _identity(nest: GenericOp) -> list[Attribute]:
    return [] if nest.identity is None else list(nest.identity.data)


def _operands(nest: GenericOp) -> tuple[_Operands, _Operands]:
    """The inputs of a nest's body, then those of its `epilogue`, each with their maps."""
    ins, maps, entering = list(nest.ins), nest.maps_in(), nest.n_element_inputs
    return (ins[:entering], maps[:entering]), (ins[entering:], maps[entering:])


def _without_yield(body: Block) -> list[SSAValue]:
    """The values that a body yields; the op that does so is erased."""
    last = body.last_op
    assert isinstance(last, YieldOp)
    values = list(last.values)
    last.detach()
    last.erase()
    return values


def _sibling(group: _SiblingGroup, costs: CostModel) -> GenericOp | None:
    """The next nest that can be merged with these; those between may not give it anything."""
    given: set[SSAValue] = set()
    first = group.nest
    alone = first.is_reduction or bool(first.outs)
    op = first.next_op
    while isinstance(op, GenericOp) and not (alone and given):
        if not given or not _reads(op, given):
            reason = _why_not(group, op)
            if enabled() and (not reason or op is first.next_op):
                _remark(costs, group, op, reason)
            if not reason:
                return op
        given.update(op.results)
        op = op.next_op
    return None


def _why_not(group: _SiblingGroup, second: GenericOp) -> str:
    """Why a nest stays apart from a group; empty where they become one."""
    first = group.nest
    if first.is_reduction != second.is_reduction:
        return "only one of them is a reduction"
    if first.outs or second.outs:
        return "one of them updates its operand in place"
    if first.extents != second.extents:
        return "they have different iteration spaces"
    if first.attributes.get("layout") != second.attributes.get("layout"):
        return "their results have different layouts"
    results = set(group.results)
    if _reads_elsewhere(group, second):
        return "the second reads other elements of the first one's result"
    if first.is_reduction:
        return _why_not_reductions(group, second)
    if results.isdisjoint(second.ins) and set(group.ins).isdisjoint(second.ins):
        return "they share no operand"
    return ""


def _reads_elsewhere(group: _SiblingGroup, second: GenericOp) -> bool:
    """Whether a nest needs results of a group at other points than its own."""
    at = dict(zip(group.results, group.outs))
    reads = zip(second.ins, second.maps_in())
    return any(v in at and m != at[v] for v, m in reads) or second.reads_at_computed(set(at))


def _why_not_reductions(group: _SiblingGroup, second: GenericOp) -> str:
    """Why a reduction over the same extents is not merged with others; empty where they become one.

    What is exact in any order takes the other's; a reduction of products is a contraction, which has schedules of its
    own.
    """
    first = group.nest
    assert group.order is not None and second.order is not None
    mine, others = group.order, second.order.data
    entering, _ = _operands(second)
    if first.is_scan or second.is_scan:
        return "one of them is a scan"
    singles = (second,) if group.taken else (first, second)
    if any(map(_is_contraction, singles)):
        return "one of them is a contraction"
    if not all(map(_has_independent_accumulators, singles)):
        return "the accumulators of one of them depend on each other"
    if mine != others and not (FREE in (mine, others) and "tree" in (mine.kind, others.kind)):
        return "their reduction orders differ"
    if not set(group.results).isdisjoint(entering[0]):
        return "the second reduces the result of the first"
    if set(zip(group.body.ins, group.body.maps)).isdisjoint(zip(*entering)):
        return "they read no common elements"
    if len(group.identity) + len(_identity(second)) > MAX_ACCUMULATORS:
        return "too many accumulators for the registers"
    return ""


def _is_contraction(nest: GenericOp) -> bool:
    return bool(nest.order is not None and nest.order.data.product) or match_matmul(nest) is not None


def _has_independent_accumulators(nest: GenericOp) -> bool:
    """Whether each accumulator of a reduction is combined by itself; others, as arg-reductions, have code of their
    own."""
    block, last = nest.combiner.block, nest.combiner.block.last_op
    assert isinstance(last, YieldOp)
    count = len(last.values)
    args = [(block.args[i], block.args[count + i]) for i in range(count)]
    needed = [backward_slice(value).intersection(block.args) for value in last.values]
    return all(found <= {*own} for found, own in zip(needed, args))


def _remark(costs: CostModel, group: _SiblingGroup, second: GenericOp, reason: str) -> None:
    """Memory traffic of both ways: fused, shared operands are read once, and values between them not at all."""
    between = [v for v in second.ins if v in group.results]
    both = [v for v in second.ins if v in group.ins]
    apart = [*group.ins, *group.results, *second.ins, *second.results]
    saved = sum(map(bytes_of, [*between, *both]))
    total = sum(map(bytes_of, apart))
    choices = {
        "fused": costs.transfer_ns(total - saved, in_l2=False),
        "not fused": costs.transfer_ns(total, in_l2=False),
    }
    what = f"{kernel_label(group.nest)} | {kernel_label(second)}"
    chosen, why = ("not fused", reason) if reason else ("fused", "they share operands and the iteration space")
    remark("sibling-fusion", what, chosen, why, choices if not reason else None, second)


def _reads(nest: GenericOp, values: set[SSAValue]) -> bool:
    return not values.isdisjoint(nest.operands) or nest.reads_at_computed(values)


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
