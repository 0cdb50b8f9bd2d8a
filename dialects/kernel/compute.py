"""Compute ops of the `kernel` dialect: nests, scatters, foreign kernels, and what is in their bodies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

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
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..assembly import (
    arguments_of,
    dim_of,
    dims_in_brackets,
    flags,
    guards_of,
    known_operand,
    number_after,
    operands_in,
    print_arguments,
    print_constants,
    print_guards,
    print_region,
    print_rest,
    print_results,
    raw_after,
    read_constants,
    read_order,
    read_region,
    read_rest,
    read_results,
    word,
)  # fmt: skip
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
    split_top,
    string_attr,
    tensor_of,
    to_attr,
    write_dims,
)
from ..dims.dims import Dim, Sym
from ..dims.index_map import IndexMap
from ..order import Order
from ..registry import OPS
from ..types import DType

__all__ = [
    "BOUND",
    "CallOp",
    "CustomOp",
    "EmptyOp",
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


def _scalar(parser: Parser, value: SSAValue) -> Attribute:
    """The type of an element of a tensor or of a buffer."""
    try:
        return scalar_type(shape_of(value.type)[0])
    except ValueError as error:
        parser.raise_error(str(error))


def _iterators(extents: Sequence[Dim], first: int = 0) -> str:
    """``(d0: n, d1: m)``"""
    return f"({', '.join(f'd{i}: {extent}' for i, extent in enumerate(extents, first))})"


def _read_iterators(parser: Parser, first: int = 0) -> tuple[Dim, ...]:
    start, found = parser.pos, []
    for i, part in enumerate(split_top(raw_after(parser, "(")), first):
        name, _, extent = part.partition(":")
        if name.strip() != f"d{i}":
            parser.raise_error(f"iterator {i} of a nest is called d{i}, not {name.strip()!r}", start)
        found.append(dim_of(parser, extent, start))
    return tuple(found)


def _print_access(printer: Printer, argument: SSAValue | None, value: SSAValue, index: IndexMap) -> None:
    """``%a = %x[d0, d1] where (d0 - 1 >= 0)``"""
    if argument is not None:
        printer.print_ssa_value(argument)
        printer.print_string(" = ")
    printer.print_operand(value)
    printer.print_string(f"[{write_dims(index.exprs)}]")
    print_guards(printer, index.guards)


def _read_accesses(parser: Parser, extents: tuple[Dim, ...]) -> list[tuple[Parser.Argument, SSAValue, IndexMap]]:
    def read_one() -> tuple[Parser.Argument, SSAValue, IndexMap]:
        name = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        value = known_operand(parser)
        index = IndexMap(extents, dims_in_brackets(parser), guards_of(parser))
        return name.resolve(_scalar(parser, value)), value, index

    return parser.parse_comma_separated_list(Parser.Delimiter.PAREN, read_one)


def print_places(
    printer: Printer, outs: Sequence[SSAValue], types: Sequence[Attribute], maps: Sequence[IndexMap]
) -> None:
    """Where results go: ``into (%y[d0])`` what is there, ``-> (f32[n] at [d0])`` a tensor of their own."""

    def print_one(place: tuple[Attribute, IndexMap]) -> None:
        printer.print_attribute(place[0])
        printer.print_string(f" at [{write_dims(place[1].exprs)}]")
        print_guards(printer, place[1].guards)

    printer.print_string(" into " if outs else " -> ")
    with printer.in_parens():
        if outs:
            printer.print_list(zip(outs, maps), lambda place: _print_access(printer, None, *place))
        else:
            printer.print_list(zip(types, maps), print_one)


def read_places(parser: Parser, extents: tuple[Dim, ...]) -> tuple[list[SSAValue], list[Attribute], list[IndexMap]]:
    """What is written, the types of results, and where in them.  Tensors that are updated are results too."""

    def read_out() -> tuple[SSAValue, IndexMap]:
        value = known_operand(parser)
        return value, IndexMap(extents, dims_in_brackets(parser), guards_of(parser))

    def read_type() -> tuple[Attribute, IndexMap]:
        kind = parser.parse_type()
        parser.parse_keyword("at")
        return kind, IndexMap(extents, dims_in_brackets(parser), guards_of(parser))

    if word(parser, "into"):
        places = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, read_out)
        outs = [value for value, _ in places]
        return outs, [v.type for v in outs if not isinstance(v.type, BufferType)], [index for _, index in places]
    parser.parse_punctuation("->")
    results = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, read_type)
    return [], [kind for kind, _ in results], [index for _, index in results]


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

    def __init__(self, source: SSAValue, index: Sequence[Dim], guards: Sequence[Dim] = ()):
        attributes: dict[str, Attribute] = {"index": dims_attr(tuple(index))}
        if guards:
            attributes["guards"] = dims_attr(tuple(guards))
        element = scalar_type(shape_of(source.type)[0])
        Operation.__init__(self, operands=[source], result_types=[element], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """``kernel.read %y[d0, max(0, ..t0)] where (m - 1 - ..t0 >= 0)``"""
        printer.print_string(" ")
        printer.print_operand(self.source)
        printer.print_string(f"[{write_dims(self.index.data)}]")
        print_guards(printer, () if self.guards is None else self.guards.data)
        print_rest(printer, self, ("index", "guards"))

    @classmethod
    def parse(cls, parser: Parser) -> ReadOp:
        source = known_operand(parser)
        attributes: dict[str, Attribute] = {"index": dims_attr(dims_in_brackets(parser))}
        if guards := guards_of(parser):
            attributes["guards"] = dims_attr(guards)
        element = _scalar(parser, source)
        return cls.create(operands=[source], result_types=[element], attributes=attributes | read_rest(parser))

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

    def print(self, printer: Printer) -> None:
        """``kernel.call sigmoid(%v) : f32``"""
        printer.print_string(f" {self.fn.data}")
        printer.print_operands(self.args)
        print_rest(printer, self, ("fn",))
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> CallOp:
        attributes: dict[str, Attribute] = {"fn": string_attr(parser.parse_identifier())}
        args = operands_in(parser)
        attributes |= read_rest(parser)
        parser.parse_punctuation(":")
        return cls.create(operands=args, result_types=[parser.parse_type()], attributes=attributes)

    def verify_(self) -> None:
        decl = OPS.get(self.fn.data)
        if decl is None or decl.family != "map" or decl.arity != len(self.args):
            raise VerifyException(f"there is no map op {self.fn.data!r} of {len(self.args)} operands")


@irdl_op_definition
class GenericOp(IRDLOperation):
    """A loop nest over ``0 <= di < extents[i]``: `parallel` leading iterators, then at most one reduced iterator.

    `body` gets one scalar an input (the last `epilogue_inputs` excepted) and yields, without reduction, one scalar an
    output; with one, an element's contributions to the accumulators (with an fma `order`: two factors).  `combiner`
    combines (older…, newer…) accumulators; `epilogue` gets the final ones and the last `epilogue_inputs`, and yields
    one scalar an output.
    `in_maps` and `out_maps` say which element of each operand belongs to a point; outputs and epilogue inputs use only
    parallel iterators.  With `scan` (``inclusive`` or ``exclusive``) `epilogue` runs at every point of the reduced
    iterator, with the accumulators of the elements up to it, or before it; then outputs and epilogue inputs use all
    iterators.  On tensors, `outs` is empty (fresh results) or holds the tensors that are updated, one each.
    """

    name = "kernel.generic"
    ins = var_operand_def()
    outs = var_operand_def()
    extents = attr_def(DimsAttr)
    parallel = attr_def(IntegerAttr)
    epilogue_inputs = attr_def(IntegerAttr)
    in_maps = attr_def(ArrayAttr)
    out_maps = attr_def(ArrayAttr)
    order = opt_attr_def(OrderAttr)
    identity = opt_attr_def(ArrayAttr)
    scan = opt_attr_def(StringAttr)
    results_ = var_result_def()
    body = region_def("single_block")
    combiner = region_def()
    epilogue = region_def()
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
        epilogue_inputs: int = 0,
        order: Order | None = None,
        identity: Sequence[Attribute] = (),
        scan: str = "",
        combiner: Block | None = None,
        epilogue: Block | None = None,
    ):
        attributes: dict[str, Attribute] = {
            "extents": dims_attr(extents),
            "parallel": integer_attr(len(extents) if parallel is None else parallel),
            "epilogue_inputs": integer_attr(epilogue_inputs),
            "in_maps": ArrayAttr([map_attr(m) for m in in_maps]),
            "out_maps": ArrayAttr([map_attr(m) for m in out_maps]),
            "operandSegmentSizes": segments(len(ins), len(outs)),
        }
        if order is not None:
            attributes["order"] = order_attr(order)
            attributes["identity"] = ArrayAttr(identity)
        if scan:
            attributes["scan"] = string_attr(scan)
        regions = [Region(body), Region([combiner] if combiner else []), Region([epilogue] if epilogue else [])]
        Operation.__init__(
            self, operands=[*ins, *outs], result_types=list(result_types), attributes=attributes, regions=regions
        )

    @property
    def n_parallel(self) -> int:
        return self.parallel.value.data

    @property
    def n_epilogue_inputs(self) -> int:
        return self.epilogue_inputs.value.data

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
        """How many iterators outputs and epilogue inputs may use."""
        return len(self.extents.data) if self.is_scan else self.n_parallel

    def maps_in(self) -> tuple[IndexMap, ...]:
        return tuple(m.data for m in self.in_maps.data if isinstance(m, MapAttr))

    def maps_out(self) -> tuple[IndexMap, ...]:
        return tuple(m.data for m in self.out_maps.data if isinstance(m, MapAttr))

    def print(self, printer: Printer) -> None:
        """``kernel.generic over (d0: n) reduce (d1: m) order … init … in (%a = %x[d0, d1]) -> (f32[n] at [d0]) { … }``

        The body's arguments stand in front of their inputs, and so do those of `epilogue` in front of epilogue inputs.
        What does not verify is printed in MLIR's form, but for the quotes.
        """
        if not self._has_a_text():
            printer.print_op_with_default_format(self)
            return
        entering = len(self.ins) - self.n_epilogue_inputs
        arguments, maps = (*self.body.block.args,), self.maps_in()
        printer.print_string(f" over {_iterators(self.extents.data[: self.n_parallel])}")
        if self.order is not None and self.identity is not None:
            states = self.combiner.block.args[: len(self.identity.data)]
            arguments += self.epilogue.block.args[len(states) :]
            printer.print_string(f" scan {self.scan.data} " if self.scan is not None else " reduce ")
            printer.print_string(f"{_iterators(self.extents.data[self.n_parallel :], self.n_parallel)} order ")
            printer.print_string(f"{self.order.data} init ")
            print_constants(printer, self.identity.data, [s.type for s in states])
        accesses = list(zip(arguments, self.ins, maps, strict=True))
        for name, part in (("in", accesses[:entering]), ("epilogue_inputs", accesses[entering:])):
            if part:
                printer.print_string(f" {name} ")
                with printer.in_parens():
                    printer.print_list(part, lambda access: _print_access(printer, *access))
        print_places(printer, self.outs, [r.type for r in self.results_], self.maps_out())
        print_rest(printer, self, self._SHOWN, header=True)
        print_region(printer, self.body)
        if self.is_reduction:
            printer.print_string(" combine ")
            print_arguments(printer, self.combiner.block.args)
            print_region(printer, self.combiner)
            printer.print_string(" epilogue ")
            print_arguments(printer, self.epilogue.block.args[: len(self.combiner.block.args) // 2])
            print_region(printer, self.epilogue)

    _SHOWN: ClassVar = (
        "extents", "parallel", "epilogue_inputs", "in_maps", "out_maps", "operandSegmentSizes", "order", "identity",
        "scan",
    )  # fmt: skip

    def _has_a_text(self) -> bool:
        """Whether the nest verifies as far as its text takes for granted."""
        try:
            self.verify_()
        except (VerifyException, AssertionError, IndexError):
            return False
        return True

    @classmethod
    def parse(cls, parser: Parser) -> GenericOp:
        if not word(parser, "over"):
            return parser._parse_generic_operation(cls)  # type: ignore[return-value]
        extents = _read_iterators(parser)
        attributes: dict[str, Attribute] = {"parallel": integer_attr(len(extents))}
        scan, states = word(parser, "scan"), []
        if scan:
            attributes["scan"] = string_attr(parser.parse_identifier())
        if scan or word(parser, "reduce"):
            extents += _read_iterators(parser, len(extents))
            parser.parse_keyword("order")
            attributes["order"] = read_order(parser)
            parser.parse_keyword("init")
            attributes["identity"], states = read_constants(parser)
        accesses = [_read_accesses(parser, extents) if word(parser, name) else [] for name in ("in", "epilogue_inputs")]
        outs, result_types, out_maps = read_places(parser, extents)
        entering, finishing = ([name for name, _, _ in part] for part in accesses)
        ins = [value for part in accesses for _, value, _ in part]
        attributes |= {
            "extents": dims_attr(extents),
            "epilogue_inputs": integer_attr(len(finishing)),
            "in_maps": ArrayAttr([map_attr(index) for part in accesses for _, _, index in part]),
            "out_maps": ArrayAttr([map_attr(index) for index in out_maps]),
            "operandSegmentSizes": segments(len(ins), len(outs)),
        }
        attributes |= read_rest(parser, header=True)
        regions = [read_region(parser, entering, YieldOp), Region(), Region()]
        if states:
            parser.parse_keyword("combine")
            regions[1] = read_region(parser, arguments_of(parser, states * 2, "combine"), YieldOp)
            parser.parse_keyword("epilogue")
            regions[2] = read_region(parser, arguments_of(parser, states, "epilogue") + finishing, YieldOp)
        return cls.create(operands=[*ins, *outs], result_types=result_types, attributes=attributes, regions=regions)

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
        for index in self.maps_out() + self.maps_in()[len(self.ins) - self.n_epilogue_inputs :]:
            if any(i >= self.n_outer for i in index.used()):
                raise VerifyException("outputs and epilogue inputs are indexed by parallel iterators only")
        if self.scan is not None and (self.scan.data not in ("inclusive", "exclusive") or not self.is_reduction):
            raise VerifyException(f"'scan' is inclusive or exclusive and needs an order, not {self.scan.data!r}")
        self._verify_regions([scalar_type(shape_of(t)[0]) for t in targets])

    def _verify_regions(self, targets: list[Attribute]) -> None:
        scalars = [scalar_type(shape_of(v.type)[0]) for v in self.ins]
        split = len(scalars) - self.n_epilogue_inputs
        entering, finishing = scalars[:split], scalars[split:]
        expect_block(self.body.block, entering, None if self.is_reduction else targets, "body")
        if not self.is_reduction:
            if self.combiner.blocks or self.epilogue.blocks or finishing:
                raise VerifyException("a combiner, an epilogue and epilogue inputs belong to reductions")
            return
        assert self.identity is not None and self.order is not None
        yielded = [v.type for v in terminator(self.body.block, "body").values]
        states = yielded[: len(self.identity.data)]
        if yielded != states * (2 if self.order.data.product else 1):
            raise VerifyException("the body yields one value a state (two factors with an order of products)")
        expect_block(self.combiner.block, states * 2, states, "combiner")
        expect_block(self.epilogue.block, states + finishing, targets, "epilogue")


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
    """Stores at indices that the body computes, over ``0 <= di < extents[i]``.

    `body` gets one scalar an input and yields the new element; it binds symbols (`loop.bind`), which the store's map
    `out_map` may use besides the iterators.  Nothing is stored where a guard of that map is negative.  `combiner`,
    where it has a block, gets the old element and the new one, and yields what is stored.  The first `ordered`
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
    combiner = region_def()

    def __init__(
        self, ins: Sequence[SSAValue], base: SSAValue, extents: tuple[Dim, ...], ordered: int,
        in_maps: Sequence[IndexMap], out_map: IndexMap, body: Block, combiner: Block | None = None,
        result_types: Sequence[Attribute] = (),
    ):  # fmt: skip
        attributes: dict[str, Attribute] = {
            "extents": dims_attr(extents),
            "ordered": integer_attr(ordered),
            "in_maps": ArrayAttr([map_attr(m) for m in in_maps]),
            "out_map": map_attr(out_map),
        }
        regions = [Region(body), Region([combiner] if combiner else [])]
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
    def n_epilogue_inputs(self) -> int:
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

    def print(self, printer: Printer) -> None:
        """``kernel.scatter over (d0: m) ordered 1 in (%a = %v[d0]) into (%y[..t0]) { … } combine (%o, %n) { … }``"""
        if not self._has_a_text():
            printer.print_op_with_default_format(self)
            return
        printer.print_string(f" over {_iterators(self.extents.data)}")
        if self.n_ordered:
            printer.print_string(f" ordered {self.n_ordered}")
        if self.ins:
            printer.print_string(" in ")
            with printer.in_parens():
                part = zip(self.body.block.args, self.ins, self.maps_in(), strict=True)
                printer.print_list(part, lambda access: _print_access(printer, *access))
        print_places(printer, [self.base], [], [self.out_map.data])
        print_rest(printer, self, ("extents", "ordered", "in_maps", "out_map"), header=True)
        print_region(printer, self.body)
        if self.combiner.blocks:
            printer.print_string(" combine ")
            print_arguments(printer, self.combiner.block.args)
            print_region(printer, self.combiner)

    def _has_a_text(self) -> bool:
        try:
            self.verify_()
        except (VerifyException, AssertionError, IndexError):
            return False
        return bool(self.results_) != isinstance(self.base.type, BufferType)

    @classmethod
    def parse(cls, parser: Parser) -> ScatterOp:
        if not word(parser, "over"):
            return parser._parse_generic_operation(cls)  # type: ignore[return-value]
        extents = _read_iterators(parser)
        ordered = integer_attr(number_after(parser, "ordered", 0))
        accesses = _read_accesses(parser, extents) if word(parser, "in") else []
        start = parser.pos
        bases, result_types, maps = read_places(parser, extents)
        if len(bases) != 1:
            parser.raise_error("a scatter has one base: into (%base[…])", start)
        attributes = {
            "extents": dims_attr(extents),
            "ordered": ordered,
            "in_maps": ArrayAttr([map_attr(index) for _, _, index in accesses]),
            "out_map": map_attr(maps[0]),
        } | read_rest(parser, header=True)
        regions = [read_region(parser, [name for name, _, _ in accesses], YieldOp), Region()]
        if word(parser, "combine"):
            element = _scalar(parser, bases[0])
            regions[1] = read_region(parser, arguments_of(parser, [element] * 2, "combine"), YieldOp)
        operands = [*(value for _, value, _ in accesses), *bases]
        return cls.create(operands=operands, result_types=result_types, attributes=attributes, regions=regions)

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
        if self.combiner.blocks:
            expect_block(self.combiner.block, [element, element], [element], "combiner")


