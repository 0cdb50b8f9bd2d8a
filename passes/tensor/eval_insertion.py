"""Eval insertion: which values are computed once and materialized, and which again wherever they are used.

A `tx.eval` is put

* where correctness of the cost model leaves no choice: a reduction or contraction that another op reads
  (recomputing one for each element would change the complexity, not just a constant),
* where a map's recomputation costs more than the memory traffic of materializing it: each consumer evaluates it once
  for every element *of the consumer*, so an operand broadcast along a long dim is recomputed that many times,
* where several consumers would each have the code of a long chain of maps: chains grow with the program, and without an
  end the code of all their consumers would grow with its square.  A scalar's op counts by its instructions: a power
  in each of fifty nests was most of a program's code.

The cost model (`passes/cost/model.py`) compares the arithmetic (`Map.cost`, summed over what would be inlined) with the
bytes written and read back: near, as whatever reads a value usually runs with it in one kernel or row.  What is kept
carries the figures, in nanoseconds, as attributes: ``recompute``, ``traffic``, ``uses`` and ``reason``.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects import tx
from ...dialects.attributes import integer_attr, string_attr, tensor_of
from ...dialects.registry import Map
from ...dialects.types import tensor_type
from ..cost.model import CostModel, assumed_size
from ..cost.remarks import remark
from ..fusion.epilogue import epilogue_root, is_materialized
from ..fusion.nest_builder import is_inlined
from ..fusion.paddings import split_padding

__all__ = ["EvalInsertionPass"]


#: Operations that ask whether one of the guards of an element holds, and choose.
GUARD_COST = 4
#: Costs of shared values count as often as they are read: bounded, so that long chains of squares are no infinity.
_MOST = 1e18
#: The ops that several consumers may each have in their code: few beside the fixed cost of compiling a nest.
LONGEST = 32


@dataclass(frozen=True)
class EvalInsertionPass(ModulePass):
    """Decide what is materialised.  With ``maps=false`` no map is: all are recomputed wherever they are used."""

    name = "tx-insert-evals"
    maps: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        costs = CostModel.of(op)
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            _materialize_before_updates(function)
            insertion, blocks = _Insertion(costs, self.maps), _blocks(function)
            for block in reversed(blocks):
                insertion.count_evaluations(block)
            for block in blocks:
                insertion.block(block)


class _Insertion:
    """One function.

    `inlined` holds the instructions that compute one element of a value from what is in memory; `read` how often what
    uses a map's or view's result evaluates it, in elements: by each use in turn, and by the one that does most.
    """

    def __init__(self, costs: CostModel, maps: bool):
        self.costs, self.maps = costs, maps
        self.inlined: dict[SSAValue, float] = {}
        self.read: dict[SSAValue, tuple[float, float]] = {}

    def count_evaluations(self, block: Block) -> None:
        """Note of each value how often it would be evaluated; those that use it come first."""
        for op in reversed(list(block.ops)):
            if isinstance(op, (tx.MapOp, tx.ViewOp, tx.TakeOp)):
                result = op.results[0]
                own = assumed_size(tensor_of(result.type))
                further = [self._evaluations(u.operation, u.index, own) for u in result.uses]
                self.read[result] = (sum(further), max(further, default=0.0))

    def block(self, block: Block) -> None:
        """Insert evals behind the ops of a block."""
        for op in list(block.ops):
            if isinstance(op, tx.TxOp) and not isinstance(op, (tx.EvalOp, tx.ReductionOp, tx.ContractOp)):
                below = sum(self.inlined.get(v, 0.0) for v in op.operands)
                cost = min(_MOST, below + (op.bound.cost if issubclass(op.bound, Map) else 0.0))
                self.inlined.update(dict.fromkeys(op.results, cost))
            if isinstance(op, (tx.ReductionOp, tx.ContractOp)):
                for result in op.results:
                    self._reduction(op, result)
            elif isinstance(op, tx.MapOp) and self.maps:
                self._map(op)
            elif isinstance(op, tx.ViewOp) and self.maps and op.map.guards:
                self._padded(op)

    def _reduction(self, op: tx.TxOp, value: SSAValue) -> None:
        """A reduction is materialized unless it ends there, or all that follows are maps of its own size that end in
        one value."""
        if is_materialized(value) or epilogue_root(value) is not None:
            return
        uses = value.uses.get_length()
        kind = "contraction" if isinstance(op, tx.ContractOp) else "reduction"
        _insert(value, 0.0, 0.0, uses, f"{kind} read by other ops")

    def _map(self, op: tx.MapOp) -> None:
        value = op.results[0]
        if any(isinstance(u.operation, tx.EvalOp) for u in value.uses):
            return
        if self._is_cheaper_materialized(op, value):
            return
        if value.uses.get_length() > 1 and len({u.operation for u in value.uses}) > 1 and _is_long(value):
            reason = f"inlining would repeat more than {LONGEST} ops"
            _insert(value, 0.0, 0.0, value.uses.get_length(), reason)

    def _is_cheaper_materialized(self, op: tx.MapOp, value: SSAValue) -> bool:
        """Whether a map's result takes less time to materialize than to compute again; it is materialized then."""
        if not tensor_of(value.type).rank:
            return False  # the same for every element: the emitter computes it outside the innermost loops
        own = assumed_size(tensor_of(value.type))
        evaluations, _ = self.read[value]
        if evaluations <= own:
            return False  # nothing would be computed twice
        element, uses = tensor_of(value.type).dtype, value.uses.get_length()
        again = self.costs.compute_ns(self.inlined[value], element.bits) * (evaluations - own)
        traffic = self.costs.transfer_ns(element.bytes * own * (1 + uses))
        reason = (
            f"recomputed for {evaluations / max(own, 1.0):.0f} times as many elements" if uses == 1 else f"{uses} uses"
        )
        if again > traffic:
            _insert(value, again, traffic, uses, reason)
            return True
        remark("materialize", op.name, "recomputed", reason, {"recompute": again, "materialize": traffic}, op)
        return False

    def _padded(self, op: tx.ViewOp) -> None:
        """Windows of a padded operand: it is materialized where the reductions that read it would often evaluate its
        guards.

        A contraction packs what it reads, and asks then.
        """
        parts = split_padding(op.map)
        if parts is None or not _is_reduced(op.results[0]):
            return
        padded, windows = parts
        element = op.type.dtype
        own = assumed_size(tensor_type(element, padded.extents))
        again = self.costs.compute_ns(GUARD_COST * len(op.map.guards), element.bits) * (
            self.read[op.results[0]][0] - own
        )
        traffic = self.costs.transfer_ns(2 * element.bytes * own, in_l2=False)
        if again <= traffic:
            return
        extra = {"loc": op.attributes["loc"]} if "loc" in op.attributes else {}
        inner = tx.make("view", [op.operands[0]], {"map": padded, "fill": op.fill}, extra=extra)
        outer = tx.make("view", [inner.results[0]], {"map": windows, "fill": 0}, extra=extra)
        block = op.parent
        assert block is not None
        block.insert_ops_before([inner, outer], op)
        op.results[0].replace_all_uses_with(outer.results[0])
        op.detach()
        op.erase()
        _insert(inner.results[0], again, traffic, 1, "its windows are reduced")

    def _evaluations(self, user: Operation, operand: int, own: float) -> float:
        """How often a consumer would evaluate an inlined value, in elements."""
        if isinstance(user, tx.MapOp | tx.ViewOp):
            return self._inlined_in(user)
        if isinstance(user, tx.ContractOp):
            left, right = (assumed_size(tensor_of(v.type)) for v in user.operands)
            result = assumed_size(tensor_of(user.results[0].type))
            # Panels of the right operand are packed once; the left is read again for every panel of columns.
            return right if operand == 1 else left * max(1.0, result / max(1.0, left) / 16)
        if isinstance(user, (tx.ReductionOp, func.ReturnOp, tx.YieldOp, tx.EvalOp)):
            return own
        if isinstance(user, tx.TakeOp) and operand == 0:
            return own + _MOST  # read at computed indices: needs the whole tensor
        if isinstance(user, tx.InsertOp) or user.name == "tx.scatter":
            return own
        if not isinstance(user, tx.TxOp) or not user.results:
            return own  # an operand of control flow is in memory anyway
        return self._inlined_in(user)

    def _inlined_in(self, user: tx.TxOp) -> float:
        """How often a consumer evaluates what it is made of: it is itself inlined, unless it is materialised."""
        result = user.results[0]
        here = assumed_size(tensor_of(result.type))
        found = self.read.get(result)
        if found is None:
            return here
        every, most = found
        return max(here, every if isinstance(user, tx.ViewOp) else most)


