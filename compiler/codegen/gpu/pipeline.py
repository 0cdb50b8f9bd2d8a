"""The loop along K of a tensor-core product: stages are copied to shared memory while earlier ones are multiplied."""

from __future__ import annotations

from collections.abc import Callable

from ....dialects.dims.dims import Sym, dim
from ....dialects.loop import AsyncCopyOp, MmaOp
from ....dialects.types import DTYPES
from ..emit.loops.loops import Loops
from ..emit.text import IrText
from ..emit.values.index import IndexValues
from ..emit.values.registers import VectorValue
from .cooperative import CooperativeGroup
from .cp_async import AsyncCopies

__all__ = ["Pipeline", "show_to_units", "wait_for_products", "wgmma"]


def show_to_units(text: IrText) -> None:
    """What this thread has written to shared memory is there for who reads it by itself."""
    text.put('call void asm sideeffect "fence.proxy.async.shared::cta;", "~{memory}"() convergent')


def wait_for_products(text: IrText, newest: int) -> None:
    """Until all products that this warp has begun but the newest have ended."""
    wgmma(text, "wait_group", f" {newest}")


def wgmma(text: IrText, action: str, operand: str = "") -> None:
    """What four warps do together."""
    text.put(f'call void asm sideeffect "wgmma.{action}.sync.aligned{operand};", "~{{memory}}"() convergent')


class Pipeline:
    """The loop that all matrix units have in common, of `text`."""

    def __init__(self, text: IrText, index: IndexValues, loops: Loops, group: CooperativeGroup, copies: AsyncCopies):
        self.text, self.index, self.loops, self.group, self.copies = text, index, loops, group, copies

    def sums(
        self, op: MmaOp, count: int, multiply: Callable[[str, list[str]], list[str]], running: int = 0
    ) -> list[str]:
        """The thread's `count` sums after all of K, when every thread is done with the stages.

        `multiply` adds the products of a stage to sums.  So many of them may be `running` when it is
        next called: they have begun, read shared memory by themselves, and end with `wait_for_products`.
        """
        copies = any(isinstance(inner, AsyncCopyOp) for inner in op.walk())
        ahead, line = op.n_stages - 1 - running, op.unit.line
        upper, sums = self.index.value(op.upper.data), DTYPES[op.unit.sums]

        def body(carried: list[VectorValue]) -> list[VectorValue]:
            if copies:
                self.copies.wait_for_groups(ahead - 1)
            if running:
                show_to_units(self.text)
            self.group.barrier()
            at, slot = self.index.symbol(now)[0], self.index.value(op.slot.substitute({op.symbol: dim(now.name)}))
            found = [r.operands()[0] for r in carried]
            if not running:
                self._fill(op, self.text.add(at, str(ahead * line)), upper, copies)
            found = multiply(slot, found)
            if running:
                self._fill(op, self.text.add(at, str(ahead * line)), upper, copies)
                wait_for_products(self.text, running)
            return [VectorValue((), [r], sums) for r in found]

        now = Sym(f"{op.iv.data}.now")
        for stage in range(ahead):
            self._fill(op, str(stage * line), upper, copies)
        zeros = [VectorValue((), ["0.0" if sums.is_float else "0"], sums) for _ in range(count)]
        _, found = self.loops.counted(now, "0", upper, str(line), body, zeros, bound=op.upper.data)
        if running:
            wait_for_products(self.text, 0)
        self.group.barrier()
        return [r.operands()[0] for r in found]

    def _fill(self, op: MmaOp, at: str, upper: str, copies: bool) -> None:
        """The stage of the iteration at `at`, where there is one; a group of copies either way."""
        self.text.declare("llvm.smin.i64", "i64", ["i64", "i64"])
        end = self.text.ins(f"call i64 @llvm.smin.i64(i64 {self.text.add(at, '1')}, i64 {upper})")

        def stage_tiles(_: list[VectorValue]) -> list[VectorValue]:
            self.loops.region(op.block)
            return []

        self.loops.counted(op.symbol, at, end, str(op.unit.line), stage_tiles, bound=op.upper.data)
        if copies:
            self.copies.end_group()
