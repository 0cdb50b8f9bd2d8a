"""What machine code depends on besides its program: this compiler, its libraries, Python, NumPy and the processor.

Everything is found without importing LLVM.  Sources and shared libraries count by name, size and time of change, as in
Python's own bytecode cache; the processor by what the kernel says of its features.
"""

from __future__ import annotations

import functools
import os
import platform
import sys
from collections.abc import Iterator, Mapping

import numpy as np

from .file_store import sha256

__all__ = ["UnknownProcessor", "digest", "environment", "processor"]

#: The lines of /proc/cpuinfo that say what a processor can do; others change from one reading to the next.
_PROCESSOR_LINES = (
    "vendor_id", "cpu family", "model", "model name", "flags", "Features", "CPU implementer", "CPU variant",
    "CPU part", "CPU architecture", "isa", "uarch",
)  # fmt: skip
#: What the compiler stands on: a file of each that is another one in another version.
_LIBRARIES = {"llvmlite": ("_version.py", "binding/libllvmlite.so"), "xdsl": ("__init__.py", "_version.py")}


class UnknownProcessor(OSError):
    """The system does not say what processor this is, so kept code might be another one's."""


def digest(parts: Mapping[str, str]) -> str:
    """One name for all the parts; different parts have different names."""
    text = "".join(f"{len(k)}:{k}={len(v)}:{v};" for k, v in sorted(parts.items()))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@functools.lru_cache(maxsize=1)
def environment() -> Mapping[str, str]:
    """The parts, by what they are; looked up once a process.  UnknownProcessor where one cannot be told."""
    python = f"{sys.implementation.cache_tag} {sys.version} {sys.abiflags} -O{sys.flags.optimize}"
    return {
        "txc": _stamp(_sources(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))),
        **{name: _stamp(_library_files(name, files)) for name, files in _LIBRARIES.items()},
        "python": python,
        "numpy": np.__version__,
        "processor": processor(),
    }


def processor(path: str = "/proc/cpuinfo") -> str:
    """The first processor's description, in short; all are taken to be equal, as LLVM takes them."""
    try:
        with open(path, "rb", buffering=0) as file:
            text = file.read(1 << 14)
    except OSError as error:
        raise UnknownProcessor(f"{path}: {error.strerror}") from None
    block = text.split(b"\n\n")[0].decode("ascii", "replace")
    lines = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in block.splitlines())}
    known = {key: lines[key] for key in _PROCESSOR_LINES if key in lines}
    if not known.keys() & {"flags", "Features", "isa"}:
        raise UnknownProcessor(f"{path} does not list the processor's features")
    return f"{sys.platform} {platform.machine()} {digest(known)[:32]}"


def _stamp(files: Iterator[tuple[str, os.stat_result]]) -> str:
    return digest({name: f"{status.st_size} {status.st_mtime_ns}" for name, status in files})[:32]


def _sources(root: str) -> Iterator[tuple[str, os.stat_result]]:
    folders = [(root, "")]
    for folder, prefix in folders:  # which grows: a generator in another for each level costs a start a millisecond
        with os.scandir(folder) as items:
            for item in items:
                if item.name.endswith((".py", ".tx")):
                    yield prefix + item.name, item.stat()
                elif "." not in item.name and item.name != "__pycache__" and item.is_dir():
                    folders.append((item.path, f"{prefix}{item.name}/"))


def _library_files(name: str, files: tuple[str, ...]) -> Iterator[tuple[str, os.stat_result]]:
    found = (finder.find_spec(name, None) for finder in sys.meta_path)  # as importlib.util does, at a tenth of its cost
    spec = next((spec for spec in found if spec is not None), None)
    folder = os.path.dirname(spec.origin) if spec is not None and spec.origin else ""
    for file in files:
        path = os.path.join(folder, file)
        if os.path.exists(path):
            yield path, os.stat(path)
