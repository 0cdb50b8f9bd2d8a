"""What Python's operators and conversions do with numbers of Python's that only compiled code knows.

Such a number is a tensor of rank 0 that is `weak`.  An int is exact: what computes one has the `mode` `RAISE`, and is
checked where `int_ranges` does not prove that it fits 64 bits.  A float has Python's exceptions; their texts are those
of the Python that runs.  NumPy's functions, and operators with a NumPy scalar beside, are NumPy's and not here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ....dialects.registry import OPS, RAISE, Map, OpError
from ....dialects.types import DTYPES, tensor_type
from ...diagnostics import located
from ..tensor.apply import apply, as_tensor
from ..tensor.promotion import cast
from ..tensor.tensor import Tensor
from ..trace.context import current
from ..trace.emit import emit
from ..trace.symint import SymInt
from .int_ranges import TOO_WIDE

__all__ = ["are_pythons", "as_float", "as_int", "checked", "of_python"]

I64, F64 = DTYPES["i64"], DTYPES["f64"]
_KINDS = ("bool", "int", "float", "complex")
_NUMBERS = (bool, int, float, complex, SymInt)
_TURNED = {"less": "greater", "less_equal": "greater_equal", "greater": "less", "greater_equal": "less_equal"}
#: Beyond this one floats are no exponents, and all ints of 64 bits below.
_BEYOND = 2.0**63


def are_pythons(*values: Any) -> bool:
    """Whether all are numbers of Python's: those of NumPy are subclasses of some."""
    return all(v.weak and not v.ndim if isinstance(v, Tensor) else type(v) in _NUMBERS for v in values)


def checked(x: Tensor, holds: Any, error: type[Exception], text: str) -> Tensor:
    """`x`, of a call that raises an error where `holds` is false."""
    if holds is True:
        return x
    return Tensor(apply("require", x, holds, text=text, error=error.__name__).value, weak=x.weak)


def _said(raises: Callable[[], Any]) -> tuple[type[Exception], str]:
    """The error of something that this Python raises one for, and its text."""
    try:
        raises()
    except ArithmeticError as error:
        return type(error), str(error)
    raise AssertionError("no error")


def exact(name: str, *operands: Tensor) -> Tensor:
    """An op on ints whose result is exact, or the call raises OverflowError."""
    (value,) = emit(OPS[name], [t.value for t in operands], {"mode": RAISE}, (tensor_type(I64, ()),))
    return Tensor(value, weak="int")


def as_float(x: Any, exactly: bool = False) -> Tensor:
    """An int or float as a float, rounded as Python does; `exactly`: OverflowError where it would be rounded."""
    x = as_tensor(x)
    if exactly and x.weak == "int" and x.value.node.op is not OPS["constant"]:
        (value,) = emit(OPS["cast"], (x.value,), {"dtype": F64, "mode": RAISE}, (tensor_type(F64, ()),))
        return Tensor(value, weak="float")
    return Tensor(cast(x, F64).value, weak="float")


def _int(x: Tensor) -> Tensor:
    return Tensor(cast(x, I64).value, weak="int") if x.weak == "bool" else x


def as_int(x: Tensor) -> Tensor:
    """``int(x)`` of a number of any dtype."""
    if x.element.is_float:
        x = Tensor(cast(x, F64).value, weak="float")
        x = checked(x, x == x, ValueError, "cannot convert float NaN to integer")
        text = "cannot convert float infinity to integer, nor one beyond 64 bits in compiled code"
        x = checked(x, apply("less", abs(x), _BEYOND), OverflowError, text)
    elif x.element is DTYPES["u64"]:
        x = checked(x, apply("less", x, cast(as_tensor(2**62), x.element) * 2), OverflowError, TOO_WIDE)
    return Tensor(cast(x, I64).value, weak="int")


# Operators


def of_python(name: str, *operands: Any) -> Any:
    """An operator, by the name of NumPy's op; None where the operands are not all Python's numbers."""
    if current() is None:
        return None
    if len(operands) == 2:
        operands = operands[0], _as_complex_sees(*operands)
    if not are_pythons(*operands):
        return None
    with located():
        if len(operands) == 1:
            return unary(name, *operands)
        if name == "pow":
            return power(*operands)
        op = OPS[name]
        return (compare if issubclass(op, Map) and op.compares else binary)(name, *operands)


def _as_complex_sees(x: Any, y: Any) -> Any:
    """`y`; behind a Python complex number a ``np.float64`` is the float that it also is, of which Python asks first."""
    weak = x.weak == "complex" if isinstance(x, Tensor) else type(x) is complex
    if not weak:
        return y
    if isinstance(y, Tensor) and y.element is F64 and not (y.weak or y.ndim or y.boxed):
        return Tensor(y.value, weak="float")
    return float(y) if isinstance(y, np.float64) else y


