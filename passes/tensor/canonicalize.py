"""Canonicalization: exact algebra, constant folding, composition of views, CSE and DCE (`tensor` to `canonical`).

One forward pass over a block: when an op is visited its operands are canonical already, so each rule looks one op back.
The rules are data of the ops (`Map.algebra`) or of their family; none changes a bit of any result.  Changed ops are
visited later in the same pass, except for ops that rules create: these are visited by another iteration, of which there
are `MAX_ITERATIONS` at most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects import tx
from ...dialects.attributes import DimAttr, DimsAttr, DTypeAttr, MapAttr, ir_tensor, tensor_of
from ...dialects.dims.analysis import expand_mods
from ...dialects.dims.dims import Dim, Sym, dim, iterator
from ...dialects.dims.index_map import IndexMap
from ...dialects.registry import Map, View
from ...dialects.types import TensorType, as_literal
from .unused_carried_values import without_unused_values

__all__ = ["CanonicalizePass"]

MAX_ITERATIONS = 8
_NO_NUMBERS = (IntegerAttr, StringAttr, DimAttr, DimsAttr, MapAttr, DTypeAttr)

#: The value that an op may be replaced by, or None.
Rule = Callable[[Any, "_Iteration"], SSAValue | None]


@dataclass(frozen=True)
class CanonicalizePass(ModulePass):
    """``tx-canonicalize``; ``cse=false`` keeps equal ops apart."""

    name = "tx-canonicalize"
    cse: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            for _ in range(MAX_ITERATIONS):
                iteration = _Iteration(self.cse)
                iteration.block(function.body.block, {})
                _remove_dead(function.body.block)
                if not iteration.has_made:
                    break


class _Iteration:
    """One walk over a block and what is inside it; `has_made` says whether there are new ops, not visited yet."""

    def __init__(self, cse: bool):
        self.cse = cse
        self.has_made = False

    def block(self, block: Block, known: dict[Any, Operation]) -> None:
        known = dict(known)
        for op in list(block.ops):
            for region in op.regions:
                for inner in region.blocks:
                    self.block(inner, known)
            if isinstance(op, tx.TxOp) and not op.regions:
                self._visit(op, known)

    def _visit(self, op: tx.TxOp, known: dict[Any, Operation]) -> None:
        for rule in _rules_for(type(op)):
            found = rule(op, self)
            if found is not None and found is not op.results[0]:
                op.results[0].replace_all_uses_with(found)
                return
        # One memory for two values to be stored into would have to be copied.
        if not self.cse or op.decl.name == "empty":
            return
        attributes = tuple((k, v, _signs(v)) for k, v in sorted(op.attributes.items()) if k != "loc")
        key = (type(op), tuple(op.operands), attributes, tuple(r.type for r in op.results))
        same = known.setdefault(key, op)
        if same is not op:
            for mine, theirs in zip(op.results, same.results):
                mine.replace_all_uses_with(theirs)

    def make(
        self, like: tx.TxOp, name: str, operands: list[SSAValue], params: dict[str, Any], **extra: Any
    ) -> SSAValue:
        """A new op just before `like`, with its place in the user's program."""
        loc = {"loc": like.attributes["loc"]} if "loc" in like.attributes else {}
        made = tx.make(name, operands, params, extra=loc, **extra)
        block = like.parent
        assert block is not None
        block.insert_op_before(made, like)
        self.has_made = True
        return made.results[0]


def _signs(attribute: Attribute) -> str:
    """What tells attributes apart that hold numbers and are equal: -0.0 and 0.0 are different literals."""
    if isinstance(attribute, FloatAttr):
        return "-" if np.signbit(attribute.value.data) else ""
    return "" if isinstance(attribute, _NO_NUMBERS) else str(attribute)


def _remove_dead(block: Block) -> None:
    """Erase, from the end, what nobody uses (every `tx` op is pure)."""
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                _remove_dead(inner)
        if isinstance(op, tx.TxOp) and op.results and all(r.first_use is None for r in op.results):
            op.detach()
            op.erase()
        elif isinstance(op, tx.ForOp | tx.WhileOp):
            without_unused_values(op)


def identity_view(op: tx.ViewOp, iteration: _Iteration) -> SSAValue | None:
    """A view that changes nothing."""
    return op.operand if op.result.type == op.operand.type and op.map.is_identity else None


