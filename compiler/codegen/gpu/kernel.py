"""LLVM IR text of one kernel of a GPU: ``ptx_kernel void @f(maps…, ptr addrspace(1) buffers…, i64 symbols…)``.

Parallel loops are the blocks of the grid, the warps and the threads of a block; all step by how many there are, so a
grid of any size gives the same result.  What stands in a block and in none of its threads is done by all of them
alike; of its stores one thread's is enough.  Shared memory is the kernel's dynamic shared memory.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from ....dialects import loop
from ....dialects.attributes import BufferType, TensorMapType
from ....dialects.types import DTYPES
from ..emit.function import FunctionEmitter, symbols_of
from ..emit.loops.counted_loops import bound_of
from ..emit.text import EmitError, IrText, Module
from ..emit.values.lanes import Lanes
from ..emit.values.registers import VectorValue
from .alignment import Alignments
from .cooperative import WARP, CooperativeGroup
from .cp_async import AsyncCopies
from .mma import MmaProducts
from .pipeline import Pipeline
from .places import BranchedPlaces
from .reduce import CooperativeReductions, reduce_in_thread
from .tma import BulkPipeline
from .wgmma import WarpgroupProducts

__all__ = ["GpuKernel"]

#: Bytes of a tensor map, which is a parameter that lies at a multiple of 64.
TENSOR_MAP = 128


def _is_shared(op: Operation) -> bool:
    """Whether an op is a reduction that the threads of a block or warp share."""
    return isinstance(op, loop.ReduceOp) and op.cooperative is not None


def _fills_registers(product: loop.MmaOp) -> bool:
    """Whether a thread may need more than it has where two blocks run side by side: for its sums, or what it brings."""
    through = any(isinstance(op, loop.StoreOp) for op in product.walk())
    return through or product.warpgroup is not None or DTYPES[product.unit.sums].bits > 32


class GpuKernel:
    """A function with one nest of blocks, as a kernel."""

    def __init__(self, module: Module, name: str):
        self.name, self.text, self.alignments = name, IrText(module), Alignments()
        lanes = Lanes(self.text)
        places = BranchedPlaces(self.text)
        self.emitter = FunctionEmitter(
            self.text,
            lanes,
            buffer=self.buffer,
            places=places,
            alignment=self.alignments.of_row,
            alone=reduce_in_thread,
        )
        self.index, self.lanes = self.emitter.index, lanes
        memory, loops = self.emitter.memory, self.emitter.loops
        self.group = CooperativeGroup(self.text, self.index)
        reductions = CooperativeReductions(self.emitter.reductions, self.group, places)
        copies = AsyncCopies(self.text, lanes, self.index, memory)
        bulk = BulkPipeline(self.text, self.index, memory, loops, self.group, self._tensor_map)
        pipeline = Pipeline(self.text, self.index, loops, self.group, copies)
        self.matrices = MmaProducts(self.text, self.buffer, self.group, pipeline)
        self.warpgroups = WarpgroupProducts(self.text, self.group, self.matrices, bulk)
        self.emitter.handlers.update({
            loop.AllocOp: self._allocate, loop.StoreOp: self._store, loop.ForOp: self._for, loop.MmaOp: self._matrix,
            loop.ParallelOp: self._parallel, loop.ReduceOp: reductions.reduce, loop.AsyncCopyOp: copies.copy,
            loop.BulkCopyOp: bulk.copy, loop.BarrierOp: lambda op: self.group.barrier(),
            loop.TimestampOp: self._timestamp,
        })  # fmt: skip
        self.buffers: dict[SSAValue, str] = {}
        self._tensor_maps: dict[SSAValue, str] = {}

    def emit(self, op: func.FuncOp) -> None:
        """The whole kernel."""
        parameters = []
        stored = {inner.buffer for inner in op.walk() if isinstance(inner, loop.StoreOp)}
        for i, argument in enumerate(op.body.block.args):
            if isinstance(argument.type, TensorMapType):
                self._tensor_maps[argument] = f"%a{i}"
                parameters.append(f'ptr byval([{TENSOR_MAP} x i8]) align 64 "nvvm.grid_constant" %a{i}')
                continue
            assert isinstance(argument.type, BufferType)
            only_read = "" if argument in stored else " readonly"
            parameters.append(f"ptr addrspace(1) noalias{only_read} %a{i}")
            base = self.text.ins(f"addrspacecast ptr addrspace(1) %a{i} to ptr", self.text.entry)
            self.buffers[argument] = base
            if not all(s.nonneg for s in argument.type.data.strides):
                self.alignments.turned.add(base)
        for i, symbol in enumerate(symbols_of(op)):
            parameters.append(f"i64 %s{i}")
            self.index.symbols[symbol] = (f"%s{i}", 0)
        self.emitter.region(op.body.block)
        self.text.put("ret void")
        threads = {p.n_threads for p in op.walk() if isinstance(p, loop.ParallelOp) and p.kind.data == "gpu_block"}
        bounds = ""
        if threads:
            products = [inner for inner in op.walk() if isinstance(inner, loop.MmaOp)]
            # Without such a bound ptxas keeps to the registers of a full multiprocessor, even where it has to spill.
            side_by_side = 2 if products and not any(map(_fills_registers, products)) else 1
            bounds = f'"nvvm.maxntid"="{max(threads)}" "nvvm.minctasm"="{side_by_side}"'
        self.text.finish(self.name, "ptx_kernel void", ", ".join(parameters), bounds)

    # Buffers

    def buffer(self, value: SSAValue) -> str:
        if value not in self.buffers and isinstance(value.owner, loop.AllocOp):
            self._allocate(value.owner)
        found = self.buffers.get(value)
        if found is None:
            raise EmitError(f"{value} is no buffer of this kernel")
        return found

    def _allocate(self, op: loop.AllocOp) -> None:
        if op.scope.data != "shared":
            raise EmitError(f"memory of scope {op.scope.data!r} inside a kernel: its temporaries are block memory")
        self.buffers[op.result] = self.group.shared(op.offset.data)

    def _tensor_map(self, tensor: SSAValue) -> str:
        return self._tensor_maps[tensor]

    # Operations

    def _store(self, op: loop.StoreOp) -> None:
        if not self.group.uniform:
            self.emitter.store(op)
            return
        inside, after = self.text.label("one"), self.text.label("done")
        self.text.branch_if(self.text.ins(f"icmp eq i64 {self.group.thread_number()}, 0"), inside, after)
        self.text.start(inside)
        self.text.frames.append({})
        self.emitter.store(op)
        self.text.frames.pop()
        self.text.branch(after)
        self.text.start(after)

    def _for(self, op: loop.ForOp) -> None:
        self.alignments.know(op)
        self.emitter.loops.for_loop(op)

    def _matrix(self, op: loop.MmaOp) -> None:
        self.alignments.know(op)
        if not self.group.uniform or self.lanes.axes or self.group.kind != "block":
            raise EmitError("a tensor-core product where not all threads of the block are")
        (self.matrices if op.warpgroup is None else self.warpgroups).emit_product(op)

    def _timestamp(self, op: loop.TimestampOp) -> None:
        raise EmitError("a GPU kernel is timed from outside")

    # Parallel loops

    def _parallel(self, op: loop.ParallelOp) -> None:
        kind = op.kind.data
        if kind == "gpu_block":
            self._blocks_of_grid(op)
        elif kind == "gpu_warp":
            self._spread(op, self.group.warp_number(), self.group.threads // WARP)
        elif kind == "gpu_thread":
            self._spread(op, self.group.thread_number(), self.group.size)
        else:
            raise EmitError(f"loop.parallel of kind {kind} is for a CPU; this target is {self.text.target.triple}")

    def _blocks_of_grid(self, op: loop.ParallelOp) -> None:
        products = [inner for inner in op.walk() if isinstance(inner, loop.ReduceOp | loop.MmaOp)]
        self.group.begin(op.n_threads, op.shared_bytes - sum(product.block_bytes(op.n_threads) for product in products))
        for zero in op.aligned.data if op.aligned is not None else ():
            self.alignments.learn(zero)
        number, count = self.group.special("ctaid"), self.group.special("nctaid")
        step = self.index.value(op.step.data)
        first = self.text.add(self.index.value(op.lower.data), self.text.mul(number, step))
        self.alignments.know(op)
        shares = any(isinstance(inner, loop.AllocOp | loop.BarrierOp) or _is_shared(inner) for inner in op.walk())

        def body(_: list[VectorValue]) -> list[VectorValue]:
            self.emitter.region(op.block)
            if shares:  # the next block of the grid that these threads run uses the same memory
                self.group.barrier()
            return []

        self.emitter.loops.counted(
            op.symbol, first, self.index.value(op.upper.data), self.text.mul(count, step), body, bound=bound_of(op)
        )
        self.group.uniform = False

    def _spread(self, op: loop.ParallelOp, number: str, count: int) -> None:
        """The iterations spread over `count` threads or warps, of which this is `number`."""
        text = self.text
        lower, upper, step = op.lower.data, op.upper.data, op.step.data
        bound = bound_of(op)
        self.alignments.know(op)
        first = text.add(self.index.value(lower), text.mul(number, self.index.value(step)))
        extent, stride = (upper - lower).const, step.const

        def body(_: list[VectorValue]) -> list[VectorValue]:
            outside = self.group.kind, self.group.uniform
            if op.kind.data == "gpu_warp":
                self.group.kind = "warp"
            else:
                self.group.uniform = False
            self.emitter.region(op.block)
            self.group.kind, self.group.uniform = outside
            return []

        once = extent is not None and stride is not None and extent <= count * stride
        if once and stride is not None and extent == count * stride:
            self.emitter.loops.counted(op.symbol, first, "0", "1", body, trips=1, bound=bound)
        elif any(isinstance(inner, loop.BarrierOp) for inner in op.walk()) and op.kind.data == "gpu_thread":
            raise EmitError(f"a barrier in a loop that not all {count} threads run once")
        elif once:
            inside, after = text.label("some"), text.label("done")
            text.branch_if(text.ins(f"icmp slt i64 {first}, {self.index.value(upper)}"), inside, after)
            text.start(inside)
            self.text.frames.append({})
            self.emitter.loops.counted(op.symbol, first, "0", "1", body, trips=1, bound=bound)
            self.text.frames.pop()
            text.branch(after)
            text.start(after)
        else:
            by = text.mul(str(count), self.index.value(step))
            self.emitter.loops.counted(op.symbol, first, self.index.value(upper), by, body, bound=bound)
