"""Sorting as a heap, one element at a time: for what must be right and is not met."""

from __future__ import annotations

from xdsl.ir import SSAValue

from .....dialects.dims.dims import Dim, dim
from .....dialects.scalar.language import Value
from .....dialects.types import DTYPES
from ...builder import LoopBuilder
from ..base import ElementIndex

__all__ = ["heapsort"]

I64 = DTYPES["i64"]


def heapsort(code: LoopBuilder, keys: SSAValue, index: ElementIndex, count: Dim, cell: SSAValue) -> None:
    """``keys[place(0)]`` and so on, `count` of them, in ascending order; `cell` has room for a number.

    The lower half of all steps makes a heap, whose greatest element each of the others takes away.
    """
    half = code.materialize_dim(count // 2)

    def key(c: LoopBuilder, i: Dim) -> Value:
        return c.load(keys, index(i))

    def swap(c: LoopBuilder, i: Dim, j: Dim) -> None:
        x, y = key(c, i), key(c, j)
        c.store(y, keys, index(i))
        c.store(x, keys, index(j))

    with code.for_(0, half + count) as (step, number):
        b = step.b
        builds = b.index(number) < b.index(half)
        # Behind the heap all is in order.
        size = step.bind(b.select(builds, b.index(count), b.index(half + count - 1 - number)))
        root = b.select(builds, b.index(half - 1 - number), b.constant(0, I64))
        step.if_(builds, lambda c: None, lambda c: swap(c, dim(0), size))
        step.store(root, cell, [dim(0)])
        _sift(step, keys, index, size, cell)


def _sift(code: LoopBuilder, keys: SSAValue, index: ElementIndex, size: Dim, cell: SSAValue) -> None:
    """The element at the root that `cell` names, down to where it belongs."""
    here = [dim(0)]

    def larger_child(c: LoopBuilder) -> tuple[Dim, Dim]:
        root = c.bind(c.load(cell, here))
        left = c.materialize_dim(root * 2 + 1)
        right = c.bind(c.b.minimum(c.b.index(left + 1), c.b.index(size - 1)))
        x, y = (c.load(keys, index(i)) for i in (left, right))
        return root, c.bind(c.b.select(x < y, c.b.index(right), c.b.index(left)))

    def has_child(c: LoopBuilder) -> Value:
        return c.load(cell, here) * 2 + 1 < c.b.index(size)

    def step(c: LoopBuilder) -> None:
        root, child = larger_child(c)
        x, y = (c.load(keys, index(i)) for i in (root, child))

        def down(d: LoopBuilder) -> None:
            d.store(y, keys, index(root))
            d.store(x, keys, index(child))
            d.store(d.b.index(child), cell, here)

        c.if_(x < y, down, lambda d: d.store(d.b.index(size), cell, here))

    code.while_(has_child, step)
