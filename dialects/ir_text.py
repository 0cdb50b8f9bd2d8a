"""Modules as text, the way they are printed for people, and back: short types, decimals, lines of limited length.

Ops print themselves, on xDSL's own printer too; here is what is left, the spelling of types and of constants:

- ``f32[n, m]`` is a tensor, ``buffer f32[n, m] by [1, n]`` memory, whose strides are left out where it lies packed;
- ``1.0``, ``-inf`` and ``nan`` are floats, and numbers without a type are of 64 bits;
- ``#tx.dim<n + 1>`` has no quotes, so that a line can be broken in there;
- places in the user's files come only with `locations`, as ``loc("file:line:column")``; without, none are read back.
"""

from __future__ import annotations

import re
from io import StringIO
from typing import TYPE_CHECKING, Any

from xdsl.context import Context
from xdsl.dialects.builtin import Float64Type, FloatAttr, IntegerAttr, ModuleOp, NameLoc, StringAttr, TensorType, i64
from xdsl.ir import Attribute, Operation, TypeAttribute
from xdsl.parser import Parser
from xdsl.printer import Printer

from .assembly import buffer_text, decimal, dims_in_brackets, optional_bits, read_buffer
from .attributes import BufferType, TextAttr, ir_tensor, tensor_of
from .types import DTYPES, tensor_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["LONGEST", "ModuleParser", "ModulePrinter", "broken", "ir_text", "read_module"]

#: Letters of a line, where it can be broken.
LONGEST = 120
#: How a string literal has the bytes that it does not have as they are.
_ESCAPED = {b: f"\\{b:02X}" for b in (*range(0x20), 0x22, *range(0x7F, 0x100))} | {0x5C: "\\\\"}


class ModulePrinter(Printer):
    """xDSL's printer with our spelling of types and constants."""

    print_locations: bool = False

    def print_attribute(self, attribute: Attribute) -> None:
        if self.print_generic_format:
            super().print_attribute(attribute)
        elif isinstance(attribute, BufferType):
            self.print_string(f"buffer {buffer_text(attribute.data)}")
        elif isinstance(attribute, TensorType) and (short := _tensor_text(attribute)) is not None:
            self.print_string(short)
        elif isinstance(attribute, IntegerAttr) and attribute.type == i64:
            self.print_string(str(attribute.value.data))
        elif isinstance(attribute, FloatAttr) and isinstance(attribute.type, Float64Type) and _has_point(attribute):
            self.print_float(attribute.value.data, attribute.type)
        elif isinstance(attribute, TextAttr):
            self.print_string(f"#{attribute.name}<{attribute.write(attribute.data)}>")
        else:
            super().print_attribute(attribute)

    def print_float(self, value: float, type: Any) -> None:
        text = None if self.print_generic_format else decimal(value, type)
        if text is None:
            super().print_float(value, type)
        else:
            self.print_string(text)

    def print_bytes_literal(self, bytestring: bytes) -> None:
        """As the base class has it, which writes each letter by a call: strings are most of what a module prints."""
        self.print_string(f'"{bytestring.decode("latin-1").translate(_ESCAPED)}"')

    def print_op_attributes(
        self,
        attributes: Mapping[str, Attribute],
        *,
        reserved_attr_names: Iterable[str] = (),
        print_keyword: bool = False,
    ) -> bool:
        hidden = reserved_attr_names if self.print_generic_format else (*reserved_attr_names, "loc")
        return super().print_op_attributes(attributes, reserved_attr_names=hidden, print_keyword=print_keyword)

    def print_op(self, op: Operation) -> None:
        super().print_op(op)
        loc = op.attributes.get("loc")
        if self.print_locations and isinstance(loc, StringAttr) and not self.print_generic_format:
            self.print_string(" loc(")
            self.print_string_literal(loc.data)
            self.print_string(")")


def _tensor_text(kind: TensorType[Any]) -> str | None:
    """``f32[n, m]``; None where a tensor has no such name."""
    try:
        tensor = tensor_of(kind)
    except ValueError:
        return None
    return str(tensor) if ir_tensor(tensor) == kind else None


def _has_point(value: FloatAttr[Any]) -> bool:
    """Whether the text alone says that it is a float."""
    text = decimal(value.value.data, value.type)
    return text is not None and "." in text


class ModuleParser(Parser):
    """xDSL's parser, which reads our spelling of types and constants too."""

    def parse_optional_type(self) -> TypeAttribute | None:
        token = self._current_token
        if token.text == "buffer":
            self.parse_keyword("buffer")
            return read_buffer(self)  # type: ignore[return-value]
        if token.text in DTYPES and token.span.input.at(token.span.end) == "[":
            element = DTYPES[self.parse_identifier()]
            return ir_tensor(tensor_type(element, dims_in_brackets(self)))
        return super().parse_optional_type()

    def parse_optional_attribute(self) -> Attribute | None:
        return optional_bits(self) or super().parse_optional_attribute()

    def parse_operation(self) -> Operation:
        op = super().parse_operation()
        if isinstance(op.location, NameLoc):
            op.attributes["loc"] = op.location.desc
        return op


def read_module(context: Context, text: str, name: str = "<unknown>") -> ModuleOp:
    """The module of a text, in either form.  Raises ParseError."""
    return ModuleParser(context, text, name).parse_module()


def ir_text(module: Operation, *, generic: bool = False, locations: bool = False, unbroken: bool = False) -> str:
    """A module as text.  ``generic``: MLIR's form of all ops alike, in which no attribute is left out, one op a line.

    Long lines are broken unless they are to be `unbroken`.
    """
    out = StringIO()
    printer = ModulePrinter(stream=out, print_generic_format=generic)
    printer.print_locations = locations
    # The ops of a module that says nothing itself are read back as one.
    plain = not generic and isinstance(module, ModuleOp) and not module.attributes and module.body.block.ops
    for i, op in enumerate(module.body.block.ops if plain else (module,)):  # type: ignore[attr-defined]
        printer.print_string("\n" if i else "")
        printer.print_op(op)
    text = out.getvalue()
    return text if generic or unbroken else "\n".join(map(broken, text.split("\n")))


#: What a line may well begin with.
_BEGINS = re.compile(
    r"->|//|[-+] |(attributes|order|init|carry|where|in|epilogue_inputs|into|from|combine|do|else|on|stages)\b"
)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def broken(line: str) -> str:
    """A line in several where it is too long: broken at a space, outside as many brackets as can be."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    parts = []
    while len(line) > LONGEST and (at := _break(line)) is not None:
        parts.append(line[:at])
        line = indent + line[at + 1 :]
    return "\n".join([*parts, line])


def _break(line: str) -> int | None:
    """The space at which a line is best broken: behind a comma or before what begins something."""
    plain = _STRING.sub(lambda m: "_" * len(m[0]), line)
    first = len(line) - len(line.lstrip())
    depth, found = 0, []
    for i, c in enumerate(plain):
        depth += (c in "([{") - (c in ")]}")
        if c == " " and i > first + 8:
            good = plain[i - 1] == "," or _BEGINS.match(plain, i + 1) is not None
            found.append((depth, not good, -i))
    short = [place for place in found if LONGEST // 3 < -place[2] <= LONGEST]
    # Nothing breaks it in time: a long string, behind which it goes on.
    return -min(short)[2] if short else min((-place[2] for place in found if -place[2] > LONGEST), default=None)
