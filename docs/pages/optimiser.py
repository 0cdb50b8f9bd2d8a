"""docs/inside/optimiser.md: each decision of the optimiser, on a program that is compiled now."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, fields

from txc.compiler.codegen.target.llvm_backend import make_target
from txc.compiler.config.options import Options
from txc.compiler.frontend.tx.parser import parse
from txc.compiler.pipeline import run_stages
from txc.dialects.ir_text import broken, ir_text
from txc.passes.cost.model import Machine
from txc.passes.cost.remarks import collect

__all__ = ["PAGE", "SECTIONS", "page"]

PAGE = "inside/optimiser.md"

HEADER = """# The optimiser, decision by decision

Written by `docs/generate.py`, which compiles every program below; do not edit. A test compares. The IR is what
`tensor-compile --emit` prints. Under each program stand the IR before and after the pass, then what the pass says of
it: `f.explain(…)` prints that for your functions.

Nothing here may change a result: orders of arithmetic are part of the program from `tensor` on (`dialects/order.py`).
Nothing is named either: passes know families and facts of ops, and `tests/passes/test_name_invariance.py` renames,
commutes and re-orders.

## The cost model

`passes/cost/model.py` answers all questions of speed, in nanoseconds, from these constants of the machine.
`tensor-compile calibrate` measures them, a module carries what differs (`tx.machine`), and they are part of the keys of
the cache. Sizes that are no facts are taken to be 512. For a GPU it has constants of its own (`Machine.of_gpu`), of
which none was measured.

`jit(autotune=True)` searches around them (`compiler/tools/autotune.py`): at the first call it scales one constant after
the other, compiles where that changes the loops, runs both forms in turns on the call's own arguments, and takes what
is 5% faster. What was found is kept in the cache folder for the graph, its facts and the number of threads;
`f.explain(…)` prints each trial. Results are the same bits, as of every other machine (`tests/calls/test_autotune.py`).

