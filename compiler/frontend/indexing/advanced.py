"""Index arrays: gathers, and scatters through views into the tensor that owns the storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....dialects.dims.dims import Dim, Sym, iterators
from ....dialects.dims.index_map import IndexMap
from ....dialects.ops.structure.indexing import STORE, index_symbols
from ....dialects.registry import OPS, RAISE, OpError
from ..tensor.apply import apply, as_tensor
from ..tensor.broadcasting import broadcast_to, broadcast_together, data_dependent_sizes
from ..tensor.promotion import cast
from ..tensor.tensor import Tensor
from ..trace.context import current, table
from ..trace.emit import emit

__all__ = ["IndexArrays", "gather", "is_array", "is_mask", "scatter"]


def is_mask(k: Any) -> bool:
    return isinstance(k, (Tensor, np.ndarray)) and k.dtype == np.bool_


def is_array(k: Any) -> bool:
    """Whether an item of a key is an index array, or an integer that only the compiled function knows."""
    return isinstance(k, (Tensor, np.ndarray)) and not (isinstance(k, np.ndarray) and k.ndim == 0)


@dataclass
class IndexArrays:
    """Elements of `source`: `indices`, broadcast, for its dims `axes`, all of the others.

    The dims of the indices stand before dim `at` of the others.  With `mode` None an index outside is no error.
    """

    source: Tensor
    axes: Sequence[int]
    indices: Sequence[Tensor]
    at: int
    mode: str | None = RAISE

    def __post_init__(self) -> None:
        for t in self.indices:
            if not t.element.is_integer:
                raise OpError(f"index arrays are integers or bools, not {t.user_type}", code="TX0254")
        self.indices = broadcast_together([_row_major(t) for t in self.indices], "an index")

    @property
    def rest(self) -> list[int]:
        """The dims that no index is of."""
        return [i for i in range(self.source.ndim) if i not in self.axes]

    @property
    def rank(self) -> int:
        """That of the indices."""
        return self.indices[0].ndim


def gather(places: IndexArrays) -> Tensor:
    """A copy of the elements."""
    source, rest, at = _row_major(places.source), places.rest, places.at
    order = (*rest[:at], *places.axes, *rest[at:])
    if order != tuple(range(source.ndim)):
        source = apply("shuffle", source, permutation=order)
    result = apply("take", source, *places.indices, axis=at, mode=places.mode)
    return result if places.source.layout == "row" else _reversed(result).swap_layout()


def _row_major(t: Tensor) -> Tensor:
    """The tensor with its dims as the user counts them, as a row-major one."""
    return t if t.layout == "row" else _reversed(t.swap_layout())


def _reversed(t: Tensor) -> Tensor:
    return apply("shuffle", t, permutation=tuple(range(t.ndim))[::-1]) if t.ndim > 1 else t


def scatter(places: IndexArrays, new: Any, combine: str = STORE) -> None:
    """Store `new`, broadcast, into the elements; see `ops.indexing.Scatter` for elements named twice."""
    source, trace = places.source, current()
    if trace is not None and source.is_lazy:
        source = trace.capture_lazy(source)
    rest, at, rank = places.rest, places.at, places.rank
    shape = places.indices[0].dims
    others = tuple(source.dims[i] for i in rest)
    result = (*others[:at], *shape, *others[at:])
    facts = table()
    value = _fitted(_row_major(as_tensor(new)), result, source)
    shape, others = (tuple(facts.resolve(d) for d in dims) for dims in (shape, others))
    moved = (*range(at, at + rank), *range(at), *range(at + rank, len(result)))
    if moved != tuple(range(len(result))):
        value = apply("shuffle", value, permutation=moved)
    owner, index = source.owner()
    extents = (*shape, *others)
    inside: list[Dim] = [*iterators(len(extents))[rank:]]
    exprs: list[Dim] = [Dim.of_terms({})] * source.ndim
    for i, it in zip(rest, inside):
        exprs[i] = it
    for i, symbol in zip(places.axes, index_symbols(len(places.axes))):
        exprs[i] = symbol
    exprs = exprs if source.layout == "row" else exprs[::-1]
    place = IndexMap(extents, tuple(exprs))
    if index is not None:
        where = {Sym(f"d{i}"): e for i, e in enumerate(exprs)}
        place = IndexMap(extents, tuple(facts.resolve(e).substitute(where) for e in index.exprs)).simplified()
    limits = tuple(source.dims[i] for i in places.axes)
    before = owner.value
    operands = (before, value.value, *(t.value for t in places.indices))
    (after,) = emit(OPS["scatter"], operands, {"map": place, "limits": limits, "combine": combine, "mode": places.mode})
    owner.replace(after, before, source)


def _fitted(value: Tensor, dims: tuple[Dim, ...], target: Tensor) -> Tensor:
    """A value cast and broadcast to what a store takes; OpError where it does not fit."""
    facts = table()
    while value.ndim > len(dims) and facts.is_one(value.dims[0]):
        value = value[0]
    text = f"cannot store {value.user_type} into elements of {target.user_type} that have {len(dims)} dims"
    if value.ndim > len(dims):
        raise OpError(text, code="TX0221")
    value = cast(value, target.element)
    text_of_call = "shape mismatch: value array could not be broadcast to indexing result"
    value = data_dependent_sizes().stored(value, dims, text_of_call)
    for have, want in zip(value.dims[::-1], dims[::-1]):
        if have is not want and not facts.is_one(have):
            try:
                facts.equate(have, want, "a store")
            except OpError as error:
                raise OpError(text, error.message, "TX0221") from error
    return broadcast_to(value, tuple(facts.resolve(d) for d in dims))
