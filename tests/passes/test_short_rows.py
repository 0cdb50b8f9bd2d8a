"""Many short rows by small matrices, and stacks of small products: the bits of code for any sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.trace.short_loops import MANY

RNG = np.random.default_rng(35)


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    return (RNG.integers(-99, 100, shape) if dtype[0] in "iu" else RNG.standard_normal(shape) * 40).astype(dtype)


def product(a, b):
    return a @ b


def bytes_of_product(a, b):
    return (a @ b).astype(np.uint8)


def shifted_product(a, b):
    return np.maximum(a @ b + 1, 0)


#: Shapes of rows, some beside each other in memory, and of what they are multiplied by.
SHAPES = [
    ((130, 127, 3), (3, 3)), ((MANY + 5, 4), (4, 2)), ((MANY + 1, 8), (8, 8)), ((MANY + 3, 2, 2), (MANY + 3, 2, 2)),
    ((MANY, 3, 3), (MANY, 3, 3)), ((MANY, 3, 2), (MANY, 2, 4)), ((MANY + 7, 3, 3), (MANY + 7, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "of_rows"), [("f4", product), ("f8", shifted_product), ("i4", product)])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_many_rows_have_the_bits_of_few(left, right, dtype, of_rows) -> None:
    a, b = numbers(left, dtype), numbers(right, dtype)
    if len(left) == len(right) + 1 and left[0] == right[0]:
        formula = lambda a, b: of_rows(a, b[..., None])[..., 0]  # noqa: E731
    else:
        formula = of_rows
    made = txc.jit(formula)
    whole = made(a, b)
    np.testing.assert_allclose(whole, formula(a, b), 1e-4, 1e-3)
    few = slice(0, 40)
    part = made(a[few], b[few] if right[0] == left[0] else b)
    assert whole[few].tobytes() == part.tobytes()
    assert whole.tobytes() == made.options(threads=1)(a, b).tobytes()