@irdl_op_definition
class CustomOp(IRDLOperation):
    """A computation that is no loop nest: whole tensors in, whole tensors out, by the loop generator `fn`.

    It reads all of `ins` and writes all of `outs` (on tensors: its results), which are other memory, and has no other
    effect.  `params` are what the generator takes.  Where it is `in_place`, its one result may be where its one operand
    is: it consists of parts that threads share, each of which reads what it writes before.
    """

    name = "kernel.custom"
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

    def print(self, printer: Printer) -> None:
        """``kernel.custom fft(%y) in_place parameters {axis = 0} -> (c64[n])``, on buffers ``into (%z)``"""
        printer.print_string(f" {self.fn.data}")
        printer.print_operands(self.ins)
        if self.in_place is not None:
            printer.print_string(" in_place")
        if self.outs:
            printer.print_string(" into ")
            printer.print_operands(self.outs)
        if self.parameters.data:
            printer.print_string(" parameters ")
            printer.print_attr_dict(self.parameters.data)
        print_rest(printer, self, ("fn", "parameters", "in_place", "operandSegmentSizes"), header=True)
        print_results(printer, [r.type for r in self.results_])

    @classmethod
    def parse(cls, parser: Parser) -> CustomOp:
        attributes: dict[str, Attribute] = {"fn": string_attr(parser.parse_identifier())}
        ins = operands_in(parser)
        attributes |= flags(parser, "in_place")
        outs = operands_in(parser) if word(parser, "into") else []
        params = parser.parse_optional_attr_dict() if word(parser, "parameters") else {}
        attributes |= {"parameters": DictionaryAttr(params), "operandSegmentSizes": segments(len(ins), len(outs))}
        attributes |= read_rest(parser, header=True)
        return cls.create(operands=[*ins, *outs], result_types=read_results(parser), attributes=attributes)

    def verify_(self) -> None:
        if bool(self.outs) == bool(self.results_):
            raise VerifyException("a custom kernel has results on tensors, and on buffers outs")
        if self.in_place is not None and (len(self.ins), len(self.outs) + len(self.results_)) != (1, 1):
            raise VerifyException("a custom kernel in place has one operand and one result")
