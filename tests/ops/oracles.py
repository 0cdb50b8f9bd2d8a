"""What results of generated tests are compared with: NumPy's meaning of an op, within the op's stated accuracy.

Each function gives a mask of the elements that are wrong, and what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from txc.compiler.interpret.scalar import evaluate
from txc.dialects.order import SERIAL
from txc.dialects.registry import Map, Reduction, Scan
from txc.dialects.types import DType, dtype, tensor_type

from .generated import SPECIAL

Array = np.ndarray[Any, Any]
Verdict = tuple[Array, Array]

#: Bitwise NumPy's for complex numbers: no rounding, or the same roundings in the same order.
EXACT_COMPLEX = {
    "add", "sub", "negate", "positive", "real", "imag", "conjugate", "equal", "not_equal", "logical_and", "logical_or",
    "logical_xor", "logical_not", "select", "isnan", "isinf", "isfinite", "cast",
}  # fmt: skip
#: Units in the last place of the magnitude that other results may be off by; NumPy's own functions need as many.
COMPLEX_ULP = {"log": 2.0, "sqrt": 3.0, "abs": 2.0, "exp2": 12.0, "cube": 4.0}
USUAL_COMPLEX_ULP = 8.0
#: By how much a relative error of what a function computes on the way changes its result.
MAGNIFIED: dict[str, Callable[..., Array]] = {"pow": lambda z, w: 1 + np.abs(w * np.log(z))}
#: NumPy leaves open which of two zeros is the larger.
EITHER_ZERO = ("nextafter", "clip", "cwise_")
#: Accurate to the ulp of the larger operand where the result is a difference that cancels.
OF_OPERANDS = {"logaddexp"}


def differ(expected: Array, got: Array) -> Array:
    """Where bits differ, all NaNs being equal."""
    if expected.dtype != got.dtype or expected.shape != got.shape:
        return np.ones(got.shape, bool)
    if expected.dtype.kind == "c":
        return differ(np.real(expected), np.real(got)) | differ(np.imag(expected), np.imag(got))
    if not dtype(expected.dtype).is_float:
        return np.asarray(expected != got)
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    same = np.ascontiguousarray(expected).view(bits) == np.ascontiguousarray(got).view(bits)
    return ~(same.reshape(got.shape) | (np.isnan(expected) & np.isnan(got)))


def wrong_in_map(op: type[Map], attrs: dict[str, Any], arrays: list[Array], got: Array) -> Verdict:
    """Bitwise where the op is exact, within its stated accuracy of the true value where it is not.

    A map that NumPy has no function for is bitwise its own body; how accurate that is `test_special_accuracy.py` says.
    """
    if not op.has_meaning():
        (expected,) = evaluate(op, arrays, attrs)
        return differ(expected, got), expected
    if dtype(arrays[-1].dtype).is_complex:
        return _wrong_complex(op, attrs, arrays, got)
    if op.ulp is None or not dtype(got.dtype).is_float:
        expected = meaning(op, arrays, attrs)
        if op.name.startswith(EITHER_ZERO) and dtype(got.dtype).is_float:
            return differ(expected + expected.dtype.type(0), got + got.dtype.type(0)), expected
        return differ(expected, got), expected
    wide = np.longdouble if got.dtype == np.float64 else np.float64
    with np.errstate(all="ignore"):
        exact = np.asarray(op.numpy(*(a.astype(wide) for a in arrays)))
        rounded = exact.astype(got.dtype)
        units = unit(rounded)
        if op.name in OF_OPERANDS:
            units = np.maximum(units, unit(np.maximum(*arrays)))
        off = np.abs(got.astype(wide) - exact) / units.astype(wide)
    agree = (rounded == got) | (np.isnan(rounded) & np.isnan(got))
    allowed = op.ulp + 0.01 if got.dtype.itemsize > 2 else 0.5 + op.ulp * 2.0**-3
    wrong = ~agree & ~(off <= allowed) & _in_domain(op, arrays)
    return wrong | (got.dtype != arrays[-1].dtype), exact


def _in_domain(op: type[Map], arrays: Sequence[Array]) -> Array:
    """Where the operands are special values, or from the interval for which the op states its accuracy."""
    low, high = op.domain
    inside = np.ones(arrays[0].shape, bool)
    for a in arrays:
        with np.errstate(over="ignore"):
            special = np.array(SPECIAL).astype(a.dtype)
        inside &= ((a >= low) & (a <= high)) | np.isin(a.astype(np.float64), special.astype(np.float64)) | np.isnan(a)
    return inside


def _wrong_complex(op: type[Map], attrs: dict[str, Any], given: list[Array], got: Array) -> Verdict:
    (expected,) = op.evaluate(given, attrs)
    if op.name in EXACT_COMPLEX:
        return differ(expected, got), expected
    wide = np.clongdouble if np.real(got).dtype == np.float64 else np.complex128
    with np.errstate(all="ignore"):
        operands = [a.astype(wide) for a in given]
        exact = np.asarray(op.numpy(*operands))
        magnitude = np.spacing(np.abs(exact).astype(np.real(got).dtype)) * MAGNIFIED.get(op.name, _one)(*operands)
        off = np.abs(got.astype(wide) - exact) / magnitude
    right = ~np.isfinite(exact) | (off <= COMPLEX_ULP.get(op.name, USUAL_COMPLEX_ULP))
    return ~right | np.full(got.shape, got.dtype != expected.dtype), expected


def _one(*_: Array) -> Array:
    return np.ones(())


def meaning(op: type[Map], arrays: list[Array], attrs: dict[str, Any]) -> Array:
    """The op's oracle; half-width floats are computed in f32 and rounded once, neighbours in their own width."""
    element = dtype(arrays[-1].dtype)
    if op.name in ("cast", "nextafter") or element.computes_in is element:
        return op.evaluate(arrays, attrs)[0]
    wide = [a.astype(np.float32) if dtype(a.dtype) is element else a for a in arrays]
    (found,) = op.evaluate(wide, attrs)
    with np.errstate(all="ignore"):
        return found.astype(element.numpy) if found.dtype == np.float32 else found


