"""The fold of matrix units: `loop.matrix_fold` as ``ldmatrix`` and ``mma.sync`` m16n8k16, sums in registers.

A warp has 32 rows and columns: two by four tiles of 16 by 8.  How operands and sums lie on its threads is the PTX
manual's ("Matrix Fragments for mma.m16n8k16"): thread 4·g + t has elements 2·t and 2·t + 1 of rows g and g + 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...dialects.attributes import BufferInfo, BufferType
from ...dialects.dims import Dim, dim
from ...dialects.loop import MatrixFoldOp
from ...dialects.types import DTYPES
from .gpu_reduce import CooperativeWriter
from .lanes import Reg
from .writer import EmitError

__all__ = ["MatrixWriter"]

F32 = DTYPES["f32"]
FOUR = {"i32": "{ i32, i32, i32, i32 }", "float": "{ float, float, float, float }"}
#: Rows of a tile of sums, its columns, products added at once; tiles of a warp.
M, N, K = 16, 8, 16
DOWN, ACROSS = MatrixFoldOp.TILE // M, MatrixFoldOp.TILE // N


@dataclass(frozen=True)
class _Piece:
    """The pieces of one operand: elements from one row to the next, and where this thread's rows begin for ldmatrix."""

    buffer: SSAValue
    pitch: int
    turned: bool
    lane: str


