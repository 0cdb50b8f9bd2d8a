"""``f.profile(*args)``: where the time of a call goes, kernel by kernel, beside what the machine can do.

The function is compiled a second time with clocks around its kernels (`passes/cost/instrument.py`); nothing is added to
the code that calls run, and that of each kernel is the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from ...dialects.dims.dims import Sym
from ...passes.cost.instrument import InstrumentPass, kernels_of
from ...passes.cost.kernel_stats import float_bits, kernel_label, kernel_stats
from ...runtime.loader.loader import library_symbols
from ...runtime.native_function import NativeFunction, usual_threads
from ..call.facts import StrideClass
from ..call.signature import Signature
from ..codegen.target.llvm_backend import load_object
from ..config.options import Options
from ..driver.compile_cache import compiled, strides_of
from ..driver.executable import CodeSpec, Executable, GuardFailure, Integers, Prepared
from ..frontend.trace.graph import Graph
from ..gpu.profile import profile_on_gpu
from ..pipeline import code_of, function_of, run_stages
from .roofline import Ceilings, ceilings
from .timed_calls import checked_repeats, copy_with_strides

if TYPE_CHECKING:
    from ..gpu.profile import GpuProfile

__all__ = ["KernelProfile", "Profile", "profile_graph"]

#: What instrumented code calls: `clock_gettime`, and what LLVM calls of its own accord.
_SYMBOLS = ("clock_gettime", "memcpy", "memmove", "memset")


@dataclass(frozen=True)
class KernelProfile:
    """A kernel in one call.

    `operations` are its scalar operations, `places` the user's lines (``file:line:column``) that it came from.  Bytes
    are those of its operands, each moved once, and flops those of the program, an elementary function counting as one;
    both are None where a condition at run time decides them.  `float_bits` is the width of its widest float.
    """

    operations: str
    places: tuple[str, ...]
    seconds: float
    bytes_read: int | None
    bytes_written: int | None
    flops: int | None
    float_bits: int

    @property
    def bytes(self) -> int | None:
        """Read and written."""
        if self.bytes_read is None or self.bytes_written is None:
            return None
        return self.bytes_read + self.bytes_written

    @property
    def bytes_per_second(self) -> float | None:
        return None if self.bytes is None else self.bytes / self.seconds

    @property
    def flops_per_second(self) -> float | None:
        return None if self.flops is None else self.flops / self.seconds


@dataclass(frozen=True)
class Profile:
    """The call of median length: its seconds, its kernels in the order in which they ran; what the machine can do."""

    name: str
    threads: int
    repeats: int
    seconds: float
    kernels: tuple[KernelProfile, ...]
    ceilings: Ceilings

    def share_of_bandwidth(self, kernel: KernelProfile) -> float | None:
        """Its bytes a second as a part of those of a copy.  More than 1: its operands were in a cache."""
        rate = kernel.bytes_per_second
        return None if rate is None else rate / self.ceilings.bytes_per_second

    def share_of_flops(self, kernel: KernelProfile) -> float | None:
        """Its operations a second as a part of those of FMAs on registers."""
        rate = kernel.flops_per_second
        return None if rate is None else rate / self.ceilings.flops_per_second(kernel.float_bits)

    def __str__(self) -> str:
        """A table, a line a kernel."""
        top = self.ceilings
        title = (
            f"{self.name}: {_time(self.seconds)} a call, median of {self.repeats}; {self.threads} thread(s), which "
            f"copy {top.bytes_per_second / 1e9:.1f} GB/s and do {top.f32_flops_per_second / 1e9:.0f} (f32) or "
            f"{top.f64_flops_per_second / 1e9:.0f} (f64) Gflop/s"
        )
        headings = ("kernel", "time", "of call", "MB", "Mflop", "GB/s", "of copy", "Gflop/s", "of FMA", "from")
        rows = [headings, *(self._row(k) for k in self.kernels)]
        widths = [max(map(len, column)) for column in zip(*rows)]
        left = (0, len(headings) - 1)
        lines = [
            "  ".join(c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))).rstrip()
            for row in rows
        ]
        return "\n".join([title, *lines])

    def _row(self, kernel: KernelProfile) -> tuple[str, ...]:
        return (
            kernel.operations,
            _time(kernel.seconds),
            f"{kernel.seconds / self.seconds:.0%}",
            _scaled(kernel.bytes, 1e6),
            _scaled(kernel.flops, 1e6),
            _scaled(kernel.bytes_per_second, 1e9),
            _percent(self.share_of_bandwidth(kernel)),
            _scaled(kernel.flops_per_second, 1e9),
            _percent(self.share_of_flops(kernel)),
            ", ".join(_lines(kernel.places)),
        )


def _lines(places: Sequence[str]) -> list[str]:
    """``file:line`` without folder and column, each once."""
    return list(dict.fromkeys(os.path.basename(place).rpartition(":")[0] for place in places))


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.2f} µs"


def _scaled(value: float | None, unit: float) -> str:
    return "-" if value is None else f"{value / unit:.4g}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


# Measuring ------------------------------------------------------------------------------------------------------------


class _Measured(NamedTuple):
    """Seconds of one call, from outside, and of each kernel in it."""

    seconds: float
    kernels: tuple[float, ...]


def profile_graph(
    graph: Graph,
    facts: Sequence[StrideClass],
    options: Options,
    arrays: Sequence[np.ndarray],
    integers: Integers,
    repeats: int | None,
) -> Profile | GpuProfile:
    """Run a graph `repeats` times (None: 20; and once before) and time its kernels.

    Arrays that it writes to are copied first.
    ValueError for a number of repeats that is none; GuardFailure where the graph does not hold for the arguments.
    """
    if options.gpu:
        return profile_on_gpu(compiled(graph, facts, options), arrays, integers({}), repeats)  # which has no rooms
    repeats = 20 if repeats is None else checked_repeats(repeats)
    buffers = run_stages(graph, options, strides=strides_of(graph, facts), stop_after="buffers").module
    assert buffers is not None
    instrumented = _Instrumented(graph, buffers, options)
    threads = options.threads or usual_threads(os.environ.get("TXC_NUM_THREADS"))
    prepared, calls = instrumented.calls(arrays, integers, threads, repeats)
    chosen = sorted(calls, key=lambda c: c.seconds)[len(calls) // 2]
    kernels = kernels_of(function_of(buffers))
    env = {Sym(name): value for name, value in zip(instrumented.code.symbols, prepared.symbols, strict=True)}
    rows = tuple(_row(op, seconds, env) for op, seconds in zip(kernels, chosen.kernels, strict=True))
    return Profile(graph.name, threads, repeats, chosen.seconds, rows, ceilings(threads))


def _row(op: Operation, seconds: float, env: dict[Sym, int]) -> KernelProfile:
    known = kernel_stats(op, env)
    figures = (None, None, None) if known is None else (known.bytes_read, known.bytes_written, known.flops)
    return KernelProfile(kernel_label(op), _places(op), seconds, *figures, float_bits(op))


def _places(op: Operation) -> tuple[str, ...]:
    """The user's lines of a kernel and of those inside it, in their order."""
    found = [o.attributes["loc"] for o in op.walk() if "loc" in o.attributes]
    return tuple(dict.fromkeys(loc.data for loc in found if isinstance(loc, StringAttr)))


