"""The session that runs what is given none: that of the innermost ``with`` of a thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .session import Session

__all__ = ["enter", "get_default_session", "leave"]

_local = threading.local()


def get_default_session() -> Session | None:
    """The session of the innermost ``with`` of this thread."""
    stack = getattr(_local, "sessions", None)
    return stack[-1] if stack else None


def enter(session: Session) -> None:
    """It is the default one of this thread from now on."""
    if not hasattr(_local, "sessions"):
        _local.sessions = []
    _local.sessions.append(session)


def leave() -> None:
    """The default one of this thread is that before."""
    _local.sessions.pop()
