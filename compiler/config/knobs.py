"""The environment variables txc reads: typed, documented, listed by ``tensor-compile knobs``.

A knob is read when it is asked for, so that tests and notebooks may change the environment between calls.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from ...runtime.buffers.buffer_pool import DEFAULT_MB, HUGE_PAGES_VARIABLE, huge_pages_wanted, limit
from ...runtime.buffers.buffer_pool import SIZE_VARIABLE as BUFFERS_VARIABLE
from ...runtime.file_store import DEFAULT_SIZE_MB, FOLDER_VARIABLE, SIZE_VARIABLE, default_folder, size_limit
from ...runtime.loader.perf_map import PERF_MAP_VARIABLE, perf_map_wanted
from ...runtime.pool.threads import ENVIRONMENT_VARIABLE, default_threads
from .device_names import CPU, DEVICE_VARIABLE, OptionError, device_named

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "BUFFER_CACHE_MB", "CACHE_DIR", "CACHE_SIZE_MB", "CC", "CHECK_BOUNDS", "DEVICE", "DUMP_IR", "GDB", "GPU_GRAPHS",
    "HUGE_PAGES", "KNOBS", "NATIVE", "NATIVE_ENTRY", "NUM_THREADS", "OPT_LEVEL", "PASSES", "PERF_MAP", "PRINT_IR",
    "SIMULATED_GPU", "SPECIALIZE", "TARGET", "TIME_PASSES", "VERIFY", "Knob", "KnobError",
]  # fmt: skip

T = TypeVar("T")


class KnobError(ValueError):
    """An environment variable whose text is not what its knob takes."""


class Knob(Generic[T]):
    """One variable.  `read` turns its text into a value or raises ValueError; an empty text counts as unset."""

    def __init__(self, name: str, takes: str, default: T, doc: str, read: Callable[[str], T]):
        self.name, self.takes, self.default = name, takes, default
        self.doc, self.read = doc, read

    def get(self) -> T:
        """Its value now.  Raises KnobError, which names the variable, its text and what it takes."""
        text = os.environ.get(self.name, "").strip()
        if not text:
            return self.default
        try:
            return self.read(text)
        except ValueError as error:
            reason = f" ({error})" if isinstance(error, OptionError) else ""
            raise KnobError(f"{self.name}={text!r}: it takes {self.takes}{reason}") from error


KNOBS: dict[str, Knob[object]] = {}


def _knob(name: str, takes: str, default: T, read: Callable[[str], T], doc: str) -> Knob[T]:
    made: Knob[T] = Knob(name, takes, default, doc, read)
    KNOBS[name] = made  # type: ignore[assignment]
    return made


def _bool(text: str) -> bool:
    lowered = text.lower()
    if lowered not in ("0", "1", "false", "true"):
        raise ValueError(text)
    return lowered in ("1", "true")


def _one_of(*allowed: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(text)
        return text

    return read


def _instruction_set(text: str) -> str:
    if re.fullmatch(r"sm_[1-9][0-9]+[af]?", text) is None:
        raise ValueError(text)
    return text


def _command(text: str) -> str:
    import shlex

    shlex.split(text)
    return text


def _folder(text: str) -> Path:
    from pathlib import Path  # which takes longer to import than a hit in the cache takes

    return Path(text)


NUM_THREADS = _knob(
    ENVIRONMENT_VARIABLE,
    "a positive integer",
    0,
    lambda _: default_threads(),
    "Threads of a parallel loop where neither jit(threads=) nor a device says; unset: the CPUs of the affinity mask "
    "and cgroup, and 1 in worker processes of multiprocessing, joblib and Dask.",
)
DEVICE = _knob(
    DEVICE_VARIABLE,
    "a device: 'cpu', 'cpu:N', 'ptx-sim' or 'cuda:N'",
    CPU,
    device_named,
    "The device of functions decorated then, and of lazy expressions, where neither an option nor txc.device says.",
)
BUFFER_CACHE_MB = _knob(
    BUFFERS_VARIABLE,
    "an integer from 0 on",
    DEFAULT_MB,
    lambda _: limit() >> 20,
    f"Megabytes of large results' memory that are kept to be used again; 0: none; unset: {DEFAULT_MB}.  Read when a "
    "version becomes callable and in calls through Python, not in each call.",
)
HUGE_PAGES = _knob(
    HUGE_PAGES_VARIABLE,
    "0, 1, false or true",
    True,
    lambda _: huge_pages_wanted(),
    "The kernel is asked for huge pages for results of 4 MB and more; read when the buffers' size is.",
)
CACHE_DIR = _knob(
    FOLDER_VARIABLE,
    "a folder",
    "",
    lambda _: default_folder(),
    "Where compiled code is kept for other processes: a folder of your own, mode 0700; 0: nowhere; unset: txc in your "
    "cache folder.",
)
CACHE_SIZE_MB = _knob(
    SIZE_VARIABLE,
    "a positive integer",
    DEFAULT_SIZE_MB,
    lambda _: size_limit() >> 20,
    f"Megabytes of compiled code that are kept; what was not used for longest goes first; unset: {DEFAULT_SIZE_MB}.",
)
DUMP_IR = _knob(
    "TXC_DUMP_IR",
    "a folder",
    None,
    _folder,
    "Every compilation writes each stage into a numbered folder below this one.",
)
PRINT_IR = _knob(
    "TXC_PRINT_IR",
    "'all' or 'change'",
    "",
    _one_of("all", "change"),
    "Every compilation prints its IR to stderr: after all passes, or after those that changed something.",
)
TIME_PASSES = _knob(
    "TXC_TIME_PASSES",
    "0, 1, false or true",
    False,
    _bool,
    "Every compilation prints a table of the time each pass took to stderr.",
)
VERIFY = _knob(
    "TXC_VERIFY",
    "0, 1, false or true",
    False,
    _bool,
    "Verify the IR, dominance included, after every pass; otherwise it is verified once, after lowering.",
)
CC = _knob(
    "TXC_CC",
    "a command",
    "",
    _command,
    "The C compiler that links exported shared libraries; unset: cc, the target's cross compiler, or PyPI's ziglang.",
)
NATIVE_ENTRY = _knob(
    "TXC_NATIVE_ENTRY",
    "0, 1, false or true",
    None,
    _bool,
    "Calls of jitted functions enter machine code directly; with 0, for what is compiled then, they go through Python; "
    "unset: as with 1, but one call later, since a process may call it once.",
)
SPECIALIZE = _knob(
    "TXC_SPECIALIZE",
    "0, 1, false or true",
    True,
    _bool,
    "Where calls keep having the same small sizes, one more version is compiled for these (`f.explain_compile()`), and "
    "the first sizes of what has much shorter loops for one size, as Fourier transforms and many rows of up to eight "
    "elements, have versions of their own.",
)
#: The target that is this machine as it is.
NATIVE = "native"
TARGET = _knob(
    "TXC_TARGET",
    "x86-64, x86-64-v2, x86-64-v3, x86-64-v4 or native",
    NATIVE,
    _one_of("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", NATIVE),
    "The level of x86-64 that code for this machine is compiled for, as if its processor had no more: to see on one "
    "machine what others compile.  A level that the processor does not have is an error.",
)
GPU_GRAPHS = _knob(
    "TXC_GPU_GRAPHS",
    "0, 1, false or true",
    True,
    _bool,
    "Kernels that calls launch again and again are launched as one CUDA graph; with 0 each is, so that with "
    "CUDA_LAUNCH_BLOCKING=1 an error names the kernel.",
)
SIMULATED_GPU = _knob(
    "TXC_SIMULATED_GPU",
    "a GPU's instruction set, such as sm_80",
    "sm_90a",
    _instruction_set,
    "The GPU that the device 'ptx-sim' stands for, once the process uses it.",
)
PERF_MAP = _knob(
    PERF_MAP_VARIABLE,
    "0, 1, false or true",
    False,
    lambda _: perf_map_wanted(),
    "Functions are named to Linux's perf, in /tmp/perf-PID.map, when txc's own loader loads them (ELF objects).",
)
GDB = _knob(
    "TXC_GDB",
    "0, 1, false or true",
    False,
    _bool,
    "Functions decorated then are compiled as with jit(debug=True): gdb stops at their lines and shows them. Code with "
    "debug information is not kept for other processes.",
)
CHECK_BOUNDS = _knob(
    "TXC_CHECK_BOUNDS",
    "0, 1, false or true",
    False,
    _bool,
    "Functions decorated then, and lazy expressions, are compiled as with jit(check_bounds=True): an index outside of "
    "its buffer, a mistake of the compiler, is an error. Such code is not kept for other processes.",
)
OPT_LEVEL = _knob(
    "TXC_OPT_LEVEL",
    "0 or 2",
    2,
    lambda text: int(_one_of("0", "2")(text)),
    "With 0 functions decorated then, and lazy expressions, are compiled as with jit(opt_level=0): code for the CPU is "
    "made in a third to half of the time, runs slower, and has the same results.",
)
PASSES = _knob(
    "TXC_PASSES",
    "passes with options, e.g. 'tx-fuse-rows{enabled=false}'",
    "",
    str,
    "Options for passes of the pipeline, as --passes takes them.",
)
