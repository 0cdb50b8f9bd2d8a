"""How fast the programs of `examples/programs` are: ``python -m benchmarks.user_programs [NAME …] [--limit 120]``.

Each program runs in a process of its own, on the realistic size of its table: the seconds of the first call, and
NumPy's time over that of later calls, by the medians of calls in turn.  `measure_program` does so for any function.
"""

from __future__ import annotations

import argparse
import compileall
import copy
import importlib
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Measured", "compile_sources", "in_a_process", "measure_program", "report"]

FIELDS = ("images_and_signals", "machine_learning", "finance", "simulation", "data_analysis")
#: Calls of each kind are at most so many, and end after so many seconds.
CALLS, SECONDS = 9, 2.0


class Measured(NamedTuple):
    """The first call's seconds, NumPy's and later calls' (0 without any), and what was wrong."""

    first: float = 0.0
    numpy: float = 0.0
    later: float = 0.0
    problem: str = ""


def compile_sources() -> None:
    """Bytecode of txc's own sources, as an installation has it: a checkout that nothing wrote it for would compile
    hundreds of modules in each first call.
    """
    import txc

    package = Path(txc.__file__).parent
    for part in [package, *(folder.resolve() for folder in package.iterdir() if folder.is_symlink())]:
        compileall.compile_dir(part, quiet=2)


def measure_program(f: Callable[..., Any], arguments: Sequence[Any]) -> Measured:
    """`f` under jit beside `f`, each call on copies of the arguments; results and arguments are compared first."""
    import txc

    compiled = txc.jit(f)
    ours, theirs = (copy.deepcopy(arguments) for _ in range(2))
    started = time.perf_counter()
    try:
        got = compiled(*ours)
    except Exception as error:
        return Measured(time.perf_counter() - started, problem=f"{type(error).__name__}: {str(error).splitlines()[0]}")
    first = time.perf_counter() - started
    if not _equal((got, ours), (f(*theirs), theirs)):
        return Measured(first, problem="another result than NumPy's")
    seconds: dict[Callable[..., Any], list[float]] = {f: [], compiled: []}
    end = time.perf_counter() + SECONDS
    while len(seconds[f]) < CALLS and (time.perf_counter() < end or not seconds[f]):
        for g, times in seconds.items():
            given = copy.deepcopy(arguments)
            started = time.perf_counter()
            g(*given)
            times.append(time.perf_counter() - started)
    return Measured(first, median(seconds[f]), median(seconds[compiled]))


def _equal(got: Any, expected: Any) -> bool:
    """One structure, arrays of one dtype, and values to six digits (sums are in another order)."""
    if isinstance(expected, (tuple, list)):
        return len(got) == len(expected) and all(map(_equal, got, expected))
    if isinstance(expected, dict):
        return list(got) == list(expected) and all(_equal(got[k], expected[k]) for k in expected)
    if isinstance(expected, (np.ndarray, np.generic, int, float, complex)):
        a, b = np.asarray(got), np.asarray(expected)
        return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, 1e-6, 1e-6, equal_nan=True)
    return bool(got == expected)


def in_a_process(measure: Callable[..., Measured], *arguments: Any, limit: float) -> Measured:
    """``measure(*arguments)`` in a fresh process, ended after `limit` seconds."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, measure, arguments))
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(limit) else Measured(problem=f"no answer in {limit:.0f} s")
    except EOFError:
        return Measured(problem="the process ended")
    finally:
        process.kill()
        process.join()


def _send(sender: Connection, measure: Callable[..., Measured], arguments: tuple[Any, ...]) -> None:
    from txc.runtime.pool.threads import ENVIRONMENT_VARIABLE, available_cpus

    os.environ.setdefault(ENVIRONMENT_VARIABLE, str(available_cpus()))  # it is the only worker
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sender.send(measure(*arguments))


def report(name: str, measured: Measured) -> str:
    """A line of the table."""
    if measured.problem:
        return f"{name:28} {measured.first:7.2f} s   {measured.problem}"
    numpy, later = 1e3 * measured.numpy, 1e3 * measured.later
    return f"{name:28} {measured.first:7.2f} s {numpy:11.3f} ms {later:11.3f} ms {numpy / later:9.2f}"


def _cases() -> dict[str, tuple[Callable[..., Any], Callable[..., Any], int]]:
    """The programs by name: the function, what makes arguments, and the realistic size."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    modules = [importlib.import_module(f"examples.programs.{field}") for field in FIELDS]
    return {f.__name__: (f, make, size) for m in modules for f, (make, _, size) in m.CASES.items()}


def _measure(name: str) -> Measured:
    f, make, size = _cases()[name]
    return measure_program(f, make(np.random.default_rng(1), size))


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.user_programs", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; default: all")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for a program (default 120)")
    args = parser.parse_args()
    compile_sources()
    print(f"{'program':28} {'first':>9} {'NumPy':>14} {'later calls':>14} {'times':>9}")
    faster = total = 0
    for name in args.names or _cases():
        measured = in_a_process(_measure, name, limit=args.limit)
        print(report(name, measured), flush=True)
        total += 1
        faster += not measured.problem and measured.later < measured.numpy
    print(f"{faster} of {total} are faster than NumPy")


if __name__ == "__main__":
    main()
