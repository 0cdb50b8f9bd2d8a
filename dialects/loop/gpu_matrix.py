"""Tensor cores of GPUs in the `loop` dialect: `loop.mma`, and asynchronous copies into its stages."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, attr_def, irdl_op_definition, operand_def, opt_attr_def, region_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..assembly import (
    RANGE,
    dims_in_brackets,
    flags,
    guards_of,
    known_operand,
    print_guards,
    print_range,
    range_attributes,
    read_range,
)
from ..attributes import (
    BoxInfo,
    BufferInfo,
    BufferType,
    DimsAttr,
    TensorMapType,
    dims_attr,
    integer_attr,
    string_attr,
    write_dims,
)
from ..dims.dims import Dim, dim
from ..matrix_units import GRANULE, LINE, UNITS, MatrixUnit, StageTile
from ..region_assembly import print_region, print_rest, read_rest
from .base import Ranged, body_of, expect_yield, parallel_around

__all__ = ["MBARRIER", "AsyncCopyOp", "BulkCopyOp", "MmaOp"]

#: Bytes of an mbarrier.
MBARRIER = 8


@irdl_op_definition
class AsyncCopyOp(IRDLOperation):
    """Copies `elements` contiguous elements of a buffer from ``index`` on into shared memory at ``to``, asynchronously.

    Zeros are stored where a guard is negative.  The elements are 4, 8 or 16 bytes and aligned to that.  The copy is
    complete when the `loop.mma` that it is in multiplies its stage: it stands nowhere else.
    """

    name = "loop.async_copy"
    source = operand_def()
    target = operand_def()
    index = attr_def(DimsAttr)
    guards = opt_attr_def(DimsAttr)
    to = attr_def(DimsAttr)
    elements = attr_def(IntegerAttr)

    def __init__(
        self, source: SSAValue, index: Sequence[Dim], guards: Sequence[Dim], target: SSAValue, to: Sequence[Dim],
        elements: int,
    ):  # fmt: skip
        attributes = {"index": dims_attr(tuple(index)), "to": dims_attr(tuple(to)), "elements": integer_attr(elements)}
        if guards:
            attributes["guards"] = dims_attr(tuple(guards))
        Operation.__init__(self, operands=[source, target], attributes=attributes)

    @property
    def guard_exprs(self) -> tuple[Dim, ...]:
        return self.guards.data if self.guards is not None else ()

    @property
    def bytes(self) -> int:
        return _info(self.source).dtype.bytes * self.elements.value.data

    def print(self, printer: Printer) -> None:
        """``loop.async_copy 8 from %x[i, k] into %t[i, k % 64] where (n - 1 - i >= 0)``"""
        printer.print_string(f" {self.elements.value.data} from ")
        printer.print_operand(self.source)
        printer.print_string(f"[{write_dims(self.index.data)}] into ")
        printer.print_operand(self.target)
        printer.print_string(f"[{write_dims(self.to.data)}]")
        print_guards(printer, self.guard_exprs)
        print_rest(printer, self, ("index", "to", "elements", "guards"))

    @classmethod
    def parse(cls, parser: Parser) -> AsyncCopyOp:
        attributes: dict[str, Attribute] = {"elements": integer_attr(parser.parse_integer())}
        parser.parse_keyword("from")
        source = known_operand(parser)
        attributes["index"] = dims_attr(dims_in_brackets(parser))
        parser.parse_keyword("into")
        target = known_operand(parser)
        attributes["to"] = dims_attr(dims_in_brackets(parser))
        if guards := guards_of(parser):
            attributes["guards"] = dims_attr(guards)
        return cls.create(operands=[source, target], attributes=attributes | read_rest(parser))

    def verify_(self) -> None:
        infos = [v.type.data for v in self.operands if isinstance(v.type, BufferType)]
        if len(infos) != 2 or infos[0].dtype != infos[1].dtype:
            raise VerifyException("a copy goes between buffers of one element type")
        if [len(self.index.data), len(self.to.data)] != [info.rank for info in infos]:
            raise VerifyException(f"indices for buffers of rank {infos[0].rank} and {infos[1].rank} are needed")
        if self.bytes not in (4, 8, 16):
            raise VerifyException(f"4, 8 or 16 bytes are copied at once, not {self.bytes}")
        parent = self.parent_op()
        while parent is not None and not isinstance(parent, MmaOp):
            parent = parent.parent_op()
        if parent is None:
            raise VerifyException("an asynchronous copy stands in a loop.mma, which waits for it")


@irdl_op_definition
class BulkCopyOp(IRDLOperation):
    """Copies a box into shared memory at ``to`` by TMA; one thread of the block issues the copy.

    The box is of a `loop.tensor_map`, from the index ``at`` on; elements outside the tensor are zeros.  Along its last
    dim it has lines of `matrix_units.LINE` bytes, stored one after the other as those of a `matrix_units.StageTile`.
    The copy is complete when the `loop.mma` that it stands in multiplies the stage.
    """

    name = "loop.bulk_copy"
    tensor = operand_def(TensorMapType)
    target = operand_def(BufferType)
    at = attr_def(DimsAttr)
    to = attr_def(DimsAttr)

    def __init__(self, tensor: SSAValue, at: Sequence[Dim], target: SSAValue, to: Sequence[Dim]):
        attributes = {"at": dims_attr(tuple(at)), "to": dims_attr(tuple(to))}
        Operation.__init__(self, operands=[tensor, target], attributes=attributes)

    @property
    def box(self) -> BoxInfo:
        assert isinstance(self.tensor.type, TensorMapType)
        return self.tensor.type.data

    @property
    def lines(self) -> int:
        return prod(self.box.sizes[:-1])

    @property
    def bytes(self) -> int:
        return self.lines * LINE

    def print(self, printer: Printer) -> None:
        """``loop.bulk_copy from %map[i, k] into %t[k // 64 % 3]``"""
        for name, value, at in ((" from ", self.tensor, self.at), (" into ", self.target, self.to)):
            printer.print_string(name)
            printer.print_operand(value)
            printer.print_string(f"[{write_dims(at.data)}]")
        print_rest(printer, self, ("at", "to"))

    @classmethod
    def parse(cls, parser: Parser) -> BulkCopyOp:
        operands, attributes = [], {}
        for name, attribute in (("from", "at"), ("into", "to")):
            parser.parse_keyword(name)
            operands.append(known_operand(parser))
            attributes[attribute] = dims_attr(dims_in_brackets(parser))
        return cls.create(operands=operands, attributes=attributes | read_rest(parser))

    def verify_(self) -> None:
        box, info = self.box, _info(self.target)
        if box.sizes[-1] * box.dtype.bytes != LINE or self.lines % 8:
            raise VerifyException(f"a box is eights of lines of {LINE} bytes, not {box}")
        stage_tile = [self.lines, LINE // GRANULE, GRANULE // box.dtype.bytes]
        if info.dtype != box.dtype or [d.const for d in info.dims[-3:]] != stage_tile:
            raise VerifyException(f"boxes of {box} do not fit into {info}")
        if [len(self.at.data), len(self.to.data)] != [len(box.sizes), info.rank - 3]:
            raise VerifyException(
                f"{len(box.sizes)} indices in the map and {info.rank - 3} in shared memory are needed"
            )
        if not isinstance(self.parent_op(), MmaOp):
            raise VerifyException("a bulk copy stands directly in a loop.mma, which waits for it")


@irdl_op_definition
class MmaOp(Ranged):
    """Sums of products by the tensor cores of a gpu_block's warps, in the order of the `unit`.

    A software pipeline: the region fills, for iteration ``iv``, stage ``iv // step % stages``
    (`matrix_units.StageTile`) of `left`, of ``rows`` rows, and of `right`, of ``columns`` columns, in shared memory:
    ``[stages, *StageTile.shape]``.  It runs up to ``stages - 1`` iterations ahead of the products, so it depends on
    nothing but its iterator.  Products along `step`, the whole length of a stage, are added to accumulators that begin
    at zero.  In the end these are in `sums`, ``[rows, columns]`` of shared memory, which may be that of the stages; the
    op has the barriers for all that.  Each warp has `tile` rows and columns of the sums; with `warpgroup` four warps
    together multiply 64 rows by all columns, from shared memory, and the stages may be filled by bulk copies, then both
    of them.
    """

    name = "loop.mma"
    left = operand_def()
    right = operand_def()
    sums = operand_def()
    unit_name = attr_def(StringAttr, attr_name="unit")
    stages = attr_def(IntegerAttr)
    rows = attr_def(IntegerAttr)
    columns = attr_def(IntegerAttr)
    tile_rows = attr_def(IntegerAttr)
    tile_columns = attr_def(IntegerAttr)
    left_transposed = opt_attr_def(UnitAttr)
    right_transposed = opt_attr_def(UnitAttr)
    warpgroup = opt_attr_def(UnitAttr)
    body = region_def("single_block")

    #: Rows of sums of the four warps that multiply together.
    GROUP_ROWS: ClassVar = 64
    #: Attributes that are numbers.
    NUMBERS: ClassVar = ("stages", "rows", "columns", "tile_rows", "tile_columns")

    def __init__(
        self, iv: str, lower: Dim | int, upper: Dim | int, block: Block, buffers: tuple[SSAValue, SSAValue, SSAValue],
        stage_tiles: tuple[StageTile, StageTile], stages: int, tile: tuple[int, int], warpgroup: bool = False,
    ):  # fmt: skip
        unit = stage_tiles[0].unit
        attributes = range_attributes(iv, lower, upper, unit.line) | {"unit": string_attr(unit.name)}
        numbers = (stages, stage_tiles[0].size, stage_tiles[1].size, *tile)
        for name, number in zip(self.NUMBERS, numbers, strict=True):
            attributes[name] = integer_attr(number)
        flags = {
            "left_transposed": stage_tiles[0].transposed,
            "right_transposed": stage_tiles[1].transposed,
            "warpgroup": warpgroup,
        }
        attributes |= {name: UnitAttr() for name, is_so in flags.items() if is_so}
        Operation.__init__(self, operands=list(buffers), attributes=attributes, regions=[Region(block)])

    @property
    def unit(self) -> MatrixUnit:
        return next(u for u in UNITS if u.name == self.unit_name.data)

    @property
    def stage_tiles(self) -> tuple[StageTile, StageTile]:
        rows, columns = self.shape
        transposed = self.left_transposed is not None, self.right_transposed is not None
        return StageTile(self.unit, rows, transposed[0]), StageTile(self.unit, columns, transposed[1])

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.value.data, self.columns.value.data

    @property
    def tile(self) -> tuple[int, int]:
        return self.tile_rows.value.data, self.tile_columns.value.data

    @property
    def warps(self) -> tuple[int, int]:
        """Warps along the rows and along the columns of the sums."""
        return self.shape[0] // self.tile[0], self.shape[1] // self.tile[1]

    @property
    def n_stages(self) -> int:
        return self.stages.value.data

    @property
    def slot(self) -> Dim:
        """The stage of the iterator's iteration."""
        assert self.step.data.const is not None
        return dim(self.iv.data) // self.step.data.const % self.n_stages

    @property
    def bulk_copies(self) -> tuple[BulkCopyOp, ...]:
        return tuple(op for op in self.block.ops if isinstance(op, BulkCopyOp))

    def block_bytes(self, threads: int) -> int:
        """The shared memory of what bulk copies signal: two mbarriers for each stage."""
        return 2 * MBARRIER * self.n_stages if self.bulk_copies else 0

    def print(self, printer: Printer) -> None:
        """``loop.mma k = 0 to n step 32 unit f16 left %l right %r transposed into %s stages 3 rows 64 …  { … }``"""
        print_range(printer, self)
        printer.print_string(f" unit {self.unit_name.data}")
        transposed = (self.left_transposed, self.right_transposed)
        for name, value, flag in zip(("left", "right"), (self.left, self.right), transposed):
            printer.print_string(f" {name} ")
            printer.print_operand(value)
            if flag is not None:
                printer.print_string(" transposed")
        printer.print_string(" into ")
        printer.print_operand(self.sums)
        for name in self.NUMBERS:
            number = self.attributes[name]
            assert isinstance(number, IntegerAttr)
            printer.print_string(f" {name} {number.value.data}")
        if self.warpgroup is not None:
            printer.print_string(" warpgroup")
        shown = (*RANGE, *self.NUMBERS, "unit", "left_transposed", "right_transposed", "warpgroup")
        print_rest(printer, self, shown, header=True)
        print_region(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> MmaOp:
        attributes = read_range(parser)
        parser.parse_keyword("unit")
        attributes["unit"] = string_attr(parser.parse_identifier())
        operands = []
        for name in ("left", "right"):
            parser.parse_keyword(name)
            operands.append(known_operand(parser))
            attributes |= {f"{name}_transposed": flag for flag in flags(parser, "transposed").values()}
        parser.parse_keyword("into")
        operands.append(known_operand(parser))
        for name in cls.NUMBERS:
            parser.parse_keyword(name)
            attributes[name] = integer_attr(parser.parse_integer())
        attributes |= flags(parser, "warpgroup")
        attributes |= read_rest(parser, header=True)
        return cls.create(operands=operands, attributes=attributes, regions=[body_of(parser)])

    def verify_(self) -> None:
        self.verify_range()
        if parallel_around(self) != "gpu_block":
            raise VerifyException("a loop.mma stands in a gpu_block, whose threads cooperate")
        if self.unit_name.data not in {u.name for u in UNITS}:
            raise VerifyException(f"there is no unit {self.unit_name.data!r}: {', '.join(u.name for u in UNITS)}")
        unit, multiples = self.unit, (16, 16)
        if self.warpgroup is not None:
            multiples = 16, self.shape[1]
            if not unit.warpgroup or self.shape[0] % self.GROUP_ROWS or self.tile[0] != 16 or self.shape[1] > 256:
                raise VerifyException(
                    f"warp groups of {unit.name} have {self.GROUP_ROWS} rows, 16 a warp, and at most 256 columns"
                )
        for what, size, tile, multiple in zip(("rows", "columns"), self.shape, self.tile, multiples):
            if size % tile or tile % multiple:
                raise VerifyException(f"{size} {what} in tiles of {tile}: the tile is a multiple of {multiple}")
        if self.step.data.const != unit.line or self.lower.data.const != 0:
            raise VerifyException(f"stages of {unit.name} are {unit.line} long, from 0 on, not {self.step.data}")
        for name, buffer, stage_tile, factor in zip(("left", "right"), self.operands, self.stage_tiles, unit.factors):
            info = _info(buffer)
            if stage_tile.transposed and not unit.transposes:
                raise VerifyException(f"stages of {unit.name} are not transposed")
            wanted = f"{factor}[{', '.join(map(str, (self.n_stages, *stage_tile.shape)))}]"
            if str(info).partition(" by ")[0] != wanted:
                raise VerifyException(f"the {name} stages are {wanted}, not {info}")
        if self.bulk_copies and (self.warpgroup is None or len(self.bulk_copies) + 1 != len(self.block.ops)):
            raise VerifyException("bulk copies fill the stages of both operands, for warp groups")
        if _info(self.sums).dtype.name != unit.sums:
            raise VerifyException(f"the sums of {unit.name} are of {unit.sums}, not of {_info(self.sums).dtype}")
        expect_yield(self, 0, ())


def _info(value: SSAValue) -> BufferInfo:
    assert isinstance(value.type, BufferType)
    return value.type.data
