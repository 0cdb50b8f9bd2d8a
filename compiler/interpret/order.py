"""The reference of `dialects.order`: an ordered fold on NumPy arrays, vectorised over everything but the order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.order import Order

__all__ = ["States", "fold"]

Array = np.ndarray[Any, Any]
States = tuple[Array, ...]

#: A free order is exact, so any order will do: one that is all lanes.
_FREE = Order("tree", 1024, 1024)
#: Elements computed at once; blocks are folded side by side up to this many.
_BATCH = 1 << 20


def fold(
    order: Order,
    count: int,
    element: Callable[[Array], Sequence[Any]],
    combine: Callable[[States, States], States],
    identity: Sequence[Any],
    batch: tuple[int, ...] = (),
    fma: Callable[[Array, Array, Array], Array] | None = None,
) -> States:
    """Fold elements ``0 … count-1`` and give the final states, each of shape `batch`.

    `element(ks)` takes an int64 array of shape ``(n, 1, …, 1)`` (rank ``1 + len(batch)``) and gives one array a state
    (two factors where `order.product`), broadcastable to ``(n, *batch)``.  `combine(older, newer)` merges states of
    equal shape.  `fma(a, b, accumulator)` is needed where it is `fma`.  Without elements the result is the identity.
    """
    if order.kind == "free":
        order = _FREE
    points = max(1, int(np.prod(batch)))
    group = max(1, _BATCH // (order.lanes * points)) * order.block

    def enter(states: States, ks: Array) -> States:
        """`states` (blocks, width, *batch) with the elements `ks` (blocks, width) taken in."""
        given = element(ks.reshape((-1, *(1,) * len(batch))))
        values = tuple(np.broadcast_to(np.asarray(e), (ks.size, *batch)).reshape(*ks.shape, *batch) for e in given)
        if not order.product:
            return combine(states, values)
        a, b = values
        if order.product == "mul_add":
            return combine(states, (a * b,))
        assert fma is not None
        return (fma(a, b, states[0]),)

    total = _Blocks(order, combine)
    for first in range(0, count, group):
        whole = min(group, count - first) // order.block
        if whole:
            total.add(_fold_blocks(order, first, whole, order.block, enter, combine, identity, batch))
        rest = min(group, count - first) - whole * order.block
        if rest:
            total.add(_fold_blocks(order, first + whole * order.block, 1, rest, enter, combine, identity, batch))
    return total.result() or tuple(np.broadcast_to(np.asarray(i), batch) for i in identity)


def _fold_blocks(
    order: Order,
    first: int,
    blocks: int,
    length: int,
    enter: Callable[[States, Array], States],
    combine: Callable[[States, States], States],
    identity: Sequence[Any],
    batch: tuple[int, ...],
) -> States:
    """The states of `blocks` runs of `length` elements that start a block apart: shape ``(blocks, *batch)``."""
    lanes = order.lanes
    starts = first + order.block * np.arange(blocks)[:, None]
    states: States = tuple(np.broadcast_to(np.asarray(i), (blocks, lanes, *batch)) for i in identity)
    for step in range(0, length, lanes):
        width = min(lanes, length - step)
        entered = enter(tuple(s[:, :width] for s in states), starts + (step + np.arange(width)))
        if width < lanes:
            entered = tuple(np.concatenate([new, old[:, width:]], axis=1) for new, old in zip(entered, states))
        states = entered
    while lanes > 1:
        lanes //= 2
        states = combine(tuple(s[:, :lanes] for s in states), tuple(s[:, lanes : 2 * lanes] for s in states))
    return tuple(s[:, 0] for s in states)


class _Blocks:
    """Combines the blocks' states: a binary counter, or one after another for a chain."""

    def __init__(self, order: Order, combine: Callable[[States, States], States]):
        self.chain = order.kind == "chain"
        self.combine = combine
        self.waiting: list[tuple[int, States]] = []

    def add(self, blocks: States) -> None:
        for b in range(blocks[0].shape[0]):
            size, states = 1, tuple(s[b] for s in blocks)
            while self.waiting and (self.chain or self.waiting[-1][0] == size):
                older_size, older = self.waiting.pop()
                size, states = size + older_size, self.combine(older, states)
            self.waiting.append((size, states))

    def result(self) -> States | None:
        if not self.waiting:
            return None
        _, states = self.waiting.pop()
        while self.waiting:
            states = self.combine(self.waiting.pop()[1], states)
        return states
