"""What is computed element by element of ``y[mask]``, computed for all elements instead."""

from __future__ import annotations

from ....dialects.dims.dims import Dim
from ....dialects.registry import OPS, Map
from ..tensor.tensor import Tensor
from ..trace.context import current
from ..trace.emit import emit
from ..trace.graph import Value
from .data_dependent_sizes import same_expression

__all__ = ["whole_of"]

#: What is computed for all elements has at most so many operations.
_NODES = 64


def whole_of(x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor] | None:
    """What `x` is chosen from by a mask (this one), and that, where it is computed elementwise of ``y[mask]``."""
    trace = current()
    if trace is None or not trace.places or not x.ndim or not trace.is_bound(x.dims[0]):
        return None
    for other, places in trace.places:
        if x.type.dims[0] is not places.type.dims[0]:
            continue
        if mask is not None and not same_expression(mask.ravel().value, other):
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