def _is_long(value: SSAValue) -> bool:
    """Whether the code of a value, where it is inlined, is that of more than `LONGEST` ops.

    Of a scalar an op counts as often as it has instructions: each consumer computes it once, whatever it costs, so that
    the code is what is saved.
    """
    scalar = not tensor_of(value.type).rank
    seen, waiting, length = {value}, [value], 0.0
    while waiting and length <= LONGEST:
        op = waiting.pop().owner
        assert isinstance(op, tx.TxOp)
        length += op.bound.cost if scalar and issubclass(op.bound, Map) else 1.0
        new = {v for v in op.operands if v not in seen and is_inlined(v.owner)}
        seen |= new
        waiting += new
    return length > LONGEST


def _materialize_before_updates(function: Operation) -> None:
    """Keep what is read of a tensor, and is less than all of it, where it is used behind an update of the tensor.

    Read there, the old elements would have to be elsewhere: all of the tensor would be copied first.
    """
    place = {op: i for i, op in enumerate(function.walk())}
    updates: dict[SSAValue, list[int]] = {}
    for op, i in place.items():
        if _updates(op):
            for value in op.operands:
                updates.setdefault(value, []).append(i)
    for op, i in [*place.items()]:
        if not isinstance(op, (tx.ViewOp, tx.TakeOp)):
            continue
        read, value = _source(op), op.results[0]
        behind = min((k for k in updates.get(read, ()) if k > i), default=None)
        if behind is None or assumed_size(tensor_of(value.type)) >= assumed_size(tensor_of(read.type)):
            continue
        if any(not isinstance(u.operation, tx.ViewOp) for u in value.uses) and _is_used_behind(value, behind, place):
            _insert(value, 0.0, 0.0, value.uses.get_length(), "the tensor is updated before it is used")


