"""`SymInt`: an integer known when the compiled function runs, with the arithmetic of Python's int."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ....dialects.dims.dims import Dim, dim
from ....dialects.dims.dims import maximum as dim_maximum
from ....dialects.dims.dims import minimum as dim_minimum
from ...diagnostics import located
from .context import current, require, table

__all__ = ["SymInt", "as_dim", "exactly_float", "is_integer", "shape_of", "sym_max", "sym_min", "symint"]


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
    trace = current()
    known = dim(d) if trace is None else trace.table.resolve(d)
    return SymInt(known) if known.const is None else known.const


class SymInt:
    """Arithmetic gives a `SymInt`; a comparison a Python bool and a guard, or a rank-0 tensor.

    It is a tensor where the value varies with a loop, and in the condition of a `while` (`Trace.deferred`).

    `int()`, its text, its hash and use as an index of Python's own sequences make the value a fact of the compiled
    version; so does what leaves the numbers that compiled code has: Python computes that itself.
    """

    __slots__ = ("dim",)

    #: As `Tensor.functions`.
    functions: ClassVar[Any]

    def __init__(self, d: Dim):
        self.dim = d

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        with located():
            return self.functions.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        with located():
            return self.functions.function(function, args, kwargs)

    def _with(self, other: Any, compute: Any, name: str, reflected: bool = False) -> Any:
        if isinstance(other, bool):
            other = int(other)
        if is_integer(other):
            a, b = self.dim, as_dim(other)
            return symint(compute(b, a) if reflected else compute(a, b))
        if isinstance(other, (float, complex)):
            return getattr(self.tensor(), name)(other)
        return NotImplemented

    def _divided(self, other: Any, compute: Any, name: str, reflected: bool = False) -> Any:
        """`_with` of a division: computed and checked at run time where the divisor may be zero in some iteration."""
        if is_integer(other) and not _is_nonzero(self if reflected else other):
            return getattr(self.tensor(), name)(other)
        return self._with(other, compute, name, reflected)

    def within(self, low: int, high: int) -> bool:
        """Whether it is from `low` to `high` in every call of the version and every iteration, as a fact."""
        facts = table()
        return bool(facts.decide(low, "<=", self.dim, "a range") and facts.decide(self.dim, "<=", high, "a range"))

    def truth(self) -> Any:
        """Its truth: a bool, or a rank-0 tensor where it varies with a loop."""
        return self != 0

    def tensor(self) -> Any:
        """Its value as a rank-0 i64 tensor that promotes as a Python int does."""
        return self.functions.as_tensor(self)

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
        return self._divided(other, lambda a, b: a // b, "__floordiv__")

    def __rfloordiv__(self, other: Any) -> Any:
        return self._divided(other, lambda a, b: a // b, "__rfloordiv__", True)

    def __mod__(self, other: Any) -> Any:
        return self._divided(other, lambda a, b: a % b, "__mod__")

    def __rmod__(self, other: Any) -> Any:
        return self._divided(other, lambda a, b: a % b, "__rmod__", True)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __truediv__(self, other: Any) -> Any:
        return _quotient(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _quotient(other, self)

    def __pow__(self, other: Any) -> Any:
        if isinstance(other, SymInt):
            return _power(self, other)
        if is_integer(other) and int(other) >= 0:
            result: Any = 1
            for _ in range(int(other)):
                result = result * self
            return result
        if isinstance(other, complex):
            return self.tensor() ** other
        if not is_integer(other) and not isinstance(other, float):
            return NotImplemented
        if other < 0 and not _is_nonzero(self):
            return self.tensor() ** other
        # Of a negative number a root is complex, and large powers raise OverflowError.
        if abs(other) <= 16 and self.within(0, 1 << 53):
            return _computed("pow", self, float(other))
        return int(self) ** other

    def __rpow__(self, other: Any) -> Any:
        return _power(other, self)

    # Bits, of two's complement with any number of digits.

    def __and__(self, other: Any) -> Any:
        if not _bitwise(other):
            return NotImplemented
        if isinstance(other, int) and other >= 0 and not other & other + 1:
            return self % (other + 1)
        return (self + other - (self ^ other)) // 2

    def __or__(self, other: Any) -> Any:
        return (self + other + (self ^ other)) // 2 if _bitwise(other) else NotImplemented

    def __xor__(self, other: Any) -> Any:
        return self._with(other, lambda a, b: a ^ b, "__xor__") if _bitwise(other) else NotImplemented

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Any:
        return symint(-self.dim - 1)

    def __lshift__(self, other: Any) -> Any:
        return _shifted(self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _shifted(other, self)

    def __rshift__(self, other: Any) -> Any:
        if not _bitwise(other):
            return NotImplemented
        if isinstance(other, SymInt):
            # A shift by more digits than there are gives what the last one leaves.
            return self >> int(other) if not other.within(0, 63) else _computed("right_shift", self, other)
        return self >> 63 if other > 63 else self // (1 >> other if other < 0 else 1 << other)

    def __rrshift__(self, other: Any) -> Any:
        if not _bitwise(other):
            return NotImplemented
        return _computed("right_shift", other, self) if self.within(0, 63) else other >> int(self)

    def __neg__(self) -> Any:
        return symint(-self.dim)

    def __pos__(self) -> SymInt:
        return self

    def __abs__(self) -> Any:
        return symint(dim_maximum(self.dim, -self.dim))

    def _compare(self, other: Any, relation: str, swap: bool, name: str) -> Any:
        if isinstance(other, bool):
            other = int(other)
        if isinstance(other, float) and not isinstance(other, np.generic):
            return self._compare_float(other, relation, swap)
        if isinstance(other, complex) and not isinstance(other, np.generic) and relation in ("==", "!="):
            return getattr(self, name)(other.real) if other.imag == 0 else relation == "!="
        if not is_integer(other):
            return getattr(self.tensor(), name)(other) if isinstance(other, np.generic) else NotImplemented
        a, b = self.dim, as_dim(other)
        if swap:
            a, b = b, a
        trace = current()
        truth = None
        if trace is not None and (trace.defer_guards or trace.table.varies(trace.table.resolve(a - b))):
            truth = trace.table.proves(a, relation, b)
        elif trace is not None:
            truth = trace.table.decide(a, relation, b, "a comparison")
        return getattr(self.tensor(), name)(other) if truth is None else truth

    def _compare_float(self, other: float, relation: str, swap: bool) -> Any:
        """An exact comparison, as Python's is: with the ints beside the float."""
        if math.isnan(other):
            return relation == "!="
        if math.isinf(other):
            return relation == "!=" if relation in ("==", "!=") else (other > 0) is not swap
        whole = math.floor(other)
        if relation in ("==", "!="):
            return (
                getattr(self, {"==": "__eq__", "!=": "__ne__"}[relation])(whole)
                if whole == other
                else (relation == "!=")
            )
        if swap:
            return self >= math.ceil(other) if relation == "<=" else self > whole
        return self <= whole if relation == "<=" else self < math.ceil(other)

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
        return hash(self.__index__())

    def __bool__(self) -> bool:
        truth = self.truth()
        return truth if isinstance(truth, bool) else bool(self.__index__())

    def __index__(self) -> int:
        with located():
            return require().table.int_of(self.dim)

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __complex__(self) -> complex:
        return complex(self.__index__())

    def __trunc__(self) -> SymInt:
        return self

    __floor__ = __ceil__ = __trunc__

    def __round__(self, ndigits: int | None = None) -> Any:
        return self if ndigits is None or ndigits >= 0 else round(self.__index__(), ndigits)

    # What Python's ints have beside operators.

    @property
    def real(self) -> SymInt:
        return self

    numerator = real
    imag, denominator = 0, 1

    def conjugate(self) -> SymInt:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(int, name):
            raise AttributeError(f"'int' object has no attribute {name!r}")
        return getattr(self.__index__(), name)

    def as_integer_ratio(self) -> tuple[SymInt, int]:
        return self, 1

    # Its text is that of the number.

    def __repr__(self) -> str:
        return str(self.dim) if current() is None else repr(self.__index__())

    def __format__(self, spec: str) -> str:
        return format(self.__index__(), spec)


