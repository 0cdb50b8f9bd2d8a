"""What staged code calls in place of Python's builtins and NumPy's creation functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..diagnostics import TxcError, user_loc
from . import creation
from .symint import SymInt
from .tensor import Tensor

__all__ = ["REPLACED", "StagedRange", "staging_error"]


@dataclass(frozen=True)
class StagedRange:
    """``range`` whose bounds may be run-time ints."""

    start: Any
    stop: Any
    step: Any

    def known(self) -> range | None:
        if all(isinstance(x, int) for x in (self.start, self.stop, self.step)):
            return range(self.start, self.stop, self.step)
        return None


def staging_error(message: str, hint: str, code: str) -> TxcError:
    return TxcError(message, user_loc(), hint, code)


def _range(*args: Any) -> StagedRange:
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
    for bound in (start, stop, step):
        if isinstance(bound, Tensor):
            raise staging_error(
                "the bounds of a range are ints, not tensors",
                "pass the bound as an int argument of the function",
                "TX0316",
            )
    return StagedRange(start, stop, step)


def _print(*values: Any, **_: Any) -> None:
    if any(isinstance(v, (Tensor, SymInt)) for v in values):
        raise staging_error(
            "print of a tensor is not compiled", "return the value, or print outside the function", "TX0317"
        )
    print(*values, **_)


def _len(value: Any) -> Any:
    if isinstance(value, Tensor):
        if not value.ndim:
            raise staging_error("len() of a rank-0 tensor", "it has no dims", "TX0318")
        return value.shape[0]
    return len(value)


def _float(value: Any = 0.0) -> Any:
    if isinstance(value, SymInt):
        return value * 1.0
    return _number("float", value, np.float64) if isinstance(value, Tensor) else float(value)


def _int(value: Any = 0) -> Any:
    return _number("int", value, np.int64) if isinstance(value, Tensor) else int(value)


def _number(kind: str, value: Tensor, element: Any) -> Tensor:
    """A tensor that promotes as a Python number does."""
    if value.ndim:
        raise staging_error(
            f"{kind}() takes one number, not {value.user_type}", "index the tensor, or use astype", "TX0318"
        )
    return Tensor(value.astype(element).value, weak=kind)


def _extreme(plain: Any, ufunc: Any) -> Callable[..., Any]:
    def pick(*values: Any, **kwargs: Any) -> Any:
        if not kwargs and len(values) > 1 and any(isinstance(v, Tensor) for v in values):
            return functools.reduce(ufunc, values)
        return plain(*values, **kwargs)

    return pick


#: By the function that the user calls.
REPLACED: dict[Any, Any] = {
    range: _range,
    print: _print,
    len: _len,
    float: _float,
    int: _int,
    max: _extreme(max, np.maximum),
    min: _extreme(min, np.minimum),
    np.zeros: creation.zeros,
    np.ones: creation.ones,
    np.empty: creation.zeros,
    np.full: creation.full,
    np.arange: creation.arange,
    np.linspace: creation.linspace,
    np.eye: creation.eye,
    np.identity: creation.identity,
    np.array: creation.array,
    np.asarray: creation.array,
}
