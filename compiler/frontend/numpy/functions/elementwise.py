"""Functions of single elements that NumPy has no ufunc for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from .....dialects.registry import OpError
from .....dialects.types import dtype
from ...tensor.apply import apply, as_tensor
from ...tensor.methods import elements, reducing, reshaping
from ...tensor.promotion import cast, common_dtype, truth
from ...tensor.tensor import Tensor
from ...trace.context import table
from ..out_arrays import into, target_of
from .creation.arrays import full
from .registry import handles
from .searching.data_dependent import nonzero

__all__ = ["isclose", "nan_to_num", "where"]


@handles(np.where)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("either both or neither of x and y should be given")
    return apply("select", condition, x, y)


@handles(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The choice of the first condition that is true."""
    if len(condlist) != len(choicelist) or not condlist:
        raise OpError(f"np.select: {len(condlist)} conditions, {len(choicelist)} choices", code="TX0101")
    conditions, choices = [as_tensor(c) for c in condlist], [as_tensor(c) for c in (*choicelist, default)]
    for number, condition in enumerate(conditions):
        if condition.element.kind != "bool":
            raise TypeError(f"invalid entry {number} in condlist: should be boolean ndarray")
    # Of all together: one after another a bool and a weak 7 would be an i64, whatever the others are.
    element = common_dtype(choices)
    *choices, result = (cast(c, element) for c in choices)
    for condition, choice in reversed(list(zip(conditions, choices))):
        result = apply("select", condition, choice, result)
    return result


