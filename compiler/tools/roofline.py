"""What this machine can do at best, measured: bytes copied and FMAs on registers, for a number of threads."""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..codegen.emit.module import attributes
from ..codegen.target.llvm_backend import LoadedObject, compile_llvm, load_object, native_target

__all__ = ["Ceilings", "ceilings", "copy_bandwidth", "division_peak", "fma_peak", "loaded"]

#: Independent chains of FMAs: two a cycle with a latency of four or five cycles, and they fit into 16 registers.
_CHAINS = 12
_COPIED, _ITERATIONS, _SAMPLES = 64 << 20, 1_000_000, 15


class Ceilings(NamedTuple):
    """Bytes read and written a second by copies; operations a second of f32 and f64 FMAs, an FMA being two."""

    bytes_per_second: float
    f32_flops_per_second: float
    f64_flops_per_second: float

    def flops_per_second(self, bits: int) -> float:
        """The ceiling for kernels whose widest float has so many bits."""
        return self.f64_flops_per_second if bits > 32 else self.f32_flops_per_second


@functools.lru_cache(maxsize=16)
def ceilings(threads: int) -> Ceilings:
    """Measured at the first call for each number of threads, which takes some tenths of a second."""
    return Ceilings(copy_bandwidth(threads), fma_peak(threads, 32), fma_peak(threads, 64))


def copy_bandwidth(threads: int, size: int = _COPIED, samples: int = _SAMPLES) -> float:
    """Bytes read and written a second by copies of `size` bytes into memory that is mapped already.

    A sample copies small sizes, which the caches hold, many times over.
    """
    copies = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(loaded(_COPIES + attributes(native_target()), "copies"))
    share, rounds = size // threads, max(1, _COPIED // size)
    buffers = [(np.ones(share, np.uint8), np.ones(share, np.uint8)) for _ in range(threads)]

    def part(i: int) -> None:
        target, source = buffers[i]
        copies(rounds, target.ctypes.data, source.ctypes.data, share)

    return 2 * share * threads * rounds / _shortest(part, threads, samples)


def fma_peak(threads: int, bits: int, iterations: int = _ITERATIONS, samples: int = _SAMPLES) -> float:
    """Operations a second of independent FMAs on registers, of floats of 32 or 64 bits."""
    return 2 * _chain_peak("fma", threads, bits, iterations, samples)


def division_peak(iterations: int = _ITERATIONS, samples: int = _SAMPLES) -> float:
    """Divisions of f32 a second, of one thread on registers."""
    return _chain_peak("fdiv", 1, 32, iterations, samples)


def _chain_peak(operation: str, threads: int, bits: int, iterations: int, samples: int) -> float:
    """Operations a second in independent chains."""
    lanes = native_target().vector_bits // bits
    peak = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(loaded(_chains(operation, lanes, bits), "peak"))
    buffers = [np.full(lanes, 1.5, f"f{bits // 8}") for _ in range(threads)]
    seconds = _shortest(lambda i: peak(iterations, buffers[i].ctypes.data), threads, samples)
    return threads * iterations * _CHAINS * lanes / seconds


#: ``copies(rounds, target, source, size)``: so many copies, one after another, by the C library.
_COPIES = """declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @copies(i64 %rounds, ptr %to, ptr %from, i64 %size) #0 {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false)
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %rounds
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


@functools.cache
def loaded(text: str, name: str) -> int:
    """The address of a function of an LLVM IR text, which stays loaded."""
    loaded = load_object(compile_llvm(text, native_target()), [name])
    _kept.append(loaded)
    return loaded.addresses[name]


_kept: list[LoadedObject] = []


def _chains(operation: str, lanes: int, bits: int) -> str:
    """``peak(n, p)``: n rounds of `_CHAINS` operations (fma, fdiv) on vectors; their sum goes to p: none is dead."""
    vector, name = f"<{lanes} x {'float' if bits == 32 else 'double'}>", f"llvm.fma.v{lanes}f{bits}"
    chains = range(_CHAINS)
    phis = "".join(f"  %a{i} = phi {vector} [ %x, %entry ], [ %b{i}, %loop ]\n" for i in chains)
    form = f"call {vector} @{name}({vector} %x, {vector} %x, {vector} %a{{i}})"
    if operation == "fdiv":
        form = f"fdiv {vector} %a{{i}}, %x"
    body = "".join(f"  %b{i} = {form.format(i=i)}\n" for i in chains)
    total = "".join(f"  %s{i + 1} = fadd {vector} %s{i}, %b{i}\n" for i in chains)
    return (
        f"declare {vector} @{name}({vector}, {vector}, {vector})\n"
        f"define void @peak(i64 %n, ptr %p) #0 {{\nentry:\n"
        f"  %x = load {vector}, ptr %p, align {bits // 8}\n  br label %loop\n"
        f"loop:\n  %i = phi i64 [ 0, %entry ], [ %j, %loop ]\n{phis}{body}"
        f"  %j = add i64 %i, 1\n  %more = icmp slt i64 %j, %n\n  br i1 %more, label %loop, label %done\n"
        f"done:\n  %s0 = fadd {vector} %x, %x\n{total}"
        f"  store {vector} %s{_CHAINS}, ptr %p, align {bits // 8}\n  ret void\n}}\n{attributes(native_target())}"
    )


def _shortest(part: Callable[[int], object], threads: int, samples: int) -> float:
    """The shortest time for all parts, one a thread: a ceiling is what the machine can do at best."""
    with ThreadPoolExecutor(threads) as pool:
        times = []
        for _ in range(samples + 1):
            start = time.perf_counter()
            list(pool.map(part, range(threads)))
            times.append(time.perf_counter() - start)
    return min(times[1:])
