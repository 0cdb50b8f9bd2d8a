"""Results of arrays whose columns are contiguous, beside those of arrays whose rows are.

Folds go as the program counts dims here, which is one order of arithmetic for both: so the loops for folds across
memory are compared, bit for bit, with those along it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import txc

__all__ = ["AS_COUNTED", "as_tuple", "check_that_layout_changes_no_bit"]

#: For `txc.jit`: no fold takes the order that memory has.
AS_COUNTED = "tx-reduction-order{follow-layout=false}"


def as_tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def check_that_layout_changes_no_bit(
    program: Callable[..., Any], shape: tuple[int, int], dtype: str, threads: int
) -> None:
    x = np.random.default_rng(5).standard_normal(shape).astype(dtype)
    f = txc.jit(program, threads=threads, passes=AS_COUNTED)
    for found, expected in zip(as_tuple(f(np.asfortranarray(x))), as_tuple(f(x)), strict=True):
        assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()
