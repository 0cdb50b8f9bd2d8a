"""Builds one `kernel.generic` by pulling an expression of `tx` ops into a scalar body.

`inline(value, index)` gives the scalar of a tensor value at a point of the nest's iteration space: maps become
arithmetic, views compose into the index map, and a value that is materialised becomes an input with that map.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.attributes import scalar_type
from ...dialects.dims.dims import Dim, Sym, iterators, sym
from ...dialects.dims.index_map import IndexMap
from ...dialects.kernel import BOUND, GenericOp, ReadOp, ScatterOp, YieldOp, shape_of
from ...dialects.loop import BindOp
from ...dialects.ops.structure.indexing import index_symbols
from ...dialects.order import Order
from ...dialects.registry import INHABITED, Map
from ...dialects.scalar.builder import BodyBuilder, scalar_constant
from ...dialects.scalar.language import Value
from ...dialects.tx import TxOp, ViewOp
from ...dialects.types import DTYPES, DType

__all__ = ["NestBuilder", "is_inlined"]

#: Ops without a loop of their own: they are computed where their consumers need them.
INLINED = ("constant", "dim", "iota", "take")


def is_inlined(op: Operation | Block) -> bool:
    """Whether an op's value is recomputed inside its consumers unless something asks for it in memory."""
    return isinstance(op, TxOp) and (op.decl.family in ("map", "view") or op.decl.name in INLINED)


