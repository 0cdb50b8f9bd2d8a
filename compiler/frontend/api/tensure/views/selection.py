"""Views of parts of tensors: the document's *Selection*."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ......dialects.registry import OpError
from .....diagnostics import located
from ....indexing import basic
from ....tensor.tensor import Tensor
from ....trace.context import table
from ....trace.symint import as_dim
from ..arguments import axis_of, integer, shape_text, tensor

__all__ = ["select_axis_range", "select_range", "selected", "submatrix"]

#: What the keywords select; `first` and `last` eliminate the dim.
_KEYWORDS: dict[str, Any] = {
    "first": 0, "last": -1, "all": slice(None), "butlast": slice(None, -1), "rest": slice(1, None),
}  # fmt: skip


def select_range(a: Any, *selections: Any) -> Tensor:
    """A view of a part of a tensor of f32 or f64, of any shape: one selection for each of its dims.

    A number selects one slice and eliminates the dim; ``[start, stop]`` the slices from `start` up to `stop`, and
    ``[start, stop, step]`` every `step`-th of them; ``"first"``, ``"last"``, ``"all"``, ``"butlast"``, ``"rest"`` what
    they say.  A range may end beyond the dim, which ends it; one that ends where it starts has one slice, as in the
    document.  TxcError for a number or a start that is not in the dim, and for what is no selection.
    """
    with located():
        return selected(tensor(a, "select_range"), selections, "select_range")


def select_axis_range(a: Any, axis: Any, selection: Any) -> Tensor:
    """A view of a part of a tensor of f32 or f64, of any shape: `selection` of dim `axis`, all of the others.

    Selections and errors are those of `select_range`; TxcError also for an axis that the tensor has not.
    """
    with located():
        x = tensor(a, "select_axis_range")
        at = axis_of(axis, x.ndim, "select_axis_range", x.shape)
        every: list[Any] = ["all"] * x.ndim
        every[at] = selection
        return selected(x, every, "select_axis_range")


def selected(x: Tensor, selections: Sequence[Any], name: str) -> Tensor:
    """The view that selections lead to.  OpError names the selection that leads nowhere."""
    if len(selections) != x.ndim:
        raise OpError(
            f"{name} takes one selection a dim: {x.ndim} for shape {shape_text(x.shape)}, not {len(selections)}",
            'write "all" for dims that stay as they are',
            "TX0813",
        )
    return basic.view(x, [_item(x, axis, s, name) for axis, s in enumerate(selections)])


def _item(x: Tensor, axis: int, selection: Any, name: str) -> Any:
    """An index of NumPy's kind for one dim."""
    if isinstance(selection, str):
        if selection not in _KEYWORDS:
            raise OpError(
                f"{name}: there is no selection {selection!r}", f"keywords are {', '.join(_KEYWORDS)}", "TX0813"
            )
        if selection in ("first", "last"):
            _inside(x, axis, 0, name)
        return _KEYWORDS[selection]
    if not isinstance(selection, (list, tuple)):
        at = integer(selection, name, "a selection")
        _inside(x, axis, at, name)
        return at
    if len(selection) not in (2, 3):
        raise OpError(f"{name}: a range is [start, stop] or [start, stop, step], not {selection!r}", code="TX0813")
    start, stop, *rest = [integer(s, name, "a bound of a range") for s in selection]
    step = int(rest[0]) if rest else 1
    facts = table()
    if step < 1 or facts.decide(as_dim(start), "<=", as_dim(stop), name) is False:
        raise OpError(
            f"{name}: the range {shape_text(selection)} leads nowhere",
            "it goes from start up to stop, by a step from 1",
            "TX0813",
        )
    _inside(x, axis, start, name)
    one = facts.decide(as_dim(start), "==", as_dim(stop), name)
    return slice(start, start + 1 if one else stop, step)


def _inside(x: Tensor, axis: int, at: Any, name: str) -> None:
    facts = table()
    place, size = as_dim(at), x.dims[axis]
    if facts.settle(0, "<=", place, name) is False or facts.settle(place, "<", size, name) is False:
        raise OpError(
            f"{name}: {facts.describe(place)} is not in dim {axis} of shape {shape_text(x.shape)}",
            f"it has {facts.describe(size)} slices, counted from 0",
            "TX0813",
        )


def submatrix(a: Any, *region: Any) -> Tensor:
    """A view of a region of a tensor of f32 or f64, of any shape, with as many dims.

    ``submatrix(a, dim, [start, length])`` takes a part of one dim; ``submatrix(a, [[start, length], …])`` of the first
    dims, all of one where its entry is None; ``submatrix(a, row_start, rows, column_start, columns)`` of the first two.
    A range that is longer than the dim ends with it.  TxcError for one that starts outside or has no length, and for
    other arguments.
    """
    with located():
        x = tensor(a, "submatrix")
        return basic.view(x, [_part(x, axis, r) for axis, r in enumerate(_ranges(x, region))])


def _ranges(x: Tensor, region: tuple[Any, ...]) -> list[Any]:
    """A range, or None, for each dim."""
    given: list[Any] = []
    if len(region) == 4:
        given = [region[:2], region[2:]]
    elif len(region) == 2:
        given = [None] * axis_of(region[0], x.ndim, "submatrix", x.shape) + [region[1]]
    elif len(region) == 1 and isinstance(region[0], (list, tuple)):
        given = list(region[0])
    else:
        raise OpError(
            f"submatrix takes a dim and a range, a list of ranges, or four numbers, not {region!r}",
            "a range is [start, length]",
            "TX0813",
        )
    if len(given) > x.ndim:
        raise OpError(f"submatrix: {len(given)} ranges for shape {shape_text(x.shape)}", code="TX0813")
    return given + [None] * (x.ndim - len(given))


def _part(x: Tensor, axis: int, given: Any) -> slice:
    if given is None:
        return slice(None)
    if not isinstance(given, (list, tuple)) or len(given) != 2:
        raise OpError(f"submatrix: a range is [start, length], not {given!r}", code="TX0813")
    start, length = [integer(g, "submatrix", "a range") for g in given]
    if table().settle(1, "<=", as_dim(length), "submatrix") is False:
        raise OpError(f"submatrix: the range {shape_text(given)} has no length", "a range is [start, length]", "TX0813")
    return _item(x, axis, [start, start + length], "submatrix")
