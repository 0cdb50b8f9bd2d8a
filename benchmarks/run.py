"""Measure txc beside its peers: ``python benchmarks/run.py [CASE …] [--threads 1,2] [--quick] [--json FILE]``.

For each number of threads a fresh process is started, held to that many CPUs, and told so by every library's variable.
In it the contestants of a case take turns (A B C A B C …) after a warm-up that also compares their results with
NumPy's; a sample waits a moment while other processes are running.  Medians are reported, with the ratio to the best
peer and the share of a roofline measured in the same process: copied bytes, or FMAs from registers.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS", "TXC_NUM_THREADS")


def running() -> int:
    """How many tasks of the machine are running or ready now, this one included (1 where the system does not tell)."""
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].split("/")[0])
    except (OSError, IndexError, ValueError):
        return 1


def wait_for_quiet(patience: float) -> bool:
    """Wait until nothing else runs; False where it did not come to that within `patience` seconds."""
    end = time.perf_counter() + patience
    while running() > 1:
        if time.perf_counter() > end:
            return False
        time.sleep(0.005)
    return True


def sample(contestant: Any) -> float:
    """Seconds for one call."""
    if contestant.before is not None:
        contestant.before()
    start = time.perf_counter()
    for _ in range(contestant.inner - 1):
        contestant.call()
    result = contestant.call()
    return result if contestant.own_clock else (time.perf_counter() - start) / contestant.inner


def check(made: Any) -> None:
    """Run every contestant once and compare results; AssertionError with the contestant's name where one is wrong."""
    import numpy as np

    results = {n: c.call() for n, c in made.contestants.items() if not c.own_clock}
    expected = results.get("numpy")
    for name, result in results.items():
        if expected is not None:
            atol = made.tolerance * float(np.abs(expected).max())  # differences of near equals lose bits everywhere
            np.testing.assert_allclose(np.asarray(result), expected, made.tolerance, atol, err_msg=name)


def measure(name: str, quick: bool, repeats: int, patience: float) -> dict[str, Any]:
    """One case: a record of its contestants' seconds, interleaved, and of the load they ran under."""
    cases = importlib.import_module("cases")
    made = cases.CASES[name](quick)
    check(made)
    contestants = made.contestants
    for contestant in contestants.values():
        sample(contestant)
    times: dict[str, list[float]] = {n: [] for n in contestants}
    quiet: dict[str, list[float]] = {n: [] for n in contestants}
    for _ in range(repeats):
        for n, contestant in contestants.items():
            alone = wait_for_quiet(patience)
            times[n].append(sample(contestant))
            if alone:
                quiet[n].append(times[n][-1])
    enough = min(map(len, quiet.values())) >= max(3, repeats // 3)
    used = quiet if enough else times
    return {
        "case": name,
        "work": made.work,
        "unit": made.unit,
        "note": made.note,
        "missing": made.missing,
        "seconds": {n: statistics.median(t) for n, t in used.items()},
        "best": {n: min(t) for n, t in times.items()},
        "samples": repeats,
        "quiet": min(map(len, quiet.values())),
        "load": os.getloadavg()[0],
    }


# The process that measures, and the one that asks it ------------------------------------------------------------------


def worker(args: argparse.Namespace) -> None:
    """Measure with one number of threads and print the records as JSON."""
    threads = int(args.worker)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    sys.path.insert(0, str(Path(__file__).parent))
    from txc.compiler.ceilings import copy_bandwidth, fma_peak

    wait_for_quiet(args.patience)
    roofs = {
        "B": copy_bandwidth(threads, (4 << 20) if args.quick else (128 << 20), args.repeats),
        "flop": fma_peak(threads, 32, 10**5 if args.quick else 10**7, args.repeats),
    }
    records = []
    for name in args.cases:
        print(f"{name}, {threads} threads …", file=sys.stderr, flush=True)
        records.append({"threads": threads, **measure(name, args.quick, args.repeats, args.patience)})
    print(json.dumps({"threads": threads, "roofs": roofs, "records": records}))


def ask(threads: int, args: argparse.Namespace) -> dict[str, Any]:
    """The answer of a fresh worker."""
    command = [sys.executable, __file__, *args.cases, "--worker", str(threads)]
    command += ["--repeats", str(args.repeats), "--patience", str(args.patience), *(["--quick"] if args.quick else [])]
    environment = {**os.environ, **dict.fromkeys(VARIABLES, str(threads))}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def show(answer: dict[str, Any]) -> None:
    """A table of one worker's records."""
    from rich.console import Console
    from rich.table import Table

    roofs = answer["roofs"]
    table = Table(
        title=f"{answer['threads']} thread(s); copy {roofs['B'] / 1e9:.1f} GB/s, FMA {roofs['flop'] / 1e9:.0f} Gflop/s"
    )
    for heading in ("case", "contestant", "median", "minimum", "rate", "of roofline", "txc / it", "quiet"):
        table.add_column(heading, justify="left" if heading in ("case", "contestant") else "right")
    for record in answer["records"]:
        ours = record["seconds"]["txc"]
        peers = {n: s for n, s in record["seconds"].items() if n != "txc"}
        best = min(peers, key=lambda n: peers[n]) if peers else ""
        for n, seconds in record["seconds"].items():
            rate = record["work"] / seconds
            table.add_row(
                record["case"] if n == "txc" else "",
                f"{n} (best peer)" if n == best else n,
                f"{seconds * 1e3:.4g} ms",
                f"{record['best'][n] * 1e3:.4g} ms",
                f"{rate / 1e9:.1f} G{record['unit']}/s" if record["unit"] else "",
                f"{rate / roofs[record['unit']]:.0%}" if record["unit"] else "",
                "" if n == "txc" else f"{ours / seconds:.2f}",
                f"{record['quiet']}/{record['samples']}" if n == "txc" else "",
            )
        table.add_section()
    console = Console()
    Console(width=max(console.width, 110)).print(table)


def main() -> None:
    """Parse the command line, measure, show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names; all where none is given")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, separated by commas (default 1,2)")
    parser.add_argument("--repeats", type=int, help="samples of each contestant (default 15; quick: 3)")
    parser.add_argument("--patience", type=float, help="seconds a sample waits for a quiet moment (default 0.5)")
    parser.add_argument("--quick", action="store_true", help="small sizes and few samples: a check that it runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.repeats = args.repeats or (3 if args.quick else 15)
    args.patience = (0.0 if args.quick else 0.5) if args.patience is None else args.patience
    if args.worker:
        return worker(args)
    sys.path.insert(0, str(Path(__file__).parent))
    known = list(importlib.import_module("cases").CASES)
    if args.list:
        return print("\n".join(known))
    for name in args.cases:
        if name not in known:
            parser.error(f"there is no case {name!r}; there are {', '.join(known)}")
    args.cases = args.cases or known
    answers = [ask(int(t), args) for t in args.threads.split(",")]
    for answer in answers:
        show(answer)
    if args.json:
        machine = {"machine": platform.machine(), "python": platform.python_version(), "cpus": os.cpu_count()}
        args.json.write_text(json.dumps({**machine, "quick": args.quick, "answers": answers}, indent=1))
    return None


if __name__ == "__main__":
    main()
