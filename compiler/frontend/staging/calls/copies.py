"""`copy.copy` and `copy.deepcopy` in staged code: of arrays, containers, and objects that the function makes."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....call.signature import is_named, like
from ...state.alternatives.mixed_numbers import MixedNumber
from ...state.alternatives.one_of import OneOf
from ...state.containers.growing_lists import GrowingList
from ...state.containers.staged_deques import StagedDeque
from ...state.containers.staged_dicts import StagedDict
from ...state.state import held
from ...tensor.tensor import Tensor
from ...trace.symint import SymInt
from ..iteration.consumers import BY_ITEM, of_each_item
from .builtins import staging_error

if TYPE_CHECKING:
    from ..runtime import StagedRuntime

__all__ = ["COPIES"]


def _copy(runtime: StagedRuntime, value: Any, /) -> Any:
    if isinstance(value, (SymInt, MixedNumber)):
        return value
    if isinstance(value, Tensor):
        return value.copy() if value.ndim or value.boxed else value
    if isinstance(value, (list, dict, set)):
        return value.copy() if isinstance(value, (GrowingList, StagedDict)) else copy.copy(value)
    return _object(runtime, value, lambda part: part) if _is_of_program(value) else copy.copy(value)


def _deepcopy(runtime: StagedRuntime, value: Any, memo: Any = None, /) -> Any:
    #: By identity: what was copied, and its copy.
    made: dict[int, tuple[Any, Any]] = {}

    def deep(part: Any) -> Any:
        if id(part) not in made:
            made[id(part)] = part, _with_parts(runtime, part, deep, made)
        return made[id(part)][1]

    return deep(value)


def _with_parts(
    runtime: StagedRuntime, value: Any, deep: Callable[[Any], Any], made: dict[int, tuple[Any, Any]]
) -> Any:  # fmt: skip
    """A copy of a value, with `deep` ones of its parts; `made` learns of one that its parts may refer to."""
    if isinstance(value, (SymInt, MixedNumber)):
        return value
    if isinstance(value, OneOf):
        return value.each(lambda v: _deepcopy(runtime, v))
    if isinstance(value, StagedDeque):
        new = value.copy()
        if not value.stacked:
            new.set_parts([deep(part) for part in value])
        return new
    if isinstance(value, GrowingList) and value.stacked:
        return BY_ITEM[list](runtime, of_each_item(runtime, value, lambda item: _deepcopy(runtime, item)))
    if type(value) is list or isinstance(value, GrowingList):
        items = GrowingList()
        made[id(value)] = value, items
        items.set_parts([deep(part) for part in value])
        return items
    if isinstance(value, dict) and type(value) in (dict, StagedDict):
        new = StagedDict()
        made[id(value)] = value, new
        for key, part in dict.items(value):
            dict.__setitem__(new, key, deep(part))
        return new
    if isinstance(value, tuple) and (type(value) is tuple or is_named(value)):
        parts = [deep(part) for part in value]
        return value if all(a is b for a, b in zip(parts, value)) else like(value, parts)
    if _is_of_program(value):
        return _object(runtime, value, deep, made)
    return _copy(runtime, value) if isinstance(value, (Tensor, set)) else copy.deepcopy(value)


def _is_of_program(value: Any) -> bool:
    """Whether a value is an object that has its state in attributes, as those of the program's classes do."""
    if isinstance(value, (type, types.FunctionType, types.MethodType, types.ModuleType)):
        return False
    return held(value) is not None


def _object(
    runtime: StagedRuntime, value: Any, part: Callable[[Any], Any], made: dict[int, tuple[Any, Any]] | None = None
) -> Any:  # fmt: skip
    """An object of the same class with a `part` for each attribute; staging_error where more than these make it."""
    kind: Any = type(value)
    own = [n for n in ("__copy__", "__deepcopy__", "__reduce__", "__getstate__", "__setstate__", "__slots__")
           if getattr(kind, n, None) is not getattr(object, n, None)]  # fmt: skip
    if own or runtime.captures.is_outside(value) or not hasattr(value, "__dict__"):
        why = f"says in {own[0]} how" if own else "is not the function's own"
        raise staging_error(
            f"a copy of a {kind.__name__}, which {why}", f"make it by {kind.__name__}(…) of what is needed", "TX0320"
        )
    new = object.__new__(kind)
    if made is not None:
        made[id(value)] = value, new
    for name, attribute in vars(value).items():
        object.__setattr__(new, name, part(attribute))
    return new


#: What staged code calls in place of Python's functions that copy; each gets the runtime first.
COPIES: dict[Any, Callable[..., Any]] = {copy.copy: _copy, copy.deepcopy: _deepcopy}
