"""Staging: what control flow means, by the values at hand.

Where Python's values decide, it is Python's; where tensors and run-time ints do, it is a structured op, around which
the state forks and merges (`merging`) or is carried (`loop_state`).  A loop that Python's values bound is written out
where that makes a short program, and a loop of compiled code elsewhere.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from typing import Any

import numpy as np

from ....dialects.dims.dims import Dim
from ....dialects.registry import OpError
from ...diagnostics import located
from ..state.growing_lists import GrowingList
from ..state.loops.loop_state import LoopState
from ..state.loops.outcomes import (
    AtLast,
    Carries,
    FirstApart,
    MayNotRun,
    NeverRuns,
    Periodic,
    Unrepeatable,
    learnt_of,
)
from ..state.merging import Merge
from ..state.mixed_numbers import MixedNumber
from ..state.one_of import OneOf
from ..state.pure_regions import merged_into_one
from ..state.staged_dicts import StagedDict
from ..state.state import UNSET, Location, Roots, State, assign, roots_of
from ..tensor.apply import apply, as_tensor
from ..tensor.apply import truth as as_bool
from ..tensor.composite_views import in_scope
from ..tensor.tensor import Tensor
from ..trace.captures import Captures
from ..trace.context import require
from ..trace.demands import Ended, demand, end_by
from ..trace.graph import next_serial
from ..trace.symint import SymInt, as_dim, is_integer
from ..trace.undefined import Undefined
from . import regions
from .break_lowering import GENERATED_PREFIX
from .builtins import staging_error
from .iterables import Elements, Some, StagedIterable, StagedRange, as_staged
from .regions import Fork, not_one_bool
from .unroll import LIMIT, REFUSALS, WRITTEN_OUT, NotALoop, computing, endless, worth_a_loop

__all__ = ["ControlFlow"]

#: A range known while staging may be written out up to this length; a longer one becomes a loop.
UNROLL = 8
#: The nodes that the copies of a body may add.  Copies are fused with one another and with what is around them, as the
#: taps of a filter are, which a loop is not; but each node takes its time to compile, and loops in loops multiply.
MOST_ADDED = 512
NO_ROOTS: Roots = types.MappingProxyType({})
_NO_CARRIES: tuple[Sequence[str], ...] = ((), (), ())


class _Measured(Exception):
    """What a copy of a loop's body adds is known: all is to be as before it."""


class _DiffersBehindFirst(Exception):
    """The condition of a loop is true in every call at first, and differs between calls behind the first iteration."""


