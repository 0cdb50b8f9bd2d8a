"""Reductions follow the layout: the order of arithmetic where that has dims in another order than the program counts
them.

What `lower` made goes along the last dim by lanes, along others by a chain for each result, and takes several dims with
the last one as the fastest.  Here the last dim is the one that memory has as the fastest, and several go as they lie
there, as NumPy has it: an argument's as its strides say, a view's of the same dims as those of what it is of, a map's
as its operands' where these agree.  So a reduction of ``x.T`` has the bits of the same reduction of ``x``, and none
walks across memory.  Elements that strides do not pack, and all others, have the order of the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ...dialects import tx
from ...dialects.attributes import order_attr, tensor_of, to_attr
from ...dialects.registry import Reduction, Scan
from ...dialects.types import TensorType
from .layout_inference import Order, argument_layouts, contraction_layout, is_dense_read, row_major, view_layout

__all__ = ["ReductionOrderPass"]


@dataclass(frozen=True)
class ReductionOrderPass(ModulePass):
    """Give reductions of operands that are not row-major the order in which memory has them.

    With ``follow-layout=false`` all go in the program's order of dims, so that no layout of arguments changes a bit.
    """

    name = "tx-reduction-order"
    follow_layout: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.follow_layout:
            return
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            given = argument_layouts(function)
            _Rewriter({value: order for value, order in given.items() if order != row_major(len(order))}).block(
                function.body.block
            )


def _ops_in(block: Block) -> Iterator[tx.TxOp]:
    """The operations of a block and of those inside, each after what it uses."""
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                yield from _ops_in(inner)
        if isinstance(op, tx.TxOp):
            yield op


class _Rewriter:
    """`orders` has those of values that are not row-major."""

    def __init__(self, orders: dict[SSAValue, Order]):
        self.orders = orders

    def block(self, block: Block) -> None:
        for op in _ops_in(block):
            if isinstance(op, tx.ScanOp):
                self._scan(op)
            elif isinstance(op, tx.ReductionOp):
                self._reduction(op)
            elif isinstance(op, tx.ContractOp):
                self._contraction(op)
            found = self._order_of(op)
            if found is not None and found != row_major(len(found)):
                self.orders[op.results[0]] = found

    def _of(self, value: SSAValue) -> Order:
        return self.orders.get(value) or row_major(tensor_of(value.type).rank)

    def _order_of(self, op: tx.TxOp) -> Order | None:
        """The order of a result, where operands say anything about it."""
        if isinstance(op, tx.ViewOp):
            return view_layout(op, self._of(op.operands[0]))
        if isinstance(op, tx.ScanOp):
            return self._of(op.operands[0])
        if isinstance(op, tx.ContractOp):
            return contraction_layout(op, [self._of(v) for v in op.operands])
        if isinstance(op, tx.MapOp):
            found = {self._of(value) for value in op.operands if is_dense_read(value)}
            return found.pop() if len(found) == 1 else None
        return None

    def _reduction(self, op: tx.ReductionOp) -> None:
        order = self.orders.get(op.operand)
        if order is None or op.order.kind == "serial":
            return
        interchanged, decl = _interchanged(tensor_of(op.operand.type), order), op.bound
        assert issubclass(decl, Reduction)
        slides = tx.slides(op.operand, op.dims)
        op.attributes["order"] = order_attr(decl.order(interchanged, tuple(order.index(d) for d in op.dims), slides))
        places = sorted(op.dims)
        along = [d for d in order if d in places]
        if along != places and not decl.indexed:
            self._interchange(op, dict(zip(places, along)))

    def _interchange(self, op: tx.ReductionOp, source: dict[int, int]) -> None:
        """Interchange dims that are reduced together: each becomes another one of them."""
        place = {"loc": op.attributes["loc"]} if "loc" in op.attributes else {}
        rank = tensor_of(op.operand.type).rank
        permutation = tuple(source.get(i, i) for i in range(rank))
        interchanged = tx.make("shuffle", [op.operand], {"permutation": permutation}, extra=place)
        assert op.parent is not None
        op.parent.insert_op_before(interchanged, op)
        op.operands[0] = interchanged.results[0]

    def _scan(self, op: tx.ScanOp) -> None:
        order = self.orders.get(op.operand)
        if order is None or op.order.kind == "free":
            return
        interchanged, decl = _interchanged(tensor_of(op.operand.type), order), op.bound
        assert issubclass(decl, Scan)
        op.attributes["order"] = order_attr(decl.order(interchanged, order.index(op.axis)))

    def _contraction(self, op: tx.ContractOp) -> None:
        """Sums of a product of which one operand has no dims of its own are those of the other one's elements."""
        met = len(op.pairs) + len(op.batch)
        left, right = (tensor_of(v.type) for v in op.operands)
        side = int(right.rank > met)
        order = self.orders.get(op.operands[side])
        if order is None or (left.rank > met and right.rank > met):
            return
        pairs = sorted(op.pairs, key=lambda pair: order.index(pair[side]))

        def interchanged(pair: tuple[int, int]) -> tuple[int, int]:
            return (pair[0], order.index(pair[1])) if side else (order.index(pair[0]), pair[1])

        types = [_interchanged(t, order) if i == side else t for i, t in enumerate((left, right))]
        slides = any(tx.slides(value, dims) for value, dims in zip(op.operands, zip(*pairs)))
        made = tx.contract_order(types, [interchanged(p) for p in pairs], [interchanged(p) for p in op.batch], slides)
        op.attributes["order"] = order_attr(replace(made, product=op.order.product))
        if pairs != list(op.pairs):
            op.attributes["pairs"] = to_attr(tuple(pairs))


def _interchanged(tensor: TensorType, order: Order) -> TensorType:
    """The type with dims as memory has them."""
    return tensor.with_dims(tuple(tensor.dims[d] for d in order))
