"""Variables of loops that refer to one of some arrays, as iterations decide: which one is a bool for each array.

An iteration that says ``y = x`` and stores into `y` stores into `x` from then on.  What such a variable may refer to
is a fixed set of arrays from before the loop, and an array of its own that iterations made.  The loop carries a bool
for each of the former, and the latter as an array; in the loop and behind it the variable is a choice among them.
Views that iterations take of one array at another place each (``row = x[i]``) are one of these, whose place the loop
carries as ints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ....dialects.dims.analysis import linear_in
from ....dialects.dims.dims import Dim, Sym, dim, iterator, iterators
from ....dialects.dims.index_map import IndexMap
from ....dialects.registry import OpError
from ....dialects.tx_internal import GenericView
from ....dialects.types import DTYPES
from ..indexing.data_dependent_sizes import bind
from ..tensor.apply import apply, as_tensor, cast
from ..tensor.composite_views import IndexedView, roots
from ..tensor.tensor import Tensor
from ..trace.context import require, table
from ..trace.graph import Block, inside
from ..trace.symint import as_dim, symint
from .choice import Choice
from .sharing import dims_in

__all__ = ["Reference", "options_of"]

#: The most arrays from before a loop to which a variable may refer: a store into it is one into each.
MOST_ARRAYS = 8


class _Moving(NamedTuple):
    """Views of one array from before the loop that differ in where they begin only.

    `steps` are the elements of `owner` of a view that begins at its first one, in graph dims.
    """

    owner: Tensor
    extents: tuple[Dim, ...]
    steps: tuple[Dim, ...]

    def at(self, begins: Sequence[Any]) -> Tensor:
        """The view that begins there, of ints that are inside the array."""
        trace = require()
        known: list[Dim] = []
        for size, begin in zip(self.owner.type.dims, begins):
            inside = apply("cwise_max", apply("cwise_min", as_tensor(begin), symint(size)), 0)
            known.append(as_dim(bind(trace, inside, size)))
        index = IndexMap(self.extents, tuple(step + begin for step, begin in zip(self.steps, known)))
        return self.owner._view(GenericView, {"map": index, "fill": 0})

    def begins_anywhere(self) -> bool:
        """Whether such a view may begin at the first element of its array, as a fact; then there always is one."""
        ends = [dim(1)] * len(self.steps)
        for at, step in enumerate(self.steps):
            for k, extent in enumerate(self.extents):
                factor = linear_in(step, [Sym(f"d{k}")])
                along = dim(0) if factor is None else factor[0].get(Sym(f"d{k}"), dim(0))
                if factor is None or not along.nonneg:
                    return False
                ends[at] = ends[at] + (extent - 1) * along
        sizes = self.owner.type.dims
        return all(table().decide(end, "<=", size, "a view in an array") is True for end, size in zip(ends, sizes))

    def is_as(self, other: _Moving) -> bool:
        return self.owner is other.owner and (self.extents, self.steps) == (other.extents, other.steps)


def _moving(array: Tensor) -> tuple[_Moving, list[Any]] | None:
    """What a view is of an array, and where it begins there; None where it is none, or its sizes vary.

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
    steps: list[Dim] = []
    begins: list[Any] = []
    for expr in index.exprs:
        parts = linear_in(table().resolve(expr), its)
        if parts is None:
            return None
        along = {k: parts[0][it] for k, it in enumerate(its) if it in parts[0]}
        steps.append(sum((along[k] * iterator(n) for n, k in enumerate(rest) if k in along), dim(0)))
        begin: Any = symint(parts[1])
        for k, at in chosen.items():
            if k in along:
                at = cast(at, DTYPES["i64"])
                at = apply("select", apply("less", at, 0), at + symint(source.dims[k]), at)
                begin = as_tensor(begin) + at * symint(along[k])
        begins.append(begin)
    found = _Moving(owner, array.type.dims, tuple(steps))
    varies = any(table().varies(d) for d in (*found.extents, *found.steps))
    return None if varies else (found, begins)


