"""Shapes and layouts of operands: which layout is theirs, NumPy's broadcasting, and sizes that have to be equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....dialects.dims.dims import Dim, dim
from ....dialects.registry import OPS, Op, OpError
from ..trace.context import table
from ..trace.emit import emit, once
from .tensor import Tensor

__all__ = [
    "broadcast_to", "broadcast_together", "common_dims", "common_layout", "data_dependent_sizes", "equally_long",
    "meet", "seen_as",
]  # fmt: skip


def common_layout(op: type[Op], tensors: Sequence[Tensor]) -> str:
    """The one layout of the operands; OpError where two layouts meet.

    Tensors of rank 1 go with both; where there are no others, one that is column-major decides.
    """
    found = [t for t in tensors if t.ndim > 1]
    for t in found:
        if t.layout != found[0].layout:
            odd = next(x for x in found if x.layout == "col")
            raise OpError(
                f"{op.name} mixes layouts: {', '.join(f'{x.user_type} {x.layout}' for x in tensors)}",
                f"put .swap_layout() on the operand {odd.user_type} of layout col, or .swap_layout().shuffle(…) "
                "where its dims must keep their order",
                "TX0210",
            )
    if found:
        return found[0].layout
    return "col" if any(t.ndim and t.layout == "col" for t in tensors) else "row"


def equally_long(
    a: Tensor, i: int, b: Tensor, j: int, text: str, error: str = "ValueError", why: str = ""
) -> tuple[Tensor, Tensor]:
    """Two tensors of which dims `i` and `j` have one size, as the function demands of its arguments: `why`.

    Where values decide a size, a call in which the other one differs raises the error of this `text`.
    """
    a, b = data_dependent_sizes().as_long(a, i, b, j, text, error)
    table().equate(a.dims[i], b.dims[j], why or text)
    return a, b


def seen_as(t: Tensor, dims: tuple[Dim, ...]) -> Tensor:
    """`t` with other names of its dims, which are equal to them by guards that could not be solved for a symbol."""
    if t.dims == dims:
        return t
    order = dims[::-1] if t.layout == "col" else dims
    (v,) = emit(OPS["slice"], (t.value,), {"offsets": (dim(0),) * len(order), "extents": order})
    return Tensor(v, layout=t.layout)


def meet(a: Dim, b: Dim) -> Dim:
    """The size of two broadcast dims."""
    facts = table()
    a, b = facts.resolve(a), facts.resolve(b)
    if a is b or b.const == 1:
        return a
    if a.const == 1:
        return b
    hint_a, hint_b = facts.hint(a), facts.hint(b)
    # Two dims that are both 1 in this call are better made equal than both fixed to 1.
    if hint_a != hint_b and hint_a == 1 and facts.is_one(a):
        return b
    if hint_a != hint_b and hint_b == 1 and facts.is_one(b):
        return a
    met = data_dependent_sizes().met(a, b)
    if met is not None:
        return met
    if hint_a != hint_b:  # an error of calls in which neither is 1
        facts.is_one(a)
        facts.is_one(b)
    return facts.equate(a, b, "broadcasting")


def data_dependent_sizes() -> Any:
    """The module of sizes that values decide, which needs this one."""
    return Tensor.functions.data_dependent_sizes


def broadcast_together(tensors: Sequence[Tensor], what: str, layout: str = "row") -> list[Tensor]:
    """All operands at their common shape (NumPy's rules, in the user's dims); OpError where there is none."""
    if all(t.dims == tensors[0].dims for t in tensors[1:]):
        return list(tensors)
    target = common_dims(tensors, what)
    return [broadcast_to(t, target, layout) for t in tensors]


def common_dims(tensors: Sequence[Tensor], what: str) -> tuple[Dim, ...]:
    """The dims to which all operands of `what` broadcast; OpError where there are none."""
    rank = max(t.ndim for t in tensors)
    dims: list[Dim] = [dim(1)] * rank
    try:
        for t in tensors:
            for i, d in enumerate(t.dims, rank - t.ndim):
                dims[i] = meet(dims[i], d)
    except OpError as error:
        shapes = " and ".join(str(t.user_type) for t in tensors)
        raise OpError(f"{what} cannot broadcast {shapes}: {error.message}", error.hint, "TX0211") from error
    facts = table()
    return tuple(facts.resolve(d) for d in dims)


def broadcast_to(t: Tensor, dims: tuple[Dim, ...], layout: str = "row") -> Tensor:
    """`t` expanded to dims that it is known to broadcast to; as a value, not an assignable view."""
    facts = table()
    have = t.dims
    if have == dims:
        return t
    if len(have) <= len(dims):
        t = data_dependent_sizes().repeated(t, dims[len(dims) - len(have) :])
        have = t.dims
        # What a fact makes 1 may have no symbol to solve it for, as min(n, m): the dim is seen as 1 from here on.
        last = dims[len(dims) - len(have) :]
        t = seen_as(t, tuple(b if facts.resolve(a) is b or not facts.is_one(a) else dim(1) for a, b in zip(have, last)))
        have = t.dims
    v = t.value
    if layout == "col" and 0 < t.ndim < len(dims):
        ones = (dim(1),) * (len(dims) - t.ndim) + have
        (v,) = emit(OPS["reshape"], (v,), {"dims": ones[::-1]})
        have = ones
    if have != dims:
        target = dims[::-1] if layout == "col" else dims
        v = once((v, target), lambda: emit(OPS["expand"], (v,), {"dims": target})[0])
    return Tensor(v, layout=layout)
