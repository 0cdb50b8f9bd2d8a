"""np.pad: constants are a view with guards; the other modes go along one axis at a time.

They pick elements by their place, continue in even steps, or repeat a statistic of what is at the edge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ....tensor.apply import apply, as_tensor
from ....tensor.methods import reshaping
from ....tensor.promotion import cast
from ....tensor.tensor import Tensor
from ....trace.context import table
from ....trace.symint import symint
from ...creation import arange, linspace
from ..registry import handles, required
from .joining import concatenate, slice_along

__all__ = ["pad"]

#: The parameters that a mode has, beside the widths, with what they are where nothing is said.
_PARAMETERS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0}, "empty": {}, "edge": {}, "wrap": {},
    "reflect": {"reflect_type": "even"}, "symmetric": {"reflect_type": "even"}, "linear_ramp": {"end_values": 0},
    "maximum": {"stat_length": None}, "mean": {"stat_length": None}, "median": {"stat_length": None},
    "minimum": {"stat_length": None},
}  # fmt: skip


@handles(np.pad)
def pad(
    array: Any, pad_width: Any, mode: str = "constant", *,
    constant_values: Any = None, end_values: Any = None, reflect_type: Any = None, stat_length: Any = None,
) -> Any:  # fmt: skip
    """NumPy's pad, in all its modes but functions; ``empty`` pads with zeros.

    One axis after another: what is padded along one is part of what the next one sees, as in NumPy.
    """
    array = as_tensor(array)
    known = _PARAMETERS.get(mode) if isinstance(mode, str) else None
    if known is None:
        raise OpError(f"np.pad does not take mode={mode!r}", f"it takes {', '.join(_PARAMETERS)}", "TX0240")
    given = {
        "constant_values": constant_values, "end_values": end_values, "reflect_type": reflect_type,
        "stat_length": stat_length,
    }  # fmt: skip
    for name, value in given.items():
        if name not in known and value is not None:
            raise OpError(f"np.pad does not take {name!r} with mode={mode!r}", code="TX0240")
    if not array.ndim:
        return Tensor(array.value, layout=array.layout, boxed=True)
    widths = _pairs(pad_width, array.ndim)
    values = {name: usual if given[name] is None else given[name] for name, usual in known.items()}
    if mode in ("constant", "empty"):
        return _constant(array, widths, _pairs(values.get("constant_values", 0), array.ndim))
    if values.get("reflect_type", "even") not in ("even", "odd"):
        raise OpError(f"np.pad: reflect_type is 'even' or 'odd', not {values['reflect_type']!r}", code="TX0240")
    for axis, (before, after) in enumerate(widths):
        if isinstance(before, int) and isinstance(after, int) and before == after == 0:
            continue
        array = _not_empty(array, axis)
        if mode == "linear_ramp":
            array = _ramp(array, axis, (before, after), _pairs(values["end_values"], array.ndim)[axis])
        elif "stat_length" in values:
            array = _statistic(array, axis, (before, after), mode, _pairs(values["stat_length"], array.ndim)[axis])
        elif values.get("reflect_type") == "odd":
            array = _turned(array, axis, before, after, mode)
        else:
            array = _extended(array, axis, before, after, mode)
    return array


def _not_empty(x: Tensor, axis: int) -> Tensor:
    """`x`, of a call that raises NumPy's ValueError where there is nothing along a dim that is to be padded."""
    text = f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
    some = table().settle(0, "<", x.dims[axis], "np.pad of at least one element")
    if some is False:
        raise ValueError(text)
    return x if some else required(x, apply("less", 0, symint(x.dims[axis])), text)


def _pairs(given: Any, rank: int) -> list[tuple[Any, Any]]:
    """A number, a pair, or one for each dim (a dict: for some dims), as a pair a dim."""
    if isinstance(given, dict):
        found: list[tuple[Any, Any]] = [(0, 0)] * rank
        for axis, value in given.items():
            found[reshaping.axis_of(axis, rank)] = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
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
    """`x` between constants; where these are one that is known now, a view with guards."""
    ends = [value for pair in values for value in pair]
    if not any(isinstance(value, Tensor) for value in ends) and len(set(ends)) == 1:
        return apply("pad", x, pairs=tuple(widths), fill=ends[0])
    for axis, (width, at_ends) in enumerate(zip(widths, values)):
        parts = []
        for n, value in zip(width, at_ends):
            shape = list(x.shape)
            shape[axis] = n
            parts.append(reshaping.broadcast(cast(as_tensor(value), x.element), shape))
        x = concatenate([parts[0], x, parts[1]], axis)
    return x


def _extended(x: Tensor, axis: int, before: Any, after: Any, mode: str) -> Tensor:
    """`x` padded along one axis by its own elements."""
    size = x.shape[axis]
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


def _turned(x: Tensor, axis: int, before: Any, after: Any, mode: str) -> Tensor:
    """`x` padded along one axis by its reflections, each turned about the element that it meets (``odd``).

    A period further on everything is higher by twice the difference of the ends.
    """
    size = x.shape[axis]
    period = apply("cwise_max", 2 * size - 2, 1) if mode == "reflect" else as_tensor(2 * size)
    place = arange(-before, size + after)
    within = place % period
    mirror = (period if mode == "reflect" else period - 1) - within
    inside = within < size
    found = apply("take", x, apply("cwise_min", apply("select", inside, within, mirror), size - 1), axis=axis)
    first, last = slice_along(x, axis, 0, 1), slice_along(x, axis, -1, None)
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    inside, periods = reshaping.reshape(inside, shape), reshaping.reshape(place // period, shape)
    found = apply("select", inside, found, 2 * last - found) + cast(periods, x.element) * (2 * (last - first))
    return apply("concatenate", slice_along(found, axis, 0, before), x,
                 slice_along(found, axis, before + size, None), axis=axis)  # fmt: skip


def _ramp(x: Tensor, axis: int, widths: tuple[Any, Any], ends: tuple[Any, Any]) -> Tensor:
    """`x` between even steps from its edges to `ends`."""
    size = x.shape[axis]
    first, last = (reshaping.squeeze(slice_along(x, axis, at, at + 1), axis) for at in (0, size - 1))
    before, after = (
        linspace(as_tensor(end), edge, width, endpoint=False, dtype=x.dtype, axis=axis)
        for end, edge, width in zip(ends, (first, last), widths)
    )
    return concatenate([before, x, np.flip(after, axis)], axis)


def _statistic(x: Tensor, axis: int, widths: tuple[Any, Any], mode: str, lengths: tuple[Any, Any]) -> Tensor:
    """`x` between a statistic of its first elements and one of its last; a length of None takes all."""
    function: Any = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}[mode]
    parts = []
    for length, width, part in zip(lengths, widths, ("first", "last")):
        if length is not None and length < 1:
            raise OpError(f"np.pad: a stat_length of {length} leaves nothing to take the {mode} of", code="TX0240")
        chosen = x
        if length is not None:
            chosen = slice_along(x, axis, *((0, length) if part == "first" else (-length, None)))
        value = function(chosen, axis=axis, keepdims=True)
        if x.element.is_integer:
            value = apply("rint", value) if value.element.is_float else value
        shape = list(x.shape)
        shape[axis] = width
        parts.append(reshaping.broadcast(cast(value, x.element), shape))
    return concatenate([parts[0], x, parts[1]], axis)