class Reference:
    """The arrays from before a loop to which a variable may refer, and whether it may have one of its own."""

    def __init__(self, given: Tensor):
        self.given, self.has_own = given, False
        self.arrays = [array for array, _ in options_of(given)]
        #: Views that iterations take elsewhere in each.
        self.moving: list[_Moving] = []

    def starts(self) -> list[Any]:
        """Whether it refers to each of the arrays before the loop; of moving views also where they begin."""
        conds: list[Any] = [False] * (len(self.arrays) + len(self.moving))
        begins = [[0] * len(view.steps) for view in self.moving]
        for array, cond in options_of(self.given):
            self.note(array, cond, conds, begins)
        return self.carried(conds, begins)

    def carried(self, conds: Sequence[Any], begins: Sequence[Sequence[Any]]) -> list[Any]:
        """What a loop carries that says which array it is."""
        return [*conds, *(cast(as_tensor(begin), DTYPES["i64"]) for of in begins for begin in of)]

    def note(self, array: Tensor, cond: Any, conds: list[Any], begins: list[list[Any]]) -> bool:
        """Note in `conds` and `begins` that it refers to an array where `cond` is true, None: always; False: to none.

        The conditions of moving views stand behind those of arrays.
        """
        number = self.find(array)
        if number is None:
            return False
        conds[number] = True if cond is None else apply("logical_or", conds[number], cond)
        if number >= len(self.arrays):
            number -= len(self.arrays)
            found = _moving(array)
            assert found is not None
            before = begins[number]
            begins[number] = [b if cond is None else apply("select", cond, b, a) for a, b in zip(before, found[1])]
        return True

    def own_start(self) -> Tensor:
        """An array of its own of that type."""
        return Tensor(self.given.value, layout=self.given.layout, boxed=self.given.boxed)

    def value(self, carried: Sequence[Any], own: Tensor) -> Tensor:
        """What it refers to where the loop carries this, and its `own` array where it refers to none of the others."""
        rest = iter(carried[len(self.arrays) + len(self.moving) :])
        moving = [view.at([next(rest) for _ in view.steps]) for view in self.moving]
        options = [(array, as_tensor(cond)) for array, cond in zip([*self.arrays, *moving], carried)]
        if self.has_own:
            others = options[0][1]
            for _, cond in options[1:]:
                others = apply("logical_or", others, cond)
            options.append((own, apply("logical_not", others)))
        if len(options) == 1:
            return options[0][0]
        chosen = options[-1][0]
        for array, cond in options[-2::-1]:
            chosen = apply("select", cond, array, chosen)
        return Choice(options, chosen)

    def find(self, array: Tensor) -> int | None:
        """The number of an array, which it is itself or a view of the same elements, or of moving views."""
        number = next((k for k, other in enumerate(self.arrays) if _is_same(array, other)), None)
        if number is None and self.moving and (found := _moving(array)) is not None:
            number = next((k for k, view in enumerate(self.moving, len(self.arrays)) if view.is_as(found[0])), None)
        return number

    def add(self, array: Tensor, block: Block) -> bool:
        """Note an array from before the loop whose iterations are `block`; False where it is none, or none alike."""
        facts, first = table(), self.given
        # An `IndexedView` came to be in the iteration, where it leads to did not.
        of = [root for source in array.sources() or [array] for root in roots(source)]
        alike = array.element is first.element and array.layout == first.layout
        alike = alike and facts.resolve_all(array.type.dims) == facts.resolve_all(first.type.dims)
        if (
            not alike
            or len(self.arrays) + len(self.moving) >= MOST_ARRAYS
            or any(inside(root._home, block) for root in of)
        ):
            return False
        at = array
        while at._parent is not None:
            if at._op is None or any(facts.varies(facts.resolve(d)) for d in dims_in(at._attrs)):
                return self._add_moving(array)
            at = at._parent
        if type(at) is not Tensor:
            return self._add_moving(array)
        self.arrays.append(array)
        return True

    def _add_moving(self, array: Tensor) -> bool:
        """Note a view that iterations take elsewhere in each; those of its kind among the arrays are such as well."""
        found = _moving(array)
        if found is None or not found[0].begins_anywhere():
            return False
        self.moving.append(found[0])
        others = [(other, _moving(other)) for other in self.arrays]
        self.arrays = [other for other, known in others if known is None or not found[0].is_as(known[0])]
        return True


def options_of(value: Tensor) -> Sequence[tuple[Tensor, Any]]:
    """The arrays that a value may be, each with its condition; None: it is."""
    return value.options if isinstance(value, Choice) else [(value, None)]


def _is_same(a: Tensor, b: Tensor) -> bool:
    """Whether two arrays are one, or views of the same elements of one."""
    if a is b:
        return True
    if a._parent is None or b._parent is None:
        return False
    try:
        (owner, first), (other, second) = a.owner(), b.owner()
    except OpError:
        return False
    return owner is other and str(first) == str(second)
