"""Two parts of which compiled code runs one: each is staged from the state before, and what they leave is merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .....dialects.registry import OpError
from ....diagnostics import located
from ...state.merging.merging import Merge
from ...state.pure_regions import merged_into_one
from ...state.state import Roots, State
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.demands import end_by
from ...trace.undefined import Undefined
from ..regions.fork import Fork
from .parts import NO_ROOTS, Parts

__all__ = ["Forks"]


class Forks(Parts):
    """Branches of compiled code."""

    def _fork(
        self, test: Tensor, then: Callable[[], Any], otherwise: Callable[[], Any], name: str | None,
        roots: Roots = NO_ROOTS, rest: Sequence[Tensor] = (), dead: Sequence[str] | None = None,
    ) -> Any:  # fmt: skip
        """Run two parts, each from the state as it is, and merge what they leave.

        Their values are merged as well where these have a `name`.  `roots` are variables beside those of the parts.
        Where `test` is false one of `rest` is true, if there are any.  What one part only binds may be unbound behind
        it, but for `dead` variables, which nobody reads there; without these it has no value.
        """
        with located():
            roots = {**roots, **self.roots(then, otherwise)}
            fork, before = Fork(require(), test), self.state(roots)
            sides: list[State] = []
            values: list[Any] = []
            for side, (part, other) in enumerate(((then, otherwise), (otherwise, then))):
                ended = False
                try:
                    with fork.side(), self._assumed(fork.cond, side):
                        try:
                            values.append(part())
                            sides.append(self.state({**roots, "": values[-1]}, before))
                        except Exception as error:
                            ended = True
                            end_by(require(), error)
                finally:
                    before.restore()
                if ended:
                    # What follows runs where this side did not: it needs no branch of its own.
                    if side:
                        fork.leave_out(0)
                    else:
                        with fork.side():
                            pass
                    fork.join([])
                    return other()
            first, second = values
            merge = Merge(fork, before, sides, self.fork_value, rest, None if dead is None else self._lives(dead))
            if name == "the value" and all(side.is_as(before) for side in sides):
                chosen = merged_into_one(fork, values, self.fork_value)
                if chosen is not None:
                    return merge.alone(first, second, chosen)
            merge.locations()
            value = None if name is None else merge.value(first, second, name)
            found = merge.finish(self.unset, value)
            if isinstance(found, Undefined):
                raise OpError(found.reason, found.hint, "TX0312")
            return found

    def _lives(self, dead: Sequence[str]) -> Callable[[Any, str], bool]:
        """Whether a variable that holds nothing at the end of a branch may be read behind it, as loops have to know."""

        def lives(cell: Any, name: str) -> bool:
            if name in dead or name in self.captures.unset:
                return False
            for loop in self.captures.loops:
                loop.found(cell)
            return True

        return lives

    @contextmanager
    def _assumed(self, cond: Tensor, side: int) -> Iterator[None]:
        """What is known inside a side of an `if`."""
        trace = require()
        known = [(trace.assumed, cond.value), (trace.denied, trace.opposites.get(cond.value))]
        if side:
            known = [(trace.denied, cond.value), (trace.assumed, trace.opposites.get(cond.value))]
        known = [(values, value) for values, value in known if value is not None and trace.has_one_of]
        for values, value in known:
            values.append(value)
        try:
            yield
        finally:
            for values, _ in known:
                values.pop()

    def fork_value(
        self, test: Tensor, then: Callable[[], Any], otherwise: Callable[[], Any], roots: Roots, rest: Sequence[Tensor]
    ) -> Any:
        """``then() if test else otherwise()``, which may change what hangs on `roots`; else one of `rest` is true."""
        return self._fork(test, then, otherwise, "the value", roots, rest)
