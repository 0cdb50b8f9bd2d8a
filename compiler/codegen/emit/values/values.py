"""The registers of SSA values."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import SSAValue

from .registers import VectorValue

__all__ = ["Values"]


class Values(dict[SSAValue, VectorValue]):
    """What the ops of a function made so far; `outside` gives what others made, and fails for what nobody did."""

    def __init__(self, outside: Callable[[SSAValue], VectorValue]):
        super().__init__()
        self._outside = outside

    def __missing__(self, value: SSAValue) -> VectorValue:
        found = self[value] = self._outside(value)
        return found
