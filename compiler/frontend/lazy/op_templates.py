"""What most ops make of lazy operands: nodes that depend on types alone, found once.

Outside a trace sizes are numbers and nothing is learnt of them, so an op on tensors of known dtypes and dims, and on
numbers, becomes the same nodes every time: literals in the common dtype, casts, broadcasts, itself.  A *recipe* has
them with their types inferred.  It is taken from what `apply` made the first time, so there is one place that says what
an op means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....dialects.registry import OPS, Op
from ...diagnostics import Loc, user_loc
from ..tensor.tensor import Tensor
from ..trace.context import current
from ..trace.graph import Node, Value, next_serial
from .bounded import lru_put
from .deferred import DeferredValue, OpTemplate, Step, force, looks_as, made_in_steps
from .structural_key import NO_KEY, Key, combine_keys, insert_key, key_of, lookup_key, merge_leaves

__all__ = [
    "Operands",
    "instantiate",
    "instantiate_value",
    "lookup",
    "lookup_binary",
    "lookup_value",
    "operands_of",
    "record",
    "record_value",
    "request",
]  # fmt: skip

#: How many recipes are kept; the oldest goes first.
MOST = 4096
#: Numbers that are told apart by type and value.
_NUMBERS = frozenset({bool, int, float, np.float32, np.float64, np.int32, np.int64, np.bool_})
#: What depends on nothing but types and parameters: families, and ops.
_FAMILIES = frozenset({"map", "reduction", "scan"})
_OPS = frozenset({"contract", "concatenate"})
#: Parameters that are told apart by type and value.
_PARAMETERS = frozenset({bool, int, str, type(None)})


class Operands:
    """What `head` asks to be made of values: `key` is that of their types, and of what `more` says of them."""

    __slots__ = ("head", "key", "values")

    def __init__(self, head: tuple[Any, ...], values: list[Value], more: Sequence[Any] = ()):
        self.head, self.values = head, values
        key = [*head, *more]
        for value in values:
            # An operand that is there twice is one value.
            key += (value.type.dtype, value.type.dims, values.index(value))
        self.key = tuple(key)


_templates: dict[tuple[Any, ...], OpTemplate] = {}


def request(
    op: type[Op] | str, given: Sequence[Any], params: Mapping[str, Any]
) -> tuple[tuple[Any, ...], list[Value]] | None:
    """What an op is asked for outside a trace, without the types of its operands, and the operands.

    None for what is always worked out: of weak tensors, of arrays.
    """
    head: list[Any] = [op]
    if params:
        if not all(_is_plain_parameter(v) for v in params.values()):
            return None
        for name, v in params.items():
            head += (name, type(v), v)
    values: list[Value] = []
    for x in given:
        kind = type(x)
        if kind is Tensor or isinstance(x, Tensor):
            if x.weak:
                return None
            head.append(x.layout)
            values.append(x._value if kind is Tensor and x._parent is None else x.value)
        elif kind in _NUMBERS:
            if x != x:  # no NaN equals itself
                return None
            # -0.0 is another number than 0.0.
            head += (kind, x or repr(x))
        else:
            return None
    return tuple(head), values


def lookup(head: tuple[Any, ...], values: list[Value]) -> Tensor | None:
    """The result of what is asked for of such expressions as before; None for others.  Called by `apply` alone."""
    made = lookup_value(head, values, 3)
    return None if made is None else Tensor.of_value(made, made.template.layout, made.template.weak)


def lookup_binary(op: str, x: Any, y: Any) -> Tensor | None:
    """As `lookup`, of what most operators are between: two tensors.  Called by operators alone."""
    if type(x) is not Tensor or type(y) is not Tensor or x.weak or y.weak or current() is not None:
        return None
    values = [x._value if x._parent is None else x.value, y._value if y._parent is None else y.value]
    made = lookup_value((op, x.layout, y.layout), values, 3)
    return None if made is None else Tensor.of_value(made, made.template.layout, made.template.weak)


def operands_of(
    op: type[Op] | str, params: Mapping[str, Any], head: tuple[Any, ...], values: list[Value]
) -> Operands | None:
    """The operands of an op that may have a recipe; None for others."""
    meant = OPS.get(op) if isinstance(op, str) else op
    if not values or meant is None or (params and meant.family == "map"):
        return None
    if meant.family not in _FAMILIES and meant.name not in _OPS:
        return None
    return Operands(head, values)


def _is_plain_parameter(x: Any) -> bool:
    return type(x) in _PARAMETERS or (
        type(x) is tuple and all(type(i) in (int, tuple) and _is_plain_parameter(i) for i in x)
    )


def instantiate(operands: Operands) -> Any:
    """The result of an op on operands like earlier ones; None where there were none.  Called by `apply` alone."""
    template = _templates.get(operands.key)
    if template is None:
        return None
    if len(template.results) == 1:
        return Tensor.of_value(_deferred(template, operands, user_loc(2)), template.layout, template.weak)
    made = template.made([force(v) for v in operands.values], user_loc(2), next_serial())
    return tuple([Tensor(v, layout=template.layout, weak=template.weak) for v in made])


def lookup_value(head: tuple[Any, ...], values: list[Value], inner: int) -> DeferredValue | None:
    """What was made of such expressions, of these; None where nothing was.

    `inner` is that of `user_loc`, for this function.
    """
    if len(values) == 2:  # most are: as `combine_keys`, without its loop
        first, second = values
        (one, leaves), (other, more) = first.key or key_of(first), second.key or key_of(second)
        if one is None or other is None:
            return None
        place, leaves = merge_leaves((first.node,) if leaves is None else leaves, second, more)
        parts: Any = one, other, place
    else:
        found = combine_keys(values)
        if found is None:
            return None
        parts, leaves = found
    form = lookup_key((head, parts))
    if form is None:
        return None
    template = form.template
    assert template is not None
    return DeferredValue(template, (form, leaves), values, user_loc(inner))


def instantiate_value(operands: Operands) -> Value | None:
    """What `record_value` was given for operands like these, of them; None where there were none."""
    template = _templates.get(operands.key)
    return None if template is None else _deferred(template, operands, user_loc(2))


def _deferred(template: OpTemplate, operands: Operands, loc: Loc | None) -> DeferredValue:
    """The only result of a recipe, of operands of these types."""
    return DeferredValue(template, _key(template, operands), operands.values, loc)


def _key(template: OpTemplate, operands: Operands) -> Key:
    found = combine_keys(operands.values)
    if found is None:
        return NO_KEY
    described = operands.head, found[0]
    return lookup_key(described) or insert_key(described, template), found[1]


def record(operands: Operands, since: int, result: Any) -> None:
    """Note what an op made of its operands: the nodes with serial numbers from `since` on."""
    results = result if isinstance(result, tuple) else (result,)
    if all(_is_plain(r) and r.layout == results[0].layout and r.weak == results[0].weak for r in results):
        _record(operands, since, [r.value for r in results], results[0].layout, results[0].weak)


def record_value(operands: Operands, since: int, result: Value) -> None:
    """Note what anything made of operands, that depends on nothing but their key."""
    _record(operands, since, [result])


def _record(operands: Operands, since: int, results: Sequence[Value], layout: str = "row", weak: str = "") -> None:
    given = [force(v) for v in operands.values]
    nodes = _made(results, given, since)
    if nodes is None:
        return
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
    places, types = tuple(numbers[v] for v in results), tuple(v.type for v in results)
    made = OpTemplate(operands.head, tuple(steps), places, types, layout, weak)
    lru_put(_templates, operands.key, made, MOST)
    made_in_steps([r for node in nodes for r in node.results], [*results])
    if len(results) == 1:
        looks_as(results[0], made, _key(made, operands), operands.values)


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
