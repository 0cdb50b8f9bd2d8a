"""``jit(autotune=True)``: a search around the cost model, on the arguments of the call that needs new code.

The model (`passes/cost/model.py`) answers from constants of the machine.  The search scales one after the other, keeps
what makes this program faster, and skips what leaves its loops as they were, so that it costs as many compilations as
there are different programs.  Nothing that the model says may change a result, so the bits are the same whatever is
found. It is kept in the cache folder, for the graph, its facts and the number of threads, and later processes do not
search.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...passes.cost.model import Machine
from ...passes.cost.remarks import remark
from ...runtime.check_errors import ERRORS
from ...runtime.pool.threads import default_threads
from ..cache.disk_cache import open_cache, tuning_key
from ..codegen.target.llvm_backend import host_target
from ..config.options import Options
from ..driver.executable import Executable, GuardFailure, Integers, Prepared
from ..pipeline import compile_graph, function_of, machine_of, run_stages
from .timed_calls import copy_with_strides

if TYPE_CHECKING:
    from ...dialects.dims.dims import Dim
    from ..call.facts import StrideClass
    from ..frontend.trace.graph import Graph

__all__ = ["SCALES", "Trial", "Tuned", "tuned"]

#: Constants in the order in which they are tried, by what factors, and what of the loops they decide.
SCALES: dict[str, tuple[str, tuple[float, ...]]] = {
    "dispatch_ns": ("size of parallel tasks", (0.25, 4.0)),
    "vector_registers": ("unroll factors, accumulators", (0.5, 2.0)),
    "l2_bandwidth": ("materialize or recompute", (0.1, 10.0)),
    "l1_bytes": ("tile sizes", (0.25, 4.0)),
    "cache_line": ("unroll-and-jam of results", (0.5, 2.0)),
    "page_bytes": ("column tiles of scans", (0.25, 4.0)),
    "l2_bytes": ("chunks of scans, tiles of rows", (0.25, 4.0)),
    "l3_bytes": ("threshold of non-temporal stores", (1 / 64, 64.0)),
}
#: A candidate must be faster by so much; what is less may be the machine's own variation.
WORTH = 0.95
#: Pairs of samples of a candidate and of the best, and the seconds after which no further one is taken.
_PAIRS, _SECONDS = 9, 0.3
_SAMPLE_SECONDS = 5e-4
_found: dict[str, Tuned] = {}


class Trial(NamedTuple):
    """A constant at another value: seconds of a call, beside those of the best before, and whether it was taken."""

    constant: str
    value: float
    seconds: float
    before: float
    taken: bool


class Tuned(NamedTuple):
    """The constants by which a program was fastest that differ from the machine's, and what was tried."""

    figures: tuple[tuple[str, float], ...] = ()
    trials: tuple[Trial, ...] = ()

    def machine(self) -> Machine:
        """The machine that the program is compiled for."""
        return machine_of(host_target()).with_measurements(dict(self.figures))

    def remark(self, name: str) -> None:
        """Say what was tried (`explain()`)."""
        for trial in self.trials:
            chosen = f"{trial.constant} {trial.value:g} {'taken' if trial.taken else 'left'}"
            times = {"a call": trial.seconds * 1e9, "before": trial.before * 1e9}
            remark("tuning", name, chosen, SCALES[trial.constant][0], times)


def tuned(
    graph: Graph, facts: Sequence[StrideClass], strides: Sequence[tuple[Dim, ...] | None], options: Options,
    arrays: Sequence[np.ndarray], integers: Integers,
) -> Tuned:  # fmt: skip
    """What is known of a program, or is found now by calls with these arguments, which are left as they are."""
    key = tuning_key(graph, facts, options, options.threads or default_threads())
    found = _found.get(key.name)
    if found is not None:
        return found
    store, _ = open_cache()
    kept = None if store is None else store.read(key.name).metadata
    if kept is not None and kept.get("key") == key.parts:
        found = Tuned(tuple(map(tuple, kept["figures"])), tuple(Trial(*t) for t in kept["trials"]))
    else:
        found = _Search(graph, strides, options, arrays, integers).run()
        if store is not None:
            plain = {"figures": [list(f) for f in found.figures], "trials": [list(t) for t in found.trials]}
            store.publish(key.name, {"key": key.parts, **plain})
    _found[key.name] = found
    return found


class _Search:
    def __init__(
        self, graph: Graph, strides: Sequence[tuple[Dim, ...] | None], options: Options,
        arrays: Sequence[np.ndarray], integers: Integers,
    ):  # fmt: skip
        self.graph, self.strides, self.options = graph, strides, options
        self.arrays, self.integers = arrays, integers

    def run(self) -> Tuned:
        """Descend along one constant after the other."""
        usual = machine_of(host_target())
        best, seen, trials = usual, {self._loops(usual)}, []
        fastest = self._call(usual)
        if fastest is None:
            return Tuned()
        for constant, (_, factors) in SCALES.items():
            for factor in factors:
                value = getattr(best, constant) * factor
                candidate = Machine.of_figures({**_figures(best), constant: value})
                loops = self._loops(candidate)
                call = None if loops in seen else self._call(candidate)
                seen.add(loops)
                if call is None:
                    continue
                seconds, before = _compared(call, fastest)
                taken = seconds < WORTH * before
                trials.append(Trial(constant, value, seconds, before, taken))
                if taken:
                    best, fastest = candidate, call
        figures = {name: value for name, value in _figures(best).items() if value != getattr(usual, name)}
        return Tuned(tuple(figures.items()), tuple(trials))

    def _loops(self, machine: Machine) -> str:
        """The program's loops, which are all that a machine's constants decide."""
        stages = run_stages(self.graph, self.options, strides=self.strides, stop_after="loops", machine=machine)
        assert stages.module is not None
        return str(function_of(stages.module))

    def _call(self, machine: Machine) -> _Call | None:
        """The program compiled for a machine; None where the arguments do not fit, as the user's call will say."""
        executable = compile_graph(self.graph, self.options, strides=self.strides, machine=machine).executable
        most = self.options.max_temp_bytes

        def first() -> _Call | None:
            prepared = executable.prepared(self.arrays, self.integers(executable.rooms))
            if most is not None and prepared.arena + prepared.thread_arena > most:
                return None
            call = _Call(executable, prepared, self.options.threads, self.arrays)
            call.seconds(1)
            return call

        try:
            return executable.with_room(first)
        except (GuardFailure, *ERRORS.values()):
            return None


class _Call:
    """A program on arguments of its own where it writes to them."""

    def __init__(self, executable: Executable, prepared: Prepared, threads: int, arrays: Sequence[np.ndarray]):
        own = [copy_with_strides(a) if i in executable.written else a for i, a in enumerate(arrays)]
        self.run = functools.partial(executable.run, prepared, own, threads)

    def seconds(self, calls: int) -> float:
        """Of a call, in a row of so many."""
        start = time.perf_counter()
        for _ in range(calls):
            self.run()
        return (time.perf_counter() - start) / calls


def _compared(candidate: _Call, best: _Call) -> tuple[float, float]:
    """The shortest samples of two programs that take turns."""
    calls = max(1, round(_SAMPLE_SECONDS / max(1e-7, best.seconds(1))))
    pairs: list[tuple[float, float]] = []
    end = time.perf_counter() + _SECONDS
    while len(pairs) < 2 or (len(pairs) < _PAIRS and time.perf_counter() < end):
        pairs.append((candidate.seconds(calls), best.seconds(calls)))
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def _figures(machine: Machine) -> Mapping[str, float]:
    return {name: float(value) for name, value in vars(machine).items()}
