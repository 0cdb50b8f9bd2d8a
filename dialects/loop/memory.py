"""Memory in the `loop` dialect: temporaries, and loads, stores and prefetches of their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, attr_def, irdl_op_definition, operand_def, opt_attr_def, result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..assembly import (
    dim_after,
    dims_in_brackets,
    flags,
    guards_of,
    known_operand,
    number_after,
    print_buffer,
    print_guards,
    read_buffer,
)
from ..attributes import (
    BufferInfo,
    BufferType,
    DimAttr,
    DimsAttr,
    buffer_type,
    dim_attr,
    dims_attr,
    integer_attr,
    scalar_type,
    string_attr,
    write_dims,
)
from ..dims.dims import Dim, dim
from ..region_assembly import print_rest, read_rest

__all__ = ["AllocOp", "LoadOp", "PrefetchOp", "StoreOp", "TimestampOp"]


class _Access(IRDLOperation):
    """Shared by load and store: the element of a buffer at ``index``, touched only where every guard is ``>= 0``."""

    index = attr_def(DimsAttr)
    guards = opt_attr_def(DimsAttr)

    def _verify_access(self, buffer: SSAValue, value: Attribute) -> None:
        if not isinstance(buffer.type, BufferType):
            raise VerifyException(f"expected a buffer, got {buffer.type}")
        info = buffer.type.data
        if len(self.index.data) != info.rank:
            raise VerifyException(f"{len(self.index.data)} indices for a buffer of rank {info.rank}")
        if value != scalar_type(info.dtype):
            raise VerifyException(f"{value} does not fit a buffer of {info.dtype}")

    @property
    def guard_exprs(self) -> tuple[Dim, ...]:
        return self.guards.data if self.guards is not None else ()

    def print_access(self, printer: Printer, buffer: SSAValue) -> None:
        printer.print_operand(buffer)
        printer.print_string(f"[{write_dims(self.index.data)}]")
        print_guards(printer, self.guard_exprs)

    @staticmethod
    def read_access(parser: Parser) -> tuple[SSAValue, dict[str, Attribute]]:
        """A buffer, and the attributes that say where in it."""
        buffer = known_operand(parser)
        if not isinstance(buffer.type, BufferType):
            parser.raise_error(f"expected a buffer, got {buffer.type}")
        index = dims_in_brackets(parser)
        return buffer, _access(index, guards_of(parser))


def _access(index: Sequence[Dim], guards: Sequence[Dim]) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {"index": dims_attr(tuple(index))}
    if guards:
        attributes["guards"] = dims_attr(tuple(guards))
    return attributes


@irdl_op_definition
class LoadOp(_Access):
    """An element of a buffer, or zero where a guard is negative."""

    name = "loop.load"
    buffer = operand_def()
    result = result_def()

    def __init__(self, buffer: SSAValue, index: Sequence[Dim], guards: Sequence[Dim] = ()):
        assert isinstance(buffer.type, BufferType)
        Operation.__init__(
            self,
            operands=[buffer],
            result_types=[scalar_type(buffer.type.data.dtype)],
            attributes=_access(index, guards),
        )

    def print(self, printer: Printer) -> None:
        """``loop.load %x[i, j] where (j - 1 >= 0)``"""
        printer.print_string(" ")
        self.print_access(printer, self.buffer)
        print_rest(printer, self, ("index", "guards"))

    @classmethod
    def parse(cls, parser: Parser) -> LoadOp:
        buffer, attributes = cls.read_access(parser)
        assert isinstance(buffer.type, BufferType)
        attributes |= read_rest(parser)
        return cls.create(operands=[buffer], result_types=[scalar_type(buffer.type.data.dtype)], attributes=attributes)

    def verify_(self) -> None:
        self._verify_access(self.buffer, self.result.type)


@irdl_op_definition
class StoreOp(_Access):
    """Writes an element of a buffer; nothing happens where a guard is negative.

    ``nontemporal``: no loop nearby reads the element back, so the store bypasses the caches where the buffer has at
    least so many bytes.
    """

    name = "loop.store"
    value = operand_def()
    buffer = operand_def()
    nontemporal = opt_attr_def(IntegerAttr[IntegerType])

    def __init__(
        self,
        value: SSAValue,
        buffer: SSAValue,
        index: Sequence[Dim],
        guards: Sequence[Dim] = (),
        *,
        nontemporal: int = 0,
    ):
        attributes = _access(index, guards)
        if nontemporal:
            attributes["nontemporal"] = integer_attr(nontemporal)
        Operation.__init__(self, operands=[value, buffer], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """``loop.store %v, %y[i, j] where (j - 1 >= 0) nontemporal 8388608``"""
        printer.print_string(" ")
        printer.print_operand(self.value)
        printer.print_string(", ")
        self.print_access(printer, self.buffer)
        if self.nontemporal is not None:
            printer.print_string(f" nontemporal {self.nontemporal.value.data}")
        print_rest(printer, self, ("index", "guards", "nontemporal"))

    @classmethod
    def parse(cls, parser: Parser) -> StoreOp:
        value = known_operand(parser)
        parser.parse_punctuation(",")
        buffer, attributes = cls.read_access(parser)
        if (threshold := number_after(parser, "nontemporal")) is not None:
            attributes["nontemporal"] = integer_attr(threshold)
        attributes |= read_rest(parser)
        return cls.create(operands=[value, buffer], attributes=attributes)

    def verify_(self) -> None:
        self._verify_access(self.buffer, self.value.type)


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """An element of a buffer is read or written soon: its line may come to the first or second `cache` meanwhile.

    It changes no value, and the element need not exist.  ``where``: only where an expression is positive.
    """

    name = "loop.prefetch"
    buffer = operand_def(BufferType)
    index = attr_def(DimsAttr)
    cache = attr_def(IntegerAttr)
    where = opt_attr_def(DimAttr)
    writes = opt_attr_def(UnitAttr)

    def __init__(
        self, buffer: SSAValue, index: Sequence[Dim], cache: int = 1, *, where: Dim | None = None, writes: bool = False
    ):
        attributes: dict[str, Attribute] = {"index": dims_attr(tuple(index)), "cache": integer_attr(cache)}
        if where is not None:
            attributes["where"] = dim_attr(where)
        if writes:
            attributes["writes"] = UnitAttr()
        Operation.__init__(self, operands=[buffer], attributes=attributes)

    def print(self, printer: Printer) -> None:
        """``loop.prefetch %x[i0, i1 + 512] cache 2 writes where (-4*m*n + 8388608 > 0)``"""
        printer.print_string(" ")
        printer.print_operand(self.buffer)
        printer.print_string(f"[{write_dims(self.index.data)}]")
        if self.cache.value.data != 1:
            printer.print_string(f" cache {self.cache.value.data}")
        if self.writes is not None:
            printer.print_string(" writes")
        print_guards(printer, () if self.where is None else (self.where.data,), "> 0")
        print_rest(printer, self, ("index", "cache", "writes", "where"))

    @classmethod
    def parse(cls, parser: Parser) -> PrefetchOp:
        buffer = known_operand(parser)
        attributes: dict[str, Attribute] = {"index": dims_attr(dims_in_brackets(parser))}
        attributes["cache"] = integer_attr(number_after(parser, "cache", 1))
        attributes |= flags(parser, "writes")
        if where := guards_of(parser, "> 0"):
            attributes["where"] = dim_attr(where[0])
        return cls.create(operands=[buffer], attributes=attributes | read_rest(parser))

    def verify_(self) -> None:
        assert isinstance(self.buffer.type, BufferType)
        rank = self.buffer.type.data.rank
        if len(self.index.data) != rank:
            raise VerifyException(f"{len(self.index.data)} indices for a buffer of rank {rank}")
        if self.cache.value.data not in (1, 2):
            raise VerifyException(f"'cache' is 1 or 2, not {self.cache.value.data}")


@irdl_op_definition
class AllocOp(IRDLOperation):
    """A temporary at byte ``offset``.

    ``scope``: arena (of all threads), thread (one for each worker), shared (a GPU's shared memory: one for each block
    of the grid).
    """

    name = "loop.alloc"
    scope = attr_def(StringAttr)
    offset = attr_def(DimAttr)
    result = result_def()

    SCOPES: ClassVar = ("arena", "thread", "shared")

    def __init__(self, info: BufferInfo, offset: Dim | int, scope: str = "arena"):
        Operation.__init__(
            self,
            result_types=[buffer_type(info)],
            attributes={"scope": string_attr(scope), "offset": dim_attr(dim(offset))},
        )

    def print(self, printer: Printer) -> None:
        """``loop.alloc f32[m] in thread at 64``"""
        printer.print_string(" ")
        print_buffer(printer, self.result.type)
        printer.print_string(f" in {self.scope.data} at {self.offset.data}")
        print_rest(printer, self, ("scope", "offset"))

    @classmethod
    def parse(cls, parser: Parser) -> AllocOp:
        made = read_buffer(parser)
        parser.parse_keyword("in")
        attributes: dict[str, Attribute] = {"scope": string_attr(parser.parse_identifier())}
        attributes["offset"] = dim_attr(dim_after(parser, "at"))
        attributes |= read_rest(parser)
        return cls.create(result_types=[made], attributes=attributes)

    def verify_(self) -> None:
        if self.scope.data not in self.SCOPES:
            raise VerifyException(f"'scope' is one of {', '.join(self.SCOPES)}, not {self.scope.data!r}")
        if not isinstance(self.result.type, BufferType):
            raise VerifyException(f"an allocation gives a buffer, not {self.result.type}")


@irdl_op_definition
class TimestampOp(IRDLOperation):
    """Stores the time now, in nanoseconds of a clock that only runs forwards, as element `slot` of a buffer of i64."""

    name = "loop.timestamp"
    buffer = operand_def()
    slot = attr_def(IntegerAttr)

    def __init__(self, buffer: SSAValue, slot: int):
        Operation.__init__(self, operands=[buffer], attributes={"slot": integer_attr(slot)})

    def print(self, printer: Printer) -> None:
        """``loop.timestamp %times[3]``"""
        printer.print_string(" ")
        printer.print_operand(self.buffer)
        printer.print_string(f"[{self.slot.value.data}]")
        print_rest(printer, self, ("slot",))

    @classmethod
    def parse(cls, parser: Parser) -> TimestampOp:
        buffer = known_operand(parser)
        with parser.in_square_brackets():
            slot = parser.parse_integer()
        return cls.create(operands=[buffer], attributes={"slot": integer_attr(slot)} | read_rest(parser))

    def verify_(self) -> None:
        info = self.buffer.type.data if isinstance(self.buffer.type, BufferType) else None
        if info is None or info.rank != 1 or scalar_type(info.dtype) != i64:
            raise VerifyException(f"times are stored in a buffer of i64 of rank 1, not in {self.buffer.type}")