def view_of_view(op: tx.ViewOp, iteration: _Iteration) -> SSAValue | None:
    """``view(view(x))``: one view, where at most one of them pads, or both with the same value."""
    inner = op.operands[0].owner
    if not isinstance(inner, tx.ViewOp):
        return None
    first, second = inner.map, op.map
    # Compared as text: -0.0 is another fill than 0.0.
    if first.guards and second.guards and repr(inner.fill) != repr(op.fill):
        return None
    composed = _without_divisions(first.after(second))
    fill = inner.fill if first.guards else op.fill
    source = inner.operands[0]
    if composed.is_identity and source.type == op.results[0].type:
        return source
    return iteration.make(op, "view", [source], {"map": composed, "fill": fill})


def _without_divisions(index: IndexMap) -> IndexMap:
    """``e % m + e // m * m``, which a reshape and its inverse leave behind, is ``e``."""
    expanded = tuple(expand_mods(e) for e in index.exprs)
    exprs = tuple(new if _is_plain(new) else old for new, old in zip(expanded, index.exprs))
    return IndexMap(index.extents, exprs, index.guards)


def _is_plain(expr: Dim) -> bool:
    return all(isinstance(atom, Sym) for mono, _ in expr.terms for atom in mono)


def neutral_operand(op: tx.MapOp, iteration: _Iteration) -> SSAValue | None:
    """``x + -0.0``, ``x * 1``, ``x - 0``, ``x / 1``: `x`."""
    if len(op.operands) != 2:
        return None
    for fact in _algebra(op):
        if not isinstance(fact, tuple) or fact[0] not in ("neutral", "right neutral"):
            continue
        if _is_literal(op.operands[1], fact[1]):
            return op.operands[0]
        if fact[0] == "neutral" and _is_literal(op.operands[0], fact[1]):
            return op.operands[1]
    return None


def involution(op: tx.MapOp, iteration: _Iteration) -> SSAValue | None:
    """``f(f(x))`` is `x` for negation and complement."""
    inner = op.operands[0].owner if len(op.operands) == 1 else None
    if "involution" in _algebra(op) and type(inner) is type(op):
        return inner.operands[0]  # type: ignore[union-attr]
    return None


def idempotent(op: tx.MapOp, iteration: _Iteration) -> SSAValue | None:
    """``f(f(x))`` is ``f(x)``, ``f(x, x)`` is `x`."""
    x = op.operands[0] if op.operands else None
    if x is not None and "idempotent pair" in _algebra(op) and op.operands[1] is x:
        return x
    return x if x is not None and "idempotent" in _algebra(op) and type(x.owner) is type(op) else None


def equal_choices(op: tx.MapOp, iteration: _Iteration) -> SSAValue | None:
    """``select(c, x, x)`` is `x`."""
    return op.operands[1] if "choice" in _algebra(op) and op.operands[1] is op.operands[2] else None


def same_cast(op: tx.MapOp, iteration: _Iteration) -> SSAValue | None:
    """A cast to the type that is there already; a part, or the conjugate, of a real number."""
    if op.decl.name not in ("cast", "positive", "real", "conjugate") or op.results[0].type != op.operands[0].type:
        return None
    return None if op.decl.name == "conjugate" and op.type.dtype.is_complex else op.operands[0]


def fold_constants(op: tx.MapOp, iteration: _Iteration) -> SSAValue | None:
    """An exact op on rank-0 literals."""
    if op.type.rank or not issubclass(op.decl, Map) or op.decl.ulp is not None:
        return None
    arrays = []
    for operand in op.operands:
        owner = operand.owner
        if not isinstance(owner, tx.ConstantOp):
            return None
        arrays.append(np.asarray(owner.value).astype(tensor_of(operand.type).dtype.numpy))
    (result,) = op.decl.evaluate(arrays, op.params)
    element = op.type.dtype
    return iteration.make(op, "constant", [], {"value": as_literal(result, element), "dtype": element})


def concatenate_to_inserts(op: tx.ConcatenateOp, iteration: _Iteration) -> SSAValue | None:
    """Each operand is computed straight into its part of the result: an empty tensor and a store for each."""
    result: TensorType = op.type
    axis: int = op.params["axis"]
    joined = iteration.make(op, "empty", [], {"dtype": result.dtype, "dims": result.dims}, types=[ir_tensor(result)])
    offset = dim(0)
    for operand in op.operands:
        part = tensor_of(operand.type)
        exprs = tuple(iterator(i) + (offset if i == axis else 0) for i in range(part.rank))
        joined = iteration.make(op, "insert", [joined, operand], {"map": IndexMap(part.dims, exprs)})
        offset = offset + part.dims[axis]
    return joined


