"""Every view on every dtype, layout, kind of array and rank: machine code against the op's index map.

One program a view has all ranks with strides known only at run time, called with arrays of all kinds, and packed ones
of some; each dtype has some of these, in turn, so that any two of view, dtype, layout, kind and rank come together
(`tests/pairwise.py`).  The views of one rank are one nest: a flag chooses between each and zero, which makes them
siblings.  Views alone, and further parameters, `test_op_matrix.py` has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from txc.compiler.config.options import Options
from txc.compiler.frontend.tensor.apply import apply
from txc.compiler.frontend.trace.emit import resolved
from txc.compiler.tools.bisect import differing
from txc.dialects.registry import View
from txc.dialects.types import DTYPES, tensor_type

from .generated import (
    KINDS,
    LAYOUTS,
    PACKED,
    PAIRS,
    RANKS,
    SHAPES,
    VIEWS,
    Case,
    Program,
    Slot,
    in_users_order,
    placed,
    shape_of,
    values,
)

#: For each view its parameters for operands with these dims (numbers, or symbols of a graph), in the graph's order.
PARAMETERS: dict[str, Callable[[Sequence[Any]], dict[str, Any]]] = {
    "reshape": lambda d: {"dims": (1, *d[::-1])},
    "shuffle": lambda d: {"permutation": tuple((i + 1) % len(d) for i in range(len(d)))},
    "expand": lambda d: {"dims": (2, *d)},
    "broadcast": lambda d: {"factors": tuple(2 - i % 2 for i in range(len(d)))},
    "chip": lambda d: {"offset": d[0] // 2 if d else 0, "dim": 0},
    "slice": lambda d: {"offsets": tuple(n // 2 for n in d), "extents": tuple(n - n // 2 for n in d)},
    "strided_slice": lambda d: {
        "start": tuple(n - 1 if i % 2 else 0 for i, n in enumerate(d)),
        "stop": tuple(-1 if i % 2 else n for i, n in enumerate(d)),
        "strides": tuple(-1 if i % 2 else 2 for i in range(len(d))),
    },
    "stride": lambda d: {"strides": tuple(2 - i % 2 for i in range(len(d)))},
    "reverse": lambda d: {"flags": tuple(i % 2 == 0 for i in range(len(d)))},
    "pad": lambda d: {"pairs": tuple((i + 1) % 3 for i in range(2 * len(d))), "fill": 1.0},
    "inflate": lambda d: {"strides": tuple(2 - i % 2 for i in range(len(d))), "fill": 1.0},
    "squeeze": lambda d: {"dims": (0,)},
    "swap_layout": lambda d: {},
    "diagonal": lambda d: {"offset": 1 - len(d) % 3},
    "windows": lambda d: {"sizes": ((d[0] + 1) // 2 if d else 1,), "dims": (0,)},
    "extract_patches": lambda d: {"patch_dims": tuple(min(2, n) for n in SHAPES[len(d)])},
    "extract_image_patches": lambda d: {"rows": 2, "cols": 3, "col_stride": 2, "row_inflate": 2, "fill": 1.0},
    "as_strided": lambda d: {
        "offset": (d[0] - 1 if d else 0,),
        "dims": ((d[0] + 1) // 2 if d else 1, 2),
        "strides": (-2, 0),
    },
    "extract_volume_patches": lambda d: {"planes": 2, "rows": 1, "cols": 2, "in_row_stride": 2, "fill": 1.0},
}
#: Their results depend on the order of the dims: those of a column-major tensor are the reverse of all they say.
ORDERED = {"reshape", "expand", "extract_patches", "extract_image_patches", "extract_volume_patches"}
#: How many dims a view needs at least.
LEAST_RANK = {
    "as_strided": 1,
    "chip": 1,
    "windows": 1,
    "diagonal": 2,
    "extract_image_patches": 3,
    "extract_volume_patches": 4,
}
ROWS_ONLY = {"diagonal", "windows"}


def left_out(op: type[View], case: Case) -> str:
    """Why a view has no such case: an error, as `test_op_matrix_cases.py` holds; empty where it has it."""
    if case.rank < LEAST_RANK.get(op.name, 0):
        return "it needs more dims"
    if op.name == "as_strided" and case.rank > 1:
        return "it takes a vector"
    if op.name == "chip" and case.rank == 1 and case.kind == "size 0":
        return "it takes one of no elements"
    if op.name == "extract_patches" and case.kind in ("size 0", "size 1"):
        return "no patch of two fits it"
    return "it has no column-major form" if op.name in ROWS_ONLY and case.layout == "col" else ""


def slots_of(op: type[View], layout: str) -> list[Slot]:
    """Every rank with any strides, and every second one packed, where the view has those."""
    slots = [*(Slot(rank, not rank) for rank in RANKS), *(Slot(rank, True) for rank in RANKS[1::2])]
    return [slot for slot in slots if not left_out(op, Case(op.name, "", layout, "contiguous", slot.rank))]


#: Every how many slots a dtype has one.
APART = 5


def operands_of(op: type[View], layout: str) -> list[tuple[Slot, str]]:
    """The slots with the dtypes that have them: each dtype some, for each view others."""
    turn, slots = VIEWS.index(op), slots_of(op, layout)
    apart = min(APART, len(slots))
    return [(slot, n) for i, slot in enumerate(slots) for j, n in enumerate(DTYPES) if (i + j + turn) % apart == 0]


def run_cases(op: type[View]) -> set[Case]:
    return {
        in_call(op, name, layout, slot, kind)
        for layout in LAYOUTS
        for slot, name in operands_of(op, layout)
        for kind in KINDS
    }


def viewed(op: type[View], x: Any, layout: str) -> Any:
    """The view of a graph's operand, by parameters in the order of the user's dims."""
    if op.name == "squeeze":  # the dim it drops is known to be 1
        x = apply("expand", x, dims=(1, *x.shape) if layout == "row" else (*x.shape, 1))
    kind = resolved(x.value)
    given = op.bind([kind], PARAMETERS[op.name](kind.dims))
    return apply(op, x, **(given if layout == "row" else op.mirror(given, kind.rank)))


def meaning(op: type[View], a: np.ndarray, layout: str) -> np.ndarray:
    """By NumPy of arrays in the graph's order, parameters being those of the user's dims, but for an `ORDERED` view."""
    a = a[None] if op.name == "squeeze" else a
    given = op.bind([tensor_type(a.dtype, a.shape)], PARAMETERS[op.name](a.shape))
    if op.name in ORDERED or layout == "row":
        (found,) = op.evaluate([a], given)
    else:
        (found,) = op.evaluate([a.T], op.mirror(given, a.ndim))
    column_major = (layout == "col" and op.name not in ORDERED) != (op.name == "swap_layout")
    return in_users_order(found, "col" if column_major else "row")


def in_call(op: type[View], name: str, layout: str, slot: Slot, kind: str) -> Case:
    """The case of an operand in the call for that kind."""
    case = Case(op.name, name, layout, slot.nearest(kind), slot.rank)
    return case._replace(kind="contiguous") if left_out(op, case) else case


def draw(case: Case, call: int) -> np.ndarray:
    """The operand of a case, in the graph's order of dims."""
    seed = 100 * call + case.rank + list(DTYPES).index(case.dtype)
    return placed(values(case.dtype, shape_of(case.rank, case.kind), seed, (-9, 9), True), case.kind)


