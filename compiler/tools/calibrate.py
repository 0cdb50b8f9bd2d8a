"""``tensor-compile calibrate``: the constants of the cost model, measured on this machine in some seconds.

What is measured is kept in the cache folder (`runtime/calibration.py`) and from then on part of every key, since other
constants make other code; results are the same bits.  Rates are rounded to two digits, so that measuring again
seldom changes one.
"""

from __future__ import annotations

import ctypes
import functools
import math
import time
from collections.abc import Callable
from pathlib import Path

from ...passes.cost.model import Machine
from ...runtime.calibration import keep_calibration
from ...runtime.pool.pool import get_pool
from ..codegen.emit.module import attributes
from ..codegen.target.llvm_backend import native_target
from ..pipeline import machine_of
from .roofline import copy_bandwidth, division_peak, fma_peak, loaded

__all__ = ["CalibrationError", "calibrate"]

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
#: Pauses after which a worker is asleep, and regions in a row, in which it is awake.
_PAUSE, _REGIONS, _SAMPLES = 0.002, 1000, 15


class CalibrationError(OSError):
    """There is no folder to keep the figures in."""


def calibrate(quick: bool = False) -> Machine:
    """Measure and keep.  CalibrationError where nothing can be kept.  `quick`: figures that mean little, for tests."""
    figures = _measured(quick)
    if not keep_calibration(figures):
        raise CalibrationError("there is no folder to keep the figures in: set TXC_CACHE_DIR to one of your own")
    return machine_of(native_target())


def _measured(quick: bool) -> dict[str, float]:
    found = _cache_sizes()
    machine = Machine(**found)
    samples, rounds = (1, 10**4) if quick else (_SAMPLES, 10**6)
    near, far = int(machine.l2_bytes / 4), 1 << 20 if quick else int(max(2 * machine.l3_bytes, 64 << 20))
    rates = {
        "vector_registers": float(native_target().vector_registers),
        "l2_bandwidth": copy_bandwidth(1, near, samples) / 1e9,
        "dram_bandwidth": copy_bandwidth(1, far, samples) / 1e9,
        "flops_per_ns": fma_peak(1, 32, rounds, samples) / 2e9,
        "divs_per_ns": division_peak(rounds // 10, samples) / 1e9,
        "dispatch_ns": _handover(2 if quick else _SAMPLES),
    }
    return {**found, **{name: float(f"{value:.2g}") for name, value in rates.items()}}


def _cache_sizes() -> dict[str, float]:
    """Bytes of the caches that the system lists for a core, and of a line of them."""
    found: dict[str, float] = {}
    for index in sorted(_CACHES.glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction" and level in "123":
            found[f"l{level}_bytes"] = float(int(size.rstrip("KM")) << {"K": 10, "M": 20}.get(size[-1], 0))
            found["cache_line"] = float((index / "coherency_line_size").read_text())
    return found


_FORKS = """define internal void @nothing(ptr %context, i64 %chunk, i64 %worker) #0 {
  ret void
}
define void @forks(i64 %rounds, ptr %parallel, ptr %pool) #0 {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  call void %parallel(ptr %pool, ptr @nothing, ptr null, i64 2, i64 2)
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %rounds
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


def _handover(samples: int) -> float:
    """Nanoseconds of an empty parallel region: the mean, by factors, of a worker that sleeps and one that is awake."""
    forks = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(
        loaded(_FORKS + attributes(native_target()), "forks")
    )
    pool = get_pool()

    def region(rounds: int) -> None:
        forks(rounds, pool.parallel_address, pool.address)

    asleep = _median(functools.partial(region, 1), samples)
    awake = _median(functools.partial(region, _REGIONS), samples) / _REGIONS
    return math.sqrt(asleep * awake)


def _median(work: Callable[[], None], samples: int) -> float:
    times = []
    for _ in range(samples):
        time.sleep(_PAUSE)
        start = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - start)
    return float(sorted(times)[samples // 2])
