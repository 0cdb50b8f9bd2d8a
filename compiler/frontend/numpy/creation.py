"""Tensors made from nothing, of sizes that may be known only at run time: ``np.zeros`` and kin in staged code."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....dialects.dims.dims import Dim, dim, maximum
from ....dialects.dims.index_map import product
from ....dialects.registry import OPS, OpError
from ....dialects.types import DTYPES, DType
from ...diagnostics import located
from ..indexing.data_dependent_sizes import size_of
from ..tensor.apply import apply, as_tensor, stack, tensor_of_array
from ..tensor.broadcasting import broadcast_to, broadcast_together
from ..tensor.methods.elements import element_named
from ..tensor.methods.reshaping import expand_dims, transpose
from ..tensor.promotion import cast, common_dtype
from ..tensor.tensor import Tensor
from ..tensor.views.view_or_copy import copied, is_in_columns, packed_or_copy
from ..trace.context import table
from ..trace.emit import constant, emit
from ..trace.symint import SymInt, as_dim, is_integer

__all__ = [
    "arange", "array", "asarray", "ascontiguousarray", "asfortranarray", "empty", "eye", "full", "geomspace",
    "identity", "indices", "iota", "linspace", "logspace", "ones", "require", "tri", "zeros",
]  # fmt: skip


def _sizes(shape: Any) -> tuple[Dim, ...]:
    given = [size_of(s) for s in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    if any(not is_integer(s) and not isinstance(s, Dim) for s in given):
        raise OpError(f"sizes are integers, not {shape!r}", code="TX0280")
    dims = tuple(table().resolve(as_dim(s)) for s in given)
    for d in dims:
        if (d.const or 0) < 0 or (table().hint(d) or 0) < 0:
            raise OpError(f"negative sizes are not allowed: {table().describe(d)}", code="TX0280")
    return dims


def _filled(shape: Any, value: Tensor) -> Tensor:
    # An array of its own: storing into it must be possible, which an expanded view refuses.
    made = broadcast_to(value, _sizes(shape))
    return Tensor(made.value, boxed=True)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Tensor:
    """An array of one value, of its dtype unless another is given."""
    with located():
        value = as_tensor(fill_value)
        return _filled(shape, cast(value, value.element if dtype is None else element_named(dtype)))


def zeros(shape: Any, dtype: Any = None) -> Tensor:
    """An array of zeros, of f64 unless another dtype is given."""
    with located():
        return _filled(shape, Tensor(constant(0, element_named(dtype or float))))


def ones(shape: Any, dtype: Any = None) -> Tensor:
    """An array of ones, of f64 unless another dtype is given."""
    with located():
        return _filled(shape, Tensor(constant(1, element_named(dtype or float))))


#: The elements of an empty array are zero here: compiled code never reads memory that nothing wrote.
empty = zeros


def iota(extent: Dim, element: DType = DTYPES["i64"]) -> Tensor:
    """``0, 1, 2, …``: `extent` of them."""
    return Tensor(emit(OPS["iota"], (), {"extent": extent, "dtype": element})[0], boxed=True)


def numbers(dims: tuple[Dim, ...], layout: str) -> Tensor:
    """The number of each element, counted as it lies in memory: u64."""
    count = Tensor(iota(product(dims), DTYPES["u64"]).value, layout=layout)
    return apply("reshape", count, dims=dims)


def arange(start_or_stop: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
    """NumPy's arange; the number of elements must be a whole-number expression or known now."""
    with located():
        start = start_or_stop
        if stop is None:
            start, stop = 0, start
        step = 1 if step is None else step
        if any(isinstance(v, Tensor) and not v.ndim for v in (start, stop, step)):
            return _arange_of_values(start, stop, step, dtype)
        if not any(isinstance(v, (SymInt, Tensor)) for v in (start, stop, step)):
            if not all(is_integer(v) for v in (start, stop, step)):
                return tensor_of_array(np.arange(start, stop, step, dtype=dtype))
        elif not all(is_integer(v) for v in (start, stop, step)):
            raise OpError("np.arange of a size known only at run time takes integers", "scale np.arange(n)", "TX0281")
        by = int(step)
        if by == 0:
            raise OpError("the step of np.arange is zero", code="TX0281")
        first, last = as_dim(start), as_dim(stop)
        length = (last - first + (by - 1)) // by if by > 0 else (first - last + (-by - 1)) // -by
        result = iota(maximum(0, length) if table().decide(0, "<=", length, "np.arange") is not True else length)
        if by != 1:
            result = apply("mul", result, by)
        if first.const != 0:
            result = apply("add", result, start)
        return result if dtype is None else cast(result, element_named(dtype))