def binary(name: str, x: Any, y: Any) -> Any:
    """``x op y``, by the name of NumPy's op."""
    a, b = as_tensor(x), as_tensor(y)
    kind = max(a.weak, b.weak, key=_KINDS.index)
    if name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        return apply(name, a, b)
    if kind in ("bool", "int"):
        return _of_ints(name, _int(a), _int(b))
    if name in ("left_shift", "right_shift"):
        return apply(name, a, b)  # an error
    if kind == "complex":
        if name == "div":
            return _quotient_of_complex(a, _nonzero(b, lambda: 1j / 0j))
        return apply(name, a, b)
    a, b = as_float(a), as_float(b)
    if name in _DIVISIONS:
        b = _nonzero(b, _DIVISIONS[name][1])
    return apply(name, a, b)


def _quotient_of_complex(x: Tensor, y: Tensor) -> Tensor:
    """As CPython divides (`_Py_c_quot`): NumPy multiplies by a reciprocal, which may be infinite."""
    a, b, c, d = (apply(part, cast(v, DTYPES["c128"])) for v in (x, y) for part in ("real", "imag"))
    wide = apply("greater_equal", apply("abs", c), apply("abs", d))

    def either(first: Any, second: Any) -> Tensor:
        return apply("select", wide, first, second)

    large, small = either(c, d), either(d, c)
    ratio = small / large
    below = large + small * ratio
    real = either(a + b * ratio, a * ratio + b) / below
    imaginary = either(b - a * ratio, b * ratio - a) / below
    return Tensor(apply("complex", real, imaginary).value, weak="complex")


#: Divisions by zero, of ints and of floats.
_DIVISIONS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "div": (lambda: 1 / 0, lambda: 1.0 / 0.0),
    "floor_divide": (lambda: 1 // 0, lambda: 1.0 // 0.0),
    "remainder": (lambda: 1 % 0, lambda: 1.0 % 0.0),
}


def _nonzero(x: Tensor, raises: Callable[[], Any]) -> Tensor:
    """A divisor, which must not be zero."""
    if x.value.node.op is OPS["constant"] and x.value.node.attrs["value"] != 0:
        return x
    return checked(x, apply("not_equal", x, 0), *_said(raises))


def _of_ints(name: str, a: Tensor, b: Tensor) -> Tensor:
    if name in _DIVISIONS:
        b = _nonzero(b, _DIVISIONS[name][0])
    if name == "div":
        return apply(name, as_float(a, exactly=True), as_float(b, exactly=True))
    if name == "remainder":
        return apply(name, a, b)
    if name in ("left_shift", "right_shift"):
        known = b.value.node.op is OPS["constant"]
        count = b.value.node.attrs["value"] if known else 0
        if not known or count < 0:
            b = checked(b, apply("greater_equal", b, 0), ValueError, "negative shift count")
        if name == "right_shift":
            return apply(name, a, apply("cwise_min", b, 63) if not known or count > 63 else b)
    return exact(name, a, b)


def unary(name: str, x: Tensor) -> Any:
    x = _int(x)
    if x.weak == "int" and name in ("negate", "abs"):
        return exact(name, x)
    made = apply(name, x)
    if x.weak == "complex" and name == "abs":
        return _finite(made, apply("isfinite", x), OverflowError, "absolute value too large")
    return made


def _finite(made: Tensor, of_finite: Any, error: type[Exception], text: str) -> Tensor:
    """A result that is an error where it is infinite, or NaN, of finite numbers."""
    fine = apply("isfinite", made)
    if of_finite is not True:
        fine = apply("logical_or", fine, apply("logical_not", of_finite))
    return checked(made, fine, error, text)


# Comparisons


#: Comparisons by the name of NumPy's op, as Python writes those that its complex numbers do not have.
_ORDERS = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}


def compare(name: str, x: Any, y: Any) -> Any:
    """``x < y`` and its kin: an int and a float are compared as numbers."""
    for number, other, by in ((x, y, name), (y, x, _TURNED.get(name, name))):
        if type(other) is int and not I64.ints[0] <= other <= I64.ints[1] and as_tensor(number).weak in ("bool", "int"):
            return by == "not_equal" or (by.startswith("less") if other > 0 else by.startswith("greater"))
    kinds = [as_tensor(v).weak if not isinstance(v, int) else "int" for v in (x, y)]
    if "complex" in kinds and name in _ORDERS:
        text = " and ".join(f"'{kind}'" for kind in kinds)
        raise OpError(
            f"'{_ORDERS[name]}' not supported between instances of {text}", "compare abs(…) or .real", "TX0112"
        )
    if set(kinds) not in ({"int", "float"}, {"bool", "float"}):
        return apply(name, x, y)
    floats = [_as_known_float(v) for v in (x, y)]
    if not isinstance(x, float) and not isinstance(y, float) and any(isinstance(v, float) for v in floats):
        return Tensor(apply(name, *floats).value, weak="bool")
    if kinds[0] == "float":
        return compare(_TURNED.get(name, name), y, x)
    if isinstance(y, float):
        return _with_literal(name, x, y)
    # Rounding keeps the order, so only of equal floats it may have hidden a difference.
    a, b = _int(as_tensor(x)), as_tensor(y)
    rounded = as_float(a)
    same = apply("logical_and", apply("equal", rounded, b), apply("less", b, _BEYOND))
    whole = Tensor(cast(b, I64).value, weak="int")
    return Tensor(apply("select", same, apply(name, a, whole), apply(name, _below(rounded), b)).value, weak="bool")


