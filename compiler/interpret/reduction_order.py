"""The reference of `dialects.order`: an ordered reduction on NumPy arrays, vectorised over everything but the order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...dialects.matrix_units import products_of
from ...dialects.order import Order
from ...dialects.types import DTYPES
from ...runtime import fma

__all__ = ["Accumulators", "reduce_in_order", "scan", "unit_sum"]

Array = np.ndarray[Any, Any]
Accumulators = tuple[Array, ...]

#: A free order is exact, so any order will do: one that is all lanes.
_FREE = Order("tree", 1024, 1024)
#: Elements computed at once; blocks are reduced side by side up to this many.
_BATCH = 1 << 20


def reduce_in_order(
    order: Order,
    count: int,
    element: Callable[[Array], Sequence[Any]],
    combine: Callable[[Accumulators, Accumulators], Accumulators],
    identity: Sequence[Any],
    batch: tuple[int, ...] = (),
    fma: Callable[[Array, Array, Array], Array] | None = None,
) -> Accumulators:
    """Reduce elements ``0 … count-1`` and give the final accumulators, each of shape `batch`.

    `element(ks)` takes an int64 array of shape ``(n, 1, …, 1)`` (rank ``1 + len(batch)``) and gives one array an
    accumulator (two factors where `order.product`), broadcastable to ``(n, *batch)``.  `combine(older, newer)` merges
    accumulators of equal shape.  `fma(a, b, accumulator)` is needed where it is `fma`.  Without elements the result is
    the identity.
    """
    if order.kind == "unit" and order.product:
        return (_by_unit(order, count, element, identity, batch),)
    if order.kind in ("free", "unit"):
        order = _FREE
    elif order.kind == "serial":
        order = Order("chain", max(1, count))
    points = max(1, int(np.prod(batch)))
    group = max(1, _BATCH // (order.lanes * points)) * order.block

    def enter(accumulators: Accumulators, ks: Array) -> Accumulators:
        """`accumulators` (blocks, width, *batch) with the elements `ks` (blocks, width) taken in."""
        given = element(ks.reshape((-1, *(1,) * len(batch))))
        values = tuple(np.broadcast_to(np.asarray(e), (ks.size, *batch)).reshape(*ks.shape, *batch) for e in given)
        if not order.product:
            return combine(accumulators, values)
        a, b = values
        if order.product == "mul_add":
            return combine(accumulators, (a * b,))
        assert fma is not None
        return (fma(a, b, accumulators[0]),)

    total = _Blocks(order, combine)
    for first in range(0, count, group):
        whole = min(group, count - first) // order.block
        if whole:
            total.add(_reduce_blocks(order, first, whole, order.block, enter, combine, identity, batch))
        rest = min(group, count - first) - whole * order.block
        if rest:
            total.add(_reduce_blocks(order, first + whole * order.block, 1, rest, enter, combine, identity, batch))
    return total.result() or tuple(np.broadcast_to(np.asarray(i), batch) for i in identity)


def _by_unit(
    order: Order, count: int, element: Callable[[Array], Sequence[Any]], identity: Sequence[Any], batch: tuple[int, ...]
) -> Array:
    total = np.broadcast_to(np.asarray(identity[0]), batch)
    for first in range(0, count, order.block):
        ks = np.arange(first, min(count, first + order.block)).reshape((-1, *(1,) * len(batch)))
        a, b = (np.broadcast_to(np.asarray(e), (len(ks), *batch)) for e in element(ks))
        total = unit_sum(a, b, total) if order.terms == 1 else _sum_of_terms(a, b, total, order.terms)
    return total


def unit_sum(a: Array, b: Array, total: Array) -> Array:
    """What a matrix unit makes of the products of `a` and `b` along their first axis and the sum so far."""
    if total.dtype == np.float64:
        for x, y in zip(a, b, strict=True):
            total = fma.fma(x, y, total)
        return total
    if total.dtype == np.int32:
        exact = (x.astype(np.int64) * y for x, y in zip(a, b, strict=True))
        return sum(exact, total.astype(np.int64)).astype(np.int32)
    found = total.astype(np.float64)
    for x, y in zip(_in_format(a), _in_format(b), strict=True):
        found = found + x.astype(np.float64) * y.astype(np.float64)
    return found.astype(np.float32)


def _sum_of_terms(a: Array, b: Array, total: Array, terms: int) -> Array:
    """Of factors that a unit takes as terms: all products at once."""
    left, right = (_terms(x, terms) for x in (a, b))
    pairs = products_of(terms)
    x, y = np.concatenate([left[i] for i, _ in pairs]), np.concatenate([right[j] for _, j in pairs])
    return unit_sum(x, y, total)


def _terms(x: Array, count: int) -> list[Array]:
    found: list[Array] = []
    for _ in range(count):
        found.append(x.astype(DTYPES["bf16"].numpy))
        x = x - found[-1].astype(np.float32)
    return found


def _in_format(x: Array) -> Array:
    """Factors as a unit takes them: f32 rounded to tf32, which changes no value of f16 or bf16."""
    if x.dtype != np.float32:
        return x
    bits = x.view(np.uint32)
    rounded = (bits + np.uint32(0x1000) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(x), rounded, x)


def _reduce_blocks(
    order: Order,
    first: int,
    blocks: int,
    length: int,
    enter: Callable[[Accumulators, Array], Accumulators],
    combine: Callable[[Accumulators, Accumulators], Accumulators],
    identity: Sequence[Any],
    batch: tuple[int, ...],
) -> Accumulators:
    """The accumulators of `blocks` runs of `length` elements that start a block apart: shape ``(blocks, *batch)``."""
    lanes = order.lanes
    starts = first + order.block * np.arange(blocks)[:, None]
    accumulators: Accumulators = tuple(np.broadcast_to(np.asarray(i), (blocks, lanes, *batch)) for i in identity)
    for step in range(0, length, lanes):
        width = min(lanes, length - step)
        entered = enter(tuple(s[:, :width] for s in accumulators), starts + (step + np.arange(width)))
        if width < lanes:
            entered = tuple(np.concatenate([new, old[:, width:]], axis=1) for new, old in zip(entered, accumulators))
        accumulators = entered
    while lanes > 1:
        lanes //= 2
        accumulators = combine(
            tuple(s[:, :lanes] for s in accumulators), tuple(s[:, lanes : 2 * lanes] for s in accumulators)
        )
    return tuple(s[:, 0] for s in accumulators)


def scan(
    order: Order,
    count: int,
    element: Callable[[Array], Sequence[Any]],
    combine: Callable[[Accumulators, Accumulators], Accumulators],
    identity: Sequence[Any],
    inits: Sequence[Any],
    batch: tuple[int, ...] = (),
    exclusive: bool = False,
) -> tuple[Accumulators, Accumulators]:
    """The partial results of elements ``0 … count-1``, each accumulator of shape ``(count, *batch)``, and the last
    accumulators.

    Arguments as of `reduce_in_order`; the scan starts from `inits`.  With `exclusive` partial result `k` is that before
    element `k`.
    """
    given = element(np.arange(count, dtype=np.int64).reshape((-1, *(1,) * len(batch)))) if count else identity
    elements = tuple(np.broadcast_to(np.asarray(e), (count, *batch)) for e in given)
    start = tuple(np.broadcast_to(np.asarray(i), (1, *batch)) for i in inits)
    found: list[Accumulators] = []
    last = start
    step = 1 if order.kind == "serial" else order.block
    for first in range(0, count, step):
        block = tuple(e[first : first + step] for e in elements)
        if order.kind == "prefix":
            block = _prefixes(order.lanes, block, combine, identity)
        before = tuple(np.broadcast_to(s, b.shape) for s, b in zip(last, block))
        found.append(combine(before, block))
        last = tuple(s[-1:] for s in found[-1])
    partial = tuple(np.concatenate([f[i] for f in found] or [s[:0]]) for i, s in enumerate(start))
    if exclusive:
        partial = tuple(np.concatenate([s, p[:-1]])[:count] for s, p in zip(start, partial))
    return partial, tuple(s[0] for s in last)


def _prefixes(
    lanes: int,
    block: Accumulators,
    combine: Callable[[Accumulators, Accumulators], Accumulators],
    identity: Sequence[Any],
) -> Accumulators:
    """One block's partial results: runs of `lanes` elements by doubling, then chained."""

    def filled(like: Array, length: int, value: Any) -> Array:
        return np.full((length, *like.shape[1:]), value, like.dtype)

    length = block[0].shape[0]
    runs = -(-length // lanes)
    padded = tuple(np.concatenate([b, filled(b, runs * lanes - length, i)]) for b, i in zip(block, identity))
    local = tuple(np.moveaxis(p.reshape(runs, lanes, *p.shape[1:]), 1, 0) for p in padded)
    step = 1
    while step < lanes:
        shifted = tuple(np.concatenate([filled(x, step, i), x[:-step]]) for x, i in zip(local, identity))
        local = combine(shifted, local)
        step *= 2
    chained: list[Accumulators] = []
    carried = tuple(filled(x[:1, 0], 1, i) for x, i in zip(local, identity))
    for run in range(runs):
        here = tuple(x[:, run] for x in local)
        chained.append(combine(tuple(np.broadcast_to(c, h.shape) for c, h in zip(carried, here)), here))
        carried = tuple(x[-1:] for x in chained[-1])
    return tuple(np.concatenate([c[i] for c in chained])[:length] for i in range(len(block)))


class _Blocks:
    """Combines the blocks' accumulators: a binary counter, or one after another for a chain."""

    def __init__(self, order: Order, combine: Callable[[Accumulators, Accumulators], Accumulators]):
        self.chain = order.kind == "chain"
        self.combine = combine
        self.waiting: list[tuple[int, Accumulators]] = []

    def add(self, blocks: Accumulators) -> None:
        for b in range(blocks[0].shape[0]):
            size, accumulators = 1, tuple(s[b] for s in blocks)
            while self.waiting and (self.chain or self.waiting[-1][0] == size):
                older_size, older = self.waiting.pop()
                size, accumulators = size + older_size, self.combine(older, accumulators)
            self.waiting.append((size, accumulators))

    def result(self) -> Accumulators | None:
        if not self.waiting:
            return None
        _, accumulators = self.waiting.pop()
        while self.waiting:
            accumulators = self.combine(self.waiting.pop()[1], accumulators)
        return accumulators
