"""Transposing tiles in registers, on registers that are lists of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from txc.compiler.codegen.shuffles import PIECE_BITS, transposed


@pytest.mark.parametrize(("width", "bits"), [(2, 64), (4, 64), (4, 32), (8, 32), (16, 32), (8, 16), (16, 16), (32, 8)])
def test_columns_of_rows(width: int, bits: int) -> None:
    registers: dict[str, list[tuple[int, int]]] = {}
    shuffles = 0

    def load(row: int, first: int, count: int) -> str:
        registers[f"r{len(registers)}"] = [(row, lane) for lane in range(first, first + count)]
        assert count * bits <= PIECE_BITS or count == 1
        return f"r{len(registers) - 1}"

    def shuffle(a: str, b: str, mask: Sequence[int]) -> str:
        nonlocal shuffles
        both = registers[a] + registers[b]
        shuffles += mask != range(len(both))
        registers[f"s{len(registers)}"] = [both[lane] for lane in mask]
        return f"s{len(registers) - 1}"

    columns = transposed(width, bits, load, shuffle)
    assert [registers[c] for c in columns] == [[(i, lane) for i in range(width)] for lane in range(width)]
    assert shuffles == width * (min(width, PIECE_BITS // bits).bit_length() - 1)
