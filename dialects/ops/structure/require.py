"""Demands on data: what NumPy's functions raise an error for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ...params import RAISE
from ...registry import OpError, Param, Structural, op
from ...types import TensorType


def _text(value: Any, _: Sequence[TensorType]) -> str:
    return str(value)


@op
class Require(Structural):
    """The first operand; the call raises `error`, saying `text`, where the second, a bool, is false anywhere.

    It is a check and no computation: `compiler/frontend/indexing/runtime_checks.py` takes it out of every graph that is
    compiled.
    """

    arity = 2
    params: ClassVar[dict[str, Param]] = {
        "text": Param("text", _text), "error": Param("name", _text, "ValueError"),
        "mode": Param("name", _text, RAISE),
    }  # fmt: skip

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        x, holds = operands
        if holds.dtype.kind != "bool":
            raise OpError(f"require needs a bool condition, got {holds}", "compare it with something", "TX0111")
        return (x,)

    @classmethod
    def evaluate(cls, arrays: Sequence[np.ndarray], attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
        return (arrays[0],)
