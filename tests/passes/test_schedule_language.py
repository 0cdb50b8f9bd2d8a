"""The schedule language: what primitives make of a nest, what they refuse, and that none changes a bit of a result."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from txc.dialects.dims.dims import sym
from txc.passes.cost.remarks import collect
from txc.passes.schedule.language.nest import Nest
from txc.passes.schedule.language.preconditions import IllegalSchedule
from txc.passes.schedule.language.user import scheduled_by

from .nests import function, nest, scheduled

X, TURNED = "f32[n, m] by [m, 1]", "f32[m, n] by [n, 1]"
DOUBLE = "^bb0(%a: f32):\n%b = arith.addf %a, %a : f32\nkernel.yield %b : f32"
PLAIN = nest("n, m", [("x", X, "d0, d1")], [("y", X, "d0, d1")], DOUBLE)
CROSSING = nest("n, m", [("x", TURNED, "d1, d0")], [("y", X, "d0, d1")], DOUBLE)
PADDED = nest("n, m", [("x", X, "d0, d1 - 2 where (d1 - 2, m - 1 - d1)")], [("y", X, "d0, d1")], DOUBLE)
IN_PLACE = nest("n, m", [("y", X, "d0, d1 + 1 where (m - 2 - d1)")], [("y", X, "d0, d1")], DOUBLE)


def text_of(program: str, schedule: Callable[[Nest], None]) -> str:
    """The program that a remark shows for a nest, and that it is compiled without an error."""
    x = TURNED if program is CROSSING else X
    scheduled.cache_clear()  # its key knows no schedule
    with collect() as remarks, scheduled_by(schedule):
        made = scheduled(function({"x": x, "y": X}, program, "n, m"))
    scheduled.cache_clear()
    (said,) = [r for r in remarks if r.kind == "schedule"]
    rng = np.random.default_rng(3)
    for n, m in [(0, 3), (1, 1), (7, 9), (33, 70)]:
        sizes = [(m, n) if x is TURNED else (n, m), (n, m)]
        made.check([rng.standard_normal(s).astype(np.float32) for s in sizes], {"n": n, "m": m})
    return said.chosen


def in_rows(nest: Nest) -> None:
    i, j = nest.loops
    outer, inner = nest.split(j, 16)
    nest.reorder(outer, i, inner)
    nest.vectorize(inner, 8, unroll=2)
    nest.parallel(outer, i)


def in_tiles(nest: Nest) -> None:
    i, j = nest.loops
    j_tile, j = nest.split(j, 24)
    i_tile, i = nest.split(i, 8)
    nest.reorder(i_tile, j_tile, i, j)
    _, copied = nest.stage(j_tile)
    nest.vectorize(copied, 16)
    nest.vectorize(j, 4)
    nest.unroll_and_jam(i, 4)
    nest.parallel(i_tile)


def without_guards(nest: Nest) -> None:
    _, j = nest.loops
    before, inside, after = nest.peel_guards(j)
    head, main = nest.peel(inside, 3)
    for part in (before, head, after):
        nest.vectorize(part, 4)
    nest.vectorize(main, 8, unroll=2)


def jammed(nest: Nest) -> None:
    i, j = nest.loops
    nest.vectorize(j, 8)
    nest.unroll_and_jam(i, 3)
    nest.parallel(i)


def by_size(nest: Nest) -> None:
    _, j = nest.loops
    nest.specialize(j.extent - 8, in_rows, lambda short: short.vectorize(short.loops[1], 2))


def in_one_loop(nest: Nest) -> None:
    chunk, rest = nest.split(nest.collapse(*nest.loops), 1000)
    nest.parallel(chunk)
    nest.vectorize(rest, 64)


SHAPED = [
    (PLAIN, in_one_loop, """\
d0, d1 = nest.loops
d0_d1 = nest.collapse(d0, d1)
d0_d1_o, d0_d1_i = nest.split(d0_d1, 1000)
nest.parallel(d0_d1_o)
nest.vectorize(d0_d1_i, 64)"""),
    (CROSSING, in_tiles, """\
d0, d1 = nest.loops
d1_o, d1_i = nest.split(d1, 24)
d0_o, d0_i = nest.split(d0, 8)
nest.reorder(d0_o, d1_o, d0_i, d1_i)
d0_i_copy, d1_i_copy = nest.stage(d1_o)
nest.vectorize(d1_i_copy, 16)
nest.vectorize(d1_i, 4)
nest.unroll_and_jam(d0_i, 4)
nest.parallel(d0_o)"""),
    (PADDED, without_guards, """\
d0, d1 = nest.loops
d1_before, d1_inside, d1_after = nest.peel_guards(d1)
d1_inside_head, d1_inside_main = nest.peel(d1_inside, 3)
nest.vectorize(d1_before, 4)
nest.vectorize(d1_inside_head, 4)
nest.vectorize(d1_after, 4)
nest.vectorize(d1_inside_main, 8, unroll=2)"""),
    (PADDED, jammed, """\
d0, d1 = nest.loops
nest.vectorize(d1, 8)
nest.unroll_and_jam(d0, 3)
nest.parallel(d0)"""),
    (PLAIN, by_size, """\
d0, d1 = nest.loops
if m - 8 > 0:
    d1_o, d1_i = nest.split(d1, 16)
    nest.reorder(d1_o, d0, d1_i)
    nest.vectorize(d1_i, 8, unroll=2)
    nest.parallel(d1_o, d0)
