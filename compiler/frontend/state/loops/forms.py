"""What iterations hand on that is no number: tuples, lists and dicts of a fixed structure, and one value or another.

A *form* is what a location holds before and after each iteration has in common.  Its *leaves* are what differs:
numbers, which the loop carries as it carries those of variables, and for each kind of value that there may be a bool
that says whether it is there.  What is not there is anything of its type.  A list of numbers of one type that gets
longer or shorter has its items as a vector, whose size changes.  An array from before the loop is no leaf: it is the
same one, or part of one, wherever it is; where it is one of several, a bool for each of them is.  Of an array that
iterations make there is a copy (`copies` says where that is as good as the array).
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ....call.signature import is_named, like
from ....diagnostics import TxcError, user_loc
from ...tensor.apply import apply, as_tensor
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.symint import SymInt
from ...trace.undefined import Undefined, Unusable
from ..alternatives.choice import is_same_place
from ..alternatives.mixed_numbers import Common, MixedNumber, common_value, is_of, kinds_of
from ..alternatives.one_of import MOST_OPTIONS, Method, OneOf, any_of, one_of_a_loop
from ..alternatives.resized import as_arrays
from ..containers.growing_lists import FixedList, GrowingList, ItemTypes, Stack
from ..containers.staged_deques import StagedDeque
from ..containers.staged_dicts import StagedDict
from ..sharing import is_array
from ..state import UNSET
from ..values import same_value
from .references import Noted, Reference, is_older, referred

__all__ = ["Arrays", "Form", "Items", "NoForm", "Number", "lacks_leaves", "lists_in", "options_in"]

#: `ControlFlow.fork_value`.
Again = Callable[..., Any]
#: The most leaves of one location.
_MOST_LEAVES = 64


class NoForm(Exception):
    """Values have nothing in common that a loop could carry."""


class Form:
    """What values of a location have in common; `label` is how messages call it."""

    #: The number of leaves.
    size = 0
    #: Those of them that are vectors, those that are arrays whose sizes may change, and all that are copies of arrays.
    vectors: Sequence[int] = ()
    resized: Sequence[int] = ()
    copies: Sequence[int] = ()

    def __init__(self, label: str):
        self.label = label

    @staticmethod
    def of(label: str, value: Any) -> Form:
        """The form of one value.  NoForm where that is none that a loop carries."""
        if isinstance(value, MixedNumber):
            return Number(label, Common.of(value))
        if isinstance(value, OneOf) and not isinstance(value, Method):
            (first, _), *rest = value.options
            form = Form.of(label, first)
            for other, _ in rest:
                form = form.joined(other)
            return form
        if isinstance(value, Tensor) and is_array(value):
            return _Fixed(label, value) if is_older(value) else Arrays.of(label, value)
        if isinstance(value, (Stack, StagedDeque, Unusable)) or (isinstance(value, FixedList) and value.is_row):
            raise NoForm
        if isinstance(value, (Tensor, SymInt)):
            return Number(label, Common.of(value))
        if isinstance(value, GrowingList) and value.stacked:
            return Items.of(label, value)
        if isinstance(value, (tuple, list, dict)):
            if not (is_named(value) or type(value) in (tuple, list, dict, GrowingList, StagedDict)):
                raise NoForm
            return _Parts(label, value)
        return _Fixed(label, value)

    def joined(self, value: Any, head: Any = None) -> Form:
        """The form of what has this form and of another value; itself where that has it too.

        `head` is what an iteration began with, of which a number may be one: that has the form.
        """
        if isinstance(value, MixedNumber) and isinstance(head, Tensor) and len(kinds_of(head)) == 1:
            value = value.beside(head)
        if isinstance(value, Method):
            raise NoForm
        if isinstance(value, OneOf) and not isinstance(value, MixedNumber):
            form: Form = self
            for option in options_in(value):
                form = form.joined(option)
            return form
        found = self._with(value)
        made = _Either(self.label, [self, Form.of(self.label, value)]) if found is None else found
        if made.size > _MOST_LEAVES:
            raise NoForm
        return made

    def _with(self, value: Any) -> Form | None:
        """`joined` of a value, that is not one of several, where the two are of one kind; else None."""
        raise NotImplementedError

    def leaves(self, value: Any, instead: Iterator[Any], again: Again) -> list[Any]:
        """The leaves of a value that has the form; of what is not there, those that stand `instead`.

        `again` is `ControlFlow.fork_value`.
        """
        others = [next(instead) for _ in range(self.size)]
        if value is UNSET and self._with(value) is not self:  # a flag says so, and the value is any
            return others
        several = isinstance(value, OneOf) and not isinstance(value, MixedNumber)
        return self._leaves(value.options if several else [(value, None)], others, again)

    def _leaves(self, values: Sequence[tuple[Any, Any]], instead: Sequence[Any], again: Again) -> list[Any]:
        """The leaves of one of some values of this kind, each with its condition."""
        found = instead
        for value, cond in values:
            own = self._leaves_of(value, iter(instead), again)
            found = own if found is instead else [_chosen(cond, *both) for both in zip(own, found)]
        return [*found]

    def _leaves_of(self, value: Any, instead: Iterator[Any], again: Again) -> list[Any]:
        """`leaves` of a value that is not one of several."""
        raise NotImplementedError

    def made(self, leaves: Iterator[Any], again: Again) -> Any:
        """The value that has these leaves; an Undefined leaf where no iteration has said what is there.

        `again` is `ControlFlow.fork_value`.
        """
        raise NotImplementedError

    def copied(self, value: Any) -> Iterator[tuple[int, Tensor]]:
        """The arrays of a value that has the form of which there are copies, each with the number of that leaf."""
        return iter(())

    def starts(self, value: Any, again: Again) -> list[Any]:
        """The leaves before the loop, Undefined where nothing is there."""
        return self.leaves(value, iter([Undefined(self.label)] * self.size), again)


class _Fixed(Form):
    """One value that cannot change, the same in all iterations; or one array from before the loop."""

    def __init__(self, label: str, value: Any):
        super().__init__(label)
        self.value = value

    def _with(self, value: Any) -> Form | None:
        if is_array(value) and is_array(self.value):
            return self if is_same_place(value, self.value) else Arrays.of(self.label, self.value)._with(value)
        if is_array(value) or is_array(self.value):
            return None
        if value is self.value or same_value(value, self.value):
            return self
        return Number(self.label, Common.of(self.value))._with(value) if kinds_of(self.value) else None

    def _leaves_of(self, value: Any, instead: Iterator[Any], again: Again) -> list[Any]:
        return []

    def made(self, leaves: Iterator[Any], again: Again) -> Any:
        return self.value


class Arrays(Form):
    """One of some arrays: one from before the loop as itself, others as copies, of which there is one of each type.

    Where it may be several there is a bool for each in front of the copies.
    """

    def __init__(self, label: str, reference: Reference):
        super().__init__(label)
        self.reference = reference
        own, several = len(reference.own), len(reference.shared) + len(reference.own)
        self._conds = 0 if several == 1 else several
        self.size = self._conds + own
        self.resized = [self._conds + k for k in reference.resized]
        self.copies = range(self._conds, self.size)

    @staticmethod
    def of(label: str, value: Any) -> Form:
        """The form of one array.  NoForm where a loop cannot carry it."""
        made = Arrays(label, Reference(label, None))._with(value)
        if made is None:
            raise NoForm
        return made

    def _with(self, value: Any) -> Form | None:
        arrays = referred(value)
        if arrays is None:
            return None
        reference = self.reference
        for array, _ in arrays:
            if reference.number_of(array) is None:
                if reference is self.reference:
                    reference = reference.copy()
                if not reference.learn(array):
                    raise NoForm
        return self if reference is self.reference else Arrays(self.label, reference)

    def _leaves(self, values: Sequence[tuple[Any, Any]], instead: Sequence[Any], again: Again) -> list[Any]:
        noted = Noted(self.reference)
        for value, cond in values:
            arrays = referred(value)
            assert arrays is not None
            numbers = {self.reference.number_of(array) for array, _ in arrays}
            if len(arrays) > 1 and len(numbers) == 1 and is_array(value):
                arrays = [(value, None)]  # it is chosen already
            for array, of in arrays:
                there = of if cond is None else cond if of is None else apply("logical_and", cond, of)
                if not self.reference.note(noted, array, there) and not self.reference.note_own(noted, array, there):
                    raise self._not_followed()
        carried = self.reference.carried(noted, instead[self._conds :], again)
        return carried[len(carried) - self.size :]

    def copied(self, value: Any) -> Iterator[tuple[int, Tensor]]:
        for array, _ in referred(value) or ():
            number = self.reference.number_of(array)
            if number is None:
                raise self._not_followed()
            if number >= len(self.reference.shared):
                yield self._conds + number - len(self.reference.shared), array

    def made(self, leaves: Iterator[Any], again: Again) -> Any:
        carried = [next(leaves) for _ in range(self.size)]
        if not self._conds:
            carried = [True, *carried]
        elif isinstance(carried[0], Undefined):
            return carried[0]
        return self.reference.value(carried, again)

    def _not_followed(self) -> TxcError:
        """For an array that came to be in a value without the value becoming another one: ``a[0] = y``."""
        text = f"{self.label!r} gets an array in a loop of compiled code, into which it or another variable stores"
        return TxcError(text, user_loc(), "copy() the array that it gets", "TX0291")


class Number(Form):
    """A number: its value and, where it may be of several types, a bool for each."""

    def __init__(self, label: str, common: Common):
        super().__init__(label)
        self.common = common
        self.size = 1 if len(common.kinds) == 1 else 1 + len(common.kinds)

    def _with(self, value: Any) -> Form | None:
        found = self.common.joined(value) if kinds_of(value) else None
        return self if found is self.common else None if found is None else Number(self.label, found)

    def _leaves_of(self, value: Any, instead: Iterator[Any], again: Again) -> list[Any]:
        if self.size == 1:
            return [value]
        return [common_value(value, self.common.element), *(is_of(value, kind) for kind in self.common.kinds)]

    def made(self, leaves: Iterator[Any], again: Again) -> Any:
        value, *conds = (next(leaves) for _ in range(self.size))
        if not conds or isinstance(value, Undefined):
            return value
        return MixedNumber(self.label, value, self.common, [*map(as_tensor, conds)], again)


class _Parts(Form):
    """A tuple, list or dict, by its parts; of lists and dicts nothing else refers to that."""

    def __init__(self, label: str, value: Any, parts: Sequence[Form] | None = None):
        super().__init__(label)
        self.value, self.keys = value, _keys(value)
        if parts is None:
            parts = [Form.of(f"{label}[{k!r}]", part) for k, part in zip(self.keys, _parts(value))]
        self.parts = parts
        self.size = sum(part.size for part in parts)
        self.vectors = _behind(parts, 0, lambda part: part.vectors)
        self.resized = _behind(parts, 0, lambda part: part.resized)
        self.copies = _behind(parts, 0, lambda part: part.copies)

    def _with(self, value: Any) -> Form | None:
        if not isinstance(value, (tuple, list, dict)) or _kind(value) is not _kind(self.value):
            return None
        if isinstance(value, GrowingList) and (value.stacked or len(value) != len(self.keys)):
            return _as_items(self.label, self.value, value)
        if _keys(value) != self.keys:
            return None
        parts = [form.joined(part) for form, part in zip(self.parts, _parts(value))]
        return self if all(a is b for a, b in zip(parts, self.parts)) else _Parts(self.label, self.value, parts)

    def _leaves_of(self, value: Any, instead: Iterator[Any], again: Again) -> list[Any]:
        return [leaf for form, part in zip(self.parts, _parts(value)) for leaf in form.leaves(part, instead, again)]

    def copied(self, value: Any) -> Iterator[tuple[int, Tensor]]:
        for (begin, form), part in zip(_begins(self.parts, 0), _parts(value)):
            for option in options_in(part):
                yield from ((begin + k, array) for k, array in form.copied(option))

    def made(self, leaves: Iterator[Any], again: Again) -> Any:
        parts = [form.made(leaves, again) for form in self.parts]
        if isinstance(self.value, dict):
            return StagedDict(zip(self.keys, parts))
        return GrowingList(parts) if isinstance(self.value, list) else like(self.value, parts)


class Items(Form):
    """A list of numbers, or of tuples or lists of numbers, of which there may be any number."""

    def __init__(self, label: str, types: ItemTypes):
        super().__init__(label)
        self.types, self.size = types, types.size
        self.vectors = range(self.size)

    @staticmethod
    def of(label: str, value: Any) -> Items:
        types = value.item_types() if isinstance(value, GrowingList) and require().binds else None
        if types is None:
            raise NoForm
        return Items(label, types)

    def _with(self, value: Any) -> Form | None:
        if type(value) is not GrowingList:
            return None
        try:
            types = self.types.joined(Items.of(self.label, value).types)
        except NoForm:
            return None
        return self if types is self.types else None if types is None else Items(self.label, types)

    def _leaves(self, values: Sequence[tuple[Any, Any]], instead: Sequence[Any], again: Again) -> list[Any]:
        if not self.size or not values:
            return [*instead]
        columns = zip(*(value.vectors(self.types, self.label, again) for value, _ in values))
        if len(values) == 1:
            return [vector for (vector,) in columns]
        conds = [cond for _, cond in values]
        return [*as_arrays([OneOf(self.label, "", "", [*zip(vectors, conds)], again) for vectors in columns])]

    def made(self, leaves: Iterator[Any], again: Again) -> Any:
        made = GrowingList()
        if self.size:
            vectors = [next(leaves) for _ in range(self.size)]
            undefined = next((vector for vector in vectors if isinstance(vector, Undefined)), None)
            if undefined is not None:
                return undefined
            made.add(self.types.stack(vectors, self.label, again))
        return made


class _Either(Form):
    """One of several forms, with a bool for each in front of its leaves."""

    def __init__(self, label: str, options: Sequence[Form]):
        super().__init__(label)
        if len(options) > MOST_OPTIONS:
            raise NoForm
        self.options = options
        self.size = sum(1 + option.size for option in options)
        self.vectors = _behind(options, 1, lambda option: option.vectors)
        self.resized = _behind(options, 1, lambda option: option.resized)
        self.copies = _behind(options, 1, lambda option: option.copies)

    def _with(self, value: Any) -> Form | None:
        for k, option in enumerate(self.options):
            found = option._with(value)
            if found is not None:
                options = [*self.options[:k], found, *self.options[k + 1 :]]
                return self if found is option else _Either(self.label, options)
        return _Either(self.label, [*self.options, Form.of(self.label, value)])

    def _leaves(self, values: Sequence[tuple[Any, Any]], instead: Sequence[Any], again: Again) -> list[Any]:
        found: list[Any] = []
        placed = 0
        for option in self.options:
            own = [(value, cond) for value, cond in values if _has(option, value)]
            placed += len(own)
            found.append(any(cond is None for _, cond in own) or any_of([cond for _, cond in own]))
            found += option._leaves(own, instead[len(found) : len(found) + option.size], again)
        if placed != len(values):  # a list has other items now than when the form was found
            text = f"{self.label!r} is of one kind or another before an iteration, and of yet another after it"
            raise TxcError(text, user_loc(), "keep values of one kind in it", "TX0315")
        return found

    def copied(self, value: Any) -> Iterator[tuple[int, Tensor]]:
        for begin, option in _begins(self.options, 1):
            if _has(option, value):
                yield from ((begin + k, array) for k, array in option.copied(value))

    def made(self, leaves: Iterator[Any], again: Again) -> Any:
        options: list[tuple[Any, Tensor]] = []
        for option in self.options:
            cond = next(leaves)
            value = option.made(leaves, again)
            if not lacks_leaves(value):
                options.append((value, as_tensor(cond)))
        return one_of_a_loop(self.label, options, again)


def _as_items(label: str, value: Any, other: Any) -> Form | None:
    """The form of two lists of numbers of one type; None where these are none."""
    try:
        return Items.of(label, value)._with(other)
    except NoForm:
        return None


def _begins(forms: Sequence[Form], before: int) -> Iterator[tuple[int, Form]]:
    """Forms one behind another, each behind some other leaves, with the number of its first one."""
    at = 0
    for form in forms:
        yield at + before, form
        at += before + form.size


def _behind(forms: Sequence[Form], before: int, which: Callable[[Form], Sequence[int]]) -> list[int]:
    """Some of the leaves of each of such forms, by their numbers among all."""
    return [begin + k for begin, form in _begins(forms, before) for k in which(form)]


def _kind(value: Any) -> type:
    return list if isinstance(value, list) else dict if isinstance(value, dict) else type(value)


def _keys(value: Any) -> list[Any]:
    """The keys of a container's parts; NoForm where these are not known."""
    if isinstance(value, GrowingList) and value.stacked:
        raise NoForm
    if isinstance(value, StagedDict) and value.missing:
        raise NoForm
    return list(value) if isinstance(value, dict) else list(range(len(value)))


