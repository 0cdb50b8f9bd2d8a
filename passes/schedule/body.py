"""Copies of nests' bodies, epilogues and stores, of reductions and scatters, to places of their iterators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects import kernel, loop
from ...dialects.attributes import BufferInfo, scalar_dtype
from ...dialects.dims.analysis import expand_mods, simplify
from ...dialects.dims.dims import Dim, Sym, minimum, packed_strides, sym
from ...dialects.dims.index_map import IndexMap
from ...dialects.order import Order
from ...dialects.scalar.builder import BodyBuilder
from ...dialects.scalar.hints import NEWTON
from ..cost.kernel_stats import remark_kernel
from ..cost.remarks import enabled
from ..cost.work import bytes_of, operations_and_chain, point_time
from ..locations import copy_loc
from .access import Point, accumulator_types, backward_slice, buffer_info, changing_ops, is_thread_memory, order_of
from .blocks import Range
from .function import FunctionContext, if_positive

__all__ = ["ScheduleContext"]

#: `arith.cmpi`'s number of ``sge``.
SIGNED_AT_LEAST = 5


@dataclass
class ScheduleContext(FunctionContext):
    """A function being built, and what copies of nests' bodies to places of their iterators ask for."""

    #: What must not be negative where the nest's stores, and the loads of its epilogue, are.
    store_guards: tuple[Dim, ...] = ()
    #: Buffers of one element whose value stays in a register from its store on, and these values.
    scalar_buffers: set[SSAValue] = field(default_factory=set)
    scalar_values: dict[SSAValue, SSAValue] = field(default_factory=dict)
    #: Buffers that are subviews of others: which, and the first indices of the subview.
    subviews: dict[SSAValue, tuple[SSAValue, tuple[Dim, ...]]] = field(default_factory=dict)
    #: Reductions that evaluate the map in front of them, and these maps (`rows/fuse_map_into_reduction.py`).
    fused_maps: Mapping[kernel.GenericOp, kernel.GenericOp] = field(default_factory=dict)
    #: Expressions over a nest's iterators that are not negative anywhere in the loops being written.
    proven_guards: frozenset[Dim] = frozenset()
    #: Whether stores may be non-temporal.
    nontemporal: bool = True
    #: Whether reductions evaluate the maps in front of them.
    fuse_maps: bool = True
    #: Whether reductions down columns have a form for operands that exceed L2.
    column_tiles: bool = True
    #: Extents of iterators of the loops being written, by which indices become simpler.
    extents: Mapping[Sym, Dim] = field(default_factory=dict)

    def grain(self, inner: Dim, nest: kernel.GenericOp) -> Dim:
        """Iterations of an outer loop that make one parallel task, when each does `inner` points of a nest."""
        return self.costs.grain(inner, point_time(nest, self.costs))

    def chunk(self, nest: kernel.GenericOp) -> int:
        """Points of a nest that make one parallel task.

        What one thread then scatters to is its own, as far as its cache holds it: of a light
        nest more than sharing saves is lost when the other half comes from another core, about as from memory.  So is
        what it reads for that, as far as the last cache holds it: the other threads sleep meanwhile.
        """
        time, machine = point_time(nest, self.costs), self.costs.machine
        chunk = self.costs.chunk(time)
        for held, values, reads in ((machine.l2_bytes, nest.outs, False), (machine.l3_bytes, nest.ins, True)):
            for value in values:
                size = buffer_info(value).dtype.bytes
                if _in_order(value, reads) and time < self.costs.transfer_ns(size, in_l2=False):
                    chunk = max(chunk, int(held) // size)
        return chunk

    def unroll_factor(self, nest: kernel.GenericOp, along: set[Sym], gathered: int = 0) -> int:
        """Copies of a nest's body, unrolled in the loop over `along`; what does not change there runs before it.

        So many lanes are `gathered`, or scattered, one at a time: each is an operation.
        """
        operations, chain = self._operations_and_chain(changing_ops(nest, along))
        return self.costs.unroll_factor(operations + gathered, chain)

    def _operations_and_chain(self, ops: Iterable[Operation]) -> tuple[float, float]:
        """The operations of a body, with those of roots by steps, and how many of its ops wait for one another."""
        listed = list(ops)
        operations, chain = operations_and_chain(listed)
        for op in listed:
            if isinstance(every := op.attributes.get(NEWTON), IntegerAttr):
                operations += self.costs.newton_extra_ops(scalar_dtype(op.results[0].type).bits) / every.value.data
        return operations, chain

    def body(
        self, nest: kernel.GenericOp, point: Point, block: Block, loaded: Mapping[int, SSAValue] | None = None
    ) -> list[SSAValue]:
        """The nest's body at a point, appended to the block; its yielded scalars.  Some inputs may be `loaded`."""
        have = dict(loaded or {})
        if nest in self.fused_maps:
            made = self.fused_maps[nest]
            (value,) = values = self.body(made, point, block)
            self.store(made, values, point, block)
            have[list(nest.ins).index(made.outs[0])] = value
        operands = enumerate(nest.element_inputs())
        given = [have[i] if i in have else self._load(v, m, point, block) for i, (v, m) in operands]
        return self._copy(nest.body, given, dict(point), block, _yielded(nest.body))

    def operand(self, nest: kernel.GenericOp, number: int, point: Point, block: Block) -> SSAValue:
        """One input of the nest at a point."""
        return self._load(nest.ins[number], nest.maps_in()[number], point, block)

    def operand_value(self, nest: kernel.GenericOp, scalar: SSAValue, point: Point, block: Block) -> SSAValue:
        """One of the scalars of the body, with only the ops and loads that it needs."""
        needed = backward_slice(scalar)
        args: list[SSAValue] = []
        for argument, (value, index) in zip(nest.body.block.args, zip(nest.ins, nest.maps_in())):
            args.append(self._load(value, index, point, block) if argument in needed else argument)
        return self._copy(nest.body, args, dict(point), block, [scalar], needed)[0]

    def epilogue(self, nest: kernel.GenericOp, accumulators: Sequence[SSAValue], point: Point, block: Block) -> None:
        """The nest's epilogue and its stores."""
        posts = list(zip(nest.ins, nest.maps_in()))[nest.n_element_inputs :]
        loaded = [self._load(v, m, point, block) for v, m in posts]
        results = self._copy(nest.epilogue, [*accumulators, *loaded], dict(point), block, _yielded(nest.epilogue))
        self.store(nest, results, point, block)

    def store(
        self, nest: kernel.GenericOp, values: Sequence[SSAValue], point: Point, block: Block, in_order: bool = True
    ) -> None:
        """The nest's stores; `in_order` says that adjacent elements are written one after another.

        With several results no store is non-temporal: switching between them costs more than it saves.
        """
        may_bypass = in_order and self.may_be_nontemporal(nest)
        for value, out, index in zip(values, nest.outs, nest.maps_out()):
            threshold = self.costs.nontemporal_threshold if may_bypass else 0
            if may_bypass and enabled():
                self._remark_nontemporal(nest, out)
            if out in self.scalar_buffers:
                self.scalar_values[out] = value
                if is_thread_memory(out):
                    continue
            buffer, first = self.subviews.get(out, (out, ()))
            element = [*first, *(e.substitute(point) for e in index.exprs)]
            block.add_op(loop.StoreOp(value, buffer, element, self.store_guards, nontemporal=threshold))

    def may_be_nontemporal(self, nest: kernel.GenericOp) -> bool:
        """Whether a nest's stores may be non-temporal: those of a cheap map, to one result that is only written."""
        return (
            self.nontemporal
            and not nest.is_reduction
            and len(nest.outs) == 1
            and self.costs.may_bypass_cache(self._operations_and_chain(nest.body.block.ops)[0])
            and self.only_written(nest.outs[0], nest)
        )

    def _remark_nontemporal(self, nest: kernel.GenericOp, out: SSAValue) -> None:
        size = bytes_of(out)
        may_bypass = size + sum(map(bytes_of, set(nest.ins)))
        ways = {"non-temporal": may_bypass, "cached": may_bypass + size}
        chosen = f"non-temporal stores above {self.costs.nontemporal_threshold >> 20} MiB"
        why = "no read for ownership, but later readers miss the cache"
        choices = {name: self.costs.transfer_ns(moved, in_l2=False) for name, moved in ways.items()}
        remark_kernel("nontemporal", nest, chosen, why, choices)

    def only_written(self, buffer: SSAValue, nest: kernel.GenericOp) -> bool:
        """Whether a nest, with the others of its rows, uses a buffer no more than to write it once.

        Nor does what goes from place to place in it, which needs it in a cache.
        """
        parent = nest.parent_op()
        around = parent if isinstance(parent, kernel.RowGroupOp) else nest
        uses = sum(operand is buffer for inner in around.walk() for operand in inner.operands)
        return uses == 1 and not _scatters(buffer)

    def scatter(self, op: kernel.ScatterOp, point: Point, block: Block) -> None:
        """A scatter's body at a point, appended to the block, and its store.

        Where points are merged one by one, a branch leaves out those outside, which are few.  What is only stored may
        be the chosen ones of many, which no processor foresees: the others are stored elsewhere.
        """
        where = dict(point)
        loads = [self._load(v, m, point, block) for v, m in zip(op.ins, op.maps_in())]
        (value,) = self._copy(op.body, loads, where, block, _yielded(op.body))
        index = [e.substitute(where) for e in op.out_map.data.exprs]
        guards = [g.substitute(where) for g in op.out_map.data.guards]
        if not op.combiner.blocks:
            block.add_op(loop.StoreOp(value, op.base, index, guards))
            return

        def merge(inside: Block, guards: Sequence[Dim] = ()) -> None:
            there = loop.LoadOp(op.base, index, guards)
            inside.add_op(there)
            (merged,) = self._copy(op.combiner, [there.result, value], where, inside, _yielded(op.combiner))
            inside.add_op(loop.StoreOp(merged, op.base, index, guards))

        if op.runs_in_order and guards:
            if_positive(block, reduce(minimum, guards) + 1, merge, lambda _: None)
        else:
            merge(block, guards)

    def identity(self, nest: kernel.GenericOp, block: Block) -> list[SSAValue]:
        """Constants for the accumulators that a reduction or scan starts from, appended to the block."""
        assert nest.identity is not None
        found: list[SSAValue] = []
        for value in nest.identity.data:
            assert isinstance(value, (IntegerAttr, FloatAttr))
            made = arith.ConstantOp.create(result_types=[value.type], properties={"value": value})
            block.add_op(made)
            found.append(made.results[0])
        return found

    def combine(self, nest: kernel.GenericOp, accumulators: Sequence[SSAValue], block: Block) -> list[SSAValue]:
        """The nest's combiner of older and newer accumulators, appended to the block."""
        return self._copy(nest.combiner, accumulators, {}, block, _yielded(nest.combiner))

    def accumulate(
        self, nest: kernel.GenericOp, accumulators: Sequence[SSAValue], element: Sequence[SSAValue], block: Block
    ) -> list[SSAValue]:
        """Accumulators with one element more, appended to the block; two factors by the order's multiply-add."""
        if not (product := order_of(nest).product):
            return self.combine(nest, [*accumulators, *element], block)
        b, dtype = BodyBuilder(block, has_fma=product == "fma"), scalar_dtype(accumulators[0].type)
        x, y, total = (b.wrap(v, dtype) for v in (*element, *accumulators))
        return [b.fma(x, y, total).ref]

    def accumulators(
        self, block: Block, nest: kernel.GenericOp, dims: Sequence[Dim], strides: Sequence[Dim] = (),
        scope: str = "arena",
    ) -> list[SSAValue]:  # fmt: skip
        """Memory for accumulators of a reduction, packed where no strides are given."""
        shape = (*dims,), (*(strides or packed_strides(dims)),)
        types = map(scalar_dtype, accumulator_types(nest))
        return [self.allocate(block, BufferInfo(dtype, *shape), scope) for dtype in types]

    def reduce(
        self, nest: kernel.GenericOp, block: Block, elements: Range, write: Callable[[Block], Sequence[SSAValue]], *,
        order: Order | None = None, vector: int = 1, cooperative: bool = False,
    ) -> list[SSAValue]:  # fmt: skip
        """One `loop.reduce` of what `write` gives for each element, by the nest's combiner; its accumulators.

        The order is the nest's unless another is given.
        """
        assert nest.identity is not None
        body = Block()
        body.add_op(loop.YieldOp(*write(body)))
        made = loop.ReduceOp(
            str(elements.iterator), elements.lower, elements.upper, body, self.combiner_block(nest),
            order=order or order_of(nest), identity=list(nest.identity.data), types=accumulator_types(nest),
            vector=vector, cooperative=cooperative,
        )  # fmt: skip
        block.add_op(made)
        return list(made.outs)

    def combiner_block(self, nest: kernel.GenericOp) -> Block:
        """A copy of the nest's combiner, as a block for `loop.reduce`."""
        source = nest.combiner.block
        block = Block(arg_types=[a.type for a in source.args])
        values: dict[SSAValue, SSAValue] = dict(zip(source.args, block.args))
        for op in source.ops:
            block.add_op(self._copied(op, values, {}))
        return block

    def _load(self, buffer: SSAValue, index: IndexMap, point: Point, block: Block) -> SSAValue:
        if buffer in self.scalar_values:
            return self.scalar_values[buffer]
        guards = [simplify(g.substitute(point), self.extents) for g in index.guards if g not in self.proven_guards]
        guards += self.store_guards
        buffer, first = self.subviews.get(buffer, (buffer, ()))
        element = [*first, *(simplify(e.substitute(point), self.extents) for e in index.exprs)]
        made = loop.LoadOp(buffer, element, guards)
        block.add_op(made)
        return made.result

    def _copy(
        self,
        region: Region,
        args: Sequence[SSAValue],
        where: dict[Sym, Dim],
        block: Block,
        wanted: Sequence[SSAValue],
        needed: set[SSAValue] | None = None,
    ) -> list[SSAValue]:
        """The region's ops (those that give something `needed`) at a point; the `wanted` scalars.

        `where` learns what the region binds.
        """
        source = region.block
        values: dict[SSAValue, SSAValue] = dict(zip(source.args, args))
        for op in source.ops:
            if isinstance(op, kernel.YieldOp):
                continue
            if needed is not None and not any(r in needed for r in op.results):
                continue
            made = self._copied(op, values, where)
            block.add_op(made)
            copy_loc(op, block, made.prev_op)
        return [values.get(v, v) for v in wanted]

    def _is_certain(self, op: arith.CmpiOp) -> bool:
        """Whether an op asks if an expression that `holds` is at least zero."""
        asked, zero = op.lhs.owner, op.rhs.owner
        return (
            isinstance(asked, loop.IndexOp)
            and asked.expr.data in self.proven_guards
            and isinstance(zero, arith.ConstantOp)
            and isinstance(zero.value, IntegerAttr)
            and zero.value.value.data == 0
            and op.predicate.value.data == SIGNED_AT_LEAST
        )

    def _copied(self, op: Operation, values: dict[SSAValue, SSAValue], where: dict[Sym, Dim]) -> Operation:
        """A body's op at a point; `values` and `where` learn what it defines."""
        if isinstance(op, kernel.ReadOp):
            guards = op.guards.data if op.guards is not None else ()
            index = [e.substitute(where) for e in op.index.data]
            source, first = self.subviews.get(op.source, (op.source, ()))
            made: Operation = loop.LoadOp(source, [*first, *index], [g.substitute(where) for g in guards])
        elif isinstance(op, arith.CmpiOp) and self._is_certain(op):
            made = arith.ConstantOp.from_int_and_width(1, 1)
        elif isinstance(op, loop.IndexOp):
            made = loop.IndexOp(op.expr.data.substitute({s: expand_mods(e) for s, e in where.items()}))
        elif isinstance(op, loop.BindOp):
            fresh = sym(f"{kernel.BOUND}{next(self.counter)}.")
            where[Sym(op.symbol.data)] = fresh
            made = loop.BindOp(values.get(op.value, op.value), str(fresh))
        else:
            made = _cloned(op, values)
            for region in op.regions:
                block = Block(arg_types=[a.type for a in region.block.args])
                values.update(zip(region.block.args, block.args))
                made.add_region(Region(block))
                for inner in region.block.ops:
                    block.add_op(self._copied(inner, values, where))
        values.update(zip(op.results, made.results))
        return made


def _in_order(buffer: SSAValue, reads: bool) -> bool:
    """Whether one thread stores into a buffer at places that are data, or `reads` it for that."""
    scatters = (use.operation for use in buffer.uses if isinstance(use.operation, kernel.ScatterOp))
    return any(op.runs_in_order and (op.base is not buffer) == reads for op in scatters)


def _scatters(buffer: SSAValue) -> list[kernel.ScatterOp]:
    """The scatters that store into a buffer."""
    return [op for use in buffer.uses if isinstance(op := use.operation, kernel.ScatterOp) and op.base is buffer]


def _yielded(region: Region) -> Sequence[SSAValue]:
    last = region.block.last_op
    assert isinstance(last, kernel.YieldOp), "a body ends in kernel.yield"
    return last.values


def _cloned(op: Operation, values: dict[SSAValue, SSAValue]) -> Operation:
    if isinstance(op, kernel.YieldOp):
        return loop.YieldOp(*[values.get(v, v) for v in op.values])
    return type(op).create(
        operands=[values.get(v, v) for v in op.operands],
        result_types=[r.type for r in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
    )
