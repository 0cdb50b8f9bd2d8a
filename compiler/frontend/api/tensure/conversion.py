"""From tensors to Python's numbers and lists: the document's *Conversion between tensors and Java/Clojure types*.

They need values: TxcError inside a function that is being compiled.
"""

from __future__ import annotations

from typing import Any

from .....dialects.registry import OpError
from ....diagnostics import located
from ...tensor.tensor import Tensor
from .arguments import number, tensor

__all__ = ["array_to_vector", "eseq", "scalar_to_number", "to_int", "to_number"]


def scalar_to_number(a: Any) -> float:
    """The number that a scalar (shape [], f32 or f64) holds, as a float.  TxcError for tensors of other shapes."""
    with located():
        x = tensor(a, "scalar_to_number")
        if x.ndim:
            raise OpError(
                f"scalar_to_number takes a scalar, not a {x.user_type}", "eseq lists the elements of any", "TX0803"
            )
        return float(x)


def to_number(n: Any) -> Any:
    """A Python number as it is, a scalar (shape [], f32 or f64) as a float.  TxcError for anything else."""
    with located():
        found = number(n, "to_number")
        return scalar_to_number(found) if isinstance(found, Tensor) else found


def to_int(n: Any) -> int:
    """A number, or a scalar (shape [], f32 or f64), as an int: towards zero.  TxcError for NaN, inf, anything else."""
    with located():
        found = to_number(n)
        try:
            return int(found)
        except (ValueError, OverflowError) as error:
            raise OpError(f"to_int: {found} is no whole number", code="TX0803") from error


def eseq(a: Any) -> list[float]:
    """The elements of a tensor, any shape, f32 or f64, as floats in a list, row by row.  TxcError for no tensor."""
    with located():
        return tensor(a, "eseq")._array("eseq").ravel().tolist()


def array_to_vector(a: Any) -> Any:
    """A tensor, any shape, f32 or f64, as nested lists of floats; a scalar as a float.  TxcError for no tensor."""
    with located():
        return tensor(a, "array_to_vector")._array("array_to_vector").tolist()
