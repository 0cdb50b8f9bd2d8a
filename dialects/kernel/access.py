"""Iterators of a nest and the elements that its operands and results have at an iteration point, with their text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects import builtin
from xdsl.ir import Attribute, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..assembly import dim_of, dims_in_brackets, guards_of, known_operand, print_guards, raw_after, word
from ..attributes import BufferType, scalar_type, split_top, tensor_of, write_dims
from ..dims.dims import Dim, Sym
from ..dims.index_map import IndexMap
from ..types import DType

__all__ = [
    "BOUND", "element_type", "is_bound", "iterators_text", "print_access", "print_outputs", "read_accesses",
    "read_iterators", "read_outputs", "segments", "shape_of",
]  # fmt: skip


def shape_of(value_type: Attribute) -> tuple[DType, tuple[Dim, ...]]:
    """The element type and dims of a tensor or a buffer."""
    if isinstance(value_type, BufferType):
        return value_type.data.dtype, value_type.data.dims
    tensor = tensor_of(value_type)
    return tensor.dtype, tensor.dims


#: What symbols bound inside a body start with; no dim of a program is called so.
BOUND = "..t"


def is_bound(symbol: Sym) -> bool:
    return symbol.name.startswith(BOUND)


def element_type(parser: Parser, value: SSAValue) -> Attribute:
    """The type of an element of a tensor or of a buffer."""
    try:
        return scalar_type(shape_of(value.type)[0])
    except ValueError as error:
        parser.raise_error(str(error))


def iterators_text(extents: Sequence[Dim], first: int = 0) -> str:
    """``(d0: n, d1: m)``"""
    return f"({', '.join(f'd{i}: {extent}' for i, extent in enumerate(extents, first))})"


def read_iterators(parser: Parser, first: int = 0) -> tuple[Dim, ...]:
    start, found = parser.pos, []
    for i, part in enumerate(split_top(raw_after(parser, "(")), first):
        name, _, extent = part.partition(":")
        if name.strip() != f"d{i}":
            parser.raise_error(f"iterator {i} of a nest is called d{i}, not {name.strip()!r}", start)
        found.append(dim_of(parser, extent, start))
    return tuple(found)


def print_access(printer: Printer, argument: SSAValue | None, value: SSAValue, index: IndexMap) -> None:
    """``%a = %x[d0, d1] where (d0 - 1 >= 0)``"""
    if argument is not None:
        printer.print_ssa_value(argument)
        printer.print_string(" = ")
    printer.print_operand(value)
    printer.print_string(f"[{write_dims(index.exprs)}]")
    print_guards(printer, index.guards)


def read_accesses(parser: Parser, extents: tuple[Dim, ...]) -> list[tuple[Parser.Argument, SSAValue, IndexMap]]:
    def read_one() -> tuple[Parser.Argument, SSAValue, IndexMap]:
        name = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        value = known_operand(parser)
        index = IndexMap(extents, dims_in_brackets(parser), guards_of(parser))
        return name.resolve(element_type(parser, value)), value, index

    return parser.parse_comma_separated_list(Parser.Delimiter.PAREN, read_one)


def print_outputs(
    printer: Printer, outs: Sequence[SSAValue], types: Sequence[Attribute], maps: Sequence[IndexMap]
) -> None:
    """Where results go: ``into (%y[d0])`` what is there, ``-> (f32[n] at [d0])`` a tensor of their own."""

    def print_one(place: tuple[Attribute, IndexMap]) -> None:
        printer.print_attribute(place[0])
        printer.print_string(f" at [{write_dims(place[1].exprs)}]")
        print_guards(printer, place[1].guards)

    printer.print_string(" into " if outs else " -> ")
    with printer.in_parens():
        if outs:
            printer.print_list(zip(outs, maps), lambda place: print_access(printer, None, *place))
        else:
            printer.print_list(zip(types, maps), print_one)


def read_outputs(parser: Parser, extents: tuple[Dim, ...]) -> tuple[list[SSAValue], list[Attribute], list[IndexMap]]:
    """What is written, the types of results, and where in them.  Tensors that are updated are results too."""

    def read_out() -> tuple[SSAValue, IndexMap]:
        value = known_operand(parser)
        return value, IndexMap(extents, dims_in_brackets(parser), guards_of(parser))

    def read_type() -> tuple[Attribute, IndexMap]:
        kind = parser.parse_type()
        parser.parse_keyword("at")
        return kind, IndexMap(extents, dims_in_brackets(parser), guards_of(parser))

    if word(parser, "into"):
        places = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, read_out)
        outs = [value for value, _ in places]
        return outs, [v.type for v in outs if not isinstance(v.type, BufferType)], [index for _, index in places]
    parser.parse_punctuation("->")
    results = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, read_type)
    return [], [kind for kind, _ in results], [index for _, index in results]


@lru_cache(maxsize=4096)
def segments(ins: int, outs: int) -> Attribute:
    """How a nest's operands divide into inputs and outputs."""
    return builtin.DenseArrayBase.from_list(builtin.i32, [ins, outs])
