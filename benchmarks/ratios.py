"""Ratios of medians with their intervals, and means of ratios over families."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

__all__ = ["family_mean", "ratio_interval"]

RESAMPLES = 1000


def ratio_interval(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """The 95% interval of median(ours) / median(theirs), by resampling rounds: what disturbs one disturbs both."""
    a, b = np.array(ours), np.array(theirs)
    rng = np.random.default_rng(0)
    picked = rng.integers(0, len(a), (RESAMPLES, len(a)))
    ratios = np.median(a[picked], axis=1) / np.median(b[picked], axis=1)
    low, high = np.quantile(ratios, (0.025, 0.975))
    return float(low), float(high)


def geometric(ratios: Iterable[float]) -> float:
    values = list(ratios)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def family_mean(ratios: Mapping[str, Sequence[float]]) -> float:
    """The geometric mean over families of each family's own geometric mean: families weigh the same."""
    return geometric(geometric(r) for r in ratios.values() if r)
