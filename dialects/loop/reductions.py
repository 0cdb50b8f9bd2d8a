"""Ordered reductions and scans of the `loop` dialect."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import attr_def, irdl_op_definition, opt_attr_def, region_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..assembly import (
    RANGE,
    flags,
    number_after,
    operands_in,
    print_constants,
    print_range,
    range_attributes,
    read_constants,
    read_order,
    read_range,
)
from ..attributes import OrderAttr, integer_attr, order_attr, scalar_dtype
from ..dims.dims import Dim
from ..order import Order
from ..region_assembly import arguments_of, print_arguments, print_region, print_rest, read_rest
from .base import Ranged, body_of, expect_yield, parallel_around

__all__ = ["ReduceOp", "ScanOp"]


@irdl_op_definition
class ReduceOp(Ranged):
    """An ordered reduction over ``lower <= iv < upper`` (step 1) into `len(identity)` accumulators (`dialects.order`).

    Region 0 yields an element's accumulators (with an ``fma`` order: two factors); region 1 combines ``(older…,
    newer…)``.  ``vector`` lanes of the order's virtual lanes run as one machine vector; with ``cooperative`` all
    threads of the gpu_block or gpu_warp that it is in share the reduction, and all get the results: schedules, never a
    change of result.
    """

    name = "loop.reduce"
    order = attr_def(OrderAttr)
    identity = attr_def(ArrayAttr)
    vector = attr_def(IntegerAttr)
    cooperative = opt_attr_def(UnitAttr)
    outs = var_result_def()
    body = region_def("single_block")
    combiner = region_def("single_block")

    def __init__(
        self,
        iv: str,
        lower: Dim | int,
        upper: Dim | int,
        body: Block,
        combiner: Block,
        *,
        order: Order,
        identity: Sequence[Attribute],
        types: Sequence[Attribute],
        vector: int = 1,
        cooperative: bool = False,
    ):
        attributes = range_attributes(iv, lower, upper, 1) | {
            "order": order_attr(order),
            "identity": ArrayAttr(identity),
            "vector": integer_attr(vector),
        }
        if cooperative:
            attributes["cooperative"] = UnitAttr()
        regions = [Region(body), Region(combiner)]
        Operation.__init__(self, result_types=list(types), attributes=attributes, regions=regions)

    def block_bytes(self, threads: int) -> int:
        """The shared memory in which the warps of a block of so many threads exchange accumulators."""
        around = parallel_around(self)
        if self.cooperative is None or around != "gpu_block" or threads <= 32:
            return 0
        return sum(-(-threads // 32 * scalar_dtype(out.type).bytes // 16) * 16 for out in self.outs)

    def print(self, printer: Printer) -> None:
        """``loop.reduce k = 0 to m order tree<1024, 64> vector 8 init -inf : f32 { … } combine (%a, %b) { … }``"""
        print_range(printer, self)
        printer.print_string(f" order {self.order.data}")
        if self.vector.value.data != 1:
            printer.print_string(f" vector {self.vector.value.data}")
        if self.cooperative is not None:
            printer.print_string(" cooperative")
        printer.print_string(" init ")
        print_constants(printer, self.identity.data, [out.type for out in self.outs])
        print_rest(printer, self, (*RANGE, "order", "vector", "cooperative", "identity"), header=True)
        print_region(printer, self.body)
        printer.print_string(" combine ")
        print_arguments(printer, self.combiner.block.args)
        print_region(printer, self.combiner)

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        attributes = read_range(parser)
        parser.parse_keyword("order")
        attributes["order"] = read_order(parser)
        attributes["vector"] = integer_attr(number_after(parser, "vector", 1))
        attributes |= flags(parser, "cooperative")
        parser.parse_keyword("init")
        attributes["identity"], types = read_constants(parser)
        attributes |= read_rest(parser, header=True)
        body = body_of(parser)
        parser.parse_keyword("combine")
        combiner = body_of(parser, arguments_of(parser, types * 2, "combine"))
        return cls.create(result_types=types, attributes=attributes, regions=[body, combiner])

    def verify_(self) -> None:
        self.verify_range()
        if self.cooperative is not None and parallel_around(self) not in ("gpu_block", "gpu_warp"):
            raise VerifyException("a cooperative reduction stands in a gpu_block or gpu_warp, whose threads share it")
        types = tuple(r.type for r in self.outs)
        if len(self.identity.data) != len(types) or not types:
            raise VerifyException("one identity an accumulator, and at least one accumulator")
        order = self.order.data
        if order.product and len(types) != 1:
            raise VerifyException(f"an order with {order.product} has one accumulator")
        expect_yield(self, 0, types * 2 if order.product else types)
        if tuple(a.type for a in self.combiner.block.args) != types * 2:
            raise VerifyException("the combiner takes the older accumulators, then the newer")
        expect_yield(self, 1, types)


@irdl_op_definition
class ScanOp(Ranged):
    """The partial results of an ordered reduction over ``lower <= iv < upper`` (step 1), which starts from `inits`.

    Region 0 yields an element's accumulators; region 1 combines ``(older…, newer…)``; region 2 takes the accumulators
    at each element, of those up to it or with ``exclusive`` of those before it, and stores the results.  The results
    are the accumulators after the last element, `inits` where there is none.  The order is ``prefix`` (see
    `dialects.order`).
    """

    name = "loop.scan"
    inits = var_operand_def()
    order = attr_def(OrderAttr)
    identity = attr_def(ArrayAttr)
    exclusive = opt_attr_def(UnitAttr)
    outs = var_result_def()
    body = region_def("single_block")
    combiner = region_def("single_block")
    epilogue = region_def("single_block")

    def __init__(
        self,
        iv: str,
        lower: Dim | int,
        upper: Dim | int,
        inits: Sequence[SSAValue],
        body: Block,
        combiner: Block,
        epilogue: Block,
        *,
        order: Order,
        identity: Sequence[Attribute],
        exclusive: bool = False,
    ):
        attributes = range_attributes(iv, lower, upper, 1) | {
            "order": order_attr(order),
            "identity": ArrayAttr(identity),
        }
        if exclusive:
            attributes["exclusive"] = UnitAttr()
        Operation.__init__(
            self,
            operands=list(inits),
            result_types=[v.type for v in inits],
            attributes=attributes,
            regions=[Region(body), Region(combiner), Region(epilogue)],
        )

    def print(self, printer: Printer) -> None:
        """``loop.scan k = 0 to m order prefix<…> from (%z) init 0.0 : f32 {…} combine (…) {…} epilogue (…) {…}``"""
        print_range(printer, self)
        printer.print_string(f" order {self.order.data}")
        if self.exclusive is not None:
            printer.print_string(" exclusive")
        printer.print_string(" from (")
        printer.print_list(self.inits, printer.print_operand)
        printer.print_string(") init ")
        print_constants(printer, self.identity.data, [out.type for out in self.outs])
        print_rest(printer, self, (*RANGE, "order", "exclusive", "identity"), header=True)
        print_region(printer, self.body)
        for name, region in (("combine", self.combiner), ("epilogue", self.epilogue)):
            printer.print_string(f" {name} ")
            print_arguments(printer, region.block.args)
            print_region(printer, region)

    @classmethod
    def parse(cls, parser: Parser) -> ScanOp:
        attributes = read_range(parser)
        parser.parse_keyword("order")
        attributes["order"] = read_order(parser)
        attributes |= flags(parser, "exclusive")
        parser.parse_keyword("from")
        inits = operands_in(parser)
        parser.parse_keyword("init")
        attributes["identity"], types = read_constants(parser)
        attributes |= read_rest(parser, header=True)
        regions = [body_of(parser)]
        for name, count in (("combine", 2), ("epilogue", 1)):
            parser.parse_keyword(name)
            regions.append(body_of(parser, arguments_of(parser, types * count, name)))
        return cls.create(operands=inits, result_types=types, attributes=attributes, regions=regions)

    def verify_(self) -> None:
        self.verify_range()
        types = tuple(v.type for v in self.inits)
        if len(self.identity.data) != len(types) or not types or tuple(r.type for r in self.outs) != types:
            raise VerifyException("one initial value, identity and result an accumulator, and at least one accumulator")
        if self.order.data.kind != "prefix":
            raise VerifyException(f"the order of {self.name} is prefix<block, lanes>, not {self.order.data}")
        for region, (given, yielded) in enumerate((((), types), (types * 2, types), (types, ()))):
            if tuple(a.type for a in self.regions[region].block.args) != given:
                raise VerifyException(f"region {region} of {self.name} takes ({', '.join(map(str, given))})")
            expect_yield(self, region, yielded)
