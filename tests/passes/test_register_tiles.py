"""Tiles of sums in registers: what the rule chooses, and that results of every width have the bits of any other."""

from __future__ import annotations

import numpy as np
import pytest

import txc
from txc.dialects.dims.dims import dim, sym
from txc.passes.schedule.matmul.register_tile import RegisterTile, register_tile

product = txc.jit(lambda a, b: a @ b)
AVX512, AVX2 = (16, 32), (8, 16)


@pytest.mark.parametrize("machine, columns, rows, vectors", [
    (AVX512, 16, 8, 1),
    (AVX512, 32, 8, 2),
    (AVX512, 48, 8, 3),
    (AVX512, 64, 6, 4),
    (AVX512, 80, 5, 5),
    (AVX512, 96, 8, 3),
    (AVX512, 128, 6, 4),
    (AVX2, 8, 8, 1),
    (AVX2, 16, 6, 2),
    (AVX2, 24, 4, 3),
    (AVX2, 64, 6, 2),
])  # fmt: skip
def test_known_columns_leave_no_vector_over(machine: tuple[int, int], columns: int, rows: int, vectors: int) -> None:
    assert register_tile(sym("m"), dim(columns), *machine) == RegisterTile(rows, machine[0], vectors)


@pytest.mark.parametrize("machine, rows, vectors", [(AVX512, 6, 4), (AVX2, 6, 2)])
def test_unknown_columns_are_taken_to_be_many(machine: tuple[int, int], rows: int, vectors: int) -> None:
    assert register_tile(sym("m"), sym("n"), *machine) == RegisterTile(rows, machine[0], vectors)


def test_rows_that_are_known_fill_their_tiles() -> None:
    assert register_tile(dim(16), dim(128), *AVX512).rows == 8
    assert register_tile(dim(18), dim(128), *AVX512).rows == 6


@pytest.mark.parametrize("registers", range(4, 40))
@pytest.mark.parametrize("columns", [1, 16, 40, 64, 1000])
def test_sums_fit_registers_beside_vectors_and_a_number(columns: int, registers: int) -> None:
    tile = register_tile(sym("m"), dim(columns), 16, registers)
    assert tile.rows > 0
    assert tile.rows * tile.vectors + tile.vectors + 1 <= registers


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_what_fills_no_tile_has_the_bits_of_what_does(dtype: str) -> None:
    rng = np.random.default_rng(3)
    a, b = ((rng.random(shape) - 0.5).astype(dtype) for shape in ((13, 530), (530, 300)))
    whole = product(a, b)
    np.testing.assert_allclose(whole, a @ b, 1e-3, 1e-4)
    for columns in (17, 32, 33, 47, 48, 49, 63, 64, 65, 80, 95, 96, 97, 111, 112, 113, 127, 160, 177):
        np.testing.assert_array_equal(product(a, np.ascontiguousarray(b[:, :columns])), whole[:, :columns])
