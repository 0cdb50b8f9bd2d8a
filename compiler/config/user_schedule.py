"""``jit(schedule=...)``: a function of the user's that shapes the loops of elementwise nests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .device_names import OptionError

__all__ = ["UserSchedule"]


class UserSchedule:
    """A function that takes a `Nest` (`passes/schedule/language/nest.py`); two are equal where their functions are."""

    def __init__(self, function: Callable[..., Any]):
        if not callable(function):
            raise OptionError(f"schedule must be a function that takes a nest, not {function!r}")
        self.function = function

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UserSchedule) and self.function is other.function

    def __hash__(self) -> int:
        return hash(self.function)

    def __call__(self, nest: Any) -> None:
        """Shape a nest.  TxcError with the user's line for what the nest does not allow."""
        from ...dialects.registry import OpError
        from ..diagnostics import TxcError, error_loc

        try:
            self.function(nest)
        except OpError as error:
            raise TxcError(error.message, error_loc(error), error.hint, error.code) from None

    @property
    def content(self) -> str:
        """A digest of the function and all that it names, as it is now; NotHashable where there is none."""
        from ..cache.source_key import digest_function

        return digest_function(self.function).digest

    @property
    def unkept(self) -> str:
        """Why other processes may not have code that it made; empty where they may."""
        from ..cache.source_key import NotHashable

        try:
            _ = self.content
        except NotHashable as reason:
            return f"its schedule is not known by its content: {reason}"
        return ""

    @property
    def key(self) -> tuple[object, str]:
        """What tells its code apart within a process: the function, and what it names as far as that is known."""
        return self.function, "" if self.unkept else self.content
