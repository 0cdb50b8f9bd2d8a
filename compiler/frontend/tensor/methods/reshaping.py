"""Methods whose arguments are NumPy's, or that are more than one op: everything else comes from the registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....dialects.dims.dims import Dim, dim, maximum
from ....dialects.dims.index_map import product
from ....dialects.registry import OPS, OpError, Reduction, axes
from ....dialects.types import DType, dtype
from ..indexing.unmasked import whole_of
from ..lazy import evaluate
from ..numpy.complex_order import EXTREMES, extreme_of
from ..numpy.out_arrays import into, into_read, reduced_as
from ..scalars.python_numbers import as_float, as_int
from ..trace.context import current, table
from ..trace.symint import as_dim, is_integer, symint
from . import assignment, tensor_format, view_or_copy
from .apply import apply, as_tensor
from .broadcasting import broadcast_to, data_dependent_sizes
from .composite_views import concatenate
from .filling import FILLING
from .promotion import accumulator_dtype, cast, truth
from .tensor import Tensor

__all__ = [
    "METHODS",
    "broadcast",
    "element_named",
    "expand_dims",
    "moveaxis",
    "reduce",
    "reshape",
    "scan",
    "squeeze",
    "transpose",
]


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
            x, where = _masked(name, x, _reshaped(mask, (mask.dims[0], *[dim(1)] * (x.ndim - 1))), None)
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
        results = tuple(_reshaped(r, tuple(kept), x.layout) for r in results)
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


def element_named(spec: Any) -> DType:
    """An element type as the user gives it.  OpError for what is none, and for texts that NumPy reads otherwise."""
    if isinstance(spec, str) and spec in ("i8", "u8"):
        kind = "int" if spec == "i8" else "uint"
        hint = f"pass np.{kind}8 or np.{kind}64"
        raise OpError(f"{spec!r} is of 8 bits in txc's names and of 8 bytes in NumPy's", hint, "TX0205")
    try:
        return dtype(spec)
    except TypeError as error:
        raise OpError(str(error), code="TX0205") from error


def _reduction(name: str) -> Any:
    def method(self: Tensor, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        return reduce(name, self, axis, *args, **kwargs)

    return method


def _reshaped(x: Tensor, dims: tuple[Dim, ...], layout: str = "row") -> Tensor:
    """`x` under other dims of the same number of elements, as a view."""
    if x.dims == dims:
        return x
    if layout == "col" and x.layout != "col":
        x = Tensor(x.value, layout="col")
    return apply("reshape", x, dims=dims)


def reshape(x: Tensor, *shape: Any, order: Any = None, dims: Any = None, copy: Any = None) -> Tensor:
    """NumPy's (or, for a column-major tensor, Eigen's) reshape; one size may be -1."""
    order = view_or_copy.in_order(x, order)
    if dims is not None:
        shape = (dims,)
    if order == "F":
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        sizes = tuple(sizes)[::-1] if isinstance(sizes, (tuple, list)) else (sizes,)
        return transpose(reshape(transpose(x), sizes, copy=copy))
    sizes = shape[0] if len(shape) == 1 and not is_integer(shape[0]) and not isinstance(shape[0], Dim) else shape
    wanted = [as_dim(data_dependent_sizes().size_of(s)) for s in sizes]
    facts = table()
    wanted = [facts.resolve(d) for d in wanted]
    trace = current()
    known = product([d for d in wanted if d.const != -1])
    if trace is not None and trace.is_bound(known) and sum(d.const == -1 for d in wanted) == 1:
        rest = data_dependent_sizes().quotient(trace, x.type.size, known)
        wanted = [rest if d.const == -1 else d for d in wanted]
    total = product(wanted)
    if all(d.const != -1 for d in wanted) and (total - x.type.size).const is None:
        if trace is not None and (trace.is_bound(total) or trace.is_bound(x.type.size)):
            x = data_dependent_sizes().stored(ravel(x), (total,), _NO_SUCH_SHAPE, ones=False)
        try:
            facts.equate(total, x.type.size, "reshape")
        except OpError as error:
            text = f"cannot reshape {x.user_type} to ({', '.join(map(str, wanted))})"
            raise OpError(text, f"{x.type.size} elements do not make {total}", "TX0122") from error
    x = _check_rest(x, wanted)
    if view_or_copy.is_number(x) and not wanted and not x.weak:
        return x
    view = apply("reshape", x, dims=tuple(wanted))
    return view_or_copy.copied(view, "C") if copy else view_or_copy.reshaped(x, view, must_share=copy is False)


_NO_SUCH_SHAPE = "cannot reshape an array to a shape of another number of elements"


def _check_rest(x: Tensor, wanted: Sequence[Dim]) -> Tensor:
    """`x`; refuse a size -1 where the others do not divide the number of elements, in the call where it says that."""
    known = product([d for d in wanted if d.const != -1])
    if len(wanted) > 1 and any(d.const == -1 for d in wanted) and known.const != 0:
        rest = x.type.size % known
        divides = rest.const is not None or table().settle(rest, "==", dim(0), "reshape")
        if divides is False:
            text = f"cannot reshape {x.user_type} to ({', '.join(map(str, wanted))})"
            raise OpError(text, f"{x.type.size} elements are no multiple of {known}", "TX0122")
        if divides is None:
            return apply("require", x, apply("equal", symint(rest), 0), text=_NO_SUCH_SHAPE)
    return x


def transpose(x: Tensor, *axes: Any) -> Tensor:
    order = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))) else axes
    if not order:
        order = range(x.ndim)[::-1]
    order = tuple(_axis(a, x.ndim) for a in order)
    if order != tuple(range(x.ndim)):
        return apply("shuffle", x, permutation=order)
    return x if current() is None or not (x.ndim or x.boxed) else x._view(None, {})


def conjugate(x: Tensor) -> Tensor:
    """NumPy's method, which gives an array of real numbers itself."""
    return apply("conjugate", x) if x.element.is_complex or not (x.ndim or x.boxed) else x


