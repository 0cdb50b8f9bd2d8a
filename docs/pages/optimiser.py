"""docs/inside/optimiser.md: each decision of the optimiser, on a program that is compiled now."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, fields

from txc.compiler.codegen.target.llvm_backend import make_target
from txc.compiler.driver.options import Options
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
Nothing is named either: passes know families and facts of ops, and `tests/passes/test_nothing_is_named.py` renames,
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
        "What is kept, and what is computed again",
        """
        A fold that others read is kept: computing it for each element would change the complexity. A map is
        kept where computing it again costs more than writing and reading it. Here the exponential is kept, as
        two folds read it; the difference is not. Off: `tx-insert-evals{maps=false}`.
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
        "In which order folds go",
        """
        Along memory: the last dim, by lanes, is the one that memory has as the fastest, and of several dims that are
        folded together so is the last one. This is settled in the first stage, from the strides of arguments and what
        views and maps make of them, so it is the same on every machine; a fold of a transpose has the bits of the fold.
        Off: `tx-reduction-order{follow-layout=false}`, with which no layout of arguments changes a bit.
        """,
        """
        def f(x: f32[n, m]) -> (f32[n], f32):
            y = x.shuffle([1, 0])
            return (y.sum([0]), y.sum())
        """,
        "tensor", "tensor", (), r"tx\.", "tx-reduction-order{follow-layout=false}",
    ),
    Section(
        "In which order results lie",
        """
        Orders flow from the operands: a map's result lies as most bytes that it reads do, so that one sweep
        reads and writes. A product whose left operand has its columns together, and whose right one its, too, is the
        product of the transposes: its columns lie together, and neither operand is turned. An input's order comes from
        its strides; `.tx` arguments are row-major here. Off: `tx-swap-layout{swap=false}`.
        """,
        """
        def f(x: f32[n, m], y: f32[n, m]) -> f32[m, n]:
            return x.shuffle([1, 0]) + y.shuffle([1, 0])
        """,
        "canonical", "layout", ("layout",),
    ),
    Section(
        "Maps, views and epilogues in one nest",
        """
        Every map and view between what is in memory is pulled into one body; the maps after a fold that end in
        one value are its `finish`. The view became an index map. Off: `tx-fuse{maps=false}`.
        """,
        """
        def f(x: f32[n, m], b: f32[m]) -> f32[n]:
            return sqrt((x * b.reshape([1, m]).broadcast([n, 1])).sum([1]))
        """,
        "evals", "fused", ("sibling-fusion", "row-fusion"),
    ),
    Section(
        "Siblings: two results in one pass",
        """
        Neighbouring nests over the same points that share an operand read it once. Folds do where they take the same
        elements in one order, and what is exact in any order takes the other's: one nest then has the states of all,
        four at most, and what comes after one fold may use what another gave. Folds of products, scans and folds that
        say where keep their own loops. Off: `tx-fuse-siblings{enabled=false}`.
        """,
        """
        def f(x: f32[n, m]) -> (f32[n, m], f32[n, m], f32[n], f32[n]):
            return (x + 1.0, x * x, x.sum([1]), x.maximum([1]))
        """,
        "fused", "fused", ("sibling-fusion",), instead="tx-fuse-siblings{enabled=false}",
    ),
    Section(
        "Rows: what nests exchange stays in a cache",
        """
        Nests that hand each other one row at a time run row by row: the sum of a row is used in that row only,
        so `x` is read from memory once. A sum of all elements needs all rows, and what comes behind it goes over
        whole tensors. As LLVM's time grows faster than a long kernel, a group ends where the next nest would
        make it too long (`CostModel.fits_kernel`). Off: `tx-fuse-rows{enabled=false}`. Rows that one contraction
        makes and another uses, attention's, take both along, unless `tx-fuse-rows{contractions="none"}`, and go by
        panels of several rows (`passes/schedule/rows/attention_rows.py`); next to one contraction only, reading its
        other operand for so few rows at a time costs more than the rows' way through memory.
        """,
        """
        def f(x: f32[n, m]) -> f32[n, m]:
            return x / x.sum([1]).reshape([n, 1]).broadcast([1, m])
        """,
        "fused", "fused", ("row-fusion",), shown="kernel|func", instead="tx-fuse-rows{enabled=false}",
    ),
    Section(
        "The same along columns: many of them side by side",
        """
        The map counts columns first then, as their sums do: the order of its iterators means nothing. Columns lie
        across memory, so a chain of operations for one of them would read a line for each element. Code takes
        four lines of neighbouring columns at a time; what nests hand each other of these is in memory of the
        thread's own. So threads wait for one another once, and nothing that one wrote is read by another. Where the
        second cache does not hold what is handed on of a band, or there are fewer columns than a line for each
        thread, each nest goes over all of them after all (`passes/schedule/rows/fission.py`); that is decided when the
        loops run. Off: `tx-fuse-rows{column-major=false}`.
        """,
        """
        def f(x: f32[n, m]) -> f32[n, m]:
            return x / x.sum([0]).reshape([1, m]).broadcast([n, 1])
        """,
        "fused", "fused", ("row-fusion",), shown="kernel|func", instead="tx-fuse-rows{column-major=false}",
    ),
    Section(
        "Memory: results are written where they go",
        """
        Values of a row live in memory of the worker's own (`in thread`), which is used row after row;
        results are written straight into the caller's arrays.
        """,
        """
        def f(x: f32[n, m]) -> f32[n, m]:
            e = exp(x)
            return e / e.sum([1]).reshape([n, 1]).broadcast([1, m])
        """,
        "fused", "buffers", (), shown="kernel|loop.alloc|func",
    ),
    Section(
        "Pieces of work, vectors and copies",
        """
        One long dim is cut into pieces that take as long as handing one to another thread, whole vectors of the
        widest element run along it, and short bodies are unrolled four times (`vector`, `unroll`). A call with
        less work than one piece stays on its thread (`passes/cost/work.py`). Of a large result only whole lines go past
        the caches; a row that begins within one has a loop up to the next before its own.
        """,
        """
        def f(x: f32[n], y: f32[n]) -> f32[n]:
            return x + y
        """,
        "buffers", "loops", ("threads", "nontemporal"),
    ),
    Section(
        "A longer body: smaller pieces, fewer copies",
        """
        As many copies as its longest chain of operations asks for, four at most: each waits for the one before, for a
        quotient or a root as long as for four others, and the processor does not look as far ahead as to the next
        round. Of what just fits the registers there are two at least.
        """,
        """
        def f(x: f32[n], y: f32[n]) -> f32[n]:
            return exp(x / y) * log(x)
        """,
        "buffers", "loops", ("threads",),
    ),
    Section(
        "Transpositions in tiles",
        """
        What is contiguous along one dim and strided along the other is walked in tiles that the first cache
        holds, so many rows side by side (`unroll`) that the emitter transposes them in registers. That writes lines
        in pieces, which must not go past the caches: a result that is to, and whose rows are whole lines, goes
        through a tile of the thread's own, from which these are stored.
        """,
        """
        def f(x: f32[n, m], y: f32[m, n]) -> f32[m, n]:
            return x.shuffle([1, 0]) + y * y
        """,
        "buffers", "loops", ("threads", "nontemporal"),
    ),
    Section(
        "Updates in one sweep",
        """
        What replaces elements and is computed of their neighbours is computed aside, since others read what it
        replaces, and copied. Where rows are read by those at most some rows away, a new row goes to a ring of a few
        (`%` in its place), and from there to its own as soon as nobody reads any more what was there: memory gives
        each row once and takes it once. Threads share the rows in chunks, of which the first and the last rows wait
        until all are done. Where the second cache does not hold a ring it is two sweeps. Only loops stand here.
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
        "Folds that make the rows they read",
        """
        A map of a row and the fold of what it makes are one loop where the fold goes through these elements in the
        order in which they are stored: it folds them while they are in registers, and stores them for the nests
        behind it. Maps with divisions stay apart, which have vectors of their own.
        Off: `tx-schedule-cpu{fuse-reductions=false}`. Only loops and what they do to the row stand here.
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
        "Lines asked for ahead",
        """
        An innermost loop asks for a line of each row that it goes along, so far in front of it that all of them
        together are what memory sends while it answers; not for what the first cache holds, and not for what goes
        past the caches. Processors that are known to foresee lines (`prefetch_min_bytes`) are asked for one operand
        beside stores past the caches only. Off: `tx-schedule-cpu{prefetch=false}`.
        """,
        """
        def f(x: f32[n], y: f32[n]) -> f32[n]:
            return x * y
        """,
        "loops", "loops", (), shown=LOOPS + r"|prefetch|loop\.load|loop\.store",
        instead="tx-schedule-cpu{prefetch=false}",
    ),
    Section(
        "Square roots by steps",
        """
        A root and a quotient wait for one divider. With AVX-512 roots go by an estimate and Newton's steps, with the
        same bits, where the model finds that to take less: in all copies of a body (`newton = 1`), or in every other
        one (`2`), so that ports and divider share them.
        """,
        """
        def f(x: f32[n], y: f32[n], z: f32[m]) -> (f32[n], f32[m]):
            return sqrt(x * y + 1.5) / (y + 2.0), sqrt(z)
        """,
        "buffers", "loops", (), shown=LOOPS + r"|math|divf", processor="x86-64-v4",
    ),
    Section(
        "How long vectors are",
        """
        With AVX-512 a vector can be as long as a line. Of arrays that are not aligned to lines, as NumPy's need not
        be, each such vector crosses two, and divisions take as long as by halves: so vectors are half as long where
        a cache or the divider is what a kernel waits for, as the sum does here. Products of matrices always have
        long ones.
        """,
        """
        def f(x: f32[n], y: f32[m]) -> (f32[n], f32[m]):
            return exp(-exp(x)), y + y
        """,
        "buffers", "loops", ("vector-width",), shown=r"generic|vector |math|addf", processor="x86-64-v4",
    ),
    Section(
        "Folds across rows past the caches",
        """
        Where a quarter of the second cache holds what is folded, each thread folds a few lines of neighbouring
        results along all rows, in registers. Where it does not, that would be short runs of many pages: then it
        goes along some pages of results, eight rows at a time, with the results so far in the first cache. Each
        block of the order has its own, and these are folded last. Only loops stand here.
        """,
        """
        def f(x: f32[n, m]) -> f32[m]:
            return x.sum([0])
        """,
        "buffers", "loops", ("threads",), shown=LOOPS + r'|loop\.if|kernel',
    ),
    Section(
        "Short rows that fold in any order",
        """
        A row along memory is folded by lanes that lie along it, and at its end these come together by halves. Where
        rows are short that takes longer than to turn tiles of some rows in registers, so that a vector has an element
        of each and nothing is left to bring together. Only folds in any order may go so, and those are worth it that
        say where: of a largest integer or a sum alone little is to be done. Only loops stand here.
        """,
        """
        def f(x: f32[n, m]) -> i64[n]:
            return argmax(x, 1)
        """,
        "buffers", "loops", ("transpose",), shown=LOOPS + r"|loop\.if|min\(-m",
    ),
    Section(
        "Rows whose windows overlap",
        """
        Rows of windows above each other read the same elements. So many of them are computed together (`unroll` of
        the loop around the vectors) as make most of what is read once serve them all, while registers hold the sums
        beside it; places that are equal are found by comparing the expressions of each step. Only loops stand here.
        """,
        """
        def f(x: f32[n, m], k: f32[3, 3]) -> f32[n - 2, m - 2]:
            return x.convolve(k, [0, 1])
        """,
        "buffers", "loops", ("unroll",), shown=LOOPS + r'|kernel',
    ),
    Section(
        "Folds and maps by runs",
        """
        Along two dims that are not neighbours in memory, and of what was reshaped after a transposition, an index
        divides an iterator and takes the rest. The elements between two steps of the quotient are a run: loops go
        over runs and over the places of one, and vectors along memory. A fold's elements are copied so, a block of
        its order at a time, to where they are side by side. Runs known to be shorter than two vectors stay as they
        are: where a number divides, as in repeated elements, as many vectors go together (`unroll`) as give each lane
        a place of its own, and code loads rows, of which it shuffles (`compiler/codegen/emit/memory/shuffle_load.py`).
        Only loops and places stand here.
        """,
        """
        def f(x: f32[n, c, m]) -> f32[c]:
            return x.sum([0, 2])
        """,
        "buffers", "loops", (), shown=LOOPS + r"|loop.load|loop.alloc",
    ),
    Section(
        "Sorting by networks, or by digits",
        """
        A network's time grows with the square of the logarithm of a row, that of merges and of partitions with the
        logarithm, and that of digits with the bits of an element. Only lines with comparators and merges stand here; of
        8 bits there is one digit, which takes less. Where vectors can be compressed (AVX-512), rows go in buckets
        instead: `loop.partition` in place of merges, by a sample of the row.
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
