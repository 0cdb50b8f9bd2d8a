"""From `python` to the first result: ``python -m benchmarks.first_results [PROGRAM …] [--rounds 10] [--peers txc]``.

Each sample is a fresh interpreter that imports NumPy and a library, makes an array of 256×256 f32, compiles a function
and computes its first result, nothing cached; what the process does behind that does not count.  Programs and libraries
take turns.  The table has medians, with the fastest sample in brackets.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from .latency import as_installed, optional
from .machine_idle import wait_until_idle
from .user_programs import compile_sources

__all__ = ["PROGRAMS", "report", "script", "time_to_first_result"]

#: What a function of `x` computes, as NumPy's users write it.
PROGRAMS: dict[str, str] = {
    "x + 1": "return x + 1",
    "softmax": """
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)""",
    "tanh(x @ x.T)": "return np.tanh(x @ x.T)",
    "fft": "return np.fft.fft(x)",
    "irfft2(rfft2(x) * 2)": "return np.fft.irfft2(np.fft.rfft2(x) * 2)",
    "sort": "return np.sort(x, axis=1)",
    "median": "return np.median(x, axis=1)",
}

_ROWS = """
    made = np.empty_like(x)
    for i in range(len(x)):
        made[i] = {}
    return made"""
#: The same where Numba has the function for a row only; it has no transforms.
WITH_NUMBA: dict[str, str] = {
    "x + 1": PROGRAMS["x + 1"],
    "softmax": """
    made = np.empty_like(x)
    for i in range(len(x)):
        e = np.exp(x[i] - x[i].max())
        made[i] = e / e.sum()
    return made""",
    "tanh(x @ x.T)": PROGRAMS["tanh(x @ x.T)"],
    "sort": _ROWS.format("np.sort(x[i])"),
    "median": _ROWS.replace("np.empty_like(x)", "np.empty(len(x), np.float32)").format("np.median(x[i])"),
}

#: How a library is imported, the name of what is NumPy in a program, how it compiles, and how one waits for a result.
_PEERS: dict[str, tuple[str, str, str]] = {
    "txc": ("import txc", "txc.jit", "f(x)"),
    "numba": ("import numba", "numba.njit", "f(x)"),
    "jax": ("import jax, jax.numpy", "jax.jit", "f(x).block_until_ready()"),
    "numpy": ("", "", "f(x)"),
}


def script(peer: str, program: str) -> str | None:
    """What a process of a peer runs; it prints the time of its first result.  None where the peer has no such thing."""
    body = (WITH_NUMBA if peer == "numba" else PROGRAMS).get(program)
    if body is None:
        return None
    imports, compiles, runs = _PEERS[peer]
    if peer == "jax":
        body = body.replace("np.", "jax.numpy.")
    return f"""
import numpy as np
import time
{imports}
{"@" if compiles else ""}{compiles}
def f(x):
    {body.strip()}
x = np.sin(np.arange(65536, dtype=np.float32)).reshape(256, 256)
{runs}
print(time.time())
"""


def time_to_first_result(path: Path, environment: Mapping[str, str]) -> float:
    """The seconds from the start of a process to what its script calls the first result."""
    start = time.time()
    done = subprocess.run([sys.executable, path], env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1]) - start


def report(programs: Sequence[str], peers: Sequence[str], rounds: int) -> str:
    """A Markdown table of medians and minima, in seconds."""
    samples: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**as_installed(), "TXC_CACHE_DIR": "0"}
        paths: dict[tuple[str, str], Path] = {}
        for program in programs:
            for peer in peers:
                text = script(peer, program)
                if text is not None:
                    path = paths[program, peer] = Path(folder, f"{len(paths)}.py")
                    path.write_text(text, encoding="utf-8")
        for number in range(rounds):
            for key in paths if number % 2 else reversed(paths):
                wait_until_idle(0.5)
                samples.setdefault(key, []).append(time_to_first_result(paths[key], environment))
    head = f"| seconds to the first result | {' | '.join(peers)} |\n| --- |{' --- |' * len(peers)}"
    return "\n".join([head, *(_row(program, [samples.get((program, p), []) for p in peers]) for program in programs)])


def _row(program: str, samples: Sequence[Sequence[float]]) -> str:
    found = (f"{median(seconds):.2f} ({min(seconds):.2f})" if seconds else "–" for seconds in samples)
    return f"| {program} | {' | '.join(found)} |"


def main() -> None:
    """Parse the command line, measure, print."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.first_results", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)} (default: all)")
    parser.add_argument("--rounds", type=int, default=10, help="samples of each (default 10)")
    parser.add_argument("--peers", default=",".join(_PEERS), help=f"of {', '.join(_PEERS)} (default: all installed)")
    args = parser.parse_args()
    for kind, given, known in (("program", args.programs, PROGRAMS), ("peer", args.peers.split(","), _PEERS)):
        for name in given:
            if name not in known:
                parser.error(f"there is no {kind} {name!r}; there are {', '.join(known)}")
    compile_sources()
    peers = [p for p in args.peers.split(",") if optional(p) is not None]
    print(f"{os.cpu_count()} processors, Python {sys.version.split()[0]}, medians of {args.rounds} (fastest)\n")
    print(report(args.programs or list(PROGRAMS), peers, args.rounds))


if __name__ == "__main__":
    main()
