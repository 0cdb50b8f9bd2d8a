"""LLVM IR text of a function for the CPU: its frame and parallel regions.

A function is ``i32 @f(ptr args, ptr symbols, ptr runtime)``: data pointers, i64 values of `tx.symbols`, and the runtime
``{ptr parallel, ptr pool, i64 threads, ptr arena, ptr thread_arena, i64 thread_arena_stride, ptr bounds,
ptr signals}``.
The body of a parallel loop becomes a function ``void(ptr context, i64 chunk, i64 worker)``, as does a loop that is
apart, which is called with chunk 0.  `bounds` is read by functions that check indices: one that finds an index outside
returns 1.  `signals` is polled by long loops of modules that are `polled` (`runtime/signals/ir.py`): a function that
is to leave returns 1 too.
"""

from __future__ import annotations

from functools import partial
from math import gcd

from xdsl.dialects import func
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.attributes import BufferType, DimAttr
from ....dialects.dims.dims import Dim, Sym
from ....dialects.loop import (
    AllocOp,
    AmxOp,
    BindOp,
    ForOp,
    IfOp,
    IndexOp,
    LoadOp,
    ParallelOp,
    ShuffleOp,
    StoreOp,
    ThreadsOp,
    TimestampOp,
    WhileOp,
    YieldOp,
)
from ....dialects.types import DTYPES
from ..emit.function import FunctionEmitter, symbols_of
from ..emit.loops.counted_loops import bound_of
from ..emit.memory.access import storage_type
from ..emit.memory.nontemporal import alignment_of
from ..emit.text import ONCE, EmitError, IrText, Module, llvm_type, quoted
from ..emit.values.index import operations_of, undefined
from ..emit.values.lanes import Lanes
from ..emit.values.registers import VectorValue, info_of, unmade
from .amx import AmxTiles
from .exits import CpuExits
from .frame import ARENA, PARALLEL, POOL, THREAD_ARENA, THREAD_STRIDE, THREADS, Frame
from .places import ChosenPlaces
from .shuffle import shuffle_lanes

__all__ = ["CpuFunction"]

#: `CLOCK_MONOTONIC` of `clock_gettime`.
MONOTONIC, MONOTONIC_APPLE = 1, 6
#: So many chunks a thread where the grain allows it.
CHUNKS_PER_THREAD = 8
#: Expressions of at most so many instructions are computed in each function that uses them: as many as it takes to hand
#: one on, which is a place in the context, a store, the place again and a load.
SHORT = 4
#: What costs a few instructions wherever it stands, for itself.
_FEW_INSTRUCTIONS = (
    AllocOp, BindOp, IndexOp, LoadOp, ParallelOp, StoreOp, ThreadsOp, YieldOp, func.ReturnOp,
)  # fmt: skip
#: What the function of a loop takes.
CHUNK = "ptr noalias readonly %context, i64 %chunk, i64 %worker"


