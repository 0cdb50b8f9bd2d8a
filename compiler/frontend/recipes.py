"""What elementwise ops make of lazy operands: nodes that depend on types alone, found once and then made again.

Outside a trace sizes are numbers and nothing is learnt of them, so an op on tensors of known dtypes and dims, and on
numbers, becomes the same nodes every time: literals in the common dtype, casts, broadcasts, itself.  A *recipe* has
them with their types inferred.  It is taken from what `apply` made the first time, so there is one place that says what
an op means.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...dialects.registry import OPS, Op
from ...dialects.types import TensorType
from ..diagnostics import user_loc
from .bounded import keep_latest
from .graph import Loc, Node, Value
from .tensor import Tensor

__all__ = ["Operands", "keep", "keep_value", "operands_of", "replayed", "value_of"]

#: How many recipes are kept; the oldest goes first.
MOST = 4096
#: Numbers that are told apart by type and value.
_NUMBERS = frozenset({bool, int, float, np.float32, np.float64, np.int32, np.int64, np.bool_})


class Operands(NamedTuple):
    """What selects a recipe, and the values that it is applied to."""

    key: tuple[Any, ...]
    values: list[Value]


class _Step(NamedTuple):
    """One node: `operands` count the values there are so far, first those that are given."""

    op: type[Op]
    operands: tuple[int, ...]
    attrs: dict[str, Any]
    types: tuple[TensorType, ...]
    text: str


class _Recipe(NamedTuple):
    """`results` count values as a step's operands do."""

    steps: tuple[_Step, ...]
    results: tuple[int, ...]
    layout: str
    weak: str


_recipes: dict[tuple[Any, ...], _Recipe] = {}


def operands_of(op: type[Op] | str, given: Sequence[Any]) -> Operands | None:
    """The operands of an op outside a trace; None for what is always worked out: other ops, weak tensors, arrays."""
    meant = OPS.get(op) if isinstance(op, str) else op
    if meant is None or meant.family != "map":
        return None
    key: list[Any] = [meant]
    values: list[Value] = []
    for x in given:
        kind = type(x)
        if kind in _NUMBERS:
            if x != x:  # no NaN equals itself
                return None
            # -0.0 is another number than 0.0.
            key += (kind, x or repr(x))
            continue
        if not isinstance(x, Tensor) or x.weak:
            return None
        value = x.value
        # An operand that is there twice is one value.
        key += (value.type.dtype, value.type.dims, x.layout, values.index(value) if value in values else -1)
        values.append(value)
    return Operands(tuple(key), values) if values else None


def replayed(operands: Operands) -> Any:
    """The result of an op on operands like earlier ones; None where there were none.  Called by `apply` alone."""
    recipe = _recipes.get(operands.key)
    if recipe is None:
        return None
    values = _again(recipe, operands.values, user_loc(2))
    made = [Tensor(values[i], layout=recipe.layout, weak=recipe.weak) for i in recipe.results]
    return made[0] if len(made) == 1 else tuple(made)


def value_of(operands: Operands) -> Value | None:
    """What `keep_value` was given for operands like these, made again of them; None where there were none."""
    recipe = _recipes.get(operands.key)
    if recipe is None:
        return None
    return _again(recipe, operands.values, user_loc(2))[recipe.results[0]]


def _again(recipe: _Recipe, values: list[Value], loc: Loc | None) -> list[Value]:
    """The values, and behind them those of the steps."""
    for op, positions, attrs, types, text in recipe.steps:
        values += Node(op, [values[i] for i in positions], attrs, types, loc, text=text).results
    return values


def keep(operands: Operands, since: int, result: Any) -> None:
    """Note what an op made of its operands: the nodes with serial numbers from `since` on."""
    results = result if isinstance(result, tuple) else (result,)
    if all(_is_plain(r) and r.layout == results[0].layout and r.weak == results[0].weak for r in results):
        _keep(operands, since, [r.value for r in results], results[0].layout, results[0].weak)


def keep_value(operands: Operands, since: int, result: Value) -> None:
    """Note what anything made of operands, that depends on nothing but their key."""
    _keep(operands, since, [result])


def _keep(operands: Operands, since: int, results: Sequence[Value], layout: str = "row", weak: str = "") -> None:
    nodes = _made(results, operands.values, since)
    if nodes is None:
        return
    numbers: dict[Value, int] = {}
    for position, value in enumerate(operands.values):
        numbers.setdefault(value, position)
    steps = []
    count = len(operands.values)
    for node in nodes:
        assert node.op is not None
        types = tuple(r.type for r in node.results)
        steps.append(_Step(node.op, tuple(numbers[v] for v in node.operands), node.attrs, types, node.text))
        for r in node.results:
            numbers[r] = count
            count += 1
    made = _Recipe(tuple(steps), tuple(numbers[v] for v in results), layout, weak)
    keep_latest(_recipes, operands.key, made, MOST)


def _is_plain(result: Any) -> bool:
    """Whether it is a tensor of its own that has nothing but a value."""
    return type(result) is Tensor and not result.is_view and result.memory is None and not result.boxed


def _made(results: Sequence[Value], given: Sequence[Value], since: int) -> list[Node] | None:
    """The nodes between some values and results, in order; None where these need anything else."""
    found: set[Node] = set()
    stack = list(results)
    while stack:
        value = stack.pop()
        node = value.node
        if value in given or node in found:
            continue
        if node.serial < since or node.op is None or node.regions:
            return None
        found.add(node)
        stack.extend(node.operands)
    return sorted(found, key=lambda node: node.serial)
