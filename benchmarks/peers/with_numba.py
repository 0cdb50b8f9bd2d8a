"""Numba: the loops of `numba_loops.py`, in parallel, with ``fastmath``; other maps by its own array expressions."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from .. import programs
from ..workloads import Workload
from . import numba_loops
from .absent import Absent

__all__ = ["implementation"]

numba: Any = importlib.import_module("numba")

#: Programs that Numba compiles, and parallelises, from the NumPy text.
_MAPS = ("add", "add_three", "chain", "exp_chain", "gelu", "stencil", "copy")


@functools.cache
def _compiled(name: str) -> Callable[..., Any] | None:
    loops = getattr(numba_loops, name, None)
    if loops is None and name in _MAPS:
        return numba.njit(parallel=True, fastmath=True)(getattr(programs, name))
    return loops


def implementation(workload: Workload) -> Callable[[], Any]:
    compiled, arguments = _compiled(workload.family.program.__name__), workload.arguments
    if compiled is None or (compiled is numba_loops.matmul and arguments[0].ndim != 3):
        raise Absent("no loops for Numba have been written")
    return lambda: compiled(*arguments)
