"""``f.profile(*args)`` for a function on a GPU: what each kernel takes, by what its device can measure.

A CUDA device measures time; the simulator counts instructions, memory transactions and bank conflicts, and says nothing
of time.  The code is that which calls run: kernels are told apart by their launches.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...runtime.gpu.device_array import OnDevice
from ...runtime.gpu.gpu_device import KernelLaunch
from ..config.device_names import SIMULATOR
from ..driver.executable import Executable, Prepared
from ..tools.timed_calls import checked_repeats, copy_with_strides
from .executable import GpuCode

__all__ = ["GpuProfile", "KernelRuns", "profile_on_gpu"]


@dataclass
class KernelRuns:
    """The launches of a kernel in one call; `place` is the user's line (``file:line``).

    `measured` are sums over the launches, by what the device calls them (`GpuDevice.measured`); `blocks` are those of
    all launches.
    """

    name: str
    place: str
    threads: int
    shared: int = 0
    launches: int = 0
    blocks: int = 0
    measured: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class GpuProfile:
    """One call: its seconds as the host sees them, and its kernels in the order in which they were first launched.

    Kernels are timed one after the other here, so `seconds`, which is that of a call without measurements, may be less
    than their sum.
    """

    name: str
    device: str
    repeats: int
    seconds: float
    kernels: tuple[KernelRuns, ...]

    def __str__(self) -> str:
        """A table, a line a kernel."""
        title = f"{self.name} on {self.device}: {self.seconds * 1e3:.3f} ms a call, median of {self.repeats}"
        columns = list(dict.fromkeys(name for k in self.kernels for name in k.measured))
        headings = ("kernel", "launches", "blocks", "threads", "shared", *columns, "from")
        rows = [headings, *(_row(k, columns) for k in self.kernels)]
        widths = [max(map(len, column)) for column in zip(*rows)]
        left = (0, len(headings) - 1)
        lines = [
            "  ".join(c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip()
            for row in rows
        ]
        return "\n".join([title, *lines])


def _row(kernel: KernelRuns, columns: Sequence[str]) -> tuple[str, ...]:
    counted = (kernel.launches, kernel.blocks, kernel.threads, kernel.shared)
    measured = (f"{kernel.measured[c]:.6g}" if c in kernel.measured else "-" for c in columns)
    return (kernel.name, *map(str, counted), *measured, kernel.place.rpartition("/")[2])


class _Watched:
    """The function's code, each launch of which goes through `around`."""

    entry, linked = 0, True

    def __init__(self, code: GpuCode, around: Callable[[KernelLaunch, Callable[[], None]], None]):
        self._code, self._around = code, around

    def run(self, arrays: Sequence[np.ndarray], inputs: int, prepared: Prepared, threads: int) -> None:
        self._code.watched(arrays, inputs, prepared, self._around)


def profile_on_gpu(
    executable: Executable, arrays: Sequence[np.ndarray], integers: Sequence[int], repeats: int | None
) -> GpuProfile:
    """Run it once to load it, `repeats` times for the time of a call, and once measured.

    None is once on the simulator, whose counts are those of every call, and 20 times elsewhere.  Arrays that it writes
    to are copied first.  ValueError for a number of repeats that is none, and for an array on the device that it writes
    to; GuardFailure where the code does not hold for the arguments; DeviceError as of a call.
    """
    code = executable.native
    assert isinstance(code, GpuCode)
    repeats = (1 if code.device_name == SIMULATOR else 20) if repeats is None else checked_repeats(repeats)
    if any(isinstance(arrays[i], OnDevice) for i in executable.written):
        raise ValueError(
            f"{executable.signature.name} writes to an array on {code.device_name}: profile it with NumPy's arrays, "
            "which it copies first"
        )
    prepared = executable.prepared(arrays, integers)

    def seconds(executable: Executable) -> float:
        own = [copy_with_strides(a) if i in executable.written else a for i, a in enumerate(arrays)]
        start = time.perf_counter()
        executable.run(prepared, own)
        return time.perf_counter() - start

    seconds(executable)
    calls = sorted(seconds(executable) for _ in range(repeats))
    kernels = {kernel.name: kernel for kernel in code.plan.kernels}
    found: dict[str, KernelRuns] = {}

    def around(launched: KernelLaunch, launch: Callable[[], None]) -> None:
        name, threads, _, place = kernels[launched.kernel]
        runs = found.setdefault(name, KernelRuns(name, place, threads))
        runs.launches += 1
        runs.blocks += launched.grid[0]
        runs.shared = max(runs.shared, launched.shared)
        runs.measured.update(code.device.measured(launch))

    seconds(Executable(executable.signature, executable.code, _Watched(code, around)))
    return GpuProfile(
        executable.signature.name, code.device_name, repeats, calls[len(calls) // 2], tuple(found.values())
    )
