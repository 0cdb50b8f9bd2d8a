"""Verification of whole modules: dominance, which xDSL does not check, and each operation's own verifier.

Every compilation verifies what it begins with; debug runs (`TXC_VERIFY`) and tests what each pass makes of it.
Dominance covers all dialects whose regions have one block each.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

__all__ = ["check_dominance", "verify_distinct"]


def verify_distinct(top: Operation) -> None:
    """Raise VerifyException where dominance, or the verifier of an operation inside `top`, does not hold.

    What a verifier asks of an operation without regions follows from its types and attributes, so of those that have
    the same only the first is verified: most of a long program is few operations written many times.
    """
    check_dominance(top)
    verified: set[Hashable] = set()
    for op in top.walk():
        key = _distinct(op)
        if key is None or key not in verified:
            op.verify(verify_nested_ops=False)
            verified.add(key)


def _distinct(op: Operation) -> Hashable | None:
    """What tells an operation from others for its verifier; None where that is more than types and attributes."""
    if op.regions or op.next_op is None:  # what ends a block has to be a terminator
        return None
    operands, results = (tuple(v.type for v in values) for values in (op.operands, op.results))
    attributes = frozenset((name, a) for name, a in op.attributes.items() if name != "loc")
    return type(op), operands, results, attributes, frozenset(op.properties.items())


def check_dominance(top: Operation) -> None:
    """Raise VerifyException, naming the operation and the operand, for a use that no definition dominates.

    Values from outside `top` are taken to be defined.
    """
    for region in top.regions:
        _check_region(region, set(), top)


def _check_region(region: Region, visible: set[SSAValue], top: Operation) -> None:
    if len(region.blocks) > 1:
        raise VerifyException("a region of several blocks: dominance is checked for structured control flow only")
    for block in region.blocks:
        # A sibling region must not see what this one defines.
        _check_block(block, set(visible), top)


def _check_block(block: Block, visible: set[SSAValue], top: Operation) -> None:
    visible.update(block.args)
    for op in block.ops:
        for i, value in enumerate(op.operands):
            if value not in visible and not _outside(value, top):
                raise VerifyException(f"operand {i} of {op.name} is used {_where(value, op)}")
        for region in op.regions:
            _check_region(region, set() if op.has_trait(IsolatedFromAbove) else visible, top)
        visible.update(op.results)


def _outside(value: SSAValue, top: Operation) -> bool:
    owner = value.owner
    inside = owner if isinstance(owner, Operation) else owner.parent_op()
    if inside is top and isinstance(value, BlockArgument):
        return False
    return inside is not None and inside is not top and not top.is_ancestor(inside)


def _where(value: SSAValue, op: Operation) -> str:
    owner = value.owner
    if isinstance(owner, Operation):
        if owner.parent is op.parent:
            return f"before {owner.name} defines it"
        return f"outside the region in which {owner.name} defines it"
    return "outside the block whose argument it is"
