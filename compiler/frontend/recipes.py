"""What elementwise ops and reductions make of lazy operands: nodes that depend on types alone, found once.

Outside a trace sizes are numbers and nothing is learnt of them, so an op on tensors of known dtypes and dims, and on
numbers, becomes the same nodes every time: literals in the common dtype, casts, broadcasts, itself.  A *recipe* has
them with their types inferred.  It is taken from what `apply` made the first time, so there is one place that says what
an op means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...dialects.registry import OPS, Op
from ..diagnostics import user_loc
from .bounded import keep_latest
from .graph import Node, Value, moment
from .tensor import Tensor
from .unmade import Recipe, Step, Unmade, settled

__all__ = ["Operands", "keep", "keep_value", "operands_of", "replayed", "value_of"]

#: How many recipes are kept; the oldest goes first.
MOST = 4096
#: Numbers that are told apart by type and value.
_NUMBERS = frozenset({bool, int, float, np.float32, np.float64, np.int32, np.int64, np.bool_})
#: Whose ops depend on nothing but types and parameters.
_FAMILIES = frozenset({"map", "reduction"})
#: Parameters that are told apart by type and value.
_PARAMETERS = frozenset({bool, int, str, type(None)})


class Operands(NamedTuple):
    """What selects a recipe, and the values that it is applied to."""

    key: tuple[Any, ...]
    values: list[Value]


_recipes: dict[tuple[Any, ...], Recipe] = {}


def operands_of(op: type[Op] | str, given: Sequence[Any], params: Mapping[str, Any]) -> Operands | None:
    """The operands of an op outside a trace; None for what is always worked out: other ops, weak tensors, arrays."""
    meant = OPS.get(op) if isinstance(op, str) else op
    if meant is None or meant.family not in _FAMILIES:
        return None
    key: list[Any] = [meant]
    if params:
        if meant.family == "map" or not all(_is_plain_parameter(v) for v in params.values()):
            return None
        for name, v in params.items():
            key += (name, type(v), v)
    values: list[Value] = []
    for x in given:
        kind = type(x)
        if kind is not Tensor:
            if kind in _NUMBERS:
                if x != x:  # no NaN equals itself
                    return None
                # -0.0 is another number than 0.0.
                key += (kind, x or repr(x))
                continue
            if not isinstance(x, Tensor):
                return None
        if x.weak:
            return None
        value = x.latest
        made = value.type
        # An operand that is there twice is one value.
        key += (made.dtype, made.dims, x.layout, values.index(value) if value in values else -1)
        values.append(value)
    return Operands(tuple(key), values) if values else None


def _is_plain_parameter(x: Any) -> bool:
    return type(x) in _PARAMETERS or (type(x) is tuple and all(type(i) is int for i in x))


def replayed(operands: Operands) -> Any:
    """The result of an op on operands like earlier ones; None where there were none.  Called by `apply` alone."""
    recipe = _recipes.get(operands.key)
    if recipe is None:
        return None
    if len(recipe.results) == 1:
        return Tensor.of_value(Unmade(recipe, operands.values, user_loc(2)), recipe.layout, recipe.weak)
    made = recipe.made([settled(v) for v in operands.values], user_loc(2), moment())
    return tuple([Tensor(v, layout=recipe.layout, weak=recipe.weak) for v in made])


def value_of(operands: Operands) -> Value | None:
    """What `keep_value` was given for operands like these, of them; None where there were none."""
    recipe = _recipes.get(operands.key)
    return None if recipe is None else Unmade(recipe, operands.values, user_loc(2))


def keep(operands: Operands, since: int, result: Any) -> None:
    """Note what an op made of its operands: the nodes with serial numbers from `since` on."""
    results = result if isinstance(result, tuple) else (result,)
    if all(_is_plain(r) and r.layout == results[0].layout and r.weak == results[0].weak for r in results):
        values = [r.value for r in results]
        recipe = _kept(operands, since, values, results[0].layout, results[0].weak)
        if recipe is not None and len(values) == 1:
            results[0].latest = Unmade(recipe, operands.values, values[0].node.loc, values[0])


def keep_value(operands: Operands, since: int, result: Value) -> Value:
    """Note what anything made of operands, that depends on nothing but their key: the value to go on with."""
    recipe = _kept(operands, since, [result])
    return result if recipe is None else Unmade(recipe, operands.values, result.node.loc, result)


def _kept(
    operands: Operands, since: int, results: Sequence[Value], layout: str = "row", weak: str = ""
) -> Recipe | None:
    given = [settled(v) for v in operands.values]
    nodes = _made(results, given, since)
    if nodes is None:
        return None
    numbers: dict[Value, int] = {}
    for position, value in enumerate(given):
        numbers.setdefault(value, position)
    steps = []
    count = len(given)
    for node in nodes:
        assert node.op is not None
        types = tuple(r.type for r in node.results)
        steps.append(Step(node.op, tuple(numbers[v] for v in node.operands), node.attrs, types, node.text))
        for r in node.results:
            numbers[r] = count
            count += 1
    made = Recipe(tuple(steps), tuple(numbers[v] for v in results), tuple(v.type for v in results), layout, weak)
    keep_latest(_recipes, operands.key, made, MOST)
    return made


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
