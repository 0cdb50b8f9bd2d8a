"""Remarks: what passes decided, beside what they decided against, as LLVM's optimisation remarks are.

A pass calls `remark` where it takes a decision; it costs nothing unless somebody listens (`recorded`), as `explain()`
does.  Figures are nanoseconds by the cost model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

__all__ = ["Remark", "enabled", "recorded", "remark"]


class Remark(NamedTuple):
    """One decision.

    `kind` is what was decided on (eval, rows, layout, …), `subject` the op or kernel, `choices` what each way would
    take (empty where it was not a matter of cost), and `place` the user's line, where it is known.
    """

    kind: str
    subject: str
    chosen: str
    why: str
    choices: Mapping[str, float]
    place: str

    def __str__(self) -> str:
        figures = ", ".join(f"{name} {_time(ns)}" for name, ns in self.choices.items())
        where = f"  at {self.place}" if self.place else ""
        return f"{self.kind:<7} {self.subject}: {self.chosen}: {self.why}{f' ({figures})' if figures else ''}{where}"


_listener: ContextVar[list[Remark] | None] = ContextVar("txc_remarks", default=None)


@contextmanager
def recorded() -> Iterator[list[Remark]]:
    """The remarks of all that is compiled inside, in this context, once each."""
    made: list[Remark] = []
    token = _listener.set(made)
    try:
        yield made
    finally:
        _listener.reset(token)


def enabled() -> bool:
    """Whether remarks are wanted: figures that serve nothing else need not be computed otherwise."""
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
