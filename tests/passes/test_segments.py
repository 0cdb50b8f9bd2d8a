"""What is linear in runs only: the same bits as from memory where it lies in a row, for runs of any length."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from ..codegen.harness import text_at

Array = np.ndarray[Any, Any]
Function = Callable[[Array], Any]

#: Sizes of folds below, at and beyond a block of 1024, of runs shorter and longer than vectors and than a block.
SHAPES = [(3, 2, 5), (5, 3, 400), (2, 3, 512), (40, 2, 77), (1, 4, 3000), (1200, 2, 1), (0, 2, 5), (3, 0, 4), (4, 2, 0)]

#: A fold of the first and the last of three dims, and the same of the second of two.
FOLDS: dict[str, tuple[Function, Function]] = {
    "sum": (lambda z: z.sum((0, 2)), lambda r: r.sum(1)),
    "mean": (lambda z: z.mean((0, 2)), lambda r: r.mean(1)),
    "products": (lambda z: np.einsum("ijk,ijk->j", z, z), lambda r: np.einsum("jk,jk->j", r, r)),
    "variance": (lambda z: z.var((0, 2)), lambda r: r.var(1)),
    "exponentials": (lambda z: np.exp(z).sum((0, 2)), lambda r: np.exp(r).sum(1)),
    "any": (lambda z: (z > 1.5).any((0, 2)), lambda r: (r > 1.5).any(1)),
    "count": (lambda z: np.count_nonzero(z > 0, (0, 2)), lambda r: np.count_nonzero(r > 0, 1)),
}

#: Maps that move elements, and folds to a number.
VIEWS: dict[str, Function] = {
    "tiles": lambda z: np.tile(z, (2, 1, 3)),
    "kron": lambda z: np.kron(z[0], z[-1, :, :40]),
    "turned and flat": lambda z: z.transpose(1, 0, 2).reshape(-1) * 2,
    "turned and rows": lambda z: z.transpose(0, 2, 1).reshape(z.shape[0], -1) - 1,
    "place": lambda z: z[:, :1, ::2].argmax(),
    "greatest": lambda z: z[:, 1:, :3].max(),
    "greatest of two dims": lambda z: z.max((0, 2)),
}


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    rng = np.random.default_rng(shape)
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape)).astype(dtype) if dtype == "c8" else (values * 9).astype(dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "dtype"),
    # Complex numbers have no order, and products of them are rounded otherwise.
    [(n, d) for n in FOLDS for d in ("f4", "f8", "c8", "i4") if d != "c8" or n in ("sum", "exponentials")],
)
def test_folds_have_the_bits_of_what_lies_in_a_row(name: str, dtype: str) -> None:
    folded, in_a_row = map(txc.jit, FOLDS[name])
    for shape in SHAPES:
        z = numbers(shape, dtype)
        row = np.ascontiguousarray(z.transpose(1, 0, 2)).reshape(shape[1], shape[0] * shape[2])
        np.testing.assert_array_equal(folded(z), in_a_row(row), err_msg=str(shape))
        if row.size:
            np.testing.assert_allclose(folded(z), FOLDS[name][0](z), rtol=2e-3, atol=1e-3, err_msg=str(shape))


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(
    ("name", "dtype"),
    [(n, d) for n in VIEWS for d in ("f4", "f8", "i4", "i1")]
    + [("tiles", d) for d in ("c8", "?")]
    + [("kron", "?"), ("turned and flat", "c8"), ("turned and rows", "c8")],
)
def test_views_are_numpys(name: str, dtype: str, threads: int) -> None:
    compiled = txc.jit(VIEWS[name], device=f"cpu:{threads}")
    for shape in [s for s in SHAPES if 0 not in s]:
        z = numbers(shape, dtype)
        np.testing.assert_array_equal(compiled(z), VIEWS[name](z), err_msg=str(shape))


def loops(function: Function, *shape: int) -> str:
    return text_at("loops", function, np.ones(shape, "f4"))


def test_no_division_is_left_where_runs_are_long() -> None:
    for function in (FOLDS["sum"][0], VIEWS["tiles"], VIEWS["turned and flat"]):
        places = re.findall(r"loop\.load %\w+\[(.*)\]", loops(function, 4, 5, 6))
        assert places and not [place for place in places if "//" in place.split(", ")[-1] or place.endswith(")")]


def test_short_runs_of_a_known_length_stay_divided() -> None:
    assert "// 3" in loops(lambda z: np.repeat(z, 3, axis=1), 4, 5)
