"""The state of a run: values, symbols, and the batch of points that are computed at once.

Parallel iterators become leading axes of arrays: an iterator bound while the batch has rank r is an array of shape
``(n, 1, …, 1)`` with r ones, so that everything computed further out broadcasts against it unchanged.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.attributes import BufferType, DimsAttr, write_dims
from ...dialects.dims.dims import Dim, Sym, dim
from ...dialects.kernel import ReadOp
from ...dialects.loop import AllocOp, BindOp, IndexOp, LoadOp, PrefetchOp, StoreOp, ThreadsOp, TimestampOp
from .memory import Arena, Memory, evaluate
from .scalar_ops import InterpretError, Scalars

__all__ = ["Frame", "naming"]

Array = np.ndarray[Any, Any]
#: As many as loops are told that there are: no result follows from it.
THREADS = 2


def naming(op: Operation, error: InterpretError) -> InterpretError:
    """An error that an op raised, with its name; that of an op inside it has one already."""
    if getattr(error, "op", None) is not None:
        return error
    named = InterpretError(f"{op.name}{_details(op)}: {error}")
    named.op = op  # type: ignore[attr-defined]
    return named


def _details(op: Operation) -> str:
    shown = [
        f'{key} = "{write_dims(value.data)}"' for key, value in op.attributes.items() if isinstance(value, DimsAttr)
    ]
    return " {" + ", ".join(shown) + "}" if shown else ""


@dataclass
class Frame:
    """One region's state.

    `active` is None or says which points of the batch run; `worker` numbers each point's copy of private memory (the
    int 0 outside parallel loops), `team` that of block memory, which a gpu_block has.
    """

    scalars: Scalars
    env: dict[Sym, Any]
    arena: Arena
    private: Arena
    values: dict[SSAValue, Array] = field(default_factory=dict)
    memory: dict[SSAValue, Memory] = field(default_factory=dict)
    batch: tuple[int, ...] = ()
    active: Array | None = None
    worker: Any = 0
    shared: Arena | None = None
    team: Any = 0

    def fork(self, **changes: Any) -> Frame:
        """The state for a region: symbols bound inside stay inside."""
        return replace(self, env=dict(self.env), **changes)

    def bind_axis(self, symbol: Sym, values: Array) -> Frame:
        """A frame in which `symbol` runs over the values of an array, as a new leading axis of the batch."""
        inner = self.fork(batch=(len(values), *self.batch))
        inner.env[symbol] = values.reshape((-1,) + (1,) * len(self.batch))
        return inner

    def masked(self, condition: Any) -> Frame | None:
        """The frame in which only the points where `condition` holds run; None where there are none."""
        active = np.asarray(condition) if self.active is None else self.active & condition
        if not np.any(active):
            return None
        return self.fork(active=None if np.all(active) else active)

    def where(self, guards: tuple[Dim, ...]) -> Any:
        """Which points an access touches: active ones whose guards are all ``>= 0``; None for all."""
        result: Any = self.active
        for guard in guards:
            holds = np.asarray(evaluate(guard, self.env)) >= 0
            result = holds if result is None else result & holds
        return None if result is None or np.all(result) else result

    def index(self, exprs: tuple[Dim, ...]) -> list[Any]:
        return [evaluate(e, self.env) for e in exprs]

    def load(self, source: SSAValue, exprs: tuple[Dim, ...], guards: tuple[Dim, ...] = ()) -> Array:
        return self.found(source).gather(self.index(exprs), self.where(guards), self._copy_of(source))

    def store(self, target: SSAValue, exprs: tuple[Dim, ...], value: Array, guards: tuple[Dim, ...] = ()) -> None:
        self.found(target).scatter(self.index(exprs), value, self.where(guards), self._copy_of(target))

    def _copy_of(self, value: SSAValue) -> Any:
        """The number of each point's copy of memory that has copies."""
        op = value.owner
        return self.team if isinstance(op, AllocOp) and op.scope.data == "shared" else self.worker

    def found(self, value: SSAValue) -> Memory:
        """The memory behind a tensor or buffer; private memory is looked up in the current copies."""
        memory = self.memory.get(value)
        if memory is not None and not memory.private:
            return memory
        op = value.owner
        if isinstance(op, AllocOp):
            return self.alloc(op)
        raise InterpretError(f"{value} has no memory here")

    def alloc(self, op: AllocOp) -> Memory:
        """The temporary of an allocation, in the current copies where it is private."""
        arena = {"thread": self.private, "shared": self.shared}.get(op.scope.data, self.arena)
        if arena is None:
            raise InterpretError("shared memory outside of a gpu_block")
        assert isinstance(op.result.type, BufferType)
        offset = int(evaluate(op.offset.data, self.env))
        return arena.alloc(op.result.type.data, offset, self.env, arena is not self.arena)

    def run_scalar(self, op: Operation) -> bool:
        """Run an op that bodies are made of; False where it is none (a structured op)."""
        handler = _HANDLERS.get(type(op))
        if handler is not None:
            handler(self, op)
        elif not op.regions and len(op.results) == 1:
            self.values[op.results[0]] = self.scalars.compute(op, [self.values[v] for v in op.operands])
        else:
            return False
        return True

    def run_while(self, op: scf.WhileOp) -> None:
        """A loop at every point: those that are done keep their values while others go on."""
        carried = tuple(self.values[v] for v in op.operands)
        while True:
            more, *passed = self.run_body(op.before_region.block, carried)
            running = more if self.active is None else more & self.active
            if not np.any(running):
                self.values.update(zip(op.results, passed))
                return
            found = self.run_body(op.after_region.block, tuple(passed))
            carried = tuple(np.where(running, new, old) for new, old in zip(found, carried, strict=True))

    def run_body(self, block: Block, args: list[Array] | tuple[Array, ...]) -> tuple[Array, ...]:
        """Run a body on its block arguments and give what it yields."""
        self.values.update(zip(block.args, args, strict=True))
        last = block.last_op
        assert last is not None
        for op in block.ops:
            if op is last:
                break
            try:
                if not self.run_scalar(op):
                    raise InterpretError("does not belong in a scalar body")
            except InterpretError as error:
                raise naming(op, error) from None
        return tuple(self.values[v] for v in last.operands)


