"""What is no loop nest, on the simulator: sorts, searches, transforms, factorisations, stores at places that are data.

Their loops are those of the CPU with threads in the place of lanes, so the bits are too.  Each function of such a row
has a case, so that none is without code for a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.tensor.apply import apply
from txc.compiler.tools.bisect import differing
from txc.passes.schedule.custom import LOOP_GENERATORS

from ..ops.generated import PAIRS
from .devices import on_gpus

RNG = np.random.default_rng(8)
X = RNG.standard_normal((5, 8)).astype(np.float32)
X[1, 2:5] = [np.nan, -0.0, 0.0]
WAVES = X[:1] + 1j * X[2:3]
SQUARE = (lambda a: a @ a.T + 4 * np.eye(4))(RNG.standard_normal((4, 4))).astype(np.float32)


def sorts(x: Any) -> Any:
    return np.sort(x, axis=1), np.argsort(x, axis=0)


def sorts_complex_numbers(x: Any) -> Any:
    return np.sort(x, axis=1)


def searches(x: Any) -> Any:
    return np.searchsorted(np.sort(x[0]), x[1:3])


def selects(x: Any) -> Any:
    kth = apply("kth_elements", x, np.zeros((len(x), 1), np.int64) + 2)
    return kth, apply("partition_positions", x, kth)


def chooses(x: Any) -> Any:
    return apply("flatnonzero", np.arange(9) % 3 < 1 + 0 * x[0, 0], extent=3)


def transforms(x: Any) -> Any:
    return np.fft.fft(x[:, :6], axis=1), np.fft.ifft(x[:, :7], axis=1)


def transform_of_any_length(x: Any) -> Any:
    return np.fft.fft(x, axis=1)


def solves(a: Any) -> Any:
    return np.linalg.solve(a, a[:, :2] + 1), np.linalg.det(a)


def factors(a: Any) -> Any:
    return np.linalg.cholesky(a), *np.linalg.qr(a)


def eigenvalues(a: Any) -> Any:
    return np.linalg.eigh(a)


def any_eigenvalues(a: Any) -> Any:
    return np.linalg.eigvals(a + np.arange(4)), *np.linalg.eig(a * np.arange(4))


def singular_values(a: Any) -> Any:
    return np.linalg.svd(a)


def stores(x: Any) -> Any:
    at = np.array([0, 3, 0, -1])
    x[at] = x[:4] * 2
    np.add.at(x, (slice(None), at), 1.5)  # pyright: ignore[reportArgumentType]
    return x


def loops(x: Any) -> Any:
    for i in range(x.shape[0]):
        x[i, i] += x[:, 1].sum()
    while np.nansum(x) < 40:
        x = x + 1
    if x[0, 0] > 3:
        x = x * 2
    return x


def draws(x: Any) -> Any:
    return x + txc.random.normal((5, 8), seed=3)


#: Of 140 elements, which has small factors, of 139 by Bluestein's method, and of 137 by Rader's, with a pass for 17 of
#: 136.
LENGTHS = [np.tile(WAVES, (1, 20))[:1, :n].copy() for n in (140, 139, 137)]
#: What each is called with, or with what one after the other.
CASES: dict[Callable[[Any], Any], np.ndarray | list[np.ndarray]] = {
    sorts: X,
    sorts_complex_numbers: WAVES,
    searches: X,
    selects: X,
    chooses: X,
    transforms: WAVES,
    transform_of_any_length: LENGTHS,
    solves: SQUARE,
    factors: SQUARE,
    eigenvalues: SQUARE,
    any_eigenvalues: SQUARE,
    singular_values: SQUARE,
    stores: X,
    loops: np.nan_to_num(X),
    draws: X,
}
#: The loop generators of the CPU, and the functions here that use them.
USES = {
    "fft": transforms, "searchsorted": searches, "kth_elements": selects, "partition_positions": selects,
    "flatnonzero": chooses, "eliminate": solves, "cholesky": factors, "qr": factors,
    "jacobi_eigh": eigenvalues, "jacobi_svd": singular_values, "eigenvalues": any_eigenvalues,
    "eigenvectors": any_eigenvalues, "sort": sorts, "argsort": sorts, "sort_with_positions": sorts_complex_numbers,
}  # fmt: skip


def results(f: Callable[[Any], Any], device: str) -> list[np.ndarray]:
    compiled, given = txc.jit(f, device=device, passes=PAIRS if device == "cpu" else ""), CASES[f]
    made = [compiled(x.copy()) for x in (given if isinstance(given, list) else [given])]
    return [np.asarray(r) for each in made for r in (each if isinstance(each, tuple) else (each,))]


def test_every_generator_has_a_case() -> None:
    assert set(USES) == set(LOOP_GENERATORS) and set(USES.values()) <= set(CASES)


@pytest.mark.parametrize(("device", "f"), on_gpus(list(CASES)))
def test_the_bits_are_the_cpus(device: str, f: Callable[[Any], Any]) -> None:
    assert differing(results(f, "cpu"), results(f, device)) is None
