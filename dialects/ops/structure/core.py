"""Ops with inference and lowering of their own: sources of values, stores, joins and materialisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...dims.dims import dim, iterators
from ...dims.index_map import IndexMap
from ...registry import OpError, Param, Structural, axis, dtype_param, op
from ...types import TensorType, tensor_type


def _kept(value: Any, _: Sequence[TensorType]) -> Any:
    return value


@op
class Constant(Structural):
    """A rank-0 literal of `dtype`."""

    arity = 0
    params: ClassVar[dict[str, Param]] = {"value": Param("number", _kept), "dtype": dtype_param()}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        return (tensor_type(attrs["dtype"]),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return (np.asarray(attrs["value"]).astype(attrs["dtype"].numpy),)


@op
class Dim(Structural):
    """The value of an integer expression over dims and `int` arguments, as a rank-0 tensor of `dtype`."""

    arity = 0
    params: ClassVar[dict[str, Param]] = {"expr": Param("dim", lambda v, _: dim(v)), "dtype": dtype_param("i64")}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        return (tensor_type(attrs["dtype"]),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return (np.asarray(attrs["expr"].evaluate({})).astype(attrs["dtype"].numpy),)


@op
class Iota(Structural):
    """``0, 1, 2, …``: `extent` elements of `dtype`."""

    arity = 0
    params: ClassVar[dict[str, Param]] = {"extent": Param("dim", lambda v, _: dim(v)), "dtype": dtype_param("i64")}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        return (tensor_type(attrs["dtype"], (attrs["extent"],)),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return (np.arange(attrs["extent"].evaluate({})).astype(attrs["dtype"].numpy),)


@op
class Insert(Structural):
    """`base` with the elements that `map` names replaced by those of `value`: an assignment to a view, as a value.

    `map` leads from the dims of `value` (its extents) to those of `base`, each element of `base` at most once.
    """

    arity = 2
    seeds = "Eigen: assignable views"
    params: ClassVar[dict[str, Param]] = {"map": Param("map", _kept)}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        base, value = operands
        index: IndexMap = attrs["map"]
        if index.extents != value.dims or len(index.exprs) != base.rank:
            raise OpError(f"{value} does not fit the assigned view of {base}", code="TX0130")
        if base.dtype is not value.dtype:
            raise OpError(f"cannot store {value.dtype} into {base.dtype}", "cast first", "TX0131")
        return (base,)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        base, value = arrays
        index: IndexMap = attrs["map"]
        env: dict[Any, Any] = {}
        for i, (it, size) in enumerate(zip(iterators(value.ndim), value.shape)):
            assert it.symbol is not None
            env[it.symbol] = np.arange(size).reshape((-1,) + (1,) * (value.ndim - 1 - i))
        result = base.copy()
        where = tuple(np.broadcast_to(np.asarray(e.evaluate(env)), value.shape) for e in index.exprs)
        if where:
            result[where] = value
        elif value.size:  # all points are the one element
            result[...] = value.flat[-1]
        return (result,)


@op
class Concatenate(Structural):
    """Operands of one dtype one after another along `axis`; all other dims are equal."""

    numpy = np.concatenate
    arity = -1
    seeds = "Eigen concatenate"
    methods = ("concatenate",)
    params: ClassVar[dict[str, Param]] = {"axis": axis(0)}

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        first, at = operands[0], attrs["axis"]
        total = dim(0)
        for other in operands:
            rest = tuple(d for i, d in enumerate(other.dims) if i != at)
            if other.dtype is not first.dtype or rest != tuple(d for i, d in enumerate(first.dims) if i != at):
                raise OpError(f"cannot concatenate {', '.join(map(str, operands))} along dim {at}", code="TX0133")
            total = total + other.dims[at]
        return (first.with_dims((*first.dims[:at], total, *first.dims[at + 1 :])),)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return (np.concatenate(arrays, axis=attrs["axis"]),)


@op
class Eval(Structural):
    """Its operand, materialised: computed once and kept in memory."""

    seeds = "Eigen eval"
    methods = ("eval",)

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        return (operands[0],)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return (arrays[0],)
