"""Python's operators on tensors: what stands between two of them becomes an op of the registry."""

from __future__ import annotations

import operator
import sys
from typing import Any, NoReturn

import numpy as np

from ....dialects.registry import OpError
from ...diagnostics import located
from ..trace.context import current
from ..trace.undefined import Unusable

__all__ = ["Operators", "computes_itself", "refuse_as_key"]


#: What a product with an integer repeats.
_SEQUENCES = (str, bytes, tuple, list)


def _repeats(number: Any, other: Any) -> bool:
    """Whether a product with a tensor is one of a number and a sequence."""
    return isinstance(other, _SEQUENCES) and not number.ndim and not number.boxed


def _repeated(sequence: Any, times: Any) -> Any:
    """``sequence * times``, where that is a number: as in NumPy no array is made of the sequence."""
    if not times.element.is_integer:
        raise TypeError(f"can't multiply sequence by non-int of type 'numpy.{times.dtype.name}'")
    return sequence * operator.index(times)


def _operator(name: str) -> tuple[Any, Any, Any]:
    """``a op b``, its reflected form, and ``a op= b``."""
    multiplies = name == "mul"

    def forward(self: Any, other: Any) -> Any:
        if isinstance(other, Unusable):
            return NotImplemented
        if multiplies and _repeats(self, other):
            return _repeated(other, self)
        if self.weak and (made := self.functions.of_python(name, self, other)) is not None:
            return made
        if isinstance(other, Operators):
            made = self.lookup_binary(name, self, other)
            if made is not None:
                return made
        elif _foreign(other):
            return self.functions.undefined(name, self, other)
        elif computes_itself(other):
            return NotImplemented
        return self.apply(name, self, other)

    def reflected(self: Any, other: Any) -> Any:
        if multiplies and _repeats(self, other):
            return _repeated(other, self)
        if (self.weak or type(other) is complex) and (made := self.functions.of_python(name, other, self)) is not None:
            return made
        return self.functions.undefined(name, other, self) if _foreign(other) else self.apply(name, other, self)

    def in_place(self: Any, other: Any) -> Any:
        if isinstance(other, Unusable):
            return other.each(lambda v: in_place(self, v), self)
        if self.weak or (multiplies and _repeats(self, other)):
            return forward(self, other)
        return _in_place(self, self.apply(name, self, other))

    return forward, reflected, in_place


def _comparison(name: str) -> Any:
    def compare(self: Any, other: Any) -> Any:
        if isinstance(other, Unusable):
            return NotImplemented
        if self.weak and (made := self.functions.of_python(name, self, other)) is not None:
            return made
        if _foreign(other):
            return self.functions.undefined(name, self, other)
        return NotImplemented if computes_itself(other) else self.apply(name, self, other)

    return compare


def _unary(name: str) -> Any:
    def alone(self: Any) -> Any:
        if self.weak and (made := self.functions.of_python(name, self)) is not None:
            return made
        return self.apply(name, self)

    return alone


#: The packages whose functions keep things by tensor, none of which is a program.
_KEEPERS = (sys.stdlib_module_names | {"txc", "xdsl", "numpy"}) - {"__main__", "collections"}
#: The modules of ours that call what a program calls, and look up its keys.
_OF_PROGRAMS = (
    ".state.containers.staged_dicts", ".state.lookup.items",
    ".staging.runtime", ".staging.calls.builtins", ".staging.calls.list_methods",
)  # fmt: skip


def _is_number(value: Any) -> bool:
    """Whether NumPy has a scalar where this is, which can be a key: no array, not of rank 0 either."""
    return not (value.ndim or value.boxed)


def refuse_as_key(value: Any) -> NoReturn:
    """What a tensor as a key of a dict, or an item of a set, is: nothing for arrays, as in NumPy, nor for what only the
    compiled function knows."""
    if not _is_number(value):
        raise TypeError("unhashable type: 'numpy.ndarray'")
    with located():
        raise OpError(
            "a key of a dict, or an item of a set, is known only when the compiled function runs",
            "use keys that do not depend on arrays, an array that they index, or np.unique",
            "TX0311",
        )


