"""The PTX of real functions on the simulator: the same bits as their code for the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.runtime.ptx_simulator import PtxSimulator

from .harness import same_bits
from .test_ptx import DTYPES, best, gelu, log_sum_exp, norms, ptx_of, shifted, waves


def run_on(device: PtxSimulator, name: str, ptx: str, x: np.ndarray, like: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """What a kernel of one argument makes of it."""
    results = [np.empty_like(w) for w in like]
    addresses = [device.allocate(a.nbytes) for a in (x, *results)]
    device.write(addresses[0], x)
    device.load(ptx).launch(name, (3, 1, 1), (64, 1, 1), 0, [*addresses, *x.shape])
    for address, result in zip(addresses[1:], results, strict=True):
        device.read(address, result)
    for address in addresses:
        device.free(address)
    return results


@pytest.mark.parametrize("kind", DTYPES, ids=lambda kind: np.dtype(kind).name)
@pytest.mark.parametrize("function", [gelu, shifted, waves, log_sum_exp, norms, best], ids=lambda f: f.__name__)
def test_the_simulator_and_the_cpu_agree(function: Callable[..., Any], kind: Any) -> None:
    x = np.random.default_rng(1).standard_normal((20, 33)).astype(kind)
    expected = txc.jit(function)(x)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for found, wanted in zip(
        run_on(PtxSimulator(1 << 20), function.__name__, ptx_of(function, kind), x, expected), expected
    ):
        assert same_bits(found, wanted)
