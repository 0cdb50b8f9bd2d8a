"""What iterators and offsets are known to be multiples of, and so what vectors of memory are aligned to."""

from __future__ import annotations

from math import gcd

from ....dialects.dims.dims import Call, Dim, Sym
from ....dialects.loop import ForOp, MmaOp, ParallelOp
from ..emit.memory.nontemporal import alignment_of

__all__ = ["Alignments"]

#: The widest access to memory is of so many bytes.
WIDEST = 16


class Alignments:
    """The divisors of one kernel's symbols."""

    def __init__(self) -> None:
        #: What symbols and products of symbols are known to be multiples of.
        self._divisors: dict[Dim, int] = {}
        #: Buffers whose first element may not be their first in memory.
        self.turned: set[str] = set()

    def know(self, op: ParallelOp | ForOp | MmaOp) -> None:
        """What an iterator is a multiple of; in lanes, that of the first of them."""
        step = op.lanes if isinstance(op, ForOp) and op.lanes > 1 else self._divisor(op.step.data)
        if isinstance(op, ForOp) and op.lanes > 1:
            step = op.vector.value.data
        self._divisors[Dim.of_terms({(op.symbol,): 1})] = gcd(self._divisor(op.lower.data), step)

    def learn(self, zero: Dim) -> None:
        """What ``a % b`` that is 0 says of ``a``."""
        for mono, coeff in zero.terms:
            if len(zero.terms) == coeff == len(mono) == 1 and isinstance(mono[0], Call) and mono[0].fn == "%":
                if mono[0].b.const:
                    self._divisors[mono[0].a] = mono[0].b.const

    def _divisor(self, expr: Dim) -> int:
        """A number that an expression is known to be a multiple of; 0 for zero."""
        total = 0
        for mono, coeff in expr.terms:
            whole = self._divisors.get(Dim.of_terms({mono: 1}), 1) if mono else 1
            for atom in mono:
                known = self._divisor_of(atom)
                rest = list(mono)
                rest.remove(atom)
                others = self._divisors.get(Dim.of_terms({tuple(rest): 1}), 1) if rest else 1
                whole = max(whole, known * others)
            total = gcd(total, coeff * whole)
        return total

    def _divisor_of(self, atom: Sym | Call) -> int:
        if isinstance(atom, Call) and atom.fn in ("min", "max"):
            return gcd(self._divisor(atom.a), self._divisor(atom.b))
        if isinstance(atom, Call) and atom.fn == "%" and atom.b.const:
            return gcd(self._divisor(atom.a), atom.b.const)
        return self._divisors.get(Dim.of_terms({(atom,): 1}), 1)

    def of_row(self, base: str, storage: str, offset: Dim) -> int:
        """Buffers start at multiples of `WIDEST`, unless their first element is not the first in memory."""
        element = alignment_of(storage)
        if base in self.turned:
            return element
        size = element * (2 if storage[0] == "<" else 1)
        return max(element, gcd(size * self._divisor(offset), WIDEST))
