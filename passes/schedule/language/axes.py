"""Axes of a nest: iterators that run as one, because every operand steps through them as through one long dim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ....dialects import kernel, loop
from ....dialects.dims.dims import Dim, Sym, dim, sym
from ....dialects.dims.index_map import product
from ..access import Access

__all__ = ["FusedAxis", "collapse_axes", "index_numbers", "obstacle", "point_of", "unit_stride_score"]


@dataclass(frozen=True)
class FusedAxis:
    """Adjacent iterators that run as one: all operands step through them as through one long dim."""

    symbols: tuple[Sym, ...]
    extents: tuple[Dim, ...]

    @property
    def extent(self) -> Dim:
        return product(self.extents)

    def followed_by(self, symbol: Sym, extent: Dim) -> FusedAxis:
        """With one more iterator, the fastest."""
        return FusedAxis((*self.symbols, symbol), (*self.extents, extent))


def collapse_axes(nest: kernel.GenericOp, access_list: Sequence[Access], first: int, last: int) -> list[FusedAxis]:
    """The iterators ``first <= i < last`` of a nest, collapsed where every operand and every number allows it."""
    groups: list[FusedAxis] = []
    numbers = list(index_numbers(nest))
    for i in range(first, last):
        symbol, extent = Sym(f"d{i}"), nest.extents.data[i]
        if groups and obstacle(access_list, numbers, groups[-1], symbol, extent) is None:
            groups[-1] = groups[-1].followed_by(symbol, extent)
        else:
            groups.append(FusedAxis((symbol,), (extent,)))
    return groups


def obstacle(
    access_list: Sequence[Access], numbers: Sequence[Dim], outer: FusedAxis, symbol: Sym, extent: Dim
) -> int | Dim | None:
    """What keeps an axis and the next iterator from running as one: an operand, by its number, or a body's number."""
    far = outer.symbols[-1]
    for number, access in enumerate(access_list):
        outer_step, step = access.step(far), access.step(symbol)
        if outer_step is None or step is None or access.guarded or outer_step is not step * extent:
            return number
    return next((expr for expr in numbers if not _counts_on(expr, far, symbol, extent)), None)


def _counts_on(expr: Dim, outer: Sym, inner: Sym, extent: Dim) -> bool:
    """Whether an expression takes two iterators as one: only as ``outer * extent + inner``."""
    if not {outer, inner} & expr.symbols():
        return True
    both = sym(outer.name) * extent + sym(inner.name)
    return expr.substitute({outer: dim(0)}).substitute({inner: both}) is expr


def index_numbers(nest: kernel.GenericOp) -> Iterator[Dim]:
    """The expressions that bodies use as numbers."""
    for region in nest.regions:
        for block in region.blocks:
            for op in block.ops:
                if isinstance(op, loop.IndexOp):
                    yield op.expr.data
                elif isinstance(op, kernel.ReadOp):
                    yield from (*op.index.data, *(op.guards.data if op.guards is not None else ()))


def point_of(axes: Sequence[FusedAxis], values: Sequence[Dim]) -> dict[Sym, Dim]:
    """Where the nest's iterators stand when the axes stand at some values."""
    point: dict[Sym, Dim] = {}
    for axis, value in zip(axes, values):
        rest = value
        for symbol, extent in zip(reversed(axis.symbols[1:]), reversed(axis.extents[1:])):
            point[symbol] = rest % extent
            rest = rest // extent
        point[axis.symbols[0]] = rest
    return point


def unit_stride_score(access_list: Sequence[Access], axis: FusedAxis) -> int:
    """How many operands are contiguous along an axis; stores count twice."""
    inner = axis.symbols[-1]
    return sum((2 if w.is_output else 1) for w in access_list if w.is_contiguous(inner))
