"""Layout swap: in which physical order each materialised value is stored (stage `canonical` to stage `layout`).

Logical order never changes here; a value's ``layout`` attribute lists its dims from the slowest to the fastest in
memory, and is absent for row-major.  Orders flow forward: an input has the order of its strides (``tx.strides``), a
view of the same dims keeps it (a slice) or permutes it, a map takes the order that most bytes of its operands have, a
scan that of its operand, a product of operands whose columns lie together has its columns together.  So ``x.T + y.T``
reads and writes memory in one pass and its result is stored transposed, as NumPy's ``order="K"`` does; and a
permutation that meets its inverse costs nothing, whatever maps lie between.  What reductions and maps read more than
once is marked too, as it may be materialized.  Each decision carries the bytes that row-major storage would have moved
against the grain (``saved``).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ...dialects import tx
from ...dialects.attributes import integer_attr, tensor_of, to_attr
from ..cost.model import CostModel, assumed_size
from ..cost.remarks import remark
from .layout_inference import Order, argument_layouts, contraction_layout, is_dense_read, row_major, view_layout

__all__ = ["LayoutSwapPass"]


@dataclass(frozen=True)
class LayoutSwapPass(ModulePass):
    """Choose physical orders.

    ``row_major_results=true`` stores the function's results row-major whatever they cost, ``swap=false`` every value.
    """

    name = "tx-swap-layout"
    row_major_results: bool = False
    swap: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not self.swap:
            return
        costs = CostModel.of(op)
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            _Rewriter(costs, self.row_major_results, argument_layouts(function)).block(function.body.block)


class _Rewriter:
    def __init__(self, costs: CostModel, row_major_results: bool, orders: dict[SSAValue, Order]):
        self.costs, self.row_major_results, self.orders = costs, row_major_results, orders

    def block(self, block: Block) -> None:
        for op in block.ops:
            for region in op.regions:
                for inner in region.blocks:
                    self.block(inner)
            if isinstance(op, tx.ViewOp):
                self._view(op)
            elif isinstance(op, tx.MapOp):
                self._map(op)
            elif isinstance(op, tx.ScanOp):
                self._scan(op)
            elif isinstance(op, tx.ContractOp):
                self._contract(op)
            elif isinstance(op, tx.EvalOp):
                self.orders[op.results[0]] = self._order(op.operands[0])

    def _order(self, value: SSAValue) -> Order:
        return self.orders.get(value, row_major(tensor_of(value.type).rank))

    def _view(self, op: tx.ViewOp) -> None:
        """A view whose dims are dims of its operand carries the operand's order over; any other is row-major."""
        order = view_layout(op, self._order(op.operands[0]))
        if order is not None:
            self.orders[op.results[0]] = order

    def _scan(self, op: tx.ScanOp) -> None:
        """Partial results lie as the elements that they are made of."""
        tensor = tensor_of(op.operand.type)
        self._choose(op, {self._order(op.operand): assumed_size(tensor) * tensor.dtype.bytes})

    def _contract(self, op: tx.ContractOp) -> None:
        order = contraction_layout(op, [self._order(v) for v in op.operands])
        if order is not None:
            tensor = tensor_of(op.results[0].type)
            self._choose(op, {order: assumed_size(tensor) * tensor.dtype.bytes})

    def _map(self, op: tx.MapOp) -> None:
        votes: dict[Order, float] = {}
        for operand in op.operands:
            if is_dense_read(operand):
                order = self._order(operand)
                tensor = tensor_of(operand.type)
                votes[order] = votes.get(order, 0.0) + assumed_size(tensor) * tensor.dtype.bytes
        if votes:
            self._choose(op, votes)

    def _choose(self, op: tx.MapOp | tx.ScanOp | tx.ContractOp, votes: dict[Order, float]) -> None:
        """Give a result the order with most bytes of operands."""
        result = op.results[0]
        plain = row_major(tensor_of(result.type).rank)
        best = max(votes, key=lambda order: (votes[order], order == plain))
        self.orders[result] = best
        stored = _is_stored(result, self.row_major_results) or _may_be_materialized(result)
        if best != plain and stored:
            op.attributes["layout"] = to_attr(best)
            op.attributes["saved"] = integer_attr(int(votes[best] - votes.get(plain, 0.0)))
        if stored and set(votes) != {plain}:
            self._remark(op, best, votes)

    def _remark(self, op: tx.MapOp | tx.ScanOp | tx.ContractOp, best: Order, votes: dict[Order, float]) -> None:
        """The cost of each layout: what is read in another one takes a cache line for every element."""
        line = self.costs.machine.cache_line / tensor_of(op.results[0].type).dtype.bytes
        orders = sorted({*votes, best, row_major(len(best))})
        against = {order: sum(v for o, v in votes.items() if o != order) for order in orders}
        choices = {
            f"layout {list(order)}": self.costs.transfer_ns(sum(votes.values()) + (line - 1) * bytes_, in_l2=False)
            for order, bytes_ in against.items()
        }
        remark("layout", op.name, f"layout {list(best)}", "the layout of most bytes of its operands", choices, op)


def _is_stored(value: SSAValue, row_major_results: bool) -> bool:
    """Whether the value goes to memory of its own: an eval's, or a result's that is not written into an argument."""
    for use in value.uses:
        if isinstance(use.operation, tx.EvalOp):
            return True
        if isinstance(use.operation, func.ReturnOp) and not row_major_results:
            function = use.operation.parent_op()
            assert isinstance(function, func.FuncOp)
            aliases = function.attributes.get("tx.aliases")
            if not isinstance(aliases, ArrayAttr) or int(aliases.data[use.index].value.data) < 0:  # type: ignore[attr-defined]
                return True
    return False


def _may_be_materialized(value: SSAValue) -> bool:
    """Whether a value goes to memory where that takes less than computing it again, for nests that take any order."""
    uses = [use.operation for use in value.uses]
    several = len(uses) > 1 or isinstance(value.owner, tx.ScanOp)
    return several and all(isinstance(op, tx.MapOp | tx.ReductionOp) for op in uses)
