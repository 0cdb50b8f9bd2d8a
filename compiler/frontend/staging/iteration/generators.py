"""Generators: what goes through one gives it the body of its loop, which runs where the generator yields.

So loops of compiled code in a generator are loops of who goes through it, and what both change is state as elsewhere.
Nobody can stop in the middle of a loop and go on later: an item by itself (`next`) is refused.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ....diagnostics import TxcError, user_loc
from ...state.iterators import Consumer, PlacedIterator

__all__ = ["Generated"]


class Generated(PlacedIterator):
    """What a generator function gives (`generator_lowering`): nobody has gone through it, or all have.

    `whole` gives a consumer all items; `until` those up to one behind which the consumer asks for no more.
    """

    def __init__(self, whole: Callable[[Consumer], None], until: Callable[[Consumer], None]):
        super().__init__()
        self.whole, self.until = whole, until

    def runs(self) -> list[Any]:
        return [self.whole, self.until]

    def item(self, number: int) -> Any:
        raise TxcError(
            "an item of a generator is taken by itself",
            user_loc(),
            "go through it with for, or make a list of its items first: list(…)",
            "TX0322",
        )

    def run(self, consumer: Consumer, ends: bool) -> None:
        """Give the items that are left to a consumer, which may end this (`ends`); the caller knows whether it did."""
        try:
            self.number()
        except StopIteration:
            return
        self.taken()
        (self.until if ends else self.whole)(consumer)

    def numbered(self, start: Any) -> Generated:
        """``enumerate(self, start)``."""

        def counting(ends: bool) -> Callable[[Consumer], None]:
            def run(consumer: Consumer) -> None:
                number = types.CellType(start)

                def take(item: Any) -> Any:
                    given = number.cell_contents, item
                    number.cell_contents = given[0] + 1
                    return consumer.take(given)

                self.run(Consumer(take, {**consumer.roots, "the number of an item": number}), ends)

            return run

        return Generated(counting(False), counting(True))
