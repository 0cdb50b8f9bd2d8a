"""Making nodes: of values that are promoted and broadcast already, in the open block of the trace if there is one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from ....dialects.dims.dims import Dim
from ....dialects.registry import OPS, Op, OpError
from ....dialects.types import TensorType, as_literal, dtype
from ...diagnostics import user_loc
from .context import current, table
from .graph import Block, Node, Value

__all__ = ["constant", "emit", "once", "resolved", "resolved_attrs"]


def constant(value: Any, element: Any) -> Value:
    """A literal; OpError where an integer does not fit its type."""
    element = dtype(element)
    if element.is_integer:
        info = np.iinfo(element.numpy)
        if not info.min <= int(value) <= info.max:
            raise OpError(f"Python integer {value} does not fit {element}", "use a wider dtype", "TX0207")
    value = as_literal(value, element)
    # Compared as text: -0.0 is another literal than 0.0, and no NaN equals itself.
    return once((repr(value), element), lambda: emit(OPS["constant"], (), {"value": value, "dtype": element})[0])


def once(key: Hashable, make: Callable[[], Value]) -> Value:
    """A value of the open block that is asked for often, made the first time: a literal, a broadcast."""
    trace = current()
    block = trace.block if trace is not None else None
    if block is None:  # lazy expressions have none
        return make()
    found = block.shared.get(key)
    if found is None:
        found = block.shared[key] = make()
    return found


def emit(
    op: type[Op], values: Sequence[Value], attrs: dict[str, Any], types: Sequence[TensorType] | None = None,
    regions: Sequence[Block] = (), loc: Any = None,
) -> tuple[Value, ...]:  # fmt: skip
    """A node, its types inferred; `values` are already promoted and broadcast."""
    trace = current()
    if types is None:
        types = op.infer([resolved(v) for v in values], attrs)
    node = Node(op, values, attrs, types, loc or user_loc(), regions)
    return node.results if trace is None else trace.emit(node)


def resolved_attrs(attrs: Any) -> Any:
    """Parameters of an op, or a part of them, with what unification has learnt of their dims."""
    if isinstance(attrs, Dim):
        return table().resolve(attrs)
    if isinstance(attrs, dict):
        return {key: resolved_attrs(part) for key, part in attrs.items()}
    return tuple(map(resolved_attrs, attrs)) if isinstance(attrs, (tuple, list)) else attrs


def resolved(v: Value) -> TensorType:
    """The type of a value with what unification has learnt."""
    dims = table().resolve_all(v.type.dims)
    if dims is not v.type.dims:
        v.type = v.type.with_dims(dims)
    return v.type
