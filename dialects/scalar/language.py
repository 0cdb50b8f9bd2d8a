"""The language that op bodies are written in: scalar values with operators, built by one of several builders.

A body such as ``def scalar(b, x): return x / (b.op("exp", -x) + 1.0)`` is run once by whoever needs it: the fusion
pass (the builder appends `arith` and `math` ops), the code generator (it prints LLVM IR for whole vectors), the
interpreters (it computes on NumPy arrays).  A builder implements `emit`, `literal`, `rare`, `iterate` and `op`; all
else is here.

Every operation is IEEE 754 in the operands' type; nothing is contracted or re-associated unless `fma` is written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ..types import DTYPES, DType

__all__ = ["ComplexValue", "ScalarBuilder", "Value"]

BOOL = DTYPES["bool"]


class Value:
    """A scalar in a body: `ref` is the builder's own handle (an SSA value, an array, a register list)."""

    __slots__ = ("b", "dtype", "ref")

    def __init__(self, b: ScalarBuilder, ref: Any, dtype: DType):
        self.b, self.ref, self.dtype = b, ref, dtype

    def _with(self, other: Value | float) -> Value:
        return other if isinstance(other, Value) else self.b.constant(other, self.dtype)

    def _binary(self, name: str, other: Value | float) -> Value:
        return self.b.emit(name, (self, self._with(other)), self.dtype)

    def _reflected(self, name: str, other: float) -> Value:
        return self.b.emit(name, (self._with(other), self), self.dtype)

    def __add__(self, other: Value | float) -> Value:
        return self._binary("add", other)

    def __radd__(self, other: float) -> Value:
        return self._reflected("add", other)

    def __sub__(self, other: Value | float) -> Value:
        return self._binary("sub", other)

    def __rsub__(self, other: float) -> Value:
        return self._reflected("sub", other)

    def __mul__(self, other: Value | float) -> Value:
        return self._binary("mul", other)

    def __rmul__(self, other: float) -> Value:
        return self._reflected("mul", other)

    def __truediv__(self, other: Value | float) -> Value:
        return self._binary("div", other)

    def __rtruediv__(self, other: float) -> Value:
        return self._reflected("div", other)

    def __and__(self, other: Value | int) -> Value:
        return self._binary("and", other)

    def __or__(self, other: Value | int) -> Value:
        return self._binary("or", other)

    def __xor__(self, other: Value | int) -> Value:
        return self._binary("xor", other)

    def __lshift__(self, other: Value | int) -> Value:
        return self._binary("shl", other)

    def __rshift__(self, other: Value | int) -> Value:
        return self._binary("shr", other)

    def __neg__(self) -> Value:
        return self.b.emit("neg", (self,), self.dtype)

    def __abs__(self) -> Value:
        return self.b.emit("abs", (self,), self.dtype)

    def __invert__(self) -> Value:
        return self.b.emit("xor", (self, self.b.constant(True if self.dtype is BOOL else -1, self.dtype)), self.dtype)

    def _compare(self, predicate: str, other: Value | float) -> Value:
        return self.b.emit(predicate, (self, self._with(other)), BOOL)

    def __lt__(self, other: Value | float) -> Value:
        return self._compare("lt", other)

    def __le__(self, other: Value | float) -> Value:
        return self._compare("le", other)

    def __gt__(self, other: Value | float) -> Value:
        return self._compare("gt", other)

    def __ge__(self, other: Value | float) -> Value:
        return self._compare("ge", other)

    def equals(self, other: Value | float) -> Value:
        """IEEE equality as a bool value (``==`` stays Python's identity, so values can be keys)."""
        return self._compare("eq", other)

    def differs(self, other: Value | float) -> Value:
        """IEEE inequality: true where either is NaN."""
        return self._compare("ne", other)


