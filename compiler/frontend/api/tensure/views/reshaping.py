"""Other shapes and orders of dims: the document's *Reshaping and permuting*, and `shift`.

They are views where moving nothing is enough: `permute`, `transpose` and `add_dimension` always, `reshape` of what is
packed in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ......dialects.dims.dims import Dim, dim
from ......dialects.registry import OpError
from .....diagnostics import located
from ....indexing.basic import view
from ....tensor.apply import apply
from ....tensor.methods import reshaping
from ....tensor.tensor import Tensor
from ....trace.context import current
from ..arguments import axis_of, depth_of, integer, shape_text, sizes_of, tensor
from ..storage import Tensure, wrapped

__all__ = ["add_dimension", "permute", "permute_", "reshape", "shift", "transpose"]


def reshape(a: Any, shape: Any) -> Tensor:
    """A tensor of f32 or f64 in another `shape` of as many elements, which keep their row-major order.

    A view, unless that order is not the order in memory, as after `transpose`: then new data.  TxcError for a shape of
    another number of elements, and for what is no shape.
    """
    with located():
        x = tensor(a, "reshape")
        sizes = sizes_of(shape, "reshape")
        depth = depth_of(x)
        made = reshaping.reshape(x, sizes)
        return made if made.is_view else wrapped(made, depth)


def _order(x: Tensor, axes: Any, name: str) -> tuple[int, ...]:
    if axes is None:  # As shapes, None is the list of a scalar's.
        axes = ()
    if not isinstance(axes, (list, tuple)):
        raise OpError(f"{name} takes a list of axes, not {axes!r}", code="TX0804")
    order = tuple(axis_of(a, x.ndim, name, x.shape) for a in axes)
    if sorted(order) != list(range(x.ndim)):
        raise OpError(
            f"{name}: {shape_text(order)} does not have each axis of shape {shape_text(x.shape)} once", code="TX0804"
        )
    return order


def permute(a: Any, axes: Any) -> Tensor:
    """A view of a tensor of f32 or f64, of any shape, whose dim ``i`` is dim ``axes[i]`` of `a`.

    TxcError where `axes` does not have each axis once.
    """
    with located():
        x = tensor(a, "permute")
        return reshaping.transpose(x, list(_order(x, axes, "permute"))) if x.ndim else x


def permute_(a: Any, axes: Any) -> Any:
    """Make dim ``i`` of `a`, of any shape, f32 or f64, what was its dim ``axes[i]``; `a`.

    Other views of the data stay as they are.  TxcError where `axes` does not have each axis once, and inside a traced
    function, whose arguments have the dims that the caller sees.
    """
    with located():
        x = tensor(a, "permute_")
        order = _order(x, axes, "permute_")
        if not isinstance(a, Tensure) or current() is not None:
            raise OpError("permute_ inside a compiled function", "permute returns a view: a = permute(a, …)", "TX0815")
        changed = reshaping.transpose(x, list(order)) if x.ndim else x
        assert isinstance(changed, Tensure)
        a.renamed(changed)
        return a


def transpose(a: Any) -> Tensor:
    """A view of a tensor of f32 or f64 with its dims in reverse order; a vector or scalar is its own.

    TxcError for no tensor.
    """
    with located():
        x = tensor(a, "transpose")
        return reshaping.transpose(x) if x.ndim > 1 else x


def add_dimension(a: Any, axis: Any = 0) -> Tensor:
    """A view of a tensor of f32 or f64 with one more dim, of size 1, at `axis`.

    TxcError for an axis that the result has not.
    """
    with located():
        x = tensor(a, "add_dimension")
        at = axis_of(axis, x.ndim + 1, "add_dimension", [*x.shape, 1])
        return reshaping.expand_dims(x, at)


def shift(a: Any, *amounts: Any) -> Tensor:
    """A new tensor of the shape and dtype (f32 or f64) of `a`: its elements moved, zeros where nothing moves to.

    ``shift(a, axis, amount)`` moves along one axis, ``shift(a, amounts)`` along all (those not given: by 0), and
    ``shift(a, axis, amounts)`` along those from `axis` on.  Positive amounts move up and left: element ``i`` of the
    result is element ``i + amount``.  TxcError for an axis that there is not, and for what are no integers.
    """
    with located():
        x = tensor(a, "shift")
        depth = depth_of(x)
        result = x
        for axis, amount in enumerate(_amounts(x, amounts)):
            if amount:
                result = _shifted(result, axis, amount)
        return wrapped(result, depth)


def _amounts(x: Tensor, given: Sequence[Any]) -> list[int]:
    if len(given) not in (1, 2) or (len(given) == 1 and not isinstance(given[0], (list, tuple))):
        raise OpError(
            f"shift takes an axis and an amount, or a list of amounts, not {len(given)} of other kinds", code="TX0813"
        )
    last = given[-1]
    listed = list(last) if isinstance(last, (list, tuple)) else [last]
    first = axis_of(given[0], x.ndim, "shift", x.shape) if len(given) == 2 else 0
    if first + len(listed) > x.ndim:
        raise OpError(
            f"shift: {len(listed)} amounts from axis {first} on are too many for shape {shape_text(x.shape)}",
            code="TX0813",
        )
    return [0] * first + [int(integer(n, "shift", "an amount")) for n in listed]


def _shifted(x: Tensor, axis: int, amount: int) -> Tensor:
    items: list[Any] = [slice(None)] * x.ndim
    items[axis] = slice(amount, None) if amount > 0 else slice(None, amount)
    kept = view(x, items)
    lost = x.dims[axis] - kept.dims[axis]
    pairs: list[tuple[Dim, Dim]] = [(dim(0), dim(0))] * x.ndim
    pairs[axis] = (dim(0), lost) if amount > 0 else (lost, dim(0))
    return apply("pad", kept, pairs=tuple(pairs))
