"""Remarks: what passes decided, with the costs of the alternatives, as LLVM's optimization remarks.

A pass calls `remark` where it takes a decision; that costs nothing unless remarks are collected (`collect`), as
`explain()` does.  Costs are nanoseconds by the cost model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

__all__ = ["Remark", "collect", "enabled", "remark"]


class Remark(NamedTuple):
    """One decision.

    `kind` is the kind of decision (materialize, row-fusion, layout, …), `subject` the op or kernel, `choices` the costs
    of the alternatives (empty where cost did not decide), and `place` the user's line, where it is known.
    """

    kind: str
    subject: str
    chosen: str
    why: str
    choices: Mapping[str, float]
    place: str

    @property
    def costs(self) -> str:
        """What each alternative costs."""
        return ", ".join(f"{name} {_time(ns)}" for name, ns in self.choices.items())

    def __str__(self) -> str:
        costs = f" ({self.costs})" if self.choices else ""
        where = f"  at {self.place}" if self.place else ""
        return f"{self.kind:<14} {self.subject}: {self.chosen}: {self.why}{costs}{where}"


_listener: ContextVar[list[Remark] | None] = ContextVar("txc_remarks", default=None)


@contextmanager
def collect() -> Iterator[list[Remark]]:
    """The remarks of all that is compiled inside, in this context, once each."""
    made: list[Remark] = []
    token = _listener.set(made)
    try:
        yield made
    finally:
        _listener.reset(token)


def enabled() -> bool:
    """Whether remarks are collected: costs that serve nothing else need not be computed otherwise."""
    return _listener.get() is not None


def remark(
    kind: str, subject: str, chosen: str, why: str, choices: Mapping[str, float] | None = None,
    op: Operation | None = None,
) -> None:  # fmt: skip
    """Say what was decided on an op."""
    made = _listener.get()
    if made is None:
        return
    place = op.attributes.get("loc") if op is not None else None
    said = Remark(kind, subject, chosen, why, choices or {}, place.data if isinstance(place, StringAttr) else "")
    if said not in made:
        made.append(said)


def _time(ns: float) -> str:
    for unit, scale in (("ms", 1e6), ("µs", 1e3)):
        if ns >= scale:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns:.3g} ns"