class _Instrumented:
    """A `buffers` module, compiled with clocks around its kernels."""

    def __init__(self, graph: Graph, buffers: ModuleOp, options: Options):
        module = buffers.clone()
        InstrumentPass().apply(Context(), module)
        stages = run_stages(module, options, start="buffers")
        assert stages.module is not None and stages.object is not None
        code = code_of(graph, stages.module)
        loaded = load_object(stages.object, code.names, library_symbols(_SYMBOLS))
        address, sizes = loaded.addresses[code.function], (len(code.buffers), len(code.symbols))
        native = _InstrumentedFunction(address, *sizes, keep=loaded, checked=options.check_bounds)
        native.times = self._times = np.zeros(int(code.buffers[-1].dims[0]), np.int64)
        #: Callers see neither the clocks nor the buffer of times, which is the last one.
        self.code: CodeSpec = code._replace(buffers=code.buffers[:-1])
        self._executable = Executable(Signature.of(graph), self.code, native)

    def prepare(self, arrays: Sequence[np.ndarray], integers: Sequence[int]) -> Prepared:
        """What the shapes imply; GuardFailure where they do not fit."""
        shapes = [a.shape for a in arrays]
        steps = [tuple(s // a.itemsize for s in a.strides) for a in arrays]
        prepared = self._executable.prepare(shapes, steps, integers)
        if prepared is None:
            raise GuardFailure(self._executable.failing_guard(shapes, integers))
        return prepared

    def calls(
        self, arrays: Sequence[np.ndarray], integers: Integers, threads: int, repeats: int
    ) -> tuple[Prepared, list[_Measured]]:
        """What the shapes imply, and times of calls.  One before is not counted, in which threads start and the
        results' memory is mapped."""
        executable = self._executable

        def first() -> tuple[Prepared, list[np.ndarray]]:
            prepared = self.prepare(arrays, integers(executable.rooms))
            return prepared, executable.run(prepared, self._own(arrays), threads)

        prepared, results = executable.with_room(first)
        places = {b: r for b, r in zip(executable.outputs, results, strict=True) if b in executable.fresh}
        measured = []
        for _ in range(repeats):
            own = self._own(arrays)
            start = time.perf_counter_ns()
            executable.run(prepared, own, threads, places)
            total = time.perf_counter_ns() - start
            # A clock that did not move between two readings stands for less than its unit.
            kernels = tuple(max(1, int(ns)) * 1e-9 for ns in np.diff(self._times))
            measured.append(_Measured(total * 1e-9, kernels))
        return prepared, measured

    def _own(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Copies of the arrays that are written in place, in their own order in memory: the user's stay as they are."""
        return [copy_with_strides(a) if i in self._executable.written else a for i, a in enumerate(arrays)]


class _InstrumentedFunction(NativeFunction):
    """Machine code that takes one buffer more than its caller knows of: `times`."""

    times: np.ndarray

    def __call__(self, pointers: Sequence[int], symbols: Sequence[int], *memory_and_threads: Any, **named: Any) -> None:
        super().__call__([*pointers, self.times.ctypes.data], symbols, *memory_and_threads, **named)
