"""What ops do beyond the product of `test_op_matrix_reductions.py` and `test_op_matrix_views.py`, on arrays of rank 2.

Folds and scans along each of the dims, of more sizes, by the vectors and threads that users have; views alone, by all
their parameters; contractions and structural ops.  One compiled function an op holds all its cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from txc.compiler.call.facts import StrideClass, stride_fact
from txc.compiler.config.options import Options
from txc.compiler.frontend.tensor.apply import apply
from txc.compiler.tools.bisect import differing
from txc.dialects.registry import OPS, Op, Reduction, Scan, View
from txc.dialects.types import DTYPES, dtype, tensor_type

from .generated import PACKED, REDUCTIONS, SCANS, VIEWS, Program, any_strides, dtypes_of, inside, values
from .oracles import check_reduction, check_scan

SHAPE = (5, 19)
ANY_STRIDES = any_strides(2)
FACTS = (PACKED, ANY_STRIDES)

#: Arrays of any strides and rank, made from a packed one: the same values elsewhere in memory.
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "fortran": lambda a: np.array(a, order="F"),
    "strided": lambda a: inside(a, (2, 3) * a.ndim),
    "negative": lambda a: np.flip(np.array(np.flip(a), order="C")),
}
#: With one that repeats its first row: the only strides of 0 that arrays have.
ALL_LAYOUTS = {**LAYOUTS, "repeated": lambda a: np.broadcast_to(a[:1], a.shape) if a.ndim else a}


def real_dtypes(op: type[Op]) -> list[str]:
    """The dtypes of an op but the complex ones, which `test_complex.py` has."""
    return [name for name in dtypes_of(op) if not DTYPES[name].is_complex]


#: Where the result with NaNs is unspecified, or an overflow depends on the order.
TAME = {"maximum_fast", "minimum_fast", "prod"}


DIMS: list[tuple[int, ...]] = [(1,), (0,), (0, 1)]


def reduction_cases(op: type[Reduction]) -> list[tuple[str, tuple[int, ...]]]:
    """Every second dtype, for the next op the others, and each of `DIMS` in turn (pairs, see `tests/pairwise.py`)."""
    turn, names = REDUCTIONS.index(op), real_dtypes(op)
    if len(names) < 2 * len(DIMS):
        return [(name, DIMS[(i + turn) % len(DIMS)]) for i, name in enumerate(names * -(-len(DIMS) // len(names)))]
    return [(name, DIMS[(i + turn) % len(DIMS)]) for i, name in enumerate(names[turn % 2 :: 2])]


def reduction_shapes(op: type[Reduction]) -> list[tuple[int, int]]:
    return [SHAPE, (70, 67), (1, 1), (6, 35), *([(0, 3), (3, 0), (0, 0)] if op.empty else [])]


@pytest.mark.parametrize("op", REDUCTIONS, ids=lambda op: op.name)
def test_reduction(op: type[Reduction]) -> None:
    cases = reduction_cases(op)
    with Program(op.name) as program:
        for name, axes in cases:
            made = apply(op, program.input(values(name, SHAPE, 0, (-2, 2), False), PACKED), dims=axes)
            program.outputs.extend(made if isinstance(made, tuple) else (made,))
    executable = program.compile()
    for seed, shape in enumerate(reduction_shapes(op)):
        domain = (0.5, 1.5) if op.name == "prod" else (-40, 40)
        special = bool(seed % 2) and op.name not in TAME
        arrays = [values(n, shape, 7 * seed + i, domain, special) for i, (n, _) in enumerate(cases)]
        got = iter(executable(arrays, (), 2 if shape == (70, 67) else 1))
        for array, (name, axes) in zip(arrays, cases):
            results = [next(got) for _ in range(op.results)]
            check_reduction(op, array, axes, results, f"{op.name} of {name} over {axes} for {shape}")


def scan_cases(op: type[Scan]) -> list[tuple[str, int, bool]]:
    """Of each dtype both axes, one exclusive: which one, neighbours among dtypes have in turn."""
    names = enumerate(real_dtypes(op), SCANS.index(op))
    return [(name, axis, bool((i + axis) % 2)) for i, name in names for axis in (1, 0)]


SCAN_SHAPES = [SHAPE, (70, 67), (1, 1), (6, 35), (0, 3), (3, 0)]


@pytest.mark.parametrize("op", SCANS, ids=lambda op: op.name)
def test_scan(op: type[Scan]) -> None:
    """Bitwise where the order does not matter, else within what any order of n roundings can lose."""
    fold, cases = op.reduction(), scan_cases(op)
    with Program(op.name) as program:
        for name, axis, exclusive in cases:
            x = program.input(values(name, SHAPE, 0, (-2, 2), False), PACKED)
            program.outputs.append(apply(op, x, axis=axis, exclusive=exclusive))
    executable = program.compile()
    for seed, shape in enumerate(SCAN_SHAPES):
        domain = (0.5, 1.5) if fold.name == "prod" else (-40, 40)
        special = bool(seed % 2) and fold.name not in TAME
        arrays = [values(n, shape, 7 * seed + i, domain, special) for i, (n, *_) in enumerate(cases)]
        results = executable(arrays, (), 2 if shape == (70, 67) else 1)
        for array, got, (name, axis, exclusive) in zip(arrays, results, cases):
            what = f"{op.name} of {name} over {axis}, exclusive={exclusive}, for {shape}"
            check_scan(op, array, {"axis": axis, "exclusive": exclusive}, got, what)


#: For each view: parameters for operands of `SHAPE` whose results depend on the sizes in every dim.
VIEW_PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "reshape": [{"dims": (19, 5)}, {"dims": (95,)}],
    "shuffle": [{"permutation": (1, 0)}, {"permutation": (0, 1)}],
    "expand": [{"dims": (3, "rows", "columns")}],
    "broadcast": [{"factors": (2, 3)}],
    "chip": [{"offset": 2, "dim": 0}, {"offset": 18, "dim": 1}],
    "slice": [{"offsets": (1, 3), "extents": (3, 11)}, {"offsets": (5, 0), "extents": (0, 2)}],
    "strided_slice": [{"start": (0, 2), "stop": (5, 17), "strides": (2, 3)}],
    "stride": [{"strides": (2, 5)}],
    "reverse": [{"flags": (True, False)}, {"flags": (True, True)}],
    "pad": [{"pairs": (1, 2, 0, 3), "fill": 0.0}, {"pairs": (0, 0, 4, 4), "fill": 1.0}],
    "inflate": [{"strides": (2, 3), "fill": 1.0}, {"strides": (1, 4)}],
    "extract_patches": [{"patch_dims": (2, 7)}, {"patch_dims": (5, 1)}],
    "windows": [{"sizes": (3, 2), "dims": (1, 0)}, {"sizes": (6,), "dims": (1,)}],
    "diagonal": [{"offset": 0}, {"offset": 3}, {"offset": -2}],
}
#: Tested elsewhere: a change of what dims are called, and views that need dims of size 1, or more dims, or one.
OTHER_VIEWS = {"swap_layout", "squeeze", "extract_image_patches", "extract_volume_patches", "as_strided"}


def test_every_view_is_here() -> None:
    assert {op.name for op in VIEWS} == set(VIEW_PARAMETERS) | OTHER_VIEWS


def resolved(given: dict[str, Any], shape: Sequence[Any]) -> dict[str, Any]:
    """The parameters, with the operand's sizes where they are named."""
    if "dims" not in given:
        return given
    return {**given, "dims": tuple({"rows": shape[0], "columns": shape[1]}.get(d, d) for d in given["dims"])}