def _axis(a: Any, rank: int) -> int:
    number = int(a)
    if not -rank <= number < rank:
        raise OpError(f"axis {number} is out of range for rank {rank}", code="TX0103")
    return number % rank


def swapaxes(x: Tensor, axis1: int, axis2: int) -> Tensor:
    order = list(range(x.ndim))
    i, j = _axis(axis1, x.ndim), _axis(axis2, x.ndim)
    order[i], order[j] = order[j], order[i]
    return transpose(x, order)


def moveaxis(x: Tensor, source: Any, destination: Any) -> Tensor:
    sources = [_axis(a, x.ndim) for a in (source if isinstance(source, (tuple, list)) else [source])]
    targets = [_axis(a, x.ndim) for a in (destination if isinstance(destination, (tuple, list)) else [destination])]
    order = [i for i in range(x.ndim) if i not in sources]
    for target, origin in sorted(zip(targets, sources)):
        order.insert(target, origin)
    return transpose(x, order)


def _seen_as(x: Tensor, dims: Sequence[Dim]) -> Tensor:
    """A view of all of `x` under other names of its dims, which are equal to them by facts."""
    facts = table()
    dims = tuple(facts.resolve(d) for d in dims)
    return x if x.dims == dims else apply("slice", x, offsets=(dim(0),) * x.ndim, extents=dims)


def squeeze(x: Tensor, axis: Any = None, dims: Any = None) -> Tensor:
    axis = dims if axis is None else axis
    facts = table()
    if axis is None:
        for d in x.dims:
            if facts.varies(facts.resolve(d)):
                text = f"the rank of what squeeze leaves of {x.user_type}, one of whose sizes may be 1 or not"
                raise OpError(text, "say which axis is squeezed, or leave it out", "TX0252")
        dropped = [i for i, d in enumerate(x.dims) if facts.is_one(d, "squeeze asks")]
    else:
        dropped = [_axis(a, x.ndim) for a in (axis if isinstance(axis, (tuple, list)) else [axis])]
        for i in dropped:
            facts.equate(x.dims[i], 1, "squeeze")
    x = _seen_as(x, [dim(1) if i in dropped else d for i, d in enumerate(x.dims)])
    return _reshaped(x, tuple(d for i, d in enumerate(x.dims) if i not in dropped), x.layout)


