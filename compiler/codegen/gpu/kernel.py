"""LLVM IR text of one kernel of a GPU: ``ptx_kernel void @f(maps…, ptr addrspace(1) buffers…, i64 symbols…)``.

Parallel loops are the blocks of the grid, the warps and the threads of a block; all step by how many there are, so a
grid of any size gives the same result.  What stands in a block and in none of its threads is done by all of them
alike; of its stores one thread's is enough.  Block memory is the kernel's dynamic shared memory.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

from xdsl.dialects import func
from xdsl.ir import Operation, SSAValue

from ....dialects.attributes import BufferType, TensorMapType
from ....dialects.dims.dims import Call, Dim, Sym
from ....dialects.loop import (
    AllocOp,
    AsyncCopyOp,
    BarrierOp,
    BulkCopyOp,
    ClockOp,
    ForOp,
    MmaOp,
    ParallelOp,
    ReduceOp,
    StoreOp,
)
from ....dialects.types import DTYPES
from ..emit.function import symbols_of
from ..emit.memory.nontemporal import alignment_of
from ..emit.text import EmitError
from ..emit.values.registers import VectorValue
from .cooperative import WARP
from .wgmma import WarpgroupWriter

__all__ = ["GpuKernel"]

#: The widest access to memory is of so many bytes.
WIDEST = 16
#: Bytes of a tensor map, which is a parameter that lies at a multiple of 64.
TENSOR_MAP = 128


def _is_shared(op: Operation) -> bool:
    """Whether an op is a fold that the threads of a block or warp share."""
    return isinstance(op, ReduceOp) and op.cooperative is not None


def _fills_registers(fold: MmaOp) -> bool:
    """Whether a thread may need more than it has where two blocks run side by side: for its sums, or what it brings."""
    through = any(isinstance(op, StoreOp) for op in fold.walk())
    return through or fold.warpgroup is not None or DTYPES[fold.unit.sums].bits > 32


class GpuKernel(WarpgroupWriter):
    """A function with one nest of blocks, as a kernel."""

    def __init__(self, module: object, name: str):
        super().__init__(module, name)  # type: ignore[arg-type]
        #: What symbols and products of symbols are known to be multiples of.
        self.divisors: dict[Dim, int] = {}
        #: Buffers whose first element may not be their first in memory.
        self._turned: set[str] = set()
        self._tensor_maps: dict[SSAValue, str] = {}

    def emit(self, op: func.FuncOp) -> None:
        text = self.text
        parameters = []
        stored = {inner.buffer for inner in op.walk() if isinstance(inner, StoreOp)}
        for i, argument in enumerate(op.body.block.args):
            if isinstance(argument.type, TensorMapType):
                self._tensor_maps[argument] = f"%a{i}"
                parameters.append(f'ptr byval([{TENSOR_MAP} x i8]) align 64 "nvvm.grid_constant" %a{i}')
                continue
            assert isinstance(argument.type, BufferType)
            only_read = "" if argument in stored else " readonly"
            parameters.append(f"ptr addrspace(1) noalias{only_read} %a{i}")
            base = text.ins(f"addrspacecast ptr addrspace(1) %a{i} to ptr", text.entry)
            self.buffers[argument] = base
            if not all(s.nonneg for s in argument.type.data.strides):
                self._turned.add(base)
        for i, symbol in enumerate(symbols_of(op)):
            parameters.append(f"i64 %s{i}")
            self.index.symbols[symbol] = (f"%s{i}", 0)
        self.region(op.body.block)
        text.put("ret void")
        threads = {p.n_threads for p in op.walk() if isinstance(p, ParallelOp) and p.kind.data == "gpu_block"}
        bounds = ""
        if threads:
            folds = [inner for inner in op.walk() if isinstance(inner, MmaOp)]
            # Without such a bound ptxas keeps to the registers of a full multiprocessor, even where it has to spill.
            side_by_side = 2 if folds and not any(map(_fills_registers, folds)) else 1
            bounds = f'"nvvm.maxntid"="{max(threads)}" "nvvm.minctasm"="{side_by_side}"'
        self.finish("ptx_kernel void", ", ".join(parameters), bounds)

    def unknown_symbol(self, symbol: Sym) -> str:
        raise EmitError(f"nothing defines the symbol {symbol}")

    def buffer(self, value: SSAValue) -> str:
        if value not in self.buffers and isinstance(value.owner, AllocOp):
            self.allocate(value.owner)
        found = self.buffers.get(value)
        if found is None:
            raise EmitError(f"{value} is no buffer of this kernel")
        return found

    def allocate(self, op: AllocOp) -> None:
        if op.scope.data != "block":
            raise EmitError(f"memory of scope {op.scope.data!r} inside a kernel: its temporaries are block memory")
        self.buffers[op.result] = self.shared(op.offset.data)

    def tensor_map(self, tensor: SSAValue) -> str:
        return self._tensor_maps[tensor]

    def clock(self, op: ClockOp) -> None:
        raise EmitError("a GPU kernel is timed from outside")

    # Parallel loops

    def parallel(self, op: ParallelOp) -> None:
        kind = op.kind.data
        if kind == "gpu_block":
            self._blocks_of_grid(op)
        elif kind == "gpu_warp":
            self._spread(op, self.warp_number(), self.threads // WARP)
        elif kind == "gpu_thread":
            self._spread(op, self.thread_number(), self.team_size)
        else:
            raise EmitError(f"loop.parallel of kind {kind} is for a CPU; this target is {self.text.target.triple}")

    def _blocks_of_grid(self, op: ParallelOp) -> None:
        text = self.text
        self.threads, self.together = op.n_threads, True
        folds = [inner for inner in op.walk() if isinstance(inner, ReduceOp | MmaOp)]
        self.handed = op.shared_bytes - sum(fold.block_bytes(self.threads) for fold in folds)
        for zero in op.zeros.data if op.zeros is not None else ():
            self._learn(zero)
        number, count = self.special("ctaid"), self.special("nctaid")
        step = self.index.value(op.step.data)
        first = text.add(self.index.value(op.lower.data), text.mul(number, step))
        bound = op.upper.data if op.lower.data.nonneg else None
        self._know(op)
        shares = any(isinstance(inner, AllocOp | BarrierOp) or _is_shared(inner) for inner in op.walk())

        def body(_: list[VectorValue]) -> list[VectorValue]:
            self.region(op.block)
            if shares:  # the next block of the grid that these threads run uses the same memory
                self.barrier()
            return []

        self.counted(op.symbol, first, self.index.value(op.upper.data), text.mul(count, step), body, bound=bound)
        self.together = False

    def _spread(self, op: ParallelOp, number: str, count: int) -> None:
        """The iterations spread over `count` threads or warps, of which this is `number`."""
        text = self.text
        lower, upper, step = op.lower.data, op.upper.data, op.step.data
        bound = upper if lower.nonneg else None
        self._know(op)
        first = text.add(self.index.value(lower), text.mul(number, self.index.value(step)))
        extent, stride = (upper - lower).const, step.const

        def body(_: list[VectorValue]) -> list[VectorValue]:
            outside = self.team, self.together
            if op.kind.data == "gpu_warp":
                self.team = "warp"
            else:
                self.together = False
            self.region(op.block)
            self.team, self.together = outside
            return []

        once = extent is not None and stride is not None and extent <= count * stride
        if once and stride is not None and extent == count * stride:
            self.counted(op.symbol, first, "0", "1", body, trips=1, bound=bound)
        elif any(isinstance(inner, BarrierOp) for inner in op.walk()) and op.kind.data == "gpu_thread":
            raise EmitError(f"a barrier in a loop that not all {count} threads run once")
        elif once:
            inside, after = text.label("some"), text.label("done")
            text.branch_if(text.ins(f"icmp slt i64 {first}, {self.index.value(upper)}"), inside, after)
            text.start(inside)
            self.lanes.frames.append({})
            self.counted(op.symbol, first, "0", "1", body, trips=1, bound=bound)
            self.lanes.frames.pop()
            text.branch(after)
            text.start(after)
        else:
            by = text.mul(str(count), self.index.value(step))
            self.counted(op.symbol, first, self.index.value(upper), by, body, bound=bound)

    def other(self, op: Operation) -> None:
        if isinstance(op, BarrierOp):
            self.barrier()
        elif isinstance(op, MmaOp):
            self._know(op)
            self.matrix_fold(op)
        elif isinstance(op, AsyncCopyOp):
            self.async_copy(op)
        elif isinstance(op, BulkCopyOp):
            self.bulk_copy(op)
        elif isinstance(op, ClockOp):
            self.clock(op)
        else:
            super().other(op)

    def store(self, op: StoreOp, value: VectorValue) -> None:
        text = self.text
        if not self.together:
            super().store(op, value)
            return
        inside, after = text.label("one"), text.label("done")
        text.branch_if(text.ins(f"icmp eq i64 {self.thread_number()}, 0"), inside, after)
        text.start(inside)
        self.lanes.frames.append({})
        super().store(op, value)
        self.lanes.frames.pop()
        text.branch(after)
        text.start(after)

    # What vectors of memory are aligned to

    def for_loop(self, op: ForOp) -> None:
        self._know(op)
        super().for_loop(op)

    def _know(self, op: ParallelOp | ForOp | MmaOp) -> None:
        """What an iterator is a multiple of; in lanes, that of the first of them."""
        step = op.lanes if isinstance(op, ForOp) and op.lanes > 1 else self.divisor(op.step.data)
        if isinstance(op, ForOp) and op.lanes > 1:
            step = op.vector.value.data
        self.divisors[Dim.of_terms({(op.symbol,): 1})] = gcd(self.divisor(op.lower.data), step)

    def _learn(self, zero: Dim) -> None:
        """What ``a % b`` that is 0 says of ``a``."""
        for mono, coeff in zero.terms:
            if len(zero.terms) == coeff == len(mono) == 1 and isinstance(mono[0], Call) and mono[0].fn == "%":
                if mono[0].b.const:
                    self.divisors[mono[0].a] = mono[0].b.const

    def divisor(self, expr: Dim) -> int:
        """A number that an expression is known to be a multiple of; 0 for zero."""
        total = 0
        for mono, coeff in expr.terms:
            whole = self.divisors.get(Dim.of_terms({mono: 1}), 1) if mono else 1
            for atom in mono:
                known = self._divisor_of(atom)
                rest = list(mono)
                rest.remove(atom)
                others = self.divisors.get(Dim.of_terms({tuple(rest): 1}), 1) if rest else 1
                whole = max(whole, known * others)
            total = gcd(total, coeff * whole)
        return total

    def _divisor_of(self, atom: Sym | Call) -> int:
        if isinstance(atom, Call) and atom.fn in ("min", "max"):
            return gcd(self.divisor(atom.a), self.divisor(atom.b))
        if isinstance(atom, Call) and atom.fn == "%" and atom.b.const:
            return gcd(self.divisor(atom.a), atom.b.const)
        return self.divisors.get(Dim.of_terms({(atom,): 1}), 1)

    def row_alignment(self, base: str, storage: str, offset: Dim) -> int:
        """Buffers start at multiples of `WIDEST`, unless their first element is not the first in memory."""
        element = alignment_of(storage)
        if base in self._turned:
            return element
        size = element * (2 if storage[0] == "<" else 1)
        return max(element, gcd(size * self.divisor(offset), WIDEST))

    # Places that are there or not

    def store_where(self, condition: str | None, pointer: str, write: Callable[[str], None]) -> None:
        text = self.text
        if condition is None:
            write(pointer)
            return
        inside, after = text.label("where"), text.label("done")
        text.branch_if(condition, inside, after)
        text.start(inside)
        self.lanes.frames.append({})
        write(pointer)
        self.lanes.frames.pop()
        text.branch(after)
        text.start(after)

    def _or_zeros(self, condition: str, pointer: str) -> str:
        zeros = "@zeros = private addrspace(1) constant [64 x i8] zeroinitializer, align 64"
        self.text.module.globals["zeros"] = zeros
        return self.text.ins(
            f"select i1 {condition}, ptr {pointer}, ptr addrspacecast (ptr addrspace(1) @zeros to ptr)"
        )
