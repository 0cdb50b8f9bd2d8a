"""``txc.info()``: what this installation is and does, for bug reports."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import metadata

from ...runtime.pool.threads import default_threads
from ...runtime.stub.cpython_layout import problem
from ..codegen.target.llvm_backend import host_target
from ..config import knobs
from ..version import __version__

__all__ = ["Info", "info"]


@dataclass(frozen=True)
class Info:
    """Versions by package, the processor, threads of a parallel loop, and why calls go through Python, if they do."""

    versions: dict[str, str]
    target: str
    threads: int
    native_entry: bool
    reason: str

    def __str__(self) -> str:
        """The report, a line each."""
        lines = [f"{name:<8} {version}" for name, version in self.versions.items()]
        calls = "enter machine code" if self.native_entry else f"go through Python: {self.reason}"
        return "\n".join([*lines, f"target   {self.target}", f"threads  {self.threads}", f"calls    {calls}"])

    __repr__ = __str__


def info() -> Info:
    """What txc is built on here, and whether calls of jitted functions enter machine code directly."""
    versions = {"txc": __version__, "python": platform.python_version()}
    versions |= {name: metadata.version(name) for name in ("numpy", "xdsl", "llvmlite")}
    reason = "TXC_NATIVE_ENTRY is 0" if knobs.NATIVE_ENTRY.get() is False else problem()
    target = host_target()
    return Info(versions, f"{target.triple} {target.cpu}", default_threads(), not reason, reason)
