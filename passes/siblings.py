"""Sibling fusion: elementwise nests over one iteration space become one nest with several results.

Merged are nests where the later one either reads what the earlier one wrote, at the same point, or shares an input
with it: then one pass over memory serves both.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Set
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from ..dialects.attributes import DimAttr, DimsAttr
from ..dialects.kernel import GenericOp, YieldOp
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
    known: _Known = {}
    while op is not None:
        found = _sibling(op, costs) if isinstance(op, GenericOp) else None
        if found is None:
            op, known = op.next_op, {}
        else:
            assert isinstance(op, GenericOp)
            found.detach()
            block.insert_op_after(found, op)
            op = _merge(op, found, known)


def _sibling(first: GenericOp, costs: Costs) -> GenericOp | None:
    """The next nest that can be merged with this one; those between may not give it anything."""
    given: set[SSAValue] = set()
    alone = first.is_reduction or bool(first.outs)
    op = first.next_op
    while isinstance(op, GenericOp) and not (alone and given):
        if not _reads(op, given):
            reason = _apart(first, op)
            if listening() and (not reason or op is first.next_op):
                _remark(costs, first, op, reason)
            if not reason:
                return op
        given.update(op.results)
        op = op.next_op
    return None


def _apart(first: GenericOp, second: GenericOp) -> str:
    """Why two nests stay apart; empty where they become one."""
    if first.is_reduction or second.is_reduction:
        return "one of them folds"
    if first.outs or second.outs:
        return "one of them updates in place"
    if first.extents != second.extents:
        return "they run over different sizes"
    if first.attributes.get("layout") != second.attributes.get("layout"):
        return "they are stored in different orders"
    results: set[SSAValue] = set(first.results)
    reads = [(v, m) for v, m in zip(second.ins, second.maps_in())]
    if any(v in results and not m.is_identity for v, m in reads) or _reads_at_computed(second, results):
        return "the later one reads the earlier one at other points"
    if not any(v in results for v, _ in reads) and not set(first.ins) & set(second.ins):
        return "they have no operand in common"
    return ""


def _remark(costs: Costs, first: GenericOp, second: GenericOp, reason: str) -> None:
    """Both ways' traffic: one pass reads what both use once, and what flows between them not at all."""
    between = [v for v in second.ins if v in set(first.results)]
    both = [v for v in second.ins if v in set(first.ins)]
    apart = [*first.ins, *first.results, *second.ins, *second.results]
    saved = sum(map(bytes_of, [*between, *both]))
    total = sum(map(bytes_of, apart))
    choices = {"one pass": costs.moving(total - saved, near=False), "two": costs.moving(total, near=False)}
    what = f"{kernel_label(first)} | {kernel_label(second)}"
    chosen, why = ("two passes", reason) if reason else ("one pass", "they share operands, point by point")
    remark("fusion", what, chosen, why, choices if not reason else None, second)


def _reads(nest: GenericOp, values: set[SSAValue]) -> bool:
    return any(v in values for v in nest.operands) or _reads_at_computed(nest, values)


def _reads_at_computed(nest: GenericOp, values: set[SSAValue]) -> bool:
    """Whether the body reads one of the values at computed indices, which needs it whole."""
    return any(v in values for op in nest.body.block.ops for v in op.operands)


def _merge(first: GenericOp, second: GenericOp, known: _Known) -> GenericOp:
    """One nest: the first's body, then the second's with what it read of the first's results taken from registers.

    `known` is what the first's body computes, or empty at first; it gets what the new body does.
    """
    ins = list(first.ins)
    maps = list(first.maps_in())
    body = first.body.block
    first_yield = body.last_op
    assert isinstance(first_yield, YieldOp)
    produced: dict[SSAValue, SSAValue] = dict(zip(first.results, first_yield.values))
    replacements: list[SSAValue] = []
    arguments = {(v, m): a for v, m, a in zip(ins, maps, body.args)}
    for value, index, argument in zip(second.ins, second.maps_in(), second.body.block.args):
        if value in produced:
            replacements.append(produced[value])
            continue
        found = arguments.get((value, index))
        if found is None:
            ins.append(value)
            maps.append(index)
            found = arguments[value, index] = body.insert_arg(argument.type, len(body.args))
        replacements.append(found)
    for argument, replacement in zip(second.body.block.args, replacements):
        argument.replace_all_uses_with(replacement)
    second_yield = second.body.block.last_op
    assert isinstance(second_yield, YieldOp)
    yielded = list(first_yield.values)
    first_yield.detach()
    first_yield.erase()
    _append(body, second.body.block, known)
    yielded += second_yield.values
    second_yield.detach()
    second_yield.erase()
    body.add_op(YieldOp(*yielded))
    first.body.detach_block(body)
    parent = second.parent
    assert parent is not None
    types = [r.type for r in (*first.results, *second.results)]
    outs = [*first.maps_out(), *second.maps_out()]
    merged = GenericOp(ins, (), first.extents.data, maps, outs, body, types)
    merged.attributes.update({k: first.attributes[k] for k in KEPT if k in first.attributes})
    parent.insert_op_after(merged, second)
    for old, new in zip((*first.results, *second.results), merged.results):
        old.replace_all_uses_with(new)
    for nest in (second, first):
        nest.detach()
        nest.erase()
    return _drop_unused(merged)


def _append(body: Block, more: Block, known: _Known) -> None:
    """Move the ops of a body behind those of another; what that one computes already is not computed again."""
    if not known:
        bound = _bound(body)
        known.update((key, op) for op in body.ops if (key := _computed(op, bound)) is not None)
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
    if op.regions or not op.results or bound & set(_symbols(op)):
        return None
    attributes = frozenset((name, a) for name, a in op.attributes.items() if name != "loc")
    return op.name, tuple(op.operands), attributes, frozenset(op.properties.items()), tuple(r.type for r in op.results)


def _symbols(op: Operation) -> Iterator[str]:
    """The names in an op's index expressions."""
    for attribute in op.attributes.values():
        exprs = (attribute.data,) if isinstance(attribute, DimAttr) else ()
        for expr in attribute.data if isinstance(attribute, DimsAttr) else exprs:
            yield from (symbol.name for symbol in expr.symbols())


def _drop_unused(nest: GenericOp) -> GenericOp:
    """Leave out results that only the merged nest itself read."""
    kept = [i for i, r in enumerate(nest.results) if r.uses.get_length() > 0]
    if len(kept) == len(nest.results) or not kept:
        return nest
    body = nest.body.block
    last = body.last_op
    assert isinstance(last, YieldOp)
    values = [last.values[i] for i in kept]
    last.detach()
    last.erase()
    body.add_op(YieldOp(*values))
    nest.body.detach_block(body)
    outs = [nest.maps_out()[i] for i in kept]
    types = [nest.results[i].type for i in kept]
    slim = GenericOp(list(nest.ins), (), nest.extents.data, nest.maps_in(), outs, body, types)
    slim.attributes.update({k: nest.attributes[k] for k in KEPT if k in nest.attributes})
    parent = nest.parent
    assert parent is not None
    parent.insert_op_after(slim, nest)
    for i, new in zip(kept, slim.results):
        nest.results[i].replace_all_uses_with(new)
    nest.detach()
    nest.erase()
    return slim
