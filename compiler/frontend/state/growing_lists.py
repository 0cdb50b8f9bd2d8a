"""Lists to which loops of compiled code append: each iteration the same number of items of one type.

Where an `if` of compiled code decides whether something is appended, there is room for it in any case and a bool that
says whether it is there: the items are those rows whose bool is true, as many as values decide.

Behind such a loop the list has a `Stack` among its parts: the items that the loop appended, as the rows of one array.
It still is the list that it was, to which Python appends more; but how long it is only the compiled function knows, so
what Python would ask item by item is asked of all items as one array (`whole`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ....dialects.dims.dims import Dim, dim
from ....dialects.registry import OpError
from ....dialects.types import DTYPES, DType
from ...diagnostics import TxcError, located, user_loc
from ..numpy.creation import empty
from ..tensor.apply import apply, as_tensor, broadcast_to, cast, common_dtype, is_traced, stack
from ..tensor.tensor import Tensor
from ..trace.graph import Value
from ..trace.symint import SymInt, is_integer, symint
from .choice import PerhapsOfOthers

__all__ = ["ByItems", "GrowingList", "Item", "Stack", "stack_for", "unknown_length"]


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

    @property
    def count(self) -> Dim:
        return self.rows.dims[0]

    @property
    def rows(self) -> Tensor:
        if any(t.value is not was for t, was in zip(self.others, self._of)):
            with located():
                raise OpError(
                    f"an item of {self.shared_in} may be an array from before the loop, or a part of one, and one of "
                    "the two is stored into",
                    f"append a copy: {self.shared_in}.append(….copy())",
                    "TX0291",
                )
        return self.room if self.present is None else self.room[self.present]

    def at(self, i: Any) -> Any:
        """An item: a number, a view of its row, or a list."""
        row = self.rows[i]
        if self.depth > 1:
            made = FixedList()
            made.add(Stack(row, self.weak, self.depth - 1))
            return made
        if not row.ndim:
            return Tensor(row.value, weak=self.weak)
        if not self.shared_in:
            return row
        hint = f"append a copy: {self.shared_in}.append(….copy())"
        what = "an array from before the loop"
        return PerhapsOfOthers(f"an item of {self.shared_in}", what, row, self.others, hint)

    def flattened(self) -> Stack:
        """The items of what are rows of several here."""
        first, second, *rest = self.room.shape
        present = None if self.present is None else self.present.reshape(first * second)
        made = Stack(self.room.reshape((first * second, *rest)), self.weak, self.depth, present)
        made.share(self.others, self.shared_in)
        return made

    def part(self, key: slice) -> Stack:
        """Some of the items."""
        made = Stack(self.rows[key], self.weak, self.depth)
        made.share(self.others, self.shared_in)
        return made


class Records(Stack):
    """Items that are tuples or lists of numbers, as `form` is: a stack for each of their parts."""

    def __init__(self, form: Any, columns: Sequence[Stack]):
        super().__init__(columns[0].room, "", 1, columns[0].present)
        self.form, self.columns = form, [*columns]

    @property
    def leaves(self) -> Sequence[Stack]:
        return self.columns

    @property
    def count(self) -> Dim:
        return self.columns[0].count

    @property
    def rows(self) -> Tensor:
        """The rows of the matrix that NumPy makes of them."""
        rows = [c.rows for c in self.columns]
        element = common_dtype(rows)
        return apply("concatenate", *(cast(r, element).reshape((r.shape[0], 1)) for r in rows), axis=1)

    def at(self, i: Any) -> Any:
        return made_like(self.form, [c.at(i) for c in self.columns])

    def flattened(self) -> Stack:
        return Records(self.form, [c.flattened() for c in self.columns])

    def part(self, key: slice) -> Stack:
        return Records(self.form, [c.part(key) for c in self.columns])


class Item(NamedTuple):
    """What an iteration appends to a list, as an array; `several`: all that a loop inside it appends, as the rows.

    `present` and `others` are as in `Stack`.  One that is a tuple or list of numbers, as `form` is, has `columns`.
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
        return self.columns or (self,)

    def leaf_rows(self, leaf: Item) -> Tensor:
        """The rows of one of its leaves."""
        return leaf.array if self.several else stack([leaf.array])

    @staticmethod
    def of(value: Any) -> Item | None:
        """A number or array, a tuple or list of numbers, a list of such that loops made, or what a loop appends.

        None for what is neither.
        """
        if isinstance(value, Records):
            columns = tuple(item for c in value.columns if (item := Item.of(c)) is not None)
            return columns[0]._replace(columns=columns, form=value.form)
        if is_record(value):
            columns = tuple(Item(as_tensor(part), as_tensor(part).weak, 1) for part in value)
            return columns[0]._replace(columns=columns, form=[] if isinstance(value, list) else ())
        if isinstance(value, Stack):
            if value.shared_in and value.present is None:
                return None
            return Item(value.room, value.weak, value.depth, True, value.present, value.others)
        if isinstance(value, GrowingList):
            parts = value.parts()
            stacks = [part for part in parts if isinstance(part, Stack)]
            if len(stacks) != 1 or len(parts) != 1 or stacks[0].shared_in or stacks[0].present is not None:
                return None
            return Item(value.whole(), stacks[0].weak, 1 + stacks[0].depth)
        array = as_tensor(value)
        return Item(array, array.weak if not array.ndim else "", 1)


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
    """An item of a list of tuples or lists."""
    return FixedList(parts) if isinstance(form, list) else tuple(parts)


