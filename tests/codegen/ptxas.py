"""NVIDIA's assembler, where there is one: what it takes, and which kernels keep registers in local memory."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import pytest

__all__ = ["may_spill", "needs_ptxas", "ptxas", "spills"]

PAGE = Path(__file__).parents[2] / "docs" / "inside" / "gpu.md"


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


@lru_cache(maxsize=1)
def may_spill() -> frozenset[str]:
    """The functions some of whose kernels may spill registers, as `docs/inside/gpu.md` says with the reason of each."""
    text = PAGE.read_text(encoding="utf-8")
    section = text[text.index("## Kernels that spill registers") :]
    return frozenset(re.findall(r"^\| `(\w+)` \|", section, re.M))


@lru_cache(maxsize=1024)
def spills(ptx: str, cpu: str) -> dict[str, int]:
    """Bytes that kernels spill, stored and loaded together, by function; AssertionError for what does not assemble."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernels.ptx"
        source.write_text(ptx, encoding="utf-8")
        command = [str(ptxas()), f"-arch={cpu}", "-v", str(source), "-o", str(Path(folder) / "kernels.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "serialized" not in done.stderr, "wgmma whose sums are moved while they are being added to"
    pattern = r"entry function '(\S+)' for '\w+'\n.*?(\d+) bytes spill stores, (\d+) bytes spill loads"
    kernels = re.findall(pattern, done.stderr, re.S)
    assert len(kernels) == ptx.count(".visible .entry")
    found: dict[str, int] = {}
    for name, stored, loaded in kernels:
        function = re.sub(r"_k\d+$", "", name)
        found[function] = found.get(function, 0) + int(stored) + int(loaded)
    return {function: size for function, size in found.items() if size}
