"""Indices that are data: gathers and scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...dims.dims import Dim, Sym, dim, iterators, sym
from ...dims.index_map import IndexMap
from ...registry import OpError, Param, Structural, axis, dims_param, find_op, mode, op
from ...types import TensorType

__all__ = ["INDEX", "STORE", "index_symbols"]

#: How a scatter combines the element that is there with the new one, where it does not.
STORE = "store"
#: What names of `index_symbols` start with; no dim of a program is called so.
INDEX = "..x"


def index_symbols(count: int) -> tuple[Dim, ...]:
    """What stands in a scatter's map for the values of its index operands."""
    return tuple(sym(f"{INDEX}{i}") for i in range(count))


def _positions(indices: np.ndarray, extent: int) -> np.ndarray:
    """Indices counted from the start: negative ones count from the end."""
    wide = indices.astype(np.int64)
    return np.where(wide < 0, wide + extent, wide)


@op
class Take(Structural):
    """Elements at integer `indices` of the dims from `axis` on, one operand a dim; their dims replace those.

    Negative indices count from the end; others are clamped into range, and a dim without elements gives zeros.  With
    `mode` ``raise`` the call, having run with these, raises IndexError; ``inhabited`` promises dims with elements.
    """

    numpy = np.take
    arity = -1
    methods = ("take",)
    params: ClassVar[dict[str, Param]] = {"axis": axis(), "mode": mode()}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        source, *indices = operands
        at: int = attrs["axis"]
        if not indices or at + len(indices) > source.rank:
            raise OpError(f"take from dim {at} of {source} on has no place for {len(indices)} indices", code="TX0132")
        for given in indices:
            if not given.dtype.is_integer or given.dims != indices[0].dims:
                raise OpError(f"take needs integer indices of one shape, got {given}", code="TX0132")
        return (source.with_dims((*source.dims[:at], *indices[0].dims, *source.dims[at + len(indices) :])),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        source, *indices = arrays
        at: int = attrs["axis"]
        extents = source.shape[at : at + len(indices)]
        if 0 in extents:
            shape = (*source.shape[:at], *indices[0].shape, *source.shape[at + len(indices) :])
            return (np.zeros(shape, source.dtype),)
        inside = tuple(np.clip(_positions(i, n), 0, n - 1) for i, n in zip(indices, extents))
        return (source[(slice(None),) * at + inside],)


@op
class Scatter(Structural):
    """`base` with elements replaced, or combined, by those of `value` at places that index operands say.

    The operands after `value` are integers of the leading dims of `value`.  `map` leads from the dims of `value`, and
    the values of the indices (`index_symbols`), to the dims of `base`.  Where an element is named several times they
    follow in row-major order: with `combine` ``store`` the last one stays, with the name of a binary map each is
    combined with what is there.  Negative indices count from the end, each of a dim of its entry in `limits`; elements
    at other indices outside are left out, and with `mode` ``raise`` the call raises IndexError.
    """

    arity = -1
    params: ClassVar[dict[str, Param]] = {
        "map": Param("map", lambda v, _: v),
        "limits": dims_param(),
        "combine": Param("name", lambda v, _: str(v), STORE),
        "mode": mode(),
    }

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        base, value, *indices = operands
        index: IndexMap = attrs["map"]
        if index.extents != value.dims or len(index.exprs) != base.rank or len(attrs["limits"]) != len(indices):
            raise OpError(f"{value} at {len(indices)} indices does not fit {base}", code="TX0130")
        if base.dtype is not value.dtype:
            raise OpError(f"cannot store {value.dtype} into {base.dtype}", "cast first", "TX0131")
        for given in indices:
            if not given.dtype.is_integer or given.dims != value.dims[: given.rank] or given.dims != indices[0].dims:
                raise OpError(f"{given} is no index for the leading dims of {value}", code="TX0132")
        return (base,)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        base, value, *indices = arrays
        env: dict[Sym, Any] = {}
        for i, (it, size) in enumerate(zip(iterators(value.ndim), value.shape)):
            assert it.symbol is not None
            env[it.symbol] = np.arange(size).reshape((-1,) + (1,) * (value.ndim - 1 - i))
        inside = np.ones(value.shape, np.bool_)
        for symbol, given, limit in zip(index_symbols(len(indices)), indices, attrs["limits"]):
            assert symbol.symbol is not None
            extent = int(dim(limit).evaluate({}))
            at = _positions(given, extent).reshape(given.shape + (1,) * (value.ndim - given.ndim))
            inside &= (0 <= at) & (at < extent)
            env[symbol.symbol] = at
        places = (np.broadcast_to(np.asarray(e.evaluate(env)), value.shape)[inside] for e in attrs["map"].exprs)
        result = base.copy()
        if attrs["combine"] == STORE:
            result[tuple(places)] = value[inside]
        else:
            find_op(attrs["combine"]).numpy.at(result, tuple(places), value[inside])
        return (result,)
