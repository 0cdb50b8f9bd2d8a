"""What the order of keys does not say, of rows that are sorted by them: NaN, and zeros of both signs.

NaN stands behind all others, or before them, and zeros as they stood in the operand.  Keys that are floats are counted
for it, before they are sorted; of others the sorted row says whether there are zeros with a sign.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ..dialects.dims import Dim, dim
from ..dialects.scalar import Value
from ..dialects.types import DTYPES
from .loop_code import Code
from .sort_grid import exponent
from .sort_keys import as_number
from .sort_network import SortByNetwork
from .sort_rows import Place
from .sort_scale import Scale

__all__ = ["UnorderedKeys"]

I64, BOOL = DTYPES["i64"], DTYPES["bool"]


class UnorderedKeys:
    """Writes it for the rows of one sort."""

    def __init__(self, sort: SortByNetwork):
        self.sort, self.key = sort, sort.key

    def ordered(self, code: Code, place: Place, i: Dim, scale: Scale | None) -> Value:
        """The key of an element; what stands for NaN, which comparators do not order."""
        key = self.sort.key_at(code, place, i, scale)
        if not key.dtype.is_float:
            return key
        return code.b.select(key.differs(key), code.b.constant(self.sort.stands_for_nan, key.dtype), key)

    def counted(self, code: Code, place: Place, start: Dim, stop: Dim) -> tuple[Value, Value]:
        """How many of some elements, whose keys are floats, are zeros with a sign, and NaN."""
        sort, element = self.sort, self.sort.element

        def is_signed_zero(c: Code, i: Dim) -> Value:
            bits = c.b.bitcast(c.load(sort.x, place(i)), DTYPES[f"u{element.bits}"])
            return bits.equals(1 << element.bits - 1)

        def is_nan(c: Code, i: Dim) -> Value:
            x = c.load(sort.x, place(i))
            return x.differs(x)

        def is_either(c: Code, i: Dim) -> Value:
            return is_signed_zero(c, i) | is_nan(c, i)

        # Most often there are none, and one look at each element says so.
        some = code.bind(code.b.minimum(sort.count(code, is_either, start, stop), 1))
        end = code.bound(start + (stop - start) * some)
        return sort.count(code, is_signed_zero, start, end), sort.count(code, is_nan, start, end)

    def finish(self, code: Code, row: Dim, counts: tuple[Value, Value] | None, cells: SSAValue, flag: SSAValue) -> None:
        """A sorted row as it has to be; `counts` are there where keys are floats."""
        if self.key.negative_zero is None:
            return
        place = self.sort.places(row)
        if counts is None:
            has_zeros = self._has_signed_zeros(code, place, cells, flag)
        else:
            zeros, nans = counts
            self.sort.put_nans(code, place, code.bind(nans), dim(0), self.sort.n)
            has_zeros = zeros > 0
        code.if_(has_zeros, lambda c: self._order_zeros(c, place), lambda c: None)

    def _has_signed_zeros(self, code: Code, place: Place, cells: SSAValue, flag: SSAValue) -> Value:
        """Whether a sorted row has zeros with a sign: then one is the last whose key is no greater than theirs."""
        (out,), n, bits = self.sort.op.outs, self.sort.n, self.key.dtype.bits
        assert self.key.negative_zero is not None
        zero = (self.key.negative_zero ^ 1 << bits - 1) - (1 << bits - 1)

        def key(c: Code, i: Dim) -> Value:
            return self.key.make(c.b, c.load(out, place(i)))

        def step(c: Code, number: Dim, found: Value) -> Value:
            further = found + (c.b.constant(1, I64) << c.b.index(steps - 1 - number))
            at = c.bind(c.b.minimum(further, c.b.index(n)))
            return c.b.select((further <= c.b.index(n)) & (key(c, at - 1) <= zero), further, found)

        steps = exponent(code, cells, n + 1)
        found = code.fold(0, steps, code.b.constant(0, I64), step)
        at = code.bind(found)
        code.store(code.b.constant(False, BOOL), flag, [dim(0)])
        code.if_(found > 0, lambda c: c.store(key(c, at - 1).equals(zero), flag, [dim(0)]), lambda c: None)
        return code.load(flag, [dim(0)])

    def _order_zeros(self, code: Code, place: Place) -> None:
        (out,) = self.sort.op.outs

        def number(c: Code, i: Dim) -> Value:
            return as_number(c.b, self.key.make(c.b, c.load(out, place(i))))

        self.sort.rewrite_zeros(code, place, number)
