"""What the ops of our dialects print and read in common: expressions in place, words, constants.

Index expressions are Python's: MLIR's parser takes their ``//`` for a comment and knows no ``$``.  So they are cut out
of the text by hand, from the token before them on, and MLIR's tokens go on behind them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import overload

from xdsl.dialects.builtin import AnyFloat, ArrayAttr, FloatAttr, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from .attributes import (
    BufferInfo,
    BufferType,
    DimAttr,
    MapAttr,
    OrderAttr,
    buffer_type,
    dim_attr,
    order_attr,
    split_top,
    string_attr,
)
from .dims.dims import Dim, dim, packed_strides, parse_dim
from .dims.index_map import IndexMap
from .order import parse_order
from .types import DTYPES

__all__ = [
    "RANGE", "buffer_text", "decimal", "dim_after", "dim_of", "dims_in_brackets", "flags", "guards_of",
    "in_parentheses", "known_operand", "map_after", "number_after", "operands_in", "optional_bits", "optional_dim",
    "optional_operand", "print_buffer", "print_constants", "print_guards", "print_range", "print_results",
    "range_attributes", "raw_after", "read_buffer", "read_constant", "read_constants", "read_order", "read_range",
    "read_results", "symbol_after", "word",
]  # fmt: skip

_OPEN, _CLOSE = "([{", ")]}"
#: An operand of an expression: a number, a symbol or the name of a function; and what stands between two operands.  A
#: remainder has a space behind it, a value's name has none.
_ATOM = re.compile(r"[\s-]*([\w$.]+)?")
_OPERATOR = re.compile(r"\s*(?://|-(?!>)|[+*^]|%(?=\s))")
_SYMBOL = re.compile(r"\s*([\w$.]+)")
#: What stands between the parts of an index map.
_ARROW, _WHERE = re.compile(r"\s*->\s*(?=\()"), re.compile(r"\s*where\s*(?=\()")
_BITS = re.compile(r"(-?)\s*(inf|nan)\b")
_ORDER = re.compile(r"\s*\w+(<[^>]*>)?")


def _content(parser: Parser) -> str:
    return parser.lexer.input.content  # type: ignore[return-value]


def _behind(parser: Parser, token: str) -> int:
    """Where `token`, which has to come next, ends."""
    found = parser._current_token
    if found.text != token:
        parser.raise_error(f"'{token}' is expected")
    return found.span.end


def _balanced(parser: Parser, start: int) -> int:
    """The place behind the bracket that closes the one at `start`."""
    text, depth = _content(parser), 0
    for i in range(start, len(text)):
        if text[i] in _OPEN:
            depth += 1
        elif text[i] in _CLOSE:
            depth -= 1
            if depth == 0:
                return i + 1
    parser.raise_error(f"'{text[start]}' is not closed", start)


def _expression_end(parser: Parser, start: int) -> int:
    """The place behind the expression at `start`: operands, with an operator between any two of them."""
    text, at = _content(parser), start
    while True:
        match = _ATOM.match(text, at)
        assert match is not None
        at = match.end()
        if text[at : at + 1] == "(":
            at = _balanced(parser, at)
        elif match[1] is None:
            parser.raise_error("an integer expression is expected", at)
        operator = _OPERATOR.match(text, at)
        if operator is None:
            return at
        at = operator.end()


def dim_of(parser: Parser, text: str, start: int) -> Dim:
    try:
        return parse_dim(" ".join(text.split()))
    except ValueError as error:
        parser.raise_error(str(error), start)


# Expressions.


def raw_after(parser: Parser, opening: str) -> str:
    """What stands between the bracket `opening`, which comes next, and the one that closes it."""
    start = _behind(parser, opening) - 1
    end = _balanced(parser, start)
    parser._resume_from(end)
    return " ".join(_content(parser)[start + 1 : end - 1].split())


def dim_after(parser: Parser, token: str) -> Dim:
    """The expression behind `token`, which comes next."""
    start = _behind(parser, token)
    end = _expression_end(parser, start)
    found = dim_of(parser, _content(parser)[start:end], start)
    parser._resume_from(end)
    return found


def optional_dim(parser: Parser, token: str) -> Dim | None:
    return dim_after(parser, token) if parser._current_token.text == token else None


def dims_in_brackets(parser: Parser, opening: str = "[", count: int | None = None) -> tuple[Dim, ...]:
    """``[i0, i1 + 512]``"""
    start = parser.pos
    found = tuple(dim_of(parser, part, start) for part in split_top(raw_after(parser, opening)))
    if count is not None and len(found) != count:
        parser.raise_error(f"{count} expressions are expected, not {len(found)}", start)
    return found


def in_parentheses(expr: Dim) -> str:
    """``(k*k)``; a quotient stands in parentheses anyway."""
    only = len(expr.terms) == 1 and expr.terms[0][1] == 1 and len(expr.terms[0][0]) == 1
    return str(expr) if only and str(expr).startswith("(") else f"({expr})"


def symbol_after(parser: Parser, token: str) -> str:
    start = _behind(parser, token)
    match = _SYMBOL.match(_content(parser), start)
    if match is None:
        parser.raise_error("the name of a symbol is expected", start)
    parser._resume_from(match.end())
    return match[1]


def map_after(parser: Parser, token: str) -> IndexMap:
    """The index map behind `token`: ``(d0: n, d1: m) -> (d1, d0) where (d0 - 1)``."""
    text, start = _content(parser), _behind(parser, token)
    start += len(text[start:]) - len(text[start:].lstrip())
    end = _balanced(parser, start)
    for between in (_ARROW, _WHERE):
        if (match := between.match(text, end)) is not None:
            end = _balanced(parser, match.end())
    try:
        found = MapAttr.read(" ".join(text[start:end].split()))
    except ValueError as error:
        parser.raise_error(str(error), start)
    parser._resume_from(end)
    return found


def guards_of(parser: Parser, relation: str = ">= 0") -> tuple[Dim, ...]:
    """``where (j - 1 >= 0, n - j >= 0)``, if that is what comes next."""
    if not word(parser, "where"):
        return ()
    start, found = parser.pos, []
    for part in split_top(raw_after(parser, "(")):
        if not part.endswith(relation):
            parser.raise_error(f"a condition is 'expression {relation}', not '{part.strip()}'", start)
        found.append(dim_of(parser, part.removesuffix(relation), start))
    return tuple(found)


def print_guards(printer: Printer, exprs: Sequence[Dim], relation: str = ">= 0") -> None:
    if exprs:
        printer.print_string(f" where ({', '.join(f'{e} {relation}' for e in exprs)})")


# Words and numbers.


def word(parser: Parser, text: str) -> bool:
    """Whether the word `text` comes next, which then is read."""
    return parser.parse_optional_keyword(text) is not None


def flags(parser: Parser, *names: str) -> dict[str, Attribute]:
    """Those of the words that come next, in this order."""
    return {name: UnitAttr() for name in names if word(parser, name)}


@overload
def number_after(parser: Parser, name: str, default: int) -> int: ...
@overload
def number_after(parser: Parser, name: str) -> int | None: ...
def number_after(parser: Parser, name: str, default: int | None = None) -> int | None:
    """The number behind a word, `default` where the word does not come next."""
    return parser.parse_integer(allow_boolean=False) if word(parser, name) else default


def read_order(parser: Parser) -> OrderAttr:
    start = parser.pos
    match = _ORDER.match(_content(parser), start)
    try:
        order = parse_order(match[0] if match else "")
    except ValueError as error:
        parser.raise_error(str(error), start)
    assert match is not None
    parser._resume_from(match.end())
    return order_attr(order)


# Ranges.

#: The attributes of a range.
RANGE = ("iv", "lower", "upper", "step")


def range_attributes(iv: str, lower: Dim | int, upper: Dim | int, step: Dim | int) -> dict[str, Attribute]:
    return {
        "iv": string_attr(iv),
        "lower": dim_attr(dim(lower)),
        "upper": dim_attr(dim(upper)),
        "step": dim_attr(dim(step)),
    }


def print_range(printer: Printer, op: Operation) -> None:
    """``i = 0 to n step 4``, of any op that has such attributes; a step of 1 is not said."""
    a = op.attributes
    iv, lower, upper, step = a["iv"], a["lower"], a["upper"], a["step"]
    assert isinstance(iv, StringAttr) and isinstance(lower, DimAttr)
    assert isinstance(upper, DimAttr) and isinstance(step, DimAttr)
    printer.print_string(" ")
    printer.print_identifier_or_string_literal(iv.data)
    printer.print_string(f" = {lower.data} to {upper.data}")
    if step.data.const != 1:
        printer.print_string(f" step {step.data}")


def read_range(parser: Parser) -> dict[str, Attribute]:
    iv = parser.parse_identifier_or_str_literal(", the name of the iterator,")
    lower = dim_after(parser, "=")
    upper = dim_after(parser, "to")
    return range_attributes(iv, lower, upper, optional_dim(parser, "step") or 1)


# Buffers.


def buffer_text(info: BufferInfo) -> str:
    """``f32[n, m]``; the strides only where memory has gaps, or another order than the dims."""
    return str(info).partition(" by ")[0] if info.strides == packed_strides(info.dims) else str(info)


def print_buffer(printer: Printer, kind: Attribute) -> None:
    if isinstance(kind, BufferType):
        printer.print_string(buffer_text(kind.data))
    else:
        printer.print_attribute(kind)


def read_buffer(parser: Parser) -> Attribute:
    if parser._current_token.text not in DTYPES:
        return parser.parse_type()
    element = DTYPES[parser.parse_identifier()]
    dims = dims_in_brackets(parser)
    strides = dims_in_brackets(parser, count=len(dims)) if word(parser, "by") else packed_strides(dims)
    return buffer_type(BufferInfo(element, dims, strides))


# Operands.


def known_operand(parser: Parser) -> SSAValue:
    """An operand, whose type is that of what defines it: it is defined before."""
    return _defined(parser, parser.parse_unresolved_operand())


def optional_operand(parser: Parser) -> SSAValue | None:
    name = parser.parse_optional_unresolved_operand()
    return None if name is None else _defined(parser, name)


def _defined(parser: Parser, name: UnresolvedOperand) -> SSAValue:
    values = parser.ssa_values.get(name.operand_name, ())
    if name.index >= len(values):
        parser.raise_error(f"%{name.operand_name} is used before it is defined", name.span)
    return values[name.index]


def operands_in(parser: Parser) -> list[SSAValue]:
    """``(%a, %b)``"""
    return parser.parse_comma_separated_list(Parser.Delimiter.PAREN, lambda: known_operand(parser))


def print_results(printer: Printer, types: Sequence[Attribute]) -> None:
    """``-> (f32[n], i64[n])``; nothing where there are no results."""
    if types:
        printer.print_string(" -> ")
        with printer.in_parens():
            printer.print_list(types, printer.print_attribute)


def read_results(parser: Parser) -> list[Attribute]:
    if parser.parse_optional_punctuation("->") is None:
        return []
    return list(parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type))


# Constants.


def decimal(value: float, element: AnyFloat) -> str | None:
    """The shortest decimal that is read back as `value`; None for a NaN that is not the usual one."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if math.isnan(value):
        return "nan" if element.pack((value,)) == element.pack((math.nan,)) else None
    bits = element.pack((value,))
    texts = (f"{value:.{digits}g}" for digits in range(1, 18))
    shortest = next(t for t in texts if element.pack((float(t),)) == bits)
    mantissa, e, exponent = repr(float(shortest)).partition("e")
    return (mantissa if "." in mantissa else f"{mantissa}.0") + e + exponent


