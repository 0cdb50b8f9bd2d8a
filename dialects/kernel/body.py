"""What bodies of `kernel` ops contain beside scalar arithmetic: reads at computed indices, calls, and their end."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    attr_def,
    irdl_op_definition,
    operand_def,
    opt_attr_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..assembly import dims_in_brackets, guards_of, known_operand, operands_in, print_guards
from ..attributes import DimsAttr, dims_attr, scalar_type, string_attr, write_dims
from ..dims.dims import Dim
from ..region_assembly import print_rest, read_rest
from ..registry import OPS
from .access import element_type, shape_of

__all__ = ["CallOp", "ReadOp", "YieldOp", "expect_block", "terminator"]


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
        element = element_type(parser, source)
        return cls.create(operands=[source], result_types=[element], attributes=attributes | read_rest(parser))

    def verify_(self) -> None:
        element, dims = shape_of(self.source.type)
        if len(dims) != len(self.index.data):
            raise VerifyException(f"{len(self.index.data)} indices for rank {len(dims)}")
        if self.result.type != scalar_type(element):
            raise VerifyException(f"a read of {element} gives {scalar_type(element)}, not {self.result.type}")


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
