"""How much work staging loops is, so that it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...diagnostics import TxcError, user_loc

__all__ = ["Effort"]

#: How many loops may be staged in vain: some 15 seconds.
MOST_IN_VAIN = 1000


class Effort:
    """How often loops of a trace were staged, and how often of these in vain.

    A loop that is refused in one form is staged again in another one, with all loops in it, so where each of several
    nested ones is refused the work is their product.
    """

    def __init__(self) -> None:
        self._staged = 0
        self._in_vain = 0

    @contextmanager
    def loop(self) -> Iterator[None]:
        """Staging a loop; where that fails it, and what was staged in it, was in vain.  TxcError where that is much."""
        if self._in_vain > MOST_IN_VAIN:
            raise TxcError(
                f"loops in loops were staged {MOST_IN_VAIN} times in vain: what their variables name changes in each",
                user_loc(),
                "give each loop arrays of its own, by .copy() before it, or make the inner loops a function under"
                " @txc.jit that Python calls",
                "TX0325",
            )
        staged, in_vain = self._staged, self._in_vain
        self._staged += 1
        try:
            yield
        except Exception:
            self._in_vain = in_vain + self._staged - staged
            raise
