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

from math import gcd
from typing import Any

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from ....dialects.attributes import BufferType, DimAttr
from ....dialects.dims.dims import Dim, Sym
from ....dialects.loop import AllocOp, AmxOp, ClockOp, ForOp, ParallelOp, ShuffleOp, ThreadsOp
from ....dialects.types import DTYPES
from ..emit.function import FunctionWriter, buffer_info, symbols_of
from ..emit.memory.access import storage_type
from ..emit.memory.bounds_check import check_temporary
from ..emit.text import ONCE, EmitError, Module, llvm_type, quoted
from ..emit.values.registers import VectorValue
from .amx import amx_matmul, release_tiles
from .shuffle import shuffle_lanes

__all__ = ["CpuFunction"]

#: `CLOCK_MONOTONIC` of `clock_gettime`.
MONOTONIC, MONOTONIC_APPLE = 1, 6
#: So many chunks a thread where the grain allows it.
CHUNKS_PER_THREAD = 8
#: What the function of a loop takes.
CHUNK = "ptr noalias readonly %context, i64 %chunk, i64 %worker"
PARALLEL, POOL, THREADS, ARENA, THREAD_ARENA, THREAD_STRIDE, BOUNDS, SIGNALS = (8 * i for i in range(8))


class CpuFunction(FunctionWriter):
    """A function, or the outlined body of a parallel loop of `parent`, or a loop of it that is apart."""

    def __init__(self, module: Module, name: str, parent: CpuFunction | None = None):
        super().__init__(module, name)
        self.parent = parent
        self.function_symbols: dict[Sym, int] = {}
        self.captured: list[tuple[str, str]] = []
        self._capture_of: dict[Any, str] = {}
        self._runtime: dict[int, str] = {}
        #: Whether the function sets tiles up when it begins.
        self.has_tiles = False
        #: The bytes of arenas, by scope, where the function says.
        self.arenas: dict[str, Dim] = {} if parent is None else parent.arenas
        #: The block that ends the function before its end, where one is needed.
        self._exit = ""
        #: Whether it may end for the sake of an index that is outside, or of a signal.
        self.checks = self.polls = False

    # What lies outside: arguments, symbols, values of the enclosing function

    def _field(self, base: str, offset: int, type_: str) -> str:
        """A field of a struct, loaded at the function's entry."""
        text = self.text
        entry = text.entry
        at = text.ins(f"getelementptr i8, ptr {base}, i64 {offset}", entry) if offset else base
        return text.ins(f"load {type_}, ptr {at}, align 8", entry)

    def capture(self, key: Any, type_: str, outside: Any) -> str:
        """A value of the parent, passed through the context."""
        found = self._capture_of.get(key)
        if found is None:
            self.captured.append((type_, outside()))
            found = self._capture_of[key] = self._field("%context", 8 * (len(self.captured) - 1), type_)
        return found

    def runtime(self, offset: int, type_: str) -> str:
        found = self._runtime.get(offset)
        if found is None:
            found = self._runtime[offset] = self._field(self.runtime_pointer(), offset, type_)
        return found

    def runtime_pointer(self) -> str:
        if self.parent is None:
            return "%runtime"
        return self.capture("runtime", "ptr", self.parent.runtime_pointer)

    def unknown_symbol(self, symbol: Sym) -> str:
        if self.parent is not None:
            parent = self.parent
            return self.capture(symbol, "i64", lambda: parent.index.symbol(symbol)[0])
        if symbol not in self.function_symbols:
            raise EmitError(f"nothing defines the symbol {symbol}")
        return self._field("%symbols", 8 * self.function_symbols[symbol], "i64")

    def unknown_value(self, value: SSAValue) -> VectorValue:
        if self.parent is None:
            return super().unknown_value(value)
        reg = self.parent.value(value)
        if not reg.uniform:
            raise EmitError("a parallel loop inside lanes")
        name = self.capture(value, llvm_type(reg.dtype), lambda: reg.regs[0])
        self.values[value] = VectorValue((), [name], reg.dtype)
        return self.values[value]

    def buffer(self, value: SSAValue) -> str:
        found = self.buffers.get(value)
        if found is None:
            if isinstance(value.owner, AllocOp) and (self.parent is None or not _is_number(value.owner)):
                self.allocate(value.owner)
                return self.buffers[value]
            if self.parent is None:
                raise EmitError(f"{value} is no buffer of this function")
            parent = self.parent
            found = self.buffers[value] = self.capture(value, "ptr", lambda: parent.buffer(value))
        return found

    def allocate(self, op: AllocOp) -> None:
        text = self.text
        if _is_number(op):
            self.buffers[op.result] = text.alloca(storage_type(buffer_info(op).dtype))
            return
        if op.scope.data == "arena":
            base, offset = self.runtime(ARENA, "ptr"), op.offset.data
        else:
            entry = text.entry
            base, offset = self.runtime(THREAD_ARENA, "ptr"), op.offset.data
            if self.parent is not None:
                moved = text.ins(f"mul i64 %worker, {self.runtime(THREAD_STRIDE, 'i64')}", entry)
                base = text.ins(f"getelementptr i8, ptr {base}, i64 {moved}", entry)
        if text.module.checked and op.scope.data in self.arenas:
            check_temporary(self, op, self.arenas[op.scope.data])
        self.buffers[op.result] = self.index.pointer(base, "i8", offset)

    def other(self, op: Operation) -> None:
        if isinstance(op, ClockOp):
            self.clock(op)
        elif isinstance(op, ThreadsOp):
            self.values[op.result] = VectorValue((), [self.runtime(THREADS, "i64")], DTYPES["i64"])
        elif isinstance(op, AmxOp):
            amx_matmul(self, op)
        elif isinstance(op, ShuffleOp):
            shuffle_lanes(self, op)
        else:
            super().other(op)

    def clock(self, op: ClockOp) -> None:
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

    # Parallel loops

    def parallel(self, op: ParallelOp) -> None:
        text = self.text
        if op.kind.data != "cpu_thread":
            raise EmitError(f"loop.parallel of kind {op.kind.data} is for a GPU; this target is {text.target.triple}")
        lower, upper, step = op.lower.data, op.upper.data, op.step.data
        bound = upper if lower.nonneg else None
        if self.parent is not None or self.lanes.axes:
            self.counted(
                op.symbol, self.index.value(lower), self.index.value(upper), self.index.value(step),
                lambda _: self.polled(op.block), bound=bound, strip=self.polling.strip(op),
                multiple=gcd(self.index.multiple(lower), self.index.multiple(step)),
            )  # fmt: skip
            return
        start, end, stride = self.index.value(lower), self.index.value(upper), self.index.value(step)
        trip = self._ceil_div(self._smax(text.sub(end, start), "0"), stride)
        each, longer, chunks = self._chunks(trip, self._smax(self.index.value(op.grain.data), "1"))

        child = self._outline(op, start, end, each, longer, bound)
        context = self._context(child)
        many, direct, after = text.label("parallel"), text.label("direct"), text.label("joined")
        text.branch_if(text.ins(f"icmp sgt i64 {chunks}, 1"), many, direct)
        text.start(many)
        function, pool, threads = self.runtime(PARALLEL, "ptr"), self.runtime(POOL, "ptr"), self.runtime(THREADS, "i64")
        text.put(
            f"call void {function}(ptr {pool}, ptr {quoted(child.name)}, ptr {context}, i64 {chunks}, i64 {threads})"
        )
        text.branch(after)
        text.start(direct)
        text.put(f"call void {quoted(child.name)}(ptr {context}, i64 0, i64 0)")
        text.branch(after)
        text.start(after)
        self._leave_after(child)

    def for_loop(self, op: ForOp) -> None:
        """A loop; one that is apart is a call."""
        if op.apart is None or self.lanes.axes:
            super().for_loop(op)
            return
        child = self._child(op)
        super(CpuFunction, child).for_loop(op)
        child.end("ret void")
        child.finish("internal void", CHUNK)
        context, worker = self._context(child), "%worker" if self.parent is not None else "0"
        self.text.put(f"call void {quoted(child.name)}(ptr {context}, i64 0, i64 {worker})")
        self._leave_after(child)

    def _child(self, op: ForOp | ParallelOp) -> CpuFunction:
        """A function inside this one, for a loop."""
        text = self.text
        child = CpuFunction(text.module, text.module.unique(f"{self.name}.{op.symbol.name}"), self)
        child.index.bounds, child.index.multiples = dict(self.index.bounds), dict(self.index.multiples)
        if text.module.debug is not None:
            child.place(op)
        return child

    def _context(self, child: CpuFunction) -> str:
        """Memory with what a child takes from here."""
        text = self.text
        context = text.alloca("i64", max(1, len(child.captured)))
        for i, (type_, value) in enumerate(child.captured):
            at = text.ins(f"getelementptr i64, ptr {context}, i64 {i}") if i else context
            text.put(f"store {type_} {value}, ptr {at}, align 8")
        return context

    def _chunks(self, trip: str, grain: str) -> tuple[str, str, str]:
        """How many iterations each chunk of a loop has, how many chunks have one more, and how many chunks there are.

        As many chunks for each thread, where there are enough for all: one chunk more would be a round in which one
        thread works.  The longer ones come first.  What one thread does alone is asked before, so that small calls
        divide nothing.
        """
        text = self.text
        threads = self.runtime(THREADS, "i64")
        alone = text.ins(f"icmp sle i64 {threads}, 1")
        alone = text.ins(f"or i1 {alone}, {text.ins(f'icmp ule i64 {trip}, {grain}')}")
        shared, ready, before = text.label("shared"), text.label("ready"), text.block
        text.branch_if(alone, ready, shared)
        text.start(shared)
        wanted = [("i64", text.mul(threads, str(CHUNKS_PER_THREAD))), ("i64", self._ceil_div(trip, grain))]
        most = text.intrinsic("smin", "i64", "i64", wanted)
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

    def _ceil_div(self, a: str, b: str) -> str:
        """``a / b`` rounded up, of a non-negative and a positive number."""
        text = self.text
        if b == "1":
            return a
        return text.ins(f"udiv i64 {text.sub(text.add(a, b), '1')}, {b}")

    def _smax(self, a: str, b: str) -> str:
        if a[0] != "%" and b[0] != "%":
            return str(max(int(a), int(b)))
        return self.text.intrinsic("smax", "i64", "i64", [("i64", a), ("i64", b)])

    def _outline(
        self, op: ParallelOp, start: str, end: str, each: str, longer: str, bound: Dim | None
    ) -> CpuFunction:  # fmt: skip
        """The function of a chunk: `each` iterations, one more of the first `longer` chunks."""
        child = self._child(op)
        first = child.capture("start", "i64", lambda: start)
        last = child.capture("end", "i64", lambda: end)
        fewest = child.capture("each", "i64", lambda: each)
        more = child.capture("longer", "i64", lambda: longer)
        stride = child.index.value(op.step.data)
        before = child.text.intrinsic("smin", "i64", "i64", [("i64", "%chunk"), ("i64", more)])
        begin = child.text.add(first, child.text.mul(child.text.add(child.text.mul("%chunk", fewest), before), stride))
        is_longer = child.text.ins(f"zext i1 {child.text.ins(f'icmp slt i64 %chunk, {more}')} to i64")
        limit = child.text.add(begin, child.text.mul(child.text.add(fewest, is_longer), stride))
        stop = child.text.intrinsic("smin", "i64", "i64", [("i64", limit), ("i64", last)])
        child.counted(
            op.symbol, begin, stop, stride, lambda _: child.polled(op.block), bound=bound,
            strip=child.polling.strip(op),
            multiple=gcd(self.index.multiple(op.lower.data), self.index.multiple(op.step.data)),
        )  # fmt: skip
        child.end("ret void")
        child.finish("internal void", CHUNK)
        return child

    # Ends

    def bounds_record(self) -> str:
        return self.runtime(BOUNDS, "ptr")

    def leave(self) -> None:
        self.checks = True
        self.text.branch(self._early())

    def _early(self) -> str:
        self._exit = self._exit or self.text.label("leave")
        return self._exit

    def poll(self) -> None:
        text = self.text
        self.polls = True
        pair = self.runtime(SIGNALS, "ptr")
        word = text.ins(f"load atomic i64, ptr {pair} monotonic, align 8")
        ask, on = text.label("ask"), text.label("on")
        text.branch_if(text.ins(f"icmp ne i64 {word}, 0"), ask, on)
        text.start(ask)
        resolve = text.ins(f"load ptr, ptr {text.ins(f'getelementptr i8, ptr {pair}, i64 8')}, align 8")
        text.branch_if(text.ins(f"call i1 {resolve}(ptr {pair})"), self._early(), on)
        text.start(on)

    def _leave_after(self, child: CpuFunction) -> None:
        """End the function where one that it called, once or for chunks, ended before its end."""
        if child.checks:
            self._leave_where_noted()
        if child.polls:
            self.poll()

    def _leave_where_noted(self) -> None:
        """End the function where a chunk of a parallel loop ended for the sake of an index."""
        text = self.text
        noted = text.ins(f"load atomic ptr, ptr {self.bounds_record()} monotonic, align 8")
        leaving, after = text.label("noted"), text.label("fine")
        text.branch_if(text.ins(f"icmp ne ptr {noted}, null"), leaving, after)
        text.start(leaving)
        self.leave()
        text.start(after)

    def end(self, usual: str, early: str = "") -> None:
        """The function's last blocks: its end, and that of one that leaves early."""
        text = self.text
        self._give_back()
        text.put(usual)
        if self._exit:
            text.start(self._exit)
            self._give_back()
            text.put(early or usual)

    def _give_back(self) -> None:
        self.fence()
        release_tiles(self)

    def fence(self) -> None:
        """Stores past the caches are ordered by nothing else."""
        if self.streamed:
            self.text.declare("llvm.x86.sse.sfence", "void", [])
            self.text.put("call void @llvm.x86.sse.sfence()")

    def emit(self, op: func.FuncOp) -> None:
        self.function_symbols.update((s, i) for i, s in enumerate(symbols_of(op)))
        for i, argument in enumerate(op.body.block.args):
            if not isinstance(argument.type, BufferType):
                raise EmitError(f"argument {i} of {self.name} is a {argument.type}, not a buffer")
            self.buffers[argument] = self._field("%args", 8 * i, "ptr")
        for scope, name in (("arena", "tx.arena"), ("thread", "tx.thread_arena")):
            size = op.attributes.get(name)
            if isinstance(size, DimAttr):
                self.arenas[scope] = size.data
        self.region(op.body.block)
        self.end("ret i32 0", "ret i32 1")
        pointers = "ptr noalias readonly %args, ptr noalias readonly %symbols, ptr noalias readonly %runtime"
        self.finish("i32", pointers, group=ONCE if _only_divides(op) else "#0")


def _only_divides(op: func.FuncOp) -> bool:
    """Whether all work of a function is that of its parallel loops, which are functions of their own."""
    return all(isinstance(each, (AllocOp, ParallelOp, func.ReturnOp)) for each in op.body.block.ops)


def _is_number(op: AllocOp) -> bool:
    """Whether a temporary is one number: it lives in the function's frame, and so in a register where nobody minds."""
    return op.scope.data == "arena" and not buffer_info(op).rank
