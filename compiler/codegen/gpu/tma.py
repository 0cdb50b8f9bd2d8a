"""The loop along K of a tensor-core product whose stages are filled by TMA: `loop.bulk_copy` as
``cp.async.bulk.tensor``.

One thread asks for the boxes of a stage and goes on.  Each stage has two mbarriers in shared memory: ``full``, whose
phase ends when all bytes have arrived, and ``empty``, whose phase ends when each warp has said that its products of the
stage's mbarriers are made ("Asynchronous Barriers" of the PTX manual).  Threads wait for a phase by its parity.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from ....dialects.dims.dims import Dim, Sym, dim
from ....dialects.loop import BulkCopyOp, MmaOp
from ....dialects.loop.gpu_matrix import MBARRIER
from ....dialects.types import DTYPES
from ..emit.loops.loops import Loops
from ..emit.memory.access import Memory, storage_type
from ..emit.text import EmitError, IrText
from ..emit.values.index import IndexValues
from ..emit.values.registers import VectorValue, info_of
from .cooperative import WARP, CooperativeGroup
from .pipeline import show_to_units, wait_for_products

__all__ = ["BulkPipeline"]


class BulkPipeline:
    """Bulk copies of `text`, the mbarriers that count what arrives, and the loop around them.

    `tensor_map` gives the pointer to a tensor map.
    """

    def __init__(
        self, text: IrText, index: IndexValues, memory: Memory, loops: Loops, group: CooperativeGroup,
        tensor_map: Callable[[SSAValue], str],
    ):  # fmt: skip
        self.text, self.index, self.memory, self.loops, self.group = text, index, memory, loops, group
        self.tensor_map = tensor_map
        #: The offset of a product's mbarriers, and the one that counts the bytes that come next.
        self._mbarriers = self._arrivals = ""

    def sums(self, op: MmaOp, count: int, multiply: Callable[[str, list[str]], list[str]]) -> list[str]:
        """As `Pipeline.sums`; the products of one stage still run when `multiply` is next called."""
        line, upper, sums = op.unit.line, self.index.value(op.upper.data), DTYPES[op.unit.sums]
        now = Sym(f"{op.iv.data}.now")
        self._mbarriers = self._initialised(op)
        for stage in range(op.n_stages - 1):
            self._ask(op, str(stage * line), upper, first=True)

        def body(carried: list[VectorValue]) -> list[VectorValue]:
            at, here = self.index.symbol(now)[0], {op.symbol: dim(now.name)}
            slot = self.index.value(op.slot.substitute(here))
            self._wait(self._mbarrier(slot), self.index.value(_phase(op).substitute(here) % 2))
            found = multiply(slot, [r.operands()[0] for r in carried])
            wait_for_products(self.text, 1)
            self._release(op, at, here)
            self._ask(op, self.text.add(at, str((op.n_stages - 1) * line)), upper)
            # The thread that asks may have been away; what four warps do together all threads of a warp do at once.
            self.text.declare("llvm.nvvm.bar.warp.sync", "void", ["i32"])
            self.text.put("call void @llvm.nvvm.bar.warp.sync(i32 -1)")
            return [VectorValue((), [r], sums) for r in found]

        zeros = [VectorValue((), ["0.0" if sums.is_float else "0"], sums) for _ in range(count)]
        _, found = self.loops.counted(now, "0", upper, str(line), body, zeros, bound=op.upper.data)
        wait_for_products(self.text, 0)
        self.group.barrier()
        self._by_first_thread(lambda: self._each_mbarrier(op, "inval", ""))
        return [r.operands()[0] for r in found]

    def copy(self, op: BulkCopyOp) -> None:
        """Of the thread at this place; its bytes count where `_arrivals` says."""
        info, dims = info_of(op.target), len(op.at.data)
        place = self.index.address(info, (*op.to.data, dim(0), dim(0), dim(0)))
        pointer = self.index.pointer(self.memory.buffer(op.target), storage_type(info.dtype), place)
        to = self.text.ins(f"addrspacecast ptr {pointer} to ptr addrspace(3)")
        # The manual counts dims from the contiguous one on.
        at = [self.text.ins(f"trunc i64 {self.index.value(place)} to i32") for place in reversed(op.at.data)]
        places = ", ".join(f"${2 + i}" for i in range(dims))
        code = (
            f"cp.async.bulk.tensor.{dims}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            f"[$0], [$1, {{{places}}}], [${2 + dims}];"
        )
        given = [f"ptr addrspace(3) {to}", f"ptr {self.tensor_map(op.tensor)}", *(f"i32 {a}" for a in at)]
        letters = ",".join(["l", "l", *["r"] * dims, "l"])
        given.append(f"ptr addrspace(3) {self._arrivals}")
        self.text.asm(code, letters, *given)

    # Mbarriers

    def _initialised(self, op: MmaOp) -> str:
        """The mbarriers of a product, those of what is full first; each thread can use them."""
        if self.group.threads % WARP:
            raise EmitError(f"warps that release stages, in a block of {self.group.threads} threads")
        first = self.group.reserve_shared(op.block_bytes(self.group.threads))
        base = self.text.ins(f"addrspacecast ptr {self.group.shared(first)} to ptr addrspace(3)")
        self._mbarriers = base

        def start() -> None:
            for tensor in dict.fromkeys(copy.tensor for copy in op.bulk_copies):
                self.text.put(
                    f'call void asm sideeffect "prefetch.tensormap [$0];", "l"(ptr {self.tensor_map(tensor)})'
                )
            self._each_mbarrier(op, "init", ", $1")

        self._by_first_thread(start)
        # What the block did with this memory before is over for copies, too, and they find the mbarriers.
        show_to_units(self.text)
        self.group.barrier()
        return base

    def _each_mbarrier(self, op: MmaOp, action: str, operand: str) -> None:
        """``init``, for one thread that fills and all warps that release, or ``inval``."""
        for number in range(2 * op.n_stages):
            arrivals = 1 if number < op.n_stages else self.group.threads // WARP
            given = [f"ptr addrspace(3) {self._mbarrier(str(number))}", *([f"i32 {arrivals}"] if operand else [])]
            self.text.asm(f"mbarrier.{action}.shared::cta.b64 [$0]{operand};", "l,r" if operand else "l", *given)

    def _mbarrier(self, number: str) -> str:
        offset = self.text.mul(number, str(MBARRIER))
        return self.text.ins(f"getelementptr i8, ptr addrspace(3) {self._mbarriers}, i64 {offset}")

    def _empty(self, op: MmaOp, slot: str) -> str:
        return self._mbarrier(self.text.add(slot, str(op.n_stages)))

    def _wait(self, mbarrier: str, parity: str) -> None:
        """Until the phase of that parity is over."""
        parity = self.text.ins(f"trunc i64 {parity} to i32")
        again, done = self.text.label("wait"), self.text.label("done")
        self.text.branch(again)
        self.text.start(again)
        text = "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [$1], $2; selp.u32 $0, 1, 0, p; }"
        given = f"ptr addrspace(3) {mbarrier}, i32 {parity}"
        over = self.text.ins(f'call i32 asm sideeffect "{text}", "=r,l,r,~{{memory}}"({given})')
        self.text.branch_if(self.text.ins(f"icmp ne i32 {over}, 0"), done, again)
        self.text.start(done)

    # Who does what

    def _ask(self, op: MmaOp, at: str, upper: str, first: bool = False) -> None:
        """The first thread has the stage of the iteration at `at` copied, where there is one.

        It waits until they are no longer needed that lie there, if this is not the `first` time.
        """
        some = self.text.ins(f"icmp slt i64 {at}, {upper}")
        mine = self.text.ins(f"and i1 {self._is_first_thread()}, {some}")

        def region(_: list[VectorValue]) -> list[VectorValue]:
            slot = self.index.value(op.slot)
            if not first:
                self._wait(self._empty(op, slot), self.index.value((_phase(op) + 1) % 2))
            self._arrivals = self._mbarrier(slot)
            expected = sum(copy.bytes for copy in op.bulk_copies)
            code = "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;"
            self.text.asm(code, "l,r", f"ptr addrspace(3) {self._arrivals}", f"i32 {expected}")
            self.loops.region(op.block)
            return []

        def once(_: str) -> None:
            self.loops.counted(op.symbol, at, upper, "1", region, trips=1, bound=op.upper.data)

        self.memory.places.store_where(mine, "", once)

    def _release(self, op: MmaOp, at: str, here: dict[Sym, Dim]) -> None:
        """One thread of each warp says that the products of the iteration before the one at `at` are made."""
        behind = (dim(op.iv.data) // op.unit.line + (op.n_stages - 1)) % op.n_stages
        first = self.text.ins(f"icmp eq i64 {self.group.lane_number()}, 0")
        some = self.text.ins(f"icmp ne i64 {at}, 0")

        def arrive(_: str) -> None:
            empty = self._empty(op, self.index.value(behind.substitute(here)))
            self.text.asm("mbarrier.arrive.shared::cta.b64 _, [$0];", "l", f"ptr addrspace(3) {empty}")

        self.memory.places.store_where(self.text.ins(f"and i1 {first}, {some}"), "", arrive)

    def _is_first_thread(self) -> str:
        return self.text.ins(f"icmp eq i64 {self.group.thread_number()}, 0")

    def _by_first_thread(self, do: Callable[[], None]) -> None:
        self.memory.places.store_where(self._is_first_thread(), "", lambda _: do())


def _phase(op: MmaOp) -> Dim:
    """How often the stage of the iterator's iteration has been filled before."""
    return dim(op.iv.data) // (op.unit.line * op.n_stages)
