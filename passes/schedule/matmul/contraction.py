"""A contraction as its schedules see it, on CPUs and GPUs: stacks of M by N results, each a sum of K products."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.ir import Attribute, Block, SSAValue

from ....dialects import kernel
from ....dialects.dims.dims import Dim, Sym, dim
from ....dialects.dims.index_map import product, unravel
from ..access import accesses, at_iterators, order_of
from ..blocks import parallel_loop
from ..body import ScheduleContext
from .match import MatmulOperands

__all__ = ["Contraction"]


class Contraction:
    """Rows of the results are numbered along the left operand's iterators, columns along the right one's.

    `batch` says where the iterators of both stand, `alone` whether threads share loops around a matrix of a stack.
    """

    def __init__(self, context: ScheduleContext, nest: kernel.GenericOp, factors: MatmulOperands):
        self.context, self.nest, self.factors = context, nest, factors
        self.batch: dict[Sym, Dim] = {}
        self.alone = False
        self.m, self.n = (product(self.extents(own)) for own in (factors.left, factors.right))
        self.k = nest.extents.data[-1]
        #: The factors as the schedule takes them: those of the nest, or what these were widened from.
        self.values = factors.values
        self.accumulator: Attribute = nest.combiner.block.args[0].type

    def extents(self, iterators: Sequence[int]) -> list[Dim]:
        """Those of iterators of the nest, by their numbers."""
        return [self.nest.extents.data[i] for i in iterators]

    @property
    def stack(self) -> list[Dim]:
        """How many matrices there are, along each iterator of both operands."""
        return self.extents(self.factors.batch)

    def point(self, row: Dim, column: Dim, k: Dim) -> dict[Sym, Dim]:
        """Where the nest's iterators stand at a row and a column of the results and an element along K."""
        found = {**self.batch, self.nest.reduced: k}
        for iterators, linear in ((self.factors.left, row), (self.factors.right, column)):
            found |= at_iterators(iterators, unravel(linear, self.extents(iterators)))
        return found

    def point_of_operand(self, operand: int, beside: Dim, k: Dim) -> dict[Sym, Dim]:
        """Where they stand at an element of the left (0) or right (1) operand: a row or a column, and along K."""
        return self.point(dim(0), beside, k) if operand else self.point(beside, dim(0), k)

    def factor(self, operand: int, beside: Dim, k: Dim, block: Block) -> SSAValue:
        """That element, with what the body computes of it, appended to the block."""
        point = self.point_of_operand(operand, beside, k)
        return self.context.operand_value(self.nest, self.values[operand], point, block)

    def lies_along_k(self, operand: int) -> bool:
        """Whether the left (0) or right (1) operand is contiguous along K rather than along its own last iterator."""
        k, own = self.nest.reduced, Sym(f"d{(self.factors.left, self.factors.right)[operand][-1]}")
        access_list = accesses(self.nest)[: self.nest.n_element_inputs]
        mine = [w for w in access_list if (step := w.step(own)) is not None and step.terms]
        return any(w.is_contiguous(k) for w in mine)

    def element(self, block: Block, left: SSAValue, right: SSAValue) -> list[SSAValue]:
        """What the order adds up of two factors: themselves, or their product where that is exact."""
        if order_of(self.nest).product:
            return [left, right]
        product_ = arith.MuliOp(left, right)
        block.add_op(product_)
        return [product_.result]

    def each_matrix(self, block: Block, grain: Dim, write: Callable[[Block], None]) -> None:
        """What `write` adds for a matrix of a stack, for all of them: threads share these, `grain` of them a task."""
        number = self.context.new_iv()
        with parallel_loop(block, number, 0, product(self.stack), grain=grain) as body:
            self.batch = at_iterators(self.factors.batch, self.context.index_of(body, number, self.stack))
            self.alone = True
            write(body)
