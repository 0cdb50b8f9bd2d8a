"""Structured control flow while tracing: ``for``, ``while`` and ``if`` nodes from Python callables.

A body is called, perhaps several times, until it is known what it carries.  A variable that it rebinds becomes an
argument of the region.  A tensor that it stores into, whether it is carried by name or only reached through a view,
keeps its identity: inside the region it has the region's argument as its value, afterwards the node's result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ....dialects.dims.dims import Dim, Sym, dim, sym
from ....dialects.registry import OPS, OpError
from ....dialects.types import DType, TensorType
from ...diagnostics import TxcError, located, name_counter, user_loc
from ..indexing.changing_sizes import ChangingSizes, packed, unpacked
from ..indexing.data_dependent_sizes import closed, empty, leaves
from ..state.sharing import NOWHERE
from ..tensor.apply import apply, as_tensor, broadcast_to, cast, common_dtype, seen_as, truth
from ..tensor.composite_views import roots
from ..tensor.tensor import Tensor
from ..trace.context import current
from ..trace.demands import Guard, all_fine, go_on
from ..trace.emit import emit, resolved
from ..trace.graph import Block, Value, inside
from ..trace.symint import SymInt, as_dim, is_integer
from ..trace.undefined import Undefined
from .break_lowering import GENERATED_PREFIX

if TYPE_CHECKING:
    from ..indexing.data_dependent_sizes import Binding
    from ..trace.trace import Trace

__all__ = [
    "Fork",
    "Hints",
    "SharedStart",
    "Unsettled",
    "for_",
    "if_",
    "is_inside",
    "is_seen",
    "not_one_bool",
    "region",
    "while_",
]

_ROUNDS = 12


class _Retrace(Exception):
    """The plan was wrong and has been corrected: trace the body once more."""


class Unsettled(OpError):
    """A variable has another type after an iteration than before it: number `index` of those `carried`.

    `resized`: only its sizes are others.
    """

    def __init__(self, carried: Sequence[Any], index: int, message: str, hint: str, resized: bool = False):
        super().__init__(message, hint, "TX0292")
        self.carried, self.index, self.resized = carried, index, resized


class SharedStart(OpError):
    """A variable begins as an array that others see, which the loop writes in place, and is another one later."""

    def __init__(self, carried: Sequence[Any], name: str):
        super().__init__(
            f"{name} is an array of others that the loop both writes in place and reassigns",
            f"start from a copy: {name} = {name}.copy()",
            "TX0291",
        )
        self.carried, self.name = carried, name


class Hints:
    """The plan that a loop of these names ended with when it was traced before."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.rebound: list[int] = []
        self.written: list[Tensor] = []
        #: By position: what Python scalars became, and what variables without a value got.
        self.casts: dict[int, tuple[DType, str]] = {}
        self.found: dict[int, Tensor] = {}
        self.sizes = ChangingSizes()


