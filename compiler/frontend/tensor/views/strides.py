"""How an array of the traced function lies in memory where NumPy has it, and which reshapes of it are views there.

The graph has values, not memory; but NumPy lets a store through `reshape` or `ravel` reach the source where the strides
allow a view.  So each tensor of a trace has the strides, in elements and as dims, that NumPy's array has: arguments by
their stride facts, views by their index maps, what is computed by NumPy's order "K" (the operands' order).  None where
they are not known.  Answers about dims are asked by an `Ask`, so that they can be facts of the compiled version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from .....dialects.dims.analysis import linear_in
from .....dialects.dims.dims import Dim, Sym, dim, packed_strides, sym
from .....dialects.dims.index_map import product
from .....dialects.registry import OPS, Map, Op, Reduction, Scan, View
from .....dialects.types import TensorType
from ....call.facts import StrideClass, as_dense_strided, stride_fact
from ....call.strides import symbolic_strides
from ...trace.context import current
from ...trace.emit import emit, resolved, resolved_attrs
from ...trace.graph import Input, Value

if TYPE_CHECKING:
    from ...trace.trace import Trace
    from ..tensor import Tensor

__all__ = [
    "Ask", "Strides", "fact_of", "held_strides", "is_packed", "known_layouts", "laid_out", "made_strides", "merges",
    "strides_of", "viewed_strides",
]  # fmt: skip

Strides = tuple[Dim, ...]
#: The truth of ``a relation b``, as `DimTable.decide` and `proves` tell it: None where it is not known.
Ask = Callable[[Dim, str, Dim], bool | None]

#: The stride facts of the arguments of the call that is traced, by name.
_layouts: ContextVar[Mapping[str, StrideClass] | None] = ContextVar("layouts", default=None)
#: What was found for the values of a trace.
_found: WeakKeyDictionary[Trace, dict[Value, Strides | None]] = WeakKeyDictionary()

#: Ops whose results NumPy lays out as their operands; those of other ops have the order of their dims, or none known.
_LIKE_OPERANDS = frozenset({"concatenate", "contract", "eval", "cast"})
#: Ops whose result is in the array of their first operand.
_SAME_ARRAY = frozenset({"insert", "stored"})


@contextmanager
def known_layouts(facts: Mapping[str, StrideClass]) -> Iterator[None]:
    """Inside, traced arguments of these names have these stride facts; without, all are row-major."""
    before = _layouts.set(facts)
    try:
        yield
    finally:
        _layouts.reset(before)


def strides_of(t: Tensor) -> Strides | None:
    """The strides of its graph dims."""
    if t._parent is not None:
        parent = strides_of(t._parent)
        if t._op is None or parent is None:
            return parent
        return viewed_strides(t._op, t._parent.type, t.view_attrs, parent)
    return t.own_strides()


def value_strides(v: Value) -> Strides | None:
    """The strides of an array that holds a value of the graph alone."""
    trace = current()
    if trace is None:
        return None
    known = _found.setdefault(trace, {})
    stack = [v]
    while stack:
        waiting = [o for o in _decisive(stack[-1]) if o not in known]
        if not waiting:
            last = stack.pop()
            known[last] = _known_from(last, known)
        stack += waiting
    return known[v]


def _decisive(v: Value) -> list[Value]:
    """The operands whose strides decide those of a value."""
    op = v.node.op
    if op is None or not v.type.dims:
        return []
    if issubclass(op, View) or op.name in _SAME_ARRAY:
        return [v.node.operands[0]]
    if op is OPS["take"] and len(v.node.operands) == 2 and len(v.node.operands[0].type.dims) == 1:
        return [v.node.operands[1]]  # a vector by an index array: NumPy's result has the order of that
    if len(v.type.dims) > 1 and (issubclass(op, (Map, Reduction, Scan)) or op.name in _LIKE_OPERANDS):
        return [o for o in v.node.operands if o.type.dims]
    return []


def _known_from(v: Value, known: Mapping[Value, Strides | None]) -> Strides | None:
    node = v.node
    if node.op is None:
        return _of_argument(v)
    operands = _decisive(v)
    if issubclass(node.op, View) and operands:
        source, kind = known[operands[0]], resolved(operands[0])
        return None if source is None else viewed_strides(node.op, kind, resolved_attrs(node.attrs), source)
    if node.op.name in _SAME_ARRAY and operands:
        return known[operands[0]]
    if len(v.type.dims) < 2 or not node.operands:
        return None if node.regions else packed_strides(v.type.dims)
    return _in_order_of(v.type.dims, [known[o] for o in operands]) if operands else None


def made_strides(v: Value) -> Strides | None:
    """The strides of a new array with that value, laid out in NumPy's order "K"."""
    return _in_order_of(v.type.dims, [value_strides(v)])


