"""Products of tiles by the matrix unit of x86-64 processors (AMX).

A function that multiplies sets up its thread's tiles when it begins, all of them whole, and gives them back at its end,
so that the kernel has no more to save than of other threads.  Tiles have fixed numbers, those of the sums first.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ....dialects.dims.dims import Dim, dim, sym
from ....dialects.loop import AmxOp
from ....dialects.loop.amx import TILE, TILES
from ..emit.loops.counted_loops import bound_of
from ..emit.loops.loops import Loops
from ..emit.memory.access import Memory, storage_type
from ..emit.text import EmitError, IrText
from ..emit.values.index import IndexValues
from ..emit.values.registers import VectorValue, info_of

__all__ = ["AmxTiles"]

#: Bytes of a row of a tile.
ROW = 64


class AmxTiles:
    """Products by the matrix unit, in `text`."""

    def __init__(self, text: IrText, index: IndexValues, memory: Memory, loops: Loops):
        self.text, self.index, self.memory, self.loops = text, index, memory, loops
        #: Whether the function sets tiles up when it begins.
        self._set = False

    def matmul(self, op: AmxOp) -> None:
        """Sums that begin at zero, the products of iterations with what stands beside them, and the sums to memory.

        Where each tile meets several others there is time to have the next iteration's ready, a few lines after each
        product; asked for at once they would be in the way of the tiles that are needed now.
        """
        if not self.text.target.has(op.unit.feature):
            raise EmitError(f"{op.unit.name} is a matrix unit of processors with {op.unit.feature}")
        self._set_up()
        rows, columns = op.tiles
        sums = [(r, c, r * columns + c) for r in range(rows) for c in range(columns)]
        for _, _, number in sums:
            self._call("tilezero", f"i8 {number}")
        left, right = (range(rows * columns + n, rows * columns + n + size) for n, size in ((0, rows), (rows, columns)))
        each = rows * columns * len(op.unit.products)

        def products(_: list[VectorValue]) -> list[VectorValue]:
            held, ahead = (-1, -1), self._lines_ahead(op) if op.unit.terms > 1 else []
            share = -(-len(ahead) // each)
            for terms in op.unit.products:
                for r, number in enumerate(left if terms[0] != held[0] else ()):
                    self._load(op, op.left, (*op.left_at.data, dim(terms[0]), dim(r)), number)
                for c, number in enumerate(right):
                    if terms[1] != held[1]:
                        self._load(op, op.right, (*op.right_at.data, dim(terms[1]), dim(c)), number)
                    for r in range(rows):
                        self._call("tdpbf16ps", f"i8 {r * columns + c}, i8 {left[r]}, i8 {number}")
                        for line in ahead[:share]:
                            self.memory.ask_for(line)
                        del ahead[:share]
                held = terms
            return self.loops.region(op.block)

        lower, upper = op.lower.data, op.upper.data
        self.loops.counted(
            op.symbol, self.index.value(lower), self.index.value(upper), "1", products, bound=bound_of(op)
        )
        for r, c, number in sums:
            at = self.index.pointer(self.memory.buffer(op.sums), "float", dim((r * columns * TILE + c) * TILE))
            self._call("tilestored64", f"i8 {number}, ptr {at}, i64 {columns * ROW}")

    def release(self) -> None:
        """At the end of a function, what it set up."""
        if self._set:
            self._call("tilerelease", "")

    def _set_up(self) -> None:
        if self._set:
            return
        self._set = True
        # The manual's layout: palette 1; bytes of a row of each tile from byte 16 on, rows from byte 48 on.
        palette = bytes([1, *[0] * 15, *[ROW, 0] * TILES, *[0] * 16, *[TILE] * TILES, *[0] * 8])
        text = "".join(f"\\{byte:02X}" for byte in palette)
        self.text.module.globals["tiles"] = f'@tiles = private unnamed_addr constant [64 x i8] c"{text}", align 64'
        self.text.declare("llvm.x86.ldtilecfg", "void", ["ptr"])
        self.text.entry.append("  call void @llvm.x86.ldtilecfg(ptr @tiles)")

    def _load(self, op: AmxOp, buffer: SSAValue, at: tuple[Dim, ...], number: int) -> None:
        """A tile of a buffer to the register of a number."""
        info = info_of(buffer)
        index = (*at, *(dim(0) for _ in range(info.rank - len(at))))
        if self.memory.checks is not None:
            self.memory.checks.element(op, buffer, index, None)
        self._call("tileloadd64", f"i8 {number}, ptr {self._place(buffer, index)}, i64 {ROW}")

    def _lines_ahead(self, op: AmxOp) -> list[str]:
        """The lines of the next iteration's tiles, which lie behind one another; after the last, of what follows."""
        lines = []
        for buffer, at in ((op.left, op.left_at), (op.right, op.right_at)):
            info = info_of(buffer)
            index = [e.substitute({op.symbol: sym(op.iv.data) + 1}) for e in at.data]
            start = self._place(buffer, (*index, *(dim(0) for _ in range(info.rank - len(index)))))
            size = prod(d.const or 0 for d in info.dims[len(index) :]) * info.dtype.bytes
            lines += [self.text.ins(f"getelementptr i8, ptr {start}, i64 {offset}") for offset in range(0, size, ROW)]
        return lines

    def _place(self, buffer: SSAValue, index: tuple[Dim, ...]) -> str:
        info = info_of(buffer)
        return self.index.pointer(self.memory.buffer(buffer), storage_type(info.dtype), self.index.address(info, index))

    def _call(self, name: str, arguments: str) -> None:
        full = f"llvm.x86.{name}"
        self.text.declare(full, "void", [a.split()[0] for a in arguments.split(", ") if a])
        self.text.put(f"call void @{full}({arguments})")
