"""The blocks of tensor programs: those of functions, loops and branches, which passes go through one by one."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ...dialects import kernel, tx

__all__ = ["blocks_of"]

#: Ops whose regions hold ops on tensors; those of others hold the bodies of nests.
_CONTROL = (tx.ForOp, tx.WhileOp, tx.IfOp, kernel.ForOp, kernel.WhileOp, kernel.IfOp)


def blocks_of(module: ModuleOp) -> Iterator[tuple[func.FuncOp, Block]]:
    """Each function of a module with each of its blocks, inner blocks before those that they stand in."""
    for function in [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]:
        yield from ((function, block) for block in _inner_first(function))


def _inner_first(op: Operation) -> Iterator[Block]:
    for region in op.regions:
        for block in region.blocks:
            for inner in list(block.ops):
                if isinstance(inner, _CONTROL):
                    yield from _inner_first(inner)
            yield block
