"""What stands for a Python function and computes what it does, recognised without knowing how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Wrapper", "unwrapped"]


class Wrapper:
    """A base of what `jit` makes of a function."""

    __slots__ = ()
    __wrapped__: Callable[..., Any]


def unwrapped(value: Any) -> Any:
    """The function that staging takes in place of a wrapper; any other value as it is."""
    return value.__wrapped__ if isinstance(value, Wrapper) else value