| constant | usual | what it decides |
|---|---|---|
"""
DECIDES = {
    "l1_bytes": "tile size of a transposition",
    "l2_bytes": "chunks of a long scan; column reductions larger than a quarter of it take several passes",
    "l3_bytes": "stores of results larger than a quarter of it are non-temporal",
    "cache_line": "unroll-and-jam of reductions; whether vectors as long as a line pay",
    "page_bytes": "column tiles of scans and reductions along outer dims",
    "vector_registers": "unroll factors, accumulators of reductions",
    "l2_bandwidth": "the cost of a materialized value, bytes a ns",
    "dram_bandwidth": "the cost of whole tensors, bytes a ns",
    "broadcast_bandwidth": "operands that all blocks of a GPU read, bytes a ns",
    "prefetch_bytes": "software prefetch distance",
    "prefetch_min_bytes": "software prefetch: always (0), or only of so many bytes beside non-temporal stores",
    "prefetch_reads_bytes": "software prefetch in loops that only read, of so many bytes, where it is not always",
    "flops_per_ns": "the cost of recomputation, f32 operations a ns",
    "divs_per_ns": "the same of divisions and square roots, which have a port of their own",
    "dispatch_ns": "size of parallel tasks: each takes as long as dispatching it",
    "shared_memory": "which row groups fit a block of a GPU",
}


#: Lines that begin loops.
LOOPS = r" = .* to "


@dataclass(frozen=True)
class Section:
    """A decision: `code` from stage `before` to stage `after`, of which only lines that match `shown` stand here.

    `instead` are options of passes for the form before, where the decision is one within a stage.  `processor` is
    what it is compiled for.
    """

    title: str
    text: str
    code: str
    before: str
    after: str
    kinds: tuple[str, ...] = ()
    shown: str = ""
    instead: str = ""
    processor: str = "x86-64-v3"


SECTIONS = (
    Section(
        "Materialization",
        """
        A reduction with other readers is materialized: recomputing it for each element would change the complexity. A
        map is materialized where recomputing it costs more than writing and reading it. Here the exponential is
        materialized, as two reductions read it; the difference is recomputed. Off: `tx-insert-evals{maps=false}`.
        """,
        """
        def f(x: f32[n, m], b: f32) -> (f32[n], f32[n]):
            y = x - b
            e = exp(y)
            return (e.sum([1]), (e * y).maximum([1]))
        """,
        "canonical", "evals", ("materialize",),
    ),
    Section(
        "Reduction order",
        """
        The innermost reduced dim, whose accumulators are lanes of vectors, is the one with the smallest stride. The
        order is decided in the first stage, from the strides of arguments and what views and maps make of them, so it
        is the same on every machine; a reduction of a transpose has the bits of the reduction. Off:
        `tx-reduction-order{follow-layout=false}`, with which no layout of arguments changes a bit.
        """,
        """
        def f(x: f32[n, m]) -> (f32[n], f32):
            y = x.shuffle([1, 0])
            return (y.sum([0]), y.sum())
        """,
        "tensor", "tensor", (), r"tx\.", "tx-reduction-order{follow-layout=false}",
    ),
    Section(
        "Layout assignment",
        """
        Layouts propagate from the operands: a map's result has the layout of most bytes that it reads, so that one pass
        reads and writes. A product of column-major operands becomes the product of the transposes: its result is
        column-major, and neither operand is transposed. An input's layout comes from its strides; `.tx` arguments are
        row-major here. Off: `tx-swap-layout{swap=false}`.
        """,
        """
        def f(x: f32[n, m], y: f32[n, m]) -> f32[m, n]:
            return x.shuffle([1, 0]) + y.shuffle([1, 0])
        """,
        "canonical", "layout", ("layout",),
    ),
    Section(
        "Producer fusion and epilogues",
        """
        Every map and view between what is in memory is inlined into one body; the maps after a reduction that end in
        one value are its `epilogue`. The view became an index map. Off: `tx-fuse{maps=false}`.
        """,
        """
        def f(x: f32[n, m], b: f32[m]) -> f32[n]:
            return sqrt((x * b.reshape([1, m]).broadcast([n, 1])).sum([1]))
        """,
        "evals", "fused", ("sibling-fusion", "row-fusion"),
    ),
    Section(
        "Sibling (horizontal) fusion",
        """
        Neighbouring nests over one iteration space that share an operand become one, which reads it once. Reductions do
        where they take the same elements in one order, and what is exact in any order takes the other's: one nest then
        has the accumulators of all, four at most, and the maps after one reduction may use the result of another.
        Contractions, scans and arg-reductions keep their own loops. Off: `tx-fuse-siblings{enabled=false}`.
        """,
        """
        def f(x: f32[n, m]) -> (f32[n, m], f32[n, m], f32[n], f32[n]):
            return (x + 1.0, x * x, x.sum([1]), x.maximum([1]))
        """,
        "fused", "fused", ("sibling-fusion",), instead="tx-fuse-siblings{enabled=false}",
    ),
    Section(
        "Row fusion",
        """
        Nests that exchange one row at a time are fused by rows: the sum of a row is used in that row only, so `x` is
        read from memory once. A sum of all elements needs all rows, and its consumers go over whole tensors. As LLVM's
        compile time grows faster than the length of a kernel, a group ends where the next nest would make it too long
        (`CostModel.kernel_size_ok`). Off: `tx-fuse-rows{enabled=false}`. Rows between two contractions, as those of
        attention, are fused with both, unless `tx-fuse-rows{contractions="none"}`, in tiles of several rows
        (`passes/schedule/rows/attention_rows.py`); next to one contraction only, reading its other operand for so few
        rows at a time costs more than the memory traffic of the rows.
        """,
        """
        def f(x: f32[n, m]) -> f32[n, m]:
            return x / x.sum([1]).reshape([n, 1]).broadcast([1, m])
        """,
        "fused", "fused", ("row-fusion",), shown="kernel|func", instead="tx-fuse-rows{enabled=false}",
    ),
    Section(
        "Column-major row fusion",
        """
        The loops of the map are interchanged first, to those of the sums: the order of its iterators means nothing.
        Columns are strided, so a loop over one of them would read a cache line for each element. Code takes column
        tiles of four cache lines; the values that nests exchange are in memory of the thread's own. So there is one
        fork and join, and no thread reads what another wrote. Where the exchanged values of a tile exceed L2, or there
        are fewer columns than a cache line for each thread, the group is fissioned: each nest goes over all columns
        (`passes/schedule/rows/fission.py`); that is decided at run time. Off: `tx-fuse-rows{column-major=false}`.
        """,
        """
        def f(x: f32[n, m]) -> f32[n, m]:
            return x / x.sum([0]).reshape([1, m]).broadcast([n, 1])
        """,
        "fused", "fused", ("row-fusion",), shown="kernel|func", instead="tx-fuse-rows{column-major=false}",
    ),
    Section(
        "Bufferization",
        """
        Values of a row live in memory of the worker's own (`in thread`), which is reused row after row; results are
        written directly into the caller's arrays.
        """,
        """
        def f(x: f32[n, m]) -> f32[n, m]:
            e = exp(x)
            return e / e.sum([1]).reshape([n, 1]).broadcast([1, m])
        """,
        "fused", "buffers", (), shown="kernel|loop.alloc|func",
    ),
    Section(
        "Parallel tasks, vector width, unrolling",
        """
        One long dim is cut into tasks that take as long as dispatching one to another thread, whole vectors of the
        widest element run along it, and short bodies are unrolled four times (`vector`, `unroll`). A call with less
        work than one task stays on its thread (`passes/cost/work.py`). Of a large result only whole cache lines are
        stored non-temporally; a row that begins within a line has a peeled loop up to the next one.
        """,
        """
        def f(x: f32[n], y: f32[n]) -> f32[n]:
            return x + y
        """,
        "buffers", "loops", ("threads", "nontemporal"),
    ),
    Section(
        "A longer body: smaller tasks, less unrolling",
        """
        The unroll factor follows from the longest dependence chain, four at most: each operation waits for the one
        before, a quotient or a root as long as four others, and out-of-order execution does not reach the next
        iteration. A body that just fits the registers is unrolled twice at least.
        """,
        """
        def f(x: f32[n], y: f32[n]) -> f32[n]:
            return exp(x / y) * log(x)
        """,
        "buffers", "loops", ("threads",),
    ),
    Section(
        "Tiled transposition",
        """
        What is contiguous along one dim and strided along the other is traversed in tiles that fit L1, with so many
        rows in flight (`unroll`) that the emitter transposes them in registers. That writes parts of cache lines, which
        must not be non-temporal: where a result is stored non-temporally and its rows are whole lines, it goes through
        a tile of the thread's own.
        """,
        """
        def f(x: f32[n, m], y: f32[m, n]) -> f32[m, n]:
            return x.shuffle([1, 0]) + y * y
        """,
        "buffers", "loops", ("threads", "nontemporal"),
    ),
    Section(
        "In-place stencils",
        """
        A stencil that replaces its own input is computed into a temporary, since others read what it replaces, and
        copied. Where rows are read at a distance of some rows at most, a new row goes to a ring buffer of a few (`%` in
        its index), and from there to its own place as soon as nobody reads any more what was there: one pass over
        memory. Threads share the rows in chunks, of which the first and the last rows wait until all are done. Where L2
        does not hold a ring there are two passes. Only loops are shown here.
        """,
        """
        def f(x: f32[n, m]) -> f32[n, m]:
            y = x + x
            for i in range(10):
                y[1:n - 1] = (y[0:n - 2] + y[2:n]) * 0.5
            return y
        """,
        "buffers", "loops", ("stencil",), shown=LOOPS + r'|kernel|loop\.alloc|loop\.if|loop\.store|%',
    ),
    Section(
        "Fusing maps into reductions",
        """
        A map of a row and the reduction of its result are one loop where the reduction visits these elements in the
        order in which they are stored: it reduces them while they are in registers, and stores them for the nests
        behind it. Maps with divisions stay separate, as they have a vector width of their own. Off:
        `tx-schedule-cpu{fuse-reductions=false}`. Only loops and their operations on the row are shown here.
        """,
        """
        def f(x: f32[n, m]) -> f32[n, m]:
            e = exp(x - x.maximum([1]).reshape([n, 1]))
            return e / e.sum([1]).reshape([n, 1])
        """,
        "loops", "loops", (), shown=LOOPS + r"|math|loop\.store|loop\.yield|addf|divf",
        instead="tx-schedule-cpu{fuse-reductions=false}",
    ),
    Section(
        "Software prefetch",
        """
        An innermost loop prefetches a cache line of each stream at a distance at which all of them together are what
        memory transfers during its latency; not of operands that fit L1, and not of non-temporal stores. On processors
        whose hardware prefetcher suffices (`prefetch_min_bytes`) only one operand beside non-temporal stores is
        prefetched, and what is only read as long as the last cache holds it (`prefetch_reads_bytes`). Off:
        `tx-schedule-cpu{prefetch=false}`.
        """,
        """
        def f(x: f32[n], y: f32[n]) -> f32[n]:
            return x * y
        """,
        "loops", "loops", (), shown=LOOPS + r"|prefetch|loop\.load|loop\.store",
        instead="tx-schedule-cpu{prefetch=false}",
    ),
    Section(
        "Newton square roots",
        """
        A root and a quotient wait for one divider. With AVX-512, roots are computed by an estimate and Newton
        iteration, with the same bits, where the model finds that cheaper: in all unrolled bodies (`newton = 1`), or in
        every other one (`2`), so that ports and divider share them.
        """,
        """
        def f(x: f32[n], y: f32[n], z: f32[m]) -> (f32[n], f32[m]):
            return sqrt(x * y + 1.5) / (y + 2.0), sqrt(z)
        """,
        "buffers", "loops", (), shown=LOOPS + r"|math|divf", processor="x86-64-v4",
    ),
    Section(
        "Vector width",
        """
        With AVX-512 a vector can be as long as a cache line. In arrays that are not aligned to lines, as NumPy's need
        not be, each such vector crosses two, and divisions take as long as by halves: so vectors are half as long where
        a kernel is bound by a cache or by the divider, as the sum is here. Contractions always have the full width.
        """,
        """
        def f(x: f32[n], y: f32[m]) -> (f32[n], f32[m]):
            return exp(-exp(x)), y + y
        """,
        "buffers", "loops", ("vector-width",), shown=r"generic|vector |math|addf", processor="x86-64-v4",
    ),
    Section(
        "Column reductions larger than L2",
        """
        Where the operand fits a quarter of L2, each thread reduces a few cache lines of adjacent results over all rows,
        in registers. Where it does not, that would be short segments of many pages: then each pass goes over eight rows
        of a column tile of some pages of results, with the partial results in L1. Each block of the order has its own,
        and these are reduced last. Only loops are shown here.
        """,
        """
        def f(x: f32[n, m]) -> f32[m]:
            return x.sum([0])
        """,
        "buffers", "loops", ("threads",), shown=LOOPS + r'|loop\.if|kernel',
    ),
    Section(
        "Short-row reductions",
        """
        A reduction along unit-stride rows has vector lanes along the row, which are combined by halves at its end.
        Where rows are short that takes longer than to transpose tiles of some rows in registers, so that a vector has
        an element of each row and no lanes are left to combine. Only reductions that are exact in any order may do so,
        and it pays for arg-reductions: a largest integer or a sum alone is cheap to combine. Only loops are shown here.
        """,
        """
        def f(x: f32[n, m]) -> i64[n]:
            return argmax(x, 1)
        """,
        "buffers", "loops", ("transpose",), shown=LOOPS + r"|loop\.if|min\(-m",
    ),
    Section(
        "Short rows of results",
        """
        Where few elements make a short row of results, as pixels times a matrix and stacks of small products do,
        neither fills a vector. Where both numbers are known, lanes are rows, and all results of a row are computed
        beside each other: what they read is loaded once, and as many rows as lanes go from and to memory as whole
        vectors, which shuffles make of one another (`compiler/codegen/emit/memory/interleave.py`). Only loops are shown
        here.
        """,
        """
        def f(x: f32[n, 3], w: f32[3, 3]) -> f32[n, 3]:
            return x @ w
        """,
        "buffers", "loops", ("schedule",), shown=LOOPS + r"|fma|kernel",
    ),
    Section(
        "Small matrices",
        """
        Stacks of matrices of at most eight rows, whose number is known, are solved, inverted and factored in lanes: as
        many matrices as a vector has lanes go to scratch memory together, where an element of all of them is a row.
        Each has pivots of its own, so rows change places by selects; what is done to an element, in which order, is
        what is done to that of a larger matrix. Only loops are shown here.
        """,
        """
        def f(x: f32[n, 2, 2]) -> f32[n, 2, 2]:
            return cholesky(x)
        """,
        "buffers", "loops", ("schedule",), shown=LOOPS + r"|math|div|kernel",
    ),
    Section(
        "Sliding-window register reuse",
        """
        Windows of adjacent rows read the same elements. So many rows are computed together (`unroll` of the loop around
        the vectors) that most loads serve all of them, while registers hold the sums besides; equal accesses are found
        by comparing the index expressions of each step. Only loops are shown here.
        """,
        """
        def f(x: f32[n, m], k: f32[3, 3]) -> f32[n - 2, m - 2]:
            return x.convolve(k, [0, 1])
        """,
        "buffers", "loops", ("unroll",), shown=LOOPS + r'|kernel',
    ),
    Section(
        "Splitting div/mod index maps",
        """
        Along two dims that are not adjacent in memory, and in what was reshaped after a transposition, an index has the
        quotient and the remainder of an iterator. The elements between two steps of the quotient are a contiguous
        segment: loops go over segments and within them, and vectors along memory. The elements of a reduction are
        copied like that, a block of its order at a time, into contiguous memory. Segments known to be shorter than two
        vectors stay as they are: where a number divides, as in repeated elements, as many vectors are unrolled
        (`unroll`) as give each lane an index of its own, and code loads rows and shuffles them
        (`compiler/codegen/emit/memory/shuffle_load.py`). Only loops and accesses are shown here.
        """,
        """
        def f(x: f32[n, c, m]) -> f32[c]:
            return x.sum([0, 2])
        """,
        "buffers", "loops", (), shown=LOOPS + r"|loop.load|loop.alloc",
    ),
    Section(
        "Sorting: networks vs radix",
        """
        The time of a sorting network grows with the square of the logarithm of a row's length, that of merge sort and
        of sample sort with the logarithm, and that of radix sort with the bits of an element. Only lines with
        comparators and merges are shown here; 8 bits are one digit, which takes less. Where vectors can be compressed
        (AVX-512), rows are sorted by sample sort instead: `loop.partition` in place of merges, by a sample of the row.
        """,
        """
        def f(x: f32[n]) -> f32[n]:
            return sort(x)
        """,
        "buffers", "loops", ("sort",), shown="kernel.custom|cmpi slt, .* : i32|loop.merge",
    ),
)  # fmt: skip


def page() -> str:
    """The text of docs/inside/optimiser.md."""
    constants = [f"| `{f.name}` | {f.default:.9g} | {DECIDES[f.name]} |" for f in fields(Machine)]
    return HEADER + "\n".join(constants) + "\n" + "".join(map(_section, SECTIONS))


def _section(section: Section) -> str:
    before = _compiled(section, section.before, section.instead)
    with collect() as remarks:
        after = _compiled(section, section.after)
    said = [_remark(str(r)) for r in remarks if r.kind in section.kinds]
    words = " ".join(section.text.split())
    spoken = f"\n{textwrap.fill(words, 118, break_on_hyphens=False)}\n" if words else ""
    again = f", with `{section.instead}`" if section.instead else ""
    parts = [
        f"\n## {section.title}\n{spoken}\n```\n{textwrap.dedent(section.code).lstrip()}```\n",
        f"\nStage `{section.before}`{again}:\n\n```mlir\n{before}\n```\n",
        f"\nStage `{section.after}`:\n\n```mlir\n{after}\n```\n" if after != before else "\nThe same without it.\n",
        "\n```\n" + "\n".join(said) + "\n```\n" if said else "",
    ]
    return "".join(parts)


def _compiled(section: Section, stage: str, passes: str = "") -> str:
    (function,) = parse(textwrap.dedent(section.code).lstrip(), "optimiser.tx").functions.values()
    target = make_target("x86_64-unknown-linux-gnu", section.processor)
    machine = Machine.of_cpu(target.vector_bits, target.vector_registers)
    made = run_stages(function.graph(), Options.of(passes=passes), stop_after=stage, target=target, machine=machine)
    assert made.module is not None
    text = "".join(ir_text(op, unbroken=True) for op in made.module.body.block.ops)
    return "\n".join(broken(line) for line in text.splitlines() if line and re.search(section.shown, line))


def _remark(text: str) -> str:
    return re.sub(r"  at optimiser\.tx:[\d:]*", "", text)
