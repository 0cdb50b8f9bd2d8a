"""Python's and NumPy's scalars in staged code: conversions, `math`, and what type a number has.

A run-time number is a rank-0 tensor: Python's where it is weak (`Tensor.weak`), else a NumPy scalar.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...dialects.dims import Dim, dim
from ...dialects.registry import OPS, OpError
from ..diagnostics import located
from .apply import apply, as_tensor
from .context import current
from .symint import SymInt, exactly_float, sym_min, symint
from .tensor import Tensor

__all__ = ["SCALARS", "known_number", "towards_zero"]


def _numpy_scalar(kind: Any) -> Callable[..., Any]:
    """``np.float32(value)`` and its kin, which convert arrays too."""

    def convert(*values: Any, **named: Any) -> Any:
        if len(values) != 1 or not isinstance(values[0], (SymInt, Tensor)):
            return kind(*values, **named)
        with located():
            value = values[0]
            if isinstance(value, SymInt):
                if issubclass(kind, np.integer) and not value.within(np.iinfo(kind).min, np.iinfo(kind).max):
                    return kind(int(value))
                value = as_tensor(value)
            made = value.astype(kind)
            return Tensor(made.value, layout=made.layout, boxed=value.boxed) if made.weak else made

    return convert


def quotient_of(value: Any) -> tuple[Dim, Dim] | None:
    """The two ints that a tensor of rank 0 is the quotient of; None where it is another one."""
    if not isinstance(value, Tensor) or value.weak != "float" or value.value.node.op is not OPS["div"]:
        return None
    top, bottom = (_whole(v.node) for v in value.value.node.operands)
    if top is None or bottom is None or not all(exactly_float(symint(d)) for d in (top, bottom)):
        return None
    return top, bottom


def _whole(node: Any) -> Dim | None:
    """The int that a node is the float of."""
    if node.op is OPS["dim"]:
        return node.attrs["expr"]
    value = node.attrs.get("value") if node.op is OPS["constant"] else None
    return dim(int(value)) if isinstance(value, (int, float)) and math.isfinite(value) and value == int(value) else None


def _rounded_down(value: Any) -> Any:
    """The floor of a quotient of two ints, exactly: no float between two ints is rounded to the next one."""
    parts = quotient_of(value)
    return None if parts is None else symint(parts[0]) // symint(parts[1])


def _rounded_up(value: Any) -> Any:
    parts = quotient_of(value)
    return None if parts is None else -(symint(-parts[0]) // symint(parts[1]))


def towards_zero(value: Any) -> Any:
    parts = quotient_of(value)
    if parts is None:
        return None
    negative = symint(parts[0]) * symint(parts[1]) < 0
    if isinstance(negative, Tensor):
        return None
    return _rounded_up(value) if negative else _rounded_down(value)


def known_number(value: Any) -> Any:
    """The Python number that only sizes and int arguments decide, which become facts of the call.

    None where data decides, or a loop.
    """
    if not isinstance(value, Tensor) or value.ndim or not value.weak:
        return None
    number = _evaluated(value.value)
    return None if number is None else number.item()


def _evaluated(value: Any) -> Any:
    """The value of a tensor of rank 0 whose leaves are sizes and literals; None where there are others."""
    trace, node = current(), value.node
    if trace is None or node.op is None or node.regions or value.type.rank:
        return None
    if node.op is OPS["dim"]:
        d = trace.table.resolve(node.attrs["expr"])
        known = trace.table.hint(d) is not None
        return node.attrs["dtype"].numpy.type(trace.table.int_of(d)) if known else None
    parts = [_evaluated(v) for v in node.operands]
    if any(p is None for p in parts):
        return None
    (found,) = node.op.evaluate([np.asarray(p) for p in parts], node.attrs)
    return np.asarray(found)[()]


def _round(value: Any, ndigits: Any = None) -> Any:
    if not isinstance(value, Tensor):
        return round(value) if ndigits is None else round(value, ndigits)
    with located():
        parts = quotient_of(value)
        if ndigits is None and parts is not None:
            top, bottom = (symint(p) for p in parts)
            half_up = (2 * top + bottom) // (2 * bottom)
            # Ties go to the even one.
            tie = 1 - sym_min(abs((2 * top + bottom) % (2 * bottom)), 1)
            return half_up - tie * (half_up % 2)
        if value.weak in ("int", "bool"):
            if ndigits is None or (isinstance(ndigits, int) and ndigits >= 0):
                return value
        if (number := known_number(value)) is not None:
            return round(number) if ndigits is None else round(number, ndigits)
        if value.weak == "float":
            raise OpError(
                "round() of a float that is known only at run time",
                "np.round(x, n) rounds as NumPy does; int(np.rint(x)) gives an int",
                "TX0234",
            )
        return np.round(value, ndigits or 0)  # pyright: ignore[reportCallIssue, reportArgumentType]


def _complex(*parts: Any, **named: Any) -> Any:
    if named or not any(isinstance(p, (SymInt, Tensor)) for p in parts):
        return complex(*parts, **named)
    with located():
        made = as_tensor(parts[0]) * 1.0 + (as_tensor(parts[1]) if len(parts) > 1 else 0.0) * 1j
        return Tensor(made.value, weak="complex")


def _bool(*values: Any) -> Any:
    value = values[0] if values else False
    if isinstance(value, SymInt):
        return value.truth()
    if isinstance(value, Tensor) and current() is not None and not value.ndim:
        return Tensor((value != 0).value, weak="bool")
    return bool(value)


#: Functions of `math` that have a result, the one of NumPy's function, for every float.
_TOTAL: dict[Any, Any] = {
    math.atan: np.arctan, math.atan2: np.arctan2, math.tanh: np.tanh, math.asinh: np.arcsinh, math.fabs: np.fabs,
    math.isnan: np.isnan, math.isinf: np.isinf, math.isfinite: np.isfinite, math.degrees: np.degrees,
    math.radians: np.radians, math.copysign: np.copysign,
}  # fmt: skip
#: What to write instead of those that raise an error for some.
_PARTIAL = {
    name: f"np.{numpy}"
    for name, numpy in {
        "sqrt": "sqrt", "exp": "exp", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10",
        "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin", "acos": "arccos",
        "sinh": "sinh", "cosh": "cosh", "acosh": "arccosh", "atanh": "arctanh", "pow": "power", "fmod": "fmod",
        "hypot": "hypot", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    }.items()
}  # fmt: skip
_ROUNDING = {math.floor: _rounded_down, math.ceil: _rounded_up, math.trunc: towards_zero}


def _of_math(f: Any) -> Callable[..., Any]:
    """A function of `math`: of numbers known only at run time where it raises no error for any."""

    def call(*values: Any) -> Any:
        if not any(isinstance(v, Tensor) for v in values):
            if f is math.sqrt and isinstance(values[0], SymInt) and values[0].within(0, 1 << 53):
                return Tensor(apply("sqrt", values[0]).value, weak="float")
            return f(*values)
        if current() is None:
            return f(*values)
        with located():
            if any(isinstance(v, Tensor) and v.ndim for v in values):
                raise OpError(f"math.{f.__name__} takes numbers, not tensors of rank 1 or more", code="TX0318")
            found = _ROUNDING[f](values[0]) if f in _ROUNDING else None
            if found is not None:
                return found
            if f in _TOTAL:
                made = _TOTAL[f](*(v * 1.0 if isinstance(v, (Tensor, SymInt)) else v for v in values))
                if made.element.kind == "bool":
                    return Tensor(made.value, weak="bool")
                return Tensor(made.astype(np.float64).value, weak="float")
            known = [known_number(v) if isinstance(v, Tensor) else v for v in values]
            if not any(k is None for k in known):
                return f(*known)
            hint = _PARTIAL.get(f.__name__)
            raise OpError(
                f"math.{f.__name__} of a number known only at run time: it raises an error for some numbers",
                f"write {hint}, which gives inf or NaN there" if hint else "compute it outside the function",
                "TX0234",
            )

    return call


_KINDS = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16,
    np.float32, np.float64, np.complex64, np.complex128,
)  # fmt: skip

#: What staged code calls in place of functions of scalars.
SCALARS: dict[Any, Any] = {
    **{kind: _numpy_scalar(kind) for kind in _KINDS},
    **{f: _of_math(f) for name in dir(math) if callable(f := getattr(math, name)) and not name.startswith("_")},
    round: _round,
    complex: _complex,
    bool: _bool,
}
