"""Everything that there is to say of a GPU: ``python -m benchmarks.gpu [--device cuda:0] [--json FILE]``.

First the tests for GPUs run there (``pytest -m gpu``).  Then each program's result is compared with NumPy's, and txc
and its peers take turns, with arrays on the device that together are larger than its second cache.  The table says
what part of the device's copy bandwidth, or of a matrix product of cuBLAS (CuPy's or PyTorch's), txc reaches, and what
part it should reach.  The exit status is 0 where all tests pass and no result is wrong.

On the simulator (``--device ptx-sim``) sizes are small, times are the simulator's and say nothing of a GPU, and there
are no tests and no peers: what is left checks that the command works.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import txc
from txc.compiler.config.device_names import SIMULATOR
from txc.compiler.config.devices import gpu_device, parse_device

from . import programs
from .gpu_peers import PEERS, Peer, available

__all__ = ["FAMILIES", "Family", "Row", "main", "measure"]

#: Arrays of a workload are as many sets as it takes to be so large together: no cache of a GPU holds them.
ROTATED_BYTES = 512 << 20
#: A sample takes at least so long, and there are so many.
SAMPLE_SECONDS, SAMPLES = 0.05, 7
_SHORT = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}
#: Results are compared with NumPy's to this, relative to the largest of them.
TOLERANCES = {"float32": 2e-5, "float16": 2e-2, "bfloat16": 1e-1}


@dataclass(frozen=True)
class Family:
    """A program at one size, on a GPU and on the simulator.

    `elements` are those that must move, `flops` the operations that count.  `against` is what the `goal` is a part of:
    ``copy`` (bytes a second of the device's own copy), ``cublas`` (the same product), ``unfused`` (PyTorch, eager).
    """

    name: str
    program: Callable[..., Any]
    shapes: Callable[..., Sequence[tuple[int, ...]]]
    size: tuple[int, ...]
    small: tuple[int, ...]
    elements: Callable[..., int]
    against: str
    goal: float
    dtype: str = "float32"
    flops: Callable[..., int] = lambda *size: 0

    @property
    def options(self) -> dict[str, Any]:
        """Of `jit`: narrow types are what matrix units are for, and their sums have an order of their own."""
        return {} if self.dtype == "float32" else {"fastmath": {"reassoc"}}


def _square(n: int, m: int) -> list[tuple[int, ...]]:
    return [(n, m)]


def _two(n: int, m: int) -> list[tuple[int, ...]]:
    return [(n, m), (n, m)]


def _product(name: str, dtype: str, n: int, goal: float) -> Family:
    return Family(
        name, programs.matmul, lambda n: [(n, n), (n, n)], (n,), (32,), lambda n: 3 * n * n, "cublas", goal, dtype,
        lambda n: 2 * n**3,
    )  # fmt: skip


#: Seconds of `_launch_overheads`.
LAUNCH_GOALS = (10e-6, 5e-6, 10e-6)
LARGE, SMALL = (8192, 8192), (24, 40)
FAMILIES = [
    Family("add", programs.add, _two, LARGE, SMALL, lambda n, m: 3 * n * m, "copy", 0.9),
    Family("chain", programs.chain, _two, LARGE, SMALL, lambda n, m: 3 * n * m, "copy", 0.9),
    Family("softmax", programs.softmax_rows, _square, LARGE, SMALL, lambda n, m: 2 * n * m, "copy", 0.85),
    Family(
        "layer-norm", programs.layer_norm, lambda n, m: [(n, m), (m,), (m,)], LARGE, SMALL,
        lambda n, m: 2 * n * m, "copy", 0.85,
    ),
    Family("sum", programs.total, _square, LARGE, SMALL, lambda n, m: n * m, "copy", 0.85),
    Family("row-sum", programs.row_sum, _square, LARGE, SMALL, lambda n, m: n * m, "copy", 0.85),
    Family("column-sum", programs.column_sum, _square, LARGE, SMALL, lambda n, m: n * m, "copy", 0.85),
    Family("running-sum", programs.cumsum_columns, lambda n: [(n,)], (1 << 26,), (1500,), lambda n: 2 * n, "copy", 0.5),
    Family("transpose", programs.transpose, _square, LARGE, SMALL, lambda n, m: 2 * n * m, "copy", 0.85),
    _product("matmul-f32", "float32", 4096, 0.8),
    _product("matmul-f16", "float16", 8192, 0.8),
    _product("matmul-bf16", "bfloat16", 8192, 0.8),
    Family(
        "attention", programs.attention, lambda h, n, d: [(h, n, d)] * 3, (16, 2048, 64), (2, 16, 8),
        lambda h, n, d: 4 * h * n * d, "unfused", 1.0, flops=lambda h, n, d: 4 * h * n * n * d,
    ),
]  # fmt: skip


@dataclass(frozen=True)
class Row:
    """What came out for a family: seconds a call of each implementation; `share` of what the goal is a part of.

    `problem` says what went wrong; then there is no time of txc.
    """

    name: str
    size: str
    seconds: Mapping[str, float]
    rate: str
    share: float | None
    goal: float
    against: str
    problem: str = ""

    def __str__(self) -> str:
        if self.problem:
            return f"{self.name:<12} {self.size:<16} {self.problem}"
        share = "-" if self.share is None else f"{self.share:.0%}"
        others = ", ".join(f"{name} {_time(s)}" for name, s in self.seconds.items() if name != "txc")
        return (
            f"{self.name:<12} {self.size:<16} {_time(self.seconds['txc']):>10} {self.rate:>14} {share:>6} of "
            f"{self.against:<8} (goal {self.goal:.0%})  {others}"
        ).rstrip()


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.1f} µs"


# Measuring ------------------------------------------------------------------------------------------------------------


class _Arrays:
    """Random arguments of a family, as many sets as are rotated."""

    def __init__(self, family: Family, size: tuple[int, ...], seed: int, simulated: bool):
        rng = np.random.default_rng(seed)
        element = _dtype(family.dtype)
        shapes = family.shapes(*size)
        each = sum(int(np.prod(s)) for s in shapes) * element.itemsize
        sets = 1 if simulated else max(2, -(-ROTATED_BYTES // each))
        self.first = [rng.uniform(0.5, 1.5, s).astype(np.float32).astype(element) for s in shapes]
        # Later sets differ from the first by where they are, not by what drawing them costs.
        self.sets = [self.first, *([np.roll(a, i) for a in self.first] for i in range(1, sets))]


def _dtype(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def _txc(device: str, **options: Any) -> Peer:
    """txc as an implementation among the others."""
    return Peer(
        lambda array: txc.to_device(array, device),
        lambda result: result.numpy(),
        lambda program: txc.jit(program, device=device, **options),
        gpu_device(device).synchronize,
    )


def _check(result: np.ndarray, expected: np.ndarray, dtype: str) -> str:
    """What is wrong with a result; empty where nothing is."""
    got, wanted = np.asarray(result, np.float64), np.asarray(expected, np.float64)
    if got.shape != wanted.shape:
        return f"WRONG: its shape is {got.shape}, not {wanted.shape}"
    off = float(np.max(np.abs(got - wanted), initial=0) / max(1e-30, float(np.max(np.abs(wanted), initial=0))))
    return "" if off <= TOLERANCES[dtype] else f"WRONG: off by {off:.2g} of the largest element"


def _seconds(calls: Sequence[Callable[[], Any]], wait: Callable[[], None], simulated: bool) -> float:
    """The median time of a call, of calls that follow each other on the device."""
    for call in calls[:2]:
        call()
    wait()
    count = 1
    while True:
        start = time.perf_counter()
        for i in range(count):
            calls[i % len(calls)]()
        wait()
        took = time.perf_counter() - start
        if simulated:
            return took
        if took >= SAMPLE_SECONDS:
            break
        count = max(count + 1, int(count * min(8.0, 1.2 * SAMPLE_SECONDS / max(took, 1e-6))))
    samples = [took / count]
    for _ in range(SAMPLES - 1):
        start = time.perf_counter()
        for i in range(count):
            calls[i % len(calls)]()
        wait()
        samples.append((time.perf_counter() - start) / count)
    return float(np.median(samples))


def measure(family: Family, device: str, peers: Mapping[str, Peer], copy: float | None, seed: int) -> Row:
    """What comes out where txc and its peers take turns; `copy` is the bandwidth of the device's own copy, if known."""
    simulated = device == SIMULATOR
    size = family.small if simulated else family.size
    arrays = _Arrays(family, size, seed, simulated)
    # In f64: NumPy's running sum of so many f32 stops growing.
    expected = family.program(*(a.astype(np.float64) for a in arrays.first))
    seconds: dict[str, float] = {}
    problem = ""
    for name, peer in {"txc": _txc(device, **family.options), **peers}.items():
        try:
            program = peer.program(family.program)
            held = [[peer.put(a) for a in given] for given in arrays.sets]
            wrong = _check(peer.get(program(*held[0])), expected, family.dtype)
            if wrong:
                raise ValueError(wrong)
            calls = [lambda given=given, program=program: program(*given) for given in held]
            seconds[name] = _seconds(calls, peer.wait, simulated)
        except Exception as error:
            if name == "txc":
                problem = f"FAILED: {error}"
                break
            print(f"{family.name}: {name} does not take part: {error}", file=sys.stderr)
    return _row(family, size, seconds, copy, problem)


def _row(family: Family, size: tuple[int, ...], seconds: Mapping[str, float], copy: float | None, problem: str) -> Row:
    shown = f"{'×'.join(map(str, size))} {_SHORT[family.dtype]}"
    if problem:
        return Row(family.name, shown, seconds, "", None, family.goal, family.against, problem)
    mine, share = seconds["txc"], None
    moved = family.elements(*size) * _dtype(family.dtype).itemsize
    rate = f"{moved / mine / 1e9:.1f} GB/s"
    if family.against == "copy":
        share = moved / mine / copy if copy is not None else None
    else:
        rate = f"{family.flops(*size) / mine / 1e12:.2f} Tflop/s"
        theirs = [seconds[n] for n in (("torch", "cupy") if family.against == "cublas" else ("torch",)) if n in seconds]
        share = min(theirs) / mine if theirs else None
    return Row(family.name, shown, seconds, rate, share, family.goal, family.against)


def _copy_bandwidth(device: str) -> float | None:
    """Bytes a second, read and written, of the driver's own copy; None on the simulator."""
    gpu: Any = gpu_device(device)
    if device == SIMULATOR:
        return None
    size = ROTATED_BYTES
    a, b = gpu.allocate(size), gpu.allocate(size)
    gpu.seconds(lambda: gpu.copy(a, b, size))
    best = min(gpu.seconds(lambda: gpu.copy(a, b, size)) for _ in range(SAMPLES))
    gpu.free(a)
    gpu.free(b)
    return 2 * size / best


def _small_steps(x: Any) -> Any:
    """Kernels that cannot be one, each of which has next to nothing to do."""
    for _ in range(4):
        x = x + x.sum(axis=0) - x.sum(axis=1)
    return x


def _launch_overheads(device: str) -> dict[str, float]:
    """Seconds that the host takes, arrays on the device: for a call of one kernel, and for a kernel of many."""
    peer, simulated = _txc(device), device == SIMULATOR
    x = peer.put(np.ones((4, 4), np.float32))

    def seconds(program: Callable[[Any], Any]) -> float:
        function: Any = peer.program(program)
        kernels = 1 if program is programs.gelu else sum(k.launches for k in function.profile(x, repeats=1).kernels)
        return _seconds([lambda: function(x)], peer.wait, simulated) / kernels

    found = {"a call of one kernel": seconds(programs.gelu), "a kernel of a graph": seconds(_small_steps)}
    with _environment("TXC_GPU_GRAPHS", "0"):
        found["a kernel of as many launches"] = seconds(_small_steps)
    return found


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


# The command ----------------------------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--device", default="cuda:0", help="cuda:N (default cuda:0) or ptx-sim")
    add("--family", action="append", default=[], choices=[f.name for f in FAMILIES], help="one of them; default: all")
    add("--only", action="append", default=[], choices=list(PEERS), help="a peer; default: all that are installed")
    add("--no-tests", action="store_true", help="do not run the tests first")
    add("--seed", type=int, default=0, help="of the arguments")
    add("--json", type=Path, metavar="FILE", help="write every figure there")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit status."""
    args = _parser().parse_args(arguments)
    try:
        device = parse_device(args.device).name
    except txc.OptionError as error:
        raise SystemExit(f"{error}") from None
    if device == "cpu":
        raise SystemExit("python -m benchmarks measures the CPU; name a GPU here, --device cuda:0")
    simulated, status = device == SIMULATOR, 0
    print(f"{device}: {txc.devices()[device]}")
    if not simulated and not args.no_tests:
        status = subprocess.run([sys.executable, "-m", "pytest", "-m", "gpu", "tests"], check=False).returncode
        print(f"tests: {'all pass' if status == 0 else f'pytest ended with {status}'}")
    peers, missing = ({}, {}) if simulated else available(args.only or list(PEERS))
    for name, reason in missing.items():
        print(f"{name}: {reason}")
    copy = _copy_bandwidth(device)
    print("copy bandwidth: " + ("not measured" if copy is None else f"{copy / 1e9:.0f} GB/s"))
    overheads = _launch_overheads(device)
    goals = zip(overheads.items(), LAUNCH_GOALS, strict=True)
    print(*(f"{what}: {_time(took)} (goal {_time(goal)})" for (what, took), goal in goals), sep="\n")
    rows = []
    for family in FAMILIES:
        if not args.family or family.name in args.family:
            rows.append(measure(family, device, peers, copy, args.seed))
            print(rows[-1], flush=True)
    if args.json is not None:
        report = {
            "device": device,
            "copy": copy,
            "launches": overheads,
            "rows": [{**vars(row), "seconds": dict(row.seconds)} for row in rows],
        }
        args.json.write_text(json.dumps(report, indent=1), encoding="utf-8")
    return status or int(any(row.problem for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