def is_record(value: Any) -> bool:
    """Whether a value is a tuple or list that has numbers, and nothing else."""
    if type(value) is not tuple and (type(value) is not GrowingList or value.stacked):
        return False
    return bool(value) and all(
        not (x.ndim or x.boxed)
        if isinstance(x, Tensor)
        else isinstance(x, (SymInt, bool, int, float, complex, np.generic))
        for x in value
    )


def together(values: Sequence[Any]) -> Stack | None:
    """What an iteration appends, some of it stacks, as one; None where the items are not of one type."""
    items = [Item.of(value) for value in values]
    known = [item for item in items if item is not None]
    if len(known) < len(items) or len({(len(item.leaves), type(item.form)) for item in known}) > 1:
        return None
    present = None
    if any(item.present is not None for item in known):
        bools = [
            broadcast_to(as_tensor(True), item.leaf_rows(item).dims[:1], "row")
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
    if known[0].columns:
        return Records(known[0].form, made)
    made[0].share([t for item in known for t in item.others], "")
    return made[0]


def unknown_length() -> TxcError:
    return TxcError(
        "a list that a compiled loop appends to is as long as only the compiled function knows",
        user_loc(),
        "make one array of it with np.array, loop over it with for, or return it",
        "TX0315",
    )


class ByItems(Exception):
    """A loop appends to a list in ways that need to know how many items there are; `error` is for who cannot."""

    def __init__(self, grown: GrowingList, error: TxcError):
        self.grown, self.error = grown, error


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
        inside = apply("cwise_max", as_tensor(at), 0)
        return apply("select", as_tensor(at) < 0, first, self.stack.at(inside))


class GrowingList(list[Any]):
    """A list that a staged function makes.  Its parts are items, and stacks of items where `stacked`."""

    stacked = False
    appending: Appending | None = None
    #: What Python says that it is.
    __class__ = property(lambda self: list)  # type: ignore[assignment]

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
        """All items as the rows of one array."""
        if self.appending is not None:
            self._unknown()
        rows: list[Tensor] = []
        single: list[Tensor] = []
        for part in [*self.parts(), None]:
            if single and (part is None or isinstance(part, Stack)):
                rows.append(stack(single))
                single = []
            if isinstance(part, Stack):
                rows.append(part.rows)
            elif part is not None:
                single.append(as_tensor(part))
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

    def records(self) -> tuple[Any, list[GrowingList]] | None:
        """Where items are tuples or lists of numbers: such an item, and lists of their first parts, second parts, …"""
        parts = self.parts()
        first = next((part for part in parts if isinstance(part, Records)), None)
        if first is None:
            return None
        columns = [GrowingList() for _ in first.columns]
        for part in parts:
            if isinstance(part, Records):
                of = part.columns
            elif is_record(part) and isinstance(part, list) is isinstance(first.form, list):
                of = part
            else:
                of = []
            if len(of) != len(columns):
                self._refuse_several()
            for column, value in zip(columns, of):
                column.add(value) if isinstance(value, Stack) else list.append(column, value)
        return first.form, columns

    def kinds(self) -> set[tuple[str, DType]] | None:
        """Of which types its items are: how weak, and the dtype; None where some are no numbers."""
        kinds: set[tuple[str, DType]] = set()
        for part in self.parts():
            if isinstance(part, Records) or not (isinstance(part, Stack) or is_record((part,))):
                return None
            if isinstance(part, Stack) and (part.depth > 1 or part.room.ndim > 1):
                return None
            kinds.add((part.weak, part.room.element) if isinstance(part, Stack) else _kind(part))
        return None if self.appending is not None else kinds

    def runs(self) -> Iterator[GrowingList]:
        """Lists of its items one after another, each of all that one loop appended or of items that Python knows."""
        for stacked, parts in itertools.groupby(self.parts(), lambda part: isinstance(part, Stack)):
            for run in ([part] for part in parts) if stacked else [parts]:
                made = GrowingList()
                made.set_parts(run)
                yield made

    @property
    def weak(self) -> str:
        """How weak all items are, where they are Python's numbers; OpError where not all items are of one type."""
        kinds = {(part.weak, part.room.element) if isinstance(part, Stack) else _kind(part) for part in self.parts()}
        if len(kinds) > 1:
            self._refuse_several()
        return next(iter(kinds))[0]

    def _refuse_several(self) -> NoReturn:
        with located():
            raise OpError(
                "the items of a list that a compiled loop or branch appends to are of several types",
                "append items of one type, or make one array of it with np.array",
                "TX0315",
            )

    def at(self, i: Any) -> Any:
        """Item number `i`, which may be a run-time int."""
        parts = self.parts()
        if self.appending is not None:
            now = self.appending
            known = now.is_known and not now.around and now.each == 1 and not isinstance(now.stack, Records)
            if i != -1 or not parts or isinstance(parts[-1], Stack) or not known:
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
        weak, row = self.weak, self.whole()[i]
        return row if row.ndim else Tensor(row.value, weak=weak)

    def __getitem__(self, key: Any) -> Any:
        if not self.stacked:
            return super().__getitem__(key)
        if is_integer(key) or isinstance(key, Tensor):
            return self.at(key)
        if isinstance(key, slice) and self.appending is None and len(parts := self.parts()) == 1:
            made = GrowingList()
            made.add(parts[0].part(key))
            return made
        return self._unknown()

    def __iter__(self) -> Iterator[Any]:
        """The items one by one, where Python asks for them: how many becomes a fact."""
        if not self.stacked:
            return super().__iter__()
        if self.appending is not None:
            self._unknown()
        return iter([self.at(i) for i in range(int(self.length))])

    def __len__(self) -> int:
        """For Python itself: the number becomes a fact."""
        if not self.stacked:
            return super().__len__()
        return int(self.length) if self.appending is None else self._unknown()

    def __add__(self, other: Any) -> Any:
        if not self.stacked and not getattr(other, "stacked", False):
            return NotImplemented if isinstance(other, Tensor) else GrowingList(super().__add__(other))
        if self.appending is not None or getattr(other, "appending", None) is not None or not isinstance(other, list):
            return self._unknown()
        made = GrowingList()
        made.set_parts([*self.parts(), *(other.parts() if isinstance(other, GrowingList) else other)])
        return made

    def _hold(self, vector: Tensor, weak: str) -> None:
        self.set_parts([Stack(vector, weak)])

    def _vector(self) -> tuple[Tensor, str]:
        """All items, which are numbers of one type, as a vector, and how weak they are."""
        kinds = self.kinds()
        if not kinds or len(kinds) > 1:
            self._unknown()
            self._refuse_several()
        return self.whole(), next(iter(kinds))[0]

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.stacked and not isinstance(key, Tensor):
            super().__setitem__(key, value)
            return
        vector, weak = self._vector()
        if isinstance(key, slice) or not is_record((value,)):
            self._unknown()
        if _kind(value) != (weak, vector.element):
            self._refuse_several()
        vector[key] = value
        self._hold(vector, weak)

    def pop(self, at: Any = -1) -> Any:
        if not self.stacked and not isinstance(at, Tensor):
            return super().pop(at)
        vector, weak = self._vector()
        if at != -1:
            self._unknown()
        last = Tensor(vector[-1].value, weak=weak)
        self._hold(vector[:-1], weak)
        return last

    def reverse(self) -> None:
        if not self.stacked:
            super().reverse()
            return
        vector, weak = self._vector()
        self._hold(vector[::-1], weak)

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
        made.set_parts(self.parts() if self.appending is None else self._unknown())
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
    """An item of a list of lists, made anew each time that it is asked for."""

    def _fixed(self, *_: Any) -> Any:
        with located():
            text = "a list that is an item of one that a compiled loop appends to changes"
            raise OpError(text, "make it complete in the loop, or store into an array", "TX0315")

    append = insert = _fixed

    def extend(self, items: Any) -> None:
        self._fixed()


def _kind(item: Any) -> tuple[str, DType]:
    """How weak an item is, and what it is of."""
    tensor = as_tensor(item)
    return tensor.weak, tensor.element


def _plain(argument: Any) -> Any:
    """An argument of NumPy's with lists of Python's, or arrays, in the place of lists that staged code made."""
    if isinstance(argument, GrowingList):
        return argument.as_array() if argument.stacked else [*map(_plain, argument.parts())]
    return type(argument)(map(_plain, argument)) if type(argument) in (tuple, list) else argument


def _of_items(name: str) -> Callable[..., Any]:
    plain = getattr(list, name)

    def method(self: GrowingList, *args: Any, **kwargs: Any) -> Any:
        return self._unknown() if self.stacked else plain(self, *args, **kwargs)

    return method


for _name in (
    "__contains__", "__delitem__", "__eq__", "__ge__", "__gt__", "__imul__", "__le__", "__lt__", "__mul__", "__ne__",
    "__reversed__", "__rmul__", "count", "index", "insert", "remove", "sort",
):  # fmt: skip
    setattr(GrowingList, _name, _of_items(_name))
for _name in ("__delitem__", "__iadd__", "__imul__", "__setitem__", "clear", "pop", "remove", "reverse", "sort"):
    setattr(FixedList, _name, FixedList._fixed)
