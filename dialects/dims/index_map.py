"""Index maps: which element of an operand each point of an iteration space reads or writes.

A map has the extents of its iterators ``d0 … dk``, one expression a dim of the operand, and guards: expressions that
must all be ``>= 0`` for the element to exist (padding).  Views are index maps; composing two maps composes two views.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from .analysis import simplify
from .dims import Dim, Sym, dim, iterator, iterators

__all__ = ["IndexMap", "dims_in", "identity_map", "product", "unravel"]


@dataclass(frozen=True)
class IndexMap:
    """``(d0, …, dk) -> (exprs…)`` over ``0 <= di < extents[i]``; defined where every guard is ``>= 0``."""

    extents: tuple[Dim, ...]
    exprs: tuple[Dim, ...]
    guards: tuple[Dim, ...] = field(default=())

    @property
    def rank(self) -> int:
        return len(self.extents)

    @cached_property
    def bounds(self) -> dict[Sym, Dim]:
        """Each iterator's extent, as `simplify` takes it."""
        return {Sym(f"d{i}"): extent for i, extent in enumerate(self.extents)}

    def simplified(self) -> IndexMap:
        return _simplified(self)

    def after(self, inner: IndexMap) -> IndexMap:
        """The map that first applies `inner` (iteration space to this map's iterators), then this one."""
        return _composed(self, inner)

    @property
    def is_identity(self) -> bool:
        return not self.guards and self.exprs == iterators(self.rank)

    @property
    def is_permutation(self) -> bool:
        return not self.guards and len(self.exprs) == self.rank and set(self.exprs) == set(iterators(self.rank))

    @property
    def permutation(self) -> tuple[int, ...]:
        """For a permutation: which iterator each dim of the operand is indexed by."""
        where = {it: i for i, it in enumerate(iterators(self.rank))}
        return tuple(where[e] for e in self.exprs)

    def used(self) -> set[int]:
        """The iterators that its expressions or guards mention."""
        names = {Sym(f"d{i}"): i for i in range(self.rank)}
        found: set[int] = set()
        for e in self.exprs + self.guards:
            found |= {names[s] for s in e.symbols() if s in names}
        return found

    def __str__(self) -> str:
        ins = ", ".join(f"{iterator(i)}: {extent}" for i, extent in enumerate(self.extents))
        text = f"({ins}) -> ({', '.join(map(str, self.exprs))})"
        return text + (f" where ({', '.join(map(str, self.guards))})" if self.guards else "")


# A program has few maps, which passes ask for over and over.


@lru_cache(maxsize=65536)
def _simplified(index: IndexMap) -> IndexMap:
    exprs = tuple(simplify(e, index.bounds) for e in index.exprs)
    guards = tuple(dict.fromkeys(simplify(g, index.bounds) for g in index.guards))
    return IndexMap(index.extents, exprs, tuple(g for g in guards if not g.nonneg))


@lru_cache(maxsize=65536)
def _composed(outer: IndexMap, inner: IndexMap) -> IndexMap:
    env = {Sym(f"d{i}"): e for i, e in enumerate(inner.exprs)}
    exprs = tuple(e.substitute(env) for e in outer.exprs)
    guards = inner.guards + tuple(g.substitute(env) for g in outer.guards)
    return IndexMap(inner.extents, exprs, guards).simplified()


def identity_map(extents: tuple[Dim, ...]) -> IndexMap:
    return IndexMap(tuple(dim(e) for e in extents), iterators(len(extents)))


def unravel(linear: Dim, extents: Sequence[Dim]) -> tuple[Dim, ...]:
    """The row-major multi-index of a linear position."""
    found: list[Dim] = []
    for extent in reversed(extents[1:]):
        found.append(linear % extent)
        linear = linear // extent
    return (linear, *reversed(found)) if extents else ()


def product(extents: Sequence[Dim]) -> Dim:
    """The number of points of an iteration space."""
    total = dim(1)
    for e in extents:
        total = total * e
    return total


def dims_in(value: Any) -> Iterator[Dim]:
    """The dims in parameters of an op, without the iterators of maps."""
    if isinstance(value, Dim):
        yield value
    elif isinstance(value, IndexMap):
        first = {Sym(f"d{k}"): dim(0) for k in range(value.rank)}
        yield from (d.substitute(first) for d in (*value.extents, *value.exprs, *value.guards))
    elif isinstance(value, dict):
        for part in value.values():
            yield from dims_in(part)
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from dims_in(part)
