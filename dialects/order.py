"""The order of arithmetic in reductions and contractions: a part of the program, not of its schedule.

``tree<block, lanes>``: the reduced extent is cut into blocks; in a block, virtual lane ``l`` combines the elements
``l, l + lanes, l + 2*lanes, …`` in that order, starting from the identity; the lanes are then combined by halves (lane
``l`` with lane ``l + lanes/2``, and so on down to one); the blocks' values are combined by a binary counter: block
``b`` is merged with the waiting partial sums of equal size, older operand first, and what waits at the end is merged
from the smallest to the largest, older operand first again.  ``lanes`` and ``block`` are powers of two.
``chain<block>`` is ``tree<block, 1>`` with blocks added one after another, oldest first.
With ``fma``, an element ``a*b`` is combined as ``fma(a, b, accumulator)``; with ``mul_add``, which is for targets that
have no fused multiply-add, the product is rounded and then combined.  Either way the factors are the elements.
``free``: the operation is exact (integers, min, max, and, or), so any order gives the same bits.
``serial``: one element after another, the first of them combined with the identity, which may then be any value: most
scans along outer dims, and reductions by functions of users.
``unit<block, fma>``: sums of products by matrix units, a block of products at a time, which a unit adds to the sum so
far in an order of its own; those of a CPU take numbers below the normal ones for zeros.  The reference rounds factors
of f32 to tf32 (a significand of 11 bits, ties away from zero), adds the products in f64 and rounds once; of f64 it
makes a chain.  Equal on one target for any schedule, and no more than that.  With ``unit<block, fma, terms>`` factors
of f32 are split into two or three terms of bf16, each the nearest to what the ones before leave, and products of which
``i + j < terms`` count.  ``unit<block>`` is for whole numbers, whose sums are the same in any order.
``prefix<block, lanes>`` is for scans only.  A run of ``lanes`` elements is scanned by doubling: for s = 1, 2, 4, … lane
``l`` becomes the merge of lane ``l - s`` (of the identity where there is none) and lane ``l``.  Within a block the runs
are chained: a run's prefixes are merged with the last one of the run before (at first the identity).  Blocks are
chained too: a block's prefixes are merged with the last one of the block before (at first the initial value).

No schedule, thread count, tile or vector width may change an order; results are bitwise equal for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CHAIN_FMA", "FREE", "SERIAL", "Order", "parse_order", "scan_order", "sum_order"]


@dataclass(frozen=True)
class Order:
    """`kind` is ``tree``, ``chain``, ``free``, ``serial``, ``unit`` or ``prefix``.

    `product` is ``fma``, ``mul_add``, or empty where none is summed; `terms` are those of a unit's factors.
    """

    kind: str
    block: int = 0
    lanes: int = 1
    product: str = ""
    terms: int = 1

    def __str__(self) -> str:
        if self.kind in ("free", "serial"):
            return self.kind
        numbers = f"{self.block}, {self.lanes}" if self.kind in ("tree", "prefix") else f"{self.block}"
        product = f", {self.product}" if self.product else ""
        return f"{self.kind}<{numbers}{product}{f', {self.terms}' if self.terms > 1 else ''}>"


FREE = Order("free")
SERIAL = Order("serial")
CHAIN_FMA = Order("chain", 512, 1, "fma")


def sum_order(bits: int, innermost: bool) -> Order:
    """The order of an inexact reduction: wide virtual lanes along the innermost dim, one lane elsewhere.

    Along an outer dim neighbouring results are neighbours in memory, so vectors run across results and one chain a
    result is both the fastest order and NumPy's own.
    """
    return Order("tree", 1024, max(8, 2048 // bits) if innermost else 1)


def scan_order(bits: int, innermost: bool) -> Order:
    """The order of a scan: runs that fit a vector along the innermost dim, NumPy's own order elsewhere."""
    return Order("prefix", 1024, min(16, max(4, 256 // max(bits, 16)))) if innermost else SERIAL


def parse_order(text: str) -> Order:
    """Read back what `str` printed; ValueError where it is no order."""
    kind, _, rest = text.partition("<")
    if kind in ("free", "serial") and not rest:
        return Order(kind)
    words = [w.strip() for w in rest.rstrip(">").split(",")]
    terms = int(words.pop()) if kind == "unit" and words[-1] in ("2", "3") and "fma" in words[:-1] else 1
    product = words.pop() if words[-1] in ("fma", "mul_add") else ""
    numbers = [int(w) for w in words if w.isdecimal()]
    if kind == "tree" and len(words) == len(numbers) == 2:
        order = Order("tree", numbers[0], numbers[1], product)
    elif kind == "prefix" and len(words) == len(numbers) == 2 and not product:
        order = Order("prefix", numbers[0], numbers[1])
    elif kind in ("chain", "unit") and len(words) == len(numbers) == 1:
        order = Order(kind, numbers[0], 1, product, terms)
    else:
        raise ValueError(
            f"{text!r} is not an order: free, serial, tree<block, lanes[, product]>, chain<block[, product]>, "
            "unit<block[, fma[, terms]]> or prefix<block, lanes>, where product is fma or mul_add"
        )
    if (
        order.block & (order.block - 1)
        or order.lanes & (order.lanes - 1)
        or order.lanes > order.block
        or order.block < 1
    ):
        raise ValueError(f"{text!r}: block and lanes are powers of two, lanes at most the block")
    return order
