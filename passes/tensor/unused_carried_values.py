"""Values that loops carry and nobody reads: whether a number is Python's or NumPy's, say, where both compute the same.

What an iteration computes stays, read or not, as it may be checked: a value goes where iterations only hand it on.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ...dialects import tx
from ...dialects.attributes import integer_attr

__all__ = ["without_unused_values"]


def without_unused_values(loop: tx.ForOp | tx.WhileOp) -> None:
    """Replace a loop by one that carries fewer values, if there are some that nobody reads."""
    unused = _unused(loop)
    if not unused:
        return
    kept = [i for i in range(len(loop.operands)) if i not in unused]
    body = loop.regions[-1].block
    assert body.last_op is not None
    body.last_op.operands = [body.last_op.operands[i] for i in kept]
    for region in loop.regions:
        for i in sorted(unused, reverse=True):
            region.block.erase_arg(region.block.args[i])
    attributes = dict(loop.attributes)
    for name, number in _numbered(loop).items():
        attributes[name] = integer_attr(kept.index(number))
    made = type(loop).create(
        operands=[loop.operands[i] for i in kept], result_types=[loop.results[i].type for i in kept],
        attributes=attributes, regions=[loop.detach_region(region) for region in list(loop.regions)],
    )  # fmt: skip
    block = loop.parent
    assert block is not None
    block.insert_op_before(made, loop)
    for i, result in zip(kept, made.results):
        loop.results[i].replace_all_uses_with(result)
    loop.detach()
    loop.erase()


def _unused(loop: tx.ForOp | tx.WhileOp) -> set[int]:
    """The numbers of the values, each of which is read at most by handing on another of them."""
    last = loop.regions[-1].block.last_op
    assert last is not None
    found = set(range(len(loop.operands))) - set(_numbered(loop).values())

    def is_used(i: int) -> bool:
        made = last.operands[i].owner
        if loop.results[i].first_use is not None or (isinstance(made, Operation) and loop.is_ancestor(made)):
            return True
        uses = (use for region in loop.regions for use in region.block.args[i].uses)
        return any(use.operation is not last or use.index not in found for use in uses)

    while used := {i for i in found if is_used(i)}:
        found -= used
    return found


def _numbered(loop: tx.ForOp | tx.WhileOp) -> dict[str, int]:
    """The attributes that say the number of a value."""
    if isinstance(loop, tx.WhileOp):
        return {}
    numbers = {"until": loop.ends_at, "only": loop.only}
    return {name: number for name, number in numbers.items() if number is not None}