def expand_dims(x: Tensor, axis: Any) -> Tensor:
    given = axis if isinstance(axis, (tuple, list)) else [axis]
    rank = x.ndim + len(given)
    at = {_axis(a, rank) for a in given}
    if len(at) < len(given):
        raise OpError(f"expand_dims: an axis is named twice in {tuple(given)}", code="TX0103")
    rest = iter(x.dims)
    return _reshaped(x, tuple(dim(1) if i in at else next(rest) for i in range(rank)), x.layout)


def ravel(x: Tensor, order: Any = "C") -> Tensor:
    if view_or_copy.in_order(x, order) == "F":
        x = transpose(x)
    return view_or_copy.packed_or_copy(x, apply("reshape", x, dims=(dim(-1),)), "ravel")


def flatten(x: Tensor, order: Any = "C") -> Tensor:
    if view_or_copy.in_order(x, order) == "F":
        x = transpose(x)
    return view_or_copy.copied(apply("reshape", x, dims=(dim(-1),)), "C")


def copy(x: Tensor, order: Any = "C") -> Tensor:
    """The same value with storage of its own; numbers have none."""
    return x if view_or_copy.is_number(x) else view_or_copy.copied(x, order)


def view(x: Tensor, dtype: Any = None) -> Tensor:
    """All of it under another name, which may get another shape, or see integers of the same width in the same bits."""
    if dtype is not None and (element := element_named(dtype)) is not x.element:
        if not element.is_integer or not (x.element.is_integer or x.element.kind == "bool"):
            raise _no_view(x, dtype)
        if element.bytes != x.element.bytes:
            raise _no_view(x, dtype)
        return cast(x, element) if view_or_copy.is_number(x) else x.functions.BitsView(x, element)
    return x if view_or_copy.is_number(x) else x._view(None, {})


def _no_view(x: Tensor, dtype: Any) -> OpError:
    text = f"view of {x.user_type} as {dtype!r} is not supported"
    return OpError(text, "astype converts the numbers", "TX0240")


def astype(
    x: Tensor, dtype: Any, order: Any = None, casting: str = "unsafe", subok: Any = None, copy: Any = None
) -> Tensor:
    element = checked_cast(x, element_named(dtype), casting)
    if view_or_copy.is_number(x):
        return cast(x, element)
    if copy is not None and not copy and element is x.element and not x.weak and order in (None, "K"):
        return x
    return view_or_copy.copied(cast(x, element), "K" if order is None else order)


def checked_cast(x: Tensor, element: DType, casting: str) -> DType:
    """`element`, where NumPy's rule `casting` lets `x` become it; else OpError."""
    try:
        allowed = np.can_cast(x.element.numpy, element.numpy, casting)  # pyright: ignore[reportArgumentType]
    except ValueError as error:
        raise OpError(str(error), code="TX0240") from error
    if not allowed:
        raise OpError(f"casting {x.element} to {element} is not {casting!r}", 'casting="unsafe" allows it', "TX0222")
    return element


def broadcast(x: Tensor, shape: Any) -> Tensor:
    """NumPy's broadcast_to."""
    target = [as_dim(s) for s in (shape if isinstance(shape, (tuple, list)) else [shape])]
    facts = table()
    target = [facts.resolve(d) for d in target]
    for i, d in enumerate(x.dims, len(target) - x.ndim):
        if i < 0:
            raise OpError(f"cannot broadcast {x.user_type} to fewer dims {tuple(target)}", code="TX0124")
        if facts.resolve(d) is not facts.resolve(target[i]) and not facts.is_one(d):
            facts.equate(d, target[i], "broadcast_to")
    dims = tuple(facts.resolve(d) for d in target)
    last = dims[len(dims) - x.ndim :]
    x = _seen_as(x, [b if facts.resolve(a) is b or not facts.is_one(a) else dim(1) for a, b in zip(x.dims, last)])
    if x.layout == "col" and x.ndim != len(dims):
        return broadcast_to(x, dims, x.layout)
    return Tensor.view_of(x, OPS["expand"], {"dims": dims})


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


