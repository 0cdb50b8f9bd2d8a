"""Dicts that a staged function makes: a key may be there or not, as compiled code decided.

Such a key stands where it is if it is there, and holds one of its value and nothing (`one_of`).  Reading it is a check
that raises Python's KeyError.  Which keys there are is a part of what the call gives back.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ....diagnostics import TxcError, user_loc
from ...tensor.apply import apply, as_tensor
from ...tensor.tensor import Tensor
from ...trace.undefined import UNSET
from ..alternatives.one_of import OneOf, any_of

__all__ = ["StagedDict", "in_one_order", "is_missing", "may_miss"]

#: The most keys that may be missing: there is a dict for each combination.
_MOST_MISSING = 3


def may_miss(value: Any) -> bool:
    """Whether a value may be none."""
    return isinstance(value, OneOf) and any(option is UNSET for option, _ in value.options)


def is_missing(value: Any) -> bool:
    """Whether a value surely is none."""
    return may_miss(value) and not _held(value)[0]


def in_one_order(first: Sequence[Any], second: Sequence[Any]) -> list[Any] | None:
    """The keys of two dicts in an order in which each has its own; None where there is no such."""
    for a, b in ((first, second), (second, first)):
        order = [*dict.fromkeys([*a, *b])]
        if [key for key in order if key in b] == [*b]:
            return order
    return None


class StagedDict(dict[Any, Any]):
    """A dict of which a key whose value `may_miss` may not be there."""

    #: What Python says that it is.
    __class__ = property(lambda self: dict)  # type: ignore[assignment]

    @property
    def missing(self) -> list[Any]:
        """The keys that may not be there."""
        return [key for key, value in dict.items(self) if may_miss(value)]

    def has(self, key: Any) -> Any:
        """Whether a key is there: a bool, or one of compiled code."""
        value = dict.get(self, key, UNSET)
        if not may_miss(value):
            return value is not UNSET
        found = any_of(_held(value)[1])
        return Tensor(found.value, weak="bool") if isinstance(found, Tensor) else found

    @property
    def length(self) -> Any:
        """How many keys are there."""
        missing = self.missing
        total: Any = dict.__len__(self) - len(missing)
        for key in missing:
            total = as_tensor(self.has(key)).cast("i64") + total
        return Tensor(total.value, weak="int") if missing else total

    @property
    def truth(self) -> Any:
        """Whether any key is there."""
        missing, most = self.missing, dict.__len__(self)
        return any_of([self.has(key) for key in missing]) if len(missing) == most > 0 else most > 0

    def variants(self) -> OneOf:
        """The dict as one of those that it may be."""
        missing = self.missing
        if len(missing) > _MOST_MISSING:
            self._unknown()
        options: list[tuple[Any, Any]] = []
        for there in itertools.product((True, False), repeat=len(missing)):
            chosen = dict(zip(missing, there))
            held = {
                key: value.among(_held(value)[0]) if key in chosen else value
                for key, value in dict.items(self)
                if chosen.get(key, True)
            }
            cond = as_tensor(True)
            for key, is_there in chosen.items():
                known = self.has(key)
                cond = apply("logical_and", cond, known if is_there else apply("logical_not", known))
            options.append((held, cond))
        return OneOf(
            "a dict", "a dict has some keys or others", "return it", options, dict.__getitem__(self, missing[0]).fork
        )

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        return value.bound(KeyError(key)) if may_miss(value) else value

    def get(self, key: Any, default: Any = None) -> Any:
        value = dict.get(self, key, default)
        if not may_miss(value):
            return value
        held, conds = _held(value)
        found = value.among(held)
        roots = {"operand 0": found, "operand 1": default}
        return value.fork(any_of(conds), lambda: found, lambda: default, roots, ())

    def __setitem__(self, key: Any, value: Any) -> None:
        if may_miss(dict.get(self, key)) and key != [*dict.keys(self)][-1]:
            raise TxcError(
                f"where {key!r} is in a dict depends on whether it was there, as compiled code decides",
                user_loc(),
                "give the dict all of its keys where it is made",
                "TX0315",
            )
        super().__setitem__(key, value)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if not may_miss(dict.get(self, key)):
            return super().setdefault(key, default)
        self[key] = self.get(key, default)
        return self[key]

    def pop(self, key: Any, *default: Any) -> Any:
        if not may_miss(dict.get(self, key)):
            return super().pop(key, *default)
        value = self.get(key, *default) if default else self[key]
        super().__delitem__(key)
        return value

    def __delitem__(self, key: Any) -> None:
        if key in dict.keys(self):
            self[key]  # where it is not there Python raises
        super().__delitem__(key)

    def update(self, *others: Any, **named: Any) -> None:
        for key, value in dict(*others, **named).items():
            self[key] = value

    def copy(self) -> StagedDict:
        made = StagedDict()
        dict.update(made, dict.items(self))
        return made

    def __contains__(self, key: Any) -> bool:
        return self._unknown() if may_miss(dict.get(self, key)) else super().__contains__(key)

    def __iter__(self) -> Iterator[Any]:
        return self._unknown() if self.missing else super().__iter__()

    def __len__(self) -> int:
        return self._unknown() if self.missing else super().__len__()

    def _unknown(self) -> Any:
        raise TxcError(
            "which keys a dict has is known only when the compiled function runs",
            user_loc(),
            "ask for a key by `in`, get() or [], or give the dict all of its keys where it is made",
            "TX0315",
        )


def _held(value: OneOf) -> tuple[list[tuple[Any, Tensor]], list[Tensor]]:
    """What one of several values may be but nothing, with and as its conditions."""
    held = [(option, cond) for option, cond in value.options if option is not UNSET]
    return held, [cond for _, cond in held]


def _of_all_keys(name: str) -> Callable[..., Any]:
    plain = getattr(dict, name)

    def method(self: StagedDict, *args: Any) -> Any:
        return self._unknown() if self.missing else plain(self, *args)

    return method


for _name in ("__eq__", "__ne__", "__or__", "__ior__", "__ror__", "__reversed__", "items", "keys", "popitem", "values"):
    setattr(StagedDict, _name, _of_all_keys(_name))
