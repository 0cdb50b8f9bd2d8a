"""Loops and branches of the `loop` dialect: parallel iterations, iterations in order or as vector lanes, conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    region_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..assembly import (
    RANGE,
    dims_in_brackets,
    flags,
    number_after,
    optional_dim,
    print_range,
    range_attributes,
    read_range,
    word,
)
from ..attributes import DimAttr, DimsAttr, dim_attr, dims_attr, integer_attr, string_attr, write_dims
from ..dims.dims import Dim, dim
from ..region_assembly import (
    arguments_with_values,
    print_arguments_with_values,
    print_if,
    print_region,
    print_rest,
    read_if,
    read_rest,
)
from .base import Ranged, YieldOp, body_of, expect_yield, parallel_around

__all__ = ["ForOp", "IfOp", "ParallelOp", "WhileOp"]


@irdl_op_definition
class ParallelOp(Ranged):
    """Independent iterations; ``grain`` of them make one chunk.  ``kind``:

    ``cpu_thread``: by a pool's threads.  ``gpu_block``: by the blocks of a grid, each of ``threads`` threads with
    ``shared`` bytes of shared memory; what is directly in it all threads of a block do alike, a store one of them.
    ``gpu_warp``: by the warps of a block, whose 32 threads then are "all threads".  ``gpu_thread``: by the threads of
    the block or warp around it.  ``aligned`` are expressions that are 0 wherever a gpu_block runs (``m % 4``), so that
    vectors in memory are aligned; what makes the loop guards it by that condition.
    """

    name = "loop.parallel"
    kind = attr_def(StringAttr)
    grain = attr_def(DimAttr)
    threads = opt_attr_def(IntegerAttr)
    shared = opt_attr_def(DimAttr)
    aligned = opt_attr_def(DimsAttr)
    body = region_def("single_block")

    KINDS: ClassVar = ("cpu_thread", "gpu_block", "gpu_warp", "gpu_thread")

    def __init__(
        self,
        iv: str,
        lower: Dim | int,
        upper: Dim | int,
        block: Block,
        *,
        step: Dim | int = 1,
        grain: Dim | int = 1,
        kind: str = "cpu_thread",
        threads: int = 0,
        shared: Dim | int = 0,
        aligned: Sequence[Dim] = (),
    ):
        attributes = range_attributes(iv, lower, upper, step) | {
            "kind": string_attr(kind),
            "grain": dim_attr(dim(grain)),
        }
        if threads:
            attributes["threads"] = integer_attr(threads)
        if shared != 0:
            attributes["shared"] = dim_attr(dim(shared))
        if aligned:
            attributes["aligned"] = dims_attr(tuple(aligned))
        Operation.__init__(self, attributes=attributes, regions=[Region(block)])

    @property
    def n_threads(self) -> int:
        """The threads of each block of a gpu_block."""
        assert self.threads is not None
        return self.threads.value.data

    @property
    def shared_bytes(self) -> Dim:
        return dim(0) if self.shared is None else self.shared.data

    def print(self, printer: Printer) -> None:
        """``loop.parallel i = 0 to n step 4 on gpu_block threads 128 shared 64*m aligned [n % 4] { … }``"""
        print_range(printer, self)
        printer.print_string(f" on {self.kind.data}")
        if self.grain.data.const != 1:
            printer.print_string(f" grain {self.grain.data}")
        if self.threads is not None:
            printer.print_string(f" threads {self.n_threads}")
        if self.shared is not None:
            printer.print_string(f" shared {self.shared.data}")
        if self.aligned is not None:
            printer.print_string(f" aligned [{write_dims(self.aligned.data)}]")
        print_rest(printer, self, (*RANGE, "kind", "grain", "threads", "shared", "aligned"), header=True)
        print_region(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> ParallelOp:
        attributes = read_range(parser)
        parser.parse_keyword("on")
        attributes["kind"] = string_attr(parser.parse_identifier())
        attributes["grain"] = dim_attr(optional_dim(parser, "grain") or dim(1))
        if (threads := number_after(parser, "threads")) is not None:
            attributes["threads"] = integer_attr(threads)
        if (shared := optional_dim(parser, "shared")) is not None:
            attributes["shared"] = dim_attr(shared)
        if word(parser, "aligned"):
            attributes["aligned"] = dims_attr(dims_in_brackets(parser))
        attributes |= read_rest(parser, header=True)
        return cls.create(attributes=attributes, regions=[body_of(parser)])

    def verify_(self) -> None:
        self.verify_range()
        kind = self.kind.data
        if kind not in self.KINDS:
            raise VerifyException(f"'kind' is one of {', '.join(self.KINDS)}, not {kind!r}")
        if kind == "gpu_block":
            if self.threads is None or not 1 <= self.n_threads <= 1024:
                raise VerifyException("a gpu_block has 'threads', 1 to 1024")
        elif self.threads is not None or self.shared is not None or self.aligned is not None:
            raise VerifyException(f"'threads', 'shared' and 'aligned' belong to a gpu_block, not to a {kind}")
        around = parallel_around(self)
        if kind in _AROUND and around not in _AROUND[kind]:
            place = f"in a {around}" if around else "in none"
            raise VerifyException(f"a {kind} loop stands in a {' or '.join(_AROUND[kind])}, not {place}")
        expect_yield(self, 0, ())


#: What the kinds of a GPU stand in.
_AROUND = {"gpu_warp": ("gpu_block",), "gpu_thread": ("gpu_block", "gpu_warp")}


@irdl_op_definition
class ForOp(Ranged):
    """A loop.  With ``vector`` and ``unroll`` (product > 1) its iterations are independent and run as lanes,
    between which only `loop.shuffle` moves values.

    Without lanes, iterations run in order and may carry values (`inits`, block arguments, yield, results).  With
    ``break`` the body also yields an i1, its last value: the loop ends after an iteration where it is true.
    An ``outline`` loop becomes a function of its own where code has functions: the registers that it needs are not
    taken from the loops around it.  It carries no values.  A ``short`` loop in vectors mostly ends before one is full.
    """

    name = "loop.for"
    inits = var_operand_def()
    vector = attr_def(IntegerAttr)
    unroll = attr_def(IntegerAttr)
    break_flag = opt_attr_def(UnitAttr, attr_name="break")
    outline = opt_attr_def(UnitAttr)
    short = opt_attr_def(UnitAttr)
    outs = var_result_def()
    body = region_def("single_block")

    def __init__(
        self,
        iv: str,
        lower: Dim | int,
        upper: Dim | int,
        block: Block,
        *,
        inits: Sequence[SSAValue] = (),
        step: Dim | int = 1,
        vector: int = 1,
        unroll: int = 1,
        break_flag: bool = False,
        outline: bool = False,
        short: bool = False,
    ):
        attributes = range_attributes(iv, lower, upper, step) | {
            "vector": integer_attr(vector),
            "unroll": integer_attr(unroll),
        }
        flags = {"break": break_flag, "outline": outline, "short": short}
        attributes.update({name: UnitAttr() for name, is_set in flags.items() if is_set})
        Operation.__init__(
            self,
            operands=list(inits),
            result_types=[v.type for v in inits],
            attributes=attributes,
            regions=[Region(block)],
        )

    @property
    def lanes(self) -> int:
        return self.vector.value.data * self.unroll.value.data

    def print(self, printer: Printer) -> None:
        """``loop.for i = 0 to n step 2 vector 8 unroll 4 break outline short carry (%v = %zero) { … }``"""
        print_range(printer, self)
        for name in ("vector", "unroll"):
            number = self.attributes[name]
            if isinstance(number, IntegerAttr) and number.value.data != 1:
                printer.print_string(f" {name} {number.value.data}")
        for name in ("break", "outline", "short"):
            if name in self.attributes:
                printer.print_string(f" {name}")
        if self.inits:
            printer.print_string(" carry ")
            print_arguments_with_values(printer, self.block.args, self.inits)
        print_rest(printer, self, (*RANGE, "vector", "unroll", "break", "outline", "short"), header=True)
        print_region(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        attributes = read_range(parser)
        for name in ("vector", "unroll"):
            attributes[name] = integer_attr(number_after(parser, name, 1))
        attributes |= flags(parser, "break", "outline", "short")
        arguments, inits = arguments_with_values(parser) if word(parser, "carry") else ([], [])
        attributes |= read_rest(parser, header=True)
        body = body_of(parser, arguments)
        return cls.create(operands=inits, result_types=[v.type for v in inits], attributes=attributes, regions=[body])

    def verify_(self) -> None:
        self.verify_range()
        types = tuple(v.type for v in self.inits)
        if self.lanes > 1 and types:
            raise VerifyException("a loop with lanes carries no values; use loop.reduce")
        if self.outline is not None and types:
            raise VerifyException("an outlined loop carries no values")
        if self.lanes > 1 and self.break_flag is not None:
            raise VerifyException("a loop with lanes has no 'break'")
        if self.lanes > 1 and self.step.data.const != 1:
            raise VerifyException("a loop with lanes has step 1")
        if self.vector.value.data < 1 or self.unroll.value.data < 1:
            raise VerifyException("'vector' and 'unroll' are at least 1")
        if tuple(a.type for a in self.block.args) != types or tuple(r.type for r in self.outs) != types:
            raise VerifyException("initial values, block arguments and results must have the same types")
        expect_yield(self, 0, types if self.break_flag is None else (*types, IntegerType(1)))


@irdl_op_definition
class IfOp(IRDLOperation):
    """Runs one of two regions by a uniform condition; buffers carry the results."""

    name = "loop.if"
    condition = operand_def(IntegerType(1))
    then = region_def("single_block")
    otherwise = region_def("single_block")

    def __init__(self, condition: SSAValue, then: Block, otherwise: Block):
        Operation.__init__(self, operands=[condition], regions=[Region(then), Region(otherwise)])

    def print(self, printer: Printer) -> None:
        """``loop.if %c { … } else { … }``"""
        print_if(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        return read_if(parser, cls, YieldOp)

    def verify_(self) -> None:
        expect_yield(self, 0, ())
        expect_yield(self, 1, ())


@irdl_op_definition
class WhileOp(IRDLOperation):
    """Runs region 0, which yields an i1; while that is true runs region 1 and repeats."""

    name = "loop.while"
    condition = region_def("single_block")
    body = region_def("single_block")

    def __init__(self, condition: Block, body: Block):
        Operation.__init__(self, regions=[Region(condition), Region(body)])

    def print(self, printer: Printer) -> None:
        """``loop.while { … loop.yield %more : i1 } do { … }``"""
        print_rest(printer, self, (), header=True)
        print_region(printer, self.condition)
        printer.print_string(" do")
        print_region(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> WhileOp:
        attributes = read_rest(parser, header=True)
        condition = body_of(parser)
        parser.parse_keyword("do")
        return cls.create(attributes=attributes, regions=[condition, body_of(parser)])

    def verify_(self) -> None:
        expect_yield(self, 0, (IntegerType(1),))
        expect_yield(self, 1, ())