def reshape_of_inserts(op: tx.ViewOp, iteration: _Iteration) -> SSAValue | None:
    """What is put together and given out under other dims: each part is stored where it ends up."""
    if op.decl.name != "reshape" or not issubclass(op.decl, View) or not _is_function_result(op.results[0]):
        return None
    parts = _parts(op.operands[0])
    if not parts:
        return None
    result, before = op.type, tensor_of(op.operands[0].type)
    view = op.decl.view(result, {"dims": before.dims})
    joined = iteration.make(op, "empty", [], {"dtype": result.dtype, "dims": result.dims}, types=[ir_tensor(result)])
    for part in parts:
        joined = iteration.make(op, "insert", [joined, part.value], {"map": view.after(part.map)})
    return joined


def insert_of_inserts(op: tx.InsertOp, iteration: _Iteration) -> SSAValue | None:
    """What is put together and becomes a part of something else that is: each of its parts is stored there at once."""
    inner, outer = _parts(op.value), op.base
    while isinstance(outer.owner, tx.InsertOp):
        outer = outer.owner.base
    if not inner or not isinstance(outer.owner, tx.EmptyOp):
        return None
    joined, place = op.base, op.map
    for part in inner:
        joined = iteration.make(op, "insert", [joined, part.value], {"map": place.after(part.map)})
    return joined


def _parts(value: SSAValue) -> list[tx.InsertOp]:
    """The stores into an empty tensor that a value consists of, first to last, where nobody else reads any of them."""
    parts: list[tx.InsertOp] = []
    while isinstance(value.owner, tx.InsertOp) and value.has_one_use():
        parts.append(value.owner)
        value = value.owner.base
    return parts[::-1] if isinstance(value.owner, tx.EmptyOp) and value.has_one_use() else []


def _is_function_result(value: SSAValue) -> bool:
    """Whether a value is a result of the function and nothing else."""
    return value.has_one_use() and all(isinstance(use.operation, func.ReturnOp) for use in value.uses)


def full_overwrite(op: tx.InsertOp, iteration: _Iteration) -> SSAValue | None:
    """A store into every element of what no caller has: the elements before do not matter, nor does their memory."""
    is_own = isinstance(op.base.owner, tx.TxOp) and not op.base.owner.regions
    return op.value if is_own and op.value.type == op.base.type and op.map.is_identity else None


def redundant_materialize(op: tx.EvalOp, iteration: _Iteration) -> SSAValue | None:
    """What is in memory already needs no eval."""
    return op.operand if isinstance(op.operand.owner, tx.EvalOp | tx.InsertOp | Block) else None


def _algebra(op: tx.MapOp) -> tuple[Any, ...]:
    return op.decl.algebra if issubclass(op.decl, Map) else ()


def _is_literal(value: SSAValue, number: float) -> bool:
    """Whether every element is that number, sign of zero included."""
    while isinstance(value.owner, tx.ViewOp) and not value.owner.map.guards:
        value = value.owner.operands[0]
    if not isinstance(value.owner, tx.ConstantOp):
        return False
    found = value.owner.value
    element = tensor_of(value.type).dtype
    if element.is_complex:
        # Signs of zeros, and infinities times them, make every complex operation do more than nothing.
        return False
    if not element.is_float:
        return found == number
    return found == number and np.signbit(float(found)) == np.signbit(float(number))


#: The rules in the order in which they are tried, and which ops each is for.
RULES: tuple[tuple[type[tx.TxOp], Rule], ...] = (
    (tx.ViewOp, identity_view),
    (tx.ViewOp, view_of_view),
    (tx.MapOp, neutral_operand),
    (tx.MapOp, involution),
    (tx.MapOp, idempotent),
    (tx.MapOp, equal_choices),
    (tx.MapOp, same_cast),
    (tx.MapOp, fold_constants),
    (tx.ConcatenateOp, concatenate_to_inserts),
    (tx.ViewOp, reshape_of_inserts),
    (tx.InsertOp, full_overwrite),
    (tx.InsertOp, insert_of_inserts),
    (tx.EvalOp, redundant_materialize),
)


@cache
def _rules_for(kind: type[tx.TxOp]) -> tuple[Rule, ...]:
    return tuple(rule for family, rule in RULES if issubclass(kind, family))