#: The ufunc that np.clip is.
_CLIP = np._core.umath.clip  # pyright: ignore[reportAttributeAccessIssue]


def clip(x: Tensor, min: Any = None, max: Any = None, out: Any = None, lo: Any = None, hi: Any = None) -> Any:
    lo, hi = lo if min is None else min, hi if max is None else max
    if lo is None and hi is None:
        return into(out, apply("positive", x), np.positive, broadcasts=True)
    f = np.maximum if hi is None else np.minimum if lo is None else _CLIP
    if lo is None or hi is None:
        name = "cwise_max_propagate" if hi is None else "cwise_min_propagate"
        result = apply(name, x, lo if hi is None else hi)
    else:
        bools = all(as_tensor(t).element.kind == "bool" for t in (x, lo, hi))
        within = apply("cwise_max_propagate", x, lo) if bools else x
        result = apply("cwise_min_propagate", within, hi) if bools else apply("clip", x, lo, hi)
    return into(out, result, f, broadcasts=True)


def roll(x: Tensor, shifts: Any) -> Tensor:
    """Eigen's roll: element ``i`` of the result is element ``i + shift``, around the end; one shift a dim."""
    return rolled(x, {axis: -int(shift) for axis, shift in enumerate(shifts)})


def rolled(x: Tensor, shifts: Mapping[int, int]) -> Tensor:
    """NumPy's roll along some axes: its end, then its start, as far as a shift reaches around the extent.

    Parts are rolled along the other axes before they are put together, so that each is stored once.
    """
    if not any(shifts.values()):
        return x
    (axis, shift), *others = ((axis, shift) for axis, shift in shifts.items() if shift)
    extent = x.dims[axis]
    start = dim(-shift) % maximum(1, extent)

    def part(offset: Dim, size: Dim) -> Tensor:
        offsets, extents = [dim(0)] * x.ndim, list(x.dims)
        offsets[axis], extents[axis] = offset, size
        return rolled(apply("slice", x, offsets=tuple(offsets), extents=tuple(extents)), dict(others))

    return apply("concatenate", part(start, extent - start), part(dim(0), start), axis=axis)


def fill(x: Tensor, value: Any) -> None:
    x[...] = value


def trace(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dims: Any = None) -> Any:
    """The sum of a diagonal: NumPy's arguments, or Eigen's `dims`, two or more of one size."""
    if x.layout == "col" and x.ndim > 1:
        first, second, *others = (x.ndim - 1 - _axis(d, x.ndim) for d in (axis1, axis2, *(dims or ())))
        return trace(x.swap_layout(), offset, first, second, dims=None if dims is None else others).swap_layout()
    if dims is None:
        front = moveaxis(x, (axis1, axis2), (0, 1))
        return reduce("sum", apply("diagonal", front, offset=offset), -1)
    along = [_axis(d, x.ndim) for d in dims]
    for d in along[1:]:
        table().equate(x.dims[along[0]], x.dims[d], "trace")
    rest = moveaxis(x, along, list(range(len(along))))
    while len(along) > 1:
        # The diagonal of the first two comes last: it is the first of those that are left.
        rest, along = moveaxis(apply("diagonal", rest), -1, 0), along[1:]
    return reduce("sum", rest, 0)


def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """NumPy's diagonal, a view that cannot be stored into."""
    if x.ndim < 2:
        raise OpError(f"diagonal takes two dims or more, not {x.user_type}", code="TX0103")
    if _axis(axis1, x.ndim) == _axis(axis2, x.ndim):
        raise OpError(f"diagonal takes two different axes, not {axis1} and {axis2}", code="TX0103")
    return view_or_copy.read_only(diagonal_view(x, axis1, axis2, offset), "diagonal")


