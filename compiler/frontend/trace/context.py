"""The traces of this thread: which function is being compiled, and what is known of its dims."""

from __future__ import annotations

from _thread import _local  # `threading.local`, without the rest of that module
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ....dialects.registry import OpError
from .graph import DimTable

if TYPE_CHECKING:
    from .trace import Trace

__all__ = ["current", "enter", "leave", "require", "suspended", "table"]


class _Active(_local):
    """The traces of this thread, the innermost last; an attribute of the class, as every operation asks for it."""

    stack: list[Trace] | None = None


_active = _Active()
#: The dims of lazy expressions are numbers: their table has nothing to learn.
_LAZY = DimTable()


def current() -> Trace | None:
    """The trace of this thread, None where expressions are lazy."""
    stack = _active.stack
    return stack[-1] if stack else None


def require() -> Trace:
    """The trace of this thread; OpError outside one."""
    trace = current()
    if trace is None:
        raise OpError("this value exists only while a function is being compiled", code="TX0203")
    return trace


def enter(trace: Trace) -> None:
    """`trace` is the innermost one of this thread from now on."""
    if _active.stack is None:
        _active.stack = []
    _active.stack.append(trace)


def leave() -> None:
    """The innermost trace of this thread is finished."""
    assert _active.stack is not None
    _active.stack.pop()


@contextmanager
def suspended() -> Iterator[None]:
    """No trace is active inside: for lazy expressions that a traced function uses."""
    kept, _active.stack = _active.stack, None
    try:
        yield
    finally:
        _active.stack = kept


def table() -> DimTable:
    """What is known of the dims of the trace of this thread."""
    stack = _active.stack
    return stack[-1].table if stack else _LAZY
