"""Which views, and what they are views of, are known outside of the branch or iteration that took them."""

from __future__ import annotations

from .....dialects.dims.index_map import dims_in
from .....dialects.registry import OpError
from ...tensor.tensor import Tensor
from ...tensor.views.composite_views import IndexedView, in_scope
from ...trace.context import table
from ..alternatives.choice import Choice

__all__ = ["first_of", "is_known_view", "is_outside"]


def first_of(x: Tensor) -> Tensor:
    """What a view is a view of, by way of other views."""
    while x._parent is not None:
        x = x._parent
    return x


def is_known_view(x: Tensor) -> bool:
    """Whether the sizes and places that a view speaks of are known where the trace is."""
    facts = table()
    while x._parent is not None:
        if not all(map(facts.knows, dims_in(x._attrs))):
            return False
        x = x._parent
    if isinstance(x, IndexedView):
        return all(in_scope(index.value) for index in x.places.indices) and all(map(is_known_view, x.sources()))
    return True


def is_outside(x: Tensor) -> bool:
    """Whether what a view is of, and what selects it there, were made outside of the branches."""
    try:
        return in_scope(x.value) and (not isinstance(x, Choice) or all(in_scope(cond.value) for _, cond in x.options))
    except OpError:
        return False
