"""Which nests are contractions: reductions of products whose factors have iterators of their own.

Found by what iterators the factors of a body depend on, not by the op a nest was made of.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ....dialects import kernel, loop
from ....dialects.attributes import scalar_dtype
from ....dialects.dims.dims import Dim, Sym, iterator
from ....dialects.dims.index_map import IndexMap

__all__ = ["MatmulOperands", "is_symmetric", "match_matmul", "match_product"]


@dataclass(frozen=True)
class MatmulOperands:
    """The two scalars whose products are summed, and the parallel iterators of both, of the left and of the right."""

    values: tuple[SSAValue, SSAValue]
    batch: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]


def match_matmul(nest: kernel.GenericOp) -> MatmulOperands | None:
    """The factors of a contraction in which either has iterators that the other has not; None for other nests.

    The order is a chain, a matrix unit's, or free with whole numbers; with lanes along the reduced iterator it is a
    reduction's.
    """
    values = match_product(nest)
    if values is None:
        return None
    used = [_iterators(nest, value) for value in values]
    k = nest.n_parallel
    left, right = (u - {k} for u in used)
    if not left - right or not right - left or left | right != set(range(k)):
        return None
    return MatmulOperands(values, *(tuple(sorted(s)) for s in (left & right, left - right, right - left)))


def match_product(nest: kernel.GenericOp) -> tuple[SSAValue, SSAValue] | None:
    """The two scalars whose products a nest sums, in an order that a contraction may have; None for other nests."""
    if nest.order is None or nest.is_scan:
        return None
    last, order = nest.body.block.last_op, nest.order.data
    assert isinstance(last, kernel.YieldOp)
    if order.kind in ("chain", "unit") and order.product:
        return last.values[0], last.values[1]
    product = last.values[0].owner
    sum_ = nest.combiner.block.first_op
    if (
        order.kind not in ("free", "unit")
        or len(last.values) != 1
        or not isinstance(product, arith.MuliOp)
        or not isinstance(sum_, arith.AddiOp)
        or scalar_dtype(last.values[0].type).bits < 32  # narrow lanes have no masks
    ):
        return None
    return product.lhs, product.rhs


def _iterators(nest: kernel.GenericOp, value: SSAValue) -> set[int]:
    """The nest's iterators that a scalar of its body depends on."""
    maps = nest.maps_in()
    args: dict[SSAValue, int] = {a: i for i, a in enumerate(nest.body.block.args)}
    names = {Sym(f"d{i}"): i for i in range(len(nest.extents.data))}
    found: set[int] = set()
    stack = [value]
    while stack:
        v = stack.pop()
        if v in args:
            found |= maps[args[v]].used()
        elif isinstance(v.owner, Operation):
            stack.extend(v.owner.operands)
            exprs: tuple[Dim, ...] = ()
            if isinstance(v.owner, loop.IndexOp):
                exprs = (v.owner.expr.data,)
            elif isinstance(v.owner, kernel.ReadOp):
                return set(range(len(nest.extents.data)))
            for e in exprs:
                found |= {names[s] for s in e.symbols() if s in names}
    return found


def is_symmetric(nest: kernel.GenericOp, factors: MatmulOperands) -> bool:
    """Whether an element of the results has the same factors in the same order as its mirror image, and so its bits.

    One factor is the other with row and column exchanged, and nothing of a place goes into the epilogue.
    """
    if len(factors.left) != 1 or len(factors.right) != 1:
        return False
    (i, j), extents = (*factors.left, *factors.right), nest.extents.data
    swap = {Sym(f"d{i}"): iterator(j), Sym(f"d{j}"): iterator(i)}
    entering = zip(nest.body.block.args, zip(nest.ins, nest.maps_in()))
    maps: dict[SSAValue, tuple[SSAValue, IndexMap]] = dict(entering)

    def mirrors(a: SSAValue, b: SSAValue) -> bool:
        if a in maps and b in maps:
            (x, left), (y, right) = maps[a], maps[b]
            swapped = [e.substitute(swap) for e in (*left.exprs, *left.guards)]
            return x is y and swapped == [*right.exprs, *right.guards]
        x, y = a.owner, b.owner
        if not isinstance(x, Operation) or not isinstance(y, Operation) or isinstance(x, loop.IndexOp | kernel.ReadOp):
            return a is b
        same = type(x) is type(y) and x.properties == y.properties and x.attributes == y.attributes
        return same and all(map(mirrors, x.operands, y.operands))

    behind = list(nest.epilogue.block.walk())
    places = [op.expr.data for op in behind if isinstance(op, loop.IndexOp)]
    for index in nest.maps_in()[len(nest.ins) - nest.n_epilogue_inputs :]:
        places += [*index.exprs, *index.guards]
    placeless = not any(isinstance(op, kernel.ReadOp) for op in behind)
    placeless = placeless and not any(swap.keys() & e.symbols() for e in places)
    return extents[i] is extents[j] and placeless and mirrors(*factors.values)
