"""`for`, and the `while` that counts: a loop of compiled code, or iterations written out where these are few."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Any

from .....dialects.dims.dims import Dim
from .....dialects.registry import OpError
from ....diagnostics import located
from ...state.alternatives.one_of import OneOf
from ...state.containers.growing_lists import GrowingList
from ...state.iterators import ENDED, Consumer, PlacedIterator
from ...state.loops.loop_state import LoopState
from ...state.loops.outcomes import (
    AtLast,
    Carries,
    FirstApart,
    MayNotRun,
    NeverRuns,
    Periodic,
    Unrepeatable,
    learnt_of,
)
from ...state.state import UNSET, Location, Roots, assign
from ...tensor.apply import as_tensor
from ...tensor.tensor import Tensor
from ...trace.captures import Frame
from ...trace.context import require
from ...trace.demands import end_by
from ...trace.graph import next_serial
from ...trace.symint import SymInt, as_dim, is_integer, sym_max
from ..calls.builtins import staging_error
from ..iteration.comprehensions import Generator
from ..iteration.generators import Generated
from ..iteration.iterables import Elements, Numbered, Some, StagedIterable, StagedRange, as_staged
from ..iteration.iterators import Whole, is_endless, runs_in, through
from ..regions import loops
from ..rewriting.break_lowering import GENERATED_PREFIX
from .parts import NO_CARRIES
from .unroll import LIMIT, REFUSALS, WRITTEN_OUT, NotALoop, computing, endless, worth_a_loop
from .while_loops import UNROLL, WhileLoops, nothing

__all__ = ["ForLoops"]

#: The nodes that the copies of a body may add.  Copies are fused with one another and with what is around them, as the
#: taps of a filter are, which a loop is not; but each node takes its time to compile, and loops in loops multiply.
MOST_ADDED = 512


#: How often a loop whose length is known is tried as a loop of compiled code, while loops around it are staged again
#: and again: each level of loops would multiply the tries of what is in it.
TRIES = 3


#: The error of a number that is needed while the function is compiled.
NEEDED = "TX0202"

#: How messages call what a loop goes through, which stays what it is where the body gives its name to something else.
GONE_THROUGH = "array of the loop"


class _Measured(Exception):
    """What a copy of a loop's body adds is known: all is to be as before it."""


