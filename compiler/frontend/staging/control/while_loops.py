"""`while`: rounds that Python goes as long as all calls agree on the condition, and a loop of compiled code behind."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from .....dialects.registry import OpError
from ...state.loops.loop_state import LoopState
from ...state.loops.outcomes import (
    Carries,
    FirstApart,
    MayNotRun,
    NeverRuns,
    Periodic,
    Unrepeatable,
    learnt_of,
)
from ...state.state import UNSET, Roots, State, assign
from ...tensor.apply import as_tensor
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.demands import end_by
from ...trace.graph import next_serial
from ...trace.symint import SymInt
from ..regions import loops
from ..rewriting.break_lowering import GENERATED_PREFIX
from .conditions import Conditions
from .parts import NO_CARRIES, NO_ROOTS
from .unroll import LIMIT, REFUSALS, NotALoop, endless, worth_a_loop

__all__ = ["WhileLoops"]

#: A range known while staging may be written out up to this length; a longer one becomes a loop.
UNROLL = 8


class _WouldPeel(Exception):
    """The condition of a loop is true in every call at first, and differs between calls behind the first iteration."""


class WhileLoops(Conditions):
    """`while` statements."""

    def while_(
        self, test: Callable[[], Any], body: Callable[[], Any], fresh: Sequence[str] = (),
        carries: Sequence[Sequence[str]] = NO_CARRIES,
    ) -> None:  # fmt: skip
        """A `while` statement: a loop from where its condition differs between calls, or of many rounds.

        Its body binds the variables `fresh` before it reads them.
        """
        learnt, roots = learnt_of(self.captures, Carries(*carries)), self.roots(test, body)
        if not learnt.peels:
            if self._done_in_rounds(roots, lambda: self._while_in_rounds(test, body, carries, peels=False)):
                return
            learnt.peels = True
        if learnt.all_in_one:
            try:
                self.attempt(roots, lambda: self._repeated(test, body, carries, self._deferred(test), fresh))
                return
            except REFUSALS:
                learnt.all_in_one = False
        self._while_in_rounds(test, body, carries)

    def _done_in_rounds(self, roots: Roots, rounds: Callable[[], None]) -> bool:
        """False where all rounds but the first are a loop: then all is as before.

        An error of the program's leaves what was done before it.
        """
        before, failed = self.state(roots), None
        try:
            with require().attempt():
                try:
                    rounds()
                except _WouldPeel:
                    raise
                except Exception as error:
                    failed = error
        except _WouldPeel:
            before.restore()
            return False
        if failed is not None:
            raise failed
        return True

    def _repeated(
        self, test: Callable[[], Any], body: Callable[[], Any], carries: Sequence[Sequence[str]], going: Any,
        fresh: Sequence[str] = (), check: Any = None,
    ) -> None:  # fmt: skip
        """A `while` as a loop that asks its condition once before, which was `going`, and at the end of iterations.

        So a condition may change what the body reads.  Where it surely runs, its first iteration is compiled with the
        others though the variables `fresh`, which that sets, hold something else before it, as in ``error = 1``.
        """
        name = f"{GENERATED_PREFIX}goes_on"
        goes_on = types.CellType(going)
        roots = {**self.roots(test, body), name: goes_on}
        for variable in fresh:
            assign(self.variable(variable, test, body), UNSET)

        def iteration() -> None:
            body()
            goes_on.cell_contents = self._deferred(test)

        bound, at_head, after = carries
        carries = (*bound, name), (*(n for n in at_head if n not in fresh), name), after
        self._while(lambda: goes_on.cell_contents, iteration, carries, check, roots, going)

    def _while_in_rounds(
        self, test: Callable[[], Any], body: Callable[[], Any], carries: Sequence[Sequence[str]],
        peels: bool = True,
    ) -> None:  # fmt: skip
        """A `while` run while staging as long as its condition is the same in every call; what is left is a loop.

        After `UNROLL` rounds the rest is tried as one loop.  `peels` is as in `_rounds`.
        """

        def going() -> Any:
            if not isinstance(found := test(), (Tensor, SymInt)):
                raise NotALoop("nothing that its condition depends on changes")
            return found

        def many(changes: bool) -> bool:
            if changes:
                self._repeated(going, body, carries, True, check=worth_a_loop)
            else:
                self._while(going, body, carries, worth_a_loop)
            return True

        self._rounds(test, body, carries, many, peels=peels)

    def _rounds(
        self, test: Callable[[], Any], body: Callable[[], Any], carries: Sequence[Sequence[str]],
        many: Callable[[bool], bool], at_once: bool = False, peels: bool = True,
    ) -> None:  # fmt: skip
        """A `while` run while staging as long as its condition is the same in every call.

        `many` makes a loop of the rounds that are left, all or some of them: `at_once` or after `UNROLL` rounds.  It is
        told whether asking the condition, which has been done for the first of them, changes anything.
        Rounds that add nothing to the program take as long as in Python, so there may be any number of them.
        Without `peels` it is _WouldPeel where all rounds but the first are a loop.
        """
        refusal: Exception | None = None
        rounds = adding = 0
        roots = self.roots(test, body)
        while True:
            before, demanded, stored = self.state(roots), require().demanded(), len(require().writers[-1])
            if isinstance(going := self._deferred(test), Tensor):
                if not peels and rounds == 1:
                    raise _WouldPeel
                if self._changed(before, stored):
                    self._repeated(test, body, carries, going)
                    return
                require().forget_since(demanded)  # the loop's own condition is checked
                self._while(test, body, carries, ran=going)
                return
            if not going:
                return
            rounds += 1
            if rounds == (1 if at_once else UNROLL + 1):
                changes = self._changed(before, stored)
                try:
                    done = self.attempt(roots, lambda: many(changes))  # noqa: B023
                except REFUSALS as error:
                    refusal = error
                else:
                    if done:
                        return
                    continue
            since = next_serial()
            body()
            adding += next_serial() > since + 1
            if adding > LIMIT:
                raise endless(LIMIT, refusal)

    def _changed(self, before: State, stored: int) -> bool:
        """Whether anything that a state has was changed after it, or there were stores behind the first `stored`."""
        return len(require().writers[-1]) > stored or not self.state(NO_ROOTS, before).is_as(before)

    def _while(
        self, test: Callable[[], Any], body: Callable[[], Any], carries: Sequence[Sequence[str]], check: Any = None,
        roots: Roots | None = None, ran: Any = True, refers: bool = False, peeled: bool = False,
    ) -> None:  # fmt: skip
        """A `while` as a loop whose variables are tensors; `ran` is what its condition is at first.

        Its first iteration stands apart where that begins from another kind of state: once, then it is `peeled`.
        """
        roots = self.roots(test, body) if roots is None else roots
        carried = Carries(*carries)
        learnt = learnt_of(self.captures, carried)
        plan = LoopState(
            roots, self.captures, carried, self.unset, runs=lambda: True if ran is True else None,
            ran=lambda: ran, learnt=learnt, refers=refers, peels=not peeled, again=self.fork_value,
        )  # fmt: skip

        def loop(initial: list[Any], names: list[str]) -> Sequence[Any]:
            checked = None if check is None else check(names, initial)

            def condition(*values: Any) -> Any:
                plan.enter(flat(values))
                return self._deferred(test)

            def iteration(*values: Any) -> tuple[Any, ...]:
                arguments = flat(values)
                plan.enter(arguments)
                try:
                    body()
                except Exception as error:
                    end_by(require(), error)
                    plan.enter(arguments)
                results = plan.results(arguments)
                if checked is not None:
                    checked(arguments, results)
                return results

            return loops.while_(
                require(), condition, iteration, initial, names, plan.is_shared, learnt.hints(names), plan.resized,
                plan.vectors,
            )  # fmt: skip

        try:
            with require().effort.loop():
                plan.run(loop)
        except MayNotRun:
            surely = lambda: self._while(test, body, carries, check, roots, refers=refers, peeled=peeled)  # noqa: E731
            self._if_it_runs(ran, surely, roots, carries)
        except FirstApart as first:
            if ran is True and not peeled:
                body()
                self._while(test, body, carries, check, roots, self._deferred(test), peeled=True)
                return
            again = lambda: self._while(test, body, carries, check, roots, ran, refers=True, peeled=True)  # noqa: E731
            if refers or not self._with_references(first, again, roots):
                if peeled:
                    raise first.error from None
                self._if_it_runs(ran, lambda: self._while(test, body, carries, check, roots), roots, carries)

    def _if_it_runs(self, ran: Any, loop: Callable[[], None], roots: Roots, carries: Sequence[Sequence[str]]) -> None:
        """A loop that surely runs, in a branch for where it does."""
        bound, _, after = carries
        self._fork(as_tensor(ran), loop, nothing, None, roots, dead=[n for n in bound if n not in after])

    def _with_references(self, first: FirstApart, again: Callable[[], None], roots: Roots) -> bool:
        """A loop whose variables may refer to several arrays; False where it can be none."""
        if not first.refers:
            return False
        try:
            self.attempt(roots, again)
        except NeverRuns:
            pass
        except (OpError, FirstApart, MayNotRun, Unrepeatable, Periodic):
            return False
        return True


def nothing() -> None:
    pass


def flat(values: tuple[Any, ...]) -> Sequence[Any]:
    return values[0] if len(values) == 1 and isinstance(values[0], (tuple, list)) else values
