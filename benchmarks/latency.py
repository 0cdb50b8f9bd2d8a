"""What does not depend on sizes: compilations, imports, second processes, and calls on four elements."""

from __future__ import annotations

import functools
import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import txc

from . import programs
from .measure import Implementation

__all__ = ["LATENCIES", "as_installed", "optional"]

#: Contestants, and why others are absent.
Made = tuple[dict[str, Implementation], dict[str, str]]
#: Builders by name, which take whether the check is only that they run.
LATENCIES: dict[str, Callable[[bool], Made]] = {}


def _numbers(*shape: int, dtype: str = "f4") -> np.ndarray[Any, Any]:
    return (np.random.default_rng(0).random(shape) + 1).astype(dtype)


def optional(name: str) -> Any:
    """The module, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# A call ---------------------------------------------------------------------------------------------------------------


def _call(function: Callable[..., Any], arguments: Sequence[Any], keywords: dict[str, Any], quick: bool) -> Made:
    """Arrays of 4 elements: the time is the call's own.  JAX and PyTorch have arrays of their own already."""
    made: dict[str, Implementation] = {}

    def take(name: str, call: Callable[..., Any], given: Sequence[Any] = arguments) -> None:
        made[name] = Implementation(lambda: call(*given, **keywords))

    def as_arrays_of(convert: Callable[[Any], Any]) -> list[Any]:
        return [convert(x) if isinstance(x, np.ndarray) else x for x in arguments]

    take("txc", txc.jit(function))
    take("numpy", function)
    absent = {name: "not installed" for name in ("numba", "jax", "torch") if optional(name) is None}
    if "numba" not in absent:
        from .peers import numba_loops

        take("numba", getattr(numba_loops, function.__name__))
    if "jax" not in absent:
        jax = importlib.import_module("jax")
        from .peers.with_jax import over_jax

        take("jax", jax.jit(over_jax(function)), as_arrays_of(jax.numpy.asarray))
    if "torch" not in absent and not quick:  # compiling takes seconds
        torch = importlib.import_module("torch")
        take("torch.compile", torch.compile(function), as_arrays_of(torch.from_numpy))
    return made, absent


_CALLS: dict[str, tuple[Callable[..., Any], Callable[[], list[Any]], dict[str, Any]]] = {
    "call": (programs.sum_of_two, lambda: [_numbers(4), _numbers(4)], {}),
    "call-fused": (programs.fused_call, lambda: [_numbers(4), _numbers(4)], {}),
    "call-four": (programs.four_arrays, lambda: [_numbers(4) for _ in range(4)], {}),
    "call-scalars": (programs.with_scalars, lambda: [_numbers(4), 2.5], {"n": 4}),
}
for _name, (_function, _arguments, _keywords) in _CALLS.items():
    LATENCIES[_name] = lambda quick, f=_function, a=_arguments, k=_keywords: _call(f, a(), k, quick)


# Evaluations --------------------------------------------------------------------------------------------------------


def _evaluation(program: Callable[..., Any], elements: Sequence[int], quick: bool) -> Made:
    """Operations one by one, until a NumPy array has the result: txc's tensors are lazy, the others' eager."""
    arrays = [_numbers(*elements), _numbers(*elements) + 1]
    made: dict[str, Implementation] = {}

    def take(name: str, convert: Callable[[Any], Any], back: Callable[[Any], Any]) -> None:
        given = [convert(a) for a in arrays]
        made[name] = Implementation(lambda: back(program(*given)))

    take("txc", txc.asarray, np.asarray)
    take("txc.tensure", lambda a: txc.tensure.array(a, "f32"), np.asarray)
    take("numpy", lambda a: a, lambda a: a)
    absent = {name: "not installed" for name in ("jax", "torch") if optional(name) is None}
    if "jax" not in absent:
        take("jax", importlib.import_module("jax").numpy.asarray, np.asarray)
    if "torch" not in absent:
        take("torch", importlib.import_module("torch").from_numpy, lambda t: t.numpy())
    return made, absent


_EVALUATED: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "lazy-add": (lambda x, y: x + y, (4,)),
    "lazy-five-ops": (lambda x, y: abs((x / y - y) * x + y), (60, 50)),
}
for _name, (_program, _elements) in _EVALUATED.items():
    LATENCIES[_name] = lambda quick, p=_program, e=_elements: _evaluation(p, e, quick)


# Compile and import time ----------------------------------------------------------------------------------------------

