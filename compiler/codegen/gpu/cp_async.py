"""Copies that run beside their thread: `loop.async_copy` as ``cp.async``, in groups that a thread can wait for."""

from __future__ import annotations

from ....dialects.dims.dims import Dim
from ....dialects.loop import AsyncCopyOp
from ..emit.memory.access import Memory, storage_type
from ..emit.text import EmitError, IrText
from ..emit.values.index import IndexValues
from ..emit.values.lanes import Lanes
from ..emit.values.registers import info_of

__all__ = ["AsyncCopies"]


class AsyncCopies:
    """Copies, groups of them, and waiting for all but some groups."""

    def __init__(self, text: IrText, lanes: Lanes, index: IndexValues, memory: Memory):
        self.text, self.lanes, self.index, self.memory = text, lanes, index, memory

    def copy(self, op: AsyncCopyOp) -> None:
        if self.lanes.axes:
            raise EmitError("a copy beside its thread in a loop of lanes")
        source, target = info_of(op.source), info_of(op.target)
        storage, size = storage_type(source.dtype), op.bytes
        base, offset = self.memory.buffer(op.source), self.index.address(source, op.index.data)
        to, place = self.memory.buffer(op.target), self.index.address(target, op.to.data)
        for where, pointer, at in (("from", base, offset), ("to", to, place)):
            if self.memory.alignment(pointer, storage, at) % size:
                raise EmitError(f"a copy of {size} bytes {where} element {at}, which is not known to be aligned")
        far = self.text.ins(f"addrspacecast ptr {self.index.pointer(base, storage, offset)} to ptr addrspace(1)")
        near = self.text.ins(f"addrspacecast ptr {self.index.pointer(to, storage, place)} to ptr addrspace(3)")
        arguments = [("ptr addrspace(3)", near), ("ptr addrspace(1)", far)]
        name = f"llvm.nvvm.cp.async.{'cg' if size == 16 else 'ca'}.shared.global.{size}"
        if (some := self._bytes_read(op.guard_exprs, size)) is not None:
            name, arguments = f"{name}.s", [*arguments, ("i32", some)]
        self.text.declare(name, "void", [ty for ty, _ in arguments])
        self.text.put(f"call void @{name}({', '.join(f'{ty} {value}' for ty, value in arguments)})")

    def _bytes_read(self, guards: tuple[Dim, ...], size: int) -> str | None:
        """All of them, or none where a guard is negative, and then zeros come."""
        least: str | None = None
        for guard in guards:
            if not guard.nonneg:
                value = self.index.value(guard)
                least = value if least is None else self.text.ins(f"call i64 @llvm.smin.i64(i64 {least}, i64 {value})")
                self.text.declare("llvm.smin.i64", "i64", ["i64", "i64"])
        if least is None:
            return None
        return self.text.ins(f"select i1 {self.text.ins(f'icmp sge i64 {least}, 0')}, i32 {size}, i32 0")

    def end_group(self) -> None:
        """What this thread has begun to copy since the last group ended is one more."""
        self.text.declare("llvm.nvvm.cp.async.commit.group", "void", [])
        self.text.put("call void @llvm.nvvm.cp.async.commit.group()")

    def wait_for_groups(self, newest: int) -> None:
        """Until all groups of this thread but the newest have arrived."""
        self.text.declare("llvm.nvvm.cp.async.wait.group", "void", ["i32"])
        self.text.put(f"call void @llvm.nvvm.cp.async.wait.group(i32 {newest})")