def unit(x: Array) -> Array:
    """The unit in the last place of each element, in a wide type."""
    info = ml_dtypes.finfo(x.dtype)
    wide = np.abs(x.astype(np.float64))
    _, exponent = np.frexp(wide)
    return np.ldexp(1.0, np.maximum(exponent - 1, info.minexp) - info.nmant)


def check_reduction(op: type[Reduction], x: Array, axes: tuple[int, ...], got: Sequence[Array], what: str) -> None:
    """Bitwise where the order does not matter (but for which of two zeros is the larger, that NumPy leaves open).

    Elsewhere within what any order of n roundings can lose.
    """
    element = dtype(x.dtype)
    if op.exact(element) or op.results > 1 or op.numpy is None:  # which could be asked for more digits
        expected = op.evaluate([_promoted(op, x)], {"dims": axes})
        for e, g in zip(expected, got, strict=True):
            wrong = differ(e + e.dtype.type(0), g + g.dtype.type(0)) if element.is_float else differ(e, g)
            assert g.dtype == e.dtype and not wrong.any(), f"{what}: {g} is not {e}"
        return
    (result,) = got
    wide = _widest(result)
    with np.errstate(all="ignore"):
        expected = np.asarray(op.numpy(x.astype(wide), axis=axes))
        size = np.asarray(op.numpy(np.abs(x.astype(wide)), axis=axes))
    count = int(np.prod([x.shape[d] for d in axes]))
    assert result.shape == expected.shape, f"{what}: of shape {result.shape}, not {expected.shape}"
    _check_rounded(expected, size, count, result, element, what)


def check_scan(op: type[Scan], x: Array, attrs: dict[str, Any], got: Array, what: str) -> None:
    """As `check_reduction`; bitwise too where the order is NumPy's."""
    fold, element = op.reduction(), dtype(x.dtype)
    in_order = op.order(tensor_type(element, x.shape), attrs["axis"]) == SERIAL and not element.is_complex
    if in_order or fold.exact(element) or fold.empty is False:
        (expected,) = op.evaluate([_promoted(fold, x)], attrs)
        same = (expected == got) | (np.isnan(expected) & np.isnan(got)) if element.is_float else expected == got
        if op.name == "cumlogsumexp":
            with np.errstate(all="ignore"):
                allowed = 4 * x.shape[attrs["axis"]] * _eps(element) * (1 + np.abs(expected))
                same |= np.abs(expected - got) <= allowed
        assert got.dtype == expected.dtype and same.all(), f"{what}: {got} is not {expected}"
        return
    wide = np.complex128 if element.is_complex else np.float64
    with np.errstate(all="ignore"):
        (expected,) = op.evaluate([x.astype(wide)], attrs)
        (size,) = op.evaluate([np.abs(x.astype(wide))], attrs)
    _check_rounded(expected, 1 + np.abs(size), x.shape[attrs["axis"]], got, element, what)


def _check_rounded(exact: Array, size: Array, count: int, got: Array, element: DType, what: str) -> None:
    """Within the error of a fold of `count` elements in any order, whose sum of magnitudes is `size`."""
    steps = (count + 1) * (3 if element.is_complex else 1)
    with np.errstate(all="ignore"):
        allowed = steps * _eps(element.computes_in) * size + _eps(element) * np.abs(exact)
        narrowed = exact.astype(got.dtype)
        close = np.abs(got.astype(exact.dtype) - exact) <= allowed
    same = (narrowed == got) | (np.isnan(narrowed) & np.isnan(got)) | ~np.isfinite(size)
    assert got.dtype == element.numpy and (close | same).all(), f"{what}: {got} is not {narrowed}"


def _promoted(fold: type[Reduction], x: Array) -> Array:
    """As the front end casts it first: NumPy adds and multiplies small integers in 64 bits."""
    element = dtype(x.dtype)
    if fold.promotes == "sum" and element.is_integer:
        return x.astype(np.int64 if element.kind == "int" else np.uint64)
    return x


def _widest(like: Array) -> Any:
    """A type of more digits, as far as there is one."""
    if dtype(like.dtype).is_complex:
        return np.clongdouble
    return np.longdouble if like.dtype == np.float64 else np.float64


def _eps(element: DType) -> float:
    return float(ml_dtypes.finfo(element.part.numpy).eps)
