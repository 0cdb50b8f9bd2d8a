"""Declarations that only txc itself makes, passes or the front end, never a user: so they are not in the registry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from .dims.index_map import IndexMap
from .registry import Op, OpError, Param, Structural, View, dims_param, dtype_param
from .types import TensorType, tensor_type

__all__ = ["LOCAL", "Empty", "GenericView", "Stored", "Yield"]


class GenericView(View):
    """Any index map as a view: several views in a row become one of these.  `fill` stands outside the map's guards."""

    name = "view"
    params: ClassVar[dict[str, Param]] = {
        "map": Param("map", lambda v, _: v),
        "fill": Param("value", lambda v, _: v, 0),
    }

    @classmethod
    def view(cls, operand: TensorType, attrs: dict[str, Any]) -> IndexMap:
        index = attrs["map"]
        if not isinstance(index, IndexMap):
            raise OpError(f"'map' must be an index map, not {index!r}")
        return index


class Empty(Structural):
    """A tensor of `dtype` and `dims` whose elements have no value yet; reading one is an error of the program."""

    name = "empty"
    arity = 0
    params: ClassVar[dict[str, Param]] = {"dtype": dtype_param(), "dims": dims_param()}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        return (tensor_type(attrs["dtype"], attrs["dims"]),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        shape = tuple(int(d.const) for d in attrs["dims"])
        # Zeros, so that a run is the same every time.
        return (np.zeros(shape, attrs["dtype"].numpy),)


class Stored(Structural):
    """What an array that others see holds from a store on: its first operand; the second is what it held before.

    No computation, and nothing of the IR: it says when the store happens.  Where a check failed before that, the array
    stays what it was (`compiler/frontend/indexing/runtime_checks.py`).
    """

    name = "stored"
    arity = 2

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        return (operands[0],)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return (arrays[0],)


class Yield(Structural):
    """Ends a region: next carried values, a condition, a branch's results."""

    name = "yield"
    results = 0

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        return ()


LOCAL: dict[str, type[Op]] = {decl.name: decl for decl in (GenericView, Empty, Yield)}
