"""SciPy's own tests of array API backends, with `txc` beside `array_api_strict`: what passes of what that one passes.

From the root of the repository, in an environment with `.[dev]`, for all suites or for those whose names begin so:

    PYTHONPATH=src python -m tests.external.scipy_suites --results scipy-results [special fft.helper ...]

Each suite is a module of SciPy's tests and runs in a process of its own.  Outcomes are kept in the folder of results
as they come: run the command again, and a suite goes on where it was cut off (`--seconds`).  Most of the time goes into
compilation, at optimization level 0 unless `TXC_OPT_LEVEL` says otherwise, for which a second process finds the code in
the cache.  pytest does not collect this; CI does not run it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import scipy

from .outcomes import OUTCOMES, read

SCIPY = Path(scipy.__file__).parent
STRICT = "array_api_strict"

#: Modules of SciPy's tests that take an array API backend: all but those of `signal`, whose wrappers are left out.
SUITES = (
    "_lib.array_api", "_lib._util", "cluster.hierarchy", "cluster.vq", "constants.constants",
    "differentiate.differentiate", "fft.basic", "fft.fftlog", "fft.helper", "fft.real_transforms",
    "integrate.cubature", "integrate.quadrature", "integrate.tanhsinh", "interpolate.bsplines",
    "interpolate.interpolate", "interpolate.polyint", "interpolate.rbfinterp", "interpolate.rgi", "linalg.procrustes",
    "linalg.special_matrices", "ndimage.filters", "ndimage.fourier", "ndimage.interpolation", "ndimage.measurements",
    "ndimage.morphology", "ndimage.splines", "optimize.bracket", "optimize.chandrupatla", "optimize.optimize",
    "spatial.transform.rigid_transform", "spatial.transform.rotation", "spatial.transform.rotation_spline",
    "special.logsumexp", "special.support_alternative_backends", "stats.axis_nan_policy", "stats.continued_fraction",
    "stats.correlation", "stats.device_dtype", "stats.entropy", "stats.hypotests", "stats.morestats", "stats.quantile",
    "stats.rank", "stats.resampling", "stats.stats", "stats.variation",
)  # fmt: skip


@dataclass(frozen=True)
class Result:
    """What a suite says: how many tests the strict backend passes, how many of them `txc`, and the others' reasons."""

    passed_by_strict: int
    passed: int
    failed: dict[str, str]
    cut_off: bool

    def __str__(self) -> str:
        share = f"{100 * self.passed / self.passed_by_strict:.1f} %" if self.passed_by_strict else "no test"
        return f"{self.passed}/{self.passed_by_strict} ({share}){', cut off' if self.cut_off else ''}"


def run(suite: str, results: Path, seconds: float) -> Result:
    """Run what of a suite has no outcome yet, for so many seconds at most."""
    *folder, name = suite.split(".")
    path = SCIPY.joinpath(*folder, "tests", f"test_{name}.py")
    outcomes = results / f"{suite}.jsonl"
    command = [
        sys.executable, "-m", "pytest", "-p", "tests.external.scipy_backend", OUTCOMES, str(outcomes),
        "-c", os.devnull, f"--rootdir={SCIPY}", f"--confcutdir={SCIPY}", "-p", "no:cacheprovider", "-q", "--tb=short",
        "-m", "array_api_backends", str(path),
    ]  # fmt: skip
    root = Path(__file__).parents[2]
    environment = {
        "TXC_OPT_LEVEL": "0",
        **os.environ,
        "SCIPY_ARRAY_API": json.dumps([STRICT]),
        "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")]),
    }
    with (results / f"{suite}.log").open("w") as log:
        try:
            # Not here: pytest would take this repository's conftest for SciPy's.
            subprocess.run(command, cwd=results, env=environment, stdout=log, stderr=log, timeout=seconds, check=False)
            cut_off = False
        except subprocess.TimeoutExpired:
            cut_off = True
    return compared(outcomes, cut_off)


def compared(outcomes: Path, cut_off: bool) -> Result:
    """What recorded outcomes come to, of tests that both backends have run."""
    found = read(outcomes)
    of_strict = {test: test.replace(STRICT, "txc") for test in found if STRICT in test}
    pairs = [txc for strict, txc in of_strict.items() if found[strict].outcome == "passed" and txc in found]
    failed = {test: found[test].why for test in pairs if found[test].outcome != "passed"}
    return Result(len(pairs), len(pairs) - len(failed), failed, cut_off)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run suites, and print what each comes to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", help="beginnings of names of suites; all, if none is given")
    parser.add_argument("--results", type=Path, default=Path("scipy-results"), help="the folder of outcomes and logs")
    parser.add_argument("--seconds", type=float, default=3600, help="after how long a suite is cut off")
    given = parser.parse_args(arguments)
    results: Path = given.results.resolve()
    results.mkdir(parents=True, exist_ok=True)
    total: Counter[str] = Counter()
    for suite in SUITES:
        if given.suites and not suite.startswith(tuple(given.suites)):
            continue
        result = run(suite, results, given.seconds)
        print(f"{suite:40} {result}", flush=True)
        for test, why in result.failed.items():
            print(f"    {test}: {why}")
        total += Counter(passed=result.passed, of=result.passed_by_strict)
    if total["of"]:
        print(f"{'all':40} {total['passed']}/{total['of']} ({100 * total['passed'] / total['of']:.2f} %)")


if __name__ == "__main__":
    main()
