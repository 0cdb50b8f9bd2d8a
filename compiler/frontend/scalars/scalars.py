"""Python's and NumPy's scalars in staged code: conversions, `math`, and what type a number has.

A run-time number is a rank-0 tensor: Python's where it is weak (`Tensor.weak`), else a NumPy scalar.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....dialects.registry import OpError
from ....dialects.types import DTYPES
from ...diagnostics import located
from ..state.containers.growing_lists import GrowingList
from ..state.containers.staged_dicts import StagedDict
from ..tensor.apply import apply, as_tensor
from ..tensor.promotion import cast
from ..tensor.tensor import Tensor
from ..trace.context import current
from ..trace.symint import SymInt, sym_min, symint
from .decimal_rounding import MOST_DIGITS, rounded
from .math_functions import MATH
from .python_numbers import as_float, as_int
from .size_numbers import known_number, quotient_of

__all__ = ["SCALARS"]


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
            return made if made.ndim else Tensor(made.value, layout=made.layout)

    return convert


def _round(value: Any, ndigits: Any = None) -> Any:
    if not isinstance(value, Tensor):
        return round(value) if ndigits is None else round(value, ndigits)
    with located():
        if value.element.is_complex or (value.element.kind == "bool" and not value.weak):
            name = value.weak or f"numpy.{value.dtype.name}"
            raise TypeError(f"type {name} doesn't define __round__ method")
        parts = quotient_of(value)
        if ndigits is None and parts is not None:
            top, bottom = (symint(p) for p in parts)
            half_up = (2 * top + bottom) // (2 * bottom)
            # Ties go to the even one.
            tie = 1 - sym_min(abs((2 * top + bottom) % (2 * bottom)), 1)
            return half_up - tie * (half_up % 2)
        if ndigits is None:
            return as_int(apply("rint", value) if value.element.is_float else value)
        if value.weak in ("int", "bool") and isinstance(ndigits, int) and ndigits >= 0:
            return as_int(value)
        if (number := known_number(value)) is not None:
            return round(number, ndigits)
        if value.weak == "float" and isinstance(ndigits, int) and 0 <= ndigits <= MOST_DIGITS:
            return rounded(value, ndigits)
        if value.weak:
            raise OpError(
                f"round() of a Python {value.weak} that is known only at run time, to {ndigits} digits",
                f"np.round(x, n) rounds as NumPy does; Python's is there for 0 to {MOST_DIGITS} digits of a float",
                "TX0234",
            )
        return np.round(value, ndigits)  # pyright: ignore[reportCallIssue, reportArgumentType]


def _complex(*parts: Any, **named: Any) -> Any:
    if named or not any(isinstance(p, (SymInt, Tensor)) for p in parts):
        return complex(*parts, **named)
    with located():
        real, imaginary = (as_tensor(p) for p in (*parts, 0.0)[:2])
        if real.element.is_complex or imaginary.element.is_complex:
            made = cast(real, DTYPES["c128"]) if len(parts) == 1 else real + imaginary * 1j
        else:
            made = apply("complex", as_float(real), as_float(imaginary))
        return Tensor(made.value, weak="complex")


def _bool(*values: Any) -> Any:
    value = values[0] if values else False
    if isinstance(value, GrowingList) and value.stacked:
        return Tensor((as_tensor(value.length) != 0).value, weak="bool")
    if isinstance(value, StagedDict) and value.missing:
        return Tensor(as_tensor(value.truth).value, weak="bool")
    if isinstance(value, SymInt):
        return value.truth()
    if isinstance(value, Tensor) and current() is not None and not value.ndim:
        return Tensor((value != 0).value, weak="bool")
    return bool(value)


_KINDS = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16,
    np.float32, np.float64, np.complex64, np.complex128,
)  # fmt: skip

#: What staged code calls in place of functions of scalars.
SCALARS: dict[Any, Any] = {
    **{kind: _numpy_scalar(kind) for kind in _KINDS},
    **MATH,
    round: _round,
    complex: _complex,
    bool: _bool,
    dict: StagedDict,
}
