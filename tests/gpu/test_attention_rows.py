"""Rows that contractions make and use: panels of them in one kernel, with the bits of kernels that stand apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.codegen.target.llvm_backend import gpu_target
from txc.compiler.config.devices import gpu_device
from txc.compiler.config.options import Options
from txc.compiler.pipeline import run_stages
from txc.runtime.ptx_simulator import PtxSimulator
from txc.runtime.ptx_simulator.execution.perf_counters import SECTOR

from ..ops.generated import PAIRS
from .devices import GPUS

RNG = np.random.default_rng(21)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ np.swapaxes(k, -1, -2) * 0.5) @ v


def with_scores(q: Any, k: Any, v: Any) -> Any:
    scores = q @ np.swapaxes(k, -1, -2)
    return softmax(scores) @ v, scores


def masked(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.T
    later = np.arange(scores.shape[1]) > np.arange(scores.shape[0])[:, None]
    return softmax(np.where(later, -np.inf, scores)) @ v


def begun(q: Any, k: Any, v: Any) -> Any:
    return softmax(q @ np.swapaxes(k, -1, -2)) + v.sum()


def ended(q: Any, k: Any, v: Any) -> Any:
    return (q - q.mean(axis=-1, keepdims=True)) @ np.swapaxes(k, -1, -2)


def drawn(*shapes: tuple[int, ...], kind: Any = np.float32) -> list[np.ndarray]:
    return [RNG.standard_normal(s).astype(kind) for s in shapes]


def kernels_of(f: Any, *arrays: np.ndarray, cpu: str = "sm_90a", fixed: bool = True) -> int:
    """How many grids stand in the loops of a function of these sizes."""
    shapes = tuple(a.shape for a in arrays)
    wrapped = (lambda *xs: f(*(x.reshape(s) for x, s in zip(xs, shapes)))) if fixed else f
    stages = run_stages(txc.jit(wrapped).graph(*arrays), Options.of(), target=gpu_target(cpu), stop_after="loops")
    return str(stages.module).count(" on gpu_block ")


@GPUS
@pytest.mark.parametrize(
    ("f", "shapes", "kind"),
    [
        (attention, [(2, 21, 12), (2, 37, 12), (2, 37, 9)], np.float32),
        (attention, [(3, 5), (290, 5), (290, 70)], np.float64),
        (attention, [(2, 2, 3, 8), (2, 2, 11, 8), (2, 2, 11, 8)], np.float16),
        (with_scores, [(2, 18, 8), (2, 33, 8), (2, 33, 8)], np.float32),
        (masked, [(20, 8), (20, 8), (20, 3)], np.float32),
        (begun, [(20, 8), (33, 8), (2, 2)], np.float32),
        (ended, [(20, 8), (33, 8), (2, 2)], np.float32),
    ],
)
def test_panels_have_the_bits_of_a_cpu(device: str, f: Any, shapes: Any, kind: Any) -> None:
    arrays = drawn(*shapes, kind=kind)
    found, expected = txc.jit(f, device=device)(*arrays), txc.jit(f, passes=PAIRS)(*arrays)
    several = isinstance(expected, tuple)
    for got, wanted in zip(found if several else [found], expected if several else [expected], strict=True):
        np.testing.assert_array_equal(np.asarray(got), wanted)


def test_rows_that_block_memory_has_no_room_for_stand_apart() -> None:
    """The same function, the same bits: 16 rows of 1600 doubles are more than 227 KiB with the pieces."""
    made, reference = txc.jit(attention, device="ptx-sim"), txc.jit(attention, passes=PAIRS)
    for m in (1600, 30):
        arrays = drawn((1, 2), (m, 2), (m, 1), kind=np.float64)
        np.testing.assert_array_equal(np.asarray(made(*arrays)), reference(*arrays))


def test_scores_stay_in_the_kernel() -> None:
    """What goes to memory and comes from there: the inputs, for each panel of rows those that it shares, the result."""
    q, k, v = drawn((32, 16), (256, 16), (256, 64))
    shapes = q.shape, k.shape, v.shape
    made = txc.jit(lambda *x: attention(*(y.reshape(s) for y, s in zip(x, shapes))), device="ptx-sim")  # pyright: ignore
    made(q, k, v)
    simulator = gpu_device("ptx-sim")
    assert isinstance(simulator, PtxSimulator)
    with simulator.counting() as counts:
        result = made(q, k, v)
    (count,) = counts.values()
    assert count.global_store_sectors == np.asarray(result).nbytes // SECTOR
    # The last piece of an operand comes once more, where there is no next one to load.
    assert count.global_load_sectors < 1.2 * (q.nbytes + 2 * (k.nbytes + v.nbytes)) / SECTOR


@pytest.mark.parametrize(
    ("f", "shapes", "cpu", "kernels"),
    [
        (attention, [(16, 2048, 64)] * 3, "sm_90a", 1),
        (attention, [(16, 2048, 64)] * 3, "sm_80", 1),
        (attention, [(16, 2048, 64)] * 3, "sm_75", 3),  # no room
        (attention, [(16, 512, 512)] * 3, "sm_90a", 3),  # operands that are read once for 16 rows take too long
        (lambda x, y, z: (x @ y) @ z, [(512, 64)] + [(64, 64)] * 2, "sm_90a", 2),  # no fold of a row
    ],
)  # fmt: skip
def test_what_becomes_a_panel(f: Any, shapes: Any, cpu: str, kernels: int) -> None:
    arrays = [np.broadcast_to(np.float32(1), s).copy() for s in shapes]
    assert kernels_of(f, *arrays, cpu=cpu) == kernels


def test_explain_says_where_a_panel_is_chosen() -> None:
    text = txc.jit(attention, device="ptx-sim").explain(*drawn((20, 8), (20, 8), (20, 8)))
    assert "row tiles: rows between contractions stay in shared memory where they fit" in text
    assert "by the cost model of a GPU" in text
