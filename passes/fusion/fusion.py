"""Fusion: named tensor ops become loop nests, one a materialised value (stage `evals` to stage `fused`).

What is materialised was decided before (`tx.eval`, reductions, contractions, stores, results): fusion pulls every other
map and view into the nests that use it, and the maps after a reduction or contraction become its epilogue
where they end in one value (an epilogue).  The passes behind it put nests together: those over one iteration space
(`sibling_fusion.py`), and those that exchange one row at a time (`row_fusion.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...dialects import kernel, tx
from ...dialects.attributes import from_attr, tensor_of
from ...dialects.dims.dims import Dim, iterators, sym
from ...dialects.dims.index_map import IndexMap, identity_map, product, unravel
from ...dialects.ops.structure.indexing import STORE
from ...dialects.order import FREE, Order
from ...dialects.registry import Map, Reduction, Scan, Structural, find_op
from ...dialects.scalar.builder import BodyBuilder
from ...dialects.scalar.language import Value
from ...dialects.tx import TxOp
from ...dialects.types import DTYPES, DType
from .epilogue import epilogue_root, single_transpose_use
from .nest_builder import NestBuilder, is_inlined

__all__ = ["FusionPass", "fuse"]


@dataclass(frozen=True)
class FusionPass(ModulePass):
    """tx ops to kernels.  ``maps=false`` switches all fusion of maps off.

    `has_fma` says whether scalar bodies may hold fused multiply-adds: a fact of the target.  With `locations` their ops
    say which of the user's lines they come from, as debug information needs; a nest has but one line.
    """

    name = "tx-fuse"
    maps: bool = True
    has_fma: bool = True
    locations: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            fuse(function, self)


def fuse(function: func.FuncOp, options: FusionPass) -> None:
    """Replace the body of a function of tx ops by kernels, in place."""
    old = function.body.block
    new = Block(arg_types=[a.type for a in old.args])
    for before, after in zip(old.args, new.args):
        after.name_hint = before.name_hint
    scope = _Scope(options, new, dict(zip(old.args, new.args)))
    scope.run(old)
    function.detach_region(function.body)
    function.add_region(Region(new))


class _Scope:
    """One block being rebuilt: `values` maps tx values to the kernel-level tensors that hold them."""

    def __init__(self, options: FusionPass, block: Block, values: dict[SSAValue, SSAValue]):
        self.options, self.block, self.values = options, block, values
        #: The epilogue roots into which reductions are deferred.
        self.ends: set[SSAValue] = set()

    def run(self, old: Block) -> None:
        for op in old.ops:
            self._visit(op)

    def inner(self, old: Block) -> Block:
        """The kernel form of a region's block, which may use outer values."""
        new = Block(arg_types=[a.type for a in old.args])
        _Scope(self.options, new, {**self.values, **dict(zip(old.args, new.args))}).run(old)
        return new

    def _visit(self, op: Operation) -> None:
        if isinstance(op, func.ReturnOp):
            self.block.add_op(func.ReturnOp(*[self.tensor(v) for v in op.operands]))
            return
        if isinstance(op, tx.YieldOp):
            self.block.add_op(kernel.YieldOp(*[self.tensor(v) for v in op.operands]))
        elif isinstance(op, tx.ForOp):
            self._visit_for(op)
        elif isinstance(op, tx.WhileOp):
            self._visit_while(op)
        elif isinstance(op, tx.IfOp):
            self._visit_if(op)
        else:
            assert isinstance(op, TxOp), f"fusion meets {op.name}, which is no tx op"
            if isinstance(op, tx.MapOp) and not self.options.maps:
                self.tensor(op.results[0])
            elif is_inlined(op):
                return
            elif (end := self._deferred_into(op)) is not None:
                self.ends.add(end)
            else:
                handler = getattr(self, f"_visit_{op.decl.name}", None) or getattr(self, f"_visit_{op.decl.family}")
                handler(op)

    def _visit_eval(self, op: TxOp) -> None:
        self.values[op.results[0]] = self.tensor(op.operands[0])

    def _visit_empty(self, op: TxOp) -> None:
        empty = kernel.EmptyOp(op.results[0].type)
        self.block.add_op(empty)
        self.values[op.results[0]] = empty.result

    def _visit_reduction(self, op: tx.ReductionOp) -> None:
        self._emit(op, build_single_reduction(self, op))

    def _visit_scan(self, op: tx.ScanOp) -> None:
        self._emit(op, build_scan(self, op))

    def _visit_contract(self, op: tx.ContractOp) -> None:
        self._emit(op, build_contraction(self, op))

    def _visit_structural(self, op: TxOp) -> None:
        """What is no nest: its operands in memory, and a loop generator of its own."""
        decl = op.decl
        assert issubclass(decl, Structural) and decl.foreign, f"fusion has no rule for {op.name}"
        params = {**op.params, "has_fma": self.options.has_fma}
        ins = [self.tensor(v) for v in op.operands]
        types = [r.type for r in op.results]
        self._emit(op, kernel.CustomOp(decl.foreign, ins, (), params, types, decl.in_place))

    def _visit_insert(self, op: TxOp) -> None:
        base, value = op.operands
        store: IndexMap = op.params["map"]
        nest = self.nest(store.extents, op)
        pulled = nest.inline(value, identity_map(store.extents))
        self._emit(op, nest.build_store(pulled, self.tensor(base), store))

    def _visit_scatter(self, op: TxOp) -> None:
        base, value, *indices = op.operands
        target, params = self.tensor(base), op.params
        combine = None if params["combine"] == STORE else find_op(params["combine"])
        assert combine is None or issubclass(combine, Map)

        def nest() -> kernel.ScatterOp:
            store: IndexMap = params["map"]
            return self.nest(store.extents, op).build_scatter(value, indices, target, store, params["limits"], combine)

        made = nest()
        if made.disturbs([target]):
            # All is read before anything is stored.
            for v in (value, *indices):
                self.tensor(v)
            made = nest()
        self._emit(op, made)

    def _visit_for(self, op: tx.ForOp) -> None:
        inits = [self.tensor(v) for v in op.operands]
        lower, upper, step = op.range
        self._emit(
            op, kernel.ForOp(op.symbol.name, lower, upper, step, inits, self.inner(op.block), op.ends_at, op.only)
        )

    def _visit_while(self, op: tx.WhileOp) -> None:
        inits = [self.tensor(v) for v in op.operands]
        condition, body = (self.inner(r.block) for r in op.regions)
        self._emit(op, kernel.WhileOp(inits, condition, body))

    def _visit_if(self, op: tx.IfOp) -> None:
        condition = self.tensor(op.operands[0])
        then, otherwise = (self.inner(r.block) for r in op.regions)
        self._emit(op, kernel.IfOp(condition, then, otherwise, [r.type for r in op.results]))

    def _emit(self, op: Operation, made: Operation) -> None:
        made.attributes.update(_preserved_attributes(op))
        self.block.add_op(made)
        self.values.update(zip(op.results, made.results))

    def nest(self, extents: tuple[Dim, ...], root: Operation) -> NestBuilder:
        """A builder of the nest that `root` needs."""
        options = self.options
        return NestBuilder(extents, self.values.get, self.tensor, options.has_fma, options.locations, root)

    def tensor(self, value: SSAValue) -> SSAValue:
        """The kernel-level tensor that holds a value, computing it here where nothing holds it yet."""
        found = self.values.get(value)
        if found is not None:
            return found
        op = value.owner
        assert isinstance(op, TxOp)
        if not is_inlined(op):
            assert isinstance(op, (tx.ReductionOp, tx.ContractOp))
            self._emit(op, build_reduction(self, op))
            return self.values[value]
        made = self._epilogue(value) or self._map_nest(value)
        made.attributes.update(_preserved_attributes(op))
        self.block.add_op(made)
        self.values[value] = made.results[0]
        return made.results[0]

    def _map_nest(self, value: SSAValue) -> Operation:
        extents, root = tensor_of(value.type).dims, value.owner
        assert isinstance(root, TxOp)
        nest = self.nest(extents, root)
        return nest.build_map(nest.inline(value, identity_map(extents)), [value.type])

    def _epilogue(self, value: SSAValue) -> Operation | None:
        """A deferred reduction at the root of this chain of maps, with the chain as its epilogue."""
        anchor = self._anchor(value) if value in self.ends else None
        return None if anchor is None else build_reduction(self, anchor, value)

    def _anchor(self, value: SSAValue) -> tx.ReductionOp | tx.ContractOp | None:
        """The first reduction or contraction, not materialised yet, for which this value is the end of its epilogue."""
        waiting, seen = [value], {value}
        while waiting:
            op = waiting.pop().owner
            if isinstance(op, (tx.ReductionOp, tx.ContractOp)):
                if self._deferred_into(op) is value:
                    return op
            elif isinstance(op, tx.MapOp | tx.ViewOp):
                new = [v for v in reversed(op.operands) if v not in seen and v not in self.values]
                seen.update(new)
                waiting += new
        return None

    def _deferred_into(self, op: TxOp) -> SSAValue | None:
        """The epilogue root of a reduction: the end, in memory, of the maps after it."""
        if not self.options.maps or not isinstance(op, (tx.ReductionOp, tx.ContractOp)) or len(op.results) != 1:
            return None
        return epilogue_root(op.results[0])


