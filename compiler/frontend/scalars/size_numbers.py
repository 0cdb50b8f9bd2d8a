"""Numbers that sizes and int arguments decide: their exact quotients, and their values as facts of the call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....dialects.dims.dims import Dim, dim
from ....dialects.registry import OPS
from ..tensor.tensor import Tensor
from ..trace.context import current
from ..trace.symint import exactly_float, symint

__all__ = ["known_number", "quotient_of", "rounded_down", "rounded_up", "towards_zero"]


def quotient_of(value: Any) -> tuple[Dim, Dim] | None:
    """The two ints that a tensor of rank 0 is the quotient of; None where it is another one."""
    if not isinstance(value, Tensor) or value.weak != "float" or value.value.node.op is not OPS["div"]:
        return None
    top, bottom = (_whole(v.node) for v in value.value.node.operands)
    if top is None or bottom is None or not all(exactly_float(symint(d)) for d in (top, bottom)):
        return None
    return top, bottom


def _whole(node: Any) -> Dim | None:
    """The int that a node is the float of."""
    if node.op is OPS["dim"]:
        return node.attrs["expr"]
    value = node.attrs.get("value") if node.op is OPS["constant"] else None
    return dim(int(value)) if isinstance(value, (int, float)) and math.isfinite(value) and value == int(value) else None


def rounded_down(value: Any) -> Any:
    """The floor of a quotient of two ints, exactly: no float between two ints is rounded to the next one."""
    parts = quotient_of(value)
    return None if parts is None else symint(parts[0]) // symint(parts[1])


def rounded_up(value: Any) -> Any:
    """Its ceiling, exactly."""
    parts = quotient_of(value)
    return None if parts is None else -(symint(-parts[0]) // symint(parts[1]))


def towards_zero(value: Any) -> Any:
    """It without its fraction, exactly."""
    parts = quotient_of(value)
    if parts is None:
        return None
    negative = symint(parts[0]) * symint(parts[1]) < 0
    if isinstance(negative, Tensor):
        return None
    return rounded_up(value) if negative else rounded_down(value)


def known_number(value: Any) -> Any:
    """The Python number that only sizes and int arguments decide, which become facts of the call.

    None where data decides, or a loop.
    """
    if not isinstance(value, Tensor) or value.ndim or not value.weak:
        return None
    number = _evaluated(value.value)
    return None if number is None else number.item()


def _evaluated(value: Any) -> Any:
    """The value of a tensor of rank 0 whose leaves are sizes and literals; None where there are others."""
    trace, node = current(), value.node
    if trace is None or node.op is None or node.regions or value.type.rank:
        return None
    if node.op is OPS["dim"]:
        d = trace.table.resolve(node.attrs["expr"])
        known = trace.table.hint(d) is not None
        return node.attrs["dtype"].numpy.type(trace.table.int_of(d)) if known else None
    parts = [_evaluated(v) for v in node.operands]
    if any(p is None for p in parts):
        return None
    (found,) = node.op.evaluate([np.asarray(p) for p in parts], node.attrs)
    return np.asarray(found)[()]
