"""Products of tiles by the matrix unit of x86-64 processors (AMX).

A function that multiplies sets up its thread's tiles when it begins, all of them whole, and gives them back at its end,
so that the kernel has no more to save than of other threads.  Tiles have fixed numbers, those of the sums first.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ....dialects.attributes import BufferInfo, BufferType
from ....dialects.dims.dims import Dim, dim, sym
from ....dialects.loop import AmxOp
from ....dialects.loop.amx import TILE, TILES
from ..emit.memory.access import storage_type
from ..emit.memory.bounds_check import check_index
from ..emit.text import EmitError
from ..emit.values.registers import VectorValue

if TYPE_CHECKING:
    from .function import CpuFunction

__all__ = ["amx_matmul", "release_tiles"]

#: Bytes of a row of a tile.
ROW = 64


def amx_matmul(writer: CpuFunction, op: AmxOp) -> None:
    """Sums that begin at zero, the products of iterations with what stands beside them, and the sums to memory.

    Where each tile meets several others there is time to have the next iteration's ready, a few lines after each
    product; asked for at once they would be in the way of the tiles that are needed now.
    """
    if not writer.text.target.has(op.unit.feature):
        raise EmitError(f"{op.unit.name} is a matrix unit of processors with {op.unit.feature}")
    _set_up(writer)
    rows, columns = op.tiles
    sums = [(r, c, r * columns + c) for r in range(rows) for c in range(columns)]
    for _, _, number in sums:
        _call(writer, "tilezero", f"i8 {number}")
    left, right = (range(rows * columns + n, rows * columns + n + size) for n, size in ((0, rows), (rows, columns)))
    each = rows * columns * len(op.unit.products)

    def products(_: list[VectorValue]) -> list[VectorValue]:
        held, ahead = (-1, -1), _lines_ahead(writer, op) if op.unit.pieces > 1 else []
        share = -(-len(ahead) // each)
        for pieces in op.unit.products:
            for r, number in enumerate(left if pieces[0] != held[0] else ()):
                _load(writer, op, op.left, (*op.left_at.data, dim(pieces[0]), dim(r)), number)
            for c, number in enumerate(right):
                if pieces[1] != held[1]:
                    _load(writer, op, op.right, (*op.right_at.data, dim(pieces[1]), dim(c)), number)
                for r in range(rows):
                    _call(writer, "tdpbf16ps", f"i8 {r * columns + c}, i8 {left[r]}, i8 {number}")
                    for line in ahead[:share]:
                        writer.ask_for(line)
                    del ahead[:share]
            held = pieces
        return writer.region(op.block)

    lower, upper = op.lower.data, op.upper.data
    bound = upper if lower.nonneg else None
    writer.counted(op.symbol, writer.index.value(lower), writer.index.value(upper), "1", products, bound=bound)
    for r, c, number in sums:
        at = writer.index.pointer(writer.buffer(op.sums), "float", dim((r * columns * TILE + c) * TILE))
        _call(writer, "tilestored64", f"i8 {number}, ptr {at}, i64 {columns * ROW}")


def release_tiles(writer: CpuFunction) -> None:
    """At the end of a function, what it set up."""
    if writer.has_tiles:
        _call(writer, "tilerelease", "")


def _set_up(writer: CpuFunction) -> None:
    if writer.has_tiles:
        return
    writer.has_tiles = True
    # The layout that the manual gives: palette 1; bytes of a row of each tile from byte 16 on, rows from byte 48 on.
    palette = bytes([1, *[0] * 15, *[ROW, 0] * TILES, *[0] * 16, *[TILE] * TILES, *[0] * 8])
    text = "".join(f"\\{byte:02X}" for byte in palette)
    writer.text.module.globals["tiles"] = f'@tiles = private unnamed_addr constant [64 x i8] c"{text}", align 64'
    writer.text.declare("llvm.x86.ldtilecfg", "void", ["ptr"])
    writer.text.entry.append("  call void @llvm.x86.ldtilecfg(ptr @tiles)")


def _load(writer: CpuFunction, op: AmxOp, buffer: SSAValue, at: tuple[Dim, ...], number: int) -> None:
    """A tile of a buffer to the register of a number."""
    info = _info(buffer)
    index = (*at, *(dim(0) for _ in range(info.rank - len(at))))
    if writer.text.module.checked:
        check_index(writer, op, buffer, index, None)
    _call(writer, "tileloadd64", f"i8 {number}, ptr {_place(writer, buffer, index)}, i64 {ROW}")


def _lines_ahead(writer: CpuFunction, op: AmxOp) -> list[str]:
    """The lines of the next iteration's tiles, which lie behind one another; after the last one, of what follows."""
    lines = []
    for buffer, at in ((op.left, op.left_at), (op.right, op.right_at)):
        info = _info(buffer)
        index = [e.substitute({op.symbol: sym(op.iv.data) + 1}) for e in at.data]
        start = _place(writer, buffer, (*index, *(dim(0) for _ in range(info.rank - len(index)))))
        size = prod(d.const or 0 for d in info.dims[len(index) :]) * info.dtype.bytes
        lines += [writer.text.ins(f"getelementptr i8, ptr {start}, i64 {offset}") for offset in range(0, size, ROW)]
    return lines


def _place(writer: CpuFunction, buffer: SSAValue, index: tuple[Dim, ...]) -> str:
    info = _info(buffer)
    return writer.index.pointer(writer.buffer(buffer), storage_type(info.dtype), writer.index.address(info, index))


def _info(buffer: SSAValue) -> BufferInfo:
    assert isinstance(buffer.type, BufferType)
    return buffer.type.data


def _call(writer: CpuFunction, name: str, arguments: str) -> None:
    full = f"llvm.x86.{name}"
    writer.text.declare(full, "void", [a.split()[0] for a in arguments.split(", ") if a])
    writer.text.put(f"call void @{full}({arguments})")
