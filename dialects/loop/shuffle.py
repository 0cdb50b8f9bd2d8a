"""Lanes that change places, an op of the `loop` dialect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, StringAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    attr_def,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..assembly import known_operand, symbol_after
from ..attributes import string_attr
from ..dims.dims import Sym
from ..region_assembly import print_rest, read_rest
from .base import Ranged

__all__ = ["ShuffleOp"]


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """What other iterations of a loop with lanes have: of each ``len(lanes)`` of them, its `vector`.

    ``lanes[j]`` says what iteration ``j`` of such a group gets: `first` of the iteration with that number in the group,
    or, from ``len(lanes)`` on, `second` of the one with what is left of it.  All iterations of a group are there.
    """

    name = "loop.shuffle"
    T: ClassVar = VarConstraint("T", AnyAttr())

    first = operand_def(T)
    second = operand_def(T)
    iv = attr_def(StringAttr)
    lanes = attr_def(DenseArrayBase[IntegerType])
    result = result_def(T)
    traits = traits_def(Pure())

    def __init__(self, first: SSAValue, second: SSAValue, iv: str, lanes: Sequence[int]):
        attributes = {"iv": string_attr(iv), "lanes": DenseArrayBase.from_list(i64, list(lanes))}
        IRDLOperation.__init__(self, operands=[first, second], result_types=[first.type], attributes=attributes)

    @property
    def symbol(self) -> Sym:
        return Sym(self.iv.data)

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(int(n) for n in self.lanes.get_values())

    def print(self, printer: Printer) -> None:
        """``loop.shuffle %a, %b over i lanes [3, 2, 5, 0]``"""
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_operand)
        printer.print_string(f" over {self.iv.data} lanes {list(self.numbers)}")
        print_rest(printer, self, ("iv", "lanes"))

    @classmethod
    def parse(cls, parser: Parser) -> ShuffleOp:
        first = known_operand(parser)
        parser.parse_punctuation(",")
        second = known_operand(parser)
        attributes: dict[str, Attribute] = {"iv": string_attr(symbol_after(parser, "over"))}
        parser.parse_keyword("lanes")
        numbers = parser.parse_comma_separated_list(Parser.Delimiter.SQUARE, parser.parse_integer)
        attributes["lanes"] = DenseArrayBase.from_list(i64, numbers)
        attributes |= read_rest(parser)
        return cls.create(operands=[first, second], result_types=[first.type], attributes=attributes)

    def verify_(self) -> None:
        count = len(self.numbers)
        if not all(0 <= n < 2 * count for n in self.numbers):
            raise VerifyException(f"'lanes' are numbers of lanes of two vectors of {count}, not {list(self.numbers)}")
        around = self.parent_op()
        while around is not None and not (isinstance(around, Ranged) and around.symbol == self.symbol):
            around = around.parent_op()
        vector = around.attributes.get("vector") if around is not None else None
        if not isinstance(vector, IntegerAttr) or vector.value.data != count:
            raise VerifyException(f"a loop over {self.iv.data} with vectors of {count} is around a shuffle")
