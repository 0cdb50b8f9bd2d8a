"""AMX in the `loop` dialect: sums of products of tiles.

A tile has 16 rows of 64 bytes.  Tiles of the left operand have 32 elements of bf16 along K in each row; those of the
right operand have 16 columns, and in each of their rows the words of two neighbours along K, the even one in the low
half.  A factor of several bf16 terms has a tile for each.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.irdl import attr_def, irdl_op_definition, operand_def, region_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..assembly import RANGE, dims_in_brackets, known_operand, print_range, range_attributes, read_range
from ..attributes import BufferInfo, BufferType, DimsAttr, dims_attr, string_attr, write_dims
from ..dims.dims import Dim, packed_strides
from ..matrix_units import UNITS, MatrixUnit
from ..region_assembly import print_region, print_rest, read_rest
from .base import Ranged, body_of, expect_yield, parallel_around

__all__ = ["ELEMENT", "TILE", "TILES", "AmxOp"]

#: Rows of a tile, columns of sums, and words of a row.
TILE = 16
#: Tiles that a processor has.
TILES = 8
#: What tiles of factors hold.
ELEMENT = "bf16"


@irdl_op_definition
class AmxOp(Ranged):
    """Sums of products of tiles by AMX, in the order of the `unit`, into all of `sums`.

    ``left`` is of elements, ``[…, terms, row tiles, 16, depth]``, and ``right`` of words that hold two of them each,
    ``[…, terms, column tiles, 16, 16]``.  ``left_at`` and ``right_at`` are the indices of the tiles that an iteration
    multiplies; all are packed.  ``sums`` is ``[16 * row tiles, 16 * column tiles]``; they begin at zero, and are stored
    after the last iteration.  The region is other work of each iteration, interleaved with the products.
    """

    name = "loop.amx"
    left = operand_def(BufferType)
    right = operand_def(BufferType)
    sums = operand_def(BufferType)
    unit_name = attr_def(StringAttr, attr_name="unit")
    left_at = attr_def(DimsAttr)
    right_at = attr_def(DimsAttr)
    beside = region_def("single_block")

    def __init__(
        self, iv: str, lower: Dim | int, upper: Dim | int, unit: MatrixUnit, left: SSAValue, left_at: Sequence[Dim],
        right: SSAValue, right_at: Sequence[Dim], sums: SSAValue, beside: Block,
    ):  # fmt: skip
        attributes = range_attributes(iv, lower, upper, 1) | {
            "unit": string_attr(unit.name),
            "left_at": dims_attr(tuple(left_at)),
            "right_at": dims_attr(tuple(right_at)),
        }
        Operation.__init__(self, operands=[left, right, sums], attributes=attributes, regions=[Region(beside)])

    @property
    def unit(self) -> MatrixUnit:
        return next(u for u in UNITS if u.name == self.unit_name.data)

    @property
    def tiles(self) -> tuple[int, int]:
        """Rows and columns of tiles of the sums."""
        rows, columns = (d.const or 0 for d in _info(self.sums).dims)
        return rows // TILE, columns // TILE

    def print(self, printer: Printer) -> None:
        """``loop.amx k = 0 to n unit bf16 left %l[k] right %r[k] into %s { … }``"""
        print_range(printer, self)
        printer.print_string(f" unit {self.unit_name.data}")
        for name, factor, at in (("left", self.left, self.left_at), ("right", self.right, self.right_at)):
            printer.print_string(f" {name} ")
            printer.print_operand(factor)
            printer.print_string(f"[{write_dims(at.data)}]")
        printer.print_string(" into ")
        printer.print_operand(self.sums)
        print_rest(printer, self, (*RANGE, "unit", "left_at", "right_at"), header=True)
        print_region(printer, self.beside)

    @classmethod
    def parse(cls, parser: Parser) -> AmxOp:
        attributes = read_range(parser)
        parser.parse_keyword("unit")
        attributes["unit"] = string_attr(parser.parse_identifier())
        operands = []
        for name in ("left", "right"):
            parser.parse_keyword(name)
            operands.append(known_operand(parser))
            attributes[f"{name}_at"] = dims_attr(dims_in_brackets(parser))
        parser.parse_keyword("into")
        operands.append(known_operand(parser))
        attributes |= read_rest(parser, header=True)
        return cls.create(operands=operands, attributes=attributes, regions=[body_of(parser)])

    def verify_(self) -> None:
        self.verify_range()
        expect_yield(self, 0, ())
        if self.step.data.const != 1:
            raise VerifyException(f"an AMX loop has step 1, not {self.step.data}")
        if parallel_around(self) != "cpu_thread":
            raise VerifyException("an AMX loop stands in a cpu_thread loop, whose threads configure their tiles")
        named = {u.name: u for u in UNITS if u.feature}
        unit = named.get(self.unit_name.data)
        if unit is None:
            raise VerifyException(f"there is no unit {self.unit_name.data!r} of CPUs: {', '.join(named)}")
        rows, columns = self.tiles
        if not rows or not columns or rows * columns + rows + columns > TILES:
            raise VerifyException(f"{rows} by {columns} tiles of sums: with those of the factors there are {TILES}")
        for name, buffer, at, wanted in (
            ("left", self.left, self.left_at, f"{ELEMENT}[{unit.terms}, {rows}, {TILE}, {unit.depth}]"),
            ("right", self.right, self.right_at, f"i32[{unit.terms}, {columns}, {TILE}, {TILE}]"),
            ("sums", self.sums, None, f"{unit.sums}[{TILE * rows}, {TILE * columns}]"),
        ):
            info, before = _info(buffer), len(at.data) if at is not None else 0
            found = f"{info.dtype.name}[{', '.join(str(d) for d in info.dims[before:])}]"
            if found != wanted or info.strides != packed_strides(info.dims):
                raise VerifyException(f"the {name} tiles are packed {wanted}, not {info}")


def _info(value: SSAValue) -> BufferInfo:
    assert isinstance(value.type, BufferType)
    return value.type.data
