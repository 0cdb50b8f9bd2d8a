"""Branches that only compute are no branches: both are computed, and one is chosen element by element.

So short expressions stay parts of the loops that they are fused into.  What stores, may fail or takes long stays a
branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....dialects.registry import RAISE, Map, View
from ..staging.regions.fork import Fork
from ..tensor.apply import apply, as_tensor
from ..tensor.tensor import Tensor
from ..trace.context import table
from ..trace.graph import Block, Node, Value, inside
from ..trace.symint import SymInt
from .alternatives.choice import options_of
from .alternatives.mixed_numbers import Common, MixedNumber, common_value, is_of, kinds_of
from .state import is_number

__all__ = ["merged_into_one"]

#: The most operations of both branches together.
_SHORT = 64
_PLAIN = ("cast", "constant", "dim", "expand")


def merged_into_one(fork: Fork, values: Sequence[Any], again: Callable[..., Any]) -> Tensor | MixedNumber | None:
    """The value of ``a if c else b`` without a branch; None where it has to be one.

    `again` is `ControlFlow.fork_value`.
    """
    if any(fork.written) or any(block.demands for block in fork.blocks):
        return None
    kinds = [*map(kinds_of, values)]
    if all(kinds) and (kinds[0] != kinds[1] or len(kinds[0]) > 1):
        return _mixed_into_one(fork, values, again)
    if not all(map(is_number, values)) or any(isinstance(x, Tensor) and len(options_of(x)) > 1 for x in values):
        return None
    if any(isinstance(x, SymInt) and not table().knows(x.dim) for x in values):  # a size that a branch found
        return None
    tensors = [*map(as_tensor, values)]
    if kinds[0] != kinds[1] or not _of_one_type(*tensors) or not _taken_out(fork, [(v,) for v in values]):
        return None
    then, otherwise = values
    if then is True and otherwise is False:
        made = fork.cond
    elif _is_condition(otherwise, False, fork) and as_tensor(then).element.kind == "bool":
        made = apply("logical_and", fork.cond, then)
    elif _is_condition(then, True, fork) and as_tensor(otherwise).element.kind == "bool":
        made = apply("logical_or", fork.cond, otherwise)
    else:
        made = apply("select", fork.cond, then, otherwise)
    first, second = tensors
    if first.weak != second.weak:
        return made
    return Tensor(made.value, layout=made.layout, weak=first.weak, boxed=made.boxed or first.boxed)


def _is_condition(value: Any, truth: bool, fork: Fork) -> bool:
    """Whether a value is what the condition is on the side where it has that truth."""
    return value is truth or (isinstance(value, Tensor) and value.value is fork.cond.value)


def _mixed_into_one(fork: Fork, values: Sequence[Any], again: Callable[..., Any]) -> MixedNumber | None:
    """One of two numbers of different types."""
    common = Common.of(values[0]).joined(values[1])
    if common is None:
        return None
    parts: list[list[Any]] = []
    for side, x in enumerate(values):
        with fork.at_end(side):
            parts.append([common_value(x, common.element), *(is_of(x, kind) for kind in common.kinds)])
    if any(block.demands for block in fork.blocks) or not _taken_out(fork, parts):
        return None
    made, *conds = (_chosen(fork.cond, *both) for both in zip(*parts))
    return MixedNumber("the value", made, common, conds, again)


def _chosen(cond: Tensor, then: Any, otherwise: Any) -> Tensor:
    if isinstance(then, bool) and isinstance(otherwise, bool):
        return cond if then else apply("logical_not", cond)
    return apply("select", cond, then, otherwise)


def _taken_out(fork: Fork, values: Sequence[Sequence[Any]]) -> bool:
    """Whether some values of each side could be computed outside of it, where they are then."""
    nodes: list[Node] = []
    for of, block in zip(values, fork.blocks):
        if not all(_collect(value.value, block, nodes) for value in of if isinstance(value, Tensor)):
            return False
    for node in nodes:
        node.block = fork.trace.block
    return True


def _of_one_type(a: Tensor, b: Tensor) -> bool:
    """Whether two values are numbers, or arrays of one dtype and shape."""
    if not (a.ndim or a.boxed or b.ndim or b.boxed):
        return True
    same = a.ndim == b.ndim and (a.ndim > 0 or a.boxed == b.boxed) and a.element is b.element
    return same and all(table().decide(m, "==", n, "a value has one shape") for m, n in zip(a.dims, b.dims))


def _collect(value: Value, block: Block, nodes: list[Node]) -> bool:
    """Collect the nodes of a block that a value needs; whether all of them only compute, and are few."""
    waiting = [value.node]
    while waiting:
        node = waiting.pop()
        if node.block is not block and inside(node.block, block):  # where a size is known that the branch found
            return False
        if node.block is not block or node in nodes:
            continue
        plain = node.op is not None and (issubclass(node.op, (Map, View)) or node.op.name in _PLAIN)
        if not plain or node.regions or node.attrs.get("mode") == RAISE or len(nodes) >= _SHORT:
            return False
        nodes.append(node)
        waiting += [v.node for v in node.operands]
    return True