def _as_known_float(x: Any) -> Any:
    """An int that is known and is a float, exactly, as that float; anything else as it is."""
    node = x.value.node if isinstance(x, Tensor) else None
    known = node.attrs["value"] if node is not None and node.op is OPS["constant"] else x
    return float(known) if isinstance(known, int) and abs(known) <= 1 << 53 else x


def _below(rounded: Tensor) -> Tensor:
    """An int as a float, of which the ends of 64 bits are not rounded up to the float beyond them."""
    return apply("cwise_min", rounded, math.nextafter(_BEYOND, 0))


def _with_literal(name: str, x: Any, y: float) -> Any:
    """An int against a float that is known: against the ints beside it."""
    if math.isnan(y) or abs(y) >= _BEYOND:
        return apply(name, as_float(x), y)
    down = math.floor(y)
    if down == y:
        return apply(name, x, down)
    if name in ("equal", "not_equal"):
        return apply(name, as_float(x), math.nan)
    return apply("less_equal" if name.startswith("less") else "greater", x, down)


# Powers


def power(x: Any, y: Any) -> Any:
    """``x ** y``."""
    a, b = as_tensor(x), as_tensor(y)
    kind = max(a.weak, b.weak, key=_KINDS.index)
    if kind == "complex":
        of_zero = apply("logical_and", apply("equal", a, 0), apply("less_equal", apply("real", b * 1.0), 0))
        fine = apply("logical_or", apply("logical_not", of_zero), apply("equal", b, 0))
        return apply("pow", checked(a, fine, *_said(lambda: 0j**-1)), b)
    if kind in ("bool", "int"):
        a, b = _int(a), _int(b)
        if isinstance(y, int):
            return _whole_power(a, y) if y >= 0 else _power_of_floats(as_float(a), float(y))
        text = "a negative power of a Python int is a float: write float(base) ** exponent"
        fine = apply("greater_equal", b, 0)
        b = checked(b, apply("logical_or", fine, apply("not_equal", a, 0)), *_said(lambda: 0**-1))
        b = checked(b, fine, ValueError, text)
        size = apply("pow", as_float(apply("abs", a)), as_float(b))
        return checked(apply("pow", a, b), apply("less", size, _BEYOND), OverflowError, TOO_WIDE)
    return _power_of_floats(as_float(a), y if isinstance(y, float) else as_float(b))


def _whole_power(x: Tensor, exponent: int) -> Tensor:
    """By squaring."""
    made: Tensor | None = None
    while exponent:
        if exponent & 1:
            made = x if made is None else exact("mul", made, x)
        exponent >>= 1
        if exponent:
            x = exact("mul", x, x)
    return Tensor(as_tensor(1).value, weak="int") if made is None else made


def _power_of_floats(x: Tensor, y: Any) -> Tensor:
    """Of floats; Python's is complex where a negative number has a fraction as its exponent."""
    known = isinstance(y, float)
    if not known or y != math.floor(y):
        whole = True if known else apply("equal", apply("floor", y), y)
        text = "a negative float to a power that is not whole is complex: write complex(base) ** exponent"
        fine = apply("logical_not", apply("logical_and", apply("less", x, 0.0), apply("greater", x, -math.inf)))
        if known and math.isinf(y):
            fine = True
        elif not known:
            fine = apply("logical_or", fine, whole)
        x = checked(x, fine, ValueError, text)
    if not known or -math.inf < y < 0:
        fine = apply("not_equal", x, 0.0)
        if not known:
            finite = apply("logical_and", apply("less", y, 0.0), apply("less", -math.inf, y))
            fine = apply("logical_or", fine, apply("logical_not", finite))
        x = checked(x, fine, *_said(lambda: 0.0**-1.0))
    made = apply("square", x) if known and y == 2 else apply("pow", x, y)
    if known and 0 <= y <= 1:
        return made
    of_finite = apply("isfinite", x)
    if not known:
        of_finite = apply("logical_and", of_finite, apply("isfinite", y))
    elif not math.isfinite(y):
        return made
    return _finite(made, of_finite, *_said(lambda: 2.0**10000.0))
