"""Arrays made after others, or out of coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ....tensor.apply import apply, as_tensor, stack
from ....tensor.broadcasting import broadcast_to
from ....tensor.methods import elements, reshaping
from ....tensor.promotion import cast, common_dtype
from ....tensor.tensor import Tensor
from ....tensor.views.view_or_copy import laid_out_like
from ... import creation
from ..refused import REFUSED
from ..registry import FUNCTIONS, handles
from ..searching.data_dependent import nonzero
from .windows import WINDOWS

__all__ = ["CREATION"]

full = creation.full

#: Functions of sizes and numbers alone, which NumPy's protocols do not hand over: staged code calls these instead.
CREATION: dict[Any, Any] = {
    np.zeros: creation.zeros, np.ones: creation.ones, np.empty: creation.zeros, np.ndarray: creation.zeros,
    np.full: creation.full,
    np.arange: creation.arange, np.linspace: creation.linspace, np.logspace: creation.logspace,
    np.geomspace: creation.geomspace, np.eye: creation.eye, np.identity: creation.identity, np.tri: creation.tri,
    np.indices: creation.indices, np.array: creation.array, np.asarray: creation.asarray,
    np.ascontiguousarray: creation.ascontiguousarray, np.asfortranarray: creation.asfortranarray,
    np.asanyarray: creation.asarray, np.require: creation.require, **WINDOWS, **REFUSED,
}  # fmt: skip
FUNCTIONS |= CREATION


def _like(value: Any) -> Any:
    def like(a: Any, /, dtype: Any = None, *, shape: Any = None) -> Any:
        return full_like(a, value, dtype, shape=shape)

    return like


# Compiled code never reads memory that nothing wrote, so an empty array has zeros.
FUNCTIONS |= {np.zeros_like: _like(0), np.ones_like: _like(1), np.empty_like: _like(0)}


@handles(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    a = as_tensor(a)
    made = full(a.shape if shape is None else shape, fill_value, a.dtype if dtype is None else dtype)
    return laid_out_like(made, a) if shape is None else made


@handles(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinates of a grid; ``xy`` swaps the first two dims, ``sparse`` leaves dims of size 1."""
    if indexing not in ("xy", "ij"):
        raise OpError(f"np.meshgrid: indexing is 'xy' or 'ij', not {indexing!r}", code="TX0240")
    given = [reshaping.ravel(as_tensor(x)) for x in xi]
    order = list(range(len(given)))
    if indexing == "xy" and len(given) > 1:
        order[:2] = [1, 0]
    found = []
    for x, at in zip(given, order):
        found.append(reshaping.expand_dims(x, tuple(i for i in range(len(given)) if i != at)) if len(given) > 1 else x)
    if not sparse:
        whole = [x.dims[at] for x, at in zip(found, order)]
        dims = tuple(whole[order.index(i)] for i in range(len(given)))
        found = [broadcast_to(x, dims) for x in found]
    return tuple(elements.copy(x) for x in found)


@handles(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Tensor:
    """Powers of x, one a column: as products, each of the one before."""
    x = as_tensor(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    # Small integers and floats become wider, as beside NumPy's own ints.
    x = cast(x, common_dtype([x, as_tensor(np.int64(1))]))
    count = int(x.shape[0]) if N is None else int(N)
    if count < 1:
        return creation.zeros((*x.shape, count), x.dtype)
    columns = [full(x.shape, 1, x.dtype)]
    for _ in range(1, count):
        columns.append(apply("mul", columns[-1], x))
    return stack(columns if increasing else columns[::-1], 1)


@handles(np.ix_)
def ix_(*args: Any) -> tuple[Tensor, ...]:
    given = [as_tensor(a) for a in args]
    if any(a.ndim != 1 for a in given):
        raise OpError(f"np.ix_ takes vectors, not {', '.join(str(a.user_type) for a in given)}", code="TX0103")
    given = [nonzero(a)[0] if a.element.kind == "bool" else a for a in given]
    return tuple(
        reshaping.expand_dims(a, tuple(i for i in range(len(given)) if i != at)) if len(given) > 1 else a
        for at, a in enumerate(given)
    )
