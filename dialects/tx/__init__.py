"""The `tx` dialect: tensor operations with value semantics, one IR operation for each op of the registry.

There is one irdl definition for all operations without regions; the family classes (`MapOp`, `ReductionOp`, …) add
typed accessors, and the leaves (`tx.exp`, `tx.sum`, …) are plain subclasses with a name, made when first asked for.
Every operation knows its declaration (`decl`) and its canonical parameters (`params`), and its verifier infers its
result types anew through the declaration: dims and dtypes must agree.

Attributes besides the parameters: ``loc`` (the user's line, ``"file:line:column"``), ``order`` (reductions and
contractions), ``layout`` (the stored order of dims, set by layout-swap) and the figures of eval-insertion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from xdsl.dialects.builtin import FunctionType
from xdsl.ir import Attribute, Dialect, Operation, Region, SSAValue
from xdsl.irdl import irdl_op_definition, traits_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .. import ops as _ops  # noqa: F401  (fills the registry)
from ..assembly import known_operand, optional_operand
from ..attributes import (
    ComplexAttr,
    DimAttr,
    DimsAttr,
    DTypeAttr,
    MapAttr,
    OrderAttr,
    ProgramAttr,
    from_attr,
    ir_tensor,
    order_attr,
    tensor_of,
    to_attr,
)
from ..dims.dims import iterators
from ..dims.index_map import IndexMap, identity_map
from ..order import CHAIN_FMA, FREE, Order, sum_order
from ..region_assembly import print_rest, read_rest
from ..registry import OPS, Op, OpError
from ..tx_internal import LOCAL
from ..types import TensorType
from .regions import ForOp, IfOp, RegionOp, TxOp, WhileOp, YieldOp

__all__ = [
    "ConcatenateOp", "ConstantOp", "ContractOp", "DimOp", "EmptyOp", "EvalOp", "ForOp", "GenericViewOp", "IfOp",
    "InsertOp", "IotaOp", "MapOp", "PlainOp", "ReductionOp", "ScanOp", "TakeOp", "TxOp", "ViewOp", "WhileOp", "YieldOp",
    "contract_order", "leaf", "make", "order_of", "slides", "tx_dialect",
]  # fmt: skip


@irdl_op_definition
class PlainOp(TxOp):
    """Any operation without regions."""

    name = "tx.op"
    ins = var_operand_def()
    outs = var_result_def()
    traits = traits_def(Pure())

    @property
    def result(self) -> SSAValue:
        return self.results[0]

    @property
    def operand(self) -> SSAValue:
        """The first operand."""
        return self._operands[0]

    def print(self, printer: Printer) -> None:
        """``tx.sum %x {dims = [1], order = #tx.order<tree<1024, 64>>} : f32[n]``: operands, parameters, results.

        The types of operands may be given too, ``(f32[n, m]) -> f32[n]``.
        """
        if self._operands:
            printer.print_string(" ")
            printer.print_list(self._operands, printer.print_operand)
        print_rest(printer, self, ())
        printer.print_string(" : ")
        printer.print_list(self.results, lambda result: printer.print_attribute(result.type))

    @classmethod
    def parse(cls, parser: Parser) -> PlainOp:
        operands = parser.parse_optional_undelimited_comma_separated_list(
            lambda: optional_operand(parser), lambda: known_operand(parser)
        )
        attributes = read_rest(parser)
        parser.parse_punctuation(":")
        types: Sequence[Attribute] = parser.parse_comma_separated_list(Parser.Delimiter.NONE, parser.parse_type)
        if isinstance(types[0], FunctionType):
            types = types[0].outputs.data
        return cls.create(operands=operands or [], result_types=types, attributes=attributes)


class MapOp(PlainOp):
    """A scalar body for every element of operands of equal dims."""


class ReductionOp(PlainOp):
    """A reduction along `dims`, in the stated `order`."""

    @property
    def dims(self) -> tuple[int, ...]:
        return from_attr(self.attributes["dims"])

    @property
    def order(self) -> Order:
        return _order(self)

    def verify_(self) -> None:
        super().verify_()
        _verify_order(self)


class ScanOp(ReductionOp):
    """The partial results of a reduction along `axis`, in the stated `order`."""

    @property
    def dims(self) -> tuple[int, ...]:
        return (self.axis,)

    @property
    def axis(self) -> int:
        return from_attr(self.attributes["axis"])


class ViewOp(PlainOp):
    """An index map from the result's dims to the operand's; elements outside its guards are `fill`.

    Its parameters do not change once it is made, so neither does the map, which every pass asks for.
    """

    @cached_property
    def map(self) -> IndexMap:
        return self.decl.view(tensor_of(self._operands[0].type), self.params)  # type: ignore[attr-defined]

    @property
    def fill(self) -> bool | int | float:
        found = self.attributes.get("fill")
        return 0 if found is None else from_attr(found)

    def verify_(self) -> None:
        super().verify_()
        rank = len(self.map.exprs)
        if rank != self.operand_tensors[0].rank:
            raise VerifyException(
                f"{self.name}: a map to rank {rank} of an operand of rank {self.operand_tensors[0].rank}"
            )


class GenericViewOp(ViewOp):
    """``tx.view {map, fill}``: what composed views become."""

    @cached_property
    def map(self) -> IndexMap:
        return from_attr(self.attributes["map"])


class ContractOp(PlainOp):
    """Sum of products over pairs of dims, in the stated `order`; pairs of `batch` dims are kept."""

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        return from_attr(self.attributes["pairs"])

    @property
    def batch(self) -> tuple[tuple[int, int], ...]:
        return from_attr(self.attributes["batch"])

    @property
    def order(self) -> Order:
        return _order(self)

    def verify_(self) -> None:
        super().verify_()
        _verify_order(self)


class InsertOp(PlainOp):
    """`base` with the elements that `map` names replaced by those of `value`."""

    @property
    def base(self) -> SSAValue:
        return self._operands[0]

    @property
    def value(self) -> SSAValue:
        return self._operands[1]

    @property
    def map(self) -> IndexMap:
        return from_attr(self.attributes["map"])

    def verify_(self) -> None:
        super().verify_()
        (base, value), index = self.operand_tensors, self.map
        if len(index.exprs) != base.rank or index.extents != value.dims:
            raise VerifyException(f"{self.name}: the map {index} does not lead from {value} into {base}")
        if index.guards:
            raise VerifyException(f"{self.name}: a map with guards does not say where to store")


class TakeOp(PlainOp):
    """Elements of the first operand along an axis at the indices of the second."""


class ConcatenateOp(PlainOp):
    """Operands one after another along an axis."""


class ConstantOp(PlainOp):
    """A rank-0 literal."""

    @property
    def value(self) -> bool | int | float:
        return from_attr(self.attributes["value"])


class DimOp(PlainOp):
    """The value of an integer expression over dims."""


class IotaOp(PlainOp):
    """0, 1, 2, … along one dim."""


class EmptyOp(PlainOp):
    """``tx.empty {dtype, dims}``: a tensor whose elements have no value until they are inserted."""


class EvalOp(PlainOp):
    """Its operand, materialised: stored in memory instead of computed where it is used."""


_FAMILIES: dict[str, type[TxOp]] = {
    "map": MapOp,
    "reduction": ReductionOp,
    "scan": ScanOp,
    "view": ViewOp,
    "structural": PlainOp,
}
_NAMED: dict[str, type[TxOp]] = {
    "concatenate": ConcatenateOp, "constant": ConstantOp, "contract": ContractOp, "dim": DimOp, "empty": EmptyOp,
    "eval": EvalOp, "for": ForOp, "if": IfOp, "insert": InsertOp, "iota": IotaOp, "take": TakeOp, "view": GenericViewOp,
    "while": WhileOp, "yield": YieldOp,
}  # fmt: skip
_leaves: dict[type[Op], type[TxOp]] = {}


def leaf(decl: type[Op] | str) -> type[Any]:
    """The IR operation of a declaration (or of a registered name), made on first use."""
    if isinstance(decl, str):
        decl = LOCAL[decl] if decl in LOCAL else OPS[decl]
    found = _leaves.get(decl)
    if found is None:
        base = _NAMED.get(decl.name) or _FAMILIES.get(decl.family)
        if base is None:
            raise OpError(f"{decl.name} is a {decl.family} op: it has no IR operation of its own", code="TX0301")
        if issubclass(base, (RegionOp, YieldOp)):
            base.decl = decl
            found = base
        else:
            # A plain subclass: running irdl's class processing for every op costs 0.7 ms each.
            name = "".join(word.capitalize() for word in decl.name.split("_")) + "Op"
            found = type(name, (base,), {"name": f"tx.{decl.name}", "decl": decl, "__doc__": decl.__doc__})
        # Passes compare classes: what another thread has made meanwhile is the one.
        found = _leaves.setdefault(decl, found)
    return found


def order_of(decl: type[Op], operands: Sequence[SSAValue], params: Mapping[str, Any]) -> Order | None:
    """The order of arithmetic of an operation, fixed when it is made; None where it has none."""
    if decl.family not in ("reduction", "scan") and decl.name != "contract":
        return None
    types = [tensor_of(v.type) for v in operands]
    bound = decl.for_params(params)
    if decl.family == "reduction":
        return bound.order(types[0], params["dims"], slides(operands[0], params["dims"]))  # type: ignore[attr-defined]
    if decl.family == "scan":
        return bound.order(types[0], params["axis"])  # type: ignore[attr-defined]
    pairs = params["pairs"]
    sliding = any(slides(value, dims) for value, dims in zip(operands, zip(*pairs)))
    return contract_order(types, pairs, params["batch"], sliding)


def contract_order(
    operands: Sequence[TensorType],
    pairs: Sequence[tuple[int, int]],
    batch: Sequence[tuple[int, int]] = (),
    slides: bool = False,
) -> Order:
    """Exact types: free.  One FMA chain where both operands have free dims, else a sum's order with FMA.

    The sum is that of the operand with free dims: a vector times a matrix is reduced along an outer dim.  With `slides`
    the sums are over windows.
    """
    a, b = operands
    if a.dtype.is_integer or a.dtype.kind == "bool":
        return FREE
    met = len(pairs) + len(batch)
    if a.rank > met and b.rank > met:
        return CHAIN_FMA
    side = int(b.rank > met)
    innermost = operands[side].rank - 1 in [pair[side] for pair in pairs]
    base = sum_order(a.dtype.computes_in.bits, innermost and not slides)
    return Order(base.kind, base.block, base.lanes, "fma")


def slides(value: SSAValue, reduced: Sequence[int]) -> bool:
    """Whether a reduction along the dims `reduced` is over windows, which views of what is stored made.

    Results then are neighbours in memory as well as the elements of one: one chain a result, vectors across results.
    """
    index = identity_map(tensor_of(value.type).dims)
    symbols = {iterators(index.rank)[i].symbol for i in reduced}
    while isinstance(op := value.owner, ViewOp | EvalOp):
        if isinstance(op, ViewOp):
            for expr in index.exprs[: op.decl.window_dims(op.params)]:  # type: ignore[attr-defined]
                if symbols & expr.symbols():
                    return True
            index = op.map.after(index)
        value = op.operands[0]
    return False


def make(
    decl: type[Op] | str,
    operands: Sequence[SSAValue],
    params: Mapping[str, Any] | None = None,
    *,
    types: Sequence[Attribute] | None = None,
    regions: Sequence[Region] = (),
    extra: Mapping[str, Attribute] | None = None,
) -> Any:
    """A new operation; its result types are inferred unless given.  `extra` are further attributes, such as ``loc``."""
    cls = leaf(decl)
    params = params or {}
    attributes = {k: to_attr(v) for k, v in params.items() if v is not None}
    order = order_of(cls.decl, operands, params)
    if order is not None:
        attributes["order"] = order_attr(order)
    if extra:
        attributes.update(extra)
    if types is None:
        types = [ir_tensor(t) for t in cls.decl.infer([tensor_of(v.type) for v in operands], dict(params))]
    op: TxOp = object.__new__(cls)
    Operation.__init__(op, operands=operands, result_types=types, attributes=attributes, regions=regions)
    return op


def _order(op: TxOp) -> Order:
    return from_attr(op.attributes["order"])


def _verify_order(op: TxOp) -> None:
    if not isinstance(op.attributes.get("order"), OrderAttr):
        raise VerifyException(f"{op.name} needs its order of arithmetic, the attribute 'order'")


def tx_dialect() -> Dialect:
    """The dialect with every registered op: for parsing."""
    leaves = [leaf(decl) for decl in (*OPS.values(), *LOCAL.values()) if decl.family != "composite"]
    return Dialect("tx", leaves, [DimsAttr, DimAttr, MapAttr, OrderAttr, DTypeAttr, ComplexAttr, ProgramAttr])
