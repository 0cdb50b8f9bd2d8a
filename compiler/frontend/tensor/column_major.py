"""Column-major tensors: one of dims (a, b, c) is a row-major tensor of dims (c, b, a), so parameters are mirrored.

This is the only place that knows the user's layout besides `Tensor` itself; the graph is row-major throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....dialects.registry import Op, OpError

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["reverse_dims"]


def reverse_dims(op: type[Op], attrs: dict[str, Any], tensors: Sequence[Tensor]) -> tuple[dict[str, Any], list[Tensor]]:
    """Parameters and operands for reversed dims."""
    if op.name == "contract":
        a, b = tensors
        if attrs["batch"]:
            raise OpError(
                "stacks of contractions have no form for column-major tensors", "use .swap_layout()", "TX0212"
            )
        pairs = tuple((b.ndim - 1 - j, a.ndim - 1 - i) for i, j in attrs["pairs"])
        return {"pairs": pairs, "batch": ()}, [b, a]
    return op.mirror(attrs, tensors[0].ndim if tensors else 0), list(tensors)
