"""`kernel.scatter`: a nest that stores at indices which its body computes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    operand_def,
    region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..assembly import number_after, word
from ..attributes import BufferType, DimsAttr, MapAttr, dims_attr, integer_attr, map_attr, scalar_type
from ..dims.dims import Dim, Sym
from ..dims.index_map import IndexMap
from ..region_assembly import arguments_of, print_arguments, print_region, print_rest, read_region, read_rest
from .access import (
    element_type,
    is_bound,
    iterators_text,
    print_access,
    print_outputs,
    read_accesses,
    read_iterators,
    read_outputs,
    shape_of,
)
from .body import ReadOp, YieldOp, expect_block

__all__ = ["ScatterOp"]


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
        printer.print_string(f" over {iterators_text(self.extents.data)}")
        if self.n_ordered:
            printer.print_string(f" ordered {self.n_ordered}")
        if self.ins:
            printer.print_string(" in ")
            with printer.in_parens():
                part = zip(self.body.block.args, self.ins, self.maps_in(), strict=True)
                printer.print_list(part, lambda access: print_access(printer, *access))
        print_outputs(printer, [self.base], [], [self.out_map.data])
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
        extents = read_iterators(parser)
        ordered = integer_attr(number_after(parser, "ordered", 0))
        accesses = read_accesses(parser, extents) if word(parser, "in") else []
        start = parser.pos
        bases, result_types, maps = read_outputs(parser, extents)
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
            element = element_type(parser, bases[0])
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
