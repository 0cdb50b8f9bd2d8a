"""What a program learns of a value's type while it is staged: what it would be if Python ran it.

A tensor stands for an array of NumPy, for a NumPy scalar, or for a number of Python's that only the compiled function
knows; a size for an int.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..state.containers.growing_lists import GrowingList
from ..state.containers.staged_dicts import StagedDict
from ..tensor.tensor import Tensor
from ..trace.context import require
from ..trace.symint import SymInt

__all__ = ["TYPE_TESTS", "python_type", "type_name"]

_NUMBERS = {"bool": bool, "int": int, "float": float, "complex": complex}


def python_type(value: Any) -> type:
    """The type of what a value stands for."""
    if isinstance(value, SymInt):
        return int
    if isinstance(value, GrowingList):
        return value.__class__
    if isinstance(value, StagedDict):
        return dict
    if not isinstance(value, Tensor):
        return type(value)
    if value.ndim or value.boxed:
        return np.ndarray
    return _NUMBERS[value.weak] if value.weak else value.dtype.type


def type_name(value: Any) -> str:
    """That type, as Python's messages name it."""
    kind = python_type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _isinstance(value: Any, kinds: Any) -> bool:
    if isinstance(value, GrowingList):
        return issubclass(value.__class__, kinds)
    return isinstance(value, kinds) or (isinstance(value, (SymInt, Tensor)) and issubclass(python_type(value), kinds))


def _type(value: Any, *rest: Any, **named: Any) -> Any:
    return type(value, *rest, **named) if rest else python_type(value)


def _hasattr(value: Any, name: str) -> bool:
    if isinstance(value, (SymInt, Tensor)):
        return hasattr(python_type(value), name)
    captures = require().captures
    return hasattr(value, name) if captures is None else captures.has_attribute(value, name)


def _isscalar(element: Any) -> bool:
    if isinstance(element, (SymInt, Tensor)):
        return python_type(element) is not np.ndarray
    return np.isscalar(element)


#: By the function that the user calls: what staged code calls instead.
TYPE_TESTS: dict[Any, Any] = {isinstance: _isinstance, type: _type, hasattr: _hasattr, np.isscalar: _isscalar}