def _parts(value: Any) -> Sequence[Any]:
    return [*dict.values(value)] if isinstance(value, dict) else [*value]


def _has(form: Form, value: Any) -> bool:
    """Whether a value is of the kind of an option."""
    return form._with(value) is form


def _chosen(cond: Any, one: Any, other: Any) -> Any:
    """A leaf that is `one` where `cond` is true; of two of which one is Undefined, and so is never there, the other."""
    if one is other or isinstance(other, Undefined):
        return one
    return other if isinstance(one, Undefined) else apply("select", cond, one, other)


def lacks_leaves(value: Any) -> bool:
    """Whether a value has a leaf that no iteration has given yet."""
    if isinstance(value, GrowingList) and value.stacked:
        return False
    if isinstance(value, (tuple, list, dict)):
        return any(lacks_leaves(part) for part in _parts(value))
    return isinstance(value, Undefined)


def options_in(value: Any) -> list[Any]:
    """What a value may be: itself, but for one of several of different kinds."""
    several = isinstance(value, OneOf) and not isinstance(value, MixedNumber)
    return [option for option, _ in value.options] if several else [value]


def lists_in(value: Any, deeply: bool = True) -> Iterator[Any]:
    """The lists and dicts that a value is or refers to, each as often as it does; `deeply`: also those in these."""
    if isinstance(value, OneOf):
        for option, _ in value.options:
            yield from lists_in(option, deeply)
    elif isinstance(value, (types.MethodType, types.BuiltinMethodType)):
        yield from lists_in(value.__self__, deeply)
    elif isinstance(value, (tuple, list, dict)):
        if not isinstance(value, tuple):
            yield value
        if isinstance(value, tuple) or (deeply and not getattr(value, "stacked", False)):
            for part in _parts(value):
                yield from lists_in(part, deeply)