class MatrixWriter(CooperativeWriter):
    """Adds the fold of matrix units."""

    def matrix_fold(self, op: MatrixFoldOp) -> None:
        if not self.together or self.lanes or self.team != "block":
            raise EmitError("a matrix fold where not all threads of the block are")
        rows, columns = (size // op.TILE for size in op.shape)
        if rows * columns * 32 != self.threads or rows & (rows - 1):
            raise EmitError(f"a matrix fold of {op.shape} results is for {rows * columns * 32} threads")
        warp = self.warp_number()
        row = self.mul(self.ins(f"and i64 {warp}, {rows - 1}"), str(op.TILE))
        column = self.mul(self.ins(f"lshr i64 {warp}, {rows.bit_length() - 1}"), str(op.TILE))
        # Which of the four matrices of an ldmatrix a thread's row is of: those of B lie the other way round.
        left = self._piece(op.left, op.left_turned is not None, row, first_beside=True)
        right = self._piece(op.right, op.right_turned is not None, column, first_beside=False)
        name = _info(op.left).dtype.name
        zeros = [Reg((), ["0.0"], F32) for _ in range(DOWN * ACROSS * 4)]
        step = op.step.data.const
        assert step is not None

        def body(sums: list[Reg]) -> list[Reg]:
            self.region(op.block)
            regs = [self.constants(s)[0] for s in sums]
            bases = [self._half(piece, op.half.data) for piece in (left, right)]
            for k in range(0, step, K):
                a = [self._matrices(left, bases[0], M * i, k) for i in range(DOWN)]
                b = [self._matrices(right, bases[1], 2 * N * j, k) for j in range(ACROSS // 2)]
                for i in range(DOWN):
                    for j in range(ACROSS):
                        at = (i * ACROSS + j) * 4
                        pair = b[j // 2][j % 2 * 2 : j % 2 * 2 + 2]
                        regs[at : at + 4] = self._multiply(name, a[i], pair, regs[at : at + 4])
            return [Reg((), [r], F32) for r in regs]

        bound = op.upper.data if op.lower.data.nonneg else None
        lower, upper = self.index(op.lower.data), self.index(op.upper.data)
        _, sums = self.counted(op.symbol, lower, upper, str(step), body, zeros, bound=bound)
        self.barrier()
        self._store_sums(op.sums, row, column, [self.constants(s)[0] for s in sums])
        self.barrier()

    def _piece(self, buffer: SSAValue, turned: bool, beside: str, first_beside: bool) -> _Piece:
        """Matrices go along rows (columns of B) first or along K first."""
        pitch = _info(buffer).dims[-1].const
        assert pitch is not None
        lane = self.lane_number()
        row = self.ins(f"and i64 {lane}, 7")
        low = self.mul(self.ins(f"and i64 {self.ins(f'lshr i64 {lane}, 3')}, 1"), "8")
        high = self.mul(self.ins(f"lshr i64 {lane}, 4"), "8")
        along_beside, along_k = (low, high) if first_beside else (high, low)
        if turned:
            down, across = self.add(row, along_k), self.add(beside, along_beside)
        else:
            down, across = self.add(self.add(beside, row), along_beside), along_k
        return _Piece(buffer, pitch, turned, self.add(self.mul(down, str(pitch)), across))

    def _half(self, piece: _Piece, half: Dim) -> str:
        base = self.pointer(self.buffer(piece.buffer), "i16", _info(piece.buffer).address((half, dim(0), dim(0))))
        near = self.ins(f"addrspacecast ptr {base} to ptr addrspace(3)")
        return self.ins(f"getelementptr i16, ptr addrspace(3) {near}, i64 {piece.lane}")

    def _matrices(self, piece: _Piece, base: str, beside: int, k: int) -> list[str]:
        """Four matrices of 8 by 8, a register each."""
        at = k * piece.pitch + beside if piece.turned else beside * piece.pitch + k
        pointer = self.ins(f"getelementptr i16, ptr addrspace(3) {base}, i64 {at}")
        name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4{'.trans' if piece.turned else ''}.b16.p3"
        self.declare(name, FOUR["i32"], ["ptr addrspace(3)"])
        return self._parts(self.ins(f"call {FOUR['i32']} @{name}(ptr addrspace(3) {pointer})"), "i32")

    def _multiply(self, name: str, a: Sequence[str], b: Sequence[str], c: Sequence[str]) -> list[str]:
        """``A·B + C`` of a tile."""
        words, factor = [*a, *b], "i32"
        if name == "f16":
            factor = "<2 x half>"
            words = [self.ins(f"bitcast i32 {w} to {factor}") for w in words]
        full = f"llvm.nvvm.mma.m16n8k16.row.col.{'f32.f32' if name == 'f16' else 'bf16'}"
        self.declare(full, FOUR["float"], [factor] * 6 + ["float"] * 4)
        given = ", ".join([*(f"{factor} {w}" for w in words), *(f"float {x}" for x in c)])
        return self._parts(self.ins(f"call {FOUR['float']} @{full}({given})"), "float")

    def _parts(self, made: str, kind: str) -> list[str]:
        return [self.ins(f"extractvalue {FOUR[kind]} {made}, {i}") for i in range(4)]

    def _store_sums(self, buffer: SSAValue, row: str, column: str, sums: Sequence[str]) -> None:
        pitch = _info(buffer).dims[-1].const
        assert pitch is not None
        lane = self.lane_number()
        down = self.add(row, self.ins(f"lshr i64 {lane}, 2"))
        across = self.add(column, self.mul(self.ins(f"and i64 {lane}, 3"), "2"))
        first = self.add(self.mul(down, str(pitch)), across)
        base = self.ins(f"getelementptr float, ptr {self.buffer(buffer)}, i64 {first}")
        for i in range(DOWN):
            for j in range(ACROSS):
                for half in range(2):
                    at = (i * ACROSS + j) * 4 + half * 2
                    pair = self.ins(f"insertelement <2 x float> poison, float {sums[at]}, i64 0")
                    pair = self.ins(f"insertelement <2 x float> {pair}, float {sums[at + 1]}, i64 1")
                    place = (i * M + half * 8) * pitch + j * N
                    pointer = self.ins(f"getelementptr float, ptr {base}, i64 {place}")
                    self.put(f"store <2 x float> {pair}, ptr {pointer}, align 8")


def _info(buffer: SSAValue) -> BufferInfo:
    assert isinstance(buffer.type, BufferType)
    return buffer.type.data
