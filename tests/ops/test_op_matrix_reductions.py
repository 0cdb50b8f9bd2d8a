"""Every reduction and scan on every dtype, and on every layout, kind of array and rank: machine code against NumPy.

An op has each dtype of a rank with strides known only at run time, called with arrays of all kinds, and every third
of a packed one; ranks come in turn, other ones for each op.  So any two of op, dtype, layout, kind and rank come
together (`tests/pairwise.py`), and each dtype is in all memory for some op.  One program an op has all of its dtypes;
both layouts have one graph, so its code is made once.  Dims and kinds of scans come in turn with the ranks.  Vectors
are narrow: those that users have, more dims and sizes `test_op_matrix.py` has for rank 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from txc.compiler.config.options import Options
from txc.compiler.frontend.tensor.apply import apply
from txc.dialects.registry import Map, Reduction, Scan
from txc.dialects.types import DTYPES

from .generated import (
    KINDS,
    LAYOUTS,
    PAIRS,
    RANKS,
    REDUCTIONS,
    SCANS,
    SPECIAL,
    Case,
    Program,
    Slot,
    dtypes_of,
    placed,
    shape_of,
    values,
)
from .oracles import check_reduction, check_scan

Fold = type[Reduction] | type[Scan]
FOLDS: list[Fold] = [*REDUCTIONS, *SCANS]


def parameters(op: Fold, rank: int) -> dict[str, Any]:
    """Every second dim from the first, or one axis, in the graph's order: the innermost where the rank is odd."""
    if issubclass(op, Reduction):
        return {"dims": tuple(range(0, rank, 2))}
    return {"axis": rank - 1 if rank % 2 else rank // 2 - 1, "exclusive": rank // 2 % 2 == 1}


def users(given: dict[str, Any], layout: str, rank: int) -> dict[str, Any]:
    """The parameters as the user of a layout gives them."""
    if layout == "row":
        return given
    if "dims" in given:
        return {"dims": tuple(rank - 1 - d for d in given["dims"])}
    return {**given, "axis": rank - 1 - given["axis"]}


def reduction_of(op: Fold) -> type[Reduction]:
    return op.reduction() if issubclass(op, Scan) else op


def left_out(op: Fold, case: Case) -> str:
    """Why an op has no such case: an error, as `test_op_matrix_cases.py` holds; empty where it has it."""
    if issubclass(op, Scan):
        return "" if case.rank else "it runs along a dim"
    return "no element is one of none" if not op.empty and case.kind == "size 0" and case.rank == 1 else ""


def shape_for(op: Fold, rank: int, kind: str) -> tuple[int, ...]:
    """The sizes of a kind; an extreme is of at least one element, so the dim without any is one that it keeps."""
    return shape_of(rank, kind, 1 if issubclass(op, Reduction) and not op.empty and rank > 1 else None)


def draw(op: Fold, name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Operands that a fold stays finite of, with the special values it has a meaning for."""
    element, fold = DTYPES[name], reduction_of(op).name
    if element.is_complex:
        made = values(name, shape, seed, (-3, 3), False)
        return np.asarray(made / np.abs(made)) if fold == "prod" else made
    if not element.is_float:
        return values(name, shape, seed, (-40, 40), True)
    if fold == "prod":
        return values(name, shape, seed, (0.5, 1.5), False)
    # Scans of infinities are NaNs from one of them on; which NaN an unordered extreme takes is open.
    special = tuple(v for v in SPECIAL if abs(v) < 1e5) if issubclass(op, Scan) or fold.endswith("fast") else True
    return values(name, shape, seed, (-40, 40), special)


def operands_of(op: Fold) -> list[tuple[str, Slot]]:
    """For each dtype a rank of any strides, more where an op has few dtypes or a kind few ops, and some packed ones."""
    fold, names = issubclass(op, Reduction), dtypes_of(op)
    ranks, turn = RANKS[not fold :], SCANS.index(op) if issubclass(op, Scan) else REDUCTIONS.index(op)
    made: list[tuple[str, Slot]] = []
    for i, name in enumerate(names):
        apart = min(len(names), len(ranks) if fold and not DTYPES[name].is_complex else 2)
        some = [rank for rank in ranks if (rank + i + 3 * turn) % apart == 0]
        packed = [rank for rank in ranks if rank and rank not in some] or ranks
        made += [(name, Slot(rank, not rank)) for rank in some]
        if op.name == "sum":  # which may be of no elements, as vectors of none need
            made.append((name, Slot(1, True)))
        elif (i + turn) % 3 == 0:
            made.append((name, Slot(packed[(i + turn) // 3 % len(packed)], True)))
    return made


def run_cases(op: Fold) -> set[Case]:
    return {
        in_call(op, name, layout, slot, kind) for layout in LAYOUTS for name, slot in operands_of(op) for kind in KINDS
    }


def in_call(op: Fold, name: str, layout: str, slot: Slot, kind: str) -> Case:
    """The case of an operand in the call for that kind."""
    case = Case(op.name, name, layout, slot.nearest(kind), slot.rank)
    return case._replace(kind="contiguous") if left_out(op, case) else case


#: The cases of this file, each of which is compared with its meaning.
RUN = {case for op in FOLDS for case in run_cases(op)}


@pytest.mark.parametrize("op", FOLDS, ids=lambda op: op.name)
def test_folds(op: Fold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Map, "OUTLINED", 1.0)
    made: set[Case] = set()
    operands = operands_of(op)
    for layout in LAYOUTS:
        with Program(op.name) as program:
            for name, slot in operands:
                x = program.input(draw(op, name, shape_for(op, slot.rank, "contiguous"), 0), slot.fact, layout)
                found = apply(op, x, **users(parameters(op, slot.rank), layout, slot.rank))
                program.outputs += found if isinstance(found, tuple) else (found,)
        executable = program.compile(Options.of(passes=PAIRS))
        for call, kind in enumerate(KINDS):
            given = [in_call(op, name, layout, slot, kind) for name, slot in operands]
            seeds = [100 * call + case.rank for case in given]
            shapes = [shape_for(op, case.rank, case.kind) for case in given]
            arrays = [placed(draw(op, c.dtype, s, seed), c.kind) for c, s, seed in zip(given, shapes, seeds)]
            got = iter(executable(arrays, (), 1 + call % 2))
            for case, array in zip(given, arrays):
                results = [next(got) for _ in range(op.results)]
                if issubclass(op, Reduction):
                    check_reduction(op, array, parameters(op, case.rank)["dims"], results, str(case))
                else:
                    check_scan(op, array, parameters(op, case.rank), results[0], str(case))
                made.add(case)
    assert made == run_cases(op)
