"""Variables of loops that refer to one of some arrays, as iterations decide: which one is a bool for each array.

An iteration that says ``y = x`` and stores into `y` stores into `x` from then on.  What such a variable may refer to
is a fixed set of arrays from before the loop, and arrays of its own that iterations made, one of each type.  The loop
carries a bool for each, and the latter as arrays; in the loop and behind it the variable is a choice among them, or one
of them where they are of several types.  Views that iterations take of one array at another place each (``row = x[i]``,
``part = x[:i]``) are one of these, whose place, and sizes, the loop carries as ints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from .....dialects.dims.analysis import linear_in
from .....dialects.dims.dims import Dim, Sym, dim, iterator, iterators
from .....dialects.dims.index_map import IndexMap, dims_in
from .....dialects.registry import OpError
from .....dialects.tx_internal import GenericView
from .....dialects.types import DTYPES
from ...indexing.data_dependent_sizes import bind
from ...tensor.apply import apply, as_tensor
from ...tensor.promotion import cast
from ...tensor.tensor import Tensor
from ...tensor.views.composite_views import IndexedView, Perhaps, roots
from ...trace.context import require, table
from ...trace.graph import Block, inside
from ...trace.symint import as_dim, symint
from ...trace.undefined import Undefined
from ..alternatives.choice import Choice, is_same_place
from ..alternatives.one_of import Method, OneOf, any_of, one_of_a_loop
from ..alternatives.resized import as_arrays
from ..sharing import is_array

__all__ = ["Noted", "Reference", "is_older", "options_of", "referred"]

#: The most arrays to which a variable may refer: a store into it is one into each.
MOST_ARRAYS = 8


class _View(NamedTuple):
    """A view of an array: its sizes, and for each dim of `owner` where it begins there and how far it steps.

    The steps are those of dims of the view, by their numbers.  All is in graph dims.
    """

    owner: Tensor
    extents: tuple[Dim, ...]
    begins: list[Any]
    steps: tuple[tuple[tuple[int, Dim], ...], ...]


class _Moving:
    """Views of one array from before the loop that differ in where they begin, and in some of their sizes, only."""

    def __init__(self, view: _View):
        facts = table()
        self.owner, self.steps = view.owner, view.steps
        #: None for a size that may be another one each time.
        self.extents = tuple(None if facts.varies(d) else d for d in view.extents)

    def at(self, carried: Sequence[Any]) -> Tensor:
        """The view that `place` gave, inside the array."""
        rest, owner = iter(carried), self.owner.type.dims
        begins = [self._known(next(rest), size) for size in owner]
        extents = [self._known(next(rest), self._most(k)) if e is None else e for k, e in enumerate(self.extents)]
        steps = [sum((by * iterator(k) for k, by in along), dim(0)) for along in self.steps]
        index = IndexMap(tuple(extents), tuple(step + begin for step, begin in zip(steps, begins)))
        return self.owner._view(GenericView, {"map": index, "fill": 0})

    def place(self, view: _View) -> list[Any]:
        """What the loop carries for one of these views: where it begins, and sizes."""
        return [*view.begins, *(symint(d) for d, known in zip(view.extents, self.extents) if known is None)]

    def anywhere(self) -> list[Any]:
        """What the loop carries where nobody refers to such a view: a place that there is."""
        begins: list[Any] = []
        for along in self.steps:
            back = [by * (1 - e) for k, by in along if (e := self.extents[k]) is not None and not by.nonneg]
            begins.append(symint(sum(back, dim(0))))
        return begins + [0 for extent in self.extents if extent is None]

    def is_anywhere(self) -> bool:
        """Whether there surely is such a place, as a fact."""
        if any(extent is None and self._most(k) is None for k, extent in enumerate(self.extents)):
            return False
        for along, size in zip(self.steps, self.owner.type.dims):
            end = dim(1)
            for k, by in along:
                if not (by.nonneg or (-by).nonneg):
                    return False
                if (extent := self.extents[k]) is not None:
                    end = end + (extent - 1) * (by if by.nonneg else -by)
            if table().decide(end, "<=", size, "a view in an array") is not True:
                return False
        return True

    def is_as(self, view: _View | _Moving) -> bool:
        """Whether another view, or each of others, is one of these."""
        alike = self.owner is view.owner and self.steps == view.steps and len(self.extents) == len(view.extents)
        return alike and all(known is None or known is d for known, d in zip(self.extents, view.extents))

    def _most(self, k: int) -> Dim | None:
        """What a size is at most: that of a dim along which it goes."""
        return next((d for d, along in zip(self.owner.type.dims, self.steps) if any(k == at for at, _ in along)), None)

    def _known(self, carried: Any, most: Dim | None) -> Dim:
        """An int that the loop carries, as a size."""
        assert most is not None
        inside = apply("cwise_max", apply("cwise_min", as_tensor(carried), symint(most)), 0)
        return as_dim(bind(require(), inside, most))


def _view_of(array: Tensor) -> _View | None:
    """What a view is of an array; None where it is none, or has steps that vary.

    An `IndexedView` is one by single integers that are known at run time.
    """
    selected = isinstance(array, IndexedView)
    source = array.places.source if selected else array
    if (selected and array.places.rank) or source.layout != "row":
        return None
    try:
        owner, index = source.owner()
    except OpError:
        return None
    if type(owner) is not Tensor or owner.layout != "row" or (index is None and not selected):
        return None
    index = IndexMap(owner.type.dims, tuple(iterators(owner.ndim))) if index is None else index
    if index.guards:
        return None
    its = [Sym(f"d{k}") for k in range(index.rank)]
    #: By dim of the source: what stands for a position there, an iterator of the view or an integer.
    rest = array.places.rest if selected else [*range(index.rank)]
    chosen = dict(zip(array.places.axes, array.places.indices)) if selected else {}
    steps: list[tuple[tuple[int, Dim], ...]] = []
    begins: list[Any] = []
    for expr in index.exprs:
        parts = linear_in(table().resolve(expr), its)
        if parts is None:
            return None
        along = {k: parts[0][it] for k, it in enumerate(its) if it in parts[0]}
        steps.append(tuple((n, along[k]) for n, k in enumerate(rest) if k in along))
        begin: Any = symint(parts[1])
        for k, at in chosen.items():
            if k in along:
                at = cast(at, DTYPES["i64"])
                at = apply("select", apply("less", at, 0), at + symint(source.dims[k]), at)
                begin = as_tensor(begin) + at * symint(along[k])
        begins.append(begin)
    if any(table().varies(by) for along in steps for _, by in along):
        return None
    return _View(owner, array.type.dims, begins, tuple(steps))


class Noted:
    """Which of the arrays of a reference a variable refers to, as it is found out."""

    def __init__(self, reference: Reference):
        self.conds: list[Any] = [False] * len(reference.shared)
        self.places = [views.anywhere() for views in reference.moving]
        #: By type: arrays that came to be in the iteration, each with its condition.
        self.own: list[list[tuple[Tensor, Any]]] = [[] for _ in reference.own]


class Reference:
    """The arrays to which a variable may refer in a loop: some from before it, and one of each type of its own.

    The loop carries a bool for each, ints for those that are `moving`, and the own ones.
    """

    def __init__(self, name: str, given: Any):
        self.name, self.given = name, given
        self.arrays = [array for array, _ in referred(given) or ()]
        #: Views that iterations take elsewhere in each.
        self.moving: list[_Moving] = []
        #: An array of each type that iterations make; the numbers of those whose sizes change.
        self.own: list[Tensor] = []
        self.resized: set[int] = set()

    @property
    def shared(self) -> Sequence[Tensor | _Moving]:
        """The arrays from before the loop, and views of such."""
        return [*self.arrays, *self.moving]

    def copy(self) -> Reference:
        """The same, which may learn of more arrays."""
        made = Reference(self.name, self.given)
        made.arrays, made.moving, made.own, made.resized = [*self.arrays], [*self.moving], [*self.own], {*self.resized}
        return made

    def starts(self, again: Callable[..., Any]) -> list[Any]:
        """What the loop carries as it is before it; Undefined for what no iteration has made.

        `again` is `ControlFlow.fork_value`, here and elsewhere.
        """
        noted = Noted(self)
        for array, cond in referred(self.given) or ():
            self.note(noted, array, cond)
        return self.carried(noted, [Undefined(self.name) for _ in self.own], again)

    def carried(self, noted: Noted, own: Sequence[Any], again: Callable[..., Any]) -> list[Any]:
        """What a loop carries that says which array it is; `own` are those that it keeps where it made no others."""
        owns = [any(c is None for _, c in of) or any_of([c for _, c in of]) for of in noted.own]
        places = [cast(as_tensor(place), DTYPES["i64"]) for of in noted.places for place in of]
        made = [self._made(of, again) if of else kept for of, kept in zip(noted.own, own)]
        return [*noted.conds, *owns, *places, *made]

    def _made(self, options: Sequence[tuple[Tensor, Any]], again: Callable[..., Any]) -> Tensor:
        """The elements of one of some arrays of its own."""
        if len({_type_of(array) for array, _ in options}) == 1:
            return _one(options)
        return as_arrays([one_of_a_loop(self.name, [(array, as_tensor(cond)) for array, cond in options], again)])[0]

    def own_among(self, carried: Sequence[Any]) -> Sequence[Any]:
        """The own arrays among what the loop carries."""
        return carried[len(carried) - len(self.own) :]

    def note(self, noted: Noted, array: Tensor, cond: Any) -> bool:
        """Note that it refers to an array from before where `cond` is true, None: always; False: it is none known."""
        number = self._find(array)
        if number is None:
            return False
        noted.conds[number] = True if cond is None else apply("logical_or", noted.conds[number], cond)
        number -= len(self.arrays)
        if number >= 0:
            view = _view_of(array)
            assert view is not None
            noted.places[number] = [
                place if cond is None else apply("select", cond, place, was)
                for was, place in zip(noted.places[number], self.moving[number].place(view))
            ]
        return True

    def note_own(self, noted: Noted, array: Tensor, cond: Any) -> bool:
        """Note that it is an array that came to be in the iteration; False where none of that type is known."""
        number = self._own_number(array)
        if number is None:
            return False
        noted.own[number].append((array, cond))
        return True

    def _own_number(self, array: Tensor) -> int | None:
        numbers = range(len(self.own))
        same = next((k for k in numbers if k not in self.resized and _type_of(self.own[k]) == _type_of(array)), None)
        if same is not None or not self.resized:
            return same
        return next((k for k in self.resized if _rank_of(self.own[k]) == _rank_of(array)), None)

    def value(self, carried: Sequence[Any], again: Callable[..., Any]) -> Any:
        """What it refers to where the loop carries this: one array, or one of several types; Undefined where no
        iteration has made any."""
        count = len(self.shared) + len(self.own)
        rest = iter(carried[count:])
        moving = [views.at([next(rest) for _ in views.anywhere()]) for views in self.moving]
        arrays = [*self.arrays, *moving, *rest]
        groups: dict[Any, list[tuple[Tensor, Tensor]]] = {}
        for array, cond in zip(arrays, carried):
            if not isinstance(array, Undefined):
                groups.setdefault(_type_of(array), []).append((array, as_tensor(cond)))
        options = [(_choice(of), any_of([cond for _, cond in of])) for of in groups.values()]
        if not options:
            return Undefined(self.name)
        return options[0][0] if len(options) == 1 else one_of_a_loop(self.name, options, again)

    def number_of(self, array: Tensor) -> int | None:
        """By which number it is known, those from before first; None where it is none of these.

        One from before is known as itself, any other one by its type.
        """
        number = self._find(array)
        if number is None and not is_older(array) and (own := self._own_number(array)) is not None:
            number = len(self.shared) + own
        return number

    def has(self, array: Tensor) -> bool:
        """Whether it is known as itself, which no copy is."""
        return self._find(array) is not None

    def learn(self, array: Tensor) -> bool:
        """Note an array from before, or the type of one that iterations make; False where there are too many."""
        if not is_older(array):
            return self.add_own(array)
        if self._is_full():
            return False
        self.arrays.append(array)
        return True

    def _find(self, array: Tensor) -> int | None:
        """The number of an array, which it is itself or a view of the same elements, or of moving views."""
        number = next((k for k, other in enumerate(self.arrays) if is_same_place(array, other)), None)
        if number is None and self.moving and (view := _view_of(array)) is not None:
            number = next((k for k, views in enumerate(self.moving, len(self.arrays)) if views.is_as(view)), None)
        return number

    def add(self, array: Tensor, block: Block) -> bool:
        """Note an array from before the loop whose iterations are `block`; False where it is none."""
        # An `IndexedView` came to be in the iteration, where it leads to did not.
        of = [root for source in array.sources() or [array] for root in roots(source)]
        if self._is_full() or any(inside(root._home, block) for root in of):
            return False
        facts = table()
        at = array
        while at._parent is not None:
            if any(facts.varies(facts.resolve(d)) for d in dims_in(at._attrs)):
                return self._add_moving(array)
            at = at._parent
        if type(at) is not Tensor and inside(at._home, block):
            return self._add_moving(array)
        self.arrays.append(array)
        return True

    def _is_full(self) -> bool:
        return len(self.shared) + len(self.own) >= MOST_ARRAYS

    def add_own(self, array: Tensor) -> bool:
        """Note a type of arrays that iterations make; False where there are too many."""
        facts = table()
        varies = any(facts.varies(facts.resolve(d)) for d in array.type.dims)
        if self._is_full() or (varies and not require().binds):
            return False
        if varies:
            self.resized.add(len(self.own))
        self.own.append(array)
        return True

    def _add_moving(self, array: Tensor) -> bool:
        """Note a view that iterations take elsewhere in each; those of its kind that are known are such as well."""
        view = _view_of(array)
        if view is None or not (views := _Moving(view)).is_anywhere():
            return False
        known = [(other, _view_of(other)) for other in self.arrays]
        self.arrays = [other for other, view in known if view is None or not views.is_as(view)]
        self.moving = [*(other for other in self.moving if not views.is_as(other)), views]
        return True


def _type_of(array: Tensor) -> Any:
    """What arrays have in common of which one may stand for another."""
    return array.element, table().resolve_all(array.type.dims), array.layout


def _rank_of(array: Tensor) -> Any:
    """What arrays have in common that differ in their sizes only."""
    return array.element, array.ndim, array.layout


def _one(options: Sequence[tuple[Tensor, Any]]) -> Tensor:
    """The elements of one of some arrays, each with its condition."""
    made = options[-1][0]
    for array, cond in options[-2::-1]:
        made = apply("select", cond, array, made)
    return made


def _choice(options: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """One of some arrays of one type."""
    return options[0][0] if len(options) == 1 else Choice(options, _one(options))


def referred(value: Any) -> list[tuple[Tensor, Any]] | None:
    """The arrays of which a value is one, each with its condition, None: always; None where it may be no array.

    A view of one of several arrays is one of the views of these.
    """
    if isinstance(value, OneOf):
        options = () if isinstance(value, Method) else value.options
        return _each([(referred(option), cond) for option, cond in options]) or None
    if not is_array(value):
        return None
    path: list[Tensor] = []
    at: Tensor = value
    while at._parent is not None:
        path.append(at)
        at = at._parent
    found: list[tuple[Tensor, Any]] | None
    if isinstance(at, Choice):
        found = _each([(referred(option), cond) for option, cond in at.options])
    elif isinstance(at, Perhaps) and at.shares_memory():
        found = referred(at.shared)
    elif isinstance(at, IndexedView) and (of := referred(at.places.source)) is not None and len(of) > 1:
        found = [(IndexedView(replace(at.places, source=source, mode=None)), cond) for source, cond in of]
    else:
        return [(value, None)]
    if found is None or any(array.layout != at.layout for array, _ in found):
        return None
    for view in path[::-1]:
        found = [(_same_view(view, array), cond) for array, cond in found]
    return found


def _same_view(view: Tensor, array: Tensor) -> Tensor:
    """What a view is of another array, of it."""
    made = array._view(view._op, view.view_attrs)
    made.layout, made.boxed, made.frozen = view.layout, view.boxed, view.frozen
    return made


def _each(parts: Sequence[tuple[list[tuple[Tensor, Any]] | None, Any]]) -> list[tuple[Tensor, Any]] | None:
    """Values that are each one of some arrays, of which there is the one whose condition is true, as one of these."""
    found: list[tuple[Tensor, Any]] = []
    for options, cond in parts:
        if options is None:
            return None
        found += [(array, cond if of is None else apply("logical_and", cond, of)) for array, of in options]
    return found


def options_of(value: Tensor) -> Sequence[tuple[Tensor, Any]]:
    """The arrays that a value may be, each with its condition; None: it is."""
    return value.options if isinstance(value, Choice) else [(value, None)]


def is_older(array: Tensor) -> bool:
    """Whether an array is one from before the iteration that is staged, or the same part of one in each."""
    facts, at = table(), array
    while at._parent is not None:
        if any(facts.varies(facts.resolve(d)) for d in dims_in(at._attrs)):
            return False
        at = at._parent
    return type(at) is Tensor and not inside(at._home, require().region)