def optional_bits(parser: Parser) -> Attribute | None:
    """``-inf : f32``, of which MLIR has only the bits."""
    match = _BITS.match(_content(parser), parser.pos)
    if match is None:
        return None
    parser._resume_from(match.end())
    parser.parse_punctuation(":")
    return FloatAttr(float(match[1] + match[2]), parser.parse_type())  # type: ignore[arg-type]


def read_constant(parser: Parser) -> Attribute:
    return optional_bits(parser) or parser.parse_attribute()


def _print_constant(printer: Printer, value: Attribute) -> None:
    text = decimal(value.value.data, value.type) if isinstance(value, FloatAttr) else None
    if text is None:
        printer.print_attribute(value)
    else:
        printer.print_string(f"{text} : ")
        printer.print_attribute(value.type)  # type: ignore[attr-defined]


def print_constants(printer: Printer, values: Sequence[Attribute], types: Sequence[Attribute]) -> None:
    """``-inf : f32, 0 : i64``, and types that are not those of the constants."""
    printer.print_list(values, lambda value: _print_constant(printer, value))
    if [getattr(value, "type", None) for value in values] != list(types):
        print_results(printer, types)


def read_constants(parser: Parser) -> tuple[ArrayAttr, list[Attribute]]:
    """Constants, and their types or those behind them."""
    values = parser.parse_comma_separated_list(Parser.Delimiter.NONE, lambda: read_constant(parser))
    if parser.parse_optional_punctuation("->") is not None:
        types = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
        return ArrayAttr(values), list(types)
    return ArrayAttr(values), [v.type for v in values if isinstance(v, FloatAttr | IntegerAttr)]


# Regions, and what has no place of its own in an op's text.


# What `while` and `if` of all dialects print.