class CpuFunction:
    """A function, or the outlined body of a parallel loop of `parent`, or a loop of it that is apart."""

    def __init__(self, module: Module, name: str, parent: CpuFunction | None = None):
        self.name, self.parent, self.text = name, parent, IrText(module)
        self.frame = Frame(self.text, None if parent is None else parent.frame)
        self.exits = CpuExits(self.text, self.frame)
        self.emitter = FunctionEmitter(
            self.text, Lanes(self.text),
            symbol=self._symbol, size=self._size, value=self._value, buffer=self.buffer, places=ChosenPlaces(self.text),
            alignment=lambda base, storage, offset: alignment_of(storage),
            poll=self.exits.poll if module.polled else None, exits=self.exits if module.checked else None,
        )  # fmt: skip
        self.index = self.emitter.index
        self.tiles = AmxTiles(self.text, self.index, self.emitter.memory, self.emitter.loops)
        self.emitter.handlers.update({
            AllocOp: self._allocate, ForOp: self._for, ParallelOp: self._parallel, TimestampOp: self._timestamp,
            ThreadsOp: self._threads, AmxOp: self.tiles.matmul, ShuffleOp: partial(shuffle_lanes, self.emitter),
        })  # fmt: skip
        self.buffers: dict[SSAValue, str] = {}
        #: The places of symbols among those that the function is given.
        self.given_symbols: dict[Sym, int] = {}
        #: Whether all work is that of functions inside: then LLVM makes code of this one as quickly as it can.
        self.only_divides = False
        #: The bytes of arenas, by scope, where the function says.
        self.arenas: dict[str, Dim] = {} if parent is None else parent.arenas

    def emit(self, op: func.FuncOp) -> None:
        """The whole function."""
        self.given_symbols.update((s, i) for i, s in enumerate(symbols_of(op)))
        for i, argument in enumerate(op.body.block.args):
            if not isinstance(argument.type, BufferType):
                raise EmitError(f"argument {i} of {self.name} is a {argument.type}, not a buffer")
            self.buffers[argument] = self.frame.field("%args", 8 * i, "ptr")
        for scope, name in (("arena", "tx.arena"), ("thread", "tx.thread_arena")):
            size = op.attributes.get(name)
            if isinstance(size, DimAttr):
                self.arenas[scope] = size.data
        self.only_divides = _only_divides(op.body.block)
        self.emitter.region(op.body.block)
        self._end("ret i32 0", "ret i32 1")
        pointers = "ptr noalias readonly %args, ptr noalias readonly %symbols, ptr noalias readonly %runtime"
        self.text.finish(self.name, "i32", pointers, group=ONCE if self.only_divides else "#0")

    def _end(self, usual: str, early: str) -> None:
        """The function's last blocks: its end, and that of one that leaves early."""
        self._give_back()
        self.text.put(usual)
        if self.exits.label:
            self.text.start(self.exits.label)
            self._give_back()
            self.text.put(early)

    def _give_back(self) -> None:
        if self.emitter.memory.nontemporal.needs_fence:  # nothing else orders non-temporal stores
            self.text.declare("llvm.x86.sse.sfence", "void", [])
            self.text.put("call void @llvm.x86.sse.sfence()")
        self.tiles.release()

    # What lies outside: arguments, symbols, values of the enclosing function

    def _symbol(self, symbol: Sym) -> str:
        if self.parent is not None:
            parent = self.parent
            return self.frame.capture(symbol, "i64", lambda: parent.index.symbol(symbol)[0])
        if symbol not in self.given_symbols:
            return undefined(symbol)
        return self.frame.field("%symbols", 8 * self.given_symbols[symbol], "i64")

    def _size(self, expr: Dim) -> str | None:
        """An expression of symbols from outside that is long enough to be passed on, not computed again."""
        parent = self.parent
        if parent is None or operations_of(expr) <= SHORT:
            return None
        return self.frame.capture(expr, "i64", lambda: parent.index.value(expr))

    def _value(self, value: SSAValue) -> VectorValue:
        if self.parent is None:
            return unmade(value)
        reg = self.parent.emitter.values[value]
        if not reg.uniform:
            raise EmitError("a parallel loop inside lanes")
        return VectorValue((), [self.frame.capture(value, llvm_type(reg.dtype), lambda: reg.regs[0])], reg.dtype)

    def buffer(self, value: SSAValue) -> str:
        found = self.buffers.get(value)
        if found is None:
            if isinstance(value.owner, AllocOp) and (self.parent is None or value.owner.scope.data == "thread"):
                self._allocate(value.owner)
                return self.buffers[value]
            if self.parent is None:
                raise EmitError(f"{value} is no buffer of this function")
            parent = self.parent
            found = self.buffers[value] = self.frame.capture(value, "ptr", lambda: parent.buffer(value))
        return found

    def _allocate(self, op: AllocOp) -> None:
        if _is_number(op):
            self.buffers[op.result] = self.text.alloca(storage_type(info_of(op.result).dtype))
            return
        if op.scope.data == "arena":
            base, offset = self.frame.runtime(ARENA, "ptr"), op.offset.data
        else:
            entry = self.text.entry
            base, offset = self.frame.runtime(THREAD_ARENA, "ptr"), op.offset.data
            if self.parent is not None:
                moved = self.text.ins(f"mul i64 %worker, {self.frame.runtime(THREAD_STRIDE, 'i64')}", entry)
                base = self.text.ins(f"getelementptr i8, ptr {base}, i64 {moved}", entry)
        if (checks := self.emitter.memory.checks) is not None and op.scope.data in self.arenas:
            checks.temporary(op, self.arenas[op.scope.data])
        self.buffers[op.result] = self.index.pointer(base, "i8", offset)

    # Operations that only functions for the CPU have

    def _threads(self, op: ThreadsOp) -> None:
        self.emitter.values[op.result] = VectorValue((), [self.frame.runtime(THREADS, "i64")], DTYPES["i64"])

    def _timestamp(self, op: TimestampOp) -> None:
        """The C library's clock: cycle counters count at rates of their own, and some processors guard theirs."""
        text = self.text
        number = MONOTONIC_APPLE if "apple" in text.target.triple else MONOTONIC
        text.declare("clock_gettime", "i32", ["i32", "ptr"])
        now = text.alloca("i64", 2)
        text.ins(f"call i32 @clock_gettime(i32 {number}, ptr {now})")
        seconds = text.ins(f"load i64, ptr {now}, align 8")
        rest = text.ins(f"load i64, ptr {text.ins(f'getelementptr i64, ptr {now}, i64 1')}, align 8")
        total = text.add(text.mul(seconds, "1000000000"), rest)
        at = text.ins(f"getelementptr i64, ptr {self.buffer(op.buffer)}, i64 {op.slot.value.data}")
        text.put(f"store i64 {total}, ptr {at}, align 8")

    # Loops that are functions

    def _for(self, op: ForOp) -> None:
        """A loop; one that is apart is a call, as is one that is work in a function that only divides it."""
        apart = op.outline is not None or self.only_divides
        if not apart or self.emitter.lanes.axes:
            self.emitter.loops.for_loop(op)
            return
        child = self._child(op)
        child.emitter.loops.for_loop(op)
        child._end_chunk()
        context, worker = self.frame.context(child.frame), "%worker" if self.parent is not None else "0"
        self.text.put(f"call void {quoted(child.name)}(ptr {context}, i64 0, i64 {worker})")
        self.exits.leave_after(child.exits)

    def _parallel(self, op: ParallelOp) -> None:
        text, index = self.text, self.index
        if op.kind.data != "cpu_thread":
            raise EmitError(f"loop.parallel of kind {op.kind.data} is for a GPU; this target is {text.target.triple}")
        lower, upper, step = op.lower.data, op.upper.data, op.step.data
        if self.parent is not None or self.emitter.lanes.axes:
            self._iterations(op, index.value(lower), index.value(upper), index.value(step))
            return
        start, end, stride = index.value(lower), index.value(upper), index.value(step)
        trip = _ceil_div(text, _smax(text, text.sub(end, start), "0"), stride)
        grain = _smax(text, index.value(op.grain.data), "1")
        each, longer, chunks = _chunks(text, self.frame.runtime(THREADS, "i64"), trip, grain)

        child = self._outlined(op, start, end, each, longer)
        context = self.frame.context(child.frame)
        many, direct, after = text.label("parallel"), text.label("direct"), text.label("joined")
        text.branch_if(text.ins(f"icmp sgt i64 {chunks}, 1"), many, direct)
        text.start(many)
        function, pool = self.frame.runtime(PARALLEL, "ptr"), self.frame.runtime(POOL, "ptr")
        threads = self.frame.runtime(THREADS, "i64")
        text.put(
            f"call void {function}(ptr {pool}, ptr {quoted(child.name)}, ptr {context}, i64 {chunks}, i64 {threads})"
        )
        text.branch(after)
        text.start(direct)
        text.put(f"call void {quoted(child.name)}(ptr {context}, i64 0, i64 0)")
        text.branch(after)
        text.start(after)
        self.exits.leave_after(child.exits)

    def _iterations(self, op: ParallelOp, start: str, end: str, stride: str) -> None:
        """A parallel loop's iterations from `start` on, one after another."""
        emitter = self.emitter
        emitter.loops.counted(
            op.symbol, start, end, stride, lambda _: emitter.loops.polled(op.block),
            bound=bound_of(op), strip=emitter.polling.strip(op),
            multiple=gcd(self.index.multiple(op.lower.data), self.index.multiple(op.step.data)),
        )  # fmt: skip

    def _child(self, op: ForOp | ParallelOp) -> CpuFunction:
        """A function inside this one, for a loop."""
        child = CpuFunction(self.text.module, self.text.module.unique(f"{self.name}.{op.symbol.name}"), self)
        child.index.bounds, child.index.multiples = dict(self.index.bounds), dict(self.index.multiples)
        if self.text.module.debug is not None:
            child.emitter.place(op)
        return child

    def _end_chunk(self) -> None:
        self._end("ret void", "ret void")
        self.text.finish(self.name, "internal void", CHUNK)

    def _outlined(self, op: ParallelOp, start: str, end: str, each: str, longer: str) -> CpuFunction:
        """The function of a chunk: `each` iterations, one more of the first `longer` chunks."""
        child = self._child(op)
        text, captured = child.text, (("start", start), ("end", end), ("each", each), ("longer", longer))
        first, last, fewest, more = (child.frame.capture(name, "i64", partial(str, x)) for name, x in captured)
        stride = child.index.value(op.step.data)
        before = text.call("smin", 1, "i64", "%chunk", more)
        begin = text.add(first, text.mul(text.add(text.mul("%chunk", fewest), before), stride))
        is_longer = text.ins(f"zext i1 {text.ins(f'icmp slt i64 %chunk, {more}')} to i64")
        limit = text.add(begin, text.mul(text.add(fewest, is_longer), stride))
        stop = text.call("smin", 1, "i64", limit, last)
        child._iterations(op, begin, stop, stride)
        child._end_chunk()
        return child


