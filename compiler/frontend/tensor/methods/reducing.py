"""Reductions and scans with the arguments that NumPy has for them: axes, dtypes, masks and initial values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .....dialects.dims.dims import dim
from .....dialects.registry import OPS, OpError, Reduction, axes
from ...indexing.unmasked import whole_of
from ...numpy.complex_order import EXTREMES, extreme_of
from ...numpy.out_arrays import into, into_read, reduced_as
from ...trace.context import current, table
from ...trace.symint import is_integer, symint
from ..apply import apply, as_tensor
from ..broadcasting import broadcast_to
from ..promotion import accumulator_dtype, cast, truth
from ..tensor import Tensor
from .elements import element_named
from .reshaping import axis_of, moveaxis, ravel, with_dims

__all__ = ["count", "counted", "deviation", "reduce", "scan", "trace", "variance"]


def reduce(
    name: str, x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, dims: Any = None,
    where: Any = None, initial: Any = None, **params: Any,
) -> Any:  # fmt: skip
    """A reduction with NumPy's arguments; `dims` is the seeds' name for `axis`, `params` what else the op takes.

    A tuple where the reduction has several results, and then `out` is a tuple too.
    """
    meant, params = OPS[name].variant(params)
    name = meant.name
    x = as_tensor(x)
    initial = None if initial is np._NoValue else initial
    if is_integer(dtype) or isinstance(dtype, (tuple, list)):
        raise OpError(f"{name} takes its dims as one list, such as {name}([0, 1])", code="TX0241")
    if dtype is not None:
        x = cast(x, element_named(dtype))
    elif out is not None and name in _REDUCTIONS and (name != "mean" or x.element.is_float or x.element.is_complex):
        x = reduced_as(x, out)
        dtype = x.element
    chosen = dims if axis is None else axis
    if initial is not None and name in _MERGED and issubclass(meant, Reduction):
        initial = cast(as_tensor(initial), x.element if dtype is not None else accumulator_dtype(meant, x.element))
    if where is not None and where is not np._NoValue and where is not True:
        x, where = _masked(name, x, where, initial)
    given = axes().convert(chosen, [x.user_type])
    trace = current()
    if trace is not None and trace.places and where is None and 0 in given and name in _OF_CHOSEN:
        found = whole_of(x)
        if found is not None:
            x, mask = found
            x, where = _masked(name, x, with_dims(mask, (mask.dims[0], *[dim(1)] * (x.ndim - 1))), None)
    if initial is not None and name in _MERGED:
        result = _from_initial(name, x, given, initial)
    elif name == "mean" and where is not None and isinstance(where, Tensor):
        count = reduce("sum", where, chosen)
        total = reduce("sum", x, chosen)
        result = apply("div", total, cast(count, total.element) if total.element.is_float else count)
    elif x.element.is_complex and name in EXTREMES and not isinstance(where, Tensor) and x.ndim:
        result = extreme_of(name, x, given, chosen is None)
    elif name in ("argmax", "argmin") and chosen is None and x.ndim > 1:
        result = apply(name, x)
    else:
        result = apply(name, x, dims=given, **params)
    results = result if isinstance(result, tuple) else (result,)
    if dtype is not None:
        results = tuple(cast(r, x.element) for r in results)  # sums of small integers are wider
    if keepdims and keepdims is not np._NoValue:
        kept = [dim(1) if i in given else d for i, d in enumerate(x.dims)]
        results = tuple(with_dims(r, tuple(kept), x.layout) for r in results)
    if out is not None and not isinstance(result, tuple):
        return _reduced_into(out, results[0], name)
    if out is not None:
        return tuple(into(target, r) for target, r in zip(out, results))
    return results if isinstance(result, tuple) else results[0]


#: What NumPy computes in the dtype of an array for the result.
_REDUCTIONS = frozenset({"sum", "prod", "maximum", "minimum", "mean", "cumsum", "cumprod"})


def _reduced_into(out: Any, result: Tensor, name: str) -> Any:
    return into_read(out, result, f"np.{name}.") if name.startswith("arg") else into(out, result, casting="unsafe")


def scan(
    name: str, x: Any, axis: Any = None, dtype: Any = None, out: Any = None, *, exclusive: Any = False
) -> Any:  # fmt: skip
    """A scan with NumPy's arguments (no axis: of all elements, flattened); a bool in second place is `exclusive`."""
    x = as_tensor(x)
    if isinstance(dtype, bool):
        exclusive, dtype = dtype, None
    if dtype is not None:
        x = cast(x, element_named(dtype))
    elif out is not None and name in _REDUCTIONS:
        x = reduced_as(x, out)
        dtype = x.element
    if axis is None:
        x, axis = ravel(x), 0
    result = apply(name, x, axis=axis, exclusive=exclusive)
    if dtype is not None:
        result = cast(result, x.element)
    return into(out, result, casting="unsafe")


#: Reductions of ``x[mask]`` that take all of `x` with the mask.
_OF_CHOSEN = ("sum", "mean", "prod", "all", "any")


