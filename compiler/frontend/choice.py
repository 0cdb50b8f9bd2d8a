"""Variables that refer to one array or another, as compiled code decides.

An `if` decides between two known ones (`Choice`).  What the iterations of a loop did may leave a variable with an array
of its own or with one of others (`PerhapsOfOthers`), which is as good while nobody stores into either.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.dims import Dim
from ...dialects.registry import OpError
from ..diagnostics import TxcError, user_loc
from .apply import apply
from .derived import Derived
from .graph import Value
from .tensor import Tensor

__all__ = ["Choice", "PerhapsOfOthers"]


class Choice(Derived):
    """The first of two arrays where `cond` is true, else the second: stores go to that one alone."""

    __slots__ = ("_cond", "_of", "_options")

    def __init__(self, cond: Tensor, options: Sequence[Tensor], chosen: Tensor):
        super().__init__(chosen.value, layout=chosen.layout, boxed=chosen.boxed)
        self._cond, self._options = cond, options
        #: What the options were when `chosen` was, which is the value until one of them is stored into.
        self._of = [t.value for t in options]

    @property
    def value(self) -> Value:
        present = [t.value for t in self._options]
        if any(a is not b for a, b in zip(present, self._of)):
            self._value, self._of = apply("select", self._cond, *self._options).value, present
        assert self._value is not None
        return self._value

    def sources(self) -> Sequence[Tensor]:
        return self._options

    def own_strides(self) -> tuple[Dim, ...] | None:
        return None

    def replace(self, after: Value, before: Value, through: Tensor) -> None:
        new = Tensor(after, layout=self.layout)
        first, second = self._options
        if first is second or any(t.reads_only for t in self._options):
            raise OpError("a store into one of two arrays, of which one is read-only", "copy() it first", "TX0220")
        first.store(apply("select", self._cond, new, first))
        # They may share memory: what the second one holds now is what the first store left there.
        second.store(apply("select", self._cond, second, new))


class PerhapsOfOthers(Derived):
    """An array that may be one of `others`, or a part of one: it can be read while none of them is stored into."""

    __slots__ = ("_hint", "_name", "_of", "_others", "_where")

    def __init__(self, name: str, chosen: Tensor, others: Sequence[Tensor], hint: str):
        super().__init__(chosen.value, layout=chosen.layout, boxed=chosen.boxed)
        self._name, self._others, self._hint, self._where = name, others, hint, user_loc()
        self._of = [t.value for t in others]

    @property
    def value(self) -> Value:
        if any(t.value is not was for t, was in zip(self._others, self._of)):
            raise self._unknown()
        assert self._value is not None
        return self._value

    def sources(self) -> Sequence[Tensor]:
        return self._others

    def own_strides(self) -> tuple[Dim, ...] | None:
        return None

    def replace(self, after: Value, before: Value, through: Tensor) -> None:
        raise self._unknown()

    def _unknown(self) -> TxcError:
        return TxcError(
            f"{self._name} may be an array from before the loop, or a part of one, and one of the two is stored into",
            self._where or user_loc(),
            self._hint,
            "TX0291",
        )
