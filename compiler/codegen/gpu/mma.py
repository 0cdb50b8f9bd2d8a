"""Tensor-core products by warps: `loop.mma` as fragments from shared memory and ``mma.sync``.

How fragments lie on a warp's threads is the PTX manual's ("Matrix Fragments for mma…"): thread 4·g + t has, of each 8
rows of A (columns of B) and each granule along K, the elements of row g that are the t-th quarter of the granule; of
each 8 rows of sums elements 2·t and 2·t + 1 of row g.  ``ldmatrix`` gives that for granules of 16 bytes, four at a
time; of wider granules a quarter is one element, which its thread loads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ....dialects.loop import MmaOp
from ....dialects.matrix_units import LINE, MatrixUnit, StageTile
from ....dialects.types import DTYPES
from ..emit.text import EmitError, IrText, llvm_type
from ..emit.values.registers import info_of
from .cooperative import CooperativeGroup
from .pipeline import Pipeline

__all__ = ["OCTET", "MmaProducts", "parts"]

FOUR = "{ i32, i32, i32, i32 }"
#: Rows of A (columns of B) that a register of a fragment has elements of; columns of a unit's sums.
OCTET = 8
#: Rows that one ``ldmatrix`` loads, two granules of each.
LOADED = 16


@dataclass(frozen=True)
class _Operand:
    """The stage tiles of one operand, and the bytes from the first of one to this thread's part of a warp's fragments.

    They are computed once for each granule along K, or, where tiles are transposed, for each 16 rows (columns); from
    one of the others to the next it is always the same way.
    """

    buffer: SSAValue
    stage_tile: StageTile
    offsets: tuple[str, ...]

    def at(self, octet: int, granule: int) -> tuple[str, int]:
        """The offset and what is to be added to it."""
        if self.stage_tile.transposed:
            return self.offsets[octet * OCTET // LOADED], granule * self.stage_tile.unit.granule * LINE
        return self.offsets[granule], octet * OCTET * LINE


class MmaProducts:
    """The tensor-core products of the warps of `group`; `buffer` gives the pointer to a buffer's elements."""

    def __init__(self, text: IrText, buffer: Callable[[SSAValue], str], group: CooperativeGroup, pipeline: Pipeline):
        self.text, self.buffer, self.group, self.pipeline = text, buffer, group, pipeline

    def emit_product(self, op: MmaOp) -> None:
        """By warps, each its tile of the sums."""
        down, across = op.warps
        if down * across * 32 != self.group.threads or down & (down - 1):
            raise EmitError(
                f"a tensor-core product of {down} by {across} warps in a block of {self.group.threads} threads"
            )
        warp, (tile_rows, tile_columns) = self.group.warp_number(), op.tile
        row = self.text.mul(self.text.ins(f"and i64 {warp}, {down - 1}"), str(tile_rows))
        column = self.text.mul(self.text.ins(f"lshr i64 {warp}, {down.bit_length() - 1}"), str(tile_columns))
        left = self._operand(op.left, op.stage_tiles[0], row, tile_rows)
        right = self._operand(op.right, op.stage_tiles[1], column, tile_columns)

        def multiply(slot: str, regs: list[str]) -> list[str]:
            return self._multiply_stages(op, left, right, slot, regs)

        sums = self.pipeline.sums(op, tile_rows * tile_columns // 32, multiply)
        self.store_sums(op, row, column, sums)

    # Operands

    def _operand(self, buffer: SSAValue, stage_tile: StageTile, base: str, size: int) -> _Operand:
        """What a warp needs of `size` rows (columns) from `base` on."""
        text = self.text
        unit, lane = stage_tile.unit, self.group.lane_number()
        if unit.granule * unit.element.bytes > 16:
            group, member = text.ins(f"lshr i64 {lane}, 2"), text.ins(f"and i64 {lane}, 3")
            line = text.mul(text.add(base, group), str(LINE))
            within = text.mul(member, str(unit.element.bytes))
            granules = stage_tile.shape[2]
            places = [text.ins(f"xor i64 {text.ins(f'and i64 {group}, {granules - 1}')}, {g}") for g in range(granules)]
            size_of = unit.granule * unit.element.bytes
            offsets = [text.add(text.add(line, within), text.mul(p, str(size_of))) for p in places]
            return _Operand(buffer, stage_tile, tuple(offsets))
        # Of the four matrices of an ldmatrix lane 8·q + r is for row r: q % 2 are octets beside, q / 2 along K.
        row = text.ins(f"and i64 {lane}, 7")
        beside = text.ins(f"and i64 {text.ins(f'lshr i64 {lane}, 3')}, 1")
        along = text.ins(f"lshr i64 {lane}, 4")
        offsets: list[str] = []
        if not stage_tile.transposed:
            octet = text.add(base, text.add(text.mul(beside, str(OCTET)), row))
            first = text.mul(octet, str(LINE))
            for granule in range(stage_tile.shape[2]):
                place = text.ins(f"xor i64 {text.ins(f'xor i64 {along}, {row}')}, {granule}")
                offsets.append(text.add(first, text.mul(place, "16")))
            return _Operand(buffer, stage_tile, tuple(offsets))
        first = text.mul(text.add(text.mul(along, str(OCTET)), row), str(LINE))
        for start in range(0, size, LOADED):
            here = text.add(base, str(start))
            panel = text.mul(text.ins(f"lshr i64 {here}, {unit.line.bit_length() - 1}"), str(unit.line * LINE))
            granule = text.ins(f"lshr i64 {text.ins(f'and i64 {here}, {unit.line - 1}')}, {OCTET.bit_length() - 1}")
            place = text.ins(f"xor i64 {text.add(granule, beside)}, {row}")
            offsets.append(text.add(text.add(panel, first), text.mul(place, "16")))
        return _Operand(buffer, stage_tile, tuple(offsets))

    def _fragments(self, operand: _Operand, base: str, size: int, granule: int) -> list[list[str]]:
        """By 8 rows (columns) a register for each granule of the unit's depth, from `granule` on."""
        unit = operand.stage_tile.unit
        count = unit.depth // unit.granule
        if unit.granule * unit.element.bytes > 16:
            scalar = llvm_type(unit.element)

            def element(octet: int, number: int) -> str:
                pointer = self._moved(base, *operand.at(octet, number))
                return self.text.ins(f"load {scalar}, ptr addrspace(3) {pointer}, align {unit.element.bytes}")

            return [[element(o, granule + k) for k in range(count)] for o in range(size // OCTET)]
        found: list[list[str]] = []
        for octet in range(0, size // OCTET, LOADED // OCTET):
            pointer = self._moved(base, *operand.at(octet, granule))
            name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4{'.trans' if operand.stage_tile.transposed else ''}.b16.p3"
            self.text.declare(name, FOUR, ["ptr addrspace(3)"])
            regs = parts(self.text, self.text.ins(f"call {FOUR} @{name}(ptr addrspace(3) {pointer})"), FOUR)
            regs = [self._converted(r, unit) for r in regs]
            found += [[regs[0], regs[2]], [regs[1], regs[3]]]
        return found

    def _converted(self, word: str, unit: MatrixUnit) -> str:
        """A register in the unit's format."""
        if not unit.convert:
            return word
        self.text.declare(unit.convert, "i32", ["float"])
        return self.text.ins(f"call i32 @{unit.convert}(float {self.text.ins(f'bitcast i32 {word} to float')})")

    def _moved(self, base: str, offset: str, more: int) -> str:
        pointer = self.text.ins(f"getelementptr i8, ptr addrspace(3) {base}, i64 {offset}")
        return self.text.ins(f"getelementptr i8, ptr addrspace(3) {pointer}, i64 {more}") if more else pointer

    def stage_pointer(self, buffer: SSAValue, stage_tile: StageTile, slot: str) -> str:
        """The pointer to the tile of a stage in shared memory."""
        near = self.text.ins(f"addrspacecast ptr {self.buffer(buffer)} to ptr addrspace(3)")
        return self._moved(near, self.text.mul(slot, str(stage_tile.bytes)), 0)

    # Products and sums

    def _multiply_stages(
        self, op: MmaOp, left: _Operand, right: _Operand, slot: str, regs: list[str]
    ) -> list[str]:  # fmt: skip
        """A warp's products of two tiles added to its sums: octets of rows, then of columns, two of each row."""
        unit, (rows, columns) = op.unit, op.tile
        bases = [self.stage_pointer(o.buffer, o.stage_tile, slot) for o in (left, right)]
        deep, tall = unit.depth // unit.granule, unit.m // OCTET
        across, regs = columns // OCTET, list(regs)
        for granule in range(0, unit.line // unit.granule, deep):
            a = self._fragments(left, bases[0], rows, granule)
            b = self._fragments(right, bases[1], columns, granule)
            for i in range(0, rows // OCTET, tall):
                for j in range(across):
                    at = [((i + h) * across + j) * 2 + e for h in range(tall) for e in range(2)]
                    factor = [a[i + h][k] for k in range(deep) for h in range(tall)]
                    made = self._multiply(unit, factor, b[j], [regs[x] for x in at])
                    for x, value in zip(at, made, strict=True):
                        regs[x] = value
        return regs

    def _multiply(self, unit: MatrixUnit, a: Sequence[str], b: Sequence[str], c: Sequence[str]) -> list[str]:
        """``A·B + C`` of one unit."""
        numbers = iter(range(len(c) * 2 + len(a) + len(b)))
        lists = ", ".join(f"{{{', '.join(f'${next(numbers)}' for _ in part)}}}" for part in (c, a, b, c))
        text = f"mma.sync.aligned.m{unit.m}n{OCTET}k{unit.depth}.row.col.{unit.ptx} {lists};"
        word, letter = ("double", "d") if unit.element.bits == 64 else ("i32", "r")
        scalar = llvm_type(DTYPES[unit.sums])
        letters = [f"={unit.registers}"] * len(c) + [letter] * (len(a) + len(b)) + [unit.registers] * len(c)
        given = ", ".join([*(f"{word} {x}" for x in (*a, *b)), *(f"{scalar} {x}" for x in c)])
        kind = f"{{ {', '.join([scalar] * len(c))} }}"
        return parts(
            self.text, self.text.ins(f'call {kind} asm "{text}", "{",".join(letters)}"({given}) convergent'), kind
        )

    def store_sums(self, op: MmaOp, row: str, column: str, sums: Sequence[str]) -> None:
        """From the registers of a warp, whose tile begins there, to shared memory, for all threads of the block."""
        text = self.text
        info, across, lane = info_of(op.sums), op.tile[1] // OCTET, self.group.lane_number()
        pitch, scalar = info.dims[-1].const, llvm_type(info.dtype)
        assert pitch is not None
        down = text.add(row, text.ins(f"lshr i64 {lane}, 2"))
        along = text.add(column, text.mul(text.ins(f"and i64 {lane}, 3"), "2"))
        first = text.add(text.mul(down, str(pitch)), along)
        base = text.ins(f"getelementptr {scalar}, ptr {self.buffer(op.sums)}, i64 {first}")
        for number in range(0, len(sums), 2):
            i, j = divmod(number // 2, across)
            pair = text.ins(f"insertelement <2 x {scalar}> poison, {scalar} {sums[number]}, i64 0")
            pair = text.ins(f"insertelement <2 x {scalar}> {pair}, {scalar} {sums[number + 1]}, i64 1")
            pointer = text.ins(f"getelementptr {scalar}, ptr {base}, i64 {(i * pitch + j) * OCTET}")
            text.put(f"store <2 x {scalar}> {pair}, ptr {pointer}, align {2 * info.dtype.bytes}")
        self.group.barrier()


def parts(text: IrText, made: str, kind: str) -> list[str]:
    """The elements of a struct of that type."""
    return [text.ins(f"extractvalue {kind} {made}, {i}") for i in range(kind.count(",") + 1)]
