"""Threads of a GPU that work together: who they are, barriers, and the values that they exchange."""

from __future__ import annotations

from collections.abc import Sequence

from ....dialects.dims.dims import Dim, dim
from ..emit.text import IrText, llvm_type
from ..emit.values.index import IndexValues
from ..emit.values.registers import VectorValue

__all__ = ["SHARED", "WARP", "CooperativeGroup"]

#: The memory of a block, whose size a launch says.
SHARED = "@shared = external addrspace(3) global [0 x i8], align {align}"
#: Threads of a warp.
WARP = 32


class CooperativeGroup:
    """The threads that work together at the current place of `text`, of a ``block`` or of a ``warp``."""

    def __init__(self, text: IrText, index: IndexValues):
        self.text, self.index = text, index
        #: The threads of the block.
        self.threads = 0
        self.kind = "block"
        #: Whether all of them are at the current place.
        self.uniform = False
        #: The end of the shared memory that reductions reserved.
        self._reserved: Dim = dim(0)
        self._thread = self._lane = self._warp = self._shared = ""

    def begin(self, threads: int, reserved: Dim) -> None:
        """A block of so many threads, in whose shared memory that of reductions begins there."""
        self.threads, self.uniform, self._reserved = threads, True, reserved

    @property
    def size(self) -> int:
        return self.threads if self.kind == "block" else WARP

    def special(self, name: str) -> str:
        """A coordinate of this thread, or the size of its grid, along x."""
        full = f"llvm.nvvm.read.ptx.sreg.{name}.x"
        self.text.declare(full, "i32", [])
        prelude = self.text.entry
        return self.text.ins(f"zext i32 {self.text.ins(f'call i32 @{full}()', prelude)} to i64", prelude)

    def thread_number(self) -> str:
        """This thread's number in its group."""
        self._thread = self._thread or self.special("tid")
        return self._thread if self.kind == "block" else self.lane_number()

    def lane_number(self) -> str:
        """This thread's number in its warp."""
        self._thread = self._thread or self.special("tid")
        if not self._lane:
            self._lane = self.text.ins(f"and i64 {self._thread}, {WARP - 1}", self.text.entry)
        return self._lane

    def warp_number(self) -> str:
        """The number of this thread's warp in its block."""
        self._thread = self._thread or self.special("tid")
        if not self._warp:
            self._warp = self.text.ins(f"lshr i64 {self._thread}, {WARP.bit_length() - 1}", self.text.entry)
        return self._warp

    def barrier(self) -> None:
        """All threads of the group wait for each other."""
        if self.kind == "warp":
            self.text.declare("llvm.nvvm.bar.warp.sync", "void", ["i32"])
            self.text.put("call void @llvm.nvvm.bar.warp.sync(i32 -1)")
        else:
            self.text.declare("llvm.nvvm.barrier0", "void", [])
            self.text.put("call void @llvm.nvvm.barrier0()")

    # Values of other threads of the warp

    def from_above(self, values: Sequence[VectorValue], distance: int) -> list[VectorValue]:
        """The values of the thread whose number in the warp is higher by `distance`; anything where there is none."""
        return [VectorValue((), [self._shuffled_word("down", x, str(distance))], x.dtype) for x in values]

    def from_first(self, values: Sequence[VectorValue]) -> list[VectorValue]:
        """The values of the first thread of the warp."""
        return [VectorValue((), [self._shuffled_word("idx", x, "0")], x.dtype) for x in values]

    def _shuffled_word(self, mode: str, x: VectorValue, which: str) -> str:
        text = self.text
        scalar = llvm_type(x.dtype)
        (value,) = x.operands()
        bits = {"float": 32, "double": 64}.get(scalar) or int(scalar[1:])
        if scalar in ("float", "double"):
            value = text.ins(f"bitcast {scalar} {value} to i{bits}")
        if bits < 32:
            value = text.ins(f"zext {scalar} {value} to i32")
        if bits <= 32:
            moved = self._shuffle(mode, value, which)
        else:
            low = self._shuffle(mode, text.ins(f"trunc i64 {value} to i32"), which)
            high = self._shuffle(mode, text.ins(f"trunc i64 {text.ins(f'lshr i64 {value}, 32')} to i32"), which)
            high = text.ins(f"shl i64 {text.ins(f'zext i32 {high} to i64')}, 32")
            moved = text.ins(f"or i64 {text.ins(f'zext i32 {low} to i64')}, {high}")
        if bits < 32:
            return text.ins(f"trunc i32 {moved} to {scalar}")
        return text.ins(f"bitcast i{bits} {moved} to {scalar}") if scalar in ("float", "double") else moved

    def _shuffle(self, mode: str, value: str, which: str) -> str:
        full = f"llvm.nvvm.shfl.sync.{mode}.i32"
        self.text.declare(full, "i32", ["i32", "i32", "i32", "i32"])
        return self.text.ins(f"call i32 @{full}(i32 -1, i32 {value}, i32 {which}, i32 {WARP - 1})")

    # Memory of the block

    def shared(self, offset: Dim) -> str:
        """A pointer into the block's shared memory."""
        if not self._shared:
            self.text.module.globals.setdefault("shared", SHARED.format(align=16))
            self._shared = self.text.ins("addrspacecast ptr addrspace(3) @shared to ptr", self.text.entry)
        return self.index.pointer(self._shared, "i8", offset)

    def reserve_shared(self, size: int) -> Dim:
        """The offset of so many bytes of the block's shared memory that nothing else has."""
        first = self._reserved
        self._reserved = first + size
        return first
