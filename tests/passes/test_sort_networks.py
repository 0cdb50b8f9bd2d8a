"""Networks of comparators sort: by the zero-one principle, whatever sorts all zeros and ones sorts everything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from txc.passes.schedule.sort.comparison.network import bitonic_merge, odd_even_mergesort


def sorted_by(network: Sequence[tuple[int, int]], rows: np.ndarray) -> np.ndarray:
    """Each row, after all comparators."""
    rows = rows.copy()
    for low, high in network:
        a, b = rows[:, low], rows[:, high]
        rows[:, low], rows[:, high] = np.minimum(a, b), np.maximum(a, b)
    return rows


@pytest.mark.parametrize(("bits", "comparators"), [(0, 0), (1, 1), (2, 5), (3, 19), (4, 63)])
def test_odd_even_merges_sort_all_zeros_and_ones(bits: int, comparators: int) -> None:
    size = 1 << bits
    everything = (np.arange(1 << size)[:, None] >> np.arange(size) & 1).astype(np.int8)
    network = odd_even_mergesort(bits)
    assert len(network) == comparators
    np.testing.assert_array_equal(sorted_by(network, everything), np.sort(everything))
    assert not odd_even_mergesort(bits) or (sorted_by(network[:-1], everything) != np.sort(everything)).any()


@pytest.mark.parametrize("size", [2, 3, 4, 6, 8, 12, 16])
def test_what_is_bitonic_is_cleaned(size: int) -> None:
    place = np.arange(size)
    turned = [(place - first) % size < ones for first in range(size) for ones in range(size + 1)]
    bitonic = np.array(turned, np.int8)
    np.testing.assert_array_equal(sorted_by(bitonic_merge(size), bitonic), np.sort(bitonic))