def _chunks(text: IrText, threads: str, trip: str, grain: str) -> tuple[str, str, str]:
    """How many iterations each chunk of a loop has, how many chunks have one more, and how many chunks there are.

    As many chunks for each thread, where there are enough for all: one chunk more would be a round in which one
    thread works.  The longer ones come first.  What one thread does alone is asked before, so that small calls
    divide nothing.
    """
    alone = text.ins(f"icmp sle i64 {threads}, 1")
    alone = text.ins(f"or i1 {alone}, {text.ins(f'icmp ule i64 {trip}, {grain}')}")
    shared, ready, before = text.label("shared"), text.label("ready"), text.block
    text.branch_if(alone, ready, shared)
    text.start(shared)
    most = text.call("smin", 1, "i64", text.mul(threads, str(CHUNKS_PER_THREAD)), _ceil_div(text, trip, grain))
    even = text.sub(most, text.ins(f"urem i64 {most}, {threads}"))
    few = text.ins(f"icmp ult i64 {most}, {threads}")
    chunks = text.ins(f"select i1 {few}, i64 {most}, i64 {even}")
    each = text.ins(f"udiv i64 {trip}, {chunks}")
    longer = text.sub(trip, text.mul(each, chunks))
    text.branch(ready)
    text.start(ready)
    each, longer, chunks = (
        text.ins(f"phi i64 [{one}, %{before}], [{several}, %{shared}]")
        for one, several in ((trip, each), ("0", longer), ("1", chunks))
    )
    return each, longer, chunks


