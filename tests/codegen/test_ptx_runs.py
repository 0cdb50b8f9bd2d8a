"""The PTX of real functions on the simulator: the same bits as their code for the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from .harness import same_bits
from .test_ptx import DTYPES, best, gelu, log_sum_exp, norms, shifted, waves


def arrays(results: Any) -> tuple[np.ndarray, ...]:
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.parametrize("kind", DTYPES, ids=lambda kind: np.dtype(kind).name)
@pytest.mark.parametrize("function", [gelu, shifted, waves, log_sum_exp, norms, best], ids=lambda f: f.__name__)
def test_the_simulator_and_the_cpu_agree(function: Callable[..., Any], kind: Any) -> None:
    x = np.random.default_rng(1).standard_normal((20, 33)).astype(kind)
    expected, found = txc.jit(function)(x), txc.jit(function, device="ptx-sim")(x)
    for got, wanted in zip(arrays(found), arrays(expected), strict=True):
        assert same_bits(got, wanted)
