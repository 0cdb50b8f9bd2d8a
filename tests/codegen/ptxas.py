"""NVIDIA's assembler, where there is one."""

from __future__ import annotations

import importlib.util
import shutil
from functools import lru_cache
from pathlib import Path

import pytest

__all__ = ["needs_ptxas", "ptxas"]


@lru_cache(maxsize=1)
def ptxas() -> str | None:
    """The assembler: on the path, or in NVIDIA's package."""
    found = shutil.which("ptxas")
    if found is None:
        try:
            package = importlib.util.find_spec("nvidia.cuda_nvcc")
        except ModuleNotFoundError:
            package = None
        for folder in package.submodule_search_locations or () if package is not None else ():
            if (binary := Path(folder) / "bin" / "ptxas").exists():
                found = str(binary)
    return found


needs_ptxas = pytest.mark.skipif(ptxas() is None, reason="no ptxas: neither on the path nor in nvidia-cuda-nvcc")
