"""The functions of Python's `math` on numbers that only compiled code knows, with the errors that they raise.

They are those of NumPy, of which CPython makes an error what is infinite or NaN of numbers that are not
(`math_1` and `math_2` of `mathmodule.c`).  What has no such function here is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ....dialects.registry import OpError
from ...diagnostics import located
from ..tensor.apply import apply, as_tensor
from ..tensor.tensor import Tensor
from ..trace.context import current
from ..trace.symint import SymInt
from .int_ranges import TOO_WIDE
from .python_numbers import as_float, as_int, checked
from .size_numbers import known_number, rounded_down, rounded_up, towards_zero

__all__ = ["MATH"]

#: Those that have a result for every float.
_TOTAL = {
    "atan": np.arctan, "tanh": np.tanh, "asinh": np.arcsinh, "fabs": np.fabs, "degrees": np.degrees,
    "radians": np.radians, "atan2": np.arctan2, "copysign": np.copysign, "nextafter": np.nextafter, "cbrt": np.cbrt,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "hypot": np.hypot,
    "erf": lambda x: apply("erf", x), "erfc": lambda x: apply("erfc", x),
}  # fmt: skip
#: Those that leave the floats for some numbers.
_GROWING = {"exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "sinh": np.sinh, "cosh": np.cosh}
#: Those that are not defined everywhere.
_PARTIAL = {
    "sqrt": np.sqrt, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "acosh": np.arccosh, "atanh": np.arctanh,
}  # fmt: skip
_DOMAIN, _RANGE = "math domain error", "math range error"


def _growing(f: Any) -> Callable[[Tensor], Tensor]:
    def call(x: Tensor) -> Tensor:
        made = f(x)
        fine = apply("logical_or", apply("isfinite", made), apply("logical_not", apply("isfinite", x)))
        return checked(made, fine, OverflowError, _RANGE)

    return call


def _partial(f: Any) -> Callable[[Tensor], Tensor]:
    def call(x: Tensor) -> Tensor:
        made = f(x)
        # Infinite of a number that is finite, or NaN of what is a number.
        of_infinite = apply("logical_and", apply("isinf", x), apply("isinf", made))
        fine = apply("logical_or", apply("isfinite", made), apply("logical_or", apply("isnan", x), of_infinite))
        return checked(made, fine, ValueError, _DOMAIN)

    return call


def _log(x: Tensor, base: Any = None) -> Any:
    found = _partial(np.log)(x)
    return found if base is None else found / (_log(base) if isinstance(base, Tensor) else math.log(base))


def _fmod(x: Tensor, y: Tensor) -> Tensor:
    made: Any = np.fmod(x, y)  # pyright: ignore[reportArgumentType, reportCallIssue]
    return checked(made, _number_of_numbers(made, x, y), ValueError, _DOMAIN)


def _pow(x: Tensor, y: Tensor) -> Tensor:
    made = apply("pow", x, y)
    made = checked(made, _number_of_numbers(made, x, y), ValueError, _DOMAIN)
    finite = apply("logical_and", apply("isfinite", x), apply("isfinite", y))
    fine = apply("logical_or", apply("isfinite", made), apply("logical_not", finite))
    made = checked(made, apply("logical_or", fine, apply("not_equal", x, 0.0)), ValueError, _DOMAIN)
    return checked(made, fine, OverflowError, _RANGE)


def _number_of_numbers(made: Tensor, *given: Tensor) -> Tensor:
    """Whether a result is a number, or one of the given ones is none."""
    fine = apply("logical_not", apply("isnan", made))
    for x in given:
        fine = apply("logical_or", fine, apply("isnan", x))
    return fine


def _rounding(by: str, of_quotient: Callable[[Any], Any]) -> Callable[[Tensor], Any]:
    def call(x: Tensor) -> Any:
        found = of_quotient(x)
        if found is not None:
            return found
        return as_int(apply(by, x) if x.element.is_float else x)

    return call


def _gcd(*values: Any) -> Tensor:
    found = as_tensor(0)
    for x in values:
        made = Tensor(apply("gcd", found, x).value, weak="int")
        found = checked(made, apply("greater_equal", made, 0), OverflowError, TOO_WIDE)
    return found


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Tensor:
    a, b, rel_tol, abs_tol = map(as_float, (a, b, rel_tol, abs_tol))
    apart, larger = apply("abs", a - b), apply("cwise_max", apply("abs", a), apply("abs", b))
    near = apply("less_equal", apart, apply("cwise_max", rel_tol * larger, abs_tol))
    finite = apply("logical_and", apply("isfinite", a), apply("isfinite", b))
    made = apply("logical_or", apply("equal", a, b), apply("logical_and", finite, near))
    positive = apply("logical_and", apply("greater_equal", rel_tol, 0.0), apply("greater_equal", abs_tol, 0.0))
    return checked(Tensor(made.value, weak="bool"), positive, ValueError, "tolerances must be non-negative")


#: By name, what takes ints as well as floats.
_OF_BOTH: dict[str, Callable[..., Any]] = {
    "floor": _rounding("floor", rounded_down), "ceil": _rounding("ceil", rounded_up),
    "trunc": _rounding("trunc", towards_zero), "gcd": _gcd, "isclose": _isclose,
}  # fmt: skip
_OF_FLOATS: dict[str, Callable[..., Any]] = {
    **_TOTAL, **{name: _growing(f) for name, f in _GROWING.items()},
    **{name: _partial(f) for name, f in _PARTIAL.items()}, "log": _log, "fmod": _fmod, "pow": _pow,
}  # fmt: skip


def _call(f: Any) -> Callable[..., Any]:
    name: str = f.__name__

    def call(*values: Any, **named: Any) -> Any:
        if not any(isinstance(v, Tensor) for v in (*values, *named.values())):
            if f is math.sqrt and isinstance(values[0], SymInt) and values[0].within(0, 1 << 53):
                return Tensor(apply("sqrt", values[0]).value, weak="float")
            return f(*values, **named)
        if current() is None:
            return f(*values, **named)
        with located():
            return _of_numbers(f, name, values, named)

    return call


def _of_numbers(f: Any, name: str, values: Sequence[Any], named: Mapping[str, Any]) -> Any:
    if named and f is not math.isclose:
        raise TypeError(f"math.{name}() takes no keyword arguments")
    if any(isinstance(v, Tensor) and (v.ndim or v.element.is_complex) for v in values):
        raise OpError(f"math.{name} takes real numbers, not tensors of rank 1 or more", code="TX0318")
    if name in _OF_BOTH:
        return _OF_BOTH[name](*values, **named)
    if name in _OF_FLOATS and not (name == "hypot" and len(values) != 2):
        made = _OF_FLOATS[name](*map(as_float, values))
        return Tensor(made.value, weak="bool" if made.element.kind == "bool" else "float")
    known = [known_number(v) if isinstance(v, Tensor) else v for v in values]
    if not any(k is None for k in known):
        return f(*known)
    raise OpError(f"math.{name} of a number known only at run time", "compute it outside the function", "TX0234")


#: What staged code calls in place of the functions of `math`.
MATH: dict[Any, Any] = {
    f: _call(f) for name in dir(math) if callable(f := getattr(math, name)) and not name.startswith("_")
}
