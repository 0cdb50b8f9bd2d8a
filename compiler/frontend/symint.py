"""`SymInt`: an integer known when the compiled function runs, with the arithmetic of Python's int."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dialects.dims import Dim, dim
from ...dialects.dims import maximum as dim_maximum
from ...dialects.dims import minimum as dim_minimum
from ..diagnostics import located

__all__ = ["SymInt", "as_dim", "is_integer", "sym_max", "sym_min", "symint"]


def is_integer(x: Any) -> bool:
    """Whether `x` is a Python or NumPy integer or a `SymInt`; bools and tensors are not."""
    return isinstance(x, (SymInt, int, np.integer)) and not isinstance(x, bool)


def as_dim(x: Any) -> Dim:
    """The `Dim` of an int, a `SymInt` or a `Dim`."""
    if isinstance(x, SymInt):
        return x.dim
    return x if isinstance(x, Dim) else dim(int(x.__index__()))


def symint(d: Dim | int) -> int | SymInt:
    """A Python int where the value is known, else a `SymInt`."""
    from .trace import current

    trace = current()
    d = trace.table.resolve(d) if trace is not None else dim(d)
    return SymInt(d) if d.const is None else d.const


class SymInt:
    """Arithmetic gives a `SymInt`; a comparison a Python bool and a guard, or a rank-0 tensor.

    It is a tensor where the value varies with a loop, and in the condition of a `while` (`Trace.deferred`).

    `int()` and use as an index of Python's own sequences make the value a fact of the compiled version.
    """

    __slots__ = ("dim",)
    __array_ufunc__ = None

    def __init__(self, d: Dim):
        self.dim = d

    def _with(self, other: Any, compute: Any, name: str, reflected: bool = False) -> Any:
        if is_integer(other):
            a, b = self.dim, as_dim(other)
            return symint(compute(b, a) if reflected else compute(a, b))
        if isinstance(other, (bool, float)):
            return getattr(self.tensor(), name)(other)
        return NotImplemented

    def tensor(self) -> Any:
        """Its value as a rank-0 i64 tensor that promotes as a Python int does."""
        from .apply import as_tensor

        return as_tensor(self)

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b, "__add__")

    def __radd__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a + b, "__radd__", True)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b, "__sub__")

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a - b, "__rsub__", True)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, (list, tuple)):
            return other * int(self)
        return self._with(other, lambda a, b: a * b, "__mul__")

    def __rmul__(self, other: Any) -> Any:
        if isinstance(other, (list, tuple)):
            return other * int(self)
        return self._with(other, lambda a, b: a * b, "__rmul__", True)

    def __floordiv__(self, other: Any) -> Any:
        if is_integer(other):
            _nonzero(other)
        return self._with(other, lambda a, b: a // b, "__floordiv__")

    def __rfloordiv__(self, other: Any) -> Any:
        _nonzero(self)
        return self._with(other, lambda a, b: a // b, "__rfloordiv__", True)

    def __mod__(self, other: Any) -> Any:
        if is_integer(other):
            _nonzero(other)
        return self._with(other, lambda a, b: a % b, "__mod__")

    def __rmod__(self, other: Any) -> Any:
        _nonzero(self)
        return self._with(other, lambda a, b: a % b, "__rmod__", True)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __truediv__(self, other: Any) -> Any:
        return self.tensor() / other if is_integer(other) or isinstance(other, (bool, float)) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.tensor() if is_integer(other) or isinstance(other, (bool, float)) else NotImplemented

    def __pow__(self, other: Any) -> Any:
        if is_integer(other) and not isinstance(other, SymInt) and int(other) >= 0:
            result: Any = 1
            for _ in range(int(other)):
                result = result * self
            return result
        return self.tensor() ** other

    def __rpow__(self, other: Any) -> Any:
        return other ** self.tensor()

    def __neg__(self) -> Any:
        return symint(-self.dim)

    def __pos__(self) -> SymInt:
        return self

    def __abs__(self) -> Any:
        return symint(dim_maximum(self.dim, -self.dim))

    def _compare(self, other: Any, relation: str, swap: bool, name: str) -> Any:
        from .trace import current

        if not is_integer(other):
            return getattr(self.tensor(), name)(other) if isinstance(other, float) else NotImplemented
        a, b = self.dim, as_dim(other)
        if swap:
            a, b = b, a
        trace = current()
        truth = None
        if trace is not None and (trace.deferring or trace.table.varies(trace.table.resolve(a - b))):
            truth = trace.table.proves(a, relation, b)
        elif trace is not None:
            truth = trace.table.decide(a, relation, b, "a comparison")
        return getattr(self.tensor(), name)(other) if truth is None else truth

    def __eq__(self, other: object) -> Any:
        return self._compare(other, "==", False, "__eq__")

    def __ne__(self, other: object) -> Any:
        return self._compare(other, "!=", False, "__ne__")

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "<", False, "__lt__")

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "<=", False, "__le__")

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, "<", True, "__gt__")

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, "<=", True, "__ge__")

    def __hash__(self) -> int:
        return hash(self.dim)

    def __bool__(self) -> bool:
        from .trace import current

        trace = current()
        truth = trace.table.decide(self.dim, "!=", 0, "its truth") if trace is not None else None
        return bool(self.__index__()) if truth is None else truth

    def __index__(self) -> int:
        from .trace import require

        with located():
            return require().table.int_of(self.dim)

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __repr__(self) -> str:
        return str(self.dim)


def _nonzero(x: Any) -> None:
    from .trace import current

    trace = current()
    zero = x == 0 if not isinstance(x, SymInt) else (trace is not None and trace.table.hint(x.dim) == 0)
    if zero:
        raise ZeroDivisionError("integer division or modulo by zero")


def sym_min(a: Any, b: Any) -> Any:
    """Python's ``min`` of two integers, without a guard."""
    return symint(dim_minimum(as_dim(a), as_dim(b)))


def sym_max(a: Any, b: Any) -> Any:
    """Python's ``max`` of two integers, without a guard."""
    return symint(dim_maximum(as_dim(a), as_dim(b)))