_COMPILED: dict[str, tuple[Callable[..., Any], Callable[[], list[Any]]]] = {
    "softmax": (programs.softmax_rows, lambda: [_numbers(8, 16)]),
    "gelu": (programs.gelu, lambda: [_numbers(8, 16)]),
    "black-scholes-f32": (programs.black_scholes, lambda: [_numbers(16) for _ in range(3)]),
    "black-scholes-f64": (programs.black_scholes, lambda: [_numbers(16, dtype="f8") for _ in range(3)]),
    "thousand-ops": (programs.thousand_ops, lambda: [_numbers(8, 16) for _ in range(2)]),
}


def first_call(peer: str, name: str) -> Callable[[], Any]:
    """A function that compiles a program from nothing and runs it once on a few elements."""
    function, arguments = _COMPILED[name]
    args = arguments()
    if peer == "txc":
        importlib.import_module("txc.compiler.pipeline")
        return lambda: txc.jit(function)(*args)
    from .peers.with_jax import over_jax

    jax, traced = importlib.import_module("jax"), over_jax(function)
    return lambda: jax.jit(traced)(*args).block_until_ready()


def forget(peer: str) -> Callable[[], Any]:
    """A function that makes a peer forget what it compiled."""
    if peer == "txc":
        return importlib.import_module("txc.compiler.driver.compile_cache")._code.clear
    return importlib.import_module("jax").clear_caches


def in_process(*arguments: str) -> float:
    """The seconds that a fresh interpreter with these arguments prints."""
    done = subprocess.run([sys.executable, *arguments], env=as_installed(), check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def as_installed() -> dict[str, str]:
    """The environment of a process that keeps bytecode: what is installed has its own, and txc's sources get theirs."""
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def _compile(name: str, cold: bool) -> Made:
    """The first compilation of fresh processes (`cold`), or later ones of this process."""
    peers = ["txc"] + (["jax"] if optional("jax") else [])
    made: dict[str, Implementation] = {}
    for peer in peers:
        if cold:
            call = functools.partial(in_process, "-m", "benchmarks.latency", peer, name)
            made[peer] = Implementation(call, own_clock=True)
        else:
            made[peer] = Implementation(first_call(peer, name), before=forget(peer))
    return made, {} if "jax" in peers else {"jax": "not installed"}


for _name in _COMPILED:
    LATENCIES[f"compile-{_name}"] = lambda quick, name=_name: _compile(name, cold=False)
    LATENCIES[f"cold-{_name}"] = lambda quick, name=_name: _compile(name, cold=True)


def _import(quick: bool) -> Made:
    """Import time in fresh interpreters; txc imports NumPy, and no xDSL: checked."""
    programs_ = {"txc": "import txc; txc.jit; txc.Tensor", "numpy": "import numpy"}
    return {
        name: Implementation(functools.partial(in_process, "-c", IMPORT.format(p)), own_clock=True)
        for name, p in programs_.items()
    }, {}


IMPORT = """
import sys, time
start = time.perf_counter()
{}
seconds = time.perf_counter() - start
assert "xdsl" not in sys.modules
print(seconds)
"""


def _second_process(quick: bool) -> Made:
    """Wall time of a script that runs softmax once on 64×64 f32, its code being kept, and of the same in NumPy."""
    folder = Path(tempfile.mkdtemp())
    scripts = {"txc": "import txc" + SOFTMAX_SCRIPT, "numpy": SOFTMAX_SCRIPT.replace("@txc.jit", "")}
    for name, text in scripts.items():
        (folder / f"with_{name}.py").write_text(text)
    environment = {**as_installed(), "TXC_CACHE_DIR": str(folder / "cache")}

    def run(name: str) -> float:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, folder / f"with_{name}.py"], env=environment, stdout=subprocess.DEVNULL, check=True
        )
        return time.perf_counter() - start

    run("txc")  # keeps the code
    return {name: Implementation(functools.partial(run, name), own_clock=True) for name in scripts}, {}


SOFTMAX_SCRIPT = """
import numpy as np

@txc.jit
def softmax(x, beta):
    e = np.exp((x - x.max(axis=1, keepdims=True)) * beta)
    return e / e.sum(axis=1, keepdims=True)

print(softmax(np.arange(64 * 64, dtype=np.float32).reshape(64, 64) / 1000, 1.0).sum())
"""

LATENCIES["import"] = _import
LATENCIES["second-process"] = _second_process


if __name__ == "__main__":  # PEER NAME: the seconds of a first compilation, what it needs being imported before
    compile_and_run = first_call(sys.argv[1], sys.argv[2])
    start = time.perf_counter()
    compile_and_run()
    print(time.perf_counter() - start)
