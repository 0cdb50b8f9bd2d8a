"""Shared libraries from objects, by a C compiler that is on the machine: the system's, or PyPI's ziglang."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ..codegen.target.llvm_backend import host_target
from ..codegen.target.names import NamedTarget
from ..codegen.target.target import Target
from ..config import knobs
from .c_signature import ExportError

__all__ = ["find_linker", "link_shared"]


def find_linker(target: Target) -> list[str]:
    """The command that links for a target: ``TXC_CC``, the system's compiler, a cross compiler, or ziglang.

    Raises ExportError, which names what would do, where there is none.
    """
    if target.arch in ("wasm32", "nvptx64"):
        raise ExportError(f"{target.arch} has no shared libraries", "export an object: --emit=obj")
    given = knobs.CC.get()
    if given:
        return shlex.split(given)
    usual = ("cc", "gcc", "clang") if target.arch == host_target().arch else (f"{target.arch}-linux-gnu-gcc",)
    for name in usual:
        if shutil.which(name):
            return [name]
    if importlib.util.find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc", "-target", f"{target.arch}-linux-gnu"]
    raise ExportError(
        f"nothing here links a shared library for {target.arch}: there is no {', '.join(usual)} and no ziglang",
        "install a C compiler, or 'pip install ziglang', or name one with TXC_CC, or export an object: --emit=obj",
    )


def link_shared(data: bytes, path: Path, target: NamedTarget) -> None:
    """Write a shared library of one object.  ExportError with the linker's words where it fails."""
    command = find_linker(target.versions[0])
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "code.o"
        source.write_bytes(data)
        named = [f"-Wl,-soname,{path.name}", "-Wl,-z,defs"] if "linux" in target.versions[0].triple else []
        given = [*command, "-shared", *named, "-o", str(path.resolve()), str(source)]
        try:
            done = subprocess.run(given, capture_output=True, text=True, check=False)
        except OSError as error:
            raise ExportError(f"cannot run {command[0]}: {error.strerror}", "TXC_CC names the C compiler") from None
    if done.returncode:
        raise ExportError(f"{' '.join(command)} could not link {path.name}: {done.stderr.strip()}")
