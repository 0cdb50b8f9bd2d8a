"""Values at the ends of branches and iterations: whether two are the same, and how messages call them."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ..tensor.tensor import Tensor
from ..trace.symint import SymInt
from .alternatives.mixed_numbers import Common, kinds_of
from .alternatives.one_of import OneOf
from .state import UNSET, a_kind

__all__ = ["PLAIN", "are_one", "described", "same_value"]

#: Values that cannot change, and classes.
PLAIN = (
    str, bytes, int, float, complex, np.generic, np.dtype, np.ndarray, type, types.ModuleType, range, slice, frozenset,
    types.EllipsisType,
)  # fmt: skip


def are_one(a: Any, b: Any) -> bool:
    """Whether two values are numbers that one dtype holds, or tuples of such, which an `if` gives as one."""
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(are_one, a, b))
    if kinds_of(a) and kinds_of(b) and kinds_of(a) != kinds_of(b):
        return Common.of(a).joined(b) is not None
    if isinstance(a, SymInt) or isinstance(b, SymInt):  # which may need more than 64 bits
        return a is b or same_value(a, b)
    return a is b or same_value(a, b) or (bool(kinds_of(a)) and kinds_of(a) == kinds_of(b))


def same_value(a: Any, b: Any) -> bool:
    """Whether two values that cannot change are the same to every program: -0.0 is not 0.0, nor is 1 True."""
    if type(a) is not type(b):
        return False
    if isinstance(a, SymInt):
        return a.dim is b.dim
    if isinstance(a, tuple):
        return len(a) == len(b) and all(x is y or same_value(x, y) for x, y in zip(a, b))
    if isinstance(a, (str, bytes, int, float, complex, range, slice, frozenset)):
        return a == b and repr(a) == repr(b)
    return False


def described(value: Any) -> str:
    """How messages call what a location held."""
    if value is UNSET:
        return "without a value"
    if isinstance(value, Tensor):
        return f"a {value.user_type}"
    if isinstance(value, OneOf):
        return " or ".join(dict.fromkeys(_described_option(option) for option, _ in value.options))
    return repr(value) if isinstance(value, (str, int, float, type(None))) else a_kind(value)


def _described_option(value: Any) -> str:
    """How messages call one of the values of which there is one."""
    if isinstance(value, SymInt):
        return "an int"
    if isinstance(value, Tensor) and not value.ndim and not value.boxed:
        return {"int": "an int", "": f"a np.{value.element.numpy.name}"}.get(value.weak, f"a {value.weak}")
    return f"a np.{value.dtype.name}" if isinstance(value, np.generic) else described(value)