class ComplexValue(Value):
    """A complex scalar: two real values, `re` and `im`.  Builders never see one: its operators work on the parts.

    Arithmetic is NumPy's, each step rounded: products as written, without the cases for infinities of C's Annex G;
    quotients by Smith's method.
    """

    __slots__ = ("im", "re")

    def __init__(self, b: ScalarBuilder, re: Value, im: Value):
        super().__init__(b, None, re.dtype.as_complex)
        self.re, self.im = re, im

    def _with(self, other: Value | complex) -> ComplexValue:
        if isinstance(other, ComplexValue):
            return other
        made = self.b.complex_of(other, 0.0) if isinstance(other, Value) else self.b.constant(other, self.dtype)
        assert isinstance(made, ComplexValue)
        return made

    def _binary(self, name: str, other: Value | complex) -> Value:
        return _COMPLEX[name](self, self._with(other))

    def _reflected(self, name: str, other: Value | complex) -> Value:
        return _COMPLEX[name](self._with(other), self)

    def __neg__(self) -> Value:
        return self.b.complex_of(-self.re, -self.im)

    def __abs__(self) -> Value:
        return self.b.op("hypot", self.re, self.im)

    def __invert__(self) -> Value:
        raise TypeError("complex values have no bits to complement")

    def _compare(self, predicate: str, other: Value | complex) -> Value:
        other = self._with(other)
        if predicate == "eq":
            return self.re.equals(other.re) & self.im.equals(other.im)
        if predicate == "ne":
            return self.re.differs(other.re) | self.im.differs(other.im)
        raise TypeError("complex values have no order")


def _complex_sum(x: ComplexValue, y: ComplexValue) -> Value:
    return x.b.complex_of(x.re + y.re, x.im + y.im)


def _complex_difference(x: ComplexValue, y: ComplexValue) -> Value:
    return x.b.complex_of(x.re - y.re, x.im - y.im)


def _complex_product(x: ComplexValue, y: ComplexValue) -> Value:
    return x.b.complex_of(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)


def _complex_quotient(x: ComplexValue, y: ComplexValue) -> Value:
    """Smith's method, by the larger part of the divisor; by zero each part is divided."""
    b, size_re, size_im = x.b, abs(y.re), abs(y.im)
    by_re = size_re >= size_im
    ratio = b.select(by_re, y.im, y.re) / b.select(by_re, y.re, y.im)
    scale = 1.0 / (b.select(by_re, y.re, y.im) + b.select(by_re, y.im, y.re) * ratio)
    re = b.select(by_re, x.re, x.im) + b.select(by_re, x.im, x.re) * ratio
    im = b.select(by_re, x.im, x.im * ratio) - b.select(by_re, x.re * ratio, x.re)
    zero = size_re.equals(0.0) & size_im.equals(0.0)
    return b.complex_of(b.select(zero, x.re / size_re, re * scale), b.select(zero, x.im / size_re, im * scale))


_COMPLEX: dict[str, Callable[[ComplexValue, ComplexValue], Value]] = {
    "add": _complex_sum,
    "sub": _complex_difference,
    "mul": _complex_product,
    "div": _complex_quotient,
}


