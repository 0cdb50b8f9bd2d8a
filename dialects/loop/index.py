"""Between values and index expressions, in the `loop` dialect: an expression as a value, a value as a symbol."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, attr_def, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from ..assembly import dims_in_brackets, in_parentheses, known_operand, symbol_after
from ..attributes import DimAttr, dim_attr, string_attr
from ..dims.dims import Dim
from ..region_assembly import print_rest, read_rest

__all__ = ["BindOp", "IndexOp"]


@irdl_op_definition
class IndexOp(IRDLOperation):
    """The value of an index expression as an i64."""

    name = "loop.index"
    expr = attr_def(DimAttr)
    result = result_def(i64)
    traits = traits_def(Pure())

    def __init__(self, expr: Dim):
        Operation.__init__(self, result_types=[i64], attributes={"expr": dim_attr(expr)})

    def print(self, printer: Printer) -> None:
        """``loop.index (k*k)``"""
        printer.print_string(f" {in_parentheses(self.expr.data)}")
        print_rest(printer, self, ("expr",))

    @classmethod
    def parse(cls, parser: Parser) -> IndexOp:
        (expr,) = dims_in_brackets(parser, "(", 1)
        attributes = {"expr": dim_attr(expr)} | read_rest(parser)
        return cls.create(result_types=[i64], attributes=attributes)


@irdl_op_definition
class BindOp(IRDLOperation):
    """Names an i64 so that index expressions of the rest of the block can use it: data-dependent addressing."""

    name = "loop.bind"
    value = operand_def(i64)
    symbol = attr_def(StringAttr)

    def __init__(self, value: SSAValue, symbol: str):
        Operation.__init__(self, operands=[value], attributes={"symbol": string_attr(symbol)})

    def print(self, printer: Printer) -> None:
        """``loop.bind %k as ..t0``"""
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(f" as {self.symbol.data}")
        print_rest(printer, self, ("symbol",))

    @classmethod
    def parse(cls, parser: Parser) -> BindOp:
        value = known_operand(parser)
        attributes: dict[str, Attribute] = {"symbol": string_attr(symbol_after(parser, "as"))}
        attributes |= read_rest(parser)
        return cls.create(operands=[value], attributes=attributes)