def diagonal_view(x: Tensor, axis1: int, axis2: int, offset: int = 0) -> Tensor:
    """The same as a view that stores go through, as einsum gives it."""
    return apply("diagonal", moveaxis(x, (axis1, axis2), (0, 1)), offset=offset)


def item(x: Tensor, *at: Any) -> Any:
    """The element of an array that has one, or the one at a place, as a number of Python's.

    The place is an index for each dim, a tuple of such, or the number of the element in row-major order.
    """
    if at:
        place = at[0] if len(at) == 1 else at
        return item(x[place] if isinstance(place, tuple) else ravel(x)[place])
    trace = current()
    if not x.ndim:
        if trace is None or x.weak:
            return x
        if x.element.kind == "bool":
            return Tensor(x.value, weak="bool")
        if x.element.is_complex:
            return Tensor(cast(x, dtype("c128")).value, weak="complex")
        return as_int(x) if x.element.is_integer else as_float(x)
    if trace is not None and trace.is_bound(x.type.size):
        one = data_dependent_sizes().stored(
            ravel(x), (dim(1),), "can only convert an array of size 1 to a Python scalar", ones=False
        )
        return item(_reshaped(one, ()))
    if all(table().decide(d, "==", 1, "item() of one element") for d in x.dims):
        return item(_reshaped(x, ()))
    raise OpError(f"item() takes a tensor of one element, not {x.user_type}", code="TX0242")


def repeat_rows(x: Tensor, repeats: Any, axis: int) -> Tensor:
    """NumPy's repeat with one number for all."""
    wide = expand_dims(x, axis + 1)
    target = [*wide.dims]
    target[axis + 1] = as_dim(repeats)
    merged = [*x.dims]
    merged[axis] = merged[axis] * as_dim(repeats)
    return _reshaped(broadcast_to(wide, tuple(target), x.layout), tuple(merged), x.layout)


def window_sizes(x: Tensor) -> tuple[Any, ...]:
    """The dims of a convolution's kernel: numbers where they are known in this call, as facts of the version."""
    return tuple(s if isinstance(s, int) or table().hint(s.dim) is None else int(s) for s in x.shape)


def evaluated(x: Tensor, device: Any = None) -> Tensor:
    """Eigen's eval: an operation that materialises a temporary; with a device, a tensor computed there, now."""
    return apply("eval", x) if device is None else evaluate.evaluated(x, device)


def evaluated_in_background(x: Tensor, device: Any = None, done: Any = None) -> Any:
    """A future of the tensor that `eval` with that device gives; `done` is called with it first."""
    value = x.snapshot()
    return evaluate.evaluate_async(lambda: evaluate.evaluated(value, device or "cpu"), device, done)


def on(x: Tensor, device: Any = None, done: Any = None) -> Any:
    """``x.on(device)[...] = expression``: see `assignment.Target`."""
    return assignment.Target(x, device, done)


METHODS: dict[str, Any] = {
    name: _reduction(name)
    for name in ("sum", "prod", "mean", "all", "any", "argmax", "argmin", "maximum", "minimum")
} | {
    "max": _reduction("maximum"), "min": _reduction("minimum"), "reshape": reshape, "transpose": transpose,
    "swapaxes": swapaxes, "squeeze": squeeze, "ravel": ravel, "flatten": flatten, "copy": copy, "astype": astype,
    "count": count, "var": variance, "std": deviation, "clip": clip, "roll": roll, "fill": fill,
    "trace": trace, "window_sizes": window_sizes, "item": item, "eval": evaluated, "cast": astype,
    "concatenate": concatenate,
    "eval_async": evaluated_in_background, "on": on, "format": tensor_format.text, "view": view,
    "diagonal": diagonal, "conjugate": conjugate, "conj": conjugate,
} | FILLING  # fmt: skip
