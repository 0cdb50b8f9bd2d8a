"""Transposing tiles in registers, on registers that are lists of numbers."""

from __future__ import annotations

import pytest

from txc.compiler.codegen.shuffles import transposed


@pytest.mark.parametrize(("width", "bits"), [(2, 64), (4, 64), (4, 32), (8, 32), (16, 32), (8, 16), (16, 16), (32, 8)])
def test_columns_of_rows(width: int, bits: int) -> None:
    registers = {f"r{i}": [(i, lane) for lane in range(width)] for i in range(width)}
    count = 0

    def shuffle(a: str, b: str, mask: object) -> str:
        nonlocal count
        count += 1
        both = registers[a] + registers[b]
        registers[f"s{count}"] = [both[lane] for lane in mask]  # type: ignore[attr-defined]
        return f"s{count}"

    columns = transposed(list(registers), bits, shuffle)
    assert [registers[c] for c in columns] == [[(i, lane) for i in range(width)] for lane in range(width)]
    assert count == width * (width.bit_length() - 1)
