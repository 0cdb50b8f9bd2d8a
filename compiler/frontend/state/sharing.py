"""Arrays made in a branch or an iteration that several places refer to: how these share behind the `if` or loop.

What a place holds behind it is a result, an array of its own.  Where two places held one array, or a view of it, that
is not what Python has: a store into one is seen in the other.  Of the places that share, the first whose array is no
view keeps the storage.  Another one is

* the same array where both places held one array wherever they come from
* a view of that array where it was one, by one index map, on each side where it is there
* else as good as a copy while neither of the two is stored into (`PerhapsOfOthers`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....dialects.dims.index_map import dims_in
from ....dialects.registry import Op
from ..tensor.tensor import Tensor
from ..tensor.views.composite_views import roots
from ..trace.context import table
from .alternatives.choice import PerhapsOfOthers

__all__ = ["NOWHERE", "Ends", "is_array", "shared_again"]


class _Nowhere:
    """What a place holds at the end of a side behind which it is not there."""

    def __repr__(self) -> str:
        return "nowhere"


NOWHERE = _Nowhere()
#: What a place holds at the end of each side: an array that came to be there, NOWHERE, or None for anything else.
Ends = Sequence[Any]


def is_array(value: Any) -> bool:
    """Whether a value is an array that can be stored into, no number."""
    return isinstance(value, Tensor) and bool(value.ndim or value.boxed)


def shared_again(ends: Sequence[Ends], results: list[Any], names: Sequence[str], hint: str) -> None:
    """Replace those of `results` that share with others by what they are, by what each place held at the `ends`."""
    rooted = [[list(roots(x)) if isinstance(x, Tensor) else [] for x in sides] for sides in ends]
    plain = [
        all(x is NOWHERE or (x is not None and [*map(id, of)] == [id(x)]) for x, of in zip(*both))
        for both in zip(ends, rooted)
    ]
    before: list[int] = []
    # A place of one side can be one of both, which cannot be one of one side.
    for i in sorted(range(len(ends)), key=lambda i: (any(x is NOWHERE for x in ends[i]), not plain[i])):
        if is_array(results[i]) and any(isinstance(x, Tensor) for x in ends[i]):
            peers = [k for k in before if any(_meet(a, b) for a, b in zip(rooted[i], rooted[k]))]
            if peers:
                results[i] = _again(i, peers, ends, results, names[i], hint)
            before.append(i)


def _meet(some: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    return any(a is b for a in some for b in others)


def _again(i: int, peers: list[int], ends: Sequence[Ends], results: Sequence[Any], name: str, hint: str) -> Tensor:
    for k in peers:
        if all(a is NOWHERE or (a is not None and a is b) for a, b in zip(ends[i], ends[k])):
            return results[k]
    for k in peers:
        view = _as_view(ends[i], ends[k], results[k])
        if view is not None:
            return view
    what = "an array that another variable refers to as well"
    return PerhapsOfOthers(name, what, results[i], [results[k] for k in peers], hint)


def _as_view(views: Ends, bases: Ends, base: Tensor) -> Tensor | None:
    """What is on `base` that all `views` are on all `bases`, if that is one thing."""
    paths: list[list[tuple[type[Op] | None, dict[str, Any]]]] = []
    for view, of in zip(views, bases):
        if view is NOWHERE:
            continue
        path: list[tuple[type[Op] | None, dict[str, Any]]] = []
        at = view
        while at is not None and at is not of and at._parent is not None:
            path.append((at._op, at.view_attrs))
            at = at._parent
        if at is None or at is not of:
            return None
        paths.append(path[::-1])
    first = paths[0]
    facts = table()
    known = all(facts.knows(d) for _, attrs in first for d in dims_in(attrs))
    if any(path != first for path in paths[1:]) or not known:
        return None
    made = base
    for op, attrs in first:
        made = made._view(op, attrs)
    return made
