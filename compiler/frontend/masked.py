"""``x[mask]`` in compiled functions: the elements at the places of its true ones, whose number becomes a size.

What is only reduced, or stored where the same mask is true, needs no places: it is computed for all of `x` beside the
mask (`whole_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dialects.dims import Dim, dim
from ...dialects.index_map import product
from ...dialects.registry import OPS, Map
from . import methods
from .advanced_indexing import Places, gather, is_mask, scatter
from .apply import apply, as_tensor, emit
from .bound_sizes import same_expression
from .graph import Value
from .tensor import Tensor
from .trace import current, table

__all__ = ["mask_of", "masked", "put_masked", "whole_of"]

#: What is computed for all elements has at most so many operations.
_NODES = 64


def mask_of(x: Tensor, items: Sequence[Any]) -> Tensor | None:
    """The mask of the first dims of `x` that a key is; None where it is more, or another one."""
    if (
        not is_mask(items[0])
        or any(k != slice(None) for k in items[1:] if not is_mask(k))
        or any(map(is_mask, items[1:]))
    ):
        return None
    mask = as_tensor(items[0])
    if not mask.ndim:
        return None
    for a, b in zip(mask.dims, x.dims):
        table().equate(a, b, "a mask")
    return mask


def masked(x: Tensor, mask: Tensor) -> Tensor:
    """A copy of the slices of `x` where the mask of its first dims is true, in order."""
    from .numpy_functions.chosen import places_of

    rest = x.dims[mask.ndim :]
    flat = apply("reshape", x, dims=(product(mask.dims), *rest))
    return gather(Places(flat, [0], [places_of(methods.ravel(mask))], 0, None))


def put_masked(x: Tensor, mask: Tensor, new: Any) -> None:
    """``x[mask] = new``."""
    from .numpy_functions.chosen import nonzero

    value = as_tensor(new)
    wide = apply("reshape", mask, dims=(*mask.dims, *[dim(1)] * (x.ndim - mask.ndim)))
    found = whole_of(value, mask)
    if found is not None:
        value = apply("reshape", found[0], dims=(*mask.dims, *found[0].dims[1:]))
    if found is not None or value.ndim <= x.ndim - sum(d.const != 1 for d in wide.dims):
        x.store(apply("select", wide, apply("cast", value, dtype=x.element), x))
        return
    scatter(Places(x, [*range(mask.ndim)], nonzero(mask), 0, None), value)


def whole_of(x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor] | None:
    """What `x` is chosen from by a mask (this one), and that, where it is computed element by element of ``y[mask]``."""
    trace = current()
    if trace is None or not trace.places or not x.ndim or not trace.is_bound(x.dims[0]):
        return None
    for other, places in trace.places:
        if x.type.dims[0] is not places.type.dims[0]:
            continue
        if mask is not None and not same_expression(methods.ravel(mask).value, other):
            continue
        made = _Whole(places, other.type.dims[0]).of(x.value)
        if made is not None:
            return Tensor(made), Tensor(other)
    return None


class _Whole:
    """Computes for all elements what an expression computes for those at `places`."""

    def __init__(self, places: Value, size: Dim):
        self.places, self.size = places, size
        self.known: dict[Value, Value | None] = {}

    def of(self, v: Value) -> Value | None:
        if v not in self.known:
            self.known[v] = None if len(self.known) > _NODES else self._of(v)
        return self.known[v]

    def _of(self, v: Value) -> Value | None:
        node = v.node
        if node.op is None or node.regions or len(node.results) != 1:
            return None
        if node.op is OPS["take"]:
            source, *indices = node.operands
            return source if node.attrs["axis"] == 0 and indices == [self.places] else None
        if node.op is OPS["expand"]:
            (source,) = node.operands
            dims = v.type.dims
            repeated = source.type.rank < len(dims) or source.type.dims[0].const == 1
            if not repeated or dims[0] is not self.places.type.dims[0]:
                return None
            return emit(node.op, (source,), {"dims": (self.size, *dims[1:])}, loc=node.loc)[0]
        if not issubclass(node.op, Map) and node.op is not OPS["cast"]:
            return None
        operands = [self.of(o) for o in node.operands]
        if None in operands:
            return None
        return emit(node.op, [o for o in operands if o is not None], node.attrs, loc=node.loc)[0]
