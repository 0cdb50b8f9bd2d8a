"""Who takes part: a module each, with ``implementation(workload)``, which gives a call without arguments.

The call is made ready (compiled, its arguments converted, its outputs allocated where the peer can write into them) by
the way an expert of that library would take.  `Absent` says why there is none.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..workloads import Workload
from .absent import Absent

__all__ = ["IMPLEMENTATIONS", "Absent", "implementation"]

#: Names in the order of the tables, and the modules that make them.
IMPLEMENTATIONS = {
    "txc": "with_txc", "numpy": "with_numpy", "scipy": "with_scipy", "numexpr": "with_numexpr", "numba": "with_numba",
    "jax": "with_jax", "torch": "with_torch", "torch.compile": "with_torch_compile", "eigen": "with_eigen",
}  # fmt: skip


def implementation(name: str, workload: Workload) -> Callable[[], Any]:
    """One implementation's call for a workload.  Raises Absent where its library is missing or does not have it."""
    try:
        module = importlib.import_module(f"{__name__}.{IMPLEMENTATIONS[name]}")
    except ImportError as error:
        raise Absent(f"{name} is not installed: {error}") from error
    return module.implementation(workload)
