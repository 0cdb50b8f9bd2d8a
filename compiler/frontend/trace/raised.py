"""Which error a node of the graph raises where its check fails."""

from __future__ import annotations

from ....dialects.registry import Map, Structural
from ....runtime.check_errors import ERRORS
from .graph import Node

__all__ = ["raised_by"]


def raised_by(node: Node) -> type[BaseException] | None:
    """What a node that checks something raises: what it says, or its op; of numbers out of range an OverflowError.

    None where the call is repeated with more memory.
    """
    if "error" in node.attrs:
        return ERRORS.get(node.attrs["error"])
    assert node.op is not None
    if issubclass(node.op, Structural) and node.op.error is not None:
        return ERRORS[node.op.error[0]]
    return OverflowError if issubclass(node.op, Map) else IndexError
