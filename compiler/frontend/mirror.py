"""Column-major tensors: one of dims (a, b, c) is a row-major tensor of dims (c, b, a), so parameters are mirrored.

This is the only place that knows the user's layout besides `Tensor` itself; the graph is row-major throughout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...dialects.registry import OpError, Param

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["mirror_attrs", "mirrored"]

#: Parameters with one entry a dim of the operand or the result.
_PER_DIM = {
    "reshape": ("dims",), "expand": ("dims",), "broadcast": ("factors",), "slice": ("offsets", "extents"),
    "strided_slice": ("start", "stop", "strides"), "stride": ("strides",), "reverse": ("flags",),
}  # fmt: skip
#: Kinds of parameters that say nothing of dims, or whose numbers are simply counted from the other end.
_FREE = ("axis", "axes", "choice")
_NEUTRAL = ("eval", "chip", "squeeze", "take", "concatenate", "constant", "dim", "iota")


def mirror_attrs(name: str, params: Mapping[str, Param], attrs: dict[str, Any], rank: int) -> dict[str, Any]:
    """Canonical parameters of an op on reversed dims; `rank` is the first operand's."""
    result = dict(attrs)
    for key, param in params.items():
        if param.kind == "axis" and attrs[key] is not None:
            result[key] = rank - 1 - attrs[key]
        elif param.kind == "axes":
            result[key] = tuple(sorted(rank - 1 - a for a in attrs[key]))
    for key in _PER_DIM.get(name, ()):
        result[key] = tuple(reversed(attrs[key]))
    if name == "shuffle":
        p = attrs["permutation"]
        result["permutation"] = tuple(rank - 1 - p[rank - 1 - j] for j in range(rank))
    elif name == "pad":
        pairs = attrs["pairs"]
        ends = [pairs[2 * i : 2 * i + 2] for i in range(rank)]
        result["pairs"] = tuple(x for pair in reversed(ends) for x in pair)
    elif name not in _PER_DIM and name not in _NEUTRAL and any(p.kind not in _FREE for p in params.values()):
        raise OpError(f"{name} has no form for column-major tensors", "use .swap_layout() first", "TX0212")
    return result


def mirrored(
    name: str, params: Mapping[str, Param], attrs: dict[str, Any], tensors: Sequence[Tensor]
) -> tuple[dict[str, Any], list[Tensor]]:
    """Parameters and operands for reversed dims."""
    if name == "contract":
        a, b = tensors
        pairs = tuple((b.ndim - 1 - j, a.ndim - 1 - i) for i, j in attrs["pairs"])
        return {"pairs": pairs}, [b, a]
    return mirror_attrs(name, params, attrs, tensors[0].ndim), list(tensors)