def fact_of(t: Tensor) -> StrideClass | None:
    """The stride fact of an argument of the trace, or of an array that it captures; None for any other tensor."""
    trace = current()
    if trace is None or not any(t is given for given in trace.tensors.values()):
        return None
    return _fact(next(given for i, given in enumerate(trace.inputs) if trace.tensors.get(i) is t))


def _fact(given: Input) -> StrideClass:
    if given.hidden:
        return stride_fact(as_dense_strided(np.asarray(given.source)))
    return (_layouts.get() or {}).get(given.name, ("packed",))


def _of_argument(v: Value) -> Strides | None:
    trace = current()
    found = None if trace is None else next((i for i in trace.inputs if i.value is v), None)
    if found is None:
        return None
    return symbolic_strides(found.name, v.type.dims, _fact(found)) or packed_strides(v.type.dims)


def laid_out(v: Value, strides: Strides | None) -> Value:
    """The same elements as a value of an array with these strides, where they are not what `v` itself says."""
    trace = current()
    if trace is None or value_strides(v) == strides:
        return v
    (made,) = emit(OPS["reshape"], (v,), {"dims": v.type.dims})
    _found[trace][made] = strides
    return made


def held_strides(v: Value) -> Strides | None:
    """The strides of a tensor that came to be with that value: an argument's own, or those of a new array."""
    return value_strides(v) if v.node.op is None else made_strides(v)


def _in_order_of(dims: Sequence[Dim], found: Sequence[Strides | None]) -> Strides | None:
    """Strides without gaps in the one order that all operands have; None where it is not known."""
    if len(dims) < 2:
        return packed_strides(dims)
    if any(s is None for s in found):
        return None
    packed = packed_strides(dims)
    # Of what is row-major already the signs of sizes need not be known.
    if all(s is not None and (s == packed or _descend(s)) for s in found):
        return packed
    # A number for all elements may stand for an array filled with it, which would be row-major.
    filled = any(s and all(step.const == 0 for step in s) for s in found)
    if not filled and all(s is not None and len(s) == len(dims) and _descend(s[::-1]) for s in found):
        return packed_strides(dims, range(len(dims))[::-1])
    return None


def _descend(strides: Strides) -> bool:
    """Whether it is known that no stride is larger than the one before it, those that are 0 left out."""
    sizes = [_absolute(s) for s in strides if s.const != 0]
    return all(a is not None and b is not None and _at_least_one(a - b) for a, b in pairwise(sizes))


def _absolute(s: Dim) -> Dim | None:
    return s if s.nonneg else -s if (-s).nonneg else None


def _at_least_one(difference: Dim) -> bool:
    """Whether a difference is not negative for all sizes from 1 on: without elements strides mean nothing."""
    lifted = {s: sym(s.name) + 1 for s in difference.symbols() if s.nonneg}
    return difference.substitute(lifted).nonneg


def viewed_strides(
    op: type[Op], operand: TensorType, attrs: dict[str, Any], strides: Strides, ask: Ask | None = None
) -> Strides | None:
    """The strides of a view; `ask` tells what those of a reshape depend on."""
    assert issubclass(op, View)
    if op is OPS["reshape"]:
        if ask is None:
            return _reshaped(operand.dims, strides, attrs["dims"])
        return _merged_strides(operand.dims, strides, attrs["dims"], ask)
    index = op.view(operand, attrs)
    its = [Sym(f"d{i}") for i in range(index.rank)]
    total = [dim(0)] * index.rank
    for expr, stride in zip(index.exprs, strides):
        split = linear_in(expr, its)
        if split is None:
            return None
        for i, it in enumerate(its):
            total[i] = total[i] + split[0].get(it, dim(0)) * stride
    return None if index.guards else tuple(total)


