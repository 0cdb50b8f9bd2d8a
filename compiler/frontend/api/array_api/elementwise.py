"""Element-wise functions: each is an op, by the standard's name."""

# The standard's names are those of builtins.
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....dialects.registry import OPS
from ....diagnostics import located
from ...numpy.functions.linalg.products import power
from ...tensor.apply import apply, as_tensor
from ...tensor.methods import elements
from ...tensor.tensor import Tensor

__all__ = ["clip", "imag", "pow", "real", "round"]

#: Ops by the standard's names: most have that name themselves.
_UNARY = {name: name for name in (
    "abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log log1p log2 log10 "
    "logical_not positive sign signbit sin sinh square sqrt tan tanh trunc"
).split()} | {
    "bitwise_invert": "bitwise_not", "conj": "conjugate", "negative": "negate", "reciprocal": "inverse",
}  # fmt: skip
_BINARY = {name: name for name in (
    "add atan2 bitwise_and bitwise_or bitwise_xor copysign equal floor_divide greater greater_equal hypot less "
    "less_equal logaddexp logical_and logical_or logical_xor nextafter not_equal remainder"
).split()} | {
    "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift", "divide": "div",
    "maximum": "cwise_max_propagate", "minimum": "cwise_min_propagate", "multiply": "mul", "subtract": "sub",
}  # fmt: skip


def _unary(name: str, op: str) -> Callable[..., Tensor]:
    def function(x: Any, /) -> Tensor:
        return apply(op, x)

    return _named(function, name, op)


def _binary(name: str, op: str) -> Callable[..., Tensor]:
    def function(x1: Any, x2: Any, /) -> Tensor:
        return apply(op, x1, x2)

    return _named(function, name, op)


def _named(function: Any, name: str, op: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = OPS[op].__doc__
    return function


_functions = {name: _unary(name, op) for name, op in _UNARY.items()}
_functions |= {name: _binary(name, op) for name, op in _BINARY.items()}
globals().update(_functions)
__all__ += [*_functions]  # pyright: ignore[reportUnsupportedDunderAll]


def pow(x1: Any, x2: Any, /) -> Tensor:
    """``x1 ** x2``, small whole exponents as products."""
    with located():
        return power(x1 if isinstance(x1, Tensor) else as_tensor(x1), x2)


def round(x: Any, /) -> Tensor:
    """The nearest whole number, of two the even one; of complex numbers each part's."""
    with located():
        x = as_tensor(x)
        if x.element.is_complex:
            return apply("complex", apply("round", x.real), apply("round", x.imag))
        return apply("round", x)


def real(x: Any, /) -> Tensor:
    """The real part; a real tensor itself."""
    with located():
        return as_tensor(x).real


def imag(x: Any, /) -> Tensor:
    """The imaginary part of a complex tensor."""
    with located():
        return as_tensor(x).imag


def clip(x: Any, /, min: Any = None, max: Any = None) -> Tensor:
    """Elements limited to an interval, whose ends do not change the dtype."""
    with located():
        x = as_tensor(x)
        ends = (v if v is None else apply("cast", v, dtype=x.element) for v in (min, max))
        return elements.clip(x, *ends)
