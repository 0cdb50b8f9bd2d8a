"""Lists to which loops of compiled code append: each iteration the same number of items of one type.

Where an `if` of compiled code decides whether something is appended, there is room for it in any case and a bool that
says whether it is there: the items are those rows whose bool is true, as many as values decide.

Behind such a loop the list has a `Stack` among its parts: the items that the loop appended, as the rows of one array.
It still is the list that it was, to which Python appends more; but how long it is only the compiled function knows, so
what Python would ask item by item is asked of all items as one array (`whole`).
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, TypeGuard

import numpy as np

from .....dialects.dims.dims import Dim, dim
from .....dialects.registry import OpError
from .....dialects.types import DTYPES, DType
from ....diagnostics import located, user_loc
from ...numpy.creation import arange, empty
from ...scalars.python_numbers import checked
from ...tensor.apply import apply, as_tensor, is_traced, stack
from ...tensor.broadcasting import broadcast_to
from ...tensor.promotion import cast, common_dtype
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.graph import Value
from ...trace.symint import SymInt, is_integer, symint
from ..alternatives.choice import PerhapsOfOthers
from ..alternatives.mixed_numbers import Common, MixedNumber, is_of
from ..alternatives.one_of import OneOf, any_of
from ..lookup.places import inside, is_known_later, taken
from .item_kinds import Kinds, Outcomes, outcomes
from .list_errors import ByItems, SeveralDtypes, copying, item_of, unknown_length

__all__ = [
    "Appending", "AsTable", "FixedList", "GrowingList", "Item", "ItemTypes", "Records", "Stack", "alike", "is_record",
    "stack_for", "together",
]  # fmt: skip


class AsTable(BaseException):
    """The program stores into an item of a list of lists that is made somewhere: all is staged again, with items that
    are rows of arrays which hold numbers of these types.

    No error of the program's, so nothing that takes those takes it.
    """

    def __init__(self, made_at: Any, common: Common):
        self.made_at, self.common = made_at, common


class Stack:
    """Items that a loop appends to a list, as the rows of an array.

    At `depth` 1 the rows are the items; at 2 each item is a list of its rows, and so on.  `others` are arrays that
    items are, or are parts of: while nobody stores into either it is as good to have the items for themselves.
    `room` has the rows that there may be, and `present` says which there are; None: all.
    """

    def __init__(self, room: Tensor, weak: str, depth: int = 1, present: Tensor | None = None):
        self.room, self.weak, self.depth, self.present = room, weak, depth, present
        #: The name of the list, where items are arrays that others see too; "": they are its own.
        self.shared_in = ""
        self.others: list[Tensor] = []
        self._of: list[Value] = []

    def share(self, others: Iterable[Tensor], label: str) -> None:
        """Say what items of the list `label` are parts of, as these are now."""
        self.shared_in, self.others = label, [*others]
        self._of = [t.value for t in self.others]

    @property
    def leaves(self) -> Sequence[Stack]:
        """The stacks of its parts, or itself."""
        return (self,)

    def with_leaves(self, leaves: Iterator[Stack]) -> Stack:
        """Such a stack of other leaves."""
        return next(leaves)

    @property
    def count(self) -> Dim:
        return self.rows.dims[0]

    @property
    def rows(self) -> Tensor:
        if any(t.value is not was for t, was in zip(self.others, self._of)):
            with located():
                raise OpError(
                    f"{item_of(self.shared_in)} may be an array from before the loop, or a part of one, and one of "
                    "the two is stored into",
                    copying(self.shared_in),
                    "TX0291",
                )
        return self.room if self.present is None else self.room[self.present]

    def at(self, i: Any) -> Any:
        """An item: a number, a view of its row, or a list."""
        if not isinstance(i, Tensor):
            return self.item(self.rows[i])
        rows = self.rows
        place = inside(i, rows.shape[0], "list")
        return self.item(taken(rows, place) if rows.ndim == 1 else rows[place])

    def item(self, row: Tensor) -> Any:
        """The item that has a row."""
        if self.depth > 1:
            made = FixedList()
            made.add(Stack(row, self.weak, self.depth - 1))
            return made
        if not row.ndim:
            return Tensor(row.value, weak=self.weak)
        if not self.shared_in:
            return row
        what = "an array from before the loop"
        return PerhapsOfOthers(item_of(self.shared_in), what, row, self.others, copying(self.shared_in))

    def flattened(self) -> Stack:
        """The items of what are rows of several here."""
        first, second, *rest = self.room.shape
        present = None if self.present is None else self.present.reshape(first * second)
        made = Stack(self.room.reshape((first * second, *rest)), self.weak, self.depth, present)
        made.share(self.others, self.shared_in)
        return made

    def in_order(self, places: Tensor) -> Stack:
        """The items, numbers or tuples of such, that are at some places."""
        return self.with_leaves(iter([Stack(taken(leaf.rows, places), leaf.weak) for leaf in self.leaves]))

    def part(self, key: slice) -> Stack:
        """Some of the items."""
        made = Stack(self.rows[key], self.weak, self.depth)
        made.share(self.others, self.shared_in)
        return made


class Records(Stack):
    """Items of several parts: a stack for each of these.

    `form` says how an item is made of its parts: a tuple or list of numbers is as ``()`` or ``[]`` is, and a number of
    one type or another, a value and the number of its type, as `Kinds` say.
    """

    def __init__(self, form: Any, columns: Sequence[Stack]):
        super().__init__(columns[0].room, "", 1, columns[0].present)
        self.form, self.columns = form, [*columns]
        if isinstance(form, Kinds):
            self.depth = columns[0].depth

    @property
    def leaves(self) -> Sequence[Stack]:
        return [leaf for column in self.columns for leaf in column.leaves]

    def with_leaves(self, leaves: Iterator[Stack]) -> Stack:
        return Records(self.form, [column.with_leaves(leaves) for column in self.columns])

    @property
    def count(self) -> Dim:
        return self.columns[0].count

    @property
    def rows(self) -> Tensor:
        """The rows of the matrix that NumPy makes of them; of numbers of one type or another, their values."""
        if isinstance(self.form, Kinds):
            return self.columns[0].rows
        rows = [c.rows for c in self.columns]
        element = common_dtype(rows)
        return apply("concatenate", *(cast(r, element).reshape((r.shape[0], 1)) for r in rows), axis=1)

    def at(self, i: Any) -> Any:
        if self.depth > 1:
            made = FixedList()
            made.add(Records(self.form, [part for c in self.columns for part in c.at(i).parts()]))
            return made
        return made_like(self.form, [c.at(i) for c in self.columns])

    def flattened(self) -> Stack:
        return Records(self.form, [c.flattened() for c in self.columns])

    def part(self, key: slice) -> Stack:
        return Records(self.form, [c.part(key) for c in self.columns])


class Item(NamedTuple):
    """What an iteration appends to a list, as an array; `several`: all that a loop inside it appends, as the rows.

    `present` and `others` are as in `Stack`.  One of several parts has `columns`; `form` is as in `Records`.
    """

    array: Tensor
    weak: str
    depth: int
    several: bool = False
    present: Tensor | None = None
    others: Sequence[Tensor] = ()
    columns: tuple[Item, ...] = ()
    form: Any = None

    @property
    def leaves(self) -> Sequence[Item]:
        """Its parts, or itself."""
        return [leaf for column in self.columns for leaf in column.leaves] if self.columns else (self,)

    def stack(self, leaves: Iterator[Stack]) -> Stack:
        """The stack of such items whose leaves are these."""
        return Records(self.form, [c.stack(leaves) for c in self.columns]) if self.columns else next(leaves)

    def leaf_rows(self, leaf: Item) -> Tensor:
        """The rows of one of its leaves."""
        return leaf.array if self.several else stack([leaf.array])

    @staticmethod
    def of(value: Any) -> Item | None:
        """A number or array, a tuple or list of numbers, a list of such that loops made, or what a loop appends.

        None for what is neither.
        """
        if isinstance(value, MixedNumber):
            kinds = Kinds(value.spec, value.name, value.fork)
            return _of_columns([Item(part, "", 1) for part in kinds.parts(value)], kinds)
        if isinstance(value, Records):
            return _of_columns([item for c in value.columns if (item := Item.of(c)) is not None], value.form)
        if is_record(value):
            columns = [item for part in value if (item := Item.of(part)) is not None]
            return _of_columns(columns, [] if isinstance(value, list) else ())
        if isinstance(value, Stack):
            if value.shared_in and value.present is None:
                return None
            return Item(value.room, value.weak, value.depth, True, value.present, value.others)
        if isinstance(value, GrowingList):
            parts = value.parts()
            stacks = [part for part in parts if isinstance(part, Stack)]
            if len(stacks) != 1 or len(parts) != 1 or stacks[0].shared_in or stacks[0].present is not None:
                return None
            if isinstance(stacks[0], Records):
                return None
            return Item(value.whole(), stacks[0].weak, 1 + stacks[0].depth)
        array = as_tensor(value)
        if array.boxed and not array.ndim:  # which is no number to NumPy, and the rows of an array are none such
            return None
        return Item(array, array.weak if not array.ndim else "", 1)

    @staticmethod
    def row_of(value: Any, table: GrowingList) -> Item | None:
        """A list that is an item of another one, into whose items the program stores, as the rows of arrays; None where
        it is none such, or has other things than numbers."""
        trace = require()
        common = None if trace.tables is None else trace.tables.get(table.made_at)
        if common is None or trace.fork_value is None or not isinstance(value, GrowingList):
            return None
        parts = value.parts()
        if value.commons() is not None:
            depth, arrays = 2, value.vectors(ItemTypes(None, (common,)), "an item of a list", trace.fork_value)
        elif len(parts) == 1 and isinstance(parts[0], Stack) and parts[0].depth > 1:
            depth, arrays = 1 + parts[0].depth, [Tensor(leaf.rows.value) for leaf in parts[0].leaves]
            of = parts[0].form.spec if isinstance(parts[0], Records) else Common.of_items(arrays[0], parts[0].weak)
            if of.kinds != common.kinds:
                if len(arrays) > 1 or common.joined_with(of) is None:
                    return None
                kinds = Kinds(common, "an item of a list", trace.fork_value)
                arrays = kinds.columns(arrays[0], of, None, arrays[0].dims)
        else:
            return None
        if len(arrays) == 1:
            return Item(arrays[0], common.kinds[0].weak, depth)
        kinds = Kinds(common, "an item of a list", trace.fork_value)
        return _of_columns([Item(array, "", depth) for array in arrays], kinds)

    @property
    def is_number(self) -> bool:
        """Whether it is a number, or several."""
        return (isinstance(self.form, Kinds) and self.depth == 1) or (
            not self.columns
            and self.depth == 1
            and self.array.ndim == self.several
            and (self.several or not self.array.boxed)
        )

    @property
    def common(self) -> Common:
        """Of which type, or types, a number is."""
        return self.form.spec if isinstance(self.form, Kinds) else Common.of_items(self.array, self.weak)

    @property
    def types(self) -> ItemTypes | None:
        """Of which types it is, or they are; None of what is neither numbers nor tuples or lists of numbers."""
        if self.is_number:
            return ItemTypes(None, (self.common,))
        known = bool(self.columns) and all(column.is_number for column in self.columns)
        return ItemTypes(self.form, tuple(column.common for column in self.columns)) if known else None

    def as_kinds(self, kinds: Kinds) -> Item:
        """A number, or several, as one of these types."""
        if isinstance(self.form, Kinds) and self.form.spec is kinds.spec:
            return self
        values, tags = (leaf.array for leaf in self.leaves) if self.columns else (self.array, None)
        made = kinds.columns(values, self.common, tags, self.array.dims)
        parts = [Item(part, "", 1, self.several, self.present) for part in made]
        return _of_columns(parts, kinds)


def _of_columns(columns: Sequence[Item], form: Any) -> Item:
    depth = columns[0].depth if isinstance(form, Kinds) else 1
    return columns[0]._replace(weak="", depth=depth, columns=tuple(columns), form=form)


def alike(items: Sequence[Item | None]) -> list[Item] | None:
    """Items in one form, of which numbers of several types are kept as `Kinds` say; None where there is none."""
    found = [item for item in items if item is not None]
    if len(found) < len(items):
        return None
    if all(item.is_number for item in found):
        return _numbers_alike(found)
    first = found[0]
    if not first.columns:
        same = all(not x.columns and (x.depth, x.weak) == (first.depth, first.weak) for x in found)
        return found if same and len({x.array.element for x in found}) == 1 else None
    if any(type(x.form) is not type(first.form) or len(x.columns) != len(first.columns) for x in found):
        return None
    columns = [alike(column) for column in zip(*(x.columns for x in found))]
    known = [column for column in columns if column is not None]
    if len(known) < len(columns):
        return None
    rows = zip(found, zip(*known))
    return [x if all(map(operator.is_, parts, x.columns)) else _of_columns(parts, x.form) for x, parts in rows]


def _numbers_alike(items: Sequence[Item]) -> list[Item] | None:
    common: Common | None = items[0].common
    for item in items[1:]:
        common = None if common is None else common.joined_with(item.common)
    if common is None:
        return None
    if len(common.kinds) == 1 and not any(item.columns for item in items):
        return [*items]
    known = next((item.form for item in items if item.columns), None)
    fork = require().fork_value if known is None else known.fork
    if fork is None:
        return None
    kinds = Kinds(common, "an item of the list" if known is None else known.name, fork)
    return [item.as_kinds(kinds) for item in items]


def stack_for(item: Item, count: Any, alike: Stack | None = None) -> Stack:
    """Room for `count` items like one, which a loop fills; those of the stack `alike` are there where these are."""
    if item.columns:
        first = stack_for(item.columns[0], count, alike)
        return Records(item.form, [first, *(stack_for(c, count, alike or first) for c in item.columns[1:])])
    if item.present is None:
        present = None
    else:
        present = empty((count, *item.present.shape), "bool") if alike is None else alike.present
    return Stack(empty((count, *item.array.shape), item.array.dtype), item.weak, item.depth, present)


def made_like(form: Any, parts: Iterable[Any]) -> Any:
    """An item of several parts; `form` is as in `Records`."""
    if isinstance(form, Kinds):
        value, tag = parts
        return form.number(value, tag)
    return FixedList(parts) if isinstance(form, list) else tuple(parts)


def is_record(value: Any) -> bool:
    """Whether a value is a tuple or list that has numbers, and nothing else."""
    if type(value) is not tuple and (type(value) is not GrowingList or value.stacked):
        return False
    return bool(value) and all(
        not (x.ndim or x.boxed)
        if isinstance(x, Tensor)
        else isinstance(x, (MixedNumber, SymInt, bool, int, float, complex, np.generic))
        for x in value
    )


def together(values: Sequence[Any]) -> Stack | None:
    """Some items of a list, some of them stacks, as one stack; None where they have no form in common."""
    known = alike([Item.of(value) for value in values])
    if known is None:
        return None
    present = None
    if any(item.present is not None for item in known):
        bools = [
            broadcast_to(as_tensor(True), item.leaf_rows(item.leaves[0]).dims[:1], "row")
            if item.present is None
            else item.present
            for item in known
        ]
        present = apply("concatenate", *bools, axis=0)
    made: list[Stack] = []
    for leaves in zip(*(item.leaves for item in known)):
        rows = [item.leaf_rows(leaf) for item, leaf in zip(known, leaves)]
        if len({(leaf.depth, leaf.weak, r.element, r.dims[1:]) for leaf, r in zip(leaves, rows)}) > 1:
            return None
        made.append(Stack(apply("concatenate", *rows, axis=0), leaves[0].weak, leaves[0].depth, present))
    if not known[0].columns:
        made[0].share([t for item in known for t in item.others], "")
    return known[0].stack(iter(made))


class ItemTypes(NamedTuple):
    """Of which types the items of a list are: numbers, or tuples or lists of numbers.

    `form` is as in `Records`, None for numbers, and `commons` has the types of each part; () where there are no items.
    """

    form: Any
    commons: tuple[Common, ...]

    @property
    def size(self) -> int:
        """In how many vectors such items are."""
        return sum(1 if len(common.kinds) == 1 else 2 for common in self.commons)

    def joined(self, other: ItemTypes) -> ItemTypes | None:
        """The types of items that are of either; itself where that has the other; None where there are none."""
        if not self.commons or not other.commons:
            return self if not other.commons else other
        if type(self.form) is not type(other.form) or len(self.commons) != len(other.commons):
            return None
        commons = [a.joined_with(b) for a, b in zip(self.commons, other.commons)]
        if all(a is b for a, b in zip(commons, self.commons)):
            return self
        known = tuple(common for common in commons if common is not None)
        return ItemTypes(self.form, known) if len(known) == len(commons) else None

    def stack(self, vectors: Iterable[Tensor], name: str, fork: Callable[..., Any]) -> Stack:
        """The items that these vectors have."""
        rest = iter(vectors)
        columns = [numbers_in(c, [*itertools.islice(rest, 1 if len(c.kinds) == 1 else 2)], name, fork)
                   for c in self.commons]  # fmt: skip
        return columns[0] if self.form is None else Records(self.form, columns)

    def empty(self, name: str, fork: Callable[..., Any]) -> Stack:
        """No items of these types."""
        vectors: list[Tensor] = []
        for common in self.commons:
            vectors += [empty((0,), common.element.numpy), *([empty((0,), np.uint8)] if len(common.kinds) > 1 else [])]
        return self.stack(vectors, name, fork)


def numbers_in(common: Common, vectors: Sequence[Tensor], name: str, fork: Callable[..., Any]) -> Stack:
    """The items that are numbers of some types, of which there are the values and the numbers of their types."""
    if len(common.kinds) == 1:
        return Stack(vectors[0], common.kinds[0].weak)
    return Records(Kinds(common, name, fork), [Stack(vector, "") for vector in vectors])


class Appending(NamedTuple):
    """A list while a loop is staged that appends to it: `each` items an iteration, of which `number` are over.

    `around` says the same of a loop around that one, which appends to the list too.
    """

    stack: Stack
    before: int
    each: Any
    number: Any
    around: Appending | None

    @property
    def is_known(self) -> bool:
        """Whether each iteration appends what it appends, whatever values are."""
        return self.stack.present is None and (self.around is None or self.around.is_known)

    @property
    def length(self) -> Any:
        """How many items these loops have appended."""
        return self.number * self.each + (0 if self.around is None else self.around.length)

    def previous(self, first: Any) -> Any:
        """The last item of the iteration before; of the first one `first`."""
        at = self.number - 1
        there = apply("cwise_max", as_tensor(at), 0)
        return apply("select", as_tensor(at) < 0, first, self.stack.item(self.stack.rows[there]))


class GrowingList(list[Any]):
    """A list that a staged function makes.  Its parts are items, and stacks of items where `stacked`."""

    stacked = False
    appending: Appending | None = None
    #: What Python says where an item is taken from it and there is none.
    empty_text = "pop from empty list"
    #: Where the program makes it, of one whose items it may store into.
    made_at: Any = None
    #: What Python says that it is.
    __class__ = property(lambda self: list)  # type: ignore[assignment]

    def made_here(self) -> GrowingList:
        """Itself, which the program makes where it is now."""
        self.made_at = user_loc()
        return self

    def add(self, part: Stack) -> None:
        """Append the items of a loop."""
        super().append(part)
        self.stacked = True

    def set_parts(self, parts: Iterable[Any]) -> None:
        """Hold just these parts."""
        super().__setitem__(slice(None), parts)
        self._note()

    def begin(self, appending: Appending | None) -> None:
        """Be the list at the begin of an iteration of a loop that appends to it, or outside such."""
        self.appending = appending
        self._note()

    def _note(self) -> None:
        self.stacked = self.appending is not None or any(isinstance(part, Stack) for part in super().__iter__())

    def parts(self) -> list[Any]:
        return [*super().__iter__()]

    def parts_now(self) -> list[Any]:
        """Its parts, which stay as they are, for another list."""
        return self.parts()

    @property
    def length(self) -> Any:
        """The number of items."""
        if self.appending is not None and not self.appending.is_known:
            self._unknown()
        stacks = [part for part in self.parts() if isinstance(part, Stack)]
        total = dim(len(self.parts()) - len(stacks))
        for part in stacks:
            total = total + part.count
        return symint(total) + (0 if self.appending is None else self.appending.length)

    def whole(self) -> Tensor:
        """All items as the rows of one array of NumPy's dtype; SeveralDtypes where values decide which that is."""
        if self.appending is not None:
            self._unknown()
        elements = {e for part in self.parts() for e in _elements(part)}
        if len(elements) < 2:
            return self._rows()
        found = self._outcomes()
        if found.which is not None:
            raise SeveralDtypes(self)
        return cast(self._rows(), found.elements[0])

    def _outcomes(self) -> Outcomes:
        """The dtypes that NumPy's array of the list may have."""
        present: dict[DType, Any] = {}
        for part in self.parts():
            for element, cond in _present(part):
                known = present.get(element, False)
                present[element] = (
                    True if cond is True or known is True else any_of([c for c in (known, cond) if c is not False])
                )
        found = outcomes({element: cond for element, cond in present.items() if cond is not False})
        if found is None:
            self._refuse_several()
        return found

    def by_dtype(self) -> OneOf:
        """The list as one of some whose items are of one dtype each, those that NumPy's array of it may have."""
        found, rows, fork = self._outcomes(), self._rows(), require().fork_value
        if found.which is None or fork is None:
            self._refuse_several()
        options: list[tuple[Any, Tensor]] = []
        for k, element in enumerate(found.elements):
            made = GrowingList()
            made.add(Stack(cast(rows, element), ""))
            options.append((made, apply("equal", found.which, k)))
        return OneOf("the list", "a list has items of one type or another", "give them one type", options, fork)

    def _rows(self) -> Tensor:
        """All items as the rows of one array."""
        rows: list[Tensor] = []
        single: list[Tensor] = []
        for part in [*self.parts(), None]:
            if single and (part is None or isinstance(part, Stack)):
                rows.append(stack(single))
                single = []
            if isinstance(part, Stack):
                rows.append(part.rows)
            elif part is not None:
                single.append(part.common if isinstance(part, MixedNumber) else as_tensor(part))
        # Of its own: a store into it reaches no item.
        return Tensor(rows[0].value) if len(rows) == 1 else apply("concatenate", *rows, axis=0)

    def as_array(self, always: str = "") -> Tensor:
        """The array that NumPy makes of the list.

        Of one without items that is an empty vector of f64 whatever they would have been: where this is another array
        the call raises a ValueError then.  `always`: that there has to be an item, of which this is NumPy's text.
        """
        whole = self.whole()
        if not always and whole.ndim == 1 and whole.element is DTYPES["f64"]:
            return whole
        some = symint(whole.dims[0]) > 0
        if some is True:
            return whole
        if some is False and not always:
            return empty((0,), "f64")
        here = f"{whole.element.numpy} of rank {whole.ndim}"
        text = always or f"of a list without items NumPy makes float64 of rank 1, this code {here}: ask for its len()"
        return apply("require", whole, some, text=text)

    @property
    def are_records(self) -> bool:
        """Whether all items are tuples or lists of numbers."""
        return self.appending is None and all(_is_of_tuples(part) or is_record(part) for part in self.parts())

    def records(self) -> tuple[Any, list[GrowingList]] | None:
        """Where items are tuples or lists of numbers: such an item, and lists of their first parts, second parts, …"""
        if not any(_is_of_tuples(part) for part in self.parts()):
            return None
        found = self._columns()
        if found is None:
            self._refuse_several()
        return found

    def _columns(self) -> tuple[Any, list[GrowingList]] | None:
        """`records`, of items of which no loop may have appended any; None where they are of several forms."""
        form: Any = None
        columns: list[GrowingList] = []
        for part in self.parts():
            if _is_of_tuples(part):
                of, kind = part.columns, part.form
            elif is_record(part):
                of, kind = part, [] if isinstance(part, list) else ()
            else:
                return None
            if form is None:
                form, columns = kind, [GrowingList() for _ in of]
            if len(of) != len(columns) or type(kind) is not type(form):
                return None
            for column, value in zip(columns, of):
                column.add(value) if isinstance(value, Stack) else list.append(column, value)
        return None if form is None else (form, columns)

    def item_types(self) -> ItemTypes | None:
        """Of which types its items are; None where they are neither numbers nor tuples or lists of numbers, or of
        several types that no dtype holds."""
        if self.appending is not None or self._has_lists:
            return None
        form, columns = (None, [self]) if self.commons() is not None else self._columns() or (None, [])
        made: list[Common] = []
        for column in columns:
            commons = column.commons()
            if commons is None:
                return None
            common = next(iter(commons), None)
            for other in commons[1:]:
                common = None if common is None else common.joined_with(other)
            if common is None and commons:
                return None
            made += [] if common is None else [common]
        return ItemTypes(form, tuple(made)) if columns else None

    def commons(self) -> list[Common] | None:
        """Of which types the numbers are that its parts are; None where some are no numbers."""
        found: list[Common] = []
        for part in self.parts():
            if isinstance(part, Stack) and part.depth > 1:
                return None
            if isinstance(part, Records) and isinstance(part.form, Kinds):
                found.append(part.form.spec)
            elif isinstance(part, Stack):
                if isinstance(part, Records) or part.room.ndim > 1:
                    return None
                found.append(Common.of_items(part.room, part.weak))
            elif is_record((part,)):
                found.append(Common.of(part))
            else:
                return None
        return None if self.appending is not None else found

    def runs(self) -> Iterator[GrowingList]:
        """Lists of its items one after another, each of all that one loop appended or of items that Python knows."""
        for stacked, parts in itertools.groupby(self.parts(), lambda part: isinstance(part, Stack)):
            for run in ([part] for part in parts) if stacked else [parts]:
                made = GrowingList()
                made.set_parts(run)
                yield made

    def _refuse_several(self) -> NoReturn:
        with located():
            raise OpError(
                "a list that a compiled loop or branch fills has items of types that no dtype holds exactly",
                "give it items of one type, as float(…) makes them",
                "TX0315",
            )

    def at(self, i: Any) -> Any:
        """Item number `i`, which may be a run-time int."""
        item = self._at(i)
        if isinstance(item, FixedList):
            item.made_at = self.made_at
        return item

    def _at(self, i: Any) -> Any:
        parts = self.parts()
        if self.appending is not None:
            now = self.appending
            known = now.is_known and not now.around and now.each == 1 and not isinstance(now.stack, Records)
            if not (isinstance(i, int) and i == -1) or not parts or isinstance(parts[-1], Stack) or not known:
                self._unknown()
            return parts[-1] if len(parts) > now.before else now.previous(parts[-1])
        if len(parts) == 1:
            return parts[0].at(i)
        if isinstance(i, int) and -len(parts) <= i < len(parts):
            passed = parts[: i + 1] if i >= 0 else parts[i:]
            if not any(isinstance(part, Stack) for part in passed):
                return parts[i]
        if (found := self.records()) is not None:
            form, columns = found
            return made_like(form, [c.at(i) for c in columns])
        if self.commons() is not None:
            return self.numbers().at(i)
        if any(isinstance(part, list) or (isinstance(part, Stack) and part.depth > 1) for part in parts):
            self._unknown()
        if len({_element(part) for part in parts}) > 1:
            self._refuse_several()
        return self.whole()[i]

    def __getitem__(self, key: Any) -> Any:
        if not self.stacked:
            places = is_known_later(key) and len(self) > 1 and self.commons() is not None
            return self.numbers().at(as_tensor(key)) if places else super().__getitem__(key)
        if is_integer(key) or isinstance(key, Tensor):
            return self.at(key)
        if isinstance(key, slice) and self.appending is None:
            parts, made = self.parts(), GrowingList()
            made.add((parts[0] if len(parts) == 1 else self.all_items()).part(key))
            made.made_at = self.made_at
            return made
        return self._unknown()

    def __iter__(self) -> Iterator[Any]:
        """The items one by one, where Python asks for them: how many becomes a fact."""
        if not self.stacked:
            return super().__iter__()
        return iter([self.at(i) for i in range(len(self))])

    def __len__(self) -> int:
        """For Python itself: the number becomes a fact."""
        if not self.stacked:
            return super().__len__()
        if self.appending is not None:
            self._unknown()
        trace, length = require(), self.length
        if isinstance(length, int):
            return length
        if trace.is_bound(length.dim) or trace.table.varies(length.dim):
            self._unknown()
        return int(length)

    def __add__(self, other: Any) -> Any:
        if not self.stacked and not getattr(other, "stacked", False):
            return NotImplemented if isinstance(other, Tensor) else GrowingList(super().__add__(other))
        if self.appending is not None or getattr(other, "appending", None) is not None or not isinstance(other, list):
            return self._unknown()
        made = GrowingList()
        made.set_parts([*self.parts_now(), *(other.parts_now() if isinstance(other, GrowingList) else other)])
        return made

    def numbers(self) -> Stack:
        """All items, which are numbers, as one stack."""
        if not self.parts() or self.commons() is None:
            self._unknown()
        return self.all_items()

    def movable(self) -> Stack:
        """All items, numbers or tuples or lists of numbers, as one stack; refused of what loops append of others."""
        if not self.parts() or (self.commons() is None and not self.are_records) or self._has_lists:
            self._unknown()
        return self.all_items()

    @property
    def _has_lists(self) -> bool:
        """Whether items are lists that others may refer to, so that what happens to these happens to the items."""
        return any(isinstance(part, list) for part in self.parts())

    def all_items(self) -> Stack:
        """All items, numbers or tuples of numbers, as one stack."""
        if self.appending is not None:
            self._unknown()
        found = together(self.parts())
        if found is None:
            self._refuse_several()
        return found if found.present is None else found.part(slice(None))

    def vectors(self, types: ItemTypes, label: str, fork: Callable[..., Any]) -> list[Tensor]:
        """The vectors in which its items are, as such of `types`: of numbers their values and, where they may be of
        several types, the numbers of their types."""
        none = types.empty(label, fork)
        if not self.parts():
            return [leaf.room for leaf in none.leaves]
        both = alike([Item.of(none), Item.of(self.movable())])
        assert both is not None
        return [Tensor(leaf.array.value) for leaf in both[1].leaves]

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.stacked and not is_known_later(key):
            super().__setitem__(key, value)
            return
        if isinstance(value, list) and not isinstance(key, slice):
            with located():
                text = "a list in a list of lists is replaced, which others may refer to"
                raise OpError(text, "make an array of it: rows change places by a[[i, j]] = a[[j, i]]", "TX0315")
        numbers = self.movable()
        if isinstance(key, (Tensor, SymInt)):
            key = inside(key, symint(numbers.count), "list assignment")
        if isinstance(key, slice) or not (is_record((value,)) or (isinstance(value, tuple) and is_record(value))):
            self._unknown()
        both = alike([Item.of(numbers), Item.of(value)])
        if both is None:
            self._refuse_several()
        items, item = both
        rooms = [Tensor(leaf.array.value) for leaf in items.leaves]
        for room, leaf in zip(rooms, item.leaves):
            room[key] = leaf.array
        self.set_parts([items.stack(iter([Stack(room, leaf.weak) for room, leaf in zip(rooms, items.leaves)]))])

    def pop(self, at: Any = -1) -> Any:
        if not self.stacked and not isinstance(at, Tensor):
            return super().pop(at)
        items = self.movable()
        count = symint(items.count)
        if isinstance(at, int) and at in (0, -1):
            some = count > 0
            if some is False:
                raise IndexError(self.empty_text)
            item = items.at(checked(as_tensor(at), some, IndexError, self.empty_text))
            self.set_parts([items.part(slice(1, None) if at == 0 else slice(None, -1))])
            return item
        place = inside(at, count, "pop")
        item = items.at(place)
        here = arange(count)[1:] - 1
        self.set_parts([items.in_order(apply("select", here < place, here, here + 1))])
        return item

    def insert(self, at: Any, item: Any) -> None:
        if not self.stacked and not isinstance(at, Tensor):
            super().insert(at, item)
            return
        items = self.movable() if self.parts() else None
        both = together([item] if items is None else [items, item])
        if both is None:
            self._refuse_several()
        here, count = arange(both.rows.shape[0]), both.rows.shape[0] - 1
        place = as_tensor(at)
        place = apply("select", place < 0, apply("cwise_max", place + count, 0), apply("cwise_min", place, count))
        order = apply("select", here < place, here, apply("select", apply("equal", here, place), count, here - 1))
        self.set_parts([both.in_order(order)])

    def __delitem__(self, key: Any) -> None:
        if not self.stacked and not isinstance(key, Tensor):
            super().__delitem__(key)
        elif isinstance(key, slice):
            self._unknown()
        else:
            self.pop(key)

    def reverse(self) -> None:
        if not self.stacked:
            super().reverse()
            return
        self.set_parts([self.movable().part(slice(None, None, -1))])

    def extend(self, items: Any) -> None:
        if not self.stacked and not getattr(items, "stacked", False):
            super().extend(items)
            return
        self.set_parts((self + items).parts())

    def __iadd__(self, items: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.extend(items)
        return self

    def copy(self) -> GrowingList:
        made = GrowingList()
        made.set_parts(self.parts_now() if self.appending is None else self._unknown())
        made.made_at = self.made_at
        return made

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """By NumPy itself, where all that the lists have is known; else as a function of tensors."""
        args, kwargs = _plain(args), {name: _plain(value) for name, value in kwargs.items()}
        if any(map(is_traced, (*args, *kwargs.values()))):
            with located():
                return Tensor.functions.function(function, args, kwargs)
        return function(*args, **kwargs)

    def _unknown(self) -> Any:
        raise unknown_length() if self.appending is None else ByItems(self, unknown_length())


class FixedList(GrowingList):
    """An item of a list of lists, made anew each time that it is asked for.

    It is a row of arrays, and stores into it go there, where the list of lists is one of `Trace.tables`; else nobody
    may change it.
    """

    @property
    def is_row(self) -> bool:
        return self._types_of_table() is not None

    def _types_of_table(self) -> Common | None:
        tables = require().tables
        return None if tables is None or self.made_at is None else tables.get(self.made_at)

    def __setitem__(self, key: Any, value: Any) -> None:
        common = self._common_with(value)
        if self.made_at is None or common is None or not (is_integer(key) or is_known_later(key)):
            self._fixed()
        if self._types_of_table() != common:
            raise AsTable(self.made_at, common)
        (part,) = self.parts()
        place = inside(key, symint(part.count), "list assignment")
        both = alike([Item.of(part), Item.of(value)])
        assert both is not None
        for leaf, item in zip(part.leaves, both[1].leaves):
            leaf.room[place] = item.array

    def _common_with(self, value: Any) -> Common | None:
        """The types of numbers in it and of another one; None where it has other things."""
        known = self.commons() if is_record((value,)) else None
        if not known or require().tables is None:
            return None
        kinds = [kind for common in [*known, Common.of(value)] for kind in common.kinds]
        common = self._types_of_table() or Common.of_kind(kinds[0])
        for kind in kinds:
            joined = common.joined_with(Common.of_kind(kind))
            if joined is None:
                self._refuse_several()
            common = joined
        return common

    def __getitem__(self, key: Any) -> Any:
        return self.copy()[key] if isinstance(key, slice) and self.is_row else super().__getitem__(key)

    def parts_now(self) -> list[Any]:
        if not self.is_row:
            return self.parts()
        return [part.with_leaves(Stack(Tensor(leaf.rows.value), leaf.weak, leaf.depth) for leaf in part.leaves)
                for part in self.parts()]  # fmt: skip

    def _fixed(self, *_: Any) -> NoReturn:
        with located():
            text = "a list changes that is an item of another one, and only the compiled function knows which"
            raise OpError(text, "make it complete before, or store into an array", "TX0315")

    append = insert = _fixed  # pyright: ignore[reportAssignmentType]

    def extend(self, items: Any) -> None:
        self._fixed()


def _element(part: Any) -> DType:
    """The dtype of a part of a list: an item, or the items of a loop."""
    return (part.room if isinstance(part, Stack) else as_tensor(part)).element


def _is_of_tuples(part: Any) -> TypeGuard[Records]:
    """Whether a part of a list is the items of a loop that are tuples or lists."""
    return isinstance(part, Records) and not isinstance(part.form, Kinds)


def _elements(part: Any) -> list[DType]:
    """The dtypes of which NumPy finds items in a part of a list."""
    if isinstance(part, Records):
        if isinstance(part.form, Kinds):
            return [kind.element for kind in part.form.spec.kinds]
        return [element for column in part.columns for element in _elements(column)]
    if is_record(part):
        return [element for of in part for element in _elements(of)]
    return [kind.element for kind in part.kinds] if isinstance(part, MixedNumber) else [_element(part)]


def _present(part: Any) -> list[tuple[DType, Any]]:
    """These dtypes, and whether there are items of each: a bool, or a condition."""
    if isinstance(part, MixedNumber):
        return [(kind.element, is_of(part, kind)) for kind in part.kinds]
    if not isinstance(part, Stack):
        return [(element, True) for element in _elements(part)]
    if isinstance(part, Records):
        if not isinstance(part.form, Kinds):
            return [found for column in part.columns for found in _present(column)]
        tags = part.columns[1].rows
        kinds = enumerate(part.form.spec.kinds)
        return [(kind.element, Tensor(Kinds.is_kind(tags, k).any().value)) for k, kind in kinds]
    some = symint(part.count) > 0 if part.present is None else Tensor(part.present.any().value)
    return [(part.room.element, some)]


def _plain(argument: Any) -> Any:
    """An argument of NumPy's with lists of Python's, or arrays, in the place of lists that staged code made."""
    if isinstance(argument, GrowingList):
        return argument.as_array() if argument.stacked else [*map(_plain, argument.parts())]
    return type(argument)(map(_plain, argument)) if type(argument) in (tuple, list) else argument


def _of_items(name: str) -> Callable[..., Any]:
    plain = getattr(list, name)

    def method(self: GrowingList, *args: Any, **kwargs: Any) -> Any:
        made = self._unknown() if self.stacked else plain(self, *args, **kwargs)
        return GrowingList(made) if type(made) is list else made

    method.__name__ = name
    return method


for _name in (
    "__contains__", "__eq__", "__ge__", "__gt__", "__imul__", "__le__", "__lt__", "__mul__", "__ne__",
    "__reversed__", "__rmul__", "count", "index", "remove", "sort",
):  # fmt: skip
    setattr(GrowingList, _name, _of_items(_name))
for _name in ("__delitem__", "__iadd__", "__imul__", "clear", "pop", "remove", "reverse", "sort"):
    setattr(FixedList, _name, FixedList._fixed)
