"""Values whose nodes are known, and are made when somebody asks for them.

A *recipe* says which nodes an op makes of operands of known types.  Outside a trace its result waits: an expression
that was evaluated before is found by its key (`structural_key`), and needs no nodes at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, final

from ....dialects.registry import Op
from ....dialects.types import TensorType
from ...diagnostics import Loc
from ..trace.graph import Node, SingleResultNode, Value, next_serial
from .structural_key import Key, changing

__all__ = ["DeferredValue", "OpTemplate", "Step", "array_of_leaf", "become_array", "force", "looks_as", "made_in_steps"]


class Step(NamedTuple):
    """One node: `operands` count the values there are so far, first those that are given."""

    op: type[Op]
    operands: tuple[int, ...]
    attrs: dict[str, Any]
    types: tuple[TensorType, ...]
    text: str


class OpTemplate:
    """Nodes to be made of given values; `results` count values as a step's operands do.

    `head` is what was asked for, without the types of operands.  Two of them are equal where they are the same object.
    """

    __slots__ = ("head", "layout", "results", "steps", "types", "weak")

    def __init__(
        self, head: tuple[Any, ...], steps: tuple[Step, ...], results: tuple[int, ...], types: tuple[TensorType, ...],
        layout: str, weak: str,
    ):  # fmt: skip
        self.head, self.steps, self.results, self.types = head, steps, results, types
        self.layout, self.weak = layout, weak

    def made(self, given: Sequence[Value], loc: Loc | None, before: int) -> list[Value]:
        """Its results of values whose nodes are there, as if made right before the moment `before`."""
        values = list(given)
        for number, (op, positions, attrs, types, text) in enumerate(self.steps):
            node = Node(op, [values[i] for i in positions], attrs, types, loc, text=text)
            node.serial = before - 1 + (number + 1) / (len(self.steps) + 1)
            values += node.results
        return made_in_steps(values[len(given) :], [values[i] for i in self.results])


def made_in_steps(values: Sequence[Value], results: list[Value]) -> list[Value]:
    """The results of a template's nodes, which made all the values."""
    for value in values:
        value.is_step = value not in results
    return results


@final
class DeferredValue(Value):
    """The only result of a recipe, of values that may be unmade themselves; its nodes are `made` at most once."""

    __slots__ = ("key", "loc", "made_value", "operands", "serial", "template", "was_inside")

    index = 0
    is_step = False

    def __init__(self, template: OpTemplate, key: Key, operands: Sequence[Value], loc: Loc | None):
        self.template, self.key, self.operands, self.loc = template, key, operands, loc
        #: The result of its nodes, where they are made.
        self.made_value: Value | None = None
        self.was_inside = False
        self.serial = next_serial()

    @property
    def type(self) -> TensorType:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.template.types[0]

    @property
    def node(self) -> Node:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.made().node

    @property
    def origin(self) -> tuple[OpTemplate, Sequence[Value]] | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        operands = self.operands
        return (self.template, operands) if operands else None

    def made(self) -> Value:
        """The result of its nodes: made now, with those that it needs, or earlier."""
        found: Value | None = self.made_value
        if found is not None:
            return found
        with changing:
            waiting: set[DeferredValue] = set()
            stack = [self]
            while stack:
                value = stack.pop()
                if value not in waiting and value.made_value is None:
                    waiting.add(value)
                    stack += [v for v in value.operands if type(v) is DeferredValue]
            for value in sorted(waiting, key=lambda v: v.serial):
                (made,) = value.template.made([force(v) for v in value.operands], value.loc, value.serial)
                looks_as(made, value.template, value.key, value.operands)
                value.made_value = made
            return self.made()


def force(value: Value) -> Value:
    """The value, its nodes made."""
    return value.made() if type(value) is DeferredValue else value


def looks_as(made: Value, template: OpTemplate, key: Key | None, operands: Sequence[Value]) -> None:
    """Let the result of nodes have the key of what a template makes, so that expressions look the same each time."""
    if made.operands:
        made.key, made.origin = key, (template, operands)


def array_of_leaf(value: Value) -> Any:
    """The array that a value is; None for what is computed."""
    if type(value) is DeferredValue:
        made = value.made_value
        return None if made is None else made.node.leaf
    return value.node.leaf


def become_array(value: Value, array: Any) -> None:
    """Let a value that is computed be an array, which holds what it computes, for all that refer to it.

    Called while `changing`.  Who reads a part of it at that time finds either: the array is there first.
    """
    if isinstance(value, SingleResultNode):
        value.leaf = array
        value.op, value.operands, value.regions, value.attrs, value.loc = None, (), (), {"fixed": False}, None
        value.origin, value._text = None, ""
    elif type(value) is DeferredValue:
        made = value.made_value
        if made is None:
            value.made_value = SingleResultNode.of_array(array, value.type, False)
        elif array_of_leaf(made) is None:
            become_array(made, array)
        value.operands = ()
    else:
        value.node = SingleResultNode.of_array(array, value.type, False)
    value.key = None