class _Carried:
    """The plan of a loop: which variables are rebound, with which initial tensors, and which tensors are written."""

    def __init__(
        self, trace: Trace, carried: Sequence[Any], names: Sequence[str], is_shared: Callable[[Tensor], bool] | None,
        hints: Hints | None = None, resized: Collection[int] = (), rounds: Dim | None = None,
        vectors: Collection[int] = (),
    ):  # fmt: skip
        self.vectors = vectors
        self.trace, self.carried, self.is_shared, self.resized = trace, carried, is_shared, resized
        #: A variable without a value yet is not carried until the body gives it one.
        self.given: list[Any] = [x if isinstance(x, (Tensor, Undefined)) else as_tensor(x) for x in carried]
        self.names = [names[i] if i < len(names) else f"carried value {i}" for i in range(len(carried))]
        #: By position: the initial value of each rebound variable.
        self.rebound: dict[int, Tensor] = {
            i: t
            for i, t in enumerate(self.given)
            if isinstance(t, Tensor) and (t is not carried[i] or (not t.ndim and not t.boxed))
        }
        self.written: list[Tensor] = []
        #: Types that Python scalars turned out to need: applied before the next try, outside the region.
        self.casts: dict[int, tuple[DType, str]] = {}
        #: What the body gave to variables that have no value before it.
        self.found: dict[int, Tensor] = {}
        #: What the body leaves as it is, which so is behind the loop what it was before.
        self.steady: dict[int, Any] = {}
        self.sizes = ChangingSizes(rounds)
        self.hints = Hints() if hints is None else hints
        if self.hints.names == self.names:
            self._begin_from(self.hints)
        self.hints.__init__()
        self.hints.names = self.names

    def _begin_from(self, hints: Hints) -> None:
        facts = self.trace.table
        for i in hints.rebound:
            if isinstance(self.given[i], Tensor):
                self.rebound.setdefault(i, self.given[i])
        for i, cast_to in hints.casts.items():
            start = self.rebound.get(i)
            if start is not None and start.weak and not start.ndim and (start.element, start.weak) != cast_to:
                self.casts[i] = cast_to
        for i, t in hints.found.items():
            if isinstance(self.given[i], Undefined) and all(facts.knows(d) for d in t.dims):
                self.found[i] = t
        self.written = [t for t in hints.written if t._home in self.trace.blocks]
        self.sizes.begin_from(hints.sizes, {i: t for i, t in self.rebound.items() if i in self.resized})

    def initial(self) -> list[Value]:
        for i, t in self.found.items():
            dims = self.sizes.before_first(self.trace, i, t)
            self.rebound[i] = self.given[i] = _zeros_like(t, dims)
        self.hints.found |= self.found
        self.found.clear()
        self.rebound |= {i: self.given[i] for i in self.vectors if isinstance(self.given[i], Tensor)}
        self.rebound = dict(sorted(self.rebound.items()))
        for i, (element, weak) in self.casts.items():
            with self.trace.only_if_used():
                self.rebound[i] = Tensor(cast(self.rebound[i], element).value, weak=weak)
        self.hints.casts |= self.casts
        self.casts.clear()
        self.sizes.expect((i, 0) for i in self.vectors if i in self.rebound)
        sizes = self.sizes.begin(self.trace, self.rebound)
        return [self._packed(i, t) for i, t in self.rebound.items()] + sizes + [t.value for t in self.written]

    def _packed(self, i: int, t: Tensor) -> Value:
        """The value that the loop carries for a variable: one of fixed sizes."""
        return packed(t, self.sizes.room(i, t.type.dims)) if self.sizes.of(i) else t.value

    def _split(self, values: Sequence[Value], checked: bool) -> dict[int, Tensor]:
        """The variables of which these are the values, at their sizes; what is written gets its values as well.

        `checked` is as in `ChangingSizes.bound`.
        """
        count, sizes = len(self.rebound), len(self.sizes.sizes)
        for t, value in zip(self.written, values[count + sizes :]):
            t._value = value
        known = self.sizes.bound(self.trace, values[count : count + sizes], checked)
        fresh: dict[int, Tensor] = {}
        for (i, t), value in zip(self.rebound.items(), values):
            if self.sizes.of(i):
                dims = tuple(known.get((i, at), d) for at, d in enumerate(value.type.dims))
                value = unpacked(value, dims)
            fresh[i] = Tensor(value, layout=t.layout, weak=t.weak, boxed=t.boxed)
        return fresh

    def arguments(self, block: Block, checked: bool = True) -> tuple[Any, ...]:
        """What the body is called with: fresh tensors for rebound variables, the outer ones for the rest."""
        fresh = self._split(block.args, checked)
        self.trace.stands_for.update((t, self.given[i]) for i, t in fresh.items())
        return tuple(fresh.get(i, t) for i, t in enumerate(self.given))

    def results(self, arguments: tuple[Any, ...], returned: Any, block: Block) -> list[Value]:
        """The values the body hands on; `_Retrace` where the plan has to change first."""
        results = list(returned) if isinstance(returned, (tuple, list)) else [returned]
        if len(results) != len(self.given):
            raise OpError(f"the body gives {len(results)} values for {len(self.given)} variables", code="TX0290")
        again = False
        for i, (before, after) in enumerate(zip(arguments, results)):
            if isinstance(before, Undefined):
                if not isinstance(after, Undefined):
                    self.found[i], again = as_tensor(after), True
                    self.sizes.note_largest(self.trace, i, self.found[i])
            elif i not in self.rebound and after is not before:
                if _among(before, self.trace.writers[-1]):
                    self._refuse_shared(i)
                self.rebound[i], again = self.given[i], True
        for owner in self.trace.writes[-1]:
            standing_for = [i for i in self.rebound if arguments[i] is owner]
            for i in standing_for:
                self._refuse_shared(i)
            for i in self.rebound:
                given = self.given[i]
                if isinstance(given, Tensor) and given is not owner and _among(owner, roots(given)):
                    self._refuse_shared(i)  # in the first iteration it is a part of what is written
            if not standing_for and not _among(owner, self.written):
                self.written.append(owner)
                again = True
        if again:
            raise _Retrace
        made = {i: self._fitted(i, start, arguments[i], results[i]) for i, start in list(self.rebound.items())}
        sizes = self.sizes.handed_on(self.trace, made)
        if sizes is None:
            raise _Retrace
        made = self.sizes.within(self.trace, made)
        handed: list[Value] = []
        self.steady.clear()
        for (i, t), arg in zip(made.items(), block.args):
            handed.append(self._packed(i, t))
            if results[i] is arguments[i] and handed[-1] is arg and not isinstance(self.carried[i], Undefined):
                self.steady[i] = self.carried[i]
        return handed + sizes + [t.value for t in self.written]

    def refuse_stores(self, arguments: Sequence[Any]) -> None:
        """SharedStart where the body stores into what stands for an array that others see, known to be rebound."""
        for i in self.rebound:
            if _among(arguments[i], self.trace.writes[-1]):
                self._refuse_shared(i)

    def _refuse_shared(self, i: int) -> None:
        """Refuse to write a stand-in for an array that others see: only in the first iteration is it that array."""
        given = self.given[i]
        if not isinstance(given, Tensor) or not (given.ndim or given.boxed):
            return
        if is_seen(given, self.is_shared):
            raise SharedStart(self.carried, self.names[i])

    def _fitted(self, i: int, start: Tensor, arg: Tensor, result: Any) -> Tensor:
        """The next value of one variable, of the type it has had; a Python scalar's type may follow the body once."""
        new = as_tensor(result)
        name, have = self.names[i], arg.type
        numbers = (start.weak or new.weak) and not (start.ndim or new.ndim)
        common = common_dtype([start, new]) if numbers else None
        if start.weak and not new.weak and common is new.element:
            self.casts[i] = (new.element, "")
            raise _Retrace
        if start.weak and new.weak != start.weak and common is not None and common is not start.element:
            self.casts[i] = (common, new.weak)
            raise _Retrace
        if new.weak and new.element is not have.dtype and common is have.dtype:
            new = cast(new, have.dtype)
        if new.element is not have.dtype or new.ndim != have.rank:
            raise Unsettled(
                self.carried,
                i,
                f"{name} is {arg.user_type} before an iteration of the loop and {new.user_type} after it",
                f"give {name} its final dtype and shape before the loop",
            )
        ends = [*have.dims]
        changing = self.sizes.of(i)
        for at, (a, b) in enumerate(zip(have.dims, new.type.dims)):
            if at in changing:
                ends[at] = b
                continue
            try:
                self.trace.table.equate(a, b, f"{name} keeps its shape in a loop")
            except OpError as error:
                if i in self.resized:
                    resized = {k: t for k, t in self.rebound.items() if k in self.resized}
                    self.sizes.mark(self.trace, (i, at), resized)
                    raise _Retrace from error
                raise Unsettled(
                    self.carried,
                    i,
                    f"{name} is {arg.user_type} before an iteration of the loop and {new.user_type} after it",
                    f"a carried value keeps its shape; {error.message}",
                    resized=True,
                ) from error
        return _of_dims(new, tuple(ends) if start.layout == "row" else tuple(ends)[::-1])

    def after(self, results: Sequence[Value], arguments: Sequence[Any]) -> tuple[Any, ...]:
        """What the variables are after the node."""
        self.hints.rebound, self.hints.written, self.hints.sizes = [*self.rebound], [*self.written], self.sizes
        for t, value in zip(self.written, results[len(results) - len(self.written) :]):
            before = t.value
            self.trace.record_write(t, before, t)
            t._value = value
        fresh = self._split(results, checked=True)
        if self.may_fail:
            go_on(self.trace)
        return tuple({**fresh, **self.steady}.get(i, t) for i, t in enumerate(self.given))

    @property
    def may_fail(self) -> bool:
        """Whether the loop has checks of what the function raises."""
        return self.trace.fine is not None and _among(self.trace.fine, self.written)


