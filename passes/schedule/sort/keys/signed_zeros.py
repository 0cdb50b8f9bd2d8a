"""What the order of keys does not say, of rows that are sorted by them: zeros of both signs.

They have the order that they have in the operand.  The sorted row says whether there are any with a sign.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from .....dialects.dims.dims import Dim, dim
from .....dialects.scalar.language import Value
from .....dialects.types import DTYPES
from ...builder import LoopBuilder
from ..base import ElementIndex
from ..comparison.mergesort import NetworkMergeSort
from ..comparison.network import exponent

__all__ = ["SignedZeroFixup"]

I64, BOOL = DTYPES["i64"], DTYPES["bool"]


class SignedZeroFixup:
    """Writes it for the rows of one sort."""

    def __init__(self, sort: NetworkMergeSort):
        self.sort, self.key = sort, sort.key

    def finish(self, code: LoopBuilder, row: Dim, cells: SSAValue, flag: SSAValue) -> None:
        """A sorted row as it has to be."""
        if self.key.negative_zero is None:
            return
        index = self.sort.indices(row)
        has_zeros = self._has_signed_zeros(code, index, cells, flag)
        code.if_(has_zeros, lambda c: self._order_zeros(c, index), lambda c: None)

    def _has_signed_zeros(self, code: LoopBuilder, index: ElementIndex, cells: SSAValue, flag: SSAValue) -> Value:
        """Whether a sorted row has zeros with a sign: then one is the last whose key is no greater than theirs."""
        (out,), n, bits = self.sort.op.outs, self.sort.n, self.key.dtype.bits
        assert self.key.negative_zero is not None
        zero = (self.key.negative_zero ^ 1 << bits - 1) - (1 << bits - 1)

        def key(c: LoopBuilder, i: Dim) -> Value:
            return self.key.make(c.b, c.load(out, index(i)))

        def step(c: LoopBuilder, number: Dim, found: Value) -> Value:
            further = found + (c.b.constant(1, I64) << c.b.index(steps - 1 - number))
            at = c.bind(c.b.minimum(further, c.b.index(n)))
            return c.b.select((further <= c.b.index(n)) & (key(c, at - 1) <= zero), further, found)

        steps = exponent(code, cells, n + 1)
        found = code.carried_loop(0, steps, code.b.constant(0, I64), step)
        at = code.bind(found)
        code.store(code.b.constant(False, BOOL), flag, [dim(0)])
        code.if_(found > 0, lambda c: c.store(key(c, at - 1).equals(zero), flag, [dim(0)]), lambda c: None)
        return code.load(flag, [dim(0)])

    def _order_zeros(self, code: LoopBuilder, index: ElementIndex) -> None:
        (out,) = self.sort.op.outs

        def number(c: LoopBuilder, i: Dim) -> Value:
            return self.key.make(c.b, c.load(out, index(i)))

        self.sort.rewrite_zeros(code, index, number)