def _preserved_attributes(op: Operation) -> dict[str, Attribute]:
    """What a kernel takes over from an op: where it is from, and how its result is stored."""
    return {k: op.attributes[k] for k in ("loc", "layout") if k in op.attributes}


def build_reduction(scope: _Scope, op: tx.ReductionOp | tx.ContractOp, epilogue: SSAValue | None = None) -> Operation:
    """The nest of a reduction, scan or contraction."""
    if isinstance(op, tx.ContractOp):
        return build_contraction(scope, op, epilogue)
    if isinstance(op, tx.ScanOp):
        return build_scan(scope, op, epilogue)
    return build_single_reduction(scope, op, epilogue)


def build_single_reduction(scope: _Scope, op: tx.ReductionOp, epilogue: SSAValue | None = None) -> Operation:
    """``tx.sum`` and kin: parallel iterators for the remaining dims, one linear iterator for the reduced ones."""
    decl = op.bound
    assert issubclass(decl, Reduction)
    operand = tensor_of(op.operands[0].type)
    reduced: tuple[int, ...] = op.params["dims"]
    remaining = [i for i in range(operand.rank) if i not in reduced]
    results, free = _results(op, [operand.dims[i] for i in remaining], epilogue)
    nest = scope.nest((*results, product([operand.dims[i] for i in reduced])), op)
    k = sym(f"d{len(remaining)}")
    where = dict(zip(remaining, free)) | dict(zip(reduced, unravel(k, [operand.dims[i] for i in reduced])))
    x = nest.inline(op.operands[0], nest.index([where[i] for i in range(operand.rank)]))
    b = nest.builder
    elements = decl.map_element(b, x, b.index(k)) if decl.indexed else decl.map_element(b, x, x)
    accumulators = list(zip(decl.identity(operand.dtype), decl.accumulators(operand.dtype), strict=True))
    return _build_reduction(
        nest, op, accumulators, elements, op.order, decl.combine,
        lambda b, finals: decl.finalize(b, finals, operand.dtype), epilogue, free,
    )  # fmt: skip