def _reshaped(dims: Sequence[Dim], strides: Strides, wanted: Sequence[Dim]) -> Strides | None:
    """The strides of a reshape that is known to be a view."""
    kept = [(d, s) for d, s in zip(dims, strides) if d.const != 1]
    if [d for d, _ in kept] == [d for d in wanted if d.const != 1]:  # only ones come and go
        rest = iter([s for _, s in kept])
        return tuple(dim(1) if d.const == 1 else next(rest) for d in wanted)
    if not kept:
        return packed_strides(wanted)
    if len(kept) == 1:
        return tuple(s * kept[0][1] for s in packed_strides(wanted))
    return packed_strides(wanted) if strides == packed_strides(dims) else None


def is_packed(dims: Sequence[Dim], strides: Strides | None, ask: Ask) -> bool | None:
    """Whether an array is C-contiguous as NumPy says it, dims of size 1 left out; None where it is not known."""
    if strides is None:
        return None
    if strides == packed_strides(dims):
        return True
    running, known = dim(1), True
    for d, stride in zip(reversed(dims), reversed(strides)):
        if stride is not running:
            one = ask(d, "==", dim(1))
            same = ask(stride, "==", running) if one is False else one
            if one is False and same is False:
                return False
            known = known and bool(same)
        running = running * d
    return True if known else None


def merges(dims: Sequence[Dim], strides: Strides | None, wanted: Sequence[Dim], ask: Ask) -> bool | None:
    """Whether NumPy's reshape to the dims `wanted` is a view; None where it is not known.

    A view needs, for each run of dims that becomes a run of others of as many elements, that it has no gaps.
    """
    if strides is None:
        return None
    if _reshaped(dims, strides, wanted) is not None:
        return True
    found = _merged(dims, strides, wanted, ask)
    if found is None:
        return True if ask(product(dims), "==", dim(0)) else None
    return found is not False


def _merged_strides(dims: Sequence[Dim], strides: Strides, wanted: Sequence[Dim], ask: Ask) -> Strides | None:
    """The strides of a reshape that `merges` says is a view."""
    found = _reshaped(dims, strides, wanted)
    if found is None:
        merged = _merged(dims, strides, wanted, ask)
        if merged is None and ask(product(dims), "==", dim(0)):
            return packed_strides(wanted)
        return None if merged is False else merged
    return found


def _merged(dims: Sequence[Dim], strides: Strides, wanted: Sequence[Dim], ask: Ask) -> Strides | Literal[False] | None:
    """The strides of a reshape of an array that has elements; False where it is a copy, None where that is unknown."""
    kept = []
    for d, s in zip(dims, strides):
        one = ask(d, "==", dim(1))
        if one is None:
            return None
        if not one:
            kept.append((d, s))
    found: list[Dim] = []
    known, old, new = True, 0, 0
    while old < len(kept) and new < len(wanted):
        first, begun, have, want = old, new, kept[old][0], wanted[new]
        old, new = old + 1, new + 1
        while (same := ask(have, "==", want)) is not True:
            less = None if same is None else ask(have, "<", want)
            if less is None or (old if less else new) >= (len(kept) if less else len(wanted)):
                return None
            if less:
                have, old = have * kept[old][0], old + 1
            else:
                want, new = want * wanted[new], new + 1
        for (_, stride), (size, inner) in zip(kept[first : old - 1], kept[first + 1 : old]):
            fits = ask(stride, "==", size * inner)
            if fits is False:
                return False
            known = known and bool(fits)
        found += [s * kept[old - 1][1] for s in packed_strides(wanted[begun:new])]
    return (*found, *packed_strides(wanted[len(found) :])) if known else None
