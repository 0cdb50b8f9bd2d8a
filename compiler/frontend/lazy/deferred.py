"""Values whose nodes are known, and are made when somebody asks for them.

A *recipe* says which nodes an op makes of operands of known types.  Outside a trace its result waits: an expression
that was evaluated before is found by its form (`structural_key`), and needs no nodes at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, final

from ....dialects.registry import Op
from ....dialects.types import TensorType
from ...diagnostics import Loc
from ..trace.graph import Node, Value, next_serial
from .structural_key import StructuralKey

__all__ = ["DeferredValue", "OpTemplate", "Step", "array_of_leaf", "force"]


class Step(NamedTuple):
    """One node: `operands` count the values there are so far, first those that are given."""

    op: type[Op]
    operands: tuple[int, ...]
    attrs: dict[str, Any]
    types: tuple[TensorType, ...]
    text: str


class OpTemplate:
    """Nodes to be made of given values; `results` count values as a step's operands do.

    Two of them are equal where they are the same object.
    """

    __slots__ = ("layout", "results", "steps", "types", "weak")

    def __init__(
        self, steps: tuple[Step, ...], results: tuple[int, ...], types: tuple[TensorType, ...], layout: str, weak: str
    ):
        self.steps, self.results, self.types, self.layout, self.weak = steps, results, types, layout, weak

    def made(self, given: Sequence[Value], loc: Loc | None, before: int) -> list[Value]:
        """Its results of values whose nodes are there, as if made right before the moment `before`."""
        values = list(given)
        for number, (op, positions, attrs, types, text) in enumerate(self.steps):
            node = Node(op, [values[i] for i in positions], attrs, types, loc, text=text)
            node.serial = before - 1 + (number + 1) / (len(self.steps) + 1)
            values += node.results
        return [values[i] for i in self.results]


@final
class DeferredValue(Value):
    """The only result of a recipe, applied to values that may be unmade themselves; its nodes are `made` at most once.

    What a recipe was taken from has one too: so an expression looks the same the first time and later.
    """

    __slots__ = ("_made", "form", "leaves", "loc", "operands", "serial", "template")

    index = 0

    def __init__(
        self, template: OpTemplate, form: StructuralKey | None, leaves: tuple[Value, ...],
        operands: list[Value], loc: Loc | None, made: Value | None = None,
    ):  # fmt: skip
        self.template, self.form, self.leaves = template, form, leaves
        self.operands, self.loc, self._made = operands, loc, None
        self.serial = next_serial()
        if made is not None:
            self._is(made)

    @property
    def type(self) -> TensorType:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.template.types[0]

    @property
    def node(self) -> Node:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.made().node

    @property
    def is_made(self) -> bool:
        return self._made is not None

    def made(self) -> Value:
        """The result of its nodes: made now, with those that it needs, or earlier."""
        found: Value | None = self._made
        if found is not None:
            return found
        waiting: set[DeferredValue] = set()
        stack = [self]
        while stack:
            value = stack.pop()
            if value not in waiting:
                waiting.add(value)
                stack += [v for v in value.operands if type(v) is DeferredValue and v._made is None]
        for value in sorted(waiting, key=lambda v: v.serial):
            (made,) = value.template.made([force(v) for v in value.operands], value.loc, value.serial)
            value._is(made)
        return self.made()

    def _is(self, made: Value) -> None:
        """Note the result of its nodes, which computes what this does."""
        self._made = made
        if made.operands and made.form is None:
            made.leaves, made.form = self.leaves, self.form


def force(value: Value) -> Value:
    """The value, its nodes made."""
    return value.made() if type(value) is DeferredValue else value


def array_of_leaf(value: Value) -> Any:
    """The array that a value is; None for what is computed."""
    return None if type(value) is DeferredValue else value.node.leaf