def _load(frame: Frame, op: LoadOp) -> None:
    frame.values[op.result] = frame.load(op.buffer, op.index.data, op.guard_exprs)


def _read(frame: Frame, op: ReadOp) -> None:
    guards = op.guards.data if op.guards is not None else ()
    frame.values[op.result] = frame.load(op.source, op.index.data, guards)


def _store(frame: Frame, op: StoreOp) -> None:
    frame.store(op.buffer, op.index.data, frame.values[op.value], op.guard_exprs)


def _index(frame: Frame, op: IndexOp) -> None:
    frame.values[op.result] = np.asarray(evaluate(op.expr.data, frame.env), np.int64)


def _bind(frame: Frame, op: BindOp) -> None:
    frame.env[Sym(op.symbol.data)] = frame.values[op.value]


def _allocate(frame: Frame, op: AllocOp) -> None:
    frame.memory[op.result] = frame.alloc(op)


def _prefetch(frame: Frame, op: PrefetchOp) -> None:
    """Nothing that a program can see."""


def _threads(frame: Frame, op: ThreadsOp) -> None:
    frame.values[op.result] = np.asarray(THREADS, np.int64)


def _timestamp(frame: Frame, op: TimestampOp) -> None:
    frame.store(op.buffer, (dim(op.slot.value.data),), np.asarray(time.monotonic_ns()))


#: By the very class: a body has thousands of ops, and asking each class in turn takes longer than what most of them do.
_HANDLERS: dict[type[Operation], Callable[[Frame, Any], None]] = {
    LoadOp: _load,
    ReadOp: _read,
    StoreOp: _store,
    IndexOp: _index,
    BindOp: _bind,
    AllocOp: _allocate,
    PrefetchOp: _prefetch,
    ThreadsOp: _threads,
    TimestampOp: _timestamp,
    scf.WhileOp: Frame.run_while,
}
