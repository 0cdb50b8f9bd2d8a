"""The user's lines through passes that build new operations: what is made of an op has its ``loc``."""

from __future__ import annotations

from xdsl.ir import Block, Operation

__all__ = ["copy_loc"]


def copy_loc(op: Operation, block: Block, before: Operation | None) -> None:
    """Give the ops of `block` behind `before` (None: all), which were made of `op`, its line where they have none."""
    loc = op.attributes.get("loc")
    made = block.last_op
    while loc is not None and made is not None and made is not before:
        made.attributes.setdefault("loc", loc)
        made = made.prev_op
