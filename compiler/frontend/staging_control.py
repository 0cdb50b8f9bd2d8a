"""Staging: what control flow means, by the values at hand.

Where Python's values decide, it is Python's; where tensors and run-time ints do, it is a structured op.  A loop that
Python's values bound is written out where it is short, and a loop of compiled code where it is long.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence, Sized
from typing import Any

import numpy as np

from .graph import moment
from .jumps import MADE
from .staging_builtins import staging_error
from .staging_iteration import Elements, StagedIterable, StagedRange
from .staging_rounds import LIMIT, REFUSALS, Refused, endless, paying
from .symint import SymInt, is_integer
from .tensor import Tensor
from .trace import require
from .undefined import Undefined

__all__ = ["ControlFlow"]

#: A range known while staging is written out up to this length; a longer one becomes a loop.
UNROLL = 8


class ControlFlow:
    """The part of `Runtime` that conditions and statements call."""

    # Conditions

    def python_bool(self, value: Any, what: str) -> Any:
        """A condition that has to be known while staging."""
        if isinstance(value, Tensor):
            raise staging_error(
                f"{what} depends on a tensor, whose value is not known while the function is staged",
                "use np.where, or move it out of the compiled function",
                "TX0311",
            )
        return value

    def if_exp(self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        if isinstance(test, Tensor):
            return np.where(test, then(), otherwise())  # pyright: ignore[reportCallIssue, reportArgumentType]
        return then() if test else otherwise()

    def and_(self, *terms: Callable[[], Any]) -> Any:
        return self._logic(terms, np.logical_and, False)

    def or_(self, *terms: Callable[[], Any]) -> Any:
        return self._logic(terms, np.logical_or, True)

    def _logic(self, terms: Sequence[Callable[[], Any]], combine: Any, decides: bool) -> Any:
        """Python's short circuit while values are Python's; all of the rest, combined, from the first tensor on."""
        value: Any = not decides
        for i, term in enumerate(terms):
            value = term()
            if isinstance(value, Tensor):
                for other in terms[i + 1 :]:
                    value = combine(value, other())
                return value
            if bool(value) is decides:
                return value
        return value

    def not_(self, value: Any) -> Any:
        if isinstance(value, SymInt):
            return value == 0
        return np.logical_not(value) if isinstance(value, Tensor) else not value  # pyright: ignore[reportArgumentType]

    # Statements

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

    def deleted(self, name: str) -> Any:
        return Undefined(name)

    def if_(
        self, test: Any, then: Callable[..., Any], otherwise: Callable[..., Any], certain: tuple[str, ...],
        names: tuple[str, ...], state: tuple[Any, ...],
    ) -> tuple[Any, ...]:  # fmt: skip
        """An `if` statement: the values of its variables afterwards."""
        if not isinstance(test, Tensor):
            return then(*state) if test else otherwise(*state)
        kept = [
            i for i, v in enumerate(state)
            if _numeric(v) or (isinstance(v, Undefined) and (names[i] in certain or names[i].startswith(MADE)))
        ]  # fmt: skip

        def branch(body: Callable[..., Any]) -> Callable[[], tuple[Any, ...]]:
            return lambda: self._unchanged(names, state, body(*state), kept)

        found = require().if_(test, branch(then), branch(otherwise), [names[i] for i in kept])
        return self._merged(names, state, kept, found)

    def if_return(
        self,
        test: Any,
        then: Callable[..., Any],
        otherwise: Callable[..., Any],
        names: tuple[str, ...],
        state: tuple[Any, ...],
    ) -> Any:
        """An `if` both of whose branches return."""
        if not isinstance(test, Tensor):
            return then(*state) if test else otherwise(*state)
        single: list[bool] = []

        def branch(body: Callable[..., Any]) -> Callable[[], tuple[Any, ...]]:
            def run() -> tuple[Any, ...]:
                result = body(*state)
                single.append(not isinstance(result, tuple))
                if len(set(single)) > 1:
                    raise staging_error(
                        "one branch returns a tuple, the other does not", "return the same kind of value", "TX0312"
                    )
                return result if isinstance(result, tuple) else (result,)

            return run

        found = require().if_(test, branch(then), branch(otherwise), ["the result"])
        return found[0] if single[0] else tuple(found)

    def while_(
        self, test: Callable[..., Any], body: Callable[..., Any], names: tuple[str, ...], state: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """A `while` statement: a loop from where its condition differs between calls, or of many rounds."""

        def going(*values: Any) -> Any:
            if not isinstance(found := test(*values), (Tensor, SymInt)):
                raise Refused("nothing that its condition depends on changes")
            return found

        def many(body: Callable[..., Any], state: tuple[Any, ...]) -> tuple[tuple[Any, ...], bool]:
            return self._while(going, body, names, state), True

        return self._rounds(test, body, names, state, many)

    def _rounds(
        self, test: Callable[..., Any], body: Callable[..., Any], names: tuple[str, ...], state: tuple[Any, ...],
        many: Callable[..., tuple[tuple[Any, ...], bool]], at_once: bool = False,
    ) -> tuple[Any, ...]:  # fmt: skip
        """A `while` run while staging as long as its condition is the same in every call.

        `many` makes a loop of the rounds that are left, all or some of them: `at_once` or after `UNROLL` rounds.
        Rounds that add nothing to the program take as long as in Python, so there may be any number of them.
        """
        refusal: Exception | None = None
        rounds = adding = 0
        while True:
            if isinstance(truth := self._deferred(test, *state), Tensor):
                return self._while(test, body, names, state)
            if not truth:
                return state
            rounds += 1
            if rounds == (1 if at_once else UNROLL + 1):
                try:
                    state, done = many(paying(names, state, body), state)
                except REFUSALS as error:
                    refusal = error
                else:
                    if done:
                        return state
                    continue
            before = moment()
            state = body(*state)
            adding += moment() > before + 1
            if adding > LIMIT:
                raise endless(LIMIT, refusal)

    def _while(
        self, test: Callable[..., Any], body: Callable[..., Any], names: tuple[str, ...], state: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """A `while` as a loop whose variables are tensors."""
        kept = [i for i, v in enumerate(state) if _carries(v, names[i])]

        def full(values: Sequence[Any]) -> list[Any]:
            return list(self._merged(names, state, kept, values))

        def step(*values: Any) -> tuple[Any, ...]:
            return self._unchanged(names, state, body(*full(_flat(values))), kept)

        found = require().while_(
            lambda *values: self._deferred(test, *full(_flat(values))),
            step,
            [state[i] for i in kept],
            [names[i] for i in kept],
        )
        return self._merged(names, state, kept, found)

    @staticmethod
    def _deferred(test: Callable[..., Any], *values: Any) -> Any:
        """The condition of a loop: a tensor where calls may differ in it."""
        with require().deferred():
            found = test(*values)
            return found != 0 if isinstance(found, SymInt) else found

    def count_(
        self, test: Callable[..., Any], body: Callable[..., Any], counter: str, relation: str,
        bound: Callable[[], Any], step: Callable[[], Any], stop: str | None, names: tuple[str, ...],
        state: tuple[Any, ...],
    ) -> tuple[Any, ...]:  # fmt: skip
        """A `while` that counts (`counting`): a `for` where its ends are ints known at run time.

        So its counter stays an int, which may be an index and a size; that of another `while` is a tensor.
        """
        at = names.index(counter)
        start, by = state[at], step()
        end = bound()
        upwards = relation in ("<", "<=")
        counts = is_integer(start) and is_integer(end) and isinstance(by, int) and (by > 0 if upwards else by < 0)
        if not counts:
            return self.while_(test, body, names, state)
        if relation in ("<=", ">="):
            end = end + (1 if upwards else -1)

        def loop(body: Callable[..., Any], end: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
            def iteration(item: Any, *values: Any) -> tuple[Any, ...]:
                return body(*values[:at], item, *values[at + 1 :])

            counted = StagedRange(state[at], end, by)
            found = self.for_(counted, iteration, (counter,), stop, names, state)
            return (*found[:at], counted.start + counted.length * by, *found[at + 1 :])

        if isinstance(start, SymInt) or isinstance(end, SymInt):
            return loop(body, end, state)

        def many(body: Callable[..., Any], state: tuple[Any, ...]) -> tuple[tuple[Any, ...], bool]:
            # What gets its first value in a round has one behind the loop by the last round, which is written out.
            whole = not any(isinstance(v, Undefined) and not n.startswith(MADE) for v, n in zip(state, names))
            rest = range(state[at], end, by)
            looped = rest if whole else rest[:-1]
            if len(looped) <= UNROLL:
                raise Refused("it is short")
            return loop(body, looped.stop, state), whole

        return self._rounds(test, body, names, state, many, at_once=len(range(start, end, by)) > UNROLL)

    def for_(
        self, iterable: Any, body: Callable[..., Any], targets: tuple[str, ...], stop: str | None,
        names: tuple[str, ...], state: tuple[Any, ...],
    ) -> tuple[Any, ...]:  # fmt: skip
        """A `for` statement: over what Python iterates over, or few items, written out; else a loop.

        It ends after an iteration that sets the variable `stop`.
        """
        if isinstance(iterable, Tensor):
            if not iterable.ndim:
                text = f"a loop runs over the rows of a tensor, and {iterable.user_type} has none"
                raise staging_error(text, "loop over range(…)", "TX0313")
            iterable = Elements(iterable)
        if isinstance(iterable, StagedRange) and iterable.of_tensors:
            return self._for_of_tensors(iterable, body, stop, names, state)
        if not isinstance(iterable, StagedIterable):
            return self._written_out(iterable, body, stop, names, state)
        known = iterable.known()
        if known is not None and len(known) <= UNROLL:
            return self._written_out(known, body, stop, names, state)
        kept = [i for i, v in enumerate(state) if _carries(v, names[i]) and names[i] not in targets]
        plain = isinstance(iterable, StagedRange)
        ends = (iterable.start, iterable.stop, iterable.step) if plain else (0, iterable.length, 1)

        def step(i: Any, values: Sequence[Any]) -> tuple[Any, ...]:
            item = i if plain else iterable.at(i)
            return self._unchanged(names, state, body(item, *self._merged(names, state, kept, values)), kept, targets)

        carried, labels = [state[i] for i in kept], [names[i] for i in kept]
        found = list(self._merged(names, state, kept, require().for_(*ends, step, carried, labels, stop)))
        for i, name in enumerate(names):
            if name in targets:
                found[i] = Undefined(name)
        return tuple(found)

    def _written_out(
        self, items: Iterable[Any], body: Callable[..., Any], stop: str | None, names: tuple[str, ...],
        state: tuple[Any, ...],
    ) -> tuple[Any, ...]:  # fmt: skip
        """A loop as so many copies of its body; those behind one that may stop it are branches."""
        adding = 0
        for item in items:
            before = moment()
            stopped = False if stop is None else state[names.index(stop)]
            if isinstance(stopped, Tensor):
                go_on = functools.partial(body, item)
                state = self.if_(stopped, lambda *values: values, go_on, (), names, state)
            elif stopped:
                break
            else:
                state = body(item, *state)
            adding += moment() > before + 1
            if adding > LIMIT and not isinstance(items, Sized):
                raise endless(LIMIT)
        return state

    def _for_of_tensors(
        self, counted: StagedRange, body: Callable[..., Any], stop: str | None, names: tuple[str, ...],
        state: tuple[Any, ...],
    ) -> tuple[Any, ...]:  # fmt: skip
        """A `for` over a range that tensors bound: a `while` whose counter is a tensor."""
        names = (f"{MADE}counter", *names)

        def test(i: Any, *values: Any) -> Any:
            inside = i < counted.stop if counted.rises else i > counted.stop
            return (
                inside if stop is None else self.and_(lambda: self.not_(values[names.index(stop) - 1]), lambda: inside)
            )

        def iteration(i: Any, *values: Any) -> tuple[Any, ...]:
            return (i + counted.step, *body(i, *values))

        start = Tensor.apply("cast", counted.start, dtype="i64")
        return self.while_(test, iteration, names, (start, *state))[1:]

    def _merged(
        self, names: tuple[str, ...], state: tuple[Any, ...], kept: Sequence[int], values: Sequence[Any]
    ) -> tuple[Any, ...]:
        """All variables: the carried ones as given, of the rest what they were."""
        found = list(state)
        for i, value in zip(kept, values):
            found[i] = value
        return tuple(found)

    def _unchanged(
        self, names: tuple[str, ...], state: tuple[Any, ...], after: Sequence[Any], kept: Sequence[int],
        free: tuple[str, ...] = (),
    ) -> tuple[Any, ...]:  # fmt: skip
        """The carried variables; an error where another one, that had a value, has a new one now."""
        for i, (name, value) in enumerate(zip(names, after)):
            was = state[i]
            if i not in kept and name not in free and not isinstance(was, Undefined) and value is not was:
                raise staging_error(
                    f"{name!r} holds a {type(was).__name__} and changes inside a staged loop or branch",
                    "only numbers and tensors can change there",
                    "TX0315",
                )
        return tuple(after[i] for i in kept)


def _flat(values: tuple[Any, ...]) -> Sequence[Any]:
    return values[0] if len(values) == 1 and isinstance(values[0], (tuple, list)) else values


def _numeric(value: Any) -> bool:
    return isinstance(value, (Tensor, SymInt, bool, int, float, np.generic, np.ndarray))


def _carries(value: Any, name: str) -> bool:
    """Whether a loop carries a variable: also one made by `jumps`, which may get its first value inside."""
    return _numeric(value) or (isinstance(value, Undefined) and name.startswith(MADE))
