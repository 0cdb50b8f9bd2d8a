"""Structure around compute ops of the `kernel` dialect: rows that nests share, loops, conditionals."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import builtin
from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
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
    number_after,
    operands_in,
    print_range,
    print_results,
    range_attributes,
    read_range,
    read_results,
    word,
)
from ..attributes import DimAttr, integer_attr, tensor_of
from ..dims.dims import Dim, Sym
from ..region_assembly import (
    arguments_with_values,
    print_arguments_with_values,
    print_if,
    print_region,
    print_rest,
    print_while,
    read_if,
    read_region,
    read_rest,
    read_while,
)
from .body import YieldOp, expect_block, terminator
from .generic import GenericOp

__all__ = ["ForOp", "IfOp", "RowGroupOp", "WhileOp"]


@irdl_op_definition
class RowGroupOp(IRDLOperation):
    """Nests whose first `shared` iterators are the same and which exchange values only within one such row.

    On tensors its results are the values that others need; what does not escape is never a whole tensor.
    """

    name = "kernel.row_group"
    shared = attr_def(IntegerAttr)
    results_ = var_result_def()
    body = region_def("single_block")

    def __init__(self, shared: int, body: Block, result_types: Sequence[Attribute]):
        attributes = {"shared": integer_attr(shared)}
        Operation.__init__(self, result_types=list(result_types), attributes=attributes, regions=[Region(body)])

    @property
    def n_shared(self) -> int:
        return self.shared.value.data

    @property
    def nests(self) -> list[GenericOp]:
        return [op for op in self.body.block.ops if isinstance(op, GenericOp)]

    def print(self, printer: Printer) -> None:
        """``kernel.row_group shared 1 -> (f32[n, m]) { … }``"""
        printer.print_string(f" shared {self.n_shared}")
        print_results(printer, [r.type for r in self.results_])
        print_rest(printer, self, ("shared",), header=True)
        print_region(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> RowGroupOp:
        parser.parse_keyword("shared")
        attributes: dict[str, Attribute] = {"shared": integer_attr(parser.parse_integer())}
        types = read_results(parser)
        attributes |= read_rest(parser, header=True)
        body = read_region(parser, [], YieldOp)
        return cls.create(result_types=types, attributes=attributes, regions=[body])

    def verify_(self) -> None:
        expect_block(self.body.block, [], [r.type for r in self.results_], "rows")
        nests, n = self.nests, self.n_shared
        if not nests or n < 1:
            raise VerifyException("a row group has at least one nest and at least one shared iterator")
        first = nests[0].extents.data[:n]
        for nest in nests:
            if nest.n_parallel < n or nest.extents.data[:n] != first:
                raise VerifyException(f"every nest of a row group must start with the iterators {first}")


@irdl_op_definition
class ForOp(IRDLOperation):
    """A sequential loop around kernels; on tensors it carries values, on buffers it carries nothing.

    With ``break`` it ends after an iteration that yields true: on tensors the carried value of that number, a rank-0
    bool; on buffers the only value that the body yields, an i1.

    With ``only`` one iteration runs: on tensors the one whose number is the initial value of that number, a rank-0 i64;
    on buffers that number is the only operand, an i64.
    """

    name = "kernel.for"
    inits = var_operand_def()
    iv = attr_def(StringAttr)
    lower = attr_def(DimAttr)
    upper = attr_def(DimAttr)
    step = attr_def(DimAttr)
    break_flag = opt_attr_def(IntegerAttr, attr_name="break")
    only = opt_attr_def(IntegerAttr)
    results_ = var_result_def()
    body = region_def("single_block")

    def __init__(
        self, iv: str, lower: Dim, upper: Dim, step: Dim, inits: Sequence[SSAValue], body: Block,
        break_flag: int | None = None, only: int | None = None,
    ):  # fmt: skip
        attributes = range_attributes(iv, lower, upper, step)
        if break_flag is not None:
            attributes["break"] = integer_attr(break_flag)
        if only is not None:
            attributes["only"] = integer_attr(only)
        types = [v.type for v in inits if v.type != IntegerType(64)]
        Operation.__init__(
            self, operands=list(inits), result_types=types, attributes=attributes, regions=[Region(body)]
        )

    @property
    def ends_at(self) -> int | None:
        """The number of the yielded value that ends the loop."""
        return None if self.break_flag is None else self.break_flag.value.data

    @property
    def alone(self) -> int | None:
        """The number of the operand that says which iteration runs."""
        return None if self.only is None else self.only.value.data

    @property
    def symbol(self) -> Sym:
        return Sym(self.iv.data)

    def print(self, printer: Printer) -> None:
        """``kernel.for i = 0 to n step 2 break 1 carry (%v = %x) { … }``, on buffers with ``only 0 of (%k)``"""
        print_range(printer, self)
        for name, number in (("break", self.ends_at), ("only", self.alone)):
            if number is not None:
                printer.print_string(f" {name} {number}")
        if self.body.block.args:
            printer.print_string(" carry ")
            print_arguments_with_values(printer, self.body.block.args, self.inits)
        elif self.inits:
            printer.print_string(" of ")
            printer.print_operands(self.inits)
        print_rest(printer, self, (*RANGE, "break", "only"), header=True)
        print_region(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        attributes = read_range(parser)
        for name in ("break", "only"):
            if (number := number_after(parser, name)) is not None:
                attributes[name] = integer_attr(number)
        arguments, inits = arguments_with_values(parser) if word(parser, "carry") else ([], [])
        types = [v.type for v in inits]
        if word(parser, "of"):
            inits = operands_in(parser)
        attributes |= read_rest(parser, header=True)
        body = read_region(parser, arguments, YieldOp)
        return cls.create(operands=inits, result_types=types, attributes=attributes, regions=[body])

    def verify_(self) -> None:
        types = [v.type for v in self.inits if v.type != IntegerType(64)]
        if (self.alone is None) and len(types) != len(self.inits):
            raise VerifyException("a loop on buffers takes an operand only as the number of its one iteration")
        yielded = terminator(self.body.block, "loop").values
        flag = [] if self.ends_at is None or types else [IntegerType(1)]
        expect_block(self.body.block, types, types + flag, "loop")
        if self.ends_at is not None:
            _expect_condition(yielded[self.ends_at : self.ends_at + 1])
        if [r.type for r in self.results_] != types:
            raise VerifyException("a loop's results have the types of its initial values")
        if self.step.data.const is not None and self.step.data.const <= 0:
            raise VerifyException(f"'step' must be positive, not {self.step.data}")


@irdl_op_definition
class WhileOp(IRDLOperation):
    """Repeats `body` while `condition` yields true (a rank-0 bool tensor; an i1 on buffers)."""

    name = "kernel.while"
    inits = var_operand_def()
    results_ = var_result_def()
    condition = region_def("single_block")
    body = region_def("single_block")

    def __init__(self, inits: Sequence[SSAValue], condition: Block, body: Block):
        types = [v.type for v in inits]
        Operation.__init__(self, operands=list(inits), result_types=types, regions=[Region(condition), Region(body)])

    def print(self, printer: Printer) -> None:
        """``kernel.while carry (%v = %x) { … } do (%w) { … }``"""
        print_while(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> WhileOp:
        return read_while(parser, cls, YieldOp)

    def verify_(self) -> None:
        types = [v.type for v in self.inits]
        expect_block(self.body.block, types, types, "loop")
        expect_block(self.condition.block, types, None, "condition")
        _expect_condition(terminator(self.condition.block, "condition").values)


@irdl_op_definition
class IfOp(IRDLOperation):
    """One of two regions by a rank-0 bool tensor (an i1 on buffers)."""

    name = "kernel.if"
    condition = operand_def()
    results_ = var_result_def()
    then = region_def("single_block")
    otherwise = region_def("single_block")

    def __init__(self, condition: SSAValue, then: Block, otherwise: Block, result_types: Sequence[Attribute]):
        Operation.__init__(
            self, operands=[condition], result_types=list(result_types), regions=[Region(then), Region(otherwise)]
        )

    def print(self, printer: Printer) -> None:
        """``kernel.if %c -> (f32[n]) { … } else { … }``"""
        print_if(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        return read_if(parser, cls, YieldOp)

    def verify_(self) -> None:
        _expect_condition([self.condition])
        types = [r.type for r in self.results_]
        expect_block(self.then.block, [], types, "then")
        expect_block(self.otherwise.block, [], types, "else")


def _expect_condition(values: Sequence[SSAValue]) -> None:
    if len(values) == 1:
        found = values[0].type
        if found == IntegerType(1) or (
            isinstance(found, builtin.TensorType)
            and tensor_of(found).rank == 0
            and tensor_of(found).dtype.kind == "bool"
        ):
            return
    raise VerifyException("a condition is one rank-0 bool tensor, or an i1")
