"""Stage `loops` as `scf` and `memref`.

Buffers are memrefs with a strided layout.  Temporaries are views of one byte buffer, which each outermost parallel
iteration has a copy of where their scope is the thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.attributes import BufferInfo, BufferType, DimAttr, scalar_type
from ...dialects.dims.dims import Dim, Sym, dim
from ...dialects.loop import (
    AllocOp,
    BarrierOp,
    ForOp,
    IfOp,
    LoadOp,
    MergeOp,
    ParallelOp,
    PartitionOp,
    PrefetchOp,
    ReduceOp,
    ScanOp,
    StoreOp,
    ThreadsOp,
    WhileOp,
)
from .text import ExportError, Text, free_symbols
from .vector import changes_places, export_vectors

__all__ = ["export_loops"]


def export_loops(function: func.FuncOp) -> list[str]:
    """The lines of the function with its loops in upstream form."""
    text = _Loops(function)
    args = function.body.block.args
    text.bind(args, [f"%arg{i}" for i in range(len(args))])
    parameters = [f"{text.of(a)}: {memref(_info(a.type), argument=True)}" for a in args]
    at_run_time = text.dims_of_arguments(args, free_symbols(function))
    for symbol in at_run_time:
        text.env[symbol] = f"%s{len(parameters)}"
        parameters.append(f"{text.env[symbol]}: index")
    text.function()
    comment = f"  // index arguments: {', '.join(s.name for s in at_run_time)}" if at_run_time else ""
    return [f"func.func @{function.sym_name.data}({', '.join(parameters)}) {{{comment}", *text.lines, "}"]


def _info(value_type: Attribute) -> BufferInfo:
    if not isinstance(value_type, BufferType):
        raise ExportError(f"a value of type {value_type} in stage loops: it takes buffers")
    return value_type.data


def _stored(info: BufferInfo) -> str:
    """The element type in memory: a bool is a byte."""
    return "i8" if info.dtype.kind == "bool" else str(scalar_type(info.dtype))


def memref(info: BufferInfo, argument: bool = False) -> str:
    """The type of a buffer; an argument may start anywhere in its allocation."""
    shape = "".join(f"{_number(d)}x" for d in info.dims)
    offset = ", offset: ?" if argument else ""
    return f"memref<{shape}{_stored(info)}, strided<[{', '.join(map(_number, info.strides))}]{offset}>>"


def _number(d: Dim) -> str:
    return str(d.const) if d.const is not None and d.const >= 0 else "?"


class _Loops(Text):
    def __init__(self, function: func.FuncOp):
        super().__init__()
        self.root = function
        self.arenas: dict[str, str] = {}
        #: Thread memory that was named outside a parallel loop: its views are made inside.
        self.pending: list[AllocOp] = []

    def dims_of_arguments(self, args: Sequence[SSAValue], symbols: list[Sym]) -> list[Sym]:
        """Read symbols off the sizes of arguments; those that none tells."""
        missing = list(symbols)
        for argument in args:
            info = _info(argument.type)
            for axis, d in enumerate(info.dims):
                if d.symbol in missing:
                    assert d.symbol is not None
                    at = self.define(f"arith.constant {axis} : index")
                    kind = memref(info, argument=True)
                    self.env[d.symbol] = self.define(f"memref.dim {self.of(argument)}, {at} : {kind}")
                    missing.remove(d.symbol)
        return missing

    def function(self) -> None:
        self._arena("arena", "tx.arena")
        self.block(self.root.body.block)
        self._free("arena")
        self.line("return")

    def _arena(self, scope: str, attribute: str) -> None:
        """Allocate a scope's bytes, as many as the function says."""
        size = self.root.attributes.get(attribute)
        if isinstance(size, DimAttr) and size.data.const != 0:
            self.arenas[scope] = self.define(f"memref.alloc({self.index(size.data)}) : memref<?xi8>")

    def _free(self, scope: str) -> None:
        arena = self.arenas.pop(scope, None)
        if arena is not None:
            self.line(f"memref.dealloc {arena} : memref<?xi8>")

    def block(self, block: Block) -> None:
        """A region's ops without its terminator."""
        for op in block.ops:
            if op is not block.last_op:
                self.op(op)

    def op(self, op: Operation) -> None:
        match op:
            case ParallelOp():
                self.parallel(op)
            case ForOp():
                self.loop(op)
            case ReduceOp():
                self.reduce(op)
            case ScanOp():
                self.scan(op)
            case MergeOp():
                self.merge(op)
            case PartitionOp():
                self.partition(op)
            case IfOp():
                with self.scope(f"scf.if {self.of(op.condition)} {{", None):
                    self.block(op.then.block)
                with self.scope("} else {"):
                    self.block(op.otherwise.block)
            case WhileOp():
                with self.scope("scf.while : () -> () {", None):
                    self.block(op.condition.block)
                    assert op.condition.block.last_op is not None
                    self.line(f"scf.condition({self.of(op.condition.block.last_op.operands[0])})")
                with self.scope("} do {"):
                    self.block(op.body.block)
                    self.line("scf.yield")
            case BarrierOp():
                self.line("gpu.barrier")
            case AllocOp():
                self.alloc(op)
            case LoadOp():
                self.load(op)
            case StoreOp():
                self.store(op)
            case PrefetchOp():
                pass
            case ThreadsOp():
                self.names[op.result] = self.define("arith.constant 1 : i64")
            case _:
                self.scalar(op)

    def parallel(self, op: ParallelOp) -> None:
        lower, upper, step = (self.index(e.data) for e in (op.lower, op.upper, op.step))
        at = self.fresh()
        outermost = "thread" not in self.arenas
        with self.scope(f"scf.parallel ({at}) = ({lower}) to ({upper}) step ({step}) {{"):
            self.env[op.symbol] = at
            if outermost:
                self._arena("thread", "tx.thread_arena")
                for pending in self.pending:
                    self.view(pending)
            self.block(op.block)
            if outermost:
                self._free("thread")

    def loop(self, op: ForOp) -> None:
        """Lanes are a schedule, where they do not change places: upstream sees the plain loop."""
        if changes_places(op):
            export_vectors(self, op, self._place)
            return
        if op.break_flag is not None:
            raise ExportError("a loop with a break has no upstream form: scf.for runs all its iterations")
        self.bind(op.block.args, [self.fresh() for _ in op.block.args])
        carried = [(self.of(a), self.of(v)) for a, v in zip(op.block.args, op.inits)]
        self._counted(op, carried, [str(v.type) for v in op.inits], op.outs, op.block)

    def scan(self, op: ScanOp) -> None:
        """The plain chain: runs and blocks are an order that upstream has no word for."""
        carried = [(self.fresh(), self.of(v)) for v in op.inits]
        self._counted(op, carried, [str(v.type) for v in op.inits], op.outs, op.body.block)

    def merge(self, op: MergeOp) -> None:
        """Element by element: the lesser of the next ones of both runs, which stop at their ends."""
        lower, upper, length = (self.index(e.data) for e in (op.lower, op.upper, op.length))
        zero, one = (self.define(f"arith.constant {n} : index") for n in (0, 1))
        source, target = (memref(_info(v.type), v in self.root.body.block.args) for v in (op.source, op.target))
        at, step, taken, a, b = (self.fresh() for _ in range(5))
        with self.scope(f"scf.for {at} = {lower} to {upper} step {one} {{"):
            self.env[op.symbol] = at
            self.block(op.body.block)
            assert op.body.block.last_op is not None
            first, first_end, second, second_end, place = (
                self.define(f"arith.index_cast {self.of(v)} : i64 to index") for v in op.body.block.last_op.operands
            )
            carried = f"iter_args({a} = {first}, {b} = {second}) -> (index, index)"
            with self.scope(f"{taken}:2 = scf.for {step} = {zero} to {length} step {one} {carried} {{"):
                x, y = (self.define(f"memref.load {self.of(op.source)}[{i}] : {source}") for i in (a, b))
                scalar = scalar_type(_info(op.source.type).dtype)
                less = self.define(f"arith.cmpi slt, {x}, {y} : {scalar}")
                found = self.define(f"arith.select {less}, {x}, {y} : {scalar}")
                to = self.define(f"arith.addi {place}, {step} : index")
                self.line(f"memref.store {found}, {self.of(op.target)}[{to}] : {target}")
                going: list[str] = []
                for run, end, arms in ((a, first_end, "{m}, {r}"), (b, second_end, "{r}, {m}")):
                    moved = self.define(f"arith.addi {run}, {one} : index")
                    held = self.define(f"arith.minsi {moved}, {end} : index")
                    going.append(self.define(f"arith.select {less}, {arms.format(m=held, r=run)} : index"))
                self.line(f"scf.yield {', '.join(going)} : index, index")

    def partition(self, op: PartitionOp) -> None:
        """Element by element: to the next place from `low` on or before `high`; the others in another order."""
        lower, upper, low, high = (self.index(e.data) for e in (op.lower, op.upper, op.low, op.high))
        one = self.define("arith.constant 1 : index")
        target = memref(_info(op.target.type), op.target in self.root.body.block.args)
        at, found, first, last = (self.fresh() for _ in range(4))
        carried = f"iter_args({first} = {low}, {last} = {high}) -> (index, index)"
        with self.scope(f"{found}:2 = scf.for {at} = {lower} to {upper} step {one} {carried} {{"):
            self.env[op.symbol] = at
            self.block(op.body.block)
            assert op.body.block.last_op is not None
            value, is_first = (self.of(v) for v in op.body.block.last_op.operands)
            next_, before = (
                self.define(f"arith.addi {first}, {one} : index"),
                self.define(f"arith.subi {last}, {one} : index"),
            )
            to = self.define(f"arith.select {is_first}, {first}, {before} : index")
            self.line(f"memref.store {value}, {self.of(op.target)}[{to}] : {target}")
            going = [
                self.define(f"arith.select {is_first}, {a}, {b} : index") for a, b in ((next_, first), (last, before))
            ]
            self.line(f"scf.yield {', '.join(going)} : index, index")
        count = self.define(f"arith.subi {found}#0, {low} : index")
        self.bind([op.count], [self.define(f"arith.index_cast {count} : index to i64")])

    def _counted(
        self,
        op: ForOp | ReduceOp | ScanOp,
        carried: list[tuple[str, str]],
        types: list[str],
        outs: Sequence[SSAValue],
        block: Block,
    ) -> None:
        lower, upper, step = (self.index(e.data) for e in (op.lower, op.upper, op.step))
        at, name = self.fresh(), self.fresh()
        self.bind(outs, [name] if len(outs) == 1 else [f"{name}#{i}" for i in range(len(outs))])
        results = "" if not outs else f"{name} = " if len(outs) == 1 else f"{name}:{len(outs)} = "
        iter_args = ", ".join(f"{a} = {v}" for a, v in carried)
        given = f" iter_args({iter_args}) -> ({', '.join(types)})" if carried else ""
        with self.scope(f"{results}scf.for {at} = {lower} to {upper} step {step}{given} {{"):
            self.env[op.symbol] = at
            self.block(block)
            assert block.last_op is not None
            yielded = [self.of(v) for v in block.last_op.operands]
            if isinstance(op, ReduceOp):
                yielded = self._merged(op, [a for a, _ in carried], yielded)
            elif isinstance(op, ScanOp):
                yielded = self._scanned(op, [a for a, _ in carried], yielded)
            if carried:
                self.line(f"scf.yield {', '.join(yielded)} : {', '.join(types)}")

    def reduce(self, op: ReduceOp) -> None:
        types = [str(r.type) for r in op.outs]
        carried = [(self.fresh(), self.define(f"arith.constant {identity}")) for identity in op.identity.data]
        self._counted(op, carried, types, op.outs, op.body.block)

    def _merged(self, op: ReduceOp, states: list[str], yielded: list[str]) -> list[str]:
        if op.order.data.product == "fma":
            return [self.define(f"math.fma {yielded[0]}, {yielded[1]}, {states[0]} : {op.outs[0].type}")]
        if op.order.data.product == "mul_add":
            yielded = [self.define(f"arith.mulf {yielded[0]}, {yielded[1]} : {op.outs[0].type}")]
        self.body(op.combiner.block, [*states, *yielded])
        assert op.combiner.block.last_op is not None
        return [self.of(v) for v in op.combiner.block.last_op.operands]

    def _scanned(self, op: ScanOp, states: list[str], yielded: list[str]) -> list[str]:
        self.body(op.combiner.block, [*states, *yielded])
        assert op.combiner.block.last_op is not None
        merged = [self.of(v) for v in op.combiner.block.last_op.operands]
        self.bind(op.epilogue.block.args, states if op.exclusive is not None else merged)
        self.block(op.epilogue.block)
        return merged

    def alloc(self, op: AllocOp) -> None:
        if op.scope.data == "thread" and "thread" not in self.arenas:
            self.pending.append(op)
        else:
            self.view(op)

    def view(self, op: AllocOp) -> None:
        """The temporary at its offset in the bytes of its scope."""
        arena = self.arenas.get(op.scope.data)
        if arena is None:
            raise ExportError(f"loop.alloc of scope {op.scope.data}: the function states no size for that scope")
        info = _info(op.result.type)
        count = dim(1)
        for size, stride in zip(info.dims, info.strides):
            count = count + (size - 1) * stride
        at, elements = self.index(op.offset.data), self.index(count)
        flat = f"memref<?x{_stored(info)}>"
        viewed = self.define(f"memref.view {arena}[{at}][{elements}] : memref<?xi8> to {flat}")
        sizes, strides = (", ".join(map(self._static, part)) for part in (info.dims, info.strides))
        cast = f"memref.reinterpret_cast {viewed} to offset: [0], sizes: [{sizes}], strides: [{strides}]"
        self.names[op.result] = self.define(f"{cast} : {flat} to {memref(info)}")

    def _static(self, d: Dim) -> str:
        return _number(d) if _number(d) != "?" else self.index(d)

    def _place(self, buffer: SSAValue, index: Sequence[Dim]) -> str:
        is_argument = buffer in self.root.body.block.args
        return f"{self.of(buffer)}[{', '.join(map(self.index, index))}] : {memref(_info(buffer.type), is_argument)}"

    def load(self, op: LoadOp) -> None:
        holds, scalar = self.holds(op.guard_exprs), str(op.result.type)
        if holds is None:
            self.names[op.result] = self._loaded(op)
            return
        result = self.fresh()
        with self.scope(f"{result} = scf.if {holds} -> ({scalar}) {{", None):
            self.line(f"scf.yield {self._loaded(op)} : {scalar}")
        with self.scope("} else {"):
            self.line(f"scf.yield {self.zero(scalar)} : {scalar}")
        self.names[op.result] = result

    def _loaded(self, op: LoadOp) -> str:
        found = self.define(f"memref.load {self._place(op.buffer, op.index.data)}")
        if op.result.type != IntegerType(1):
            return found
        zero = self.define("arith.constant 0 : i8")
        return self.define(f"arith.cmpi ne, {found}, {zero} : i8")

    def store(self, op: StoreOp) -> None:
        holds = self.holds(op.guard_exprs)
        if holds is None:
            self._stores(op)
            return
        with self.scope(f"scf.if {holds} {{"):
            self._stores(op)

    def _stores(self, op: StoreOp) -> None:
        value = self.of(op.value)
        if op.value.type == IntegerType(1):
            value = self.define(f"arith.extui {value} : i1 to i8")
        self.line(f"memref.store {value}, {self._place(op.buffer, op.index.data)}")
