"""A schedule of the user's, by which elementwise nests that stand on their own are scheduled meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ....dialects.registry import OpError
from .nest import Schedule

__all__ = ["NoNest", "scheduled_by", "users_schedule"]

_given: ContextVar[Schedule | None] = ContextVar("txc_schedule", default=None)


class NoNest(OpError):
    """A schedule was given to a program that has no nest for it: TX0421."""

    def __init__(self, function: str):
        super().__init__(
            f"{function} has no elementwise kernel on its own, which a schedule is for",
            f"{function}.explain(…) lists its kernels: row groups and reductions have schedules of the compiler's",
            "TX0421",
        )


@contextmanager
def scheduled_by(schedule: Schedule | None) -> Iterator[None]:
    """Schedule nests by a user's function, in this context (None: by the compiler's own)."""
    token = _given.set(schedule)
    try:
        yield
    finally:
        _given.reset(token)


def users_schedule() -> Schedule | None:
    return _given.get()