@handles(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Of several conditions that are true the last one decides; a function gets the elements where its one is true.

    Where there is one entry more in `funclist` than there are conditions, it is for the rest; else that is 0.
    """
    x = as_tensor(x)
    conditions = [truth(as_tensor(c)) for c in _conditions(condlist, x)]
    count = len(conditions)
    if len(funclist) not in (count, count + 1):
        text = f"np.piecewise: with {count} conditions, {count} or {count + 1} functions are expected"
        raise OpError(text, f"there are {len(funclist)}", "TX0240")
    if len(funclist) > count:
        conditions.append(apply("logical_not", reduce(partial(apply, "logical_or"), conditions)))
    result = full(x.shape, 0, x.dtype)
    for condition, f in zip(conditions, funclist):
        if x.ndim:
            result[condition] = f(x[condition], *args, **kw) if callable(f) else f
        else:
            value = as_tensor(f(x, *args, **kw) if callable(f) else f)
            result = apply("select", condition, cast(value, x.element), result)
    return result


def _conditions(condlist: Any, x: Tensor) -> Any:
    """The conditions that `condlist` has; bools that are none of arrays are one, of the elements of `x`."""
    if not isinstance(condlist, (list, tuple)) and not as_tensor(condlist).ndim:
        return [condlist]
    first = condlist[0]
    is_array = isinstance(first, (Tensor, np.ndarray)) and (first.ndim or as_tensor(first).boxed)
    return condlist if isinstance(first, list) or is_array or not x.ndim else [condlist]


@handles(np.clip)
def clip(
    a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None,
    dtype: Any = None,
) -> Any:  # fmt: skip
    a = as_tensor(a) if dtype is None else elements.astype(as_tensor(a), dtype)
    return elements.clip(a, a_min if min is None else min, a_max if max is None else max, out)


@handles(np.round, np.around)
def round_(a: Any, decimals: int = 0, out: Any = None) -> Any:
    a, target = as_tensor(a), target_of(out)
    if target is not None and table().decide(a.type.size, "==", target.type.size, "out=") is False:
        raise ValueError("invalid output shape")
    if a.element.kind == "bool":
        if decimals:
            raise OpError("np.round of bools takes no decimals", "cast them first", "TX0112")
        a = cast(a, dtype("f16"))
    if not decimals or (a.element.is_integer and decimals > 0):
        return into(out, apply("round", a), np.rint, broadcasts=True)
    scale = 10.0 ** abs(decimals)
    if decimals > 0:
        return into(out, apply("div", apply("rint", apply("mul", a, scale)), scale), np.multiply, broadcasts=True)
    rounded = apply("mul", apply("rint", apply("div", a, scale)), scale)
    return into(out, cast(rounded, a.element), np.multiply, broadcasts=True)


@handles(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    """The integer towards zero."""
    return into(out, apply("trunc", x), np.trunc, broadcasts=True)


@handles(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """NaN and the infinities replaced: these by the largest numbers of the dtype where no other is given."""
    x = as_tensor(x)
    if x.element.is_complex:
        parts = (nan_to_num(part, True, nan, posinf, neginf) for part in (x.real, x.imag))
        result = apply("complex", *parts)
    elif not x.element.is_float:
        result = x
    else:
        limits = _limits(x)
        large = limits[1] if posinf is None else posinf
        small = limits[0] if neginf is None else neginf
        result = apply("select", apply("isnan", x), nan, x)
        result = apply("select", apply("equal", x, np.inf), large, result)
        result = apply("select", apply("equal", x, -np.inf), small, result)
    if copy:
        return elements.copy(result)
    into(x, result)
    return x if x.ndim else Tensor(x.value)


def _limits(x: Tensor) -> tuple[float, float]:
    import ml_dtypes

    found = ml_dtypes.finfo(x.dtype)
    return float(found.min), float(found.max)


@handles(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """``|a - b| <= atol + rtol * |b|``; infinities are close to themselves."""
    a, b = as_tensor(a), as_tensor(b)
    element = common_dtype([a, b, as_tensor(1.0)])
    a, b = cast(a, element), cast(b, element)
    near = apply("less_equal", abs(a - b), apply("add", atol, apply("mul", rtol, abs(b))))
    result = apply("logical_or", apply("logical_and", near, apply("isfinite", b)), apply("equal", a, b))
    if equal_nan:
        both = apply("logical_and", apply("isnan", a), apply("isnan", b))
        result = apply("logical_or", result, both)
    return result


@handles(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    return _pythons(isclose(a, b, rtol, atol, equal_nan))


def _pythons(found: Tensor) -> Tensor:
    """Whether all are true, which NumPy makes a bool of Python's."""
    return Tensor(reducing.reduce("all", found).value, weak="bool")


@handles(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have one shape and equal elements."""
    a, b = as_tensor(a1), as_tensor(a2)
    if a.ndim != b.ndim or any(bool(m != n) for m, n in zip(a.shape, b.shape)):
        return False
    same = apply("equal", a, b)
    if equal_nan and (a.element.is_float or a.element.is_complex):
        same = apply("logical_or", same, apply("logical_and", apply("isnan", a), apply("isnan", b)))
    return _pythons(same)


@handles(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays broadcast to equal ones."""
    try:
        return _pythons(apply("equal", a1, a2))
    except OpError:
        return False


@handles(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    return into(out, apply("equal", _ordered(x), np.inf), np.logical_and, broadcasts=True)


@handles(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    return into(out, apply("equal", _ordered(x), -np.inf), np.logical_and, broadcasts=True)


def _ordered(x: Any) -> Tensor:
    x = as_tensor(x)
    if x.element.is_complex:
        raise OpError(f"the sign of an infinity is one of real numbers, not of {x.user_type}", code="TX0112")
    return x


@handles(np.isreal)
def isreal(x: Any) -> Any:
    return apply("equal", apply("imag", as_tensor(x)), 0)


@handles(np.iscomplex)
def iscomplex(x: Any) -> Any:
    return apply("not_equal", apply("imag", as_tensor(x)), 0)


@handles(np.isrealobj)
def isrealobj(x: Any) -> bool:
    return not as_tensor(x).element.is_complex


@handles(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    return as_tensor(x).element.is_complex


@handles(np.real)
def real(val: Any) -> Any:
    return as_tensor(val).real


@handles(np.imag)
def imag(val: Any) -> Any:
    return as_tensor(val).imag


@handles(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    z = as_tensor(z)
    if z.element.is_integer:
        z = cast(z, dtype(np.arctan2.resolve_dtypes((z.element.numpy,) * 2 + (None,))[0]))
    found = apply("arg", z)
    return apply("mul", found, 180.0 / np.pi) if deg else found


@handles(np.divmod)
def divmod_(x1: Any, x2: Any, /) -> tuple[Tensor, Tensor]:
    return apply("floor_divide", x1, x2), apply("remainder", x1, x2)


@handles(np.modf)
def modf(x: Any, /) -> tuple[Tensor, Tensor]:
    """The fraction and the whole part, both with the sign of `x`."""
    x = as_tensor(x)
    x = x if x.element.is_float else elements.astype(x, "f64")
    whole = apply("trunc", x)
    fraction = apply("select", apply("isinf", x), 0.0, x - whole)
    return apply("copysign", fraction, x), whole


@handles(np.float_power)
def float_power(x1: Any, x2: Any, /) -> Tensor:
    """``x1 ** x2`` in f64, or in c128."""
    element = common_dtype([as_tensor(x1), as_tensor(x2), as_tensor(np.float64(1))])
    return apply("pow", cast(as_tensor(x1), element), cast(as_tensor(x2), element))


@handles(np.frexp)
def frexp(x: Any, /) -> tuple[Tensor, Tensor]:
    """The fraction, of magnitude from 0.5 to 1, and the exponent of 2 that make `x`; what is not finite is its own."""
    x = as_tensor(x)
    x = x if x.element.is_float else elements.astype(x, "f64")
    wide = elements.astype(x, "f64")
    plain = apply("logical_and", apply("isfinite", wide), apply("not_equal", wide, 0.0))
    size = apply("select", plain, abs(wide), 1.0)
    # The logarithm may be off by one next to a power of two.
    exponent = elements.astype(apply("floor", apply("log2", size)), "i32")
    share = ldexp(size, -exponent)
    exponent = exponent + elements.astype(share >= 1.0, "i32") - elements.astype(share < 0.5, "i32")
    exponent = exponent + elements.astype(ldexp(size, -exponent) >= 1.0, "i32")
    fraction = apply("copysign", ldexp(size, -exponent), wide)
    zero = cast(as_tensor(0), exponent.element)
    return cast(apply("select", plain, fraction, wide), x.element), apply("select", plain, exponent, zero)


@handles(np.bitwise_count)
def bitwise_count(x: Any, /) -> Tensor:
    """How many bits of the absolute value are ones, counted in pairs, then fours, then eights."""
    x = as_tensor(x)
    if not x.element.is_integer:
        raise OpError(f"np.bitwise_count takes integers, not {x.user_type}", code="TX0112")
    bits = elements.astype(cast(apply("abs", x), dtype(f"u{x.element.bits}")), "u64")
    for shift, mask in ((1, 0x5555555555555555), (2, 0x3333333333333333), (4, 0x0F0F0F0F0F0F0F0F)):
        keep = np.uint64(mask)
        bits = (bits & keep) + (apply("right_shift", bits, np.uint64(shift)) & keep)
    total = bits * np.uint64(0x0101010101010101)
    return elements.astype(apply("right_shift", total, np.uint64(56)), "uint8")


@handles(np.spacing)
def spacing(x: Any, /) -> Tensor:
    """The distance to the next float of larger magnitude, with the sign of `x`."""
    x = as_tensor(x)
    x = x if x.element.is_float else elements.astype(x, "f64")
    away = apply("select", x < 0, cast(as_tensor(-np.inf), x.element), cast(as_tensor(np.inf), x.element))
    return apply("nextafter", x, away) - x


@handles(np.ldexp)
def ldexp(x1: Any, x2: Any, /) -> Tensor:
    """``x1 * 2**x2``, in three factors because the power alone may be no float."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if not x2.element.is_integer:
        raise OpError(f"np.ldexp takes integer exponents, not {x2.user_type}", code="TX0112")
    x1 = x1 if x1.element.is_float else elements.astype(x1, "f64")
    wide = elements.astype(x1, "f64") if x1.element.bits < 64 else x1
    power = apply("clip", elements.astype(x2, "i64"), -2200, 2200)
    third = power // 3
    for exponent in (third, third, power - 2 * third):
        wide = wide * apply("exp2", elements.astype(exponent, "f64"))
    return cast(wide, x1.element)


@handles(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Any:
    return elements.astype(as_tensor(x), dtype, copy=copy)


@handles(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    return common_dtype([_example(a) for a in arrays_and_dtypes]).numpy


@handles(np.can_cast)
def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    return np.can_cast(as_tensor(from_).dtype, to, casting)  # pyright: ignore[reportArgumentType]


def _example(a: Any) -> Tensor:
    """A tensor of a dtype, or of a value."""
    return full((), 0, a) if isinstance(a, (np.dtype, type, str)) else as_tensor(a)


@handles(np.isin)
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Whether each element is among the others: all pairs are compared."""
    element, others = as_tensor(element), reshaping.ravel(as_tensor(test_elements))
    found = reducing.reduce("any", apply("equal", reshaping.expand_dims(element, element.ndim), others), -1)
    return apply("logical_not", found) if invert else found


@handles(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """Horner's rule; the number of coefficients is known when the function is compiled."""
    p, x = as_tensor(p), as_tensor(x)
    if not p.ndim:
        raise TypeError("iteration over a 0-d array")
    result = full(x.shape, 0, x.dtype)
    for i in range(int(p.shape[0])):
        result = result * x + p[i]
    return result


@handles(np.polynomial.polynomial.polyval)
def rising_polyval(x: Any, c: Any, tensor: bool = True) -> Any:
    """The same of coefficients with the constant first; further dims of these are other polynomials, each of them at
    all places (`tensor`), or at those that it is broadcast against."""
    c, x = as_tensor(c), as_tensor(x)
    if not (c.element.is_float or c.element.is_complex):
        c = c + 0.0
    if not c.ndim:
        c = c.reshape(1)
    if tensor and x.ndim:
        c = c.reshape((*c.shape, *([1] * x.ndim)))
    result = c[-1] + x * 0
    for i in range(2, int(c.shape[0]) + 1):
        result = c[-i] + result * x
    return result
