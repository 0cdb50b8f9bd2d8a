"""Benchmarks of txc beside NumPy and whichever of numexpr, Numba and JAX are installed.

``python benchmarks/run.py [CASE …]``; without a case it runs all.  Contestants take turns (interleaved), each figure is
the median of its turns, and a ratio above 1 means that txc is faster.  A machine's ceilings, measured here with one
large copy and one matrix product, stand beside figures that memory or arithmetic bounds.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Contestants = dict[str, Callable[[], Any]]


@dataclass(frozen=True)
class Figure:
    """Seconds of each contestant; `work` is bytes moved or flops done, in `unit`s a second."""

    name: str
    seconds: dict[str, float]
    work: float = 0.0
    unit: str = ""

    def __str__(self) -> str:
        own = self.seconds["txc"]
        lines = [f"{self.name}"]
        for who, seconds in self.seconds.items():
            rate = f"{self.work / seconds / 1e9:8.1f} {self.unit}" if self.work else ""
            ratio = "" if who == "txc" else f"{seconds / own:7.2f} × txc's time"
            lines.append(f"  {who:<22}{1e3 * seconds:10.3f} ms {rate} {ratio}".rstrip())
        return "\n".join(lines)


def interleaved(name: str, contestants: Contestants, work: float = 0.0, unit: str = "", turns: int = 9) -> Figure:
    """Medians of `turns` rounds in which everyone runs once; a first, uncounted round warms up."""
    seconds: dict[str, list[float]] = {who: [] for who in contestants}
    for turn in range(turns + 1):
        for who, run in contestants.items():
            start = time.perf_counter()
            run()
            if turn:
                seconds[who].append(time.perf_counter() - start)
    return Figure(name, {who: statistics.median(s) for who, s in seconds.items()}, work, unit)


def peers() -> dict[str, Any]:
    """The installed peers by name."""
    found: dict[str, Any] = {}
    for name in ("numexpr", "numba", "jax"):
        try:
            found[name] = __import__(name)
        except ImportError:
            print(f"({name} is not installed: left out)")
    if "jax" in found:
        found["jax"].config.update("jax_enable_x64", True)
    return found


# The programs, in plain NumPy: `xp` is numpy, or jax.numpy for JAX.


def softmax(x: Any, xp: Any = np) -> Any:
    e = xp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def gelu(x: Any, xp: Any = np) -> Any:
    return 0.5 * x * (1.0 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def chain(x: Any, xp: Any = np) -> Any:
    """Ten operations that numexpr has, too."""
    return xp.sqrt(xp.exp(-x * x) * 0.5 + abs(x)) / (x * x + 2.0)


def black_scholes(s: Any, k: Any, t: Any, xp: Any = np) -> Any:
    """A call's price; the normal distribution by tanh, which every contestant has."""
    d1 = (xp.log(s / k) + 0.08 * t) / (0.4 * xp.sqrt(t))
    d2 = d1 - 0.4 * xp.sqrt(t)
    n1 = 0.5 * (1.0 + xp.tanh(0.7978845608 * (d1 + 0.044715 * d1 * d1 * d1)))
    n2 = 0.5 * (1.0 + xp.tanh(0.7978845608 * (d2 + 0.044715 * d2 * d2 * d2)))
    return s * n1 - k * xp.exp(-0.02 * t) * n2


CHAIN_TEXT = "sqrt(exp(-x * x) * 0.5 + abs(x)) / (x * x + 2.0)"


def elementwise_peers(found: dict[str, Any], f: Callable[..., Any], x: np.ndarray) -> Contestants:
    made: Contestants = {}
    if "numba" in found:
        globals()["prange"] = found["numba"].prange
        compiled = found["numba"].njit(parallel=True, fastmath=False)(_NUMBA[f])
        compiled(x)
        made["numba"] = lambda: compiled(x)
    if "jax" in found:
        jax = found["jax"]
        on_device = jax.numpy.asarray(x)
        compiled_jax = jax.jit(lambda a: f(a, jax.numpy))
        made["jax"] = lambda: compiled_jax(on_device).block_until_ready()
    return made


#: Numba's parallel range, where Numba is installed.
prange: Any = range


def _numba_softmax(x: Any) -> Any:
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        e = np.exp(x[i] - x[i].max())
        out[i] = e / e.sum()
    return out


def _numba_chain(x: Any) -> Any:
    return np.sqrt(np.exp(-x * x) * 0.5 + np.abs(x)) / (x * x + 2.0)


#: Numba knows no `keepdims`, and no modules as arguments: its own spellings.
_NUMBA = {softmax: _numba_softmax, chain: _numba_chain}


# The cases.


def case_import() -> list[Figure]:
    """``import txc`` beside ``import numpy``, each in fresh processes; the goal is at most 2.2 ×."""

    def seconds(statement: str) -> Callable[[], None]:
        return lambda: subprocess.run([sys.executable, "-c", statement], check=True) and None

    empty = interleaved("start", {"txc": seconds("pass")}).seconds["txc"]
    figure = interleaved("import", {"txc": seconds("import txc"), "numpy": seconds("import numpy")})
    return [Figure("import (interpreter's start left out)", {k: v - empty for k, v in figure.seconds.items()})]


