"""Tensor-core products of warp groups: `loop.mma` as ``wgmma``, operands read from shared memory.

Tiles are in the PTX manual's 128-byte swizzling mode ("Shared Memory Matrix Layout"); where they are transposed
their major dimension is M or N.  Each four warps have 64 rows and all columns of the sums, a warp 16 of the rows, which
lie on its threads as those of ``mma.sync`` do.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ....dialects.loop import MmaOp
from ....dialects.matrix_units import LINE, StageTile
from ....dialects.types import DTYPES
from ..emit.text import EmitError, IrText, llvm_type
from .cooperative import SHARED, CooperativeGroup
from .mma import OCTET, MmaProducts, parts
from .pipeline import wgmma
from .tma import BulkPipeline

__all__ = ["WarpgroupProducts"]

#: Of a descriptor, which counts in 16 bytes: the 128-byte swizzling mode, eight lines as stride.
SWIZZLED, STRIDE = 1 << 62, (OCTET * LINE // 16) << 32


class WarpgroupProducts:
    """The products of warp groups of `group`, whose sums go to memory as those of `matrices` do."""

    def __init__(self, text: IrText, group: CooperativeGroup, matrices: MmaProducts, bulk: BulkPipeline):
        self.text, self.group, self.matrices, self.bulk = text, group, matrices, bulk

    def emit_product(self, op: MmaOp) -> None:
        text = self.text
        if op.warps[0] * 32 != self.group.threads:
            raise EmitError(f"a tensor-core product of {op.shape[0]} rows in a block of {self.group.threads} threads")
        text.module.globals["shared"] = SHARED.format(align=OCTET * LINE)  # granules are exchanged by their address
        warp = self.group.warp_number()
        group = text.mul(text.ins(f"lshr i64 {warp}, 2"), str(op.GROUP_ROWS * LINE))

        def multiply(slot: str, regs: list[str]) -> list[str]:
            left, right = (
                self._descriptor(buffer, stage_tile, slot, own)
                for buffer, stage_tile, own in zip((op.left, op.right), op.stage_tiles, (group, "0"))
            )
            wgmma(text, "fence")
            for k in range(0, op.unit.line, op.unit.depth):
                regs = self._begin(op, [self._along(d, p, k) for d, p in zip((left, right), op.stage_tiles)], regs)
            wgmma(text, "commit_group")
            return regs

        count = op.shape[1] // 2
        sums = (
            self.bulk.sums(op, count, multiply)
            if op.bulk_copies
            else self.matrices.pipeline.sums(op, count, multiply, 1)
        )
        # A thread has of each 8 columns two of row g, then two of row g + 8; they are stored one row after the other.
        halves = [sums[4 * j + 2 * half : 4 * j + 2 * half + 2] for half in range(2) for j in range(len(sums) // 4)]
        self.matrices.store_sums(op, text.mul(warp, "16"), "0", [x for pair in halves for x in pair])

    def _descriptor(self, buffer: SSAValue, stage_tile: StageTile, slot: str, own: str) -> str:
        """Of the tile of a stage from byte `own` on."""
        pointer = self.matrices.stage_pointer(buffer, stage_tile, slot)
        address = self.text.add(self.text.ins(f"ptrtoint ptr addrspace(3) {pointer} to i64"), own)
        units = self.text.ins(f"lshr i64 {self.text.ins(f'and i64 {address}, {(1 << 18) - 1}')}, 4")
        leading = stage_tile.shape[1] * LINE // 16 if stage_tile.transposed else 1
        return self.text.ins(f"or i64 {units}, {SWIZZLED | STRIDE | leading << 16}")

    def _along(self, descriptor: str, stage_tile: StageTile, k: int) -> str:
        """The descriptor `k` elements further along K: that many lines, or bytes of a line."""
        return self.text.add(
            descriptor, str(k * (LINE if stage_tile.transposed else stage_tile.unit.element.bytes) // 16)
        )

    def _begin(self, op: MmaOp, descriptors: Sequence[str], sums: Sequence[str]) -> list[str]:
        """The products of one depth of the unit, added to the sums."""
        unit, count = op.unit, len(sums)
        registers = ", ".join(f"${i}" for i in range(count))
        majors = (
            f", 1, 1, {int(op.stage_tiles[0].transposed)}, {int(op.stage_tiles[1].transposed)}"
            if DTYPES[unit.sums].is_float
            else ""
        )
        form = f"m64n{op.shape[1]}k{unit.depth}.{unit.ptx.rpartition('.')[0]}"
        text = (
            f"{{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.mma_async.sync.aligned.{form} "
            f"{{{registers}}}, ${count}, ${count + 1}, p{majors}; }}"
        )
        scalar = llvm_type(DTYPES[unit.sums])
        kind = f"{{ {', '.join([scalar] * count)} }}"
        letters = ",".join([f"={unit.registers}"] * count + ["l", "l"] + [str(i) for i in range(count)])
        given = ", ".join([*(f"i64 {d}" for d in descriptors), *(f"{scalar} {x}" for x in sums)])
        made = self.text.ins(f'call {kind} asm sideeffect "{text}", "{letters},~{{memory}}"({given}) convergent')
        return parts(self.text, made, kind)