def view_cases(op: type[View]) -> list[tuple[str, dict[str, Any], StrideClass]]:
    """All parameters for one dtype of each width, which is all a view sees of it, packed or not in turn."""
    names, parameters = enumerate(("bool", "i16", "f32", "f64", "c128")), VIEW_PARAMETERS[op.name]
    return [(name, p, FACTS[(i + j) % 2]) for i, name in names for j, p in enumerate(parameters)]


PARAMETRISED_VIEWS = [v for v in VIEWS if v.name not in OTHER_VIEWS]


@pytest.mark.parametrize("op", PARAMETRISED_VIEWS, ids=lambda op: op.name)
def test_view(op: type[View]) -> None:
    cases = view_cases(op)
    with Program(op.name) as program:
        for name, given, fact in cases:
            x = program.input(values(name, SHAPE, 0, (-9, 9), False), fact)
            program.outputs.append(apply(op, x, **resolved(given, x.shape)))
    executable = program.compile()
    for seed, layout in enumerate(ALL_LAYOUTS.values()):
        packed = [values(n, SHAPE, seed + i, (-9, 9), True) for i, (n, _, _) in enumerate(cases)]
        arrays = [a if f == PACKED else layout(a) for a, (_, _, f) in zip(packed, cases)]
        for x, (name, given, _), got in zip(arrays, cases, executable(arrays), strict=True):
            kind = tensor_type(x.dtype, x.shape)
            (expected,) = op.evaluate([x], op.bind([kind], resolved(given, x.shape)))
            difference = differing([expected], [got])
            assert difference is None, f"{op.name} {given} of {name}: {difference}"


def structural_results(x: Any, y: Any, i: Any) -> Iterator[Any]:
    yield apply("concatenate", x, y, axis=0)
    yield apply("concatenate", y, x, x, axis=1)
    yield apply("take", x, i, axis=0)
    yield apply("take", x, i, axis=1)
    yield apply("eval", x)


