"""Loads whose lanes change places: ``x[at + (i ^ 3)]`` along vectors of `i`.

An iterator of a vector loop whose vectors begin at multiples of their width stays inside of its vector when a smaller
number turns some of its bits: that is the vector as memory has it, and one shuffle.
"""

from __future__ import annotations

from ...dialects.dims import Call, Dim, of_atom, sym
from .lanes import Lane

__all__ = ["exchanged_lanes"]


def exchanged_lanes(offset: Dim, vector: Lane | None, multiple: int) -> tuple[Dim, int] | None:
    """An offset without its ``i ^ bits``, of the iterator of the vectors, and the bits.

    `multiple` divides each vector's first index.  None where there is no such term, or more that has the iterator.
    """
    if vector is None or vector.starts or multiple % vector.width:
        return None
    iterator = sym(vector.symbol.name)
    for mono, factor in offset.terms:
        match mono:
            case (Call(fn="^") as turned,) if turned.a == iterator and factor == 1:
                bits = turned.b.const
                rest = offset - of_atom(turned)
                if bits is None or not 0 <= bits < vector.width or vector.symbol in rest.symbols():
                    return None
                return rest + iterator, bits
    return None
