"""Parameters of ops that are not tensors: what a user may write, and its canonical, hashable form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .dims.dims import Dim, dim
from .types import TensorType, dtype

__all__ = [
    "INHABITED", "RAISE", "REQUIRED", "OpError", "Param", "axes", "axis", "bool_param", "choice", "dims_param",
    "dtype_param", "float_param", "int_param", "ints", "mode",
]  # fmt: skip

#: The `mode` of what is to be checked: an index outside, or a failure of the op, makes the call raise an error.
RAISE = "raise"
#: The `mode` of reads at indices that are data, from dims which have elements in every call.
INHABITED = "inhabited"


class OpError(ValueError):
    """Operands or parameters an op does not take.  The front ends add the user's line and the code's page."""

    def __init__(self, message: str, hint: str = "", code: str = "TX0001"):
        super().__init__(message)
        self.message, self.hint, self.code = message, hint, code


class CertainError(OpError):
    """An error of each iteration of the loops around it that comes to it: none of its sizes varies with these."""


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED: Any = _Required()


@dataclass(frozen=True)
class Param:
    """A parameter that is not a tensor: `convert(value, operands)` gives its canonical, hashable form.

    Canonical forms: None, bool, int, float, str, `DType`, `Dim`, and tuples of these.
    """

    kind: str
    convert: Callable[[Any, Sequence[TensorType]], Any]
    default: Any = REQUIRED
    #: The value for the first operand with its dims reversed, given its rank: how column-major tensors are lowered.
    mirror: Callable[[Any, int], Any] = lambda value, rank: value


def _reversed(value: Any, rank: int) -> Any:
    return None if value is None else tuple(reversed(value))


def _as_int(value: Any, what: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise OpError(f"{what} must be an integer, not {value!r}", code="TX0102")
    return int(value.__index__())


def _one_axis(value: Any, rank: int) -> int:
    number = _as_int(value, "an axis")
    if not -rank <= number < rank:
        raise OpError(
            f"axis {number} is out of range for rank {rank}",
            f"axes go from {-rank} to {rank - 1}" if rank else "",
            "TX0103",
        )
    return number % rank


def _as_dim(value: Any) -> Dim:
    return value if isinstance(value, Dim) else getattr(value, "dim", None) or dim(_as_int(value, "a size"))


def axis(default: Any = REQUIRED) -> Param:
    """One axis of the first operand; negative counts from the end."""

    def convert(value: Any, operands: Sequence[TensorType]) -> Any:
        return None if value is None else _one_axis(value, operands[0].rank)

    return Param("axis", convert, default, lambda value, rank: None if value is None else rank - 1 - value)


def axes(default: Any = None) -> Param:
    """A set of axes of the first operand, as a sorted tuple; None means all of them."""

    def convert(value: Any, operands: Sequence[TensorType]) -> Any:
        rank = operands[0].rank
        if value is None:
            return tuple(range(rank))
        given = list(value) if isinstance(value, (tuple, list)) else [value]
        numbers = [_one_axis(v, rank) for v in given]
        if len(set(numbers)) != len(numbers):
            raise OpError(f"axis {max(numbers, key=numbers.count)} is listed twice in {tuple(given)}", code="TX0104")
        return tuple(sorted(numbers))

    return Param("axes", convert, default, lambda value, rank: tuple(sorted(rank - 1 - a for a in value)))


def bool_param(default: Any = REQUIRED) -> Param:
    return Param("bool", lambda v, _: bool(v), default)


def int_param(default: Any = REQUIRED) -> Param:
    return Param("int", lambda v, _: None if v is None else _as_int(v, "this parameter"), default)


def float_param(default: Any = REQUIRED) -> Param:
    return Param("float", lambda v, _: None if v is None else float(v), default)


def ints(default: Any = REQUIRED) -> Param:
    """A tuple of numbers, one a dim."""

    def convert(value: Any, _: Sequence[TensorType]) -> Any:
        return None if value is None else tuple(_as_int(x, "each entry") for x in value)

    return Param("ints", convert, default, _reversed)


def dims_param(default: Any = REQUIRED) -> Param:
    """A tuple of sizes or offsets, one a dim: ints, or dims known only at run time."""

    def convert(value: Any, _: Sequence[TensorType]) -> Any:
        if value is None:
            return None
        return tuple(_as_dim(x) for x in (value if isinstance(value, (tuple, list)) else [value]))

    return Param("dims", convert, default, _reversed)


def mode() -> Param:
    """What is done where data has no result: None, `RAISE`, or `INHABITED`."""
    return Param("name", lambda v, _: None if v is None else str(v), None)


def dtype_param(default: Any = REQUIRED) -> Param:
    return Param("dtype", lambda v, _: None if v is None else dtype(v), default)


def choice(*allowed: str, default: Any = REQUIRED) -> Param:
    def convert(value: Any, _: Sequence[TensorType]) -> Any:
        if value not in allowed:
            raise OpError(f"{value!r} is not one of {', '.join(map(repr, allowed))}", code="TX0105")
        return value

    return Param("choice", convert, default)
