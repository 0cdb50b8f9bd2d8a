"""The cost model: what every decision about speed asks, in nanoseconds of one core.

`Machine` is what is known of the machine; `CostModel` answers the questions of passes: what arithmetic and traffic
take, how much work is worth a thread, which sizes of tiles and bands fit a cache, from where on stores go past the
caches. No threshold stands anywhere else.  A module says which machine it is compiled for (``tx.machine``, what differs
from the defaults), as MLIR's DLTI does, so that a dump is compiled the same way by ``tx-opt``.

Sizes known only at run time are taken to be `ASSUMED`.  The model decides between forms of one program: nothing that
it says may change a result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, ModuleOp, f64
from xdsl.ir import Operation

from ...dialects.dims.dims import Dim, dim, maximum, minimum
from ...dialects.types import DType, TensorType

__all__ = ["ASSUMED", "WORK_UNITS", "CostModel", "Machine", "Work", "assumed_number", "assumed_size"]

ASSUMED = 512
#: Units of work that are worth a second thread: `CostModel.weight`, and what native entries compare with (`LIGHT`).
WORK_UNITS = 1 << 14
#: The bytes of the elements that tiles and bands are laid out for.
_ELEMENT = 4
#: Operations that wait for one another for each copy of a body, of which there are so many at most.
_CHAINED, _MOST_COPIES = 3.75, 4
#: Operations of the longest body of which several copies are worth their time to compile.
_LONGEST_COPIED = 256
#: Operations of a kernel up to which LLVM's time grows as they do; a kernel several times as long takes it longer.
_LONGEST_KERNEL = 1024
#: The operations that a loop takes besides those of its body.
_LOOP = 16
#: How much longer a vector as long as a line keeps the divider busy than the rates say; by bits of an element.
_DIVIDED = {32: 1.25, 64: 2.0}
#: Of how many copies of a body one may have its roots by steps: of all, or of every other one.
_STEPPED = (1, 2)
#: Operations of a square root by an estimate and steps; by bits of an element.
_STEPS = {32: 14, 64: 18}
#: Operations of a quotient by a number's inverse, and of the question whether that may be; by bits of an element.
_BY_INVERSE = {64: 8}
#: Tiles of rows that are worth a form of their own.
_FEW_TILES = 8
#: Femtoseconds of a nanosecond.
_FEMTO = 1e6
_ATTRIBUTE = "tx.machine"
#: Figures of processors that differ from those of their kind, as they were measured (`benchmarks/log/`).
_PROCESSORS: Mapping[str, Mapping[str, float]] = {"znver4": {"prefetch_min_bytes": 32 << 20, "divs_per_ns": 8.6}}


@dataclass(frozen=True)
class Machine:
    """One core and its memory, or a whole GPU; rates are in units a nanosecond.

    The defaults are rounded measurements of the machine of `benchmarks/log/`; `compiler/tools/calibrate.py` measures
    others. What differs for a GPU is in brackets.

    * `l1_bytes`, `l2_bytes`, `l3_bytes`: capacities of the caches; `cache_line`, `page_bytes`: bytes of a line, a page.
    * `vector_registers`: how many there are.
    * `l2_bandwidth`, `dram_bandwidth`: bytes that a copy reads and writes in L2 (shared memory), in DRAM;
      `broadcast_bandwidth`: bytes read by many at the same time (from L2).
    * `prefetch_bytes`: bytes that memory transfers during its latency: the distance of software prefetch.
    * `prefetch_min_bytes`: 0 where a processor profits from software prefetch; else it has a hardware prefetcher that
      suffices, but for one operand beside non-temporal stores, of so many bytes together.
    * `flops_per_ns`: f32 additions and multiplications; `divs_per_ns`: f32 divisions and square roots, which have a
      port of their own.
    * `dispatch_ns`: nanoseconds of a fork and join with another thread, as often asleep as awake (a kernel launch).
    * `shared_memory`: bytes that threads can share (those of a block of a GPU).
    """

    l1_bytes: float = 32 << 10
    l2_bytes: float = 512 << 10
    l3_bytes: float = 32 << 20
    cache_line: float = 64
    page_bytes: float = 4096
    vector_registers: float = 16
    l2_bandwidth: float = 80.0
    dram_bandwidth: float = 16.0
    broadcast_bandwidth: float = 80.0
    prefetch_bytes: float = 4 << 10
    prefetch_min_bytes: float = 0
    flops_per_ns: float = 40.0
    divs_per_ns: float = 5.0
    dispatch_ns: float = 2048.0
    shared_memory: float = 48 << 10

    @staticmethod
    def of_gpu(capability: int) -> Machine:
        """A GPU of a compute capability (90 for ``sm_90``).

        Rates are those of an H200, rounded: sustained ones, of 4.8 TB/s of memory and 67 TFLOPS of f32, where a fused
        multiplication and addition are two; the 32 banks of shared memory of 132 processors at 1.8 GHz; the rate of L2
        is an estimate.  None of them was measured.  How much shared memory there is says the CUDA guide
        ("Technical Specifications per Compute Capability", most for a block).
        """
        memory = {75: 64, 80: 163, 86: 99, 87: 163, 88: 99, 89: 99, 90: 227, 100: 227, 103: 227, 110: 227}
        kibibytes = memory.get(capability, 99 if capability >= 120 else 48)
        return Machine(
            l2_bytes=float(50 << 20), l3_bytes=float(50 << 20), cache_line=128.0, vector_registers=64.0,
            l2_bandwidth=30000.0, dram_bandwidth=4000.0, broadcast_bandwidth=5500.0, flops_per_ns=28000.0,
            divs_per_ns=4000.0, shared_memory=float(kibibytes << 10),
        )  # fmt: skip

    @staticmethod
    def of_cpu(vector_bits: int, registers: int, name: str = "") -> Machine:
        """A CPU with so many registers of vectors; arithmetic is by whole ones, two at a time.

        Those that have vectors as long as a cache line have an L2 of a megabyte or more.  Of some more is known by
        their `name`, LLVM's.
        """
        usual = Machine()
        kind = replace(
            usual, vector_registers=float(registers), flops_per_ns=usual.flops_per_ns * max(1, vector_bits // 256),
            l2_bytes=float(1 << 20) if vector_bits >= 512 else usual.l2_bytes,
        )  # fmt: skip
        return kind.measured(_PROCESSORS.get(name, {}))

    def attribute(self) -> DictionaryAttr:
        """What differs from the defaults."""
        mine = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return DictionaryAttr({name: FloatAttr(float(value), f64) for name, value in mine.items()})

    @staticmethod
    def of(op: Operation) -> Machine:
        """The machine of the module that an op is in."""
        root = op.get_toplevel_object()
        given = root.attributes.get(_ATTRIBUTE) if isinstance(root, ModuleOp) else None
        if not isinstance(given, DictionaryAttr):
            return Machine()
        return Machine.of_figures({k: v.value.data for k, v in given.data.items() if isinstance(v, FloatAttr)})

    @staticmethod
    def of_figures(figures: Mapping[str, float]) -> Machine:
        """The machine of figures by name, with the defaults for others."""
        return Machine().measured(figures)

    def measured(self, figures: Mapping[str, float]) -> Machine:
        """With figures by name; what another version of txc measured under other names does not count."""
        names = {f.name for f in fields(Machine)}
        return replace(self, **{name: float(value) for name, value in figures.items() if name in names})

    def mark(self, module: ModuleOp) -> None:
        """Say in a module that it is compiled for this machine."""
        attribute = self.attribute()
        if attribute.data:
            module.attributes[_ATTRIBUTE] = attribute


@dataclass(frozen=True)
class Work:
    """What one point of a nest takes: operations by the ports that do them, and bytes of operands."""

    arithmetic: float = 0.0
    divisions: float = 0.0
    bytes: float = 0.0
    bits: int = 32

    def beside(self, other: Work) -> Work:
        """Both, at the same points."""
        arithmetic, divisions = self.arithmetic + other.arithmetic, self.divisions + other.divisions
        return Work(arithmetic, divisions, self.bytes + other.bytes, max(self.bits, other.bits))


@dataclass(frozen=True)
class CostModel:
    """The questions that passes ask."""

    machine: Machine = Machine()

    @staticmethod
    def of(op: Operation) -> CostModel:
        return CostModel(Machine.of(op))

    # Time

    def computing(self, operations: float, bits: int = 32) -> float:
        """Arithmetic on elements of so many bits; an op counts as many as its declaration's `cost` says."""
        return operations * max(32, bits) / 32 / self.machine.flops_per_ns

    def div_ns(self, work: Work) -> float:
        """The divisions and square roots of a point."""
        return work.divisions * max(32, work.bits) / 32 / self.machine.divs_per_ns

    def moving(self, size: float, near: bool = True) -> float:
        """So many bytes read or written; `near`: while the second cache holds them."""
        return size / (self.machine.l2_bandwidth if near else self.machine.dram_bandwidth)

    def point(self, work: Work) -> float:
        """A point of a nest: ports and memory work side by side, so the slowest of them."""
        return max(self.computing(work.arithmetic, work.bits), self.div_ns(work), self.moving(work.bytes))

    def vector_bits(self, work: Work, most: int) -> int:
        """The widest vectors that a point is worth, of at most so many bits.

        Vectors as long as a line cross two lines wherever arrays are not aligned to whole ones, and they divide as fast
        as two halves: half a line is enough for what waits for a cache or for divisions.
        """
        computing = self.computing(work.arithmetic, work.bits) * most / self.half_cache_line_bits
        return (
            most
            if computing > max(self.div_ns(work), self.moving(work.bytes))
            else min(most, self.half_cache_line_bits)
        )

    @property
    def half_cache_line_bits(self) -> int:
        """Bits of half a line."""
        return int(self.machine.cache_line) * 4

    def by_steps(self, work: Work, roots: int) -> tuple[Work, int]:
        """What a point takes when so many of its divisions are roots found by steps, in one of how many copies.

        `work` and 0 where that is no less.  For vectors as long as a line.
        """
        best, chosen = work, 0
        for every in _STEPPED:
            less = self._without_divider(work, _STEPS, roots / every)
            if less is not work and (not chosen or self._slowest(less) < self._slowest(best)):
                best, chosen = less, every
        return best, chosen

    def reciprocal_cost(self, work: Work, quotients: int) -> Work:
        """What a point takes when so many of its divisions go by inverses; `work` where that is no less.

        For vectors as long as a line.
        """
        return self._without_divider(work, _BY_INVERSE, quotients)

    def _without_divider(self, work: Work, operations: Mapping[int, int], count: float) -> Work:
        """What a point takes when so many divisions are as many `operations`; `work` where that is no less."""
        if work.bits not in operations:
            return work
        more = operations[work.bits] * count
        without = replace(work, arithmetic=work.arithmetic + more, divisions=work.divisions - count)
        return without if self._slowest(without) < self._slowest(work) else work

    def _slowest(self, work: Work) -> float:
        """Operations that take as long as a point by the longest vectors: its own, its divisions, or its bytes."""
        divided = self.machine.flops_per_ns / self.machine.divs_per_ns * _DIVIDED[work.bits] * work.divisions
        return max(work.arithmetic, divided, self.moving(work.bytes) / self.computing(1, work.bits))

    def newton_extra_ops(self, bits: int) -> int:
        """Operations that a root of so many bits takes by steps besides itself."""
        return _STEPS[bits] - 1

    def reciprocal_extra_ops(self, bits: int) -> int:
        """Operations that a quotient of so many bits takes by an inverse besides itself."""
        return _BY_INVERSE[bits] - 1

    def is_memory_bound(self, work: Work) -> bool:
        """Whether a point waits for operands that no cache holds, rather than for arithmetic."""
        return self.computing(work.arithmetic, work.bits) <= self.moving(work.bytes, near=False)

    # Panels of a GPU, in femtoseconds: what depends on sizes is decided when they are known

    def gpu_launch_cost(self, count: int) -> Dim:
        """So many kernels more."""
        return dim(round(self.machine.dispatch_ns * count * _FEMTO))

    def gpu_traffic_cost(self, size: Dim) -> Dim:
        """Bytes that go to memory, or come from there."""
        return size * round(self.moving(1, near=False) * _FEMTO)

    def gpu_panel_cost(self, products: Dim, element: DType, rows: int) -> Dim:
        """What a contraction waits for an operand of which so many `rows` share what comes from the second cache.

        Most of that hides behind its arithmetic.
        """
        waits = element.bytes / rows / self.machine.broadcast_bandwidth - self.computing(1, element.bits)
        return products * round(max(0.0, waits) * _FEMTO)

    # Threads

    def chunk(self, nanoseconds: float) -> int:
        """How many points of so many nanoseconds each make one piece of parallel work: handing it over costs as much.

        A power of two, so that pieces of packed arrays begin at lines.
        """
        points = self.machine.dispatch_ns / max(nanoseconds, 1e-3)
        return max(self.side_by_side, 1 << round(math.log2(max(1.0, points))))

    def grain(self, inner: Dim, nanoseconds: float) -> Dim:
        """Iterations of an outer loop that make such a piece when each has `inner` points."""
        chunk = self.chunk(nanoseconds)
        return maximum(1, dim(chunk) // maximum(1, inner))

    def weight(self, nanoseconds: float) -> int:
        """Units of work of a point: a call of more than `WORK_UNITS` in all is worth a second thread."""
        return max(1, round(nanoseconds / self.unit))

    @property
    def unit(self) -> float:
        """Nanoseconds of a unit of work."""
        return self.machine.dispatch_ns / WORK_UNITS

    # Sizes

    @property
    def side_by_side(self) -> int:
        """Neighbouring results that are computed side by side: four lines of them."""
        return 4 * self.elements_per_line

    @property
    def elements_per_line(self) -> int:
        """Neighbouring results of a line."""
        return int(self.machine.cache_line) // _ELEMENT

    @property
    def min_shared_columns(self) -> int:
        """Neighbouring results, for each of several threads, from which on they share a step that writes all of them.

        Of fewer, lines at the ends of what a thread writes, which go from core to core, take longer than is saved.
        """
        return 32 * self.elements_per_line

    @property
    def tile(self) -> int:
        """The sides of a tile that is staged: the first cache holds what is read and what is written."""
        return 1 << int(math.log2(math.sqrt(self.machine.l1_bytes / (2 * _ELEMENT))))

    def turned(self, size: int) -> tuple[int, int]:
        """The sides of a tile of a transposition, of elements of `size` bytes: along what it reads, and what it writes.

        Two lines by four: narrow bands leave the first cache to lines that the next tile goes on with, and short rows
        let these be asked for in time (`benchmarks/log/`).
        """
        line = max(1, int(self.machine.cache_line) // max(_ELEMENT, size))
        return 2 * line, 4 * line

    @property
    def band(self) -> int:
        """Results of a scan or fold along an outer dim that go along it side by side: a page of them."""
        return int(self.machine.page_bytes) // _ELEMENT

    def l2_column_tile(self, lane_bytes: int) -> int:
        """Results whose lanes, of so many bytes a result in all, fill half of the second cache; a line of them or more.

        A power of two, so that bands of packed arrays begin at lines.
        """
        return max(self.side_by_side, 1 << int(math.log2(max(1.0, self.machine.l2_bytes / 2 / lane_bytes))))

    @property
    def rows(self) -> int:
        """Rows folded in one sweep along a band of results, which is read and written once for all of them."""
        return 8

    @property
    def stretch(self) -> int:
        """Elements of a long scan that are passed twice before the next ones: two second caches, of two threads."""
        return int(2 * self.machine.l2_bytes) // _ELEMENT

    @property
    def nontemporal_threshold(self) -> int:
        """From which size on a buffer that is only written goes past the caches.

        A quarter of the last cache, where both kinds of stores take the same time (`benchmarks/log/`).
        """
        return int(self.machine.l3_bytes) // 4

    @property
    def min_nontemporal_lines(self) -> int:
        """Lines of a row from which on it is worth to go past the caches although it shares those of its ends."""
        return 8

    def ahead(self, streams: int) -> int:
        """How far in front of a loop lines are asked for, of each of so many streams: whole ones, four at least.

        A stream alone takes no more than half of what memory sends: farther ahead costs more than it brings.
        """
        line = int(self.machine.cache_line)
        return max(4, int(self.machine.prefetch_bytes) // max(2, streams) // line) * line

    @property
    def has_hw_prefetch(self) -> bool:
        """Whether the processor has the lines that loops go along in time without being asked."""
        return self.machine.prefetch_min_bytes > 0

    def prefetch_beside_nontemporal(self, moved: Dim) -> Dim:
        """1 where one operand beside stores past the caches is worth asking for nevertheless, of so many bytes."""
        return minimum(1, maximum(0, moved - int(self.machine.prefetch_min_bytes)))

    def streams(self, operations: float) -> bool:
        """Whether what a body of so many operations writes may go past the caches.

        Light ones only, of which `copies` writes whole lines at once: those that arithmetic cuts into pieces take
        longer than reading them first (`benchmarks/log/`), and what waits for arithmetic does not wait for memory.
        """
        return operations <= self.machine.vector_registers / 2

    # Registers

    def copies(self, operations: float, chain: float) -> int:
        """Copies of a body of so many operations that are unrolled; `chain` of them wait for one another.

        What those of a short body hold fits the registers.  In a longer one a chain leaves most ports idle, and the
        processor does not look so far ahead as to the next round; what then does not fit the registers costs less
        (`benchmarks/log/`).  Copies of more than `_LONGEST_COPIED` take too long to compile.
        """
        registers = self.machine.vector_registers
        if operations <= registers / 2:
            return 4
        if operations > _LONGEST_COPIED:
            return 1
        fitting = 2 if operations <= registers * 3 / 4 else 1
        return max(fitting, min(_MOST_COPIES, round(chain / _CHAINED)))

    def kernel_size_ok(self, loops: int, operations: float) -> bool:
        """Whether a kernel may have so many loops with so many operations in all.

        What the loops exchange moves through memory instead where they are two kernels.
        """
        return loops * _LOOP + operations <= _LONGEST_KERNEL

    def sharing(self, copies: int, repeats: int) -> int:
        """About so many copies, where numbers repeat after `repeats` of them.

        Whole rounds share what is computed of these numbers, if one fits half of the registers.
        """
        return copies if repeats > self.machine.vector_registers / 2 else max(1, round(copies / repeats)) * repeats

    def accumulators(self, operations: int, width: int, states: int = 1, shared: bool = False) -> int:
        """Vectors of neighbouring results that fold side by side, each with so many states.

        A light fold has as many states as there are registers: the wider the piece of each row, the better rows come
        from memory.  An eighth of them is kept for what results have `shared`.
        """
        registers = int(self.machine.vector_registers)
        if operations <= registers / 8:
            kept = registers // 8 if shared else 0
            return max(1, (registers - kept) // states)
        return max(1, min(int(self.machine.vector_registers) // 2, self.side_by_side // width))

    def max_transposed_row(self, merge: float, states: int, turned: int, along: int, across: int) -> int:
        """Elements of the longest rows that are folded by vectors of `across` rows instead of `along` each.

        At a row's end its lanes, of four vectors, come together by halves: each moves the states and merges them, with
        so many operations.  A tile's operands that are `turned` move once for each halving of its rows, on one of the
        two ports that operations have.  0 where only rows of a few tiles would gain: less than a second form of the
        loops takes to compile.
        """
        if min(along, across) < 2:
            return 0
        ends = (math.log2(along) + 2) * (merge + states)
        longest = int(ends * across / (2 * math.log2(across) * turned))
        return longest if longest >= _FEW_TILES * across else 0

    def lanes_per_pass(self, operations: int) -> int:
        """Lanes of an order that fold together across a band of results: four of a light fold.

        Their sums, of some vectors, fill the registers, and a quarter of them is kept (`benchmarks/log/`).
        """
        return 4 if operations <= self.machine.vector_registers / 8 else 1

    @property
    def tiles(self) -> int:
        """Square tiles that a fold along what is contiguous, by vectors across, takes side by side.

        Each needs the registers for itself; of two, one waits for its sums while the other is transposed.
        """
        return 2


def assumed_number(d: Dim, sizes: Mapping[str, int] | None = None) -> float:
    """The value of an expression when every symbol is `ASSUMED`, or as `sizes` say."""
    known = sizes or {}
    return float(d.evaluate({s: known.get(s.name, ASSUMED) for s in d.symbols()}))


def assumed_size(tensor: TensorType) -> float:
    """The number of elements of a tensor, so estimated."""
    return _assumed_points(tensor.dims)


@lru_cache(maxsize=4096)
def _assumed_points(dims: tuple[Dim, ...]) -> float:
    total = 1.0
    for d in dims:
        total *= assumed_number(d)
    return total
