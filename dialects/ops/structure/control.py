"""Structured control flow.  Regions hold the bodies; the operands are the carried values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ...dims.dims import dim
from ...registry import OpError, Param, Structural, int_param, op
from ...types import TensorType


def _expr() -> Param:
    return Param("dim", lambda v, _: dim(v))


@op
class For(Structural):
    """Runs its region for ``iv`` from `lower` to `upper` by a positive `step`, in order, carrying its operands.

    It ends after an iteration that yields true for the operand number `until`, a rank-0 bool, where there is one.
    With `only` just one iteration runs: the one whose number is the operand of that number, a rank-0 i64 that is in the
    range.  So a size that values decide becomes a dim: of what is inside, the range says how large it can be.
    """

    arity = -1
    params: ClassVar[dict[str, Param]] = {
        "iv": Param("name", lambda v, _: str(v)),
        "lower": _expr(),
        "upper": _expr(),
        "step": _expr(),
        "until": int_param(None),
        "only": int_param(None),
    }

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        return tuple(operands)


@op
class While(Structural):
    """Runs its second region while the first yields true, carrying its operands along."""

    arity = -1

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        return tuple(operands)


@op
class If(Structural):
    """The results of one of two regions, by a rank-0 bool; their types are those the regions yield."""

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        raise OpError("the types of an if are those of its branches", code="TX0142")
