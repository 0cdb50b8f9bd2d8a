"""Tensure's broadcasting: of whole tensors, to the shape of the larger one.

The smaller shape is laid against the larger one, right ends together, and shifted left until each of its sizes is 1 or
the one that it meets; ones on both sides make up for the rest.  The source is the Tensure document, *Broadcasting*.

In a traced function the sizes that decide are facts.  Where declared types leave open which alignment fits, the one
that they prove is taken, and arguments for which another comes first are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ......dialects.dims.dims import Dim, dim
from ......dialects.registry import OpError
from .....diagnostics import located
from ....tensor.apply import apply
from ....tensor.broadcasting import broadcast_to
from ....tensor.tensor import Tensor
from ....trace.context import table
from ....trace.symint import as_dim
from ..arguments import depth_of, shape_text, sizes_of, tensor
from ..storage import wrapped

__all__ = ["broadcast", "broadcast_like", "expanded", "fitted", "matched"]

_WHY = "Tensure's broadcasting asks"


def _meet(source: Dim, target: Dim) -> bool | None:
    """Whether a size is 1 or the other's; None where declared types do not tell."""
    facts = table()
    source, target = facts.resolve(source), facts.resolve(target)
    if source is target or source.const == 1:
        return True
    same = facts.decide(source, "==", target, _WHY)
    return facts.is_one(source, _WHY) if same is False else same


def _alignment(source: Sequence[Dim], target: Sequence[Dim]) -> int | None:
    """How far left of the right end the source fits; None where it does not."""
    facts = table()
    open_pairs: list[tuple[int, list[tuple[Dim, Dim]]]] = []
    for shift in range(len(target) - len(source) + 1):
        first = len(target) - len(source) - shift
        pairs = list(zip(source, target[first:]))
        verdicts = [_meet(s, t) for s, t in pairs]
        if False in verdicts:
            continue
        if None not in verdicts:
            for _, earlier in open_pairs:
                facts.settle(earlier[0][0], "!=", earlier[0][1], _WHY)
            return shift
        open_pairs.append((shift, [p for p, v in zip(pairs, verdicts) if v is None]))
    if not open_pairs:
        return None
    shift, pairs = open_pairs[0]
    for s, t in pairs:
        facts.settle(s, "==", t, _WHY)
    return shift


def fitted(x: Tensor, dims: Sequence[Dim]) -> Tensor | None:
    """`x` with dims of size 1 on both sides, so that NumPy's rule takes it to `dims`; None where nothing does."""
    own = x.dims
    if not own or own == dims:
        return x
    shift = _alignment(own, dims)
    if shift is None:
        return None
    if shift == 0:
        return x
    left = len(dims) - x.ndim - shift
    return apply("reshape", x, dims=(dim(1),) * left + own + (dim(1),) * shift)


def matched(a: Tensor, b: Tensor, name: str) -> tuple[Tensor, Tensor]:
    """Both operands, the smaller one fitted to the larger.  OpError where neither broadcasts to the other."""
    for source, target in ((a, b), (b, a)):
        found = fitted(source, target.dims)
        if found is not None:
            return (found, b) if source is a else (a, found)
    raise OpError(
        f"{name}: shapes {shape_text(a.shape)} and {shape_text(b.shape)} do not broadcast to one another",
        "one of them is the shape of the result; reshape the other, such as [2] to [2 1]",
        "TX0810",
    )


def expanded(x: Tensor, dims: Sequence[Dim], name: str) -> Tensor:
    """`x` at `dims`.  OpError where it does not broadcast to them."""
    found = fitted(x, dims)
    if found is None:
        raise OpError(
            f"{name}: shape {shape_text(x.shape)} does not broadcast to {shape_text(dims)}",
            "each of its sizes must be 1 or equal the one that it meets, right ends together or shifted left",
            "TX0810",
        )
    return broadcast_to(found, tuple(table().resolve(d) for d in dims))


def broadcast(source: Any, shape: Any) -> Tensor:
    """A new tensor: `source`, any shape, repeated to `shape`.  f32 or f64, as it is.

    TxcError where Tensure's rule finds no alignment (``[1 2]`` to ``[2 3]``), and for what is no tensor or shape.
    """
    with located():
        x = tensor(source, "broadcast")
        depth = depth_of(x)
        return wrapped(expanded(x, [as_dim(s) for s in sizes_of(shape, "broadcast")], "broadcast"), depth)


def broadcast_like(source: Any, target: Any) -> Tensor:
    """A new tensor: `source`, any shape, repeated to the shape of the tensor `target`.  The dtype is that of `source`.

    TxcError where Tensure's rule finds no alignment, and for what is no tensor.
    """
    with located():
        x, like = tensor(source, "broadcast_like"), tensor(target, "broadcast_like", 1)
        depth = depth_of(x)
        return wrapped(expanded(x, like.dims, "broadcast_like"), depth)
