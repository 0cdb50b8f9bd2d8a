"""The GPUs that tests run on: the simulator always, a real one with ``pytest -m gpu``."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from txc.compiler.config.knobs import SIMULATED_GPU

__all__ = ["GPUS", "ON_HOPPER", "on_gpus", "sampled"]

#: A test of what only `sm_90a` has, where the simulator stands for another GPU.
ON_HOPPER = pytest.mark.skipif(SIMULATED_GPU.get() != "sm_90a", reason="the simulated GPU is not sm_90a")

#: A test of a device: the simulator, and a real one.
GPUS = pytest.mark.parametrize("device", ["ptx-sim", pytest.param("cuda:0", marks=pytest.mark.gpu)])


def sampled(cases: Sequence[Any], most: int, seed: int = 6) -> list[Any]:
    """At most so many of the cases, always the same ones, in their order."""
    kept = set(random.Random(seed).sample(range(len(cases)), min(most, len(cases))))
    return [case for i, case in enumerate(cases) if i in kept]


def on_gpus(cases: Sequence[Any], most: int | None = None) -> list[Any]:
    """Parameters ``(device, case)``: all cases on a real GPU, `most` of them (None: all) on the simulator."""
    simulated = cases if most is None else sampled(cases, most)
    real = [pytest.param("cuda:0", case, marks=pytest.mark.gpu, id=f"cuda-{_name(case)}") for case in cases]
    return [pytest.param("ptx-sim", case, id=f"sim-{_name(case)}") for case in simulated] + real


def _name(case: Any) -> str:
    parts = case if isinstance(case, tuple) else (case,)
    return "-".join(getattr(p, "name", None) or getattr(p, "__name__", None) or str(p) for p in parts)