def is_inside(owner: Tensor, block: Block) -> bool:
    """Whether a tensor that owns its storage came to be in a block, or in one inside it."""
    return inside(owner._home, block)


def is_seen(t: Tensor, is_shared: Callable[[Tensor], bool] | None) -> bool:
    """Whether others see what is stored into an array: the caller, another variable, what it is a view of."""
    trace = current()
    while trace is not None and t in trace.stands_for:
        if is_shared is not None and is_shared(t):  # by variables of a loop around that one
            return True
        t = trace.stands_for[t]
    if not isinstance(t, Tensor):
        return False
    plain = type(t) is Tensor and t._parent is None
    given = trace is not None and _among(t, trace.tensors.values())
    return not plain or given or (is_shared is not None and is_shared(t))


def _zeros_like(t: Tensor, dims: tuple[Dim, ...] | None = None) -> Tensor:
    """Zeros of a tensor's type, or of other (graph) dims, made where the trace is."""
    zero = cast(as_tensor(0), t.element)
    value = broadcast_to(zero, t.type.dims if dims is None else dims, "row").value
    return Tensor(value, layout=t.layout, weak=t.weak, boxed=t.boxed)


def _anything_like(t: Tensor) -> Tensor:
    """Memory for a tensor of the same type."""
    return Tensor(empty(t.type).value, layout=t.layout, weak=t.weak, boxed=t.boxed)


