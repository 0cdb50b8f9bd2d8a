"""Contestants of one workload: compared, then timed in turns (A B C C B A …) within one process."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .machine_idle import wait_until_idle

__all__ = ["Effort", "Implementation", "Timed", "check", "measure"]

#: A sample takes at least so long: calls in a row share one reading of the clock.
SAMPLE_SECONDS = 0.002
#: After so many rounds those leave whose fastest sample took so many times as long as the fastest peer's.
TRIAL_ROUNDS, FAR_BEHIND = 2, 3.0


@dataclass
class Implementation:
    """One way to do the work.  `before` runs untimed before each sample.

    Where `own_clock`, `call` returns the seconds it measured itself (in another process, say).
    """

    call: Callable[[], Any]
    before: Callable[[], Any] | None = None
    own_clock: bool = False


@dataclass(frozen=True)
class Effort:
    """From `fewest` to `most` rounds, as many as fit into `seconds`; a sample waits `patience` for a quiet moment.

    Rounds with peers that are far behind do not count for the seconds.  Before all of them the subject is called for
    `warm` seconds: it compiles code for sizes that stay after half a second.
    """

    fewest: int = 5
    most: int = 15
    seconds: float = 1.5
    patience: float = 0.2
    warm: float = 0.0


@dataclass
class Timed:
    """Seconds a call of each implementation, a list entry a round, and how many rounds nothing disturbed.

    Those that left have fewer entries.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)
    quiet_rounds: int = 0

    @property
    def medians(self) -> dict[str, float]:
        return {name: statistics.median(times) for name, times in self.seconds.items()}

    @property
    def minima(self) -> dict[str, float]:
        return {name: min(times) for name, times in self.seconds.items()}


def check(results: Mapping[str, Any], expected: Any, tolerance: float) -> None:
    """Compare each implementation's result with what is expected; AssertionError names the one that is wrong."""
    right = expected if isinstance(expected, tuple) else (expected,)
    for name, result in results.items():
        got = result if isinstance(result, (tuple, list)) else (result,)
        assert len(got) == len(right), f"{name} has {len(got)} results, not {len(right)}"
        for a, b in zip(got, right):
            # Differences of near equals lose bits everywhere.
            atol = tolerance * float(np.abs(b).max()) if np.size(b) else 0.0
            np.testing.assert_allclose(np.asarray(a), b, tolerance, atol, err_msg=name)


def _calls(implementation: Implementation) -> int:
    """How many calls a sample has."""
    if implementation.own_clock or implementation.before is not None:
        return 1
    implementation.call()
    start = time.perf_counter()
    implementation.call()
    return max(1, math.ceil(SAMPLE_SECONDS / max(1e-7, time.perf_counter() - start)))


def _warm(implementation: Implementation, seconds: float) -> None:
    """Call it for so long, where calls in a row are what is measured."""
    end = time.perf_counter() + seconds
    while implementation.before is None and not implementation.own_clock and time.perf_counter() < end:
        implementation.call()


def _sample(implementation: Implementation, calls: int, patience: float) -> tuple[float, bool]:
    """Seconds a call, and whether nothing else ran when it began.  One untimed call wakes threads and fills caches."""
    call = implementation.call
    idle = wait_until_idle(patience)
    if implementation.before is not None:
        implementation.before()
    elif not implementation.own_clock:
        call()
    if implementation.own_clock:
        return call(), idle
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls, idle


def _in_the_race(rounds: Sequence[Mapping[str, float]], subject: str) -> list[str]:
    """Who may still be the subject's best peer, and the subject itself."""
    fastest = {name: min(r[name] for r in rounds) for name in rounds[0]}
    limit = FAR_BEHIND * min((t for name, t in fastest.items() if name != subject), default=math.inf)
    return [name for name, seconds in fastest.items() if name == subject or seconds <= limit]


def measure(implementations: Mapping[str, Implementation], effort: Effort, subject: str = "txc") -> Timed:
    """Samples of each implementation, in turns, every second round the other way around, so that none always follows
    the same other one.  Medians are of the quiet rounds only, where there are `fewest` of them.

    Peers of the `subject` that turn out to be far behind the fastest leave after two rounds, whose samples they keep.
    """
    if subject in implementations:
        _warm(implementations[subject], effort.warm)
    calls = {name: _calls(c) for name, c in implementations.items()}
    racing = list(implementations)
    trials: list[dict[str, float]] = []
    rounds: list[dict[str, float]] = []
    idle: list[dict[str, float]] = []
    start = time.perf_counter()
    while len(rounds) < effort.most and (
        len(rounds) < effort.fewest or time.perf_counter() - start < effort.seconds
    ):  # fmt: skip
        turns = racing[::-1] if len(rounds) % 2 else racing
        samples = {name: _sample(implementations[name], calls[name], effort.patience) for name in turns}
        rounds.append({name: samples[name][0] for name in racing})
        if all(alone for _, alone in samples.values()):
            idle.append(rounds[-1])
        if len(rounds) == TRIAL_ROUNDS:
            trials, racing = list(rounds), _in_the_race(rounds, subject)
            start = time.perf_counter()
    used = idle if len(idle) >= effort.fewest else rounds
    left = {name: [r[name] for r in trials] for name in implementations if name not in racing}
    return Timed({name: left.get(name) or [r[name] for r in used] for name in implementations}, len(idle))
