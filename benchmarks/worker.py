"""The process that measures with one number of threads: held to that many CPUs, every library told so."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Request", "ask", "work"]

VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS",
             "TXC_NUM_THREADS")  # fmt: skip


@dataclass(frozen=True)
class Request:
    """What to measure.  Empty lists of dtypes, layouts, sizes and implementations mean all."""

    threads: int
    families: Sequence[str]
    latencies: Sequence[str]
    seed: int
    quick: bool = False
    dtypes: Sequence[str] = ()
    layouts: Sequence[str] = ()
    sizes: Sequence[int] = ()
    implementations: Sequence[str] = ()
    passes: str = ""
    fewest: int = 5
    most: int = 15
    seconds: float = 1.5
    patience: float = 0.2
    warm: float = 0.0
    environment: Mapping[str, str] = field(default_factory=dict)


def ask(request: Request) -> dict[str, Any]:
    """The answer of a fresh process: ceilings, and a record for each workload and latency."""
    environment = {**os.environ, **dict.fromkeys(VARIABLES, str(request.threads)), "TXC_CACHE_DIR": "0"}
    environment.update(request.environment)
    if request.passes:
        environment["TXC_PASSES"] = request.passes
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.worker"], input=json.dumps(asdict(request)), env=environment,
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def work(request: Request) -> dict[str, Any]:
    """Measure what is asked for in this process."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-request.threads :])
    from .ceilings import measure_ceilings
    from .latency import LATENCIES
    from .machine_idle import wait_until_idle
    from .measure import Effort, measure
    from .workloads import workloads

    effort = Effort(request.fewest, request.most, request.seconds, request.patience, request.warm)
    wait_until_idle(10 * request.patience)
    ceilings = measure_ceilings(request.threads, request.quick) if request.families else None
    records = []
    for workload in workloads(
        request.families, request.seed, quick=request.quick, dtypes=request.dtypes, layouts=request.layouts,
        sizes=request.sizes,
    ):  # fmt: skip
        name = f"{workload.family.name} {workload.name}"
        print(f"{name}, {request.threads} thread(s) …", file=sys.stderr, flush=True)
        implementations, absent = _implementations(workload, request.implementations)
        timed = measure(implementations, effort)
        done = _operations(workload)
        records.append(
            _record(workload.family.name, workload.name, timed, absent, workload.bytes, done, workload.dtype)
        )
    for name in request.latencies:
        print(f"{name}, {request.threads} thread(s) …", file=sys.stderr, flush=True)
        implementations, absent = LATENCIES[name](request.quick)
        records.append(_record(name, "", measure(implementations, effort), absent))
    return {"threads": request.threads, "ceilings": ceilings and asdict(ceilings), "records": records}


def _implementations(workload: Any, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Ready implementations, each of whose results is right, and why others are absent."""
    from .measure import Implementation, check
    from .peers import IMPLEMENTATIONS, Absent, implementation

    made, absent = {}, {}
    family = workload.family
    expected = family.seen(family.program(*workload.arguments))
    tolerance = family.tolerance or {"f4": 1e-4, "f8": 1e-10, "c8": 1e-4, "c16": 1e-10}.get(workload.dtype, 0.0)
    for name in IMPLEMENTATIONS:
        if names and name not in names:
            continue
        if family.peers and name not in family.peers:
            absent[name] = "it has no word for such loops"
            continue
        try:
            call = implementation(name, workload)
        except Absent as why:
            absent[name] = str(why)
            continue
        check({name: family.seen(call())}, expected, tolerance)
        made[name] = Implementation(call)
    return made, absent


def _operations(workload: Any) -> float:
    """The operations of a call; of a map whose machine code is not read, none."""
    import txc

    from .instructions import map_operations

    if not workload.family.counted:
        return workload.flops
    code = txc.jit(workload.family.program).lower(*workload.arguments).as_text("asm")
    return map_operations(str(code)) * math.prod(workload.size)


def _record(
    family: str, workload: str, timed: Any, absent: Mapping[str, str], moved: float = 0.0, flops: float = 0.0,
    dtype: str = "",
) -> dict[str, Any]:  # fmt: skip
    return {
        "family": family, "workload": workload, "bytes": moved, "flops": flops, "dtype": dtype,
        "seconds": timed.seconds, "quiet_rounds": timed.quiet_rounds, "absent": dict(absent),
        "load": os.getloadavg()[0],
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(work(Request(**json.loads(sys.stdin.read())))))