def _results(
    op: tx.ReductionOp | tx.ContractOp, remaining: Sequence[Dim], epilogue: SSAValue | None
) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
    """The extents of a reduction's results in the order in which its nest runs them, and the iterator of each remaining
    dim."""
    view = None if epilogue is None else single_transpose_use(op.results[0])
    if view is None:
        return tuple(remaining), iterators(len(remaining))
    return view.map.extents, view.map.exprs


def build_scan(scope: _Scope, op: tx.ScanOp, epilogue: SSAValue | None = None) -> Operation:
    """``tx.cumsum`` and kin: parallel iterators for the other dims, the last one along the axis."""
    decl = op.bound
    assert issubclass(decl, Scan)
    monoid, operand, exclusive = decl.reduction(), tensor_of(op.operands[0].type), bool(op.params["exclusive"])
    others = [i for i in range(operand.rank) if i != op.axis]
    nest = scope.nest((*[operand.dims[i] for i in others], operand.dims[op.axis]), op)
    where = dict(zip((*others, op.axis), iterators(operand.rank)))
    at = nest.index([where[i] for i in range(operand.rank)])
    b, x = nest.builder, nest.inline(op.operands[0], at)
    accumulators = list(zip(decl.identity(operand.dtype), monoid.accumulators(operand.dtype), strict=True))
    return _build_reduction(
        nest, op, accumulators, monoid.map_element(b, x, x), op.order, monoid.combine,
        lambda b, finals: decl.finalize(b, finals, operand.dtype, exclusive), epilogue, at.exprs,
        at, "exclusive" if exclusive else "inclusive",
    )  # fmt: skip