def _beside_numpys(name: str, plain: Any) -> Any:
    """An operator which beside a scalar of NumPy's is that scalar's: the result is one too."""

    def operator(self: SymInt, other: Any) -> Any:
        return getattr(self.tensor(), name)(other) if isinstance(other, np.generic) else plain(self, other)

    return operator


for _name in "add sub mul truediv floordiv mod divmod pow and or xor lshift rshift".split():
    for _spelled in (f"__{_name}__", f"__r{_name}__"):
        setattr(SymInt, _spelled, _beside_numpys(_spelled, getattr(SymInt, _spelled)))


def _computed(name: str, x: Any, y: Any) -> Any:
    """An op on two numbers that is exact, as facts say, and no error: nothing has to be checked."""
    functions = SymInt.functions
    return functions.raised(functions.as_tensor(x), y) if name == "pow" else functions.apply(name, x, y)


def _bitwise(x: Any) -> bool:
    return is_integer(x) or isinstance(x, bool)


def _is_nonzero(x: Any) -> bool:
    """Whether a divisor is not zero, as a fact; False where it may be in some iteration of a loop.

    ZeroDivisionError where it is zero.
    """
    zero: bool | None = isinstance(x, (bool, int, float, complex)) and x == 0
    if isinstance(x, SymInt) and current() is not None:
        facts = table()
        if facts.varies(facts.resolve(x.dim)):
            zero = None if not (facts.decide(0, "<", x.dim) or facts.decide(x.dim, "<", 0)) else False
        else:
            zero = bool(facts.decide(x.dim, "==", 0, "a divisor"))
    if zero:
        raise ZeroDivisionError("division by zero" if isinstance(x, float) else "integer division or modulo by zero")
    return zero is not None