def _arange_of_values(start: Any, stop: Any, step: Any, dtype: Any) -> Tensor:
    """``start, start + step, …`` before `stop`, of numbers that data decides: as many as NumPy counts."""
    first, last, by = (as_tensor(v) for v in (start, stop, step))
    if dtype is None:
        # NumPy's dtype is that of these and of its own ints: it says so itself.
        dtype = np.arange(*[t.dtype.type(1) for t in (first, last, by)]).dtype
    element = element_named(dtype)
    if element.is_complex or element.kind == "bool":
        raise OpError(f"np.arange of {element} whose size values decide", "scale np.arange(n)", "TX0281")
    by = apply(
        "require", by, apply("not_equal", by, 0), text="Maximum allowed size exceeded", error="ZeroDivisionError"
    )
    whole = all(t.element.is_integer for t in (first, last, by))
    if whole:
        first, last, by = (cast(t, DTYPES["i64"]) for t in (first, last, by))
        # Rounded up: as -((first - last) // by).
        length = apply("negate", apply("floor_divide", first - last, apply("select", apply("equal", by, 0), 1, by)))
    else:
        first, last, by = (cast(t, DTYPES["f64"]) for t in (first, last, by))
        length = apply("ceil", (last - first) / by)
        length = apply("require", length, apply("isfinite", length), text="arange: cannot compute length")
    size = as_dim(size_of(cast(apply("cwise_max", length, 0), DTYPES["i64"])))
    at = iota(size, DTYPES["i64"] if whole else DTYPES["f64"])
    made = first + at * (by if whole else (first + by) - first)
    return Tensor(cast(made, element).value, boxed=True)


def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, retstep: bool = False, dtype: Any = None, axis: int = 0
) -> Any:
    """NumPy's linspace; the last element is `stop` itself."""
    with located():
        num = size_of(num)
        if not any(isinstance(v, (SymInt, Tensor)) for v in (start, stop, num)):
            found, step = np.linspace(start, stop, num, endpoint, retstep=True, dtype=dtype, axis=axis)
            made = tensor_of_array(found)
            return (made, float(step)) if retstep else made
        first, last = _inexact(start, stop)
        first, last = broadcast_together([first, last], "np.linspace")
        (size,) = _sizes(num)
        parts = num - 1 if endpoint else num
        few = table().decide(as_dim(parts), "<=", 0, "np.linspace")
        width = apply("sub", last, first)
        spread = apply("div", width, 1 if few else parts)
        places = iota(size, spread.element if spread.element.is_float else DTYPES["f64"])
        at = apply("reshape", places, dims=(size, *[dim(1)] * first.ndim))
        result = apply("add", apply("mul", at, spread), first)
        if endpoint and not few:
            result = apply("select", apply("equal", at, parts), last, result)
        if dtype is not None:
            element = element_named(dtype)
            result = cast(apply("floor", result) if element.is_integer else result, element)
        if axis % (first.ndim + 1):
            result = result.transpose(*_moved(first.ndim + 1, axis % (first.ndim + 1)))
        return (result, apply("div", width, parts)) if retstep else result


def _inexact(*values: Any) -> list[Tensor]:
    """Numbers as floats, or complex ones, of the dtype that they have together."""
    tensors = [as_tensor(v) for v in values]
    common = common_dtype(tensors)
    return [cast(t, common if common.is_float or common.is_complex else DTYPES["f64"]) for t in tensors]


def _moved(rank: int, to: int) -> list[int]:
    """The permutation that moves dim 0 to another place."""
    order = list(range(1, rank))
    order.insert(to, 0)
    return order


def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    """Powers of `base`, whose exponents are evenly spaced."""
    with located():
        result = apply("pow", base, linspace(start, stop, num, endpoint, axis=axis))
        return result if dtype is None else cast(result, element_named(dtype))


def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    """Numbers of one sign with a constant ratio; the first and last are `start` and `stop` themselves."""
    with located():
        (first, last, _), num = _inexact(start, stop, np.float64(0)), size_of(num)
        sign = apply("sign", first)
        low, high = (apply("log10", apply("abs", t)) for t in (first, last))
        result = apply("mul", apply("pow", 10.0, linspace(low, high, num, endpoint)), sign)
        number = iota(_sizes(num)[0])
        at = apply("reshape", number, dims=(number.dims[0], *[dim(1)] * (result.ndim - 1)))
        result = apply("select", apply("equal", at, 0), first, result)
        if endpoint:
            result = apply("select", apply("equal", at, num - 1), last, result)
        if axis % result.ndim:
            result = result.transpose(*_moved(result.ndim, axis % result.ndim))
        return result if dtype is None else cast(result, element_named(dtype))


