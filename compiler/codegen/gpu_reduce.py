"""Threads of a GPU that work together: who they are, barriers, and folds that a block or a warp shares."""

from __future__ import annotations

from ...dialects.loop import ReduceOp
from .function import FunctionWriter

__all__ = ["WARP", "CooperativeWriter"]

#: Threads of a warp.
WARP = 32


class CooperativeWriter(FunctionWriter):
    """Adds threads, barriers and cooperative folds."""

    #: The threads of the block.
    threads: int = 0
    #: The threads that work together, of a ``block`` or of a ``warp``; whether all of them are at the current place.
    team: str = "block"
    together: bool = False

    @property
    def team_size(self) -> int:
        return self.threads if self.team == "block" else WARP

    def special(self, name: str) -> str:
        """A coordinate of this thread, or the size of its grid, along x."""
        full = f"llvm.nvvm.read.ptx.sreg.{name}.x"
        self.declare(full, "i32", [])
        prelude = self.scopes[0].prelude
        return self.ins(f"zext i32 {self.ins(f'call i32 @{full}()', prelude)} to i64", prelude)

    def thread_number(self) -> str:
        """This thread's number in its team."""
        if self._thread is None:
            self._thread = self.special("tid")
        if self.team == "block":
            return self._thread
        if self._lane is None:
            self._lane = self.ins(f"and i64 {self._thread}, {WARP - 1}", self.scopes[0].prelude)
        return self._lane

    def warp_number(self) -> str:
        """The number of this thread's warp in its block."""
        if self._thread is None:
            self._thread = self.special("tid")
        if self._warp is None:
            self._warp = self.ins(f"lshr i64 {self._thread}, {WARP.bit_length() - 1}", self.scopes[0].prelude)
        return self._warp

    _thread: str | None = None
    _lane: str | None = None
    _warp: str | None = None

    def barrier(self) -> None:
        """All threads of the team wait for each other."""
        if self.team == "warp":
            self.declare("llvm.nvvm.bar.warp.sync", "void", ["i32"])
            self.put("call void @llvm.nvvm.bar.warp.sync(i32 -1)")
        else:
            self.declare("llvm.nvvm.barrier0", "void", [])
            self.put("call void @llvm.nvvm.barrier0()")

    def reduce(self, op: ReduceOp) -> None:
        super().reduce(op)
