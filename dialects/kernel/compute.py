"""Compute ops of the `kernel` dialect: nests, scatters, foreign kernels, and what is in their bodies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from xdsl.dialects import builtin
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..attributes import (
    BufferType,
    DimsAttr,
    MapAttr,
    OrderAttr,
    dims_attr,
    from_attr,
    integer_attr,
    map_attr,
    order_attr,
    scalar_type,
    string_attr,
    tensor_of,
    to_attr,
)
from ..dims.dims import Dim, Sym
from ..dims.index_map import IndexMap
from ..order import Order
from ..registry import OPS
from ..types import DType

__all__ = [
    "BOUND",
    "CallOp",
    "EmptyOp",
    "ForeignOp",
    "GenericOp",
    "ReadOp",
    "ScatterOp",
    "YieldOp",
    "expect_block",
    "is_bound",
    "segments",
    "shape_of",
    "terminator",
]


def shape_of(value_type: Attribute) -> tuple[DType, tuple[Dim, ...]]:
    """The element type and dims of a tensor or a buffer."""
    if isinstance(value_type, BufferType):
        return value_type.data.dtype, value_type.data.dims
    tensor = tensor_of(value_type)
    return tensor.dtype, tensor.dims


#: What symbols bound inside a body start with; no dim of a program is called so.
BOUND = "..t"


def is_bound(symbol: Sym) -> bool:
    return symbol.name.startswith(BOUND)


@lru_cache(maxsize=4096)
def segments(ins: int, outs: int) -> Attribute:
    """How a nest's operands divide into inputs and outputs."""
    return builtin.DenseArrayBase.from_list(builtin.i32, [ins, outs])


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a region of a kernel op."""

    name = "kernel.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, *values: SSAValue):
        Operation.__init__(self, operands=values)


@irdl_op_definition
class ReadOp(IRDLOperation):
    """Inside a body: the element of a whole tensor at an index that may use symbols bound in the body."""

    name = "kernel.read"
    source = operand_def()
    index = attr_def(DimsAttr)
    guards = opt_attr_def(DimsAttr)
    result = result_def()
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, index: Sequence[Dim], guards: Sequence[Dim] = ()):
        attributes: dict[str, Attribute] = {"index": dims_attr(tuple(index))}
        if guards:
            attributes["guards"] = dims_attr(tuple(guards))
        element = scalar_type(shape_of(source.type)[0])
        Operation.__init__(self, operands=[source], result_types=[element], attributes=attributes)

    def verify_(self) -> None:
        element, dims = shape_of(self.source.type)
        if len(dims) != len(self.index.data):
            raise VerifyException(f"{len(self.index.data)} indices for rank {len(dims)}")
        if self.result.type != scalar_type(element):
            raise VerifyException(f"a read of {element} gives {scalar_type(element)}, not {self.result.type}")


@irdl_op_definition
class EmptyOp(IRDLOperation):
    """A tensor whose elements are all about to be stored."""

    name = "kernel.empty"
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, result_type: Attribute):
        Operation.__init__(self, result_types=[result_type])


@irdl_op_definition
class CallOp(IRDLOperation):
    """Inside a body: a registered map op that `math` has no op for, e.g. ``{fn = "erfc"}``; expanded when emitted."""

    name = "kernel.call"
    args = var_operand_def()
    fn = attr_def(StringAttr)
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, fn: str, args: Sequence[SSAValue], result_type: Attribute):
        Operation.__init__(self, operands=list(args), result_types=[result_type], attributes={"fn": string_attr(fn)})

    def verify_(self) -> None:
        decl = OPS.get(self.fn.data)
        if decl is None or decl.family != "map" or decl.arity != len(self.args):
            raise VerifyException(f"there is no map op {self.fn.data!r} of {len(self.args)} operands")


@irdl_op_definition
class GenericOp(IRDLOperation):
    """A loop nest over ``0 <= di < extents[i]``: `parallel` leading iterators, then at most one reduced iterator.

    `body` gets one scalar an input (the last `post` inputs excepted) and yields, without reduction, one scalar an
    output; with one, the states of an element (with an fma `order`: two factors).  `merge` combines (older…, newer…)
    states; `finish` gets the folded states and the last `post` inputs and yields one scalar an output.
    `in_maps` and `out_maps` say which element of each operand belongs to a point; outputs and post inputs use only
    parallel iterators.  With `scan` (``inclusive`` or ``exclusive``) `finish` runs at every point of the reduced
    iterator, with the states that the elements up to it, or before it, fold to; then outputs and post inputs use all
    iterators.  On tensors, `outs` is empty (fresh results) or holds the tensors that are updated, one each.
    """

    name = "kernel.generic"
    ins = var_operand_def()
    outs = var_operand_def()
    extents = attr_def(DimsAttr)
    parallel = attr_def(IntegerAttr)
    post = attr_def(IntegerAttr)
    in_maps = attr_def(ArrayAttr)
    out_maps = attr_def(ArrayAttr)
    order = opt_attr_def(OrderAttr)
    identity = opt_attr_def(ArrayAttr)
    scan = opt_attr_def(StringAttr)
    results_ = var_result_def()
    body = region_def("single_block")
    merge = region_def()
    finish = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=False),)

    def __init__(
        self,
        ins: Sequence[SSAValue],
        outs: Sequence[SSAValue],
        extents: tuple[Dim, ...],
        in_maps: Sequence[IndexMap],
        out_maps: Sequence[IndexMap],
        body: Block,
        result_types: Sequence[Attribute],
        *,
        parallel: int | None = None,
        post: int = 0,
        order: Order | None = None,
        identity: Sequence[Attribute] = (),
        scan: str = "",
        merge: Block | None = None,
        finish: Block | None = None,
    ):
        attributes: dict[str, Attribute] = {
            "extents": dims_attr(extents),
            "parallel": integer_attr(len(extents) if parallel is None else parallel),
            "post": integer_attr(post),
            "in_maps": ArrayAttr([map_attr(m) for m in in_maps]),
            "out_maps": ArrayAttr([map_attr(m) for m in out_maps]),
            "operandSegmentSizes": segments(len(ins), len(outs)),
        }
        if order is not None:
            attributes["order"] = order_attr(order)
            attributes["identity"] = ArrayAttr(identity)
        if scan:
            attributes["scan"] = string_attr(scan)
        regions = [Region(body), Region([merge] if merge else []), Region([finish] if finish else [])]
        Operation.__init__(
            self, operands=[*ins, *outs], result_types=list(result_types), attributes=attributes, regions=regions
        )

    @property
    def n_parallel(self) -> int:
        return self.parallel.value.data

    @property
    def n_post(self) -> int:
        return self.post.value.data

    @property
    def is_reduction(self) -> bool:
        return self.order is not None

    def reads_at_computed(self, values: Collection[SSAValue]) -> bool:
        """Whether the nest reads one of the values at computed indices, which needs it whole."""
        return any(isinstance(op, ReadOp) and op.source in values for op in self.walk())

    @property
    def is_scan(self) -> bool:
        return self.scan is not None

    @property
    def n_outer(self) -> int:
        """How many iterators outputs and post inputs may use."""
        return len(self.extents.data) if self.is_scan else self.n_parallel

    def maps_in(self) -> tuple[IndexMap, ...]:
        return tuple(m.data for m in self.in_maps.data if isinstance(m, MapAttr))

    def maps_out(self) -> tuple[IndexMap, ...]:
        return tuple(m.data for m in self.out_maps.data if isinstance(m, MapAttr))

    def verify_(self) -> None:
        extents = self.extents.data
        if self.n_parallel != len(extents) - (1 if self.is_reduction else 0):
            raise VerifyException("a nest has one reduced iterator where it has an order, none where it has not")
        if len(self.in_maps.data) != len(self.ins) or len(self.maps_in()) != len(self.ins):
            raise VerifyException(f"{len(self.in_maps.data)} index maps for {len(self.ins)} inputs")
        targets = [o.type for o in self.outs] or [r.type for r in self.results_]
        if self.outs and self.results_ and [o.type for o in self.outs] != [r.type for r in self.results_]:
            raise VerifyException("updated tensors and results must have the same types")
        if len(self.maps_out()) != len(targets) or not targets:
            raise VerifyException(f"{len(self.out_maps.data)} index maps for {len(targets)} outputs")
        for index, value_type in zip(self.maps_in() + self.maps_out(), [v.type for v in self.ins] + targets):
            if index.extents != extents:
                raise VerifyException(f"the index map {index} is not over the nest's iterators")
            if len(index.exprs) != len(shape_of(value_type)[1]):
                raise VerifyException(f"the index map {index} does not fit {value_type}")
        for index in self.maps_out() + self.maps_in()[len(self.ins) - self.n_post :]:
            if any(i >= self.n_outer for i in index.used()):
                raise VerifyException("outputs and post inputs are indexed by parallel iterators only")
        if self.scan is not None and (self.scan.data not in ("inclusive", "exclusive") or not self.is_reduction):
            raise VerifyException(f"'scan' is inclusive or exclusive and needs an order, not {self.scan.data!r}")
        self._verify_regions([scalar_type(shape_of(t)[0]) for t in targets])

    def _verify_regions(self, targets: list[Attribute]) -> None:
        scalars = [scalar_type(shape_of(v.type)[0]) for v in self.ins]
        entering, posted = scalars[: len(scalars) - self.n_post], scalars[len(scalars) - self.n_post :]
        expect_block(self.body.block, entering, None if self.is_reduction else targets, "body")
        if not self.is_reduction:
            if self.merge.blocks or self.finish.blocks or posted:
                raise VerifyException("merge, finish and post inputs belong to reductions")
            return
        assert self.identity is not None and self.order is not None
        yielded = [v.type for v in terminator(self.body.block, "body").values]
        states = yielded[: len(self.identity.data)]
        if yielded != states * (2 if self.order.data.product else 1):
            raise VerifyException("the body yields one value a state (two factors with an order of products)")
        expect_block(self.merge.block, states * 2, states, "merge")
        expect_block(self.finish.block, states + posted, targets, "finish")


def terminator(block: Block, what: str) -> YieldOp:
    """What ends a region; VerifyException where that is no yield."""
    last = block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException(f"the {what} region must end in kernel.yield")
    return last


def expect_block(block: Block, args: Sequence[Attribute], yielded: Sequence[Attribute] | None, what: str) -> None:
    """VerifyException unless a region takes such arguments and (unless None) yields such values."""
    found = [a.type for a in block.args]
    if found != list(args):
        raise VerifyException(f"the {what} region takes ({_list(args)}), not ({_list(found)})")
    given = [v.type for v in terminator(block, what).values]
    if yielded is not None and given != list(yielded):
        raise VerifyException(f"the {what} region yields ({_list(yielded)}), not ({_list(given)})")


def _list(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types))


@irdl_op_definition
class ScatterOp(IRDLOperation):
    """Stores at places that the body computes, over ``0 <= di < extents[i]``.

    `body` gets one scalar an input and yields the new element; it binds symbols (`loop.bind`), which the store's map
    `out_map` may use besides the iterators.  Nothing is stored where a guard of that map is negative.  `merge`, where
    it has a block, gets the element that is there and the new one, and yields what is stored.  The first `ordered`
    iterators run in order, so that of several stores to one element the last one stays; points that differ in others
    store to different elements.  On tensors the result is `base` with these stores.
    """

    name = "kernel.scatter"
    ins = var_operand_def()
    base = operand_def()
    extents = attr_def(DimsAttr)
    ordered = attr_def(IntegerAttr)
    in_maps = attr_def(ArrayAttr)
    out_map = attr_def(MapAttr)
    results_ = var_result_def()
    body = region_def("single_block")
    merge = region_def()

    def __init__(
        self, ins: Sequence[SSAValue], base: SSAValue, extents: tuple[Dim, ...], ordered: int,
        in_maps: Sequence[IndexMap], out_map: IndexMap, body: Block, merge: Block | None = None,
        result_types: Sequence[Attribute] = (),
    ):  # fmt: skip
        attributes: dict[str, Attribute] = {
            "extents": dims_attr(extents),
            "ordered": integer_attr(ordered),
            "in_maps": ArrayAttr([map_attr(m) for m in in_maps]),
            "out_map": map_attr(out_map),
        }
        regions = [Region(body), Region([merge] if merge else [])]
        Operation.__init__(
            self, operands=[*ins, base], result_types=list(result_types), attributes=attributes, regions=regions
        )

    @property
    def n_ordered(self) -> int:
        return self.ordered.value.data

    @property
    def runs_in_order(self) -> bool:
        """Whether there is nothing that threads could share."""
        return self.n_ordered == len(self.extents.data)

    @property
    def n_post(self) -> int:
        return 0

    def maps_in(self) -> tuple[IndexMap, ...]:
        return tuple(m.data for m in self.in_maps.data if isinstance(m, MapAttr))

    def disturbs(self, values: Collection[SSAValue]) -> bool:
        """Whether a point may read of one of the values what another point stores, if they share memory with the base.

        A point stores after it has read.  So without order, and where the store's place differs between points in dims
        that no data decides, what agrees with the store in these dims is a point's own.
        """
        own = [i for i, e in enumerate(self.out_map.data.exprs) if not any(is_bound(s) for s in e.symbols())]
        exprs = [self.out_map.data.exprs[i] for i in own]
        apart = {s for e in exprs for s in e.symbols()} >= {Sym(f"d{i}") for i in range(len(self.extents.data))}
        reads = [(v, m.exprs) for v, m in zip(self.ins, self.maps_in())]
        reads += [(op.source, op.index.data) for op in self.body.block.ops if isinstance(op, ReadOp)]
        found = [index for v, index in reads if v in values]
        if not found or (not self.n_ordered and not self.extents.data):
            return False
        return bool(self.n_ordered) or not apart or any([index[i] for i in own] != exprs for index in found)

    def verify_(self) -> None:
        extents = self.extents.data
        if not 0 <= self.n_ordered <= len(extents):
            raise VerifyException(f"{self.n_ordered} ordered iterators of {len(extents)}")
        if len(self.maps_in()) != len(self.ins):
            raise VerifyException(f"{len(self.maps_in())} index maps for {len(self.ins)} inputs")
        if self.results_ and [r.type for r in self.results_] != [self.base.type]:
            raise VerifyException("a scatter has the type of its base")
        for index, value in zip((*self.maps_in(), self.out_map.data), (*self.ins, self.base)):
            if index.extents != extents or len(index.exprs) != len(shape_of(value.type)[1]):
                raise VerifyException(f"the index map {index} does not fit {value.type} over {extents}")
        element = scalar_type(shape_of(self.base.type)[0])
        expect_block(self.body.block, [scalar_type(shape_of(v.type)[0]) for v in self.ins], [element], "body")
        if self.merge.blocks:
            expect_block(self.merge.block, [element, element], [element], "merge")


@irdl_op_definition
class ForeignOp(IRDLOperation):
    """A computation that is no loop nest: whole tensors in, whole tensors out, by the loop generator `fn`.

    It reads all of `ins` and writes all of `outs` (on tensors: its results), which are other memory, and has no other
    effect.  `params` are what the generator takes.  Where it is `in_place`, its one result may be where its one operand
    is: it consists of parts that threads share, each of which reads what it writes before.
    """

    name = "kernel.foreign"
    ins = var_operand_def()
    outs = var_operand_def()
    fn = attr_def(StringAttr)
    parameters = attr_def(DictionaryAttr)
    in_place = opt_attr_def(UnitAttr)
    results_ = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=False),)

    def __init__(
        self,
        fn: str,
        ins: Sequence[SSAValue],
        outs: Sequence[SSAValue],
        params: Mapping[str, Any],
        result_types: Sequence[Attribute] = (),
        in_place: bool = False,
    ):
        attributes: dict[str, Attribute] = {
            "fn": string_attr(fn),
            "parameters": DictionaryAttr({k: to_attr(v) for k, v in params.items()}),
            "operandSegmentSizes": segments(len(ins), len(outs)),
        }
        if in_place:
            attributes["in_place"] = UnitAttr()
        Operation.__init__(self, operands=[*ins, *outs], result_types=list(result_types), attributes=attributes)

    @property
    def params(self) -> dict[str, Any]:
        return {k: from_attr(v) for k, v in self.parameters.data.items()}

    def verify_(self) -> None:
        if bool(self.outs) == bool(self.results_):
            raise VerifyException("a foreign kernel has results on tensors, and on buffers outs")
        if self.in_place is not None and (len(self.ins), len(self.outs) + len(self.results_)) != (1, 1):
            raise VerifyException("a foreign kernel in place has one operand and one result")
