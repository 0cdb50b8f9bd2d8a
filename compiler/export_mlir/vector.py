"""Loops whose lanes change places, in upstream's `vector` dialect: elsewhere lanes are a schedule, and not exported."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.attributes import BufferType
from ...dialects.dims.dims import Dim, sym
from ...dialects.loop import ForOp, LoadOp, ShuffleOp, StoreOp
from .text import ExportError, Text

__all__ = ["changes_places", "export_vectors"]

#: The text of an element of a buffer.
Place = Callable[[SSAValue, Sequence[Dim]], str]


def changes_places(loop: ForOp) -> bool:
    return any(isinstance(op, ShuffleOp) and op.symbol == loop.symbol for op in loop.block.ops)


def export_vectors(text: Text, loop: ForOp, place: Place) -> None:
    """So many iterations at once as a vector has: a loop of whole vectors of neighbours, and of what is done in lanes.

    Raises ExportError for what is neither.
    """
    width = loop.vector.value.data
    lower, upper = text.index(loop.lower.data), text.index(loop.upper.data)
    step, at = text.define(f"arith.constant {width} : index"), text.fresh()
    with text.scope(f"scf.for {at} = {lower} to {upper} step {step} {{"):
        text.env[loop.symbol] = at
        for op in loop.block.ops:
            if op is not loop.block.last_op:
                _export(text, op, loop, place)


def _export(text: Text, op: Operation, loop: ForOp, place: Place) -> None:
    def typed(ty: Attribute) -> str:
        return f"vector<{loop.vector.value.data}x{ty}>"

    given = list(map(text.of, op.operands))
    operands = [v for v in op.operands if not isinstance(v.type, BufferType)]
    if any(not _is_inside(v, loop) for v in operands):
        raise ExportError(f"{op.name} of what all lanes share has no exported form beside loop.shuffle")
    match op:
        case LoadOp() if op.guards is None:
            _check_neighbours(op, loop)
            at = place(op.buffer, op.index.data)
            text.names[op.result] = text.define(f"vector.load {at}, {typed(op.result.type)}")
        case StoreOp() if op.guards is None:
            _check_neighbours(op, loop)
            text.line(f"vector.store {given[0]}, {place(op.buffer, op.index.data)}, {typed(op.value.type)}")
        case ShuffleOp():
            lanes, ty = list(op.numbers), typed(op.first.type)
            text.names[op.result] = text.define(f"vector.shuffle {', '.join(given)} {lanes} : {ty}, {ty}")
        case _ if op.name.startswith("arith.") and len(op.results) == 1 and given:
            types = ", ".join(typed(v.type) for v in operands)
            text.names[op.results[0]] = text.define(
                f'"{op.name}"({", ".join(given)}){text.properties(op)} : ({types}) -> {typed(op.results[0].type)}'
            )
        case _:
            raise ExportError(f"{op.name} beside loop.shuffle has no exported form")


def _is_inside(value: SSAValue, loop: ForOp) -> bool:
    return isinstance(value.owner, Operation) and value.owner.parent is loop.block


def _check_neighbours(access: LoadOp | StoreOp, loop: ForOp) -> None:
    assert isinstance(access.buffer.type, BufferType)
    offset = access.buffer.type.data.address(access.index.data)
    if (offset.substitute({loop.symbol: sym(loop.iv.data) + 1}) - offset).const != 1:
        raise ExportError(f"{access.name} beside loop.shuffle has no exported form where lanes are no neighbours")