def build_contraction(scope: _Scope, op: tx.ContractOp, epilogue: SSAValue | None = None) -> Operation:
    """``tx.contract``: dims of both, free dims of the left, of the right operand, one linear contracted iterator."""
    left, right = (tensor_of(v.type) for v in op.operands)
    pairs, batch = op.pairs, op.batch
    left_free = [i for i in range(left.rank) if i not in [p[0] for p in (*batch, *pairs)]]
    right_free = [i for i in range(right.rank) if i not in [p[1] for p in (*batch, *pairs)]]
    contracted = [left.dims[i] for i, _ in pairs]
    remaining = [
        *[left.dims[i] for i, _ in batch],
        *[left.dims[i] for i in left_free],
        *[right.dims[i] for i in right_free],
    ]
    columns = _transposed_result_order(
        op if epilogue is None else epilogue.owner, len(batch), len(left_free), len(remaining)
    )
    results, free = _results(op, remaining, epilogue) if columns is None else _in_order(remaining, columns)
    nest = scope.nest((*results, product(contracted)), op)
    ks = unravel(sym(f"d{len(remaining)}"), contracted)
    both, lefts, rights = free[: len(batch)], free[len(batch) : len(batch) + len(left_free)], free[-len(right_free) :]
    at_left = dict(zip(left_free, lefts)) | {i: k for (i, _), k in zip((*batch, *pairs), (*both, *ks))}
    at_right = dict(zip(right_free, rights)) | {j: k for (_, j), k in zip((*batch, *pairs), (*both, *ks))}
    a = nest.inline(op.operands[0], nest.index([at_left[i] for i in range(left.rank)]))
    c = nest.inline(op.operands[1], nest.index([at_right[i] for i in range(right.rank)]))
    element = tensor_of(op.results[0].type).dtype
    order: Order = op.order
    accumulator = left.dtype.computes_in if left.dtype.is_float else element
    b = nest.builder
    a, c = b.cast(a, accumulator), b.cast(c, accumulator)
    if columns is not None:
        a, c = c, a
    elements = (a, c) if order.product else (_times(b, a, c),)
    zero: float | int = 0.0 if accumulator.is_float else 0
    if accumulator.kind == "bool":
        zero = False
    return _build_reduction(
        nest, op, [(zero, accumulator)], elements, order, _added, lambda b, s: (b.cast(s[0], element),), epilogue, free,
        None if columns is None else nest.index(free),
    )  # fmt: skip


def _transposed_result_order(stored: Operation | Block, batch: int, left: int, rank: int) -> tuple[int, ...] | None:
    """The order in which a product is stored, where that is with rows, of the left operand's dims, as the fastest.

    Then the factors change places: of the transposed operands the product is the transpose, element by element.
    """
    if not isinstance(stored, Operation) or "layout" not in stored.attributes or left in (0, rank - batch):
        return None
    order: tuple[int, ...] = from_attr(stored.attributes["layout"])
    groups = [0 if i < batch else 2 if i < batch + left else 1 for i in order]
    return order if groups == sorted(groups) else None


def _in_order(remaining: Sequence[Dim], order: Sequence[int]) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
    """As `_results`: results in an order of their dims."""
    indices = dict(zip(order, iterators(len(order))))
    return tuple(remaining[i] for i in order), tuple(indices[i] for i in range(len(order)))


def _times(b: BodyBuilder, x: Value, y: Value) -> Value:
    return x & y if x.dtype is DTYPES["bool"] else x * y


def _added(b: BodyBuilder, older: tuple[Value, ...], newer: tuple[Value, ...]) -> tuple[Value, ...]:
    (x,), (y,) = older, newer
    return (x | y if x.dtype is DTYPES["bool"] else x + y,)


def _build_reduction(
    nest: NestBuilder,
    op: TxOp,
    accumulators: list[tuple[float | int | bool, DType]],
    elements: Sequence[Value],
    order: Order | None,
    merge: Callable[[BodyBuilder, tuple[Value, ...], tuple[Value, ...]], tuple[Value, ...]],
    finalize: Callable[[BodyBuilder, tuple[Value, ...]], Sequence[Value]],
    epilogue: SSAValue | None,
    index: Sequence[Dim],
    out: IndexMap | None = None,
    scan: str = "",
) -> Operation:
    """The nest of a reduction; with an epilogue its `finalize` goes on to the value at the end of the chain.

    `index` is the index of the reduction's own result.  A `scan` writes at every point, where `out` says.
    """
    at = out or nest.index(iterators(len(nest.extents) - 1))

    def epilogue_block(b: BodyBuilder, finals: tuple[Value, ...]) -> Sequence[Value]:
        results = finalize(b, finals)
        if epilogue is None:
            return results
        nest.bind(op.results[0], nest.index(index), results[0])
        return (nest.inline(epilogue, at),)

    types: list[Attribute] = [r.type for r in op.results] if epilogue is None else [epilogue.type]
    return nest.build_reduction_nest(accumulators, elements, order or FREE, merge, epilogue_block, types, at, scan)