class Operators:
    """The operators of `Tensor`.  Augmented assignment stores into the tensor, as NumPy's does into an array."""

    __slots__ = ()

    def __hash__(self) -> int:
        """By identity, which what the compiler keeps by tensor needs.  Where a program asks, a number's is that of its
        value, and none is known while the program is staged."""
        traced = current() is not None
        if traced or _is_number(self):
            asking = str(sys._getframe(1).f_globals.get("__name__"))
            if asking.partition(".")[0] not in _KEEPERS or asking.endswith(_OF_PROGRAMS):
                if traced:
                    refuse_as_key(self)
                number = np.asarray(self)[()]
                if number == number:  # of NaN each object has a hash of its own
                    return hash(number)
        return object.__hash__(self)

    __add__, __radd__, __iadd__ = _operator("add")
    __sub__, __rsub__, __isub__ = _operator("sub")
    __mul__, __rmul__, __imul__ = _operator("mul")
    __truediv__, __rtruediv__, __itruediv__ = _operator("div")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operator("floor_divide")
    __mod__, __rmod__, __imod__ = _operator("remainder")
    __and__, __rand__, __iand__ = _operator("bitwise_and")
    __or__, __ror__, __ior__ = _operator("bitwise_or")
    __xor__, __rxor__, __ixor__ = _operator("bitwise_xor")
    __lshift__, __rlshift__, __ilshift__ = _operator("left_shift")
    __rshift__, __rrshift__, __irshift__ = _operator("right_shift")
    __lt__ = _comparison("less")
    __le__ = _comparison("less_equal")
    __gt__ = _comparison("greater")
    __ge__ = _comparison("greater_equal")
    __neg__ = _unary("negate")
    __pos__ = _unary("positive")
    __abs__ = _unary("abs")
    __invert__ = _unary("bitwise_not")

    def __eq__(self: Any, other: object) -> Any:
        if isinstance(other, Unusable):
            return NotImplemented
        if self.weak and (made := self.functions.of_python("equal", self, other)) is not None:
            return made
        return self.apply("equal", self, other)

    def __ne__(self: Any, other: object) -> Any:
        if isinstance(other, Unusable):
            return NotImplemented
        if self.weak and (made := self.functions.of_python("not_equal", self, other)) is not None:
            return made
        return self.apply("not_equal", self, other)

    def __matmul__(self: Any, other: Any) -> Any:
        if isinstance(other, Unusable):
            return NotImplemented
        return NotImplemented if computes_itself(other) else self.functions.matmul(self, other)

    def __rmatmul__(self: Any, other: Any) -> Any:
        return self.functions.matmul(other, self)

    def __imatmul__(self: Any, other: Any) -> Any:
        if isinstance(other, Unusable):
            return other.each(lambda v: operator.imatmul(self, v), self)
        return _in_place(self, self.functions.matmul(self, other))

    def __pow__(self: Any, other: Any) -> Any:
        if isinstance(other, Unusable):
            return NotImplemented
        if self.weak and (made := self.functions.of_python("pow", self, other)) is not None:
            return made
        return NotImplemented if computes_itself(other) else self.functions.raised(self, other)

    def __rpow__(self: Any, other: Any) -> Any:
        if (self.weak or type(other) is complex) and (made := self.functions.of_python("pow", other, self)) is not None:
            return made
        return self.functions.raised(other, self)

    def __ipow__(self: Any, other: Any) -> Any:
        if isinstance(other, Unusable):
            return other.each(lambda v: operator.ipow(self, v), self)
        return self**other if self.weak else _in_place(self, self.functions.raised(self, other))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


def _foreign(x: Any) -> bool:
    return isinstance(x, (str, bytes, type(None), dict, set))


def computes_itself(x: Any) -> bool:
    """Whether an operand, as an `xarray.DataArray`, is of a class that NumPy lets compute with arrays by its own rules.

    A lazy tensor does so too; a compiled function leaves its whole call to Python.
    """
    kind = type(x)
    if isinstance(x, (int, float, complex, np.ndarray, np.generic, Operators)) or current() is not None:
        return False
    return getattr(kind, "__array_ufunc__", None) is not None and not hasattr(kind, "__txc_array__")


def _in_place(target: Any, result: Any) -> Any:
    """What an augmented assignment leaves: the array written, or a new value where NumPy has an immutable scalar."""
    if target.ndim == 0 and not target.boxed:
        return result
    with located():
        if not np.can_cast(result.dtype, target.dtype, "same_kind"):
            raise OpError(
                f"cannot store {result.element} in place into {target.user_type}",
                "NumPy refuses this too; write x = x + … instead",
                "TX0222",
            )
        target.store(result, is_fresh=True)
    return target
