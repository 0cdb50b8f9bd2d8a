"""SciPy: its transforms with as many workers as there are threads, and its convolution of planes."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

from ..workloads import Workload
from .absent import Absent

__all__ = ["implementation"]

fft: Any = importlib.import_module("scipy.fft")
signal: Any = importlib.import_module("scipy.signal")

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "fft_rows": lambda x: fft.fft(x, axis=1),
    "fft_plane": lambda x: fft.fft2(x),
    "fft_real": lambda x: fft.rfft(x, axis=1),
    "convolve_plane": lambda x, kernel: signal.correlate2d(x, kernel, "valid"),
}


def implementation(workload: Workload) -> Callable[[], Any]:
    function, arguments = FUNCTIONS.get(workload.family.program.__name__), workload.arguments
    if function is None:
        raise Absent("SciPy leaves it to NumPy")
    workers = int(os.environ.get("OMP_NUM_THREADS", "1"))

    def call() -> Any:
        with fft.set_workers(workers):
            return function(*arguments)

    return call
