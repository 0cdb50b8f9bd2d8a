"""What schedules ask of a GPU's memory, as the simulator counts it: every sector once, and no conflicts of banks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.config.devices import gpu_device
from txc.runtime.ptx_simulator import PtxSimulator
from txc.runtime.ptx_simulator.execution.perf_counters import SECTOR, KernelCounts

RNG = np.random.default_rng(4)


def counts_of(f: Callable[..., Any], *arrays: np.ndarray) -> tuple[dict[str, KernelCounts], np.ndarray]:
    """What the kernels of one call count, and its result, which is the CPU's."""
    made = txc.jit(f, device="ptx-sim")
    made(*arrays)  # which compiles and loads it
    device = gpu_device("ptx-sim")
    assert isinstance(device, PtxSimulator)
    with device.counting() as counts:
        result = made(*arrays)
    np.testing.assert_array_equal(result, txc.jit(f)(*arrays))
    return counts, np.asarray(result)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def scaled(x: Any) -> Any:
    return x * 2 + 1


def transposed(x: Any, y: Any) -> Any:
    return x.T + y


def sum_of_columns(x: Any) -> Any:
    return x.sum(axis=0)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def normalised(x: Any) -> Any:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)


def twice_less_reversed(x: Any) -> Any:
    """A row that is read in two orders before something takes its place."""
    e = x - x.max(axis=1, keepdims=True)
    return e * 2 - e[:, ::-1] / e.min(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("f", "shapes"),
    [
        (scaled, [(64, 256)]),
        (transposed, [(64, 96), (96, 64)]),
        (sum_of_columns, [(64, 512)]),
        (softmax, [(32, 512)]),
        (softmax, [(4, 2048)]),
        (normalised, [(32, 512)]),
    ],
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_every_sector_is_asked_for_once(f: Callable[..., Any], shapes: list[tuple[int, ...]]) -> None:
    arrays = [floats(*shape) for shape in shapes]
    counts, result = counts_of(f, *arrays)
    assert sum(c.global_load_sectors for c in counts.values()) == sum(a.nbytes for a in arrays) // SECTOR
    assert sum(c.global_store_sectors for c in counts.values()) == result.nbytes // SECTOR
    assert sum(c.shared_bank_conflicts for c in counts.values()) == 0


def test_a_map_moves_sixteen_bytes_a_thread() -> None:
    (count,) = counts_of(scaled, x := floats(64, 256))[0].values()
    assert count.global_load_requests == count.global_store_requests == x.nbytes // (32 * 16)


def test_an_array_that_is_not_aligned_is_moved_by_elements() -> None:
    counts, result = counts_of(lambda x: x[1:] + 0, floats(1025))
    (count,) = counts.values()
    assert result.size == 1024 and count.global_load_requests == 1024 // 32


def test_the_sum_of_a_row_loads_it_once() -> None:
    """One of 32 threads stores each sum, so these are not side by side in an instruction."""
    counts, _ = counts_of(lambda x: x.sum(axis=1), x := floats(64, 512))
    (count,) = counts.values()
    assert count.global_load_sectors == x.nbytes // SECTOR and count.global_store_sectors == 64


def test_long_columns_are_cut() -> None:
    """Each thread of the first grid takes 1024 elements of a column, and those of the second one what these left."""
    counts, _ = counts_of(sum_of_columns, x := floats(2500, 64))
    first, second = counts.values()
    assert first.global_load_sectors == x.nbytes // SECTOR
    assert first.global_store_sectors == second.global_load_sectors == 3 * 64 * 4 // SECTOR


def test_rows_in_place_of_others_wait_for_their_readers() -> None:
    counts, _ = counts_of(twice_less_reversed, x := floats(8, 300))
    assert sum(c.global_load_sectors for c in counts.values()) >= x.nbytes // SECTOR
    counts_of(twice_less_reversed, floats(3, 1500))


def test_a_contraction_has_no_conflicts_of_banks() -> None:
    counts, _ = counts_of(lambda a, b: a @ b, floats(64, 64), floats(64, 64))
    assert sum(c.shared_bank_conflicts for c in counts.values()) == 0
