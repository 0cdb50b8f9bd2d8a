"""The programs that `run.py` measures, each beside its peers: NumPy, and numexpr, Numba and JAX where installed.

A case is a function that builds a `Case`: contestants by name, and the work one call does.  The programs are plain
NumPy: txc gets them unmodified, JAX the same code with `jax.numpy` for `np`, Numba loops.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import erf

import txc

# Compile times are those of compilations: only the case of the second process has a cache.
os.environ["TXC_CACHE_DIR"] = "0"
random = np.random.default_rng(0)


@dataclass
class Contestant:
    """One way to do the work.  `before` runs untimed before each sample; a sample is `inner` calls.

    Where `own_clock`, `call` returns the seconds it measured itself (in another process, say).
    """

    call: Callable[[], Any]
    before: Callable[[], Any] | None = None
    inner: int = 1
    own_clock: bool = False


@dataclass
class Case:
    """What is compared.  `work` is what one call moves or computes, in `unit` ("B" or "flop"; "" where no rate)."""

    contestants: dict[str, Contestant]
    work: float = 0.0
    unit: str = ""
    note: str = ""
    tolerance: float = 1e-4
    missing: list[str] = field(default_factory=list)


CASES: dict[str, Callable[[bool], Case]] = {}


def case(function: Callable[[bool], Case]) -> Callable[[bool], Case]:
    """Register a builder, which takes whether sizes are to be small, under its name."""
    CASES[function.__name__.strip("_").replace("_", "-")] = function
    return function


def optional(name: str) -> Any:
    """The module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# The programs ---------------------------------------------------------------------------------------------------------