class NestBuilder:
    """Collects inputs and body of one nest.  `materialised(value)` is the kernel-level tensor of a value, or None.

    With `locations` each scalar op has the ``loc`` of the tensor op that it computes; the nest is that of `root`.
    """

    def __init__(
        self,
        extents: tuple[Dim, ...],
        materialised: Callable[[SSAValue], SSAValue | None],
        require: Callable[[SSAValue], SSAValue],
        has_fma: bool,
        locations: bool = False,
        root: Operation | None = None,
    ):
        self.extents = extents
        self.block = Block()
        self.locations = locations
        self.builder = BodyBuilder(self.block, has_fma, root.attributes.get("loc") if locations and root else None)
        self.materialised, self.require = materialised, require
        self.ins: list[SSAValue] = []
        self.maps: list[IndexMap] = []
        self._inputs: dict[tuple[SSAValue, IndexMap], Value] = {}
        self._pulled: dict[tuple[SSAValue, IndexMap], Value] = {}
        self._bound = 0

    def index(self, exprs: Sequence[Dim]) -> IndexMap:
        """A map of this nest's iteration space."""
        return IndexMap(self.extents, tuple(exprs)).simplified()

    def enter_region(self, block: Block) -> tuple[Block, BodyBuilder]:
        """Go on in another region (a reduction's `finalize`): what was pulled before is out of sight there."""
        left = (self.block, self.builder)
        self.block, self.builder = block, BodyBuilder(block, self.builder.has_fma, self.builder.loc)
        self._inputs, self._pulled = {}, {}
        return left

    def bind(self, value: SSAValue, index: IndexMap, scalar: Value) -> None:
        """Say what `inline` of a value at an index gives in the current region."""
        self._pulled[value, index] = scalar

    def inline(self, value: SSAValue, index: IndexMap) -> Value:
        """The scalar of a value at a point; what it is made from first, on a stack of our own: chains may be long."""
        found = self._pulled.get((value, index))
        if found is not None:
            return found
        waiting = [((value, index), False)]
        while waiting:
            key, ready = waiting.pop()
            if key in self._pulled:
                continue
            under = [] if ready else [k for k in self._dependencies(*key) if k not in self._pulled]
            if under:
                waiting += [(key, True), *((k, False) for k in reversed(under))]
            else:
                self._pulled[key] = self._located(*key) if self.locations else self._compute(*key)
        return self._pulled[value, index]

    def _dependencies(self, value: SSAValue, index: IndexMap) -> list[tuple[SSAValue, IndexMap]]:
        """What `_compute` will pull for a map or a view."""
        op = value.owner
        if not isinstance(op, TxOp) or self.materialised(value) is not None:
            return []
        if isinstance(op, ViewOp):
            return [(op.operands[0], self._composed(op, index))]
        return [(v, index) for v in op.operands] if issubclass(op.decl, Map) else []

    def _located(self, value: SSAValue, index: IndexMap) -> Value:
        """`_compute` with the builder at the place of the value's op."""
        around, op = self.builder.loc, value.owner
        if isinstance(op, Operation):
            self.builder.loc = op.attributes.get("loc", around)
        made = self._compute(value, index)
        self.builder.loc = around
        return made

    def _compute(self, value: SSAValue, index: IndexMap) -> Value:
        tensor = self.materialised(value)
        op = value.owner
        if tensor is None and not is_inlined(op):
            tensor = self.require(value)
        if tensor is not None:
            return self._input(tensor, index)
        assert isinstance(op, TxOp)
        decl = op.decl
        if issubclass(decl, Map):
            return self._map(op, decl, index)
        if isinstance(op, ViewOp):
            return self._view(op, index)
        return getattr(self, f"_{decl.name}")(op, index)

    def _input(self, tensor: SSAValue, index: IndexMap) -> Value:
        element = shape_of(tensor.type)[0]
        index = index.simplified()
        if any(self._is_bound(e) for e in index.exprs):
            return self.builder.wrap(self.builder.append(ReadOp(tensor, index.exprs, index.guards)), element)
        key = (tensor, index)
        found = self._inputs.get(key)
        if found is None:
            self.ins.append(tensor)
            self.maps.append(index)
            argument = self.block.insert_arg(scalar_type(element), len(self.block.args))
            found = self._inputs[key] = self.builder.wrap(argument, element)
        return found

    def _map(self, op: TxOp, decl: type[Map], index: IndexMap) -> Value:
        operands = [self.inline(v, index) for v in op.operands]
        if decl.guarded and index.guards:
            return decl.build(self.builder, *operands, **op.params, inside=self._inside(index.guards))
        if decl.params:
            return decl.build(self.builder, *operands, **op.params)
        return self.builder.apply(decl, operands)

    def _view(self, op: ViewOp, index: IndexMap) -> Value:
        value = self.inline(op.operands[0], self._composed(op, index))
        if not op.map.guards:
            return value
        inner = op.map.after(IndexMap(index.extents, index.exprs))
        guards = IndexMap(index.extents, (), inner.guards).simplified().guards
        if not guards:
            return value
        return self.builder.select(self._inside(guards), value, self.builder.constant(op.fill, value.dtype))

    def _composed(self, op: ViewOp, index: IndexMap) -> IndexMap:
        """Where a view at an index reads what it views."""
        inner = op.map.after(IndexMap(index.extents, index.exprs))
        return IndexMap(index.extents, inner.exprs, index.guards + inner.guards).simplified()

    def _inside(self, guards: Sequence[Dim]) -> Value:
        """Whether all guards hold."""
        inside = self.builder.index(guards[0]) >= 0
        for guard in guards[1:]:
            inside = inside & (self.builder.index(guard) >= 0)
        return inside

    def _constant(self, op: TxOp, index: IndexMap) -> Value:
        params = op.params
        return self.builder.constant(params["value"], params["dtype"])

    def _dim(self, op: TxOp, index: IndexMap) -> Value:
        return self.builder.cast(self.builder.index(op.params["expr"]), op.params["dtype"])

    def _iota(self, op: TxOp, index: IndexMap) -> Value:
        return self.builder.cast(self.builder.index(index.exprs[0]), op.params["dtype"])

    def _take(self, op: TxOp, index: IndexMap) -> Value:
        """``x[..., indices[...], ...]``: negative indices count from the end, all others are clamped into range.

        A dim without elements has none to clamp to: where it may have none the read is guarded.
        """
        source, *indices = op.operands
        axis, rank = op.params["axis"], len(shape_of(indices[0].type)[1])
        extents = shape_of(source.type)[1][axis : axis + len(indices)]
        at = IndexMap(index.extents, index.exprs[axis : axis + rank], index.guards)
        bound = []
        for given, extent in zip(indices, extents):
            b = self.builder
            position = b.minimum(b.maximum(self._position(given, at, extent), 0), b.index(extent - 1))
            bound.append(self._bind(position))
        exprs = (*index.exprs[:axis], *bound, *index.exprs[axis + rank :])
        guards = index.guards
        if op.params["mode"] != INHABITED:
            guards += IndexMap(index.extents, (), tuple(e - 1 for e in extents)).simplified().guards
        return self.inline(source, IndexMap(index.extents, exprs, guards))

    def _position(self, indices: SSAValue, at: IndexMap, extent: Dim) -> Value:
        """An index of a dim, counted from the start."""
        b = self.builder
        position = b.cast(self.inline(indices, at), DTYPES["i64"])
        return b.select(position < 0, position + b.index(extent), position)

    def _bind(self, value: Value) -> Dim:
        """A new symbol for a number that the body computes."""
        symbol = f"{BOUND}{self._bound}"
        self._bound += 1
        self.block.add_op(BindOp(value.ref, symbol))
        return sym(symbol)

    def _is_bound(self, expr: Dim) -> bool:
        return any(s.name.startswith(BOUND) for s in expr.symbols())

    def build_map(self, result: Value, result_types: Sequence[Attribute]) -> GenericOp:
        """The nest of an elementwise expression."""
        self.block.add_op(YieldOp(self.builder.ssa(result)))
        identity = self.index([sym(f"d{i}") for i in range(len(self.extents))])
        return GenericOp(self.ins, (), self.extents, self.maps, [identity], self.block, result_types)

    def build_store(self, result: Value, base: SSAValue, store: IndexMap) -> GenericOp:
        """The nest that stores an expression into a view of `base`."""
        self.block.add_op(YieldOp(self.builder.ssa(result)))
        return GenericOp(self.ins, [base], self.extents, self.maps, [store], self.block, [base.type])

    def build_scatter(
        self, value: SSAValue, indices: Sequence[SSAValue], base: SSAValue, store: IndexMap, limits: Sequence[Dim],
        combine: type[Map] | None,
    ) -> ScatterOp:  # fmt: skip
        """The nest that stores `value` where `indices`, of the leading iterators, say (see `ops.indexing.Scatter`)."""
        ordered = len(shape_of(indices[0].type)[1])
        element = self.inline(value, self.index(iterators(len(self.extents))))
        at = self.index(iterators(ordered))
        where: dict[Sym, Dim] = {}
        guards: list[Dim] = []
        for symbol, given, limit in zip(index_symbols(len(indices)), indices, limits):
            position = self._position(given, at, limit)
            # Symbols are never negative: what is outside below the start is outside beyond the end.
            bound = self._bind(self.builder.select(position < 0, self.builder.index(limit), position))
            assert symbol.symbol is not None
            where[symbol.symbol] = bound
            guards.append(limit - 1 - bound)
        self.block.add_op(YieldOp(self.builder.ssa(element)))
        index = IndexMap(self.extents, tuple(e.substitute(where) for e in store.exprs), tuple(guards)).simplified()
        merge = None
        if combine is not None:
            merge = Block(arg_types=[scalar_type(element.dtype)] * 2)
            builder = BodyBuilder(merge, self.builder.has_fma)
            merged = builder.apply(combine, [builder.wrap(a, element.dtype) for a in merge.args])
            merge.add_op(YieldOp(builder.ssa(merged)))
        return ScatterOp(self.ins, base, self.extents, ordered, self.maps, index, self.block, merge, [base.type])

    def build_reduction_nest(
        self,
        accumulators: Sequence[tuple[float | int | bool, DType]],
        elements: Sequence[Value],
        order: Order,
        merge: Callable[[BodyBuilder, tuple[Value, ...], tuple[Value, ...]], tuple[Value, ...]],
        finalize: Callable[[BodyBuilder, tuple[Value, ...]], Sequence[Value]],
        result_types: Sequence[Attribute],
        out: IndexMap | None = None,
        scan: str = "",
    ) -> GenericOp:
        """The nest of a reduction along the last iterator; `finalize` may inline further values into its region.

        A `scan` (inclusive or exclusive) writes at every point, where `out` says.
        """
        body = self.block
        body.add_op(YieldOp(*[e.ref for e in elements]))
        types = [scalar_type(d) for _, d in accumulators]
        merging = Block(arg_types=types * 2)
        builder = BodyBuilder(merging, self.builder.has_fma, self.builder.loc)
        older, newer = (
            tuple(builder.wrap(a, d) for a, (_, d) in zip(args, accumulators))
            for args in (merging.args[: len(accumulators)], merging.args[len(accumulators) :])
        )
        merging.add_op(YieldOp(*[v.ref for v in merge(builder, older, newer)]))
        entered = len(self.ins)
        epilogue_block = Block(arg_types=types)
        self.enter_region(epilogue_block)
        finals = tuple(self.builder.wrap(a, d) for a, (_, d) in zip(epilogue_block.args, accumulators))
        epilogue_block.add_op(YieldOp(*[self.builder.ssa(v) for v in finalize(self.builder, finals)]))
        parallel = len(self.extents) - 1
        out = out or self.index([sym(f"d{i}") for i in range(parallel)])
        return GenericOp(
            self.ins,
            (),
            self.extents,
            self.maps,
            [out] * len(result_types),
            body,
            result_types,
            parallel=parallel,
            epilogue_inputs=len(self.ins) - entered,
            order=order,
            identity=[scalar_constant(v, d) for v, d in accumulators],
            scan=scan,
            combiner=merging,
            epilogue=epilogue_block,
        )
