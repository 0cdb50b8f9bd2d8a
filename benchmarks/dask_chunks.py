"""Functions over Dask's arrays on one machine: ``python -m benchmarks.dask_chunks [NAME …] [--threads 1,2] [--quick]``.

The same function for each chunk: txc's call with Dask's array and as the function of `map_blocks`, Numba's and NumPy's
functions in `map_blocks`, and the plain function on Dask's array, whose operations Dask cuts.  Dask's scheduler of
threads runs them; a chunk is on one thread each time, and results stay in chunks.  Every result is compared with
NumPy's before turns are taken.  What is printed is each one's time over txc's: of medians, with the interval, and of
the fastest samples.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import dask.array as da
import numpy as np

import txc

from . import programs
from .measure import Effort, Implementation, check, measure
from .ratios import ratio_interval

__all__ = ["Case", "implementations"]

COLUMNS = 1024
PEERS = ("txc in map_blocks", "Numba in map_blocks", "NumPy in map_blocks", "Dask's operations")
#: Rows of a chunk, of f32 128 kB and 2 MB.
CHUNKS = (32, 512)


class Case(NamedTuple):
    """A program on some arrays, each number of which lies between `low` and `high`; `axis` is one that it reduces."""

    program: Callable[..., Any]
    arrays: int
    low: float
    high: float
    axis: int | None = None


CASES = {
    "add-three": Case(programs.add_three, 3, 0.5, 2.0),
    "chain": Case(programs.chain, 2, 0.5, 2.0),
    "gelu": Case(programs.gelu, 1, -4.0, 4.0),
    "exp-chain": Case(programs.exp_chain, 1, -1.0, 1.0),
    "softmax-rows": Case(programs.softmax_rows, 1, -4.0, 4.0),
    "column-sum": Case(programs.column_sum, 1, 0.5, 2.0, 0),
}


def _for_numba(program: Callable[..., Any]) -> Callable[..., Any]:
    """A program as Numba runs it on one thread beside others: its loops where some are written."""
    numba: Any = importlib.import_module("numba")
    loops = getattr(importlib.import_module(".peers.numba_loops", __package__), program.__name__, None)
    text = program if loops is None else loops.py_func
    return numba.njit(nogil=True, fastmath=True, error_model="numpy")(text)


def _by_chunks(case: Case, function: Callable[..., Any], arrays: list[Any]) -> Any:
    """The function of each chunk; of a reduction partial results, which Dask adds up."""
    dtype = arrays[0].dtype
    if case.axis is None:
        return da.map_blocks(function, *arrays, dtype=dtype, meta=np.empty((0, 0), dtype))
    partial = da.map_blocks(
        lambda x: function(x)[None], *arrays, dtype=dtype, chunks=((1,) * arrays[0].numblocks[0], COLUMNS),
        meta=np.empty((0, 0), dtype),
    )  # fmt: skip
    return partial.sum(axis=0)


def implementations(case: Case, arrays: list[Any]) -> dict[str, Any]:
    """The lazy result of each that is installed, by name; `arrays` are Dask's."""
    made = {
        "txc": txc.jit(case.program)(*arrays),
        "txc in map_blocks": _by_chunks(case, txc.jit(case.program, threads=1), arrays),
        "NumPy in map_blocks": _by_chunks(case, case.program, arrays),
        "Dask's operations": case.program(*arrays),
    }
    if importlib.util.find_spec("numba"):
        made["Numba in map_blocks"] = _by_chunks(case, _for_numba(case.program), arrays)
    return made


def _measure(name: str, dtype: str, rows: int, chunk: int, threads: int, effort: Effort) -> str:
    """A line of the table."""
    case, rng = CASES[name], np.random.default_rng(1)
    arrays = [rng.uniform(case.low, case.high, (rows, COLUMNS)).astype(dtype) for _ in range(case.arrays)]
    pieces: Any = (chunk, COLUMNS)
    lazy = implementations(case, [da.from_array(a, chunks=pieces) for a in arrays])

    def run(made: Any) -> Any:
        return made.persist(scheduler="threads", num_workers=threads)

    tolerance = 1e-4 if dtype == "f4" else 1e-9
    check({name: run(made).compute() for name, made in lazy.items()}, case.program(*arrays), tolerance)
    calls = {name: Implementation(lambda made=made: run(made)) for name, made in lazy.items()}
    seconds = measure(calls, effort).seconds
    ours = seconds["txc"]
    cells = [f"{name} {rows}×{COLUMNS} {dtype}, {-(-rows // chunk)} chunks", f"{1e3 * statistics.median(ours):.2f} ms"]
    cells += [_ratio(ours, seconds[other]) if other in seconds else "" for other in PEERS]
    return "| " + " | ".join(cells) + " |"


def _ratio(ours: list[float], theirs: list[float]) -> str:
    """Their time over ours: of medians, with its interval where rounds are as many, and of minima in brackets."""
    middle, least = (f"{of(theirs) / of(ours):.2f}" for of in (statistics.median, min))
    if len(theirs) != len(ours):  # it left after two rounds
        return f"{middle} [{least}]"
    low, high = ratio_interval(theirs, ours)
    return f"{middle} ({low:.2f} to {high:.2f}) [{least}]"


def _table(names: Sequence[str], threads: int, quick: bool) -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    effort = Effort(2, 2, 0.0, 0.0) if quick else Effort(5, 31, 1.5, 0.1, 0.5)
    print(f"Threads: {threads}; times of the others over txc's\n")
    print("| | txc | " + " | ".join(PEERS) + " |\n|" + " --- |" * (len(PEERS) + 2))
    for name in names:
        for dtype in ("f4",) if quick else ("f4", "f8"):
            for chunk in CHUNKS[:1] if quick else CHUNKS:
                print(_measure(name, dtype, 100 if quick else 4096, chunk, threads, effort), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.dask_chunks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}; default: all")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, separated by commas (default 1,2)")
    parser.add_argument("--quick", action="store_true", help="small arrays and two rounds: a check that it runs")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for name in args.names:
        if name not in CASES:
            parser.error(f"there is no {name!r}; there are {', '.join(CASES)}")
    for threads in args.threads.split(","):
        if args.here:
            _table(args.names or [*CASES], int(threads), args.quick)
            continue
        # A process of its own for each: it is held to so many CPUs.
        options = [*args.names, "--here", "--threads", threads, *(["--quick"] if args.quick else [])]
        subprocess.run([sys.executable, "-m", "benchmarks.dask_chunks", *options], check=True)


if __name__ == "__main__":
    main()