def softmax(x):
    """Rows of x to weights that sum to one."""
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def gelu(x):
    """The tanh form."""
    return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def black_scholes(s, k, t, r, v):
    """European calls, the normal distribution by erf."""
    d1 = (np.log(s / k) + (r + 0.5 * v * v) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    n1 = 0.5 * (1.0 + erf(d1 * 0.7071067811865476))
    n2 = 0.5 * (1.0 + erf(d2 * 0.7071067811865476))
    return s * n1 - k * np.exp(-r * t) * n2


def chain(a, b):
    """Ten elementwise operations, two arrays in and one out."""
    return np.sqrt(np.abs(((a * b + 1.5) * a - b) * 0.5 + a)) / (b + 2.0)


def matmul(a, b):
    return a @ b


def row_sum(x):
    return x.sum(axis=1)


def column_sum(x):
    return x.sum(axis=0)


def add(a, b):
    return a + b


# Contestants ----------------------------------------------------------------------------------------------------------


def for_jax(jax: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same code over jax.numpy."""
    jax.config.update("jax_enable_x64", True)
    scope = {"np": jax.numpy, "erf": jax.scipy.special.erf}
    return types.FunctionType(function.__code__, scope, function.__name__)


def ours_and_peers(function: Callable[..., Any], *args: np.ndarray, inner: int = 1, **peers: Any) -> Case:
    """txc, NumPy and JAX on a program, and what else is given (None where its module is missing)."""
    compiled = txc.jit(function)
    made = Case({"txc": Contestant(lambda: compiled(*args), inner=inner)})
    made.contestants["numpy"] = Contestant(lambda: function(*args), inner=inner)
    for name, call in peers.items():
        if call is None:
            made.missing.append(name)
        else:
            made.contestants[name] = Contestant(call, inner=inner)
    jax = optional("jax")
    if jax is None:
        made.missing.append("jax")
    else:
        traced = jax.jit(for_jax(jax, function))
        held = [jax.numpy.asarray(a) for a in args]
        made.contestants["jax"] = Contestant(lambda: traced(*held).block_until_ready(), inner=inner)
    return made


def numba_loop(name: str, *args: np.ndarray) -> Callable[[], Any] | None:
    """A loop of `numba_loops.py` over the arguments."""
    if optional("numba") is None:
        return None
    loop = getattr(importlib.import_module("numba_loops"), name)
    return lambda: loop(*args)


def f32(*shape: int) -> np.ndarray:
    return random.random(shape, dtype=np.float32)


# Run time -------------------------------------------------------------------------------------------------------------


@case
def contraction(quick: bool) -> Case:
    """n³ f32 contraction, packing included; NumPy is OpenBLAS.  Eight calls in a row a sample: threads are awake."""
    n = 128 if quick else 1024
    made = ours_and_peers(matmul, f32(n, n), f32(n, n), inner=8)
    made.work, made.unit = 2.0 * n**3, "flop"
    return made


@case
def contraction_after_a_pause(quick: bool) -> Case:
    """The same, one call a sample: threads have slept before it."""
    n = 128 if quick else 1024
    made = ours_and_peers(matmul, f32(n, n), f32(n, n))
    made.work, made.unit = 2.0 * n**3, "flop"
    return made


@case
def _softmax(quick: bool) -> Case:
    """Softmax of rows, f32: one read and one write at least."""
    x = f32(64, 128) if quick else f32(4096, 1024)
    numexpr = optional("numexpr")

    def by_numexpr() -> Any:
        top = x.max(axis=1, keepdims=True)
        e = numexpr.evaluate("exp(x - top)", {"x": x, "top": top})
        return numexpr.evaluate("e / s", {"e": e, "s": e.sum(axis=1, keepdims=True)})

    made = ours_and_peers(softmax, x, numexpr=numexpr and by_numexpr, numba=numba_loop("softmax", x))
    made.work, made.unit = 2.0 * x.nbytes, "B"
    return made


@case
def _chain(quick: bool) -> Case:
    """Ten elementwise operations on f32: two reads and one write at least."""
    n = 10**4 if quick else 10**7
    a, b = f32(n), f32(n)
    numexpr = optional("numexpr")
    text = "sqrt(abs(((a * b + c) * a - b) * h + a)) / (b + d)"
    given = {"a": a, "b": b, "c": np.float32(1.5), "h": np.float32(0.5), "d": np.float32(2.0)}
    by_numexpr = numexpr and (lambda: numexpr.evaluate(text, given))
    made = ours_and_peers(chain, a, b, numexpr=by_numexpr, numba=numba_loop("chain", a, b))
    made.work, made.unit = 3.0 * a.nbytes, "B"
    return made


def _sum(function: Callable[..., Any], loop: str, quick: bool) -> Case:
    x = f32(128, 128) if quick else f32(4096, 4096)
    made = ours_and_peers(function, x, numba=numba_loop(loop, x))
    made.work, made.unit = float(x.nbytes), "B"
    return made


@case
def _row_sum(quick: bool) -> Case:
    """Sum of each row of a 4096×4096 f32 array."""
    return _sum(row_sum, "row_sum", quick)


@case
def _column_sum(quick: bool) -> Case:
    """Sum of each column of a 4096×4096 f32 array."""
    return _sum(column_sum, "column_sum", quick)


def _call(function: Callable[..., Any], quick: bool, *args: Any, **keywords: Any) -> Case:
    """A call on 4 elements: the time is the call's own.  JAX and PyTorch have arrays of their own already."""
    inner = 100 if quick else 5000
    made = Case({})

    def add(name: str, call: Callable[..., Any], arguments: Sequence[Any] = args) -> None:
        made.contestants[name] = Contestant(lambda: call(*arguments, **keywords), inner=inner)

    def as_arrays_of(convert: Callable[[Any], Any]) -> list[Any]:
        return [convert(x) if isinstance(x, np.ndarray) else x for x in args]

    add("txc", txc.jit(function))
    add("numpy", function)
    jax, torch = optional("jax"), optional("torch")
    if optional("numba") is not None:
        add("numba", getattr(importlib.import_module("numba_loops"), function.__name__))
    if jax is not None:
        add("jax", jax.jit(for_jax(jax, function)), as_arrays_of(jax.numpy.asarray))
    if torch is not None:
        add("torch.compile", torch.compile(function), as_arrays_of(torch.from_numpy))
    made.missing = [name for name in ("numba", "jax", "torch") if optional(name) is None]
    return made


def fused(x, y):
    return x * 2 - y / 3


def four(a, b, c, d):
    return a * b + c * d


def with_scalars(x, s, n=3):
    return x * s + n


@case
def call(quick: bool) -> Case:
    """What a call costs: the sum of two arrays of 4 elements, which NumPy does in one call of its own."""
    return _call(add, quick, f32(4), f32(4))


@case
def call_fused(quick: bool) -> Case:
    """Three operations on two arrays of 4 elements."""
    return _call(fused, quick, f32(4), f32(4))


@case
def call_four(quick: bool) -> Case:
    """Four arrays of 4 elements."""
    return _call(four, quick, f32(4), f32(4), f32(4), f32(4))


@case
def call_scalars(quick: bool) -> Case:
    """An array of 4 elements, a Python float, and an int by keyword."""
    return _call(with_scalars, quick, f32(4), 2.5, n=4)


# Compile and import time ----------------------------------------------------------------------------------------------

COMPILED: dict[str, tuple[Callable[..., Any], Callable[[], list[Any]]]] = {
    "softmax": (softmax, lambda: [f32(8, 16)]),
    "gelu": (gelu, lambda: [f32(8, 16)]),
    "black-scholes-f32": (black_scholes, lambda: [*(f32(16) + 1 for _ in range(3)), 0.02, 0.3]),
    "black-scholes-f64": (black_scholes, lambda: [*(random.random(16) + 1 for _ in range(3)), 0.02, 0.3]),
}


def first_call(peer: str, name: str) -> Callable[[], Any]:
    """A function that compiles a program from nothing and runs it once on a few elements."""
    function, arguments = COMPILED[name]
    args = arguments()
    if peer == "txc":
        importlib.import_module("txc.compiler.pipeline")
        return lambda: txc.jit(function)(*args)
    jax = importlib.import_module("jax")
    traced = for_jax(jax, function)
    return lambda: jax.jit(traced)(*args).block_until_ready()


def forget(peer: str) -> Callable[[], Any]:
    """A function that makes a peer forget what it compiled."""
    if peer == "txc":
        return importlib.import_module("txc.compiler.jit")._code.clear
    return importlib.import_module("jax").clear_caches


def in_process(*arguments: str) -> float:
    """The seconds that a fresh interpreter with these arguments prints."""
    done = subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def _compile(name: str, cold: bool) -> Case:
    peers = ["txc"] + (["jax"] if optional("jax") else [])
    made = Case({}, missing=[] if "jax" in peers else ["jax"])
    for peer in peers:
        if cold:
            made.contestants[peer] = Contestant(lambda p=peer: in_process(__file__, p, name), own_clock=True)
        else:
            made.contestants[peer] = Contestant(first_call(peer, name), before=forget(peer))
    made.note = "first compilation of a fresh process" if cold else "later compilations of a process"
    return made


for _name in COMPILED:
    CASES[f"compile-{_name}"] = lambda quick, name=_name: _compile(name, cold=False)
    CASES[f"cold-{_name}"] = lambda quick, name=_name: _compile(name, cold=True)


@case
def _import(quick: bool) -> Case:
    """Import time in fresh interpreters; txc imports NumPy."""
    made = Case({}, note="front end and op registry included; xDSL not imported with txc: checked")
    for name, program in {"txc": "import txc; txc.jit; txc.Tensor", "numpy": "import numpy"}.items():
        made.contestants[name] = Contestant(lambda p=program: in_process("-c", IMPORT.format(p)), own_clock=True)
    return made


IMPORT = """
import sys, time
start = time.perf_counter()
{}
seconds = time.perf_counter() - start
assert "xdsl" not in sys.modules
print(seconds)
"""


@case
def _second_process(quick: bool) -> Case:
    """Wall time of a script that runs softmax once on 64×64 f32, its code being kept, and of the same in NumPy."""
    folder = Path(tempfile.mkdtemp())
    scripts = {"txc": "import txc" + SOFTMAX_SCRIPT, "numpy": SOFTMAX_SCRIPT.replace("@txc.jit", "")}
    for name, text in scripts.items():
        (folder / f"with_{name}.py").write_text(text)
    environment = {**os.environ, "TXC_CACHE_DIR": str(folder / "cache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has its bytecode

    def run(name: str) -> float:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, folder / f"with_{name}.py"], env=environment, stdout=subprocess.DEVNULL, check=True
        )
        return time.perf_counter() - start

    run("txc")  # keeps the code
    contestants = {name: Contestant(lambda n=name: run(n), own_clock=True) for name in scripts}
    return Case(contestants, note="the second process and later ones")


SOFTMAX_SCRIPT = """
import numpy as np

@txc.jit
def softmax(x, beta):
    e = np.exp((x - x.max(axis=1, keepdims=True)) * beta)
    return e / e.sum(axis=1, keepdims=True)

print(softmax(np.arange(64 * 64, dtype=np.float32).reshape(64, 64) / 1000, 1.0).sum())
"""


if __name__ == "__main__":  # PEER NAME: the seconds of a first compilation, what it needs being imported before
    compile_and_run = first_call(sys.argv[1], sys.argv[2])
    start = time.perf_counter()
    compile_and_run()
    print(time.perf_counter() - start)