class ScalarBuilder(ABC):
    """What a body may call.

    Names that `emit` knows, with the dtype of the operands deciding signedness:

    * ``add sub mul div neg abs``: integers wrap; integer ``div`` truncates and is defined for every input (by zero it
      is 0, ``MIN / -1`` is MIN); ``rem``: sign of the dividend, 0 by zero
    * ``fma sqrt floor ceil trunc rint copysign``: floats
    * ``min max``: ``lhs < rhs ? lhs : rhs`` and ``lhs > rhs ? lhs : rhs``, one instruction
    * ``and or xor shl shr``: integers and bools; shifts by at least the width give 0, or -1 for a negative signed value
      shifted right
    * ``lt le gt ge eq ne``: ordered, but ``ne``; ``select``
    * ``cast``: numeric; floats to integers truncate and saturate, NaN gives 0; ``bitcast``: same width
    """

    #: Whether the target computes `fma` in one instruction; bodies choose another expansion where it does not.
    has_fma: bool = True

    @abstractmethod
    def emit(self, name: str, operands: Sequence[Value], dtype: DType) -> Value:
        """One primitive operation with a result of `dtype`."""

    @abstractmethod
    def literal(self, value: float | int | bool, dtype: DType) -> Value:
        """A constant of a real type, rounded to it."""

    @abstractmethod
    def rare(self, condition: Value, slow: Callable[[], Value], fast: Value) -> Value:
        """``slow()`` where `condition` holds, else `fast`; skips the slow code where no lane needs it.

        `slow` must be free of side effects and defined for every lane.
        """

    @abstractmethod
    def iterate(
        self,
        active: Value,
        states: Sequence[Value],
        step: Callable[..., tuple[Value, Sequence[Value]]],
        limit: int | None,
    ) -> tuple[Value, ...]:
        """A loop in every lane: while `active`, and `limit` times at most, ``active, states = step(*states)``.

        Without a limit (None) it goes on for as long as it takes.
        Gives the last states.  Those of a lane that is done stay as they are while other lanes go on, so the result
        of a lane never depends on its neighbours.  `step` must be free of side effects; it runs for as long as any
        lane is active.
        """

    def scales(self, x: Value) -> bool:
        """Whether values such as `x` have `scaled`.  Bodies have another expansion where not, of the same bits."""
        return False

    def scaled(self, p: Value, n: Value) -> Value:
        """``p * 2**n`` in one instruction, rounded once, for any integer `n` of `p`'s type."""
        raise NotImplementedError

    @abstractmethod
    def op(self, name: str, *operands: Value) -> Value:
        """Another registered map op, by name (kept as one `math` op in IR where `math` has it, else inlined)."""

    def constant(self, value: complex | int | bool, dtype: DType) -> Value:
        """A constant, rounded to `dtype`."""
        if dtype.is_complex:
            return self.complex_of(self.literal(value.real, dtype.part), self.literal(value.imag, dtype.part))
        assert not isinstance(value, complex)
        return self.literal(value, dtype)

    def complex_of(self, re: Value, im: Value | float) -> Value:
        """The complex value of two floats of one type (half-width floats become f32)."""
        part = re.dtype.as_complex.part
        re = self.cast(re, part)
        return ComplexValue(self, re, self.cast(re._with(im), part))

    def select(self, condition: Value, a: Value | complex, b: Value | complex) -> Value:
        like = a if isinstance(a, Value) else b
        assert isinstance(like, Value), "select needs a value in at least one branch"
        if isinstance(like, ComplexValue):
            x, y = like._with(a), like._with(b)
            return self.complex_of(self.select(condition, x.re, y.re), self.select(condition, x.im, y.im))
        assert not isinstance(a, complex) and not isinstance(b, complex)
        return self.emit("select", (condition, like._with(a), like._with(b)), like.dtype)

    def cast(self, x: Value, dtype: DType) -> Value:
        """`x` in another type; a complex value loses its imaginary part in a real type, and is true if not zero."""
        if x.dtype is dtype:
            return x
        if isinstance(x, ComplexValue):
            if dtype.is_complex:
                return self.complex_of(self.cast(x.re, dtype.part), self.cast(x.im, dtype.part))
            return x.differs(0) if dtype is BOOL else self.cast(x.re, dtype)
        if dtype.is_complex:
            return self.complex_of(self.cast(x, dtype.part), 0.0)
        return self.emit("cast", (x,), dtype)

    def bitcast(self, x: Value, dtype: DType) -> Value:
        return self.emit("bitcast", (x,), dtype)

    def sqrt(self, x: Value) -> Value:
        return self.emit("sqrt", (x,), x.dtype)

    def floor(self, x: Value) -> Value:
        return self.emit("floor", (x,), x.dtype)

    def ceil(self, x: Value) -> Value:
        return self.emit("ceil", (x,), x.dtype)

    def trunc(self, x: Value) -> Value:
        return self.emit("trunc", (x,), x.dtype)

    def rint(self, x: Value) -> Value:
        """Round to the nearest integer, halves to even."""
        return self.emit("rint", (x,), x.dtype)

    def copysign(self, magnitude: Value, sign: Value) -> Value:
        return self.emit("copysign", (magnitude, sign), magnitude.dtype)

    def minimum(self, a: Value, b: Value | float) -> Value:
        """``a < b ? a : b``: one instruction; gives `b` where either is NaN."""
        return a._binary("min", b)

    def maximum(self, a: Value, b: Value | float) -> Value:
        """``a > b ? a : b``: one instruction; gives `b` where either is NaN."""
        return a._binary("max", b)

    def rem(self, a: Value, b: Value | int) -> Value:
        """Integer remainder with the dividend's sign; 0 for a zero divisor."""
        return a._binary("rem", b)

    def fma(self, x: Value, y: Value | float, z: Value | float) -> Value:
        """``x*y + z``: rounded once where the target has it, else twice."""
        y, z = x._with(y), x._with(z)
        return self.emit("fma", (x, y, z), x.dtype) if self.has_fma else x * y + z

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        """Horner's rule; coefficients from the highest power down."""
        total = self.constant(coefficients[0], x.dtype)
        for c in coefficients[1:]:
            total = self.fma(total, x, c)
        return total
