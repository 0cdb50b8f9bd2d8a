"""Memory of row groups: shared operands are staged in row buffers, or nests are fissioned with buffers for all rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Block, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import BufferInfo, map_attr, scalar_type
from ....dialects.dims.dims import Dim, Sym, iterators, packed_strides, sym
from ....dialects.dims.index_map import IndexMap
from ..access import buffer_info, is_thread_memory
from ..matmul.match import MatmulOperands, match_matmul, match_product

__all__ = [
    "RowAccess",
    "can_fission",
    "crossing_values",
    "fission",
    "in_place_rows",
    "is_attention",
    "is_row_buffer",
    "redirect_operands",
    "row_matmul_operands",
    "row_memory",
    "stage_shared_rows",
    "uses_of_rows",
]


@dataclass(frozen=True)
class RowAccess:
    """An input of a nest, by its number, that is read at places which each are one iterator."""

    nest: int
    number: int
    exprs: tuple[Dim, ...]
    #: The extents of the iterators within a row, by iterator.
    extents: tuple[tuple[Sym, Dim], ...]


def stage_shared_rows(nests: Sequence[kernel.GenericOp], shared: int) -> list[kernel.GenericOp]:
    """Copies of the nests of a row with `shared` outer iterators, behind nests that load what several of them read."""
    made = [nest.clone() for nest in nests]
    stored = {v for nest in nests for v in nest.outs}
    loads: list[kernel.GenericOp] = []
    for value in dict.fromkeys(v for nest in nests for v in nest.ins):
        uses = uses_of_rows(nests, shared, value)
        alike = all((u.exprs, u.extents) == (uses[0].exprs, uses[0].extents) for u in uses)
        if value in stored or len(uses) < 2 or not alike:
            continue
        load = _load(nests[0].extents.data[:shared], value, uses[0])
        loads.append(load)
        own = {s for s, _ in uses[0].extents}
        for use in uses:
            nest = made[use.nest]
            nest.operands[use.number] = load.outs[0]
            index = IndexMap(nest.extents.data, tuple(e for e in use.exprs if e.symbol in own))
            maps = list(nest.in_maps.data)
            maps[use.number] = map_attr(index)
            nest.attributes["in_maps"] = ArrayAttr(maps)
    return [*loads, *made]


def uses_of_rows(nests: Sequence[kernel.GenericOp], shared: int, value: SSAValue) -> list[RowAccess]:
    """The inputs of the nests that are elements of a row of a value."""
    found: list[RowAccess] = []
    for at, nest in enumerate(nests):
        extents = nest.bounds
        for number, (used, index) in enumerate(nest.element_inputs()):
            symbols = [e.symbol for e in index.exprs]
            if used is not value or index.guards or None in symbols or len(set(symbols)) < len(symbols):
                continue
            own = tuple((s, extents[s]) for s in symbols if s in extents and int(s.name[1:]) >= shared)
            if own and all(s in extents for s in symbols):
                found.append(RowAccess(at, number, index.exprs, own))
    return found


def _load(outer: tuple[Dim, ...], value: SSAValue, use: RowAccess) -> kernel.GenericOp:
    """The nest that copies a row of a value."""
    dims = tuple(extent for _, extent in use.extents)
    renamed = {s: sym(f"d{len(outer) + i}") for i, (s, _) in enumerate(use.extents)}
    extents = (*outer, *dims)
    info = buffer_info(value)
    row = loop.AllocOp(BufferInfo.packed(info.dtype, dims), 0, "thread")
    body = Block(arg_types=[scalar_type(info.dtype)])
    body.add_op(kernel.YieldOp(body.args[0]))
    source = IndexMap(extents, tuple(e.substitute(renamed) for e in use.exprs))
    target = IndexMap(extents, tuple(renamed.values()))
    return kernel.GenericOp([value], [row.result], extents, [source], [target], body, [])


def can_fission(rows: kernel.RowGroupOp) -> bool:
    """Whether the nests hand rows on through their operands only."""
    return not any(is_row_buffer(v) for v in _read(rows.nests))


def is_attention(rows: kernel.RowGroupOp) -> bool:
    """Whether rows begin and end with contractions along them, of the same stacks, and hand on nothing but elements."""
    ends = [row_matmul_operands(nest, rows.n_shared) for nest in (rows.nests[0], rows.nests[-1])]
    return None not in ends and len({f.batch for f in ends if f is not None}) == 1 and can_fission(rows)


def fission(
    runs: Sequence[Sequence[kernel.GenericOp]], shared: int, allocate: Callable[[BufferInfo], SSAValue],
    across: bool = False,
) -> list[list[kernel.GenericOp]]:  # fmt: skip
    """Copies of the nests of rows that `can_fission`, in runs that stand by themselves.

    What one run hands another is memory for all rows, which lie along it, or `across`; the rest stays with its row.
    """
    outer = runs[0][0].extents.data[:shared]
    whole: dict[SSAValue, SSAValue] = {}
    for value in crossing_values(runs):
        info = buffer_info(value)
        dims = (*outer, *info.dims)
        numbers = list(range(len(dims)))
        order = [*numbers[: shared - 1], *numbers[shared:], shared - 1] if across else numbers
        whole[value] = allocate(BufferInfo(info.dtype, dims, packed_strides(dims, order)))
    iterators = tuple(sym(f"d{i}") for i in range(shared))
    return [[redirect_operands(nest, whole, iterators) for nest in run] for run in runs]


def crossing_values(runs: Sequence[Sequence[kernel.GenericOp]]) -> list[SSAValue]:
    """The values of a row that more than one run has to do with."""
    used = [dict.fromkeys(v for nest in run for v in nest.operands if is_row_buffer(v)) for run in runs]
    return [v for v in dict.fromkeys(v for own in used for v in own) if sum(v in own for own in used) > 1]


def redirect_operands(
    nest: kernel.GenericOp, memory: Mapping[SSAValue, SSAValue], index: Sequence[Dim]
) -> kernel.GenericOp:
    """A copy of a nest of a row that has some of its operands in other memory, from the index `index` on."""
    copy = nest.clone()
    copy.redirect(lambda v, m: (memory[v], replace(m, exprs=(*index, *m.exprs))) if v in memory else (v, m))
    return copy


def row_matmul_operands(nest: kernel.GenericOp, shared: int) -> MatmulOperands | None:
    """The factors of a contraction along rows; what is of one row only is taken to be of all of them."""
    of_row = {v: v for v in nest.operands if is_row_buffer(v)}
    widened = redirect_operands(nest, of_row, iterators(shared))
    found, values = match_matmul(widened), match_product(nest)
    widened.erase()
    return None if found is None or values is None else replace(found, values=values)


def is_row_buffer(value: SSAValue) -> bool:
    """Whether a value has memory for one row only."""
    return is_thread_memory(value)


def in_place_rows(nests: Sequence[kernel.GenericOp], rows: Sequence[SSAValue]) -> dict[SSAValue, SSAValue]:
    """Rows that can take the place of another one, and which: maps that read it last, each element where they store."""
    found: dict[SSAValue, SSAValue] = {}
    for at, nest in enumerate(nests):
        if nest.is_reduction or len(nest.outs) != 1 or nest.outs[0] not in rows:
            continue
        (out,), (where,) = nest.outs, nest.maps_out()
        later = {v for other in nests[at + 1 :] for v in other.ins} | _read(nests[at:])
        for value, index in zip(nest.ins, nest.maps_in()):
            alone = all(m.exprs == where.exprs and not m.guards for v, m in zip(nest.ins, nest.maps_in()) if v is value)
            if value in rows and value is not out and value not in later and alone and index.exprs == where.exprs:
                if value.type == out.type and value not in found.values():
                    found[out] = value
                    break
    return found


def row_memory(
    values: Sequence[SSAValue], instead: Mapping[SSAValue, SSAValue], allocate: Callable[[BufferInfo], SSAValue]
) -> dict[SSAValue, SSAValue]:
    """Memory for values of rows, in order; that of another one for what is stored in its place (`in_place_rows`)."""
    made: dict[SSAValue, SSAValue] = {}
    for value in values:
        made[value] = made[instead[value]] if value in instead else allocate(buffer_info(value))
    return made


def _read(nests: Sequence[kernel.GenericOp]) -> set[SSAValue]:
    """What bodies read at places of their own."""
    return {op.source for nest in nests for op in nest.walk() if isinstance(op, kernel.ReadOp)}