class ControlFlow:
    """The part of `StagedRuntime` that conditions and statements call."""

    captures: Captures

    def roots(self, *parts: Callable[..., Any]) -> Roots:
        """The variables that parts of a statement share with the function around them."""
        return roots_of(*parts)

    def state(self, roots: Roots, earlier: State | None = None) -> State:
        return State(roots, self.captures.is_outside, earlier)

    # Conditions

    def python_bool(self, value: Any, what: str) -> Any:
        """A condition that has to be known while staging."""
        value = self.truth(value)
        if isinstance(value, Tensor):
            raise staging_error(
                f"{what} depends on a tensor, whose value is not known while the function is staged",
                "use np.where, or move it out of the compiled function",
                "TX0311",
            )
        return value

    def truth(self, value: Any, what: str = "if") -> Any:
        """The truth of a value: Python's, or a bool tensor of rank 0 where only the compiled function knows it."""
        if isinstance(value, SymInt):
            return value != 0
        if isinstance(value, MixedNumber):
            return Tensor(as_bool(value.common).value, weak="bool")
        if isinstance(value, OneOf):
            return value.each(lambda v: self._truth_of(v, what))
        if isinstance(value, GrowingList) and value.stacked:
            return as_tensor(value.length) != 0
        if isinstance(value, StagedDict):
            return value.truth
        if isinstance(value, Tensor) and value.ndim:
            with located():
                facts = require().table
                ones = [facts.decide(d, "==", 1, "a condition is one element") for d in value.dims]
                if None in ones and any(facts.varies(facts.resolve(d)) for d in value.dims):
                    text = f"whether the condition of {what}, a {value.user_type}, is one element varies with a loop"
                    raise OpError(text, "use .any() / .all()", "TX0202")
                if not all(ones):
                    raise not_one_bool(what, value)
                return value.reshape(())
        return value

    def _truth_of(self, value: Any, what: str) -> Any:
        """`truth` as a bool in any case."""
        found = self.truth(value, what)
        return found if isinstance(found, (Tensor, OneOf)) else bool(found)

    def if_exp(self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        test = self.truth(test)
        if not isinstance(test, Tensor):
            return then() if test else otherwise()
        return self._fork(test, then, otherwise, "the value")

    def and_(self, *terms: Callable[[], Any]) -> Any:
        """``a and b``: the first operand that is false, or the last one."""
        return self._logic(terms, False, whole=True)

    def or_(self, *terms: Callable[[], Any]) -> Any:
        """``a or b``: the first operand that is true, or the last one."""
        return self._logic(terms, True, whole=True)

    def all_(self, *terms: Callable[[], Any]) -> Any:
        """The truth of ``a and b``."""
        return self._logic(terms, False, whole=False)

    def any_(self, *terms: Callable[[], Any]) -> Any:
        """The truth of ``a or b``."""
        return self._logic(terms, True, whole=False)

    def _logic(self, terms: Sequence[Callable[[], Any]], decides: bool, whole: bool) -> Any:
        """Python's short circuit: what follows an operand runs where that does not decide."""
        first, *rest = terms
        value = first()
        if not rest:
            return value if whole else self._as_condition(self.truth(value))
        test = self.truth(value)
        if not isinstance(test, Tensor):
            return (value if whole else test) if bool(test) is decides else self._logic(rest, decides, whole)
        decided = value if whole else decides
        sides = [lambda: decided, lambda: self._logic(rest, decides, whole)]
        return self._fork(test, *(sides if decides else sides[::-1]), "the value")

    def _as_condition(self, found: Any) -> Any:
        """A truth as a bool of Python's, so that those of all terms are of one type."""
        return Tensor(as_bool(found).value, weak="bool") if isinstance(found, Tensor) else found

    def not_(self, value: Any) -> Any:
        if isinstance(value, SymInt):
            return value == 0
        value = self.truth(value, "not")
        if not isinstance(value, Tensor):
            return not value
        opposites = require().opposites
        found = opposites.get(value.value)
        if found is None or not in_scope(found):
            found = apply("logical_not", value).value
            opposites[value.value], opposites[found] = found, value.value
        return Tensor(found, weak="bool")

    # Statements

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

    def context(self, manager: Any) -> Any:
        """The manager of a `with`: only one that changes nothing of what is compiled."""
        if isinstance(manager, np.errstate):
            return manager
        kind = type(manager).__name__
        raise staging_error(
            f"with {kind} is not staged: it would be entered once, while the function is compiled",
            "enter it around the call of the compiled function",
            "TX0322",
        )

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
            merge = Merge(fork, before, sides, self.fork_value, rest, None if dead is None else self._lives(dead))
            if name == "the value" and all(side.is_as(before) for side in sides):
                chosen = merged_into_one(fork, values, self.fork_value)
                if chosen is not None:
                    return merge.alone(*values, chosen)
            merge.locations()
            value = None if name is None else merge.value(*values, name)
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

    def unset(self, why: Undefined) -> None:
        """A variable has no value from here on: what reading it says."""
        self.captures.unset[why.name] = why

    # Loops

    def while_(
        self, test: Callable[[], Any], body: Callable[[], Any], fresh: Sequence[str] = (),
        carries: Sequence[Sequence[str]] = _NO_CARRIES,
    ) -> None:  # fmt: skip
        """A `while` statement: a loop from where its condition differs between calls, or of many rounds.

        Its body binds the variables `fresh` before it reads them.
        """
        learnt, roots = learnt_of(self.captures, Carries(*carries)), self.roots(test, body)
        if not learnt.differs_behind_first:
            try:
                self.attempt(roots, lambda: self._while_in_rounds(test, body, carries, first_too=True))
                return
            except _DiffersBehindFirst:
                learnt.differs_behind_first = True
        if learnt.all_in_one:
            try:
                self.attempt(roots, lambda: self._repeated(test, body, carries, self._deferred(test), fresh))
                return
            except REFUSALS:
                learnt.all_in_one = False
        self._while_in_rounds(test, body, carries)

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
        first_too: bool = False,
    ) -> None:  # fmt: skip
        """A `while` run while staging as long as its condition is the same in every call; what is left is a loop.

        Of that all rounds but some are made one after `UNROLL` rounds.  With `first_too` it is an error where all
        rounds but the first are a loop.
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

        self._rounds(test, body, carries, many, first_too=first_too)

    def _rounds(
        self, test: Callable[[], Any], body: Callable[[], Any], carries: Sequence[Sequence[str]],
        many: Callable[[bool], bool], at_once: bool = False, first_too: bool = False,
    ) -> None:  # fmt: skip
        """A `while` run while staging as long as its condition is the same in every call.

        `many` makes a loop of the rounds that are left, all or some of them: `at_once` or after `UNROLL` rounds.  It is
        told whether asking the condition, which has been done for the first of them, changes anything.
        Rounds that add nothing to the program take as long as in Python, so there may be any number of them.
        """
        refusal: Exception | None = None
        rounds = adding = 0
        roots = self.roots(test, body)
        while True:
            before, demanded, stored = self.state(roots), require().demanded(), len(require().writers[-1])
            if isinstance(going := self._deferred(test), Tensor):
                if first_too and rounds == 1:
                    raise _DiffersBehindFirst
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

    def _while(
        self, test: Callable[[], Any], body: Callable[[], Any], carries: Sequence[Sequence[str]], check: Any = None,
        roots: Roots | None = None, ran: Any = True, refers: bool = False, peeled: bool = False,
    ) -> None:  # fmt: skip
        """A `while` as a loop whose variables are tensors; `ran` is what its condition is at first.

        Its first iteration stands apart where that begins from another kind of state: once, then it is `peeled`.
        """
        roots = self.roots(test, body) if roots is None else roots
        learnt = learnt_of(self.captures, carries)
        plan = LoopState(
            roots, self.captures, Carries(*carries), self.unset, runs=lambda: True if ran is True else None,
            ran=lambda: ran, learnt=learnt, refers=refers, peels=not peeled, again=self.fork_value,
        )  # fmt: skip

        def loop(initial: list[Any], names: list[str]) -> Sequence[Any]:
            checked = None if check is None else check(names, initial)

            def condition(*values: Any) -> Any:
                plan.enter(_flat(values))
                return self._deferred(test)

            def iteration(*values: Any) -> tuple[Any, ...]:
                arguments = _flat(values)
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

            return regions.while_(
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
        self._fork(as_tensor(ran), loop, _nothing, None, roots, dead=[n for n in bound if n not in after])

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

    def _deferred(self, test: Callable[[], Any]) -> Any:
        """The condition of a loop: a tensor where calls may differ in it."""
        with require().deferred():
            return self.truth(test(), "while")

    def count_(
        self, test: Callable[[], Any], body: Callable[[], Any], counter: str, relation: str,
        bound: Callable[[], Any], step: Callable[[], Any], stop: str | None,
        carries: Sequence[Sequence[str]] = _NO_CARRIES,
    ) -> None:  # fmt: skip
        """A `while` that counts (`counting`): a `for` where its ends are ints known at run time.

        So its counter stays an int, which may be an index and a size; that of another `while` is a tensor.
        """
        location = self.variable(counter, test, body)
        state, demanded = self.state(self.roots(test, body)), require().demanded()
        start, by, end = state.at(location), step(), bound()
        upwards = relation in ("<", "<=")
        counts = is_integer(start) and is_integer(end) and isinstance(by, int) and (by > 0 if upwards else by < 0)
        if not counts:
            require().forget_since(demanded)  # by what it moves was only asked
            self.while_(test, body, carries=carries)
            return
        if relation in ("<=", ">="):
            end = end + (1 if upwards else -1)

        def loop(start: Any, end: Any, check: Any = None) -> None:
            counted = StagedRange(start, end, by)

            def iteration(item: Any) -> None:
                assign(location, item)
                body()

            self._for(counted, iteration, stop, Carries(*carries), self.roots(test, body), (counter,), check)
            assign(location, counted.start + counted.length * by)

        if isinstance(start, SymInt) or isinstance(end, SymInt):
            loop(start, end)
            return

        def many(_: bool) -> bool:
            # What gets its first value in a round has one behind the loop by the last round, which is written out.
            now = self.state(self.roots(test, body))
            whole = not any(now.at(self.variable(n, test, body)) is UNSET for n in carries[2])
            rest = range(now.at(location), end, by)
            looped = rest if whole else rest[:-1]
            if len(looped) <= UNROLL:
                raise NotALoop("it is short")
            loop(looped.start, looped.stop, lambda names, state, _: worth_a_loop(names, state))
            return whole

        self._rounds(test, body, carries, many, at_once=len(range(start, end, by)) > UNROLL)

    def variable(self, name: str, *parts: Callable[..., Any]) -> Location:
        return Location(self.roots(*parts)[name], "", name)

    def for_(
        self, iterable: Any, body: Callable[[Any], Any], stop: str | None,
        carries: Sequence[Sequence[str]] = _NO_CARRIES, roots: Roots | None = None,
    ) -> None:  # fmt: skip
        """A `for` statement: over what Python iterates over, or few items, written out; else a loop.

        It ends after an iteration that sets the variable `stop`.  `roots` are the variables of the body.
        """
        roots = self.roots(body) if roots is None else roots
        if isinstance(iterable, OneOf):
            iterable.each(lambda items: self.for_(items, body, stop, carries, roots), *roots.values())
            return
        if isinstance(iterable, Tensor):
            if not iterable.ndim:
                text = f"a loop runs over the rows of a tensor, and {iterable.user_type} has none"
                raise staging_error(text, "loop over range(…)", "TX0313")
            iterable = Elements(iterable)
        elif isinstance(iterable, GrowingList):
            iterable = as_staged(iterable) or iterable
        if isinstance(iterable, StagedRange) and iterable.of_tensors:
            self._for_of_tensors(iterable, body, stop, carries, roots)
            return
        known = iterable.known() if isinstance(iterable, StagedIterable) else iterable
        if known is None:
            self._for(iterable, body, stop, Carries(*carries), roots)
        elif not isinstance(iterable, StagedIterable) or self._is_short(known, body, Carries(*carries), roots):
            self._written_out(known, body, stop, roots, carries)
        else:
            self._of_known_length(iterable, known, body, stop, carries, roots)

    def _is_short(self, known: Sequence[Any], body: Callable[[Any], Any], carries: Carries, roots: Roots) -> bool:
        """Whether the iterations written out make a short program, by what the first one adds, which is tried once."""
        if not 1 < len(known) <= UNROLL:
            return len(known) <= 1
        learnt = learnt_of(self.captures, carries)
        if learnt.adds is None:

            def first() -> None:
                since = next_serial()
                body(known[0])
                learnt.adds = next_serial() - since
                raise _Measured

            try:
                self.attempt(roots, first)
            except _Measured:
                pass
            except Exception:
                return True  # the error is the program's
        assert learnt.adds is not None
        return learnt.adds * len(known) <= MOST_ADDED

    def _of_known_length(
        self, items: StagedIterable, known: Sequence[Any], body: Callable[[Any], Any], stop: str | None,
        carries: Sequence[Sequence[str]], roots: Roots,
    ) -> None:  # fmt: skip
        """A loop of compiled code, or the iterations written out where it can be none.

        It is none where the body needs its counter as a number, or changes only what Python knows.
        """
        try:
            self.attempt(roots, lambda: self._for(items, body, stop, Carries(*carries), roots, check=computing))
        except REFUSALS as error:
            refusal = error
        else:
            return
        try:
            self._written_out(known, body, stop, roots, carries, refusal)
        except OpError as error:
            if isinstance(refusal, OpError):
                raise refusal from error
            raise

    def _for(
        self, items: StagedIterable, body: Callable[[Any], Any], stop: str | None, carries: Carries, roots: Roots,
        own: Sequence[str] = (), check: Any = None, peeled: bool = False, surely: bool = False,
        cut: bool = False, in_periods: bool = False,
    ) -> None:  # fmt: skip
        """A `for` as a loop of compiled code, from which what differs stands apart.

        Its first iteration where that begins from another kind of state, its last one where what it leaves is no
        number, and what is left of it after whole periods of references.  Each at most once: the first one is `peeled`
        then, the last one `cut` off, and iterations are `in_periods` of several.
        """
        with located():
            if _is_empty(items):
                return
            demanded, learnt = require().demanded(), learnt_of(self.captures, carries)
            try:
                if learnt.period > 1 and not in_periods:
                    raise Periodic(learnt.period)
                self._loop(items, body, stop, carries, roots, own, check, peels=not peeled, surely=surely)
            except NeverRuns:
                pass
            except REFUSALS:
                if not _never_runs(items):
                    raise
                require().forget_since(demanded)  # nobody comes to what is refused
            except MayNotRun:
                again = lambda: self._for(items, body, stop, carries, roots, own, check, peeled, True, cut)  # noqa: E731
                self._if_it_runs(_ran(items.length), again, roots, carries)
            except FirstApart as first:
                runs = surely or _runs(items.length)
                if runs and not peeled:
                    body(items.at(0))
                    others = Some(items, 1, items.length)
                    rest = lambda: self._for(others, body, stop, carries, roots, own, check, True, cut=cut)  # noqa: E731
                    self._unless_stopped(stop, rest, roots, carries)
                    return
                again = lambda: self._loop(items, body, stop, carries, roots, own, check, refers=True)  # noqa: E731
                if not self._with_references(first, again, roots):
                    if runs is False:
                        return
                    if peeled or runs is not None:
                        raise first.error from None
                    again = lambda: self._for(items, body, stop, carries, roots, own, check, peeled, True, cut)  # noqa: E731
                    self._if_it_runs(_ran(items.length), again, roots, carries)
            except Periodic as turns:
                period, count = turns.period, items.length // turns.period
                if not in_periods:
                    learnt.period = period
                rest = items.length % period
                if isinstance(rest, SymInt) and not require().table.varies(rest.dim):
                    rest = int(rest)

                def several(i: Any) -> None:
                    for k in range(period):
                        body(items.at(i * period + k))

                if _runs(count) is not False:
                    periods = StagedRange(0, count, 1)
                    self._for(periods, several, stop, carries, roots, own, check, in_periods=True)
                self._left_over(lambda k: body(items.at(count * period + k)), rest, period, roots, carries)
            except Unrepeatable:
                if cut:
                    raise staging_error(
                        "what the last iteration of a loop leaves in its variables is not known behind it",
                        "give them arrays of their own in the loop: v = ….copy()",
                        "TX0319",
                    ) from None
                last = items.length - 1
                # The last one sets these anew, so nobody asks what the others leave in them.
                own = [*own, *(name for name in carries.after if name not in carries.at_head)]
                self._for(Some(items, 0, last), body, stop, carries, roots, own, check, peeled, cut=True)
                body(items.at(last))

    def _left_over(
        self, iteration: Callable[[int], None], rest: Any, period: int, roots: Roots, carries: Carries, first: int = 0
    ) -> None:
        """The iterations behind whole periods, from a `first` one of them on, of which there are `rest`."""
        if first + 1 == period:
            return
        there = rest > first

        def those() -> None:
            iteration(first)
            self._left_over(iteration, rest, period, roots, carries, first + 1)

        if isinstance(there, Tensor):
            self._if_it_runs(there, those, roots, carries)
        elif there:
            those()

    def _loop(
        self, items: StagedIterable, body: Callable[[Any], Any], stop: str | None, carries: Carries, roots: Roots,
        own: Sequence[str], check: Any, refers: bool = False, peels: bool = False, surely: bool = False,
    ) -> None:  # fmt: skip
        plain = isinstance(items, StagedRange)
        ends = (items.start, items.stop, items.step) if plain else (0, items.length, 1)
        whole = stop is None
        learnt = learnt_of(self.captures, carries)
        plan = LoopState(
            roots, self.captures, carries, self.unset, runs=lambda: surely or _runs(items.length), follows=whole,
            own=own, count=(lambda: items.length) if whole else None, ran=lambda: surely or _ran(items.length),
            learnt=learnt, refers=refers, peels=peels, again=self.fork_value,
        )  # fmt: skip

        def loop(initial: list[Any], names: list[str]) -> Sequence[Any]:
            checked = None if check is None else check(names, initial, plan.given_to_lists)
            facts = require().table
            around = {*facts.loops}

            def step(i: Any, values: Sequence[Any]) -> tuple[Any, ...]:
                if whole:
                    counter = next(s for s in facts.loops if s not in around and s in i.dim.symbols())
                    plan.at_last = AtLast(counter, _last_of(items), {*facts.names, *around})
                number = (i - items.start) // items.step if plain else i
                plan.enter(values, number)
                try:
                    body(i if plain else items.at(i))
                except Exception as error:
                    end_by(require(), error)
                    plan.enter(values, number)
                results = plan.results(values)
                if checked is not None:
                    checked(values, results)
                return results

            return regions.for_(
                require(), *ends, step, initial, names, stop, plan.is_shared, learnt.hints(names), plan.resized,
                plan.vectors, counter=next(iter(carries.bound), "") if plain else "",
            )  # fmt: skip

        with require().effort.loop():
            plan.run(loop)

    def _written_out(
        self, items: Iterable[Any], body: Callable[[Any], Any], stop: str | None, roots: Roots,
        carries: Sequence[Sequence[str]], refusal: Exception | None = None,
    ) -> None:  # fmt: skip
        """A loop as so many copies of its body; those behind one that may stop it are branches.

        `refusal` is why it is no loop of compiled code, where it was to be one.
        """
        adding, most = 0, LIMIT if refusal is None else WRITTEN_OUT
        for item in items:
            since = next_serial()
            if not self._unless_stopped(stop, _call(body, item), roots, carries):
                break
            adding += next_serial() > since + 1
            if adding > most and (refusal is not None or not isinstance(items, Sized)):
                raise endless(most, refusal)

    def _unless_stopped(
        self, stop: str | None, rest: Callable[[], None], roots: Roots, carries: Sequence[Sequence[str]]
    ) -> bool:
        """The `rest` of a loop where its variable `stop` is not set yet; False where it surely is."""
        stopped = self._stopped(stop, roots)
        if isinstance(stopped, Tensor):
            bound, at_head, after = carries
            dead = [n for n in bound if n not in at_head and n not in after]
            self._fork(stopped, _nothing, rest, None, roots, dead=dead)
        elif not stopped:
            rest()
        return isinstance(stopped, Tensor) or not stopped

    def _stopped(self, stop: str | None, roots: Roots) -> Any:
        """The variable `stop` that says whether a loop is over, which is set before it; False where there is none."""
        if stop is None:
            return False
        found = self.state(roots).at(Location(roots[stop], "", stop))
        assert found is not UNSET, f"{stop} is read before each iteration"
        return found

    def _for_of_tensors(
        self, counted: StagedRange, body: Callable[[Any], Any], stop: str | None, carries: Sequence[Sequence[str]],
        roots: Roots,
    ) -> None:  # fmt: skip
        """A `for` over a range that tensors bound: a `while` whose counter is a tensor."""
        at = types.CellType(Tensor.apply("cast", counted.start, dtype="i64"))

        def test() -> Any:
            i = at.cell_contents
            inside = i < counted.stop if counted.rises else i > counted.stop
            return self.all_(lambda: self.not_(self._stopped(stop, roots)), lambda: inside)

        def iteration() -> None:
            body(Tensor(at.cell_contents.value, weak="int"))
            at.cell_contents = at.cell_contents + counted.step

        name = f"{GENERATED_PREFIX}counter"
        bound, at_head, after = carries
        read = (name,) if stop is None else (name, stop)  # by the test, in front of each iteration
        carries = (*bound, name), (*at_head, *read), after
        self._while(test, iteration, carries, roots={**roots, name: at}, ran=self._deferred(test))


def _nothing() -> None:
    pass


def _call(body: Callable[[Any], Any], item: Any) -> Callable[[], Any]:
    return lambda: body(item)


def _flat(values: tuple[Any, ...]) -> Sequence[Any]:
    return values[0] if len(values) == 1 and isinstance(values[0], (tuple, list)) else values


def _last_of(items: StagedIterable) -> Dim:
    """What the counter of a loop over `items` is in the last iteration: `regions.for_` counts upwards."""
    last = items.length - 1
    if isinstance(items, StagedRange) and items.rises:
        last = items.at(last)
    return as_dim(last)


def _is_empty(items: StagedIterable) -> bool:
    """Whether there are no items whatever the sizes are: ``range(len(x), 0)``."""
    try:
        length = items.length
    except REFUSALS:
        return False  # the loop says what is wrong
    return isinstance(length, int) and length <= 0


def _ran(length: Any) -> Any:
    """Whether a loop of so many iterations, not surely none, has one: True, or a bool of compiled code."""
    if isinstance(length, int):
        return True
    return require().table.proves(0, "<", length.dim) or as_tensor(length) > 0


def _never_runs(items: StagedIterable) -> bool:
    """Whether a loop over some items surely has no iteration."""
    try:
        return _runs(items.length) is False
    except REFUSALS:
        return False


def _runs(length: Any) -> bool | None:
    """Whether a loop of so many iterations has one; None where that is not known."""
    if isinstance(length, int):
        return length > 0
    facts = require().table
    if facts.varies(facts.resolve(length.dim)):
        return facts.proves(0, "<", length.dim)
    return facts.decide(0, "<", length.dim, "a loop that runs")