#: The cases of this file, each of which is compared with its meaning.
RUN = {case for op in VIEWS for case in run_cases(op)}


@pytest.mark.parametrize("op", VIEWS, ids=lambda op: op.name)
def test_views(op: type[View]) -> None:
    made: set[Case] = set()
    for layout in LAYOUTS:
        operands = operands_of(op, layout)
        with Program(op.name) as program:
            flag = program.input(np.array(True), PACKED)
            first: dict[Slot, Any] = {}
            for slot, name in operands:
                element = DTYPES[name].numpy
                x = program.input(
                    np.empty(shape_of(slot.rank, "contiguous"), element), slot.fact, layout, first.get(slot)
                )
                first.setdefault(slot, x)
                program.outputs.append(apply("select", flag, viewed(op, x, layout), np.zeros((), element)[()]))
        executable = program.compile(Options.of(passes=PAIRS))
        for call, kind in enumerate(KINDS):
            given = [in_call(op, name, layout, slot, kind) for slot, name in operands]
            arrays = [draw(case, call) for case in given]
            results = executable([np.array(True), *arrays], (), 1 + call % 2)
            for case, array, got in zip(given, arrays, results, strict=True):
                difference = differing([meaning(op, array, layout)], [got])
                assert difference is None, f"{case}: {difference}"
                made.add(case)
    assert made == run_cases(op)
