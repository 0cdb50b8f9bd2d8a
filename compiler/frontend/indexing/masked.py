"""``x[mask]`` in compiled functions: the elements at the places of its true ones, whose number becomes a size.

What is only reduced, or stored where the same mask is true, needs no places: it is computed for all of `x` beside the
mask (`whole_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....dialects.dims.dims import Dim, dim
from ....dialects.dims.index_map import product
from ....dialects.registry import OpError
from ..numpy.functions.searching.data_dependent import nonzero, places_of
from ..tensor.apply import apply, as_tensor
from ..tensor.methods import reshaping
from ..tensor.tensor import Tensor
from ..trace.context import table
from .advanced import IndexArrays, gather, is_mask, scatter
from .data_dependent_sizes import stored
from .unmasked import whole_of

__all__ = ["fitting", "mask_of", "masked", "put_masked"]


def mask_of(x: Tensor, items: Sequence[Any]) -> Tensor | None:
    """The mask of the first dims of `x` that a key is; None where it is more, or another one."""
    if not is_mask(items[0]) or not all(isinstance(k, slice) and k == slice(None) for k in items[1:]):
        return None
    mask = as_tensor(items[0])
    return fitting(mask, x.dims) if mask.ndim else None


def fitting(mask: Tensor, dims: Sequence[Dim]) -> Tensor:
    """A mask of the first ones of some dims, in a function that is being compiled: their sizes are equal.

    OpError where they are not in the call that is traced.
    """
    text = "boolean index did not match indexed array"
    mask = stored(mask, dims[: mask.ndim], f"{text}: their sizes differ", ones=False, error="IndexError")
    for a, b in zip(mask.dims, dims):
        try:
            table().equate(a, b, "a mask")
        except OpError as error:
            raise OpError(f"{text}: {error.message}", error.hint, "TX0250") from error
    return mask


def masked(x: Tensor, mask: Tensor) -> Tensor:
    """A copy of the slices of `x` where the mask of its first dims is true, in order."""
    rest = x.dims[mask.ndim :]
    flat = apply("reshape", x, dims=(product(mask.dims), *rest))
    return gather(IndexArrays(flat, [0], [places_of(reshaping.ravel(mask))], 0, None))


def put_masked(x: Tensor, mask: Tensor, new: Any) -> None:
    """``x[mask] = new``."""
    value = as_tensor(new)
    wide = apply("reshape", mask, dims=(*mask.dims, *[dim(1)] * (x.ndim - mask.ndim)))
    found = whole_of(value, mask)
    if found is not None:
        value = apply("reshape", found[0], dims=(*mask.dims, *found[0].dims[1:]))
    if found is not None or value.ndim <= x.ndim - sum(d.const != 1 for d in wide.dims):
        x.store(apply("select", wide, apply("cast", value, dtype=x.element), x))
        return
    scatter(IndexArrays(x, [*range(mask.ndim)], nonzero(mask), 0, None), value)