def case_compile() -> list[Figure]:
    """From the call to its result, xDSL imported before; 60 ms is the goal (f64 Black-Scholes: 120)."""
    import txc

    txc.jit(lambda x: x + 1.0)(np.ones(3, np.float32))
    figures = []
    programs: list[tuple[str, Any, int, str]] = [
        ("softmax f32", softmax, 2, "f4"),
        ("gelu f32", gelu, 1, "f4"),
        ("black_scholes f32", black_scholes, 1, "f4"),
        ("black_scholes f64", black_scholes, 1, "f8"),
    ]
    found = peers()
    for name, f, rank, element in programs:
        count = 3 if f is black_scholes else 1
        arrays = [np.full((8,) * rank, 1.5, element) for _ in range(count)]
        turn = iter(range(1000))
        contestants: Contestants = {"txc": lambda f=f, a=arrays, t=turn: _cold_txc(f, a, next(t))}
        if "jax" in found:
            contestants["jax"] = lambda f=f, a=arrays: _cold_jax(found["jax"], f, a)
        figures.append(interleaved(f"cold call, {name}", contestants, turns=5))
    return figures


def _cold_txc(f: Any, arrays: list[np.ndarray], turn: int) -> None:
    """A call of a function that txc has not seen: a constant that differs makes another graph."""
    import txc

    bias = float(turn) * 1e-9
    txc.jit(lambda *xs: f(*xs) + bias)(*arrays)


def _cold_jax(jax: Any, f: Any, arrays: list[np.ndarray]) -> None:
    jax.clear_caches()
    jax.jit(lambda *xs: f(*xs, xp=jax.numpy))(*arrays).block_until_ready()


def case_contraction() -> list[Figure]:
    """1024³ in f32, packing included, on one and on two threads; NumPy's OpenBLAS on as many."""
    import txc

    n = 1024
    a, b = (np.random.default_rng(i).standard_normal((n, n)).astype(np.float32) for i in (0, 1))
    f = txc.jit(lambda a, b: a @ b)
    figures = []
    for threads in (1, 2):
        view = f.options(threads=threads)
        with blas_threads(threads):
            contestants: Contestants = {"txc": lambda v=view: v(a, b), "numpy": lambda: a @ b}
            figures.append(interleaved(f"contraction 1024³ f32, {threads} threads", contestants, 2.0 * n**3, "Gflop/s"))
    return figures


class blas_threads:
    """Sets OpenBLAS's number of threads where NumPy's copy of it can be found, else leaves it as it is."""

    def __init__(self, threads: int):
        self.threads = threads

    def __enter__(self) -> None:
        self._set(self.threads)

    def __exit__(self, *_: object) -> None:
        self._set(os.cpu_count() or 1)

    def _set(self, threads: int) -> None:
        import ctypes
        from pathlib import Path

        for library in Path(np.__file__).parent.parent.glob("numpy.libs/*openblas*"):
            loaded = ctypes.CDLL(str(library))
            for name in ("scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_"):
                if hasattr(loaded, name):
                    getattr(loaded, name)(threads)


def case_softmax() -> list[Figure]:
    import txc

    x = np.random.default_rng(0).standard_normal((4096, 1024)).astype(np.float32)
    f = txc.jit(softmax)
    contestants: Contestants = {"txc": lambda: f(x), "numpy": lambda: softmax(x)}
    contestants |= elementwise_peers(peers(), softmax, x)
    return [interleaved("softmax 4096×1024 f32", contestants, 2.0 * x.nbytes, "GB/s")]


def case_chain() -> list[Figure]:
    import txc

    x = np.random.default_rng(0).standard_normal(10_000_000).astype(np.float32)
    f = txc.jit(chain)
    contestants: Contestants = {"txc": lambda: f(x), "numpy": lambda: chain(x)}
    found = peers()
    if "numexpr" in found:
        contestants["numexpr"] = lambda: found["numexpr"].evaluate(CHAIN_TEXT, {"x": x})
    contestants |= elementwise_peers(found, chain, x)
    return [interleaved("chain of 10 operations at 10⁷, f32", contestants, 2.0 * x.nbytes, "GB/s")]


CASES: dict[str, Callable[[], list[Figure]]] = {
    "import": case_import,
    "compile": case_compile,
    "contraction": case_contraction,
    "softmax": case_softmax,
    "chain": case_chain,
}


def ceilings() -> str:
    """What this machine gives one large copy and one matrix product."""
    x = np.ones(20_000_000, np.float32)
    y = np.empty_like(x)
    copy = min(_seconds(lambda: np.copyto(y, x)) for _ in range(5))
    a = np.ones((1024, 1024), np.float32)
    product = min(_seconds(lambda: a @ a) for _ in range(5))
    rates = (
        f"{2 * x.nbytes / copy / 1e9:.1f} GB/s copied by one thread, {2 * 1024**3 / product / 1e9:.0f} Gflop/s (f32)"
    )
    return f"roofline: {rates}; {os.cpu_count()} CPUs, Python {sys.version.split()[0]}, NumPy {np.__version__}"


def _seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main(names: list[str]) -> int:
    unknown = [n for n in names if n not in CASES]
    if unknown:
        print(f"there is no case {unknown[0]!r}: there are {', '.join(CASES)}", file=sys.stderr)
        return 2
    print(ceilings())
    for name in names or list(CASES):
        for figure in CASES[name]():
            print(figure, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