def eye(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Tensor:
    """Ones on the diagonal `k` of an N by M matrix, zeros beside it."""
    return _ones_where("equal", N, M, k, dtype)


def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Tensor:
    """Ones on the diagonal `k` of an N by M matrix and below it."""
    return _ones_where("less_equal", N, M, k, dtype)


def _ones_where(relation: str, N: Any, M: Any, k: Any, dtype: Any) -> Tensor:
    """Ones where the column of an element has a relation to that of the diagonal `k` in its row."""
    with located():
        rows, columns = _sizes((N, N if M is None else M))
        down = apply("reshape", iota(rows), dims=(rows, dim(1)))
        hit = apply(relation, iota(columns), apply("add", down, _diagonal(k)))
        return Tensor(cast(hit, element_named(dtype or float)).value, boxed=True)


def _diagonal(k: Any) -> Any:
    """The number of a diagonal; all that are further away than any size are one, beyond the matrix."""
    return max(-(1 << 62), min(1 << 62, k)) if isinstance(k, int) else k


def identity(n: Any, dtype: Any = None) -> Tensor:
    """Ones on the diagonal of an n by n matrix, zeros beside it."""
    return eye(n, dtype=dtype)


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    """The index along each dim, of every element: stacked, or with `sparse` a tuple with dims of size 1."""
    with located():
        dims = _sizes(dimensions)
        element = element_named(dtype)
        along = [
            apply("reshape", iota(d, element), dims=tuple(d if i == at else dim(1) for i in range(len(dims))))
            for at, d in enumerate(dims)
        ]
        return tuple(along) if sparse else stack([broadcast_to(t, dims) for t in along])


def array(object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K", ndmin: int = 0) -> Tensor:
    """``np.array`` of tensors, numbers and nested lists of them."""
    with located():
        given = as_tensor(object)
        made = given if dtype is None else cast(given, element_named(dtype))
        is_array = isinstance(object, (Tensor, np.ndarray)) and (bool(given.ndim) or given.boxed)
        shares = is_array and made is given
        if copy is False and not shares:
            kind = given.user_type if is_array else type(object).__name__
            raise OpError(f"an array of {made.element} made of {kind} is a copy", "leave copy=False out", "TX0240")
        if copy or not shares:
            made = copied(made, order)
        elif order in ("C", "F"):
            made = _contiguous(made, order)
        return expand_dims(made, tuple(range(ndmin - made.ndim))) if made.ndim < ndmin else made


def asarray(a: Any, dtype: Any = None, order: Any = "K", *, copy: Any = None) -> Tensor:
    """``np.asarray`` and its kin, whose first argument has another name: an array of that dtype itself."""
    return array(a, dtype, copy=copy, order="K" if order is None else order)


def ascontiguousarray(a: Any, dtype: Any = None) -> Tensor:
    """An array of that dtype itself where it is row-major, else a copy; of rank 1 or more."""
    return array(a, dtype, copy=None, order="C", ndmin=1)


def asfortranarray(a: Any, dtype: Any = None) -> Tensor:
    """An array of that dtype itself where it is column-major, else a copy of that order; of rank 1 or more."""
    return array(a, dtype, copy=None, order="F", ndmin=1)


def require(a: Any, dtype: Any = None, requirements: Any = None) -> Tensor:
    """An array of that dtype, and of that order; every other requirement but ownership is met anyway."""
    long = {"C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "F_CONTIGUOUS": "F", "FORTRAN": "F", "ALIGNED": "A",
            "WRITEABLE": "W", "OWNDATA": "O", "ENSUREARRAY": "E"}  # fmt: skip
    wanted = {long.get(r.upper(), r.upper()) for r in requirements or ()}
    if not wanted <= {*"CFAWE"} or {"C", "F"} <= wanted:
        text = f"np.require does not take requirements={requirements!r} here"
        raise OpError(text, "it takes C or F, A, W and E; np.array makes an array with memory of its own", "TX0240")
    return array(a, dtype, copy=None, order="C" if "C" in wanted else "F" if "F" in wanted else "K")


def _contiguous(x: Tensor, order: str) -> Tensor:
    """`x` itself where it is contiguous in that order, else a copy that is."""
    if order == "C":
        return packed_or_copy(x, x, "np.ascontiguousarray")
    if is_in_columns(x):
        return x
    turned = transpose(x)
    return transpose(packed_or_copy(turned, turned, "np.asfortranarray"))
