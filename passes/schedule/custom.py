"""The loop generators of ops that are no nests, which `kernel.custom` names.

Each is loaded for the first program that has one of its kernels: together they are half of what is imported to schedule
loops, and few programs sort, transform or factorise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

from xdsl.ir import Block

from ...dialects import kernel
from .body import ScheduleContext
from .map.schedule import VectorConfig

__all__ = ["LOOP_GENERATORS", "LoopGenerator", "loop_generator"]

#: Writes the loops of a kernel into a block.
LoopGenerator = Callable[[ScheduleContext, kernel.CustomOp, Block, VectorConfig], None]
#: By the name of the kernel, the module beside this one that has the generator, and the generator.
LOOP_GENERATORS: dict[str, tuple[str, str]] = {
    "fft": ("fft.schedule", "schedule_fft"),
    "searchsorted": ("searchsorted", "schedule_search"),
    "flatnonzero": ("flatnonzero", "schedule_flatnonzero"),
    "eliminate": ("linalg.lu_cholesky", "schedule_elimination"),
    "cholesky": ("linalg.lu_cholesky", "schedule_cholesky"),
    "qr": ("linalg.qr_jacobi", "schedule_qr"),
    "jacobi_eigh": ("linalg.qr_jacobi", "schedule_eigh"),
    "jacobi_svd": ("linalg.qr_jacobi", "schedule_svd"),
    "eigenvalues": ("linalg.hessenberg_qr", "schedule_eigenvalues"),
    "eigenvectors": ("linalg.hessenberg_qr", "schedule_eigenvectors"),
    "kth_elements": ("sort.selection", "schedule_selection"),
    "partition_positions": ("sort.partition", "schedule_partition"),
    **dict.fromkeys(("sort", "argsort", "sort_with_positions"), ("sort.schedule", "schedule_sort")),
}


@cache
def loop_generator(name: str) -> LoopGenerator:
    """The loop generator of a kernel."""
    module, function = LOOP_GENERATORS[name]
    return getattr(import_module(f".{module}", __package__), function)
