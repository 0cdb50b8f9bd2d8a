"""Products of tensors: the document's *Linear algebra*."""

from __future__ import annotations

from typing import Any

from .....dialects.registry import OpError
from ....diagnostics import located
from ...tensor.apply import apply
from ...tensor.tensor import Tensor
from .arguments import depth_of, shape_text, tensor
from .creation import array
from .storage import wrapped

__all__ = ["mmul", "outer_product"]


def _product(operands: tuple[Any, ...], name: str, multiply: Any) -> Any:
    with located():
        tensors = [tensor(x, name, i) for i, x in enumerate(operands)]
        if len(tensors) < 2:
            return operands[0] if tensors else array(1)
        depth = depth_of(*tensors) + len(tensors) - 2
        result = tensors[0]
        for b in tensors[1:]:
            result = apply("mul", result, b) if not (result.ndim and b.ndim) else multiply(result, b)
        return wrapped(result, depth)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    last, first = a.dims[-1].const, b.dims[0].const
    if last is not None and first is not None and last != first:
        raise OpError(
            f"mmul: the last size of {shape_text(a.shape)} is not the first of {shape_text(b.shape)}",
            "transpose one of them",
            "TX0812",
        )
    return apply("contract", a, b, pairs=((a.ndim - 1, 0),))


def mmul(*tensors: Any) -> Any:
    """The product of tensors of f32 or f64, from the left: of scalars, the inner one of vectors, that of matrices.

    The last dim of each meets the first of the next: shapes [… k] and [k …] give [… …]; a scalar multiplies.  Of no
    argument the scalar 1, of one itself.  TxcError where those sizes differ, and for what is no tensor.
    """
    return _product(tensors, "mmul", _dot)


def outer_product(*tensors: Any) -> Any:
    """The outer product of tensors of f32 or f64: each element of one times each of the next.

    The shape is theirs, one after the other.  Of no argument the scalar 1, of one itself.  TxcError for what is no
    tensor.
    """
    return _product(tensors, "outer_product", lambda a, b: apply("contract", a, b, pairs=()))
