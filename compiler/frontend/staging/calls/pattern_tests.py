"""What the patterns of a ``match`` ask of a value (`match_lowering`), by Python's rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...state.alternatives.one_of import OneOf
from ...state.containers.growing_lists import GrowingList
from ...state.containers.staged_dicts import StagedDict

__all__ = ["class_parts", "mapping_parts", "sequence_parts"]

#: Of these the only part without a name is the value itself.
_THEMSELVES = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def sequence_parts(value: Any, number: int, star: int | None) -> Any:
    """The items of a sequence of a `number` of them; those that a `star` takes, the number of which it is, as a list.

    None where it is no such sequence: an array is none.
    """
    if isinstance(value, OneOf):
        return value.each(lambda v: sequence_parts(v, number, star))
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray)):
        return None
    size = len(value)
    if star is None:
        return tuple(value) if size == number else None
    behind = number - star - 1
    if size < number - 1:
        return None
    items = [value[i] for i in range(size)]
    return (*items[:star], GrowingList(items[star : size - behind]), *items[size - behind :])


def mapping_parts(value: Any, keys: Sequence[Any]) -> Any:
    """The values of a mapping's `keys`, and what it has beside them; None where it lacks one, or is none."""
    if isinstance(value, OneOf):
        return value.each(lambda v: mapping_parts(v, keys))
    if not isinstance(value, Mapping) or any(key not in value for key in keys):
        return None
    rest = {key: value[key] for key in value if key not in keys}
    return (*(value[key] for key in keys), StagedDict(rest))


def class_parts(
    value: Any, kind: type, number: int, names: Sequence[str], read: Callable[[Any, str], Any],
    has: Callable[[Any, str], bool],
) -> Any:  # fmt: skip
    """The first `number` of parts that instances of a class have by place, and attributes by `names`; None where it
    lacks one."""
    if number and kind in _THEMSELVES:
        first, by_place = [value], ()
        if number > 1:
            raise TypeError(f"{kind.__name__}() accepts 1 positional sub-pattern ({number} given)")
    else:
        first, by_place = [], getattr(kind, "__match_args__", ())
        if number > len(by_place):
            text = f"{kind.__name__}() accepts {len(by_place)} positional sub-patterns ({number} given)"
            raise TypeError(text)
    attributes = [*by_place[: number - len(first)], *names]
    return (*first, *(read(value, name) for name in attributes)) if all(has(value, n) for n in attributes) else None
