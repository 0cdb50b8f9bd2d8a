"""Variables that refer to one array or another, as compiled code decides.

An `if` decides between known ones (`Choice`).  What the iterations of a loop did may leave a variable with an array
of its own or with one of others (`PerhapsOfOthers`), which is as good while nobody stores into either.
"""

from __future__ import annotations

from collections.abc import Sequence

from .....dialects.dims.dims import Dim
from .....dialects.registry import OpError
from ....diagnostics import TxcError, user_loc
from ...indexing.data_dependent_sizes import resized
from ...tensor.apply import apply
from ...tensor.tensor import Tensor
from ...tensor.views.composite_views import Derived, in_scope, roots
from ...tensor.views.strides import strides_of
from ...trace.graph import Value

__all__ = ["Choice", "PerhapsOfOthers", "is_same_place", "options_of"]


class Choice(Derived):
    """One of several arrays, of which exactly one has a condition that is true: stores go to that one alone.

    `chosen` is its value while none of them is stored into.  A choice among choices is one of the arrays that these
    choose from, so that however often branches swap variables, it has as many options as there are arrays.
    """

    __slots__ = ("_of", "options")

    def __init__(self, options: Sequence[tuple[Tensor, Tensor]], chosen: Tensor):
        super().__init__(chosen.value, layout=chosen.layout, boxed=chosen.boxed)
        self.options = options
        #: What the options were when `chosen` was.
        self._of = [array.value for array, _ in options]

    @classmethod
    def where(cls, cond: Tensor, first: Tensor, second: Tensor, chosen: Tensor) -> Choice:
        """The first where `cond` is true, else the second; both may be choices."""
        holds: dict[Tensor, Tensor] = {}
        for side, array in ((cond, first), (apply("logical_not", cond), second)):
            options = array.options if isinstance(array, Choice) else [(array, None)]
            for option, chosen_there in options:
                there = side if chosen_there is None else apply("logical_and", side, chosen_there)
                holds[option] = apply("logical_or", holds[option], there) if option in holds else there
        return cls([*holds.items()], chosen)

    @property
    def value(self) -> Value:
        present = [array.value for array, _ in self.options]
        if any(a is not b for a, b in zip(present, self._of)) or not in_scope(self._value):
            dims = self._value.type.dims
            made = resized(self.options[-1][0], dims)
            for array, cond in self.options[-2::-1]:
                made = apply("select", cond, resized(array, dims), made)
            self._value, self._of = made.value, present
        return self._value

    def sources(self) -> Sequence[Tensor]:
        return [array for array, _ in self.options]

    def own_strides(self) -> tuple[Dim, ...] | None:
        first, *others = (strides_of(array) for array, _ in self.options)
        return first if all(strides == first for strides in others) else None

    def replace(self, after: Value, before: Value, through: Tensor) -> None:
        new = Tensor(after, layout=self.layout)
        frozen = [array.reads_only for array, _ in self.options]
        if any(frozen):  # Python raises this error only where the array is one of those
            code = "TX0220" if all(frozen) else "TX0291"
            raise OpError("a store into one of several arrays, of which one is read-only", "copy() it first", code)
        for array, _ in self.options:
            if isinstance(array, PerhapsOfOthers):
                raise array.unknown()
        # They may share memory: what one holds now is what the stores before it left there.
        for array, cond in self.options:
            array.store(apply("select", cond, resized(new, array.dims), array))


def options_of(array: Tensor) -> Sequence[tuple[Tensor, Tensor | bool]]:
    """The arrays that one may be, each with where it is that.

    A view of a choice that a branch made, of arrays of one shape, is one of several views behind the branch.
    """
    whole, steps = array, []
    while whole._parent is not None:
        steps.append((whole._op, whole.view_attrs))
        whole = whole._parent
    if not isinstance(whole, Choice):
        return [(array, True)]
    if steps and any(option.dims != whole.dims for option, _ in whole.options):
        return [(array, True)]
    found: list[tuple[Tensor, Tensor | bool]] = []
    for option, cond in whole.options:
        for op, attrs in reversed(steps):
            option = option._view(op, attrs)
        found.append((option, cond))
    return found


def is_same_place(a: Tensor, b: Tensor) -> bool:
    """Whether two arrays are one, or views of the same elements of one."""
    if a is b:
        return True
    if a._parent is not None and b._parent is not None and a._op is b._op:
        if a.view_attrs == b.view_attrs and is_same_place(a._parent, b._parent):
            return True
    try:
        (owner, first), (other, second) = a.owner(), b.owner()
    except OpError:
        return False
    return owner is other and a.layout == b.layout and str(first) == str(second)


class PerhapsOfOthers(Derived):
    """An array that may be one of `others`, or a part of one: it can be read while none of them is stored into.

    `what` it may be is for the error where one is.
    """

    __slots__ = ("_hint", "_others", "_text", "_watched", "_where")

    def __init__(self, name: str, what: str, chosen: Tensor, others: Sequence[Tensor], hint: str):
        super().__init__(chosen.value, layout=chosen.layout, boxed=chosen.boxed)
        self._text, self._hint, self._where = f"{name} may be {what}", hint, user_loc()
        #: What it is a view of may be stored into as well.
        self._others = [*others, *(root for root in roots(chosen) if root is not chosen)]
        #: By identity: arrays into which nobody stores, with what they hold and who says so.
        self._watched: dict[int, tuple[Tensor, Value, PerhapsOfOthers]] = {}
        for other in self._others:
            held = other.value
            found = other._watched if isinstance(other, PerhapsOfOthers) else {id(other): (other, held, self)}
            self._watched |= {number: watched for number, watched in found.items() if number not in self._watched}

    def again(self, chosen: Tensor, others: Sequence[Tensor]) -> PerhapsOfOthers:
        """The same of an array, and of others, that stand for these."""
        made = PerhapsOfOthers("", "", chosen, others, self._hint)
        made._text, made._where = self._text, self._where
        return made

    @property
    def value(self) -> Value:
        for array, held, perhaps in self._watched.values():
            if array.value is not held:
                raise perhaps.unknown()
        return self._value

    def sources(self) -> Sequence[Tensor]:
        return self._others

    def own_strides(self) -> tuple[Dim, ...] | None:
        return None

    def replace(self, after: Value, before: Value, through: Tensor) -> None:
        raise self.unknown()

    def unknown(self) -> TxcError:
        """The error of a store into it, or into what it may be."""
        text = f"{self._text}, or a part of one, and one of the two is stored into"
        return TxcError(text, self._where or user_loc(), self._hint, "TX0291")