else:
    nest.vectorize(d1, 2)"""),
]  # fmt: skip


@pytest.mark.parametrize(("program", "schedule", "shown"), SHAPED, ids=[s.__name__ for _, s, _ in SHAPED])
def test_a_schedule_is_shown_as_its_program_and_changes_no_bit(program, schedule, shown):
    """Kernels, interpreted loops and machine code agree (`Scheduled.check`)."""
    assert text_of(program, schedule) == shown


def test_the_loops_of_a_reduction_are_those_over_its_results():
    """What is reduced is no loop of the nest: no primitive can change its order."""
    add = "^bb0(%a: f32, %b: f32):\n%c = arith.addf %a, %b : f32\nkernel.yield %c : f32"
    same = "^bb0(%a: f32):\nkernel.yield %a : f32"
    x, y = "f32[n, k, m] by [k*m, m, 1]", "f32[n, m] by [m, 1]"
    sums = nest("n, m, k", [("x", x, "d0, d2, d1")], [("y", y, "d0, d1")], same, order="chain<32>",
                identity="0.0 : f32", merge=add, finish=same)  # fmt: skip
    scheduled.cache_clear()
    with collect() as remarks:
        scheduled(function({"x": x, "y": y}, sums, "n, m, k"), lanes=4, unroll=2)
    (said,) = [r for r in remarks if r.kind == "schedule"]
    assert said.chosen == "d0, d1 = nest.loops\nnest.vectorize(d1, 4, unroll=2)\nnest.parallel(d0)"


REFUSED: list[tuple[str, Callable[[Nest], object], str]] = [
    (PLAIN, lambda n: n.vectorize(n.loops[0], 8), "vectorize(d0, 8): d0 is not innermost in d0, d1"),
    (PLAIN, lambda n: n.vectorize(n.loops[1], 6), "vectorize(d1, 6): lanes are a power of two up to 64"),
    (PLAIN, lambda n: n.vectorize(n.loops[1], 8, unroll=0), "unroll is an int up to 64"),
    (PLAIN, lambda n: n.split(n.loops[0], 0), "split(d0, 0): the size is no positive integer"),
    (PLAIN, lambda n: n.split(n.split(n.loops[0], 8)[0], 2), "split(d0_o, 2): d0_o counts by 8"),
    (PLAIN, lambda n: (n.split(n.loops[0], 8), n.reorder(*n.loops[1::-1])), "d0_i counts within an iteration of d0_o"),
    (PLAIN, lambda n: (n.split(d := n.loops[0], 8), n.split(d, 8)), "d0 is no loop of the nest, which has d0_o, d0_i"),
    (PLAIN, lambda n: n.parallel(n.loops[1]), "parallel(d1): these are not the outermost loops, in order, of d0, d1"),
    (PLAIN, lambda n: (n.parallel(n.loops[0]), n.split(n.loops[0], 8)), "split(d0, 8): threads share d0"),
    (PLAIN, lambda n: n.parallel(*n.split(n.loops[0], 8)), "parallel(d0_o, d0_i): d0_i counts within an iteration"),
    (PLAIN, lambda n: n.peel_guards(n.loops[1]), "peel_guards(d1): no operand has a guard that asks for d1 alone"),
    (PLAIN, lambda n: n.peel(n.loops[0], 3), "peel(d0, 3): d0 is not the innermost loop"),
    (PLAIN, lambda n: n.stage(n.loops[0]), "stage(d0): how long d1 is, is not known"),
    (PLAIN, lambda n: n.unroll_and_jam(n.loops[1], 2), "d1 is not directly around the innermost loop, d1"),
    (PLAIN, lambda n: (n.split(n.loops[1], 8), n.unroll_and_jam(n.loops[0], 2)), "d0 is not directly around the inner"),
    (PLAIN, lambda n: (n.peel(n.loops[1], 2), n.vectorize(n.loops[1])), "d1 is peeled into d1_head, d1_main"),
    (PLAIN, lambda n: n.specialize(sym("d0"), Nest.default, Nest.default), "it is not known before the nest runs"),
    (PLAIN, lambda n: n.specialize(n.split(n.loops[0], 8)[1].lower, in_rows, in_rows), "before the nest runs"),
    (CROSSING, lambda n: n.collapse(*n.loops), "operand 0 does not step through them as through one dim"),
    (IN_PLACE, lambda n: n.vectorize(n.loops[1], 8), "operand 0 reads elements of the array that other iterations"),
    (IN_PLACE, lambda n: n.parallel(n.loops[0]), "operand 0 reads elements of the array that other iterations store"),
    (IN_PLACE, lambda n: n.reorder(*n.loops[::-1]), "operand 0 reads elements of the array that other iterations"),
]


@pytest.mark.parametrize(("program", "schedule", "text"), REFUSED, ids=[text[:60] for _, _, text in REFUSED])
def test_what_a_nest_does_not_allow_names_the_precondition(program, schedule, text):
    scheduled.cache_clear()
    with scheduled_by(schedule), pytest.raises(IllegalSchedule) as error:
        scheduled(function({"x": TURNED if program is CROSSING else X, "y": X}, program, "n, m"))
    assert text in str(error.value) and error.value.code == "TX0420"
