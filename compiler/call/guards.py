"""Why arguments do not fit a signature, in a sentence: the slow path of an executable's check."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.dims.dims import Sym, dim
from ..frontend.trace.dim_table import Guard
from .signature import Signature

__all__ = ["failing_guard"]


def failing_guard(signature: Signature, shapes: Sequence[tuple[int, ...]], integers: Sequence[int]) -> str:
    """A sentence on the first condition that the arguments do not meet; empty where all are met."""
    env: dict[Sym, int] = {}
    for given, shape in zip(signature.arrays, shapes):
        for d, size in zip(map(dim, given.dims), shape):
            if d.symbol is not None:
                env.setdefault(d.symbol, size)
    for given, value in zip(signature.integers, integers):
        symbol = dim(given.symbol).symbol
        if symbol is not None:
            env[symbol] = value
    for given, shape in zip(signature.arrays, shapes):
        for axis, (d, size) in enumerate(zip(map(dim, given.dims), shape)):
            expected = d.evaluate(env)
            if expected != size:
                where = f"dim {axis} of {given.name}"
                return f"{where} must be {d}{'' if d.const is not None else f' = {expected}'}, not {size}"
    for name, value in signature.substitutions:
        # Strides are not known here: what follows from them is left out.
        if dim(value).symbols() <= env.keys():
            env.setdefault(Sym(name), dim(value).evaluate(env))
    for lhs, relation, rhs, why in signature.guards:
        guard = Guard(dim(lhs), relation, dim(rhs), why)
        try:
            if not guard.holds(env):
                return f"the arguments do not satisfy {guard}"
        except KeyError:
            continue
    return ""
