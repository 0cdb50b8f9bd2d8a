"""What the ops of our dialects print and read in common: their regions, arguments and remaining attributes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator

from .assembly import known_operand, print_results, read_results, word

__all__ = [
    "arguments_of",
    "arguments_with_values",
    "print_arguments",
    "print_arguments_with_values",
    "print_if",
    "print_region",
    "print_rest",
    "print_while",
    "read_if",
    "read_region",
    "read_rest",
    "read_while",
    "says_nothing",
]

Op = TypeVar("Op", bound=Operation)


def print_rest(printer: Printer, op: Operation, shown: Collection[str], *, header: bool = False) -> None:
    """The attributes of an op that its text does not say otherwise; in the `header` of regions, behind a word."""
    printer.print_op_attributes(op.attributes, reserved_attr_names=(*shown, "loc"), print_keyword=header)


def read_rest(parser: Parser, *, header: bool = False) -> dict[str, Attribute]:
    if header and not word(parser, "attributes"):
        return {}
    return dict(parser.parse_optional_attr_dict())


def _shows_locations(printer: Printer) -> bool:
    return getattr(printer, "print_locations", False)


def says_nothing(region: Region) -> bool:
    """Whether a region has nothing but a terminator that says nothing."""
    return len(region.blocks) == 1 and len(region.block.ops) == 1 and _ends_silently(region, ())


def _ends_silently(region: Region, silent: Collection[str]) -> bool:
    last = region.blocks[0].last_op if len(region.blocks) == 1 else None
    return (
        last is not None
        and last.has_trait(IsTerminator)
        and not last.operands
        and last.attributes.keys() <= set(silent)
    )


def print_region(printer: Printer, region: Region) -> None:
    """``{ … }`` without its arguments, which stand before it, and without a terminator that says nothing."""
    silent = _ends_silently(region, () if _shows_locations(printer) else ("loc",))
    printer.print_string(" ")
    printer.print_region(
        region, print_entry_block_args=False, print_empty_block=False, print_block_terminators=not silent
    )


def read_region(
    parser: Parser, arguments: Sequence[Parser.Argument], terminator: Callable[[], IRDLOperation]
) -> Region:
    """A region, which ends in `terminator` where its text does not say how."""
    region = parser.parse_region(arguments)
    last = region.block.last_op
    if last is None or not last.has_trait(IsTerminator):
        region.block.add_op(terminator())
    return region


def print_arguments(printer: Printer, arguments: Sequence[BlockArgument]) -> None:
    """``(%a, %b)``"""
    with printer.in_parens():
        printer.print_list(arguments, printer.print_ssa_value)


def arguments_of(parser: Parser, types: Sequence[Attribute], what: str) -> list[Parser.Argument]:
    """``(%a, %b)``: the names of the arguments of the region `what`, whose types are known."""
    start = parser.pos
    names = parser.parse_comma_separated_list(
        Parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False), f" before the arguments of {what}"
    )
    if len(names) != len(types):
        parser.raise_error(f"{what} takes {len(types)} arguments, not {len(names)}", start)
    return [name.resolve(kind) for name, kind in zip(names, types)]


def print_arguments_with_values(
    printer: Printer, arguments: Sequence[BlockArgument], values: Sequence[SSAValue]
) -> None:
    """``(%v = %zero, %w = %x)``"""

    def print_one(pair: tuple[BlockArgument, SSAValue]) -> None:
        printer.print_ssa_value(pair[0])
        printer.print_string(" = ")
        printer.print_operand(pair[1])

    with printer.in_parens():
        printer.print_list(zip(arguments, values), print_one)


def arguments_with_values(parser: Parser) -> tuple[list[Parser.Argument], list[SSAValue]]:
    def read_one() -> tuple[Parser.Argument, SSAValue]:
        name = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        value = known_operand(parser)
        return name.resolve(value.type), value

    pairs = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, read_one)
    return [argument for argument, _ in pairs], [value for _, value in pairs]


def print_while(printer: Printer, op: Operation) -> None:
    """``carry (%v = %x) { … } do (%w) { … }``: the operands, the condition and the body of an op."""
    condition, body = op.regions
    if op.operands:
        printer.print_string(" carry ")
        print_arguments_with_values(printer, condition.block.args, op.operands)
    print_rest(printer, op, (), header=True)
    print_region(printer, condition)
    printer.print_string(" do")
    if op.operands:
        printer.print_string(" ")
        print_arguments(printer, body.block.args)
    print_region(printer, body)


def read_while(parser: Parser, made: type[Op], terminator: Callable[[], IRDLOperation]) -> Op:
    """The op `made` of what `print_while` prints; its results have the types of its operands."""
    arguments, values = arguments_with_values(parser) if word(parser, "carry") else ([], [])
    types = [v.type for v in values]
    attributes = read_rest(parser, header=True)
    condition = read_region(parser, arguments, terminator)
    parser.parse_keyword("do")
    body = read_region(parser, arguments_of(parser, types, "the body") if types else [], terminator)
    return made.create(operands=values, result_types=types, attributes=attributes, regions=[condition, body])


def print_if(printer: Printer, op: Operation) -> None:
    """``%c -> (f32[n]) { … } else { … }``: the condition, the results and the two regions of an op."""
    then, otherwise = op.regions
    printer.print_string(" ")
    printer.print_operand(op.operands[0])
    print_results(printer, op.result_types)
    print_rest(printer, op, (), header=True)
    print_region(printer, then)
    if not says_nothing(otherwise):
        printer.print_string(" else")
        print_region(printer, otherwise)


def read_if(parser: Parser, made: type[Op], terminator: Callable[[], IRDLOperation]) -> Op:
    """The op `made` of what `print_if` prints."""
    condition = known_operand(parser)
    types = read_results(parser)
    attributes = read_rest(parser, header=True)
    then = read_region(parser, [], terminator)
    otherwise = read_region(parser, [], terminator) if word(parser, "else") else Region(Block([terminator()]))
    return made.create(operands=[condition], result_types=types, attributes=attributes, regions=[then, otherwise])
