"""Other shapes and orders of dims: reshapes, permutations, broadcasts, diagonals and rolls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .....dialects.dims.dims import Dim, dim, maximum
from .....dialects.dims.index_map import product
from .....dialects.registry import OPS, OpError
from ...trace.context import current, table
from ...trace.symint import as_dim, is_integer, symint
from ..apply import apply
from ..broadcasting import broadcast_to, data_dependent_sizes
from ..tensor import Tensor
from ..views import view_or_copy

__all__ = [
    "axis_of", "broadcast", "diagonal", "diagonal_view", "expand_dims", "flatten", "moveaxis", "ravel", "repeat_rows",
    "reshape", "roll", "rolled", "squeeze", "swapaxes", "transpose", "window_sizes", "with_dims",
]  # fmt: skip


def with_dims(x: Tensor, dims: tuple[Dim, ...], layout: str = "row") -> Tensor:
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


def axis_of(a: Any, rank: int) -> int:
    number = int(a)
    if not -rank <= number < rank:
        raise OpError(f"axis {number} is out of range for rank {rank}", code="TX0103")
    return number % rank


def transpose(x: Tensor, *axes: Any) -> Tensor:
    order = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))) else axes
    if not order:
        order = range(x.ndim)[::-1]
    order = tuple(axis_of(a, x.ndim) for a in order)
    if order != tuple(range(x.ndim)):
        return apply("shuffle", x, permutation=order)
    return x if current() is None or not (x.ndim or x.boxed) else x._view(None, {})


def swapaxes(x: Tensor, axis1: int, axis2: int) -> Tensor:
    order = list(range(x.ndim))
    i, j = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order[i], order[j] = order[j], order[i]
    return transpose(x, order)


def moveaxis(x: Tensor, source: Any, destination: Any) -> Tensor:
    sources = [axis_of(a, x.ndim) for a in (source if isinstance(source, (tuple, list)) else [source])]
    targets = [axis_of(a, x.ndim) for a in (destination if isinstance(destination, (tuple, list)) else [destination])]
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
        dropped = [axis_of(a, x.ndim) for a in (axis if isinstance(axis, (tuple, list)) else [axis])]
        for i in dropped:
            facts.equate(x.dims[i], 1, "squeeze")
    x = _seen_as(x, [dim(1) if i in dropped else d for i, d in enumerate(x.dims)])
    return with_dims(x, tuple(d for i, d in enumerate(x.dims) if i not in dropped), x.layout)


def expand_dims(x: Tensor, axis: Any) -> Tensor:
    given = axis if isinstance(axis, (tuple, list)) else [axis]
    rank = x.ndim + len(given)
    at = {axis_of(a, rank) for a in given}
    if len(at) < len(given):
        raise OpError(f"expand_dims: an axis is named twice in {tuple(given)}", code="TX0103")
    rest = iter(x.dims)
    return with_dims(x, tuple(dim(1) if i in at else next(rest) for i in range(rank)), x.layout)


def ravel(x: Tensor, order: Any = "C") -> Tensor:
    if view_or_copy.in_order(x, order) == "F":
        x = transpose(x)
    return view_or_copy.packed_or_copy(x, apply("reshape", x, dims=(dim(-1),)), "ravel")


def flatten(x: Tensor, order: Any = "C") -> Tensor:
    if view_or_copy.in_order(x, order) == "F":
        x = transpose(x)
    return view_or_copy.copied(apply("reshape", x, dims=(dim(-1),)), "C")


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


def diagonal(x: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """NumPy's diagonal, a view that cannot be stored into."""
    if x.ndim < 2:
        raise OpError(f"diagonal takes two dims or more, not {x.user_type}", code="TX0103")
    if axis_of(axis1, x.ndim) == axis_of(axis2, x.ndim):
        raise OpError(f"diagonal takes two different axes, not {axis1} and {axis2}", code="TX0103")
    return view_or_copy.read_only(diagonal_view(x, axis1, axis2, offset), "diagonal")


def diagonal_view(x: Tensor, axis1: int, axis2: int, offset: int = 0) -> Tensor:
    """The same as a view that stores go through, as einsum gives it."""
    return apply("diagonal", moveaxis(x, (axis1, axis2), (0, 1)), offset=offset)


def repeat_rows(x: Tensor, repeats: Any, axis: int) -> Tensor:
    """NumPy's repeat with one number for all."""
    wide = expand_dims(x, axis + 1)
    target = [*wide.dims]
    target[axis + 1] = as_dim(repeats)
    merged = [*x.dims]
    merged[axis] = merged[axis] * as_dim(repeats)
    return with_dims(broadcast_to(wide, tuple(target), x.layout), tuple(merged), x.layout)


def window_sizes(x: Tensor) -> tuple[Any, ...]:
    """The dims of a convolution's kernel: numbers where they are known in this call, as facts of the version."""
    return tuple(s if isinstance(s, int) or table().hint(s.dim) is None else int(s) for s in x.shape)
