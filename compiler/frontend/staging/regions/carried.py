"""What a loop's region carries: arguments for the variables that its body binds and the tensors that it stores into.

The body is traced until that is settled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from .....dialects.dims.dims import Dim
from .....dialects.registry import OpError
from .....dialects.types import DType
from ...indexing.changing_sizes import ChangingSizes, packed, unpacked
from ...tensor.apply import as_tensor
from ...tensor.promotion import cast, common_dtype
from ...tensor.tensor import Tensor
from ...tensor.views.composite_views import roots
from ...trace.demands import go_on
from ...trace.graph import Block, Value
from ...trace.undefined import Undefined

if TYPE_CHECKING:
    from ...trace.trace import Trace
from .region import among, is_seen
from .stand_ins import of_dims, zeros_like

__all__ = ["Carried", "Hints", "Retrace", "SharedStart", "Unsettled"]


class Retrace(Exception):
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


class Carried:
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
            self.rebound[i] = self.given[i] = zeros_like(t, dims)
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
        """The values the body hands on; `Retrace` where the plan has to change first."""
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
                if among(before, self.trace.writers[-1]):
                    self._refuse_shared(i)
                self.rebound[i], again = self.given[i], True
        for owner in self.trace.writes[-1]:
            standing_for = [i for i in self.rebound if arguments[i] is owner]
            for i in standing_for:
                self._refuse_shared(i)
            for i in self.rebound:
                given = self.given[i]
                if isinstance(given, Tensor) and given is not owner and among(owner, roots(given)):
                    self._refuse_shared(i)  # in the first iteration it is a part of what is written
            if not standing_for and not among(owner, self.written):
                self.written.append(owner)
                again = True
        if again:
            raise Retrace
        made = {i: self._fitted(i, start, arguments[i], results[i]) for i, start in list(self.rebound.items())}
        sizes = self.sizes.handed_on(self.trace, made)
        if sizes is None:
            raise Retrace
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
            if among(arguments[i], self.trace.writes[-1]):
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
            raise Retrace
        if start.weak and new.weak != start.weak and common is not None and common is not start.element:
            self.casts[i] = (common, new.weak)
            raise Retrace
        if new.weak and new.element is not have.dtype and common is have.dtype:
            new = cast(new, have.dtype)
        if new.element is not have.dtype or new.ndim != have.rank:
            raise Unsettled(
                self.carried,
                i,
                f"{name} is {arg.user_type} before an iteration of the loop and {new.user_type} after it",
                f"give {name} its final dtype and shape before the loop",
            )
        if not new.ndim and new.boxed is not start.boxed:
            kinds = ("an array of rank 0", "a number")[:: 1 if start.boxed else -1]
            text = f"{name} is {kinds[0]} before an iteration of the loop and {kinds[1]} after it"
            raise Unsettled(self.carried, i, text, f"let it be an array in each: np.asarray({name})")
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
                    raise Retrace from error
                raise Unsettled(
                    self.carried,
                    i,
                    f"{name} is {arg.user_type} before an iteration of the loop and {new.user_type} after it",
                    f"a carried value keeps its shape; {error.message}",
                    resized=True,
                ) from error
        return of_dims(new, tuple(ends) if start.layout == "row" else tuple(ends)[::-1])

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
        return self.trace.fine is not None and among(self.trace.fine, self.written)
