"""Parts of a statement: functions that share variables, which may be tried and put back."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from ...state.state import Location, Roots, State, roots_of
from ...trace.captures import Captures
from ...trace.context import require
from ...trace.undefined import Undefined
from .unroll import REFUSALS

__all__ = ["Parts"]

NO_CARRIES: tuple[Sequence[str], ...] = ((), (), ())
NO_ROOTS: Roots = types.MappingProxyType({})


class Parts:
    """The variables that the parts of a statement share, and what comes of trying a part."""

    captures: Captures

    def roots(self, *parts: Callable[..., Any]) -> Roots:
        """The variables that parts of a statement share with the function around them."""
        return roots_of(*parts)

    def state(self, roots: Roots, earlier: State | None = None) -> State:
        return State(roots, self.captures.is_outside, earlier)

    def variable(self, name: str, *parts: Callable[..., Any]) -> Location:
        return Location(self.roots(*parts)[name], "", name)

    def unset(self, why: Undefined) -> None:
        """A variable has no value from here on: what reading it says."""
        self.captures.unset[why.name] = why

    def attempt(self, roots: Roots, way: Callable[[], Any]) -> Any:
        """What a way to go on gives; where it raises an error all is as before."""
        before = self.state(roots)
        try:
            with require().attempt():
                return way()
        except Exception:
            before.restore()
            raise

    def tried(self, roots: Roots, *ways: Callable[[], Any]) -> Any:
        """What the first way to go on gives that is not refused; the last one's errors are the program's."""
        for way in ways[:-1]:
            try:
                return self.attempt(roots, way)
            except REFUSALS:
                continue
        return ways[-1]()
