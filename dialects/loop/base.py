"""What the ops of the `loop` dialect share: iterators and their ranges, and the end of a region."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, attr_def, irdl_op_definition, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from ..attributes import DimAttr
from ..dims.dims import Sym
from ..region_assembly import read_region

__all__ = ["Ranged", "YieldOp", "body_of", "expect_yield", "parallel_around"]


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a region: the next iteration's carried values, a reduction's element, a branch's results."""

    name = "loop.yield"
    values = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, *values: SSAValue):
        Operation.__init__(self, operands=values)


class Ranged(IRDLOperation):
    """Shared by ops with an iterator: ``iv`` from ``lower`` (inclusive) to ``upper`` (exclusive) by ``step``."""

    iv = attr_def(StringAttr)
    lower = attr_def(DimAttr)
    upper = attr_def(DimAttr)
    step = attr_def(DimAttr)

    @property
    def symbol(self) -> Sym:
        return Sym(self.iv.data)

    @property
    def block(self) -> Block:
        return self.regions[0].block

    def verify_range(self) -> None:
        for name, expr in (("lower", self.lower.data), ("upper", self.upper.data), ("step", self.step.data)):
            if self.symbol in expr.symbols():
                raise VerifyException(f"'{name}' mentions the loop's own iterator {self.symbol}")
        if self.step.data.const is not None and self.step.data.const <= 0:
            raise VerifyException(f"'step' must be positive, not {self.step.data}")


def body_of(parser: Parser, arguments: Sequence[Parser.Argument] = ()) -> Region:
    """A region, which ends in an empty `loop.yield` where its text does not say how."""
    return read_region(parser, arguments, YieldOp)


def parallel_around(op: Operation) -> str:
    """The kind of the innermost parallel loop around an op; empty where there is none, or no function yet."""
    parent = op.parent_op()
    while parent is not None and parent.name != "loop.parallel":
        parent = parent.parent_op()
    kind = parent.attributes["kind"] if parent is not None else None
    return kind.data if isinstance(kind, StringAttr) else ""


def expect_yield(op: Operation, region: int, types: Sequence[Attribute]) -> None:
    last = op.regions[region].block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException(f"region {region} of {op.name} must end in loop.yield")
    found = tuple(v.type for v in last.values)
    if found != tuple(types):
        raise VerifyException(
            f"region {region} of {op.name} must yield "
            f"({', '.join(map(str, types))}), not ({', '.join(map(str, found))})"
        )
