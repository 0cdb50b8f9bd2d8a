"""`kernel.custom`: a computation that is no loop nest, by a loop generator of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import DictionaryAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    opt_attr_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..assembly import flags, operands_in, print_results, read_results, word
from ..attributes import from_attr, string_attr, to_attr
from ..region_assembly import print_rest, read_rest
from .access import segments

__all__ = ["CustomOp"]


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
