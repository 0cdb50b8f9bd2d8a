"""Eigen: `eigen_kernels.cpp`, compiled once into the cache folder, writing into buffers made before."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..workloads import Workload
from .absent import Absent

__all__ = ["implementation"]

SOURCE = Path(__file__).with_name("eigen_kernels.cpp")
INCLUDES = (Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3"), Path("/opt/homebrew/include/eigen3"))
FLAGS = ("-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", "-pthread")


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "txc-benchmarks"


@functools.cache
def _library() -> ctypes.CDLL:
    compiler, include = shutil.which("g++"), next((i for i in INCLUDES if i.is_dir()), None)
    if compiler is None or include is None:
        raise Absent("g++ or Eigen's headers (Debian's libeigen3-dev) are not installed")
    text = SOURCE.read_bytes()
    made = cache_folder() / f"eigen-{hashlib.sha256(text + ' '.join(FLAGS).encode()).hexdigest()[:16]}.so"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        partial = made.with_suffix(f".{os.getpid()}")
        subprocess.run([compiler, *FLAGS, "-isystem", include, SOURCE, "-o", partial], check=True)
        partial.rename(made)
    library = ctypes.CDLL(str(made))
    library.set_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    return library


def implementation(workload: Workload) -> Callable[[], Any]:
    if workload.layout != "row":
        raise Absent("the kernels are written for row-major arrays")
    name = workload.family.program.__name__
    ranks = "".join(str(x.ndim) for x in workload.arguments)
    function = getattr(_library(), f"{name}_{workload.dtype}_{ranks}", None)
    if function is None:
        raise Absent("no kernel for Eigen has been written")
    results = workload.family.program(*workload.arguments)
    outs = [np.empty_like(r, order="C") for r in (results if isinstance(results, tuple) else (results,))]
    sizes = [d for x in workload.arguments for d in x.shape]
    pointers = [x.ctypes.data for x in (*workload.arguments, *outs)]
    given = [*(ctypes.c_void_p(p) for p in pointers), (ctypes.c_long * len(sizes))(*sizes)]
    answer = outs[0] if len(outs) == 1 else tuple(outs)
    kept = workload.arguments  # the pointers do not keep the arrays

    def call() -> Any:
        function(*given)
        return answer if kept else None

    return call