def _updates(op: Operation) -> bool:
    """Whether an op writes into the memory of an operand, where it can."""
    return isinstance(op, (tx.InsertOp, tx.ForOp, tx.WhileOp)) or op.name == "tx.scatter"


def _source(op: Operation) -> SSAValue:
    """What a view is of, through views of views."""
    value = op.operands[0]
    while isinstance(value.owner, tx.ViewOp):
        value = value.owner.operands[0]
    return value


def _is_used_behind(value: SSAValue, behind: int, place: dict[Operation, int]) -> bool:
    """Whether an op that comes behind a place computes with a value, itself or through maps and views."""
    seen, values = {value}, [value]
    while values:
        for use in values.pop().uses:
            user = use.operation
            if not isinstance(user, (tx.MapOp, tx.ViewOp)):
                if place.get(user, behind) > behind:
                    return True
            elif user.results[0] not in seen:
                seen.add(user.results[0])
                values.append(user.results[0])
    return False


def _is_reduced(value: SSAValue) -> bool:
    """Whether all that reads a value, through maps, are reductions of elements."""
    return all(
        isinstance(use.operation, tx.ReductionOp)
        or (isinstance(use.operation, tx.MapOp) and _is_reduced(use.operation.results[0]))
        for use in value.uses
    )


def _blocks(op: Operation) -> list[Block]:
    """Every block inside an op, outer ones first."""
    return [b for inner in op.walk() for region in inner.regions for b in region.blocks]


def _insert(value: SSAValue, recompute: float, traffic: float, uses: int, reason: str) -> None:
    """Put an eval after the value and let every use read that."""
    owner = value.owner
    assert isinstance(owner, Operation)
    costs = {"recompute": recompute, "materialize": traffic} if traffic else {}
    remark("materialize", owner.name, "materialized", reason, costs, owner)
    figures = {
        "recompute": integer_attr(min(int(recompute), 1 << 62)),
        "traffic": integer_attr(int(traffic)),
        "uses": integer_attr(uses),
        "reason": string_attr(reason),
    }
    if "loc" in owner.attributes:
        figures["loc"] = owner.attributes["loc"]
    made = tx.make("eval", [value], {}, extra=figures)
    block = owner.parent
    assert block is not None
    block.insert_op_after(made, owner)
    value.replace_uses_with_if(made.results[0], lambda use: use.operation is not made)