class ForLoops(WhileLoops):
    """`for` statements, and `while` statements that count."""

    def for_(
        self, iterable: Any, body: Callable[[Any], Any], stop: str | None,
        carries: Sequence[Sequence[str]] = NO_CARRIES, roots: Roots | None = None,
    ) -> None:  # fmt: skip
        """A `for` statement: over what Python iterates over, or few items, written out; else a loop.

        It ends after an iteration that sets the variable `stop`.  `roots` are the variables of the body.
        """
        roots = self.roots(body) if roots is None else roots
        if isinstance(iterable, OneOf):
            iterable.each(lambda items: self.for_(items, body, stop, carries, roots), *roots.values())
            return
        iterable = through(iterable)
        if isinstance(iterable, Whole):
            self._for_iterator(iterable, body, stop, carries, roots)
            return
        if isinstance(iterable, Generated):
            self._for_generated(iterable, body, stop, carries, roots)
            return
        if isinstance(iterable, Generator):
            self._for_expression(iterable, body, stop, carries, roots)
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
        arrays = iterable.arrays() if isinstance(iterable, StagedIterable) else ()
        own = {f"{GONE_THROUGH} {i}": cell for i, cell in enumerate(arrays)}
        with self.captures.running(Frame(own)):
            self._for_items(iterable, body, stop, carries, {**roots, **own})

    def _for_generated(
        self, generated: Generated, body: Callable[[Any], Any], stop: str | None, carries: Sequence[Sequence[str]],
        roots: Roots,
    ) -> None:  # fmt: skip
        """A `for` over what a generator yields: its body runs there."""
        bound, *read = carries
        asked = {stop, *itertools.chain(*read)}
        before = self.state(roots)
        own = [Location(roots[n], "", n) for n in bound if n in roots and n not in asked]

        def take(item: Any) -> Any:
            body(item)
            for location in own:  # loops of the generator need not hand on what nobody reads
                assign(location, before.at(location))
            return self._stopped(stop, roots)

        generated.run(Consumer(take, roots), stop is not None)
        if self._stopped(stop, roots) is False:
            generated.end()

    def _for_expression(
        self, generator: Generator, body: Callable[[Any], Any], stop: str | None, carries: Sequence[Sequence[str]],
        roots: Roots,
    ) -> None:  # fmt: skip
        """A `for` over what a generator expression makes: its loops, whose body this is."""
        generator.rest().loop(body, roots, stop, carries=carries)
        if self._stopped(stop, roots) is False:
            generator.end()

    def _for_iterator(
        self, iterator: Whole, body: Callable[[Any], Any], stop: str | None, carries: Sequence[Sequence[str]],
        roots: Roots,
    ) -> None:  # fmt: skip
        """A `for` over the items that are left of an iterator, which behind it is where the last iteration took one."""
        items = iterator.begin()
        if stop is None or iterator.holder not in self.captures.everything():
            self.for_(items, body, stop, carries, roots)
            if stop is None:
                iterator.end()
            return
        at, name = types.CellType(ENDED), f"{GENERATED_PREFIX}place"
        first = items.first if isinstance(items, Some) else 0

        def iteration(numbered: Any) -> None:
            at.cell_contents, item = numbered
            body(item)

        bound, at_head, after = carries
        carries = (*bound, name), at_head, (*after, name)
        self.for_(Numbered(items, first + 1), iteration, stop, carries, {**roots, name: at})
        stopped = self.truth(self._stopped(stop, roots))
        iterator.place = self.if_exp(stopped, lambda: at.cell_contents, lambda: ENDED)

    def _for_items(
        self, iterable: Any, body: Callable[[Any], Any], stop: str | None, carries: Sequence[Sequence[str]],
        roots: Roots,
    ) -> None:  # fmt: skip
        known = iterable.known() if isinstance(iterable, StagedIterable) else iterable
        if known is None:
            self._of_sized_length(iterable, body, stop, carries, roots)
        elif not isinstance(iterable, StagedIterable) or self._is_short(known, body, Carries(*carries), roots):
            self._written_out(known, body, stop, roots, carries)
        else:
            self._of_known_length(iterable, known, body, stop, carries, roots)

    def count_(
        self, test: Callable[[], Any], body: Callable[[], Any], counter: str, relation: str,
        bound: Callable[[], Any], step: Callable[[], Any], stop: str | None,
        carries: Sequence[Sequence[str]] = NO_CARRIES,
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

    def _of_sized_length(
        self, items: StagedIterable, body: Callable[[Any], Any], stop: str | None, carries: Sequence[Sequence[str]],
        roots: Roots,
    ) -> None:  # fmt: skip
        """A loop of compiled code, as long as a size says.

        Where its body needs the counter as a number the size becomes a fact, and the iterations are written out.
        """
        refusals = learnt_of(self.captures, Carries(*carries)).refusals
        if len(refusals) < TRIES:
            try:
                self.attempt(roots, lambda: self._for(items, body, stop, Carries(*carries), roots))
                return
            except OpError as error:
                if error.code != NEEDED:
                    raise
                refusals.append(error)
        try:
            self._written_out(items.as_fact(), body, stop, roots, carries, refusals[-1])
        except OpError as error:
            raise refusals[-1] from error

    def _of_known_length(
        self, items: StagedIterable, known: Sequence[Any], body: Callable[[Any], Any], stop: str | None,
        carries: Sequence[Sequence[str]], roots: Roots,
    ) -> None:  # fmt: skip
        """A loop of compiled code, or the iterations written out where it can be none.

        It is none where the body needs its counter as a number, or changes only what Python knows.
        """
        refusals = learnt_of(self.captures, Carries(*carries)).refusals

        def loop() -> None:
            self._for(items, body, stop, Carries(*carries), roots, check=computing)

        def written_out() -> None:
            self._written_out(known, body, stop, roots, carries, refusals[-1])

        if len(refusals) >= TRIES:
            self.tried(roots, written_out, loop)
            return
        try:
            self.attempt(roots, loop)
            return
        except REFUSALS as error:
            refusals.append(error)
        try:
            written_out()
        except OpError as error:
            if isinstance(refusals[-1], OpError):
                raise refusals[-1] from error
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
            except Unrepeatable as left:
                # A variable of a function that the iterations call, which the last one sets anew.
                elsewhere = [left.name] if left.name not in (*roots, *own) else []
                if cut and elsewhere:
                    own = [*own, *elsewhere]
                    self._for(items, body, stop, carries, roots, own, check, peeled, surely, cut)
                    return
                if cut:
                    raise staging_error(
                        "what the last iteration of a loop leaves in its variables is not known behind it",
                        "give them arrays of their own in the loop: v = ….copy()",
                        "TX0319",
                    ) from None
                last = items.length - 1
                # The last one sets these anew, so nobody asks what the others leave in them.
                own = [*own, *elsewhere, *(name for name in carries.after if name not in carries.at_head)]
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
        start, end, by = items.bounds if plain else (0, items.length, 1)
        whole = stop is None
        learnt = learnt_of(self.captures, carries)
        plan = LoopState(
            roots, self.captures, carries, self.unset, runs=lambda: surely or _runs(items.length), follows=whole,
            own=own, count=(lambda: sym_max(0, items.length)) if whole else None,
            ran=lambda: surely or _ran(items.length), learnt=learnt, refers=refers, peels=peels, again=self.fork_value,
        )  # fmt: skip

        def loop(initial: list[Any], names: list[str]) -> Sequence[Any]:
            checked = None if check is None else check(names, initial, plan.given_to_lists)
            facts = require().table
            around = {*facts.loops}

            def step(i: Any, values: Sequence[Any]) -> tuple[Any, ...]:
                if whole:
                    counter = next(s for s in facts.loops if s not in around and s in i.dim.symbols())
                    plan.at_last = AtLast(counter, _last_of(items), {*facts.names, *around})
                number = (i - start) // by if plain else i
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

            return loops.for_(
                require(), start, end, by, step, initial, names, stop, plan.is_shared, learnt.hints(names),
                plan.resized, plan.vectors, counter=next(iter(carries.bound), "") if plain else "",
                tried=check is not None,
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
        iterator = iter(items)  # of anything else than an iterator nobody else has this one
        since = next_serial()
        for iteration in _iterations(iterator, body):
            if not self._unless_stopped(stop, iteration, roots, carries):
                break
            adding += next_serial() > since + 1
            if is_endless(iterator) and isinstance(self._stopped(stop, roots), Tensor):
                raise staging_error(
                    "a loop over an endless iterator ends where values of compiled code say",
                    "count in a while: i = 0, then while True: …; i += 1",
                    "TX0315",
                )
            if adding > most and (refusal is not None or not isinstance(items, Sized)):
                raise endless(most, refusal)
            since = next_serial()
        if isinstance(iterator, PlacedIterator) and isinstance(self._stopped(stop, roots), Tensor):
            iterator.taken()  # values do not choose between places, so nobody knows this one

    def _unless_stopped(
        self, stop: str | None, rest: Callable[[], None], roots: Roots, carries: Sequence[Sequence[str]]
    ) -> bool:
        """The `rest` of a loop where its variable `stop` is not set yet; False where it surely is."""
        stopped = self._stopped(stop, roots)
        if isinstance(stopped, Tensor):
            bound, at_head, after = carries
            dead = [n for n in bound if n not in at_head and n not in after]
            self._fork(stopped, nothing, rest, None, roots, dead=dead)
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
        step = Tensor.apply("cast", counted.step, dtype="i64") if isinstance(counted.step, Tensor) else counted.step

        def test() -> Any:
            inside = counted.is_inside(at.cell_contents)
            return self.all_(lambda: self.not_(self._stopped(stop, roots)), lambda: inside)

        def iteration() -> None:
            body(Tensor(at.cell_contents.value, weak="int"))
            at.cell_contents = at.cell_contents + step

        name = f"{GENERATED_PREFIX}counter"
        bound, at_head, after = carries
        read = (name,) if stop is None else (name, stop)  # by the test, in front of each iteration
        carries = (*bound, name), (*at_head, *read), after
        self._while(test, iteration, carries, roots={**roots, name: at}, ran=self._deferred(test))


def _iterations(iterator: Iterator[Any], body: Callable[[Any], Any]) -> Iterator[Callable[[], Any]]:
    """The iterations of a loop, each as a function.

    It takes its item itself where that runs something of the program's: in a branch where the loop is over, nothing
    changes that this changes.
    """
    runs = runs_in(iterator)
    if not runs:
        for item in iterator:
            yield _call(body, item)
        return
    steps = _Steps(iterator, body)

    def step() -> None:
        steps.take(runs)

    while not steps.ended:
        yield step


class _Steps:
    """The iterations of a loop, which take their items themselves; no part of the program's state."""

    def __init__(self, iterator: Iterator[Any], body: Callable[[Any], Any]):
        self.iterator, self.body, self.ended = iterator, body, False

    def take(self, _: list[Any]) -> None:
        """One iteration; what runs then of the program's is reached from the function that calls this."""
        try:
            item = next(self.iterator)
        except StopIteration:
            self.ended = True
        else:
            self.body(item)


def _call(body: Callable[[Any], Any], item: Any) -> Callable[[], Any]:
    return lambda: body(item)


def _last_of(items: StagedIterable) -> Dim:
    """What the counter of a loop over `items` is in the last iteration: `loops.for_` counts upwards."""
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