#: The map that merges two partial results, where a reduction may start from a given one.
_MERGED = {
    "sum": "add", "prod": "mul", "maximum": "cwise_max_propagate", "minimum": "cwise_min_propagate",
    "nanmax": "cwise_max_numbers", "nanmin": "cwise_min_numbers",
}  # fmt: skip


def _from_initial(name: str, x: Tensor, dims: tuple[int, ...], initial: Any) -> Tensor:
    """A reduction whose first partial result is given; of no elements it is that one."""
    if not OPS[name].empty:  # pyright: ignore[reportAttributeAccessIssue]
        first = cast(as_tensor(initial), x.element)
        some = {i: table().settle(0, "<", x.dims[i], f"{name} of at least one element") for i in dims}
        if False in some.values():
            return broadcast_to(first, tuple(d for i, d in enumerate(x.dims) if i not in dims), x.layout)
        for axis in [i for i in dims if some[i] is None]:  # where values decide the size it is one element more
            before = tuple(dim(1) if i == axis else d for i, d in enumerate(x.dims))
            x = apply("concatenate", broadcast_to(first, before, x.layout), x, axis=axis)
    return apply(_MERGED[name], initial, apply(name, x, dims=dims))


def _masked(name: str, x: Tensor, where: Any, initial: Any) -> tuple[Tensor, Any]:
    """`x` with the elements that `where` leaves out replaced by the reduction's neutral element, or by `initial`."""
    neutral = {"sum": 0, "mean": 0, "prod": 1, "all": True, "any": False}
    if name in _MERGED and name not in neutral and initial is not None:
        neutral[name] = initial
    if name not in neutral:
        hint = "give it initial=" if name in _MERGED else "use np.where first"
        raise OpError(f"{name} does not take 'where' here", hint, "TX0240")
    mask = broadcast_to(truth(as_tensor(where)), x.dims, x.layout) if as_tensor(where).dims != x.dims else where
    return apply("select", mask, x, cast(as_tensor(neutral[name]), x.element)), truth(as_tensor(mask))


def count(x: Tensor, dims: Any = None) -> Any:
    """The number of elements along `dims`, as an integer."""
    total = dim(1)
    for i in axes().convert(dims, [x.user_type]):
        total = total * x.dims[i]
    return symint(total)


def variance(
    x: Tensor, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """NumPy's var; `mean` has the reduced dims with size 1, `correction` is the standard's name for `ddof`."""
    x = as_tensor(x)
    if dtype is not None:
        x = cast(x, element_named(dtype))
    elif x.element.is_float and x.element.bits == 16:
        wide = variance(x, axis, "f32", None, ddof, keepdims, where=where, mean=mean, correction=correction)
        return into(out, cast(wide, x.element), casting="unsafe")
    less = ddof if correction is None else correction
    # With `ddof` there may be none left to divide by, which is NaN and not a negative number.
    if where is True and mean is None and not x.element.is_complex and type(less) is int and less == 0:
        return into(out, apply("var", x, axis=axis, ddof=less, keepdims=_kept(keepdims)), casting="unsafe")
    centre = reduce("mean", x, axis, keepdims=True, where=where) if mean is None else mean
    off = apply("sub", x, centre)
    if off.element.is_complex:
        square = apply("add", apply("square", off.real), apply("square", off.imag))
    else:
        square = apply("mul", off, off)
    total = reduce("sum", square, axis, keepdims=keepdims, where=where)
    if where is True:
        divisor = count(x, axis) - less
    else:
        divisor = apply("sub", counted(where, x, axis, keepdims), less)
    divisor = apply("cwise_max_propagate", divisor, 0)
    return into(out, apply("div", total, cast(as_tensor(divisor), total.element)), casting="unsafe")


def _kept(keepdims: Any) -> bool:
    return keepdims is not np._NoValue and bool(keepdims)


def counted(where: Any, x: Tensor, axis: Any, keepdims: Any) -> Tensor:
    """How many elements of `x` a mask leaves, along `axis`."""
    mask = broadcast_to(truth(as_tensor(where)), x.dims, x.layout)
    return reduce("sum", mask, axis, keepdims=keepdims)


def deviation(x: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
    return into(out, apply("sqrt", variance(x, *args, **kwargs)), np.sqrt)


def trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dims: Any = None) -> Any:
    """The sum of a diagonal: NumPy's arguments, or Eigen's `dims`, two or more of one size."""
    if x.layout == "col" and x.ndim > 1:
        first, second, *others = (x.ndim - 1 - axis_of(d, x.ndim) for d in (axis1, axis2, *(dims or ())))
        return trace(x.swap_layout(), offset, first, second, dims=None if dims is None else others).swap_layout()
    if dims is None:
        front = moveaxis(x, (axis1, axis2), (0, 1))
        return reduce("sum", apply("diagonal", front, offset=offset), -1)
    along = [axis_of(d, x.ndim) for d in dims]
    for d in along[1:]:
        table().equate(x.dims[along[0]], x.dims[d], "trace")
    rest = moveaxis(x, along, list(range(len(along))))
    while len(along) > 1:
        # The diagonal of the first two comes last: it is the first of those that are left.
        rest, along = moveaxis(apply("diagonal", rest), -1, 0), along[1:]
    return reduce("sum", rest, 0)
