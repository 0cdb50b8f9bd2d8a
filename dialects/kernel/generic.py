"""`kernel.generic`: the loop nest of maps, reductions and scans, and the tensors that nests fill."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    opt_attr_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..assembly import print_constants, read_constants, read_order, word
from ..attributes import (
    DimsAttr,
    MapAttr,
    OrderAttr,
    dims_attr,
    integer_attr,
    map_attr,
    order_attr,
    scalar_type,
    string_attr,
)
from ..dims.dims import Dim, Sym
from ..dims.index_map import IndexMap
from ..order import Order
from ..region_assembly import arguments_of, print_arguments, print_region, print_rest, read_region, read_rest
from .access import (
    iterators_text,
    print_access,
    print_outputs,
    read_accesses,
    read_iterators,
    read_outputs,
    segments,
    shape_of,
)
from .body import ReadOp, YieldOp, expect_block, terminator

__all__ = ["EmptyOp", "GenericOp"]


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
    def n_element_inputs(self) -> int:
        """How many inputs, from the first on, the body reads for each element."""
        return len(self.ins) - self.n_epilogue_inputs

    @property
    def reduced(self) -> Sym:
        """The iterator along which a nest is a reduction or a scan."""
        return Sym(f"d{self.n_parallel}")

    @property
    def bounds(self) -> dict[Sym, Dim]:
        """Each iterator's extent, as `simplify` takes it."""
        return {Sym(f"d{i}"): extent for i, extent in enumerate(self.extents.data)}

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

    def element_inputs(self) -> Iterator[tuple[SSAValue, IndexMap]]:
        """The inputs that the body reads for each element, with their maps."""
        return islice(zip(self.ins, self.maps_in()), self.n_element_inputs)

    def redirect(self, change: Callable[[SSAValue, IndexMap], tuple[SSAValue, IndexMap]]) -> None:
        """Give each operand the memory and the map that `change` makes of its own."""
        ins = [change(*operand) for operand in zip(self.ins, self.maps_in(), strict=True)]
        outs = [change(*operand) for operand in zip(self.outs, self.maps_out(), strict=True)]
        for name, operands in (("in_maps", ins), ("out_maps", outs)):
            self.attributes[name] = ArrayAttr([map_attr(index) for _, index in operands])
        self.operands = [value for value, _ in (*ins, *outs)]

    def print(self, printer: Printer) -> None:
        """``kernel.generic over (d0: n) reduce (d1: m) order … init … in (%a = %x[d0, d1]) -> (f32[n] at [d0]) { … }``

        The body's arguments stand in front of their inputs, and so do those of `epilogue` in front of epilogue inputs.
        What does not verify is printed in MLIR's form, but for the quotes.
        """
        if not self._has_a_text():
            printer.print_op_with_default_format(self)
            return
        entering = self.n_element_inputs
        arguments, maps = (*self.body.block.args,), self.maps_in()
        printer.print_string(f" over {iterators_text(self.extents.data[: self.n_parallel])}")
        if self.order is not None and self.identity is not None:
            accumulators = self.combiner.block.args[: len(self.identity.data)]
            arguments += self.epilogue.block.args[len(accumulators) :]
            printer.print_string(f" scan {self.scan.data} " if self.scan is not None else " reduce ")
            printer.print_string(f"{iterators_text(self.extents.data[self.n_parallel :], self.n_parallel)} order ")
            printer.print_string(f"{self.order.data} init ")
            print_constants(printer, self.identity.data, [s.type for s in accumulators])
        accesses = list(zip(arguments, self.ins, maps, strict=True))
        for name, part in (("in", accesses[:entering]), ("epilogue_inputs", accesses[entering:])):
            if part:
                printer.print_string(f" {name} ")
                with printer.in_parens():
                    printer.print_list(part, lambda access: print_access(printer, *access))
        print_outputs(printer, self.outs, [r.type for r in self.results_], self.maps_out())
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
        extents = read_iterators(parser)
        attributes: dict[str, Attribute] = {"parallel": integer_attr(len(extents))}
        scan, accumulators = word(parser, "scan"), []
        if scan:
            attributes["scan"] = string_attr(parser.parse_identifier())
        if scan or word(parser, "reduce"):
            extents += read_iterators(parser, len(extents))
            parser.parse_keyword("order")
            attributes["order"] = read_order(parser)
            parser.parse_keyword("init")
            attributes["identity"], accumulators = read_constants(parser)
        accesses = [read_accesses(parser, extents) if word(parser, name) else [] for name in ("in", "epilogue_inputs")]
        outs, result_types, out_maps = read_outputs(parser, extents)
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
        if accumulators:
            parser.parse_keyword("combine")
            regions[1] = read_region(parser, arguments_of(parser, accumulators * 2, "combine"), YieldOp)
            parser.parse_keyword("epilogue")
            regions[2] = read_region(parser, arguments_of(parser, accumulators, "epilogue") + finishing, YieldOp)
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
        for index in self.maps_out() + self.maps_in()[self.n_element_inputs :]:
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
        accumulators = yielded[: len(self.identity.data)]
        if yielded != accumulators * (2 if self.order.data.product else 1):
            raise VerifyException("the body yields one value an accumulator (two factors with an order of products)")
        expect_block(self.combiner.block, accumulators * 2, accumulators, "combiner")
        expect_block(self.epilogue.block, accumulators + finishing, targets, "epilogue")
