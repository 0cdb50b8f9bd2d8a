"""Which stage changes the result: runs one program at every stage on the same inputs and compares.

From `fused` down every stage computes the same bits.  Above it the order of arithmetic is not fixed yet, so a result
may differ by a number of units in the last place of the largest element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects.types import dtype

__all__ = ["Difference", "Report", "Step", "bisect", "differing"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Step:
    """A stage (or one pass of it) and how to run the program as it is there.

    `ulp` is how far its results may be from the step before: 0 demands equal bits.
    """

    name: str
    run: Callable[[], Sequence[Any]]
    ulp: float = 0.0


@dataclass(frozen=True)
class Difference:
    """The first element of a result that a step changed."""

    result: int
    index: tuple[int, ...]
    before: Any
    after: Any
    count: int
    size: int

    def __str__(self) -> str:
        at = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        return (
            f"result {self.result}{at}: {self.before!r} became {self.after!r}"
            f" ({self.count} of {self.size} elements differ)"
        )


@dataclass(frozen=True)
class Report:
    """What a bisection found: `culprit` is None where no step changes the result."""

    steps: tuple[str, ...]
    culprit: str | None = None
    previous: str | None = None
    difference: Difference | str | None = None

    def __str__(self) -> str:
        if self.culprit is None:
            return f"all {len(self.steps)} stages agree: {', '.join(self.steps)}"
        return f"{self.culprit} changes the result of {self.previous or 'the program'}: {self.difference}"


def bisect(steps: Sequence[Step]) -> Report:
    """Run the steps in order until one gives another result than the step before.

    A step that raises is the culprit as well: its error is the difference.  Every step must make its own copies of what
    it writes to.
    """
    names = tuple(step.name for step in steps)
    before: list[Array] | None = None
    previous: str | None = None
    for step in steps:
        try:
            after = [np.array(result) for result in step.run()]
        except Exception as error:
            return Report(names, step.name, previous, f"it fails with {type(error).__name__}: {error}")
        if before is not None:
            difference = differing(before, after, step.ulp)
            if difference is not None:
                return Report(names, step.name, previous, difference)
        before, previous = after, step.name
    return Report(names)


def differing(before: Sequence[Array], after: Sequence[Array], ulp: float = 0.0) -> Difference | str | None:
    """How two lists of results differ, or None.  NaNs are all equal; `ulp` counts from the largest finite element."""
    if len(before) != len(after):
        return f"{len(before)} results became {len(after)}"
    for number, (a, b) in enumerate(zip(before, after)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"result {number} of {a.dtype} and shape {a.shape} became {b.dtype} of shape {b.shape}"
        wrong = _wrong(a, b, ulp)
        if wrong.any():
            index = tuple(int(i) for i in np.argwhere(wrong)[0])
            return Difference(number, index, a[index].item(), b[index].item(), int(wrong.sum()), a.size)
    return None


def _wrong(a: Array, b: Array, ulp: float) -> Array:
    """Which elements differ too much."""
    if a.dtype.kind == "c":
        first, second = (x[..., None].copy().view(np.real(x).dtype) for x in (a, b))
        return np.asarray(_wrong(first, second, ulp).any(axis=-1))
    if not dtype(a.dtype).is_float:
        return np.asarray(a != b)
    both_nan = np.isnan(a) & np.isnan(b)
    bits = np.dtype(f"u{a.dtype.itemsize}")
    same = (a.view(bits) == b.view(bits)) | both_nan
    if not ulp:
        return ~same
    with np.errstate(all="ignore"):
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        finite = np.isfinite(wide_a) & np.isfinite(wide_b)
        largest = np.max(np.abs(np.where(finite, wide_a, 0)), initial=0).astype(a.dtype)
        allowed = ulp * float(np.spacing(largest)) if a.dtype.kind == "f" else ulp * float(largest) * 2.0**-8
        return ~same & ~(finite & (np.abs(wide_a - wide_b) <= allowed))