def _ceil_div(text: IrText, a: str, b: str) -> str:
    """``a / b`` rounded up, of a non-negative and a positive number."""
    if b == "1":
        return a
    return text.ins(f"udiv i64 {text.sub(text.add(a, b), '1')}, {b}")


def _smax(text: IrText, a: str, b: str) -> str:
    if a[0] != "%" and b[0] != "%":
        return str(max(int(a), int(b)))
    return text.call("smax", 1, "i64", a, b)


def _only_divides(block: Block) -> bool:
    """Whether all work of a block is that of loops which are functions of their own, called a few times."""
    return all(_divides(op) for op in block.ops)


def _divides(op: Operation) -> bool:
    if isinstance(op, ForOp):  # one with a parallel loop inside may begin that often
        return not any(type(inner) is ParallelOp for inner in op.walk()) and not op.results and not _numbers(op)
    if isinstance(op, IfOp) or (isinstance(op, WhileOp) and not _numbers(op)):
        return all(_only_divides(block) for region in op.regions for block in region.blocks)
    return isinstance(op, _FEW_INSTRUCTIONS) or op.name.startswith(("arith.", "math."))


def _numbers(op: Operation) -> bool:
    """Whether it reads or stores numbers that live in registers, which a function of its own would have in memory."""
    return any(
        (type(inner) is LoadOp or type(inner) is StoreOp) and not info_of(inner.buffer).rank for inner in op.walk()
    )


def _is_number(op: AllocOp) -> bool:
    """Whether a temporary is one number: it lives in the function's frame, and so in a register where nobody minds."""
    return op.scope.data == "arena" and not info_of(op.result).rank