def _among(t: Tensor, tensors: Iterable[Tensor]) -> bool:
    return any(t is other for other in tensors)  # `in` would compare elements


@contextmanager
def region(trace: Trace, types: Sequence[TensorType], certain: bool = False) -> Iterator[Block]:
    """A new open block; on leaving it every older tensor has the value from before again.

    `certain` where it runs in every iteration of the loops around it.
    """
    block, depth = Block(types, trace.block), len(trace.blocks)
    trace.conditional_depth += not certain
    trace.enter([block])
    trace.writes.append({})
    trace.writers.append([])
    try:
        yield block
    except Exception as error:
        trace.left_by = error
        raise
    finally:
        trace.leave(depth)
        trace.conditional_depth -= not certain
        trace.writers.pop()
        for owner, before in trace.writes.pop().items():
            owner._value = before


@contextmanager
def _values_kept(tensors: Sequence[Tensor]) -> Iterator[None]:
    before = [(t, t._value) for t in tensors]
    try:
        yield
    finally:
        for t, value in before:
            t._value = value


def _own_writes(trace: Trace, block: Block) -> None:
    """Forget writes to tensors that were made inside the block: nobody outside sees them."""
    for owner in list(trace.writes[-1]):
        if inside(owner._home, block):
            del trace.writes[-1][owner]


