"""Strides of arguments as dims, from their stride facts: how compiled code is told that an argument lies in memory."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.dims.dims import Dim, dim, packed_strides, sym
from .facts import StrideClass

__all__ = ["symbolic_strides"]


def symbolic_strides(name: str, dims: Sequence[Dim], fact: StrideClass) -> tuple[Dim, ...] | None:
    """The strides, in elements, of an argument with that fact; None for packed ones."""
    kind, *rest = fact
    if kind == "packed":
        return None
    if kind == "order":
        return packed_strides(dims, rest)
    return tuple(sym(f"${name}.s{i}") if c == "s" else dim(int(c)) for i, c in enumerate(rest))
