"""Statements that are no loops: `if`, `assert` and `raise`; for `try` and `with` see `attempts`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....diagnostics import located
from ...state.state import Roots
from ...tensor.promotion import truth as as_bool
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.demands import Ended, demand
from .conditions import Conditions
from .parts import NO_ROOTS

__all__ = ["Statements"]


class Statements(Conditions):
    """`if`, `assert`, `raise`."""

    def raised(self, error: Callable[[], Any]) -> Any:
        """What to raise for an error of the function's: that, or where compiled code decides whether it gets here,
        what ends this part of it."""
        made = error()
        if isinstance(made, type) and issubclass(made, BaseException):
            made = made()
        return Ended(made) if require().in_region and isinstance(made, BaseException) else made

    def asserted(self, test: Any, *message: Callable[[], Any]) -> None:
        """An `assert` statement."""
        test = self.truth(test, "assert")
        if isinstance(test, Tensor):
            with located():
                demand(require(), as_bool(test), AssertionError(*(text() for text in message)))
        elif not test:
            raise self.raised(lambda: AssertionError(*(text() for text in message)))

    def if_(
        self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any], dead: Sequence[str] | None = None,
        roots: Roots = NO_ROOTS,
    ) -> None:  # fmt: skip
        """An `if` statement; `dead` are the variables bound in it that are not read behind it."""
        test = self.truth(test)
        if not isinstance(test, Tensor):
            (then if test else otherwise)()
            return
        self._fork(test, then, otherwise, None, roots, dead=dead)

    def if_return(
        self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any], dead: Sequence[str] | None = None
    ) -> Any:
        """An `if` both of whose branches return; `dead` are the variables bound in it that nobody else reads."""
        test = self.truth(test)
        if not isinstance(test, Tensor):
            return (then if test else otherwise)()
        return self._fork(test, then, otherwise, "the result", dead=dead)