def for_(
    trace: Trace, lower: Any, upper: Any, step: Any, body: Callable[..., Any], carried: Sequence[Any],
    names: Sequence[str] = (), stop: str | None = None, is_shared: Callable[[Tensor], bool] | None = None,
    hints: Hints | None = None, resized: Collection[int] = (), vectors: Collection[int] = (), counter: str = "",
) -> tuple[Any, ...]:  # fmt: skip
    """``for i in range(lower, upper, step)``: `body(i, carried) -> carried`; the variables after the loop.

    `i` is a `SymInt`.  `is_shared` says of a variable's array whether others see it.  The loop ends after an iteration
    that makes the variable called `stop` true.  Raises TxcError, naming the variable by `names`, where one changes
    dtype or shape on the way; the sizes of those whose numbers are `resized` may, and those of `vectors` probably do.
    Errors call `i` by the name `counter`.
    """
    with located():
        loc = user_loc()
        facts = trace.table
        for bound, what in ((lower, "start"), (upper, "stop"), (step, "step")):
            if not is_integer(bound) and not isinstance(bound, Dim):
                raise OpError(f"the {what} of a range is an integer, not {bound!r}", code="TX0293")
        low, high, by = (facts.resolve(as_dim(x)) for x in (lower, upper, step))
        if by.const == 0 or facts.hint(by) == 0:
            raise OpError("range() arg 3 must not be zero", code="TX0293")
        upwards = facts.settle(0, "<", by, "the step of a range")
        if upwards is None:
            raise OpError(
                f"the step {by} of a range varies with a loop: its sign is not known",
                "loop over the number of steps, and compute the position",
                "TX0293",
            )
        # Loops of the IR run upwards: one that runs down counts its iterations.
        first, scale = dim(0), dim(1)
        if not upwards:
            first, scale = low, by
            low, high, by = dim(0), (low - high - by - 1) // -by, dim(1)
        name = trace.new_loop_symbol()
        # A loop whose variable is known never to be negative gets a symbol that says so.
        if low.nonneg:
            name = name.removeprefix("$")
        plan = _Carried(trace, carried, names, is_shared, hints, resized, (high - low + by - 1) // by, vectors)
        symbol = Sym(name)
        name_counter(name, counter if upwards else "")
        item = SymInt(first + scale * sym(name))
        for _ in range(_ROUNDS):
            initial = plan.initial()
            facts.loops[symbol] = (low, high - 1)  # nothing from before the loop is as large as its counter
            try:
                with _values_kept(plan.written), region(trace, [resolved(v) for v in initial], stop is None) as block:
                    arguments = plan.arguments(block)
                    if plan.may_fail:
                        go_on(trace)
                    returned = body(item, arguments)
                    plan.refuse_stores(arguments)
                    _own_writes(trace, block)
                    block.outputs = closed(trace, block, plan.results(arguments, returned, block))
            except _Retrace:
                continue
            finally:
                facts.end_loop(symbol)
            stops = list(names).index(stop) if stop in names else -1
            until = list(plan.rebound).index(stops) if stops in plan.rebound else None  # no iteration sets it
            attrs = {"iv": name, "lower": low, "upper": high, "step": by, "until": until, "only": None}
            results = emit(OPS["for"], initial, attrs, [resolved(v) for v in initial], (block,), loc)
            return plan.after(results, arguments)
        raise OpError("the types of the loop's variables do not settle", code="TX0292")


def while_(
    trace: Trace, cond: Callable[..., Any], body: Callable[..., Any], carried: Sequence[Any],
    names: Sequence[str] = (), is_shared: Callable[[Tensor], bool] | None = None, hints: Hints | None = None,
    resized: Collection[int] = (), vectors: Collection[int] = (),
) -> tuple[Any, ...]:  # fmt: skip
    """``while cond(carried): carried = body(carried)``; both get the tuple of variables.

    The sizes of those whose numbers are `resized` may change, and those of `vectors` probably do.
    """
    with located():
        loc = user_loc()
        plan = _Carried(trace, carried, names, is_shared, hints, resized, vectors=vectors)
        for _ in range(_ROUNDS):
            initial = plan.initial()
            types = [resolved(v) for v in initial]
            try:
                with _values_kept(plan.written), region(trace, types) as test:
                    condition = as_tensor(cond(plan.arguments(test, checked=False)))
                    if condition.ndim:
                        raise OpError(f"the condition of while is {condition.user_type}, not one bool", code="TX0294")
                    _own_writes(trace, test)
                    if trace.writes[-1]:
                        raise TxcError(
                            "the condition of while stores into a tensor that is used outside it",
                            condition.value.node.loc or loc,
                            "store in the body of the loop, or into a copy",
                            "TX0296",
                        )
                    going = truth(condition)
                    if plan.may_fail:
                        going = apply("logical_and", all_fine(trace), going)
                    test.outputs = closed(trace, test, [going.value])
                with _values_kept(plan.written), region(trace, types) as block:
                    arguments = plan.arguments(block)
                    returned = body(arguments)
                    plan.refuse_stores(arguments)
                    _own_writes(trace, block)
                    block.outputs = closed(trace, block, plan.results(arguments, returned, block))
            except _Retrace:
                continue
            results = emit(OPS["while"], initial, {}, [resolved(v) for v in initial], (test, block), loc)
            return plan.after(results, arguments)
        raise OpError("the types of the loop's variables do not settle", code="TX0292")


class Fork:
    """An ``if`` node while it is made: two regions, of which each runs from the state before, and what they join to."""

    def __init__(self, trace: Trace, cond: Tensor):
        self.trace, self.cond, self.loc = trace, truth(cond), user_loc()
        self.blocks: list[Block] = []
        #: For each side: its open blocks and the sizes that became known in them, as `Trace.enter` takes them.
        self._open: list[tuple[list[Block], list[Binding | Guard]]] = []
        #: For each side: the owners of storage that it wrote, with what it left them.
        self.written: list[dict[Tensor, Value]] = []

    @contextmanager
    def side(self) -> Iterator[Block]:
        """The region of the next side, first where the condition is true."""
        depth = len(self.trace.blocks)
        with region(self.trace, ()) as block:
            yield block
            _own_writes(self.trace, block)
            self.written.append({t: t.value for t in self.trace.writes[-1]})
            self._open.append(self.trace.leave(depth))
        self.blocks.append(block)

    def leave_out(self, side: int) -> None:
        """Let a side that was run do nothing."""
        block = Block((), self.trace.block)
        self.blocks[side], self._open[side], self.written[side] = block, ([block], []), {}

    @contextmanager
    def at_end(self, side: int) -> Iterator[None]:
        """The end of a side again: its region open, storages as it left them."""
        with _values_kept(list(self.written[side])), self._reopened(side):
            for owner, value in self.written[side].items():
                owner._value = value
            yield

    @contextmanager
    def _reopened(self, side: int) -> Iterator[None]:
        depth = len(self.trace.blocks)
        self.trace.enter(*self._open[side])
        try:
            yield
        finally:
            self.trace.leave(depth)

    def is_fresh(self, t: Tensor, side: int) -> bool:
        """Whether the storage of a tensor came to be inside that side."""
        return all(inside(root._home, self.blocks[side]) for root in roots(t))

    def typed(self, a: Any, b: Any, name: str) -> tuple[Tensor, Tensor] | OpError:
        """Two values of one place, as at the end of each side, of one type; the error where they are of none."""
        try:
            with self.trace.only_if_used():
                if a is NOWHERE or b is NOWHERE:
                    return self._on_one_side(a, b, name)
                return self._as_one_type(a, b, name)
        except OpError as error:
            return error

    def join(self, sides: Sequence[tuple[Tensor, Tensor] | OpError]) -> list[Tensor | OpError]:
        """The values of places after the node, from what is `typed` of them; what cannot be one is an error."""
        joined = [pair for pair in sides if not isinstance(pair, OpError)]
        written = list(dict.fromkeys(owner for side in self.written for owner in side))
        for i, block in enumerate(self.blocks):
            outputs = [pair[i].value for pair in joined] + [self.written[i].get(t, t.value) for t in written]
            with self._reopened(i):
                block.outputs = closed(self.trace, block, outputs)
        types = [resolved(v) for v in self.blocks[0].outputs]
        is_seen = types or any(block.demands for block in self.blocks)
        results = emit(OPS["if"], (self.cond.value,), {}, types, self.blocks, self.loc) if is_seen else ()
        for t, r in zip(written, results[len(joined) :]):
            self.trace.record_write(t, t.value, t)
            t._value = r
        if self.trace.fine is not None and _among(self.trace.fine, written):
            go_on(self.trace)
        rest = iter(results)
        return [pair if isinstance(pair, OpError) else _like_both(next(rest), *pair) for pair in sides]

    def _on_one_side(self, a: Any, b: Any, name: str) -> tuple[Tensor, Tensor]:
        """The value of a place that is on one side, and anything of its type on the other: False, or 0, of scalars."""
        side = 0 if b is NOWHERE else 1
        with self.at_end(side):
            there = _as_it_is(as_tensor((a, b)[side]))
        if not all(map(self.trace.table.knows, there.dims)):
            raise leaves(there.type)
        with self.at_end(1 - side):
            instead = _anything_like(there) if there.ndim else _zeros_like(there)
        return (there, instead) if side == 0 else (instead, there)

    def _as_one_type(self, a: Any, b: Any, name: str) -> tuple[Tensor, Tensor]:
        """Two values of one place, each as at the end of its side, at one dtype and shape."""
        if name.startswith(GENERATED_PREFIX) and isinstance(a, Undefined) is not isinstance(b, Undefined):
            # A flag says that it has no value here: it may be anything.
            side = 0 if isinstance(a, Undefined) else 1
            with self.at_end(side):
                zeros = _zeros_like(as_tensor(b if side == 0 else a))
            a, b = (zeros, b) if side == 0 else (a, zeros)
        ends: list[Tensor] = []
        for side, x in enumerate((a, b)):
            if not isinstance(x, (Tensor, SymInt, bool, int, float, complex)) and not hasattr(x, "dtype"):
                raise OpError(
                    f"{name} is set in only one branch of an if, or is no number or tensor",
                    f"give {name} a value before the if",
                    "TX0295",
                )
            with self.at_end(side):
                ends.append(_as_it_is(as_tensor(x)))
        if (rounded := _rounded(*ends)) is not None:
            number, kind = rounded
            raise OpError(
                f"{name} is {number!r} in one branch of an if and {kind} in the other, which would round it",
                "give it one dtype: a NumPy scalar for the number, or float() of the other",
                "TX0295",
            )
        for t in ends:
            if not all(map(self.trace.table.knows, t.dims)):
                raise leaves(t.type)
        first, second = self._of_one_shape(*ends, name)
        if first.ndim and first.element is not second.element:
            raise OpError(_differ(first, second, name), "give it one dtype with astype", "TX0295")
        return self._of_one_dtype(first, second)

    def _of_one_shape(self, first: Tensor, second: Tensor, name: str) -> tuple[Tensor, Tensor]:
        text = _differ(first, second, name)
        if first.ndim != second.ndim:
            raise OpError(text, "give it one shape", "TX0295")
        for m, n in zip(first.type.dims, second.type.dims):
            try:
                self.trace.table.equate(m, n, f"{name} has one shape after an if")
            except OpError as error:
                raise OpError(text, error.message, "TX0295") from error
        with self._reopened(1):
            # Sizes that became known in a branch are no others': they cannot leave it, which `closed` says.
            return first, _of_dims(second, first.dims) if all(map(self.trace.table.knows, first.dims)) else second

    def _of_one_dtype(self, *ends: Tensor) -> tuple[Tensor, Tensor]:
        element, weak = common_dtype(ends), all(t.weak for t in ends)
        made: list[Tensor] = []
        for side, t in enumerate(ends):
            if t.element is not element:
                with self._reopened(side):
                    was = t.weak
                    t = cast(t, element)
                    t.weak = was if weak else ""
            made.append(t)
        return made[0], made[1]


def _rounded(*ends: Tensor) -> tuple[Any, TensorType] | None:
    """A number of Python's of two values that are to have one type, where it is none of that type, and the type."""
    element = common_dtype(ends)
    for t, other in zip(ends, ends[::-1]):
        node = t.value.node
        if t.weak and t.element is not element and node.op is OPS["constant"] and not element.kind == "bool":
            number = np.asarray(node.attrs["value"])
            with np.errstate(all="ignore"):
                if number == number and number.astype(element.numpy).astype(number.dtype) != number:
                    return number.item(), other.user_type
    return None


def _differ(first: Tensor, second: Tensor, name: str) -> str:
    return f"{name} is {first.user_type} in one branch of an if and {second.user_type} in the other"


def _of_dims(t: Tensor, dims: tuple[Dim, ...]) -> Tensor:
    """`t` with the dims that another end of its place has: equal by guards, which need not have one expression."""
    return Tensor(seen_as(t, dims).value, layout=t.layout, weak=t.weak, boxed=t.boxed)


def _like_both(value: Value, a: Tensor, b: Tensor) -> Tensor:
    """The result of an `if` whose sides gave two tensors of one type."""
    return Tensor(value, layout=a.layout, weak=a.weak if a.weak == b.weak else "", boxed=a.boxed and b.boxed)


def if_(
    trace: Trace, cond: Any, then: Callable[[], Any], otherwise: Callable[[], Any], names: Sequence[str] = ()
) -> tuple[Any, ...]:
    """The variables after ``if cond``: each branch gives them as a tuple, equal in number and shape."""
    if not isinstance(cond, Tensor):
        chosen = then() if cond else otherwise()
        return tuple(chosen) if isinstance(chosen, (tuple, list)) else (chosen,)
    with located():
        if cond.ndim:
            raise not_one_bool("if", cond)
        fork, returned = Fork(trace, cond), []
        for branch in (then, otherwise):
            with fork.side():
                result = branch()
                returned.append(list(result) if isinstance(result, (tuple, list)) else [result])
        if len(returned[0]) != len(returned[1]):
            raise OpError("the branches of an if give different numbers of values", code="TX0295")
        labels = [names[i] if i < len(names) else f"value {i}" for i in range(len(returned[0]))]
        found = fork.join([fork.typed(*pair) for pair in zip(*returned, labels)])
        for one in found:
            if isinstance(one, OpError):
                raise one
        return tuple(found)


def not_one_bool(what: str, condition: Tensor) -> OpError:
    return OpError(
        f"the condition of {what} is {condition.user_type}, not one bool",
        "use np.where for a choice element by element, or .any() / .all()",
        "TX0294",
    )


def _as_it_is(x: Tensor) -> Tensor:
    """A tensor of its own with the present value of a tensor."""
    return Tensor(x.value, layout=x.layout, weak=x.weak, boxed=x.boxed)