def structural_meaning(x: np.ndarray, y: np.ndarray, i: np.ndarray) -> Iterator[np.ndarray]:
    yield np.concatenate([x, y], 0)
    yield np.concatenate([y, x, x], 1)
    for axis in (0, 1):
        n = x.shape[axis]
        yield np.take(x, np.clip(np.where(i < 0, i + n, i), 0, n - 1), axis)
    yield x


@pytest.mark.parametrize("turn", [0, 1])
def test_structural(turn: int) -> None:
    """Every second dtype, of them packed ones and others in turn."""
    names = list(DTYPES)[turn::2]
    made = [(FACTS[i % 2], [values(name, SHAPE, s, (-9, 9), True) for s in (1, 2)]) for i, name in enumerate(names)]
    index = np.array([3, -1, 0, 100, -100, 2])
    with Program("structural") as program:
        for fact, (x, y) in made:
            symbols = [program.input(x, fact), program.input(y, fact), program.input(index, PACKED)]
            program.outputs.extend(structural_results(*symbols))
    executable = program.compile()
    for layout in LAYOUTS.values():
        calls = [[a if f == PACKED else layout(a) for a in arrays] for f, arrays in made]
        got = iter(executable([a for arrays in calls for a in (*arrays, index)]))
        for name, (x, y) in zip(names, calls):
            expected = [*structural_meaning(x, y, index)]
            assert differing(expected, [next(got) for _ in expected]) is None, name


@pytest.mark.parametrize("name", [n for n, d in DTYPES.items() if d.kind != "bool" and not d.is_complex])
def test_contract(name: str) -> None:
    """All sizes around the tiles, and one column, which has code of its own: integers bitwise, floats within the bound
    of any order of the sum."""
    op = OPS["contract"]
    executables = {}
    for columns in (1, 5):
        with Program("contract") as program:
            for fact in FACTS:
                a, b = (program.input(values(name, s, 0, (-3, 3), False), fact) for s in ((4, 6), (6, columns)))
                program.outputs.append(apply(op, a, b, pairs=((1, 0),)))
        executables[columns == 1] = program.compile()
    sizes = [(4, 6, 5), (1, 1, 1), (0, 3, 2), (2, 0, 3), (33, 70, 17), (7, 600, 40), (33, 70, 1), (0, 3, 1), (2, 0, 1)]
    for seed, (m, k, n) in enumerate(sizes):
        packed = [values(name, s, seed, (-3, 3), False) for s in ((m, k), (k, n)) * 2]
        layout = list(LAYOUTS.values())[seed % 3]
        arrays = [*packed[:2], *(layout(a) for a in packed[2:])]
        for x, y, got in zip(arrays[::2], arrays[1::2], executables[n == 1](arrays, (), 2)):
            element = dtype(x.dtype)
            if not element.is_float:
                np.testing.assert_array_equal(got, x @ y)
                continue
            wide = [v.astype(np.longdouble) for v in (x, y)]
            eps = [float(ml_dtypes.finfo(d).eps) for d in (element.computes_in.numpy, element.numpy)]
            bound = (k + 1) * eps[0] * (np.abs(wide[0]) @ np.abs(wide[1])) + eps[1] * np.abs(wide[0] @ wide[1])
            assert (np.abs(got.astype(np.longdouble) - wide[0] @ wide[1]) <= bound).all(), f"{m}x{k}x{n}"


def test_every_fact_gives_the_same() -> None:
    """Code compiled for the very strides of each layout computes the same bits as code for packed arrays.

    Folds go as the program counts dims here; `tests/passes/test_reduction_order.py` has those that go along memory.
    """
    counted = Options.of(passes="tx-reduction-order{follow-layout=false}")
    x = values("f32", SHAPE, 3, (-4, 4), False)
    layouts: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "packed": lambda a: a, **LAYOUTS, "rows": lambda a: inside(a, (2, 1)),
        "columns": lambda a: inside(a.T, (2, 1)).T,
        "repeated": lambda a: np.broadcast_to(a[:1], a.shape),
    }  # fmt: skip
    facts = {stride_fact(layout(x)) for layout in layouts.values()}
    assert len(facts) >= 6
    for name, layout in layouts.items():
        array = layout(x)
        same = np.ascontiguousarray(array)
        results = []
        for a in (array, same):
            with Program("facts") as program:
                t = program.input(a, stride_fact(a))
                program.outputs += [apply("exp", t), apply("sum", t, dims=(0,)), apply("sum", t, dims=(1,)),
                                    apply("sum", t), apply("argmax", t)]  # fmt: skip
            results.append(program.compile(counted)([a]))
        assert differing(*results) is None, name


#: How many comparisons of one result with its meaning the tests above make, by family.
COUNTED = {
    "reduction": sum(len(reduction_cases(op)) * len(reduction_shapes(op)) for op in REDUCTIONS),
    "scan": sum(len(scan_cases(op)) for op in SCANS) * len(SCAN_SHAPES),
    "view": sum(len(view_cases(op)) for op in PARAMETRISED_VIEWS) * len(ALL_LAYOUTS),
}