#: Floats hold all ints up to this one.
_EXACT = 1 << 53


def _quotient(a: Any, b: Any) -> Any:
    """``a / b`` of ints, one of them known at run time, or of an int and a float."""
    if not all(is_integer(x) or isinstance(x, (bool, float, complex)) for x in (a, b)):
        return NotImplemented
    if not _is_nonzero(b):
        return SymInt.functions.as_tensor(a) / b.tensor()
    if all(is_integer(x) for x in (a, b)) and any(not exactly_float(x) for x in (a, b)):
        return int(a) / int(b)
    # Facts say that it is exact, and of no zero: nothing is left to be checked.
    return _computed("div", a, b)


def exactly_float(x: Any) -> bool:
    """Whether an int is one that a float holds; a size is, whatever its array."""
    if not isinstance(x, SymInt):
        return abs(int(x)) <= _EXACT
    sizes = all(s.nonneg for s in x.dim.symbols()) and len(x.dim.terms) == 1 and x.dim.symbol is not None
    return sizes or x.within(-_EXACT, _EXACT)


def _power(base: Any, exponent: SymInt) -> Any:
    """``base ** exponent``: computed at run time where no exponent of the version leaves 64 bits or the floats."""
    if isinstance(base, complex):
        return base ** exponent.tensor()
    if not is_integer(base) and not isinstance(base, (bool, float)):
        return NotImplemented
    if isinstance(base, SymInt):
        return int(base) ** exponent if table().varies(exponent.dim) else base ** int(exponent)
    size = abs(base)
    bits = 1023 if isinstance(base, float) else 62
    largest = 1 << 53 if size <= 1 else int(bits / math.log2(size)) if math.isfinite(size) else 0
    if base and exponent.within(0, largest):
        return _computed("pow", base, exponent)
    return base ** int(exponent)


def _shifted(a: Any, by: Any) -> Any:
    """``a << by``."""
    if not _bitwise(a) or not _bitwise(by):
        return NotImplemented
    if isinstance(by, SymInt) and isinstance(a, SymInt):
        by = int(by)
    return a * (2**by if isinstance(by, SymInt) and by.within(0, 62) else 1 << int(by))


def sym_min(a: Any, b: Any) -> Any:
    """Python's ``min`` of two integers, without a guard."""
    return symint(dim_minimum(as_dim(a), as_dim(b)))


def sym_max(a: Any, b: Any) -> Any:
    """Python's ``max`` of two integers, without a guard."""
    return symint(dim_maximum(as_dim(a), as_dim(b)))


def shape_of(dims: Sequence[Dim]) -> tuple[int | SymInt, ...]:
    """Sizes as Python's ints."""
    return tuple(symint(d) for d in dims)
