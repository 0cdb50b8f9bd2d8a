"""The cost model behind every decision about speed, in nanoseconds of one core.

`Machine` holds the constants of a machine; `CostModel` derives costs and sizes from them: of arithmetic and memory
traffic, of parallel tasks, tiles that fit a cache, the threshold of non-temporal stores.  Passes have no thresholds of
their own.  A module names the machine it is compiled for (``tx.machine``, the differences from the defaults), as with
MLIR's DLTI, so that ``tx-opt`` compiles a dump the same way.

Sizes known only at run time are assumed to be `ASSUMED`.  The model decides between schedules of one program: it never
changes a result.
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
#: The bytes of the elements that tile sizes are chosen for.
_ELEMENT = 4
#: Operations of a dependence chain for each unrolled copy of a body, and the largest unroll factor.
_CHAINED, _MOST_COPIES = 3.75, 4
#: Operations of the longest body that is worth unrolling, for the time that its compilation takes.
_LONGEST_COPIED = 256
#: Operations of a kernel up to which LLVM's time grows as they do; a kernel several times as long takes it longer.
_LONGEST_KERNEL = 1024
#: The overhead of a loop, in operations.
_LOOP = 16
#: The slowdown of divisions of vectors as long as a cache line over `divs_per_ns`; by bits of an element.
_DIVIDED = {32: 1.25, 64: 2.0}
#: Newton iteration in one of how many unrolled bodies: in each, or in every other one.
_STEPPED = (1, 2)
#: Operations of a square root by an estimate and Newton steps; by bits of an element.
_STEPS = {32: 14, 64: 18}
#: Operations of a reciprocal multiply with its range check; by bits of an element.
_BY_INVERSE = {64: 8}
#: The least number of row tiles worth a version of the loops.
_FEW_TILES = 8
#: Femtoseconds of a nanosecond.
_FEMTO = 1e6
_ATTRIBUTE = "tx.machine"
#: Measured constants of processors that differ from those of their kind (`benchmarks/log/`).
_PROCESSORS: Mapping[str, Mapping[str, float]] = {
    "znver3": {"prefetch_min_bytes": 32 << 20, "prefetch_reads_bytes": 32 << 20},
    "znver4": {"prefetch_min_bytes": 32 << 20, "divs_per_ns": 8.6},
}


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
    * `prefetch_reads_bytes`: and for loops that only read, up to so many bytes.
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
    prefetch_reads_bytes: float = 0
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
        return kind.with_measurements(_PROCESSORS.get(name, {}))

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
        return Machine().with_measurements(figures)

    def with_measurements(self, figures: Mapping[str, float]) -> Machine:
        """With measurements by name; those of another version of txc under other names are ignored."""
        names = {f.name for f in fields(Machine)}
        return replace(self, **{name: float(value) for name, value in figures.items() if name in names})

    def attach_to(self, module: ModuleOp) -> None:
        """Attach the constants that differ from the defaults to a module."""
        attribute = self.attribute()
        if attribute.data:
            module.attributes[_ATTRIBUTE] = attribute


@dataclass(frozen=True)
class Work:
    """The work of one point of a nest: operations by the ports that execute them, and bytes of operands."""

    arithmetic: float = 0.0
    divisions: float = 0.0
    bytes: float = 0.0
    bits: int = 32

    def plus(self, other: Work) -> Work:
        """The sum of both, at the same points."""
        arithmetic, divisions = self.arithmetic + other.arithmetic, self.divisions + other.divisions
        return Work(arithmetic, divisions, self.bytes + other.bytes, max(self.bits, other.bits))


@dataclass(frozen=True)
class CostModel:
    """Cost estimates and sizes that passes decide by."""

    machine: Machine = Machine()

    @staticmethod
    def of(op: Operation) -> CostModel:
        return CostModel(Machine.of(op))

    # Time

    def compute_ns(self, operations: float, bits: int = 32) -> float:
        """Arithmetic on elements of so many bits; an op counts as many as its declaration's `cost` says."""
        return operations * max(32, bits) / 32 / self.machine.flops_per_ns

    def div_ns(self, work: Work) -> float:
        """The divisions and square roots of a point."""
        return work.divisions * max(32, work.bits) / 32 / self.machine.divs_per_ns

    def transfer_ns(self, size: float, in_l2: bool = True) -> float:
        """So many bytes read or written, in L2 or in DRAM."""
        return size / (self.machine.l2_bandwidth if in_l2 else self.machine.dram_bandwidth)

    def point_ns(self, work: Work) -> float:
        """A point of a nest: ports and memory work in parallel, so the slowest of them."""
        return max(self.compute_ns(work.arithmetic, work.bits), self.div_ns(work), self.transfer_ns(work.bytes))

    def vector_bits(self, work: Work, most: int) -> int:
        """The widest vectors that a point is worth, of at most so many bits.

        Vectors as long as a cache line cross two lines wherever arrays are not aligned to lines, and they divide no
        faster than two halves: half a line is enough for what is bound by caches or by divisions.
        """
        arithmetic = self.compute_ns(work.arithmetic, work.bits) * most / self.half_cache_line_bits
        return (
            most
            if arithmetic > max(self.div_ns(work), self.transfer_ns(work.bytes))
            else min(most, self.half_cache_line_bits)
        )

    @property
    def half_cache_line_bits(self) -> int:
        """Bits of half a line."""
        return int(self.machine.cache_line) * 4

    def newton_sqrt_cost(self, work: Work, roots: int) -> tuple[Work, int]:
        """The work of a point with so many of its square roots by Newton iteration, in one of how many unrolled bodies.

        `work` and 0 where that takes no less.  For vectors as long as a cache line.
        """
        best, chosen = work, 0
        for every in _STEPPED:
            less = self._without_divider(work, _STEPS, roots / every)
            if less is not work and (not chosen or self._slowest(less) < self._slowest(best)):
                best, chosen = less, every
        return best, chosen

    def reciprocal_cost(self, work: Work, quotients: int) -> Work:
        """The work of a point with so many of its divisions as reciprocal multiplies; `work` where that takes no less.

        For vectors as long as a cache line.
        """
        return self._without_divider(work, _BY_INVERSE, quotients)

    def _without_divider(self, work: Work, operations: Mapping[int, int], count: float) -> Work:
        """The work of a point with so many divisions replaced by `operations`; `work` where that takes no less."""
        if work.bits not in operations:
            return work
        more = operations[work.bits] * count
        without = replace(work, arithmetic=work.arithmetic + more, divisions=work.divisions - count)
        return without if self._slowest(without) < self._slowest(work) else work

    def _slowest(self, work: Work) -> float:
        """Operations that take as long as a point by the longest vectors: its own, its divisions, or its bytes."""
        divided = self.machine.flops_per_ns / self.machine.divs_per_ns * _DIVIDED[work.bits] * work.divisions
        return max(work.arithmetic, divided, self.transfer_ns(work.bytes) / self.compute_ns(1, work.bits))

    def newton_extra_ops(self, bits: int) -> int:
        """Extra operations of a square root of so many bits by Newton iteration."""
        return _STEPS[bits] - 1

    def is_memory_bound(self, work: Work) -> bool:
        """Whether a point with operands in DRAM is bound by memory rather than by arithmetic."""
        return self.compute_ns(work.arithmetic, work.bits) <= self.transfer_ns(work.bytes, in_l2=False)

    # Row tiles of a GPU, in femtoseconds: what depends on sizes is decided at run time

    def gpu_launch_cost(self, count: int) -> Dim:
        """The overhead of so many kernel launches."""
        return dim(round(self.machine.dispatch_ns * count * _FEMTO))

    def gpu_traffic_cost(self, size: Dim) -> Dim:
        """Bytes written to DRAM, or read from it."""
        return size * round(self.transfer_ns(1, in_l2=False) * _FEMTO)

    def gpu_panel_cost(self, products: Dim, element: DType, rows: int) -> Dim:
        """The time that a contraction waits for an operand that comes from L2 once for so many `rows`.

        Most of it is hidden behind arithmetic.
        """
        waits = element.bytes / rows / self.machine.broadcast_bandwidth - self.compute_ns(1, element.bits)
        return products * round(max(0.0, waits) * _FEMTO)

    # Threads

    def chunk(self, nanoseconds: float) -> int:
        """How many points of so many nanoseconds each make a parallel task that takes as long as dispatching it.

        A power of two, so that tasks of packed arrays begin at cache lines.
        """
        points = self.machine.dispatch_ns / max(nanoseconds, 1e-3)
        return max(self.results_in_flight, 1 << round(math.log2(max(1.0, points))))

    def grain(self, inner: Dim, nanoseconds: float) -> Dim:
        """Iterations of an outer loop that make such a task when each has `inner` points."""
        chunk = self.chunk(nanoseconds)
        return maximum(1, dim(chunk) // maximum(1, inner))

    def weight(self, nanoseconds: float) -> int:
        """Units of work of a point: a call of more than `WORK_UNITS` in all is worth a second thread."""
        return max(1, round(nanoseconds / self.work_unit_ns))

    @property
    def work_unit_ns(self) -> float:
        """Nanoseconds of a unit of work."""
        return self.machine.dispatch_ns / WORK_UNITS

    # Sizes

    @property
    def results_in_flight(self) -> int:
        """Adjacent results that are in flight at a time: four cache lines of them."""
        return 4 * self.elements_per_line

    @property
    def elements_per_line(self) -> int:
        """Adjacent results in a cache line."""
        return int(self.machine.cache_line) // _ELEMENT

    @property
    def min_shared_columns(self) -> int:
        """The least adjacent results per thread for several threads to share a step that writes all of them.

        With fewer, false sharing of the cache lines between two threads costs more than is saved.
        """
        return 32 * self.elements_per_line

    @property
    def l1_tile(self) -> int:
        """The side of a staged tile: L1 holds what is read and what is written."""
        return 1 << int(math.log2(math.sqrt(self.machine.l1_bytes / (2 * _ELEMENT))))

    def transpose_tile(self, size: int) -> tuple[int, int]:
        """The sides of a tile of a transposition, of elements of `size` bytes: along its input, and along its output.

        Two cache lines by four: narrow tiles leave room in L1 for lines that the next tile continues, and short rows
        let these be prefetched in time (`benchmarks/log/`).
        """
        line = max(1, int(self.machine.cache_line) // max(_ELEMENT, size))
        return 2 * line, 4 * line

    @property
    def column_tile(self) -> int:
        """The column tile of a scan or reduction along an outer dim: a page of results."""
        return int(self.machine.page_bytes) // _ELEMENT

    def l2_column_tile(self, lane_bytes: int) -> int:
        """The column tile whose accumulator lanes, of so many bytes a result, fill half of L2; at least a cache line.

        A power of two, so that tiles of packed arrays begin at cache lines.
        """
        return max(self.results_in_flight, 1 << int(math.log2(max(1.0, self.machine.l2_bytes / 2 / lane_bytes))))

    @property
    def rows_per_pass(self) -> int:
        """Rows reduced in one pass over a column tile of results, which is read and written once for all of them."""
        return 8

    @property
    def scan_chunk(self) -> int:
        """The chunk of a long scan that two passes go over before the next chunk: the L2 of two threads."""
        return int(2 * self.machine.l2_bytes) // _ELEMENT

    @property
    def nontemporal_threshold(self) -> int:
        """The size of a write-only buffer above which stores to it are non-temporal.

        A quarter of the last-level cache, where both kinds of stores take the same time (`benchmarks/log/`).
        """
        return int(self.machine.l3_bytes) // 4

    @property
    def min_nontemporal_lines(self) -> int:
        """Cache lines of a row from which on non-temporal stores pay although its first and last line are shared."""
        return 8

    def prefetch_distance(self, streams: int) -> int:
        """The software prefetch distance in bytes, for each of so many streams: whole cache lines, at least four.

        A single stream gets no more than half of `prefetch_bytes`: a longer distance costs more than it gains.
        """
        line = int(self.machine.cache_line)
        return max(4, int(self.machine.prefetch_bytes) // max(2, streams) // line) * line

    @property
    def has_hw_prefetch(self) -> bool:
        """Whether the hardware prefetcher suffices for sequential streams."""
        return self.machine.prefetch_min_bytes > 0

    def prefetch_beside_nontemporal(self, moved: Dim) -> Dim:
        """1 where software prefetch of one operand beside non-temporal stores pays nevertheless, for so many bytes."""
        return minimum(1, maximum(0, moved - int(self.machine.prefetch_min_bytes)))

    def prefetch_reads(self, moved: Dim) -> Dim:
        """1 where software prefetch in loops that only read pays nevertheless, of buffers of so many bytes."""
        return minimum(1, maximum(0, int(self.machine.prefetch_reads_bytes) - moved))

    def may_bypass_cache(self, operations: float) -> bool:
        """Whether the stores of a body of so many operations may be non-temporal.

        Only cheap bodies, whose unrolled copies write whole cache lines at once: lines written in parts take longer
        than reading them first (`benchmarks/log/`), and compute-bound bodies do not wait for memory.
        """
        return operations <= self.machine.vector_registers / 2

    # Registers

    def unroll_factor(self, operations: float, chain: float) -> int:
        """The unroll factor of a body of so many operations, of which `chain` form its longest dependence chain.

        The values of a short body fit the registers.  In a longer one a dependence chain leaves most ports idle, and
        out-of-order execution does not reach the next iteration; then spills cost less than that (`benchmarks/log/`).
        Unrolling bodies of more than `_LONGEST_COPIED` operations takes too long to compile.
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

        Otherwise it becomes two kernels, which exchange values through memory.
        """
        return loops * _LOOP + operations <= _LONGEST_KERNEL

    def unroll_for_period(self, copies: int, repeats: int) -> int:
        """An unroll factor of about `copies` that is a multiple of the period `repeats` of index values.

        Whole periods share values computed from the indices, if one period fits half of the registers.
        """
        return copies if repeats > self.machine.vector_registers / 2 else max(1, round(copies / repeats)) * repeats

    def accumulators(self, operations: int, width: int, count: int = 1, shared: bool = False) -> int:
        """Vectors of adjacent results that are reduced at the same time, each with so many accumulators.

        A cheap reduction uses all registers for accumulators: the wider the tile of each row, the better the use of
        memory bandwidth.  An eighth of them is reserved for operands that results have `shared`.  A long body is not
        repeated for more of them than its compilation is worth.
        """
        registers = int(self.machine.vector_registers)
        if operations <= registers / 8:
            reserved = registers // 8 if shared else 0
            return max(1, (registers - reserved) // count)
        return max(1, min(registers // 2, self.results_in_flight // width, _LONGEST_COPIED // operations))

    def max_transposed_row(self, combine: float, accumulators: int, transposed: int, along: int, across: int) -> int:
        """The length of the longest rows that are reduced by vectors of `across` rows instead of `along` each.

        At the end of a row its lanes, of four vectors, are combined by halves: each step shuffles the accumulators and
        combines them, with so many operations.  The `transposed` operands of a tile are shuffled once for each halving
        of its rows, on one of the two arithmetic ports.  0 where only rows of a few tiles would gain: less than a
        second version of the loops takes to compile.
        """
        if min(along, across) < 2:
            return 0
        ends = (math.log2(along) + 2) * (combine + accumulators)
        longest = int(ends * across / (2 * math.log2(across) * transposed))
        return longest if longest >= _FEW_TILES * across else 0

    def lanes_per_pass(self, operations: int) -> int:
        """Accumulator lanes of an order that one pass over a column tile of results handles: four of a cheap reduction.

        Their sums, of some vectors, fill the registers, and a quarter of them is reserved (`benchmarks/log/`).
        """
        return 4 if operations <= self.machine.vector_registers / 8 else 1

    @property
    def transposed_tiles(self) -> int:
        """Square tiles in flight of a reduction along unit-stride rows that is vectorized across rows.

        Each needs the registers for itself; one waits for its sums while the other is transposed.
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
