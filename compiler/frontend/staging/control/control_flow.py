"""Staging: what control flow means, by the values at hand.

Where Python's values decide, it is Python's; where tensors and run-time ints do, it is a structured op, around which
the state forks and merges (`state.merging`) or is carried (`state.loops`).  A loop that Python's values bound is
written out where that makes a short program, and a loop of compiled code elsewhere.
"""

from __future__ import annotations

from .attempts import Attempts
from .for_loops import ForLoops

__all__ = ["ControlFlow"]


class ControlFlow(Attempts, ForLoops):
    """The part of `StagedRuntime` that conditions and statements call."""
