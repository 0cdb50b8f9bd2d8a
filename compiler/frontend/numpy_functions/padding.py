"""np.pad: constants are a view with guards; the other modes pick elements by their place along one axis at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dialects.registry import OpError
from .. import methods
from ..apply import apply, as_tensor, cast
from ..creation import arange
from ..tensor import Tensor
from .joining import concatenate
from .table import handles

__all__ = ["pad"]

_PLACES = ("edge", "reflect", "symmetric", "wrap")
_OF_MODE = {"constant": "constant_values", "reflect": "reflect_type", "symmetric": "reflect_type"}


@handles(np.pad)
def pad(
    array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = None, reflect_type: Any = None
) -> Any:
    """NumPy's pad in the modes constant, edge, reflect, symmetric, wrap and empty (zeros)."""
    array = as_tensor(array)
    for name, given in (("constant_values", constant_values), ("reflect_type", reflect_type)):
        if given is not None and _OF_MODE.get(mode) != name:
            raise OpError(f"np.pad does not take {name!r} with mode={mode!r}", code="TX0240")
    if reflect_type not in (None, "even"):
        raise OpError(f"np.pad does not take reflect_type={reflect_type!r} here", "even is taken", "TX0240")
    widths = _pairs(pad_width, array.ndim)
    if mode == "empty" or mode == "constant":
        return _constant(array, widths, _pairs(0 if constant_values is None else constant_values, array.ndim))
    if mode not in _PLACES:
        raise OpError(f"np.pad does not take mode={mode!r}", f"it takes constant, {', '.join(_PLACES)}", "TX0240")
    for axis, (before, after) in enumerate(widths):
        array = _extended(array, axis, before, after, mode)
    return array


def _pairs(given: Any, rank: int) -> list[tuple[Any, Any]]:
    """A number, a pair, or one for each dim (a dict: for some dims), as a pair a dim."""
    if isinstance(given, dict):
        found: list[tuple[Any, Any]] = [(0, 0)] * rank
        for axis, value in given.items():
            found[methods._axis(axis, rank)] = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
        return found
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, (tuple, list)):
        return [(given, given)] * rank
    if not isinstance(given[0], (tuple, list)):
        return [tuple(given) if len(given) == 2 else (given[0], given[0])] * rank
    rows = [tuple(p) if len(p) == 2 else (p[0], p[0]) for p in given]
    if len(rows) not in (1, rank):
        raise OpError(f"np.pad: {len(rows)} pairs for rank {rank}", code="TX0101")
    return rows * (rank if len(rows) == 1 else 1)


def _constant(x: Tensor, widths: list[tuple[Any, Any]], values: list[tuple[Any, Any]]) -> Tensor:
    literal = {v for pair in values for v in pair} if not any(_run_time(v) for p in values for v in p) else set()
    if len(literal) == 1:
        (fill,) = literal
        return apply("pad", x, pairs=tuple(widths), fill=fill)
    for axis, (width, ends) in enumerate(zip(widths, values)):
        parts = []
        for n, value in zip(width, ends):
            shape = list(x.shape)
            shape[axis] = n
            parts.append(methods.broadcast(cast(as_tensor(value), x.element), shape))
        x = concatenate([parts[0], x, parts[1]], axis)
    return x


def _run_time(value: Any) -> bool:
    return isinstance(value, Tensor)


def _extended(x: Tensor, axis: int, before: Any, after: Any, mode: str) -> Tensor:
    """`x` padded along one axis by its own elements."""
    size = x.shape[axis]
    if isinstance(before, int) and isinstance(after, int) and before == after == 0:
        return x
    place = arange(-before, size + after)
    if mode == "edge":
        place = apply("clip", place, 0, size - 1)
    elif mode == "wrap":
        place = place % size
    elif mode == "symmetric":
        place = place % (2 * size)
        place = apply("cwise_min", place, 2 * size - 1 - place)
    else:
        period = apply("cwise_max", 2 * size - 2, 1)
        place = place % period
        place = apply("cwise_min", place, period - place)
        place = apply("cwise_min", place, size - 1)
    return apply("take", x, place, axis=axis)
