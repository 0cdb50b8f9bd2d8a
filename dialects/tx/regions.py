"""What all operations of the `tx` dialect share, and those with regions: loops and conditionals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from xdsl.ir import Attribute, Block
from xdsl.irdl import IRDLOperation, irdl_op_definition, region_def, traits_def, var_operand_def, var_result_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ..assembly import RANGE, number_after, print_range, read_range, word
from ..attributes import DimAttr, from_attr, integer_attr, ir_tensor, tensor_of
from ..dims.dims import Dim, Sym
from ..region_assembly import (
    arguments_with_values,
    print_arguments_with_values,
    print_if,
    print_region,
    print_rest,
    print_while,
    read_if,
    read_region,
    read_rest,
    read_while,
)
from ..registry import REQUIRED, Op, OpError
from ..tx_internal import LOCAL
from ..types import DTYPES, TensorType

__all__ = ["ForOp", "IfOp", "RegionOp", "TxOp", "WhileOp", "YieldOp"]

_BOOL_SCALAR = ir_tensor(TensorType(DTYPES["bool"], ()))
_INT_SCALAR = ir_tensor(TensorType(DTYPES["i64"], ()))


class TxOp(IRDLOperation):
    """What all `tx` operations share: the declaration, its parameters, types."""

    if TYPE_CHECKING:
        decl: ClassVar[type[Op]]  # set on each leaf; irdl takes no lower-case class variables

    @property
    def params(self) -> dict[str, Any]:
        """The canonical parameters; one that is absent is None."""
        found = self.attributes
        return {key: from_attr(found[key]) if key in found else None for key in self.decl.params}

    @property
    def bound(self) -> type[Op]:
        """The declaration for these parameters (see `Op.for_params`)."""
        return self.decl.for_params(self.params)

    @property
    def operand_tensors(self) -> tuple[TensorType, ...]:
        return tuple(tensor_of(v.type) for v in self._operands)

    @property
    def type(self) -> TensorType:
        """The type of the first result."""
        return tensor_of(self.results[0].type)

    @property
    def loc(self) -> str | None:
        """The user's line, ``"file:line:column"``."""
        found = self.attributes.get("loc")
        return from_attr(found) if found is not None else None

    def _typed(self) -> tuple[list[TensorType], list[TensorType]]:
        try:
            return [tensor_of(v.type) for v in self.operands], [tensor_of(r.type) for r in self.results]
        except ValueError as error:
            raise VerifyException(f"{self.name}: {error}") from error

    def verify_(self) -> None:
        operands, results = self._typed()
        for key, param in self.decl.params.items():
            if key not in self.attributes and param.default is REQUIRED:
                raise VerifyException(f"{self.name} needs the attribute {key!r}")
        try:
            inferred = self.decl.infer(operands, self.params)
        except (OpError, ValueError, TypeError, IndexError, KeyError, AttributeError) as error:
            raise VerifyException(f"{self.name}: {error}") from error
        if tuple(inferred) != tuple(results):
            raise VerifyException(
                f"{self.name} gives ({', '.join(map(str, inferred))}), not ({', '.join(map(str, results))})"
            )


def _empty_yield() -> YieldOp:
    return YieldOp.create()


class RegionOp(TxOp):
    """Shared by the ops with regions."""

    def _block(self, i: int) -> Block:
        return self.regions[i].block

    def _verify_yield(self, region: int, types: Sequence[Attribute], what: str) -> None:
        blocks = self.regions[region].blocks
        last = blocks[0].last_op if len(blocks) == 1 else None
        if not isinstance(last, YieldOp):
            raise VerifyException(f"{what} of {self.name} must be one block that ends in tx.yield")
        found = tuple(v.type for v in last.operands)
        if found != tuple(types):
            raise VerifyException(
                f"{what} of {self.name} must yield ({', '.join(map(str, types))}), not ({', '.join(map(str, found))})"
            )

    def _verify_args(self, region: int, types: Sequence[Attribute], what: str) -> None:
        if len(self.regions[region].blocks) != 1 or tuple(self._block(region).arg_types) != tuple(types):
            raise VerifyException(f"{what} of {self.name} takes ({', '.join(map(str, types))})")


@irdl_op_definition
class ForOp(RegionOp):
    """``tx.for {iv, lower, upper, step}``: iterations in order; block arguments are the carried values.

    With ``break`` (attribute `until`) it ends after an iteration whose carried value of that number, a rank-0 bool, is
    true.  With ``only`` it runs the one iteration whose number is the operand of that number, a rank-0 i64.
    """

    name = "tx.for"
    ins = var_operand_def()
    outs = var_result_def()
    body = region_def("single_block")
    traits = traits_def(Pure())

    @property
    def symbol(self) -> Sym:
        return Sym(from_attr(self.attributes["iv"]))

    @property
    def range(self) -> tuple[Dim, Dim, Dim]:
        """Lower bound (inclusive), upper bound (exclusive) and step."""
        a = self.attributes
        return from_attr(a["lower"]), from_attr(a["upper"]), from_attr(a["step"])

    @property
    def ends_at(self) -> int | None:
        """The number of the carried value that ends the loop."""
        found = self.attributes.get("until")
        return None if found is None else from_attr(found)

    @property
    def only(self) -> int | None:
        """The number of the operand that says which iteration runs alone."""
        found = self.attributes.get("only")
        return None if found is None else from_attr(found)

    @property
    def block(self) -> Block:
        return self._block(0)

    def print(self, printer: Printer) -> None:
        """``tx.for i = 0 to n step 2 break 1 only 0 carry (%v = %x) { … }``"""
        print_range(printer, self)
        for name, number in (("break", self.ends_at), ("only", self.only)):
            if number is not None:
                printer.print_string(f" {name} {number}")
        if self.ins:
            printer.print_string(" carry ")
            print_arguments_with_values(printer, self.block.args, self.ins)
        print_rest(printer, self, (*RANGE, "until", "only"), header=True)
        print_region(printer, self.body)

    @classmethod
    def parse(cls, parser: Parser) -> ForOp:
        attributes = read_range(parser)
        for name, attribute in (("break", "until"), ("only", "only")):
            if (number := number_after(parser, name)) is not None:
                attributes[attribute] = integer_attr(number)
        arguments, ins = arguments_with_values(parser) if word(parser, "carry") else ([], [])
        attributes |= read_rest(parser, header=True)
        body = read_region(parser, arguments, _empty_yield)
        return cls.create(operands=ins, result_types=[v.type for v in ins], attributes=attributes, regions=[body])

    def verify_(self) -> None:
        for key in ("lower", "upper", "step"):
            if not isinstance(self.attributes.get(key), DimAttr):
                raise VerifyException(f"{self.name} needs a #tx.dim called {key!r}")
        if not isinstance(from_attr(self.attributes["iv"]) if "iv" in self.attributes else None, str):
            raise VerifyException(f"{self.name} needs the name of its iterator, 'iv'")
        if any(self.symbol in d.symbols() for d in self.range):
            raise VerifyException(f"the range of {self.name} mentions its own iterator {self.symbol}")
        step = self.range[2]
        if step.const is not None and step.const <= 0:
            raise VerifyException(f"the step of {self.name} must be positive, not {step}")
        types = [v.type for v in self.operands]
        if [r.type for r in self.results] != types:
            raise VerifyException(f"initial values and results of {self.name} must have the same types")
        if self.ends_at is not None and (self.ends_at >= len(types) or types[self.ends_at] != _BOOL_SCALAR):
            raise VerifyException(f"'break' of {self.name} is the number of a carried rank-0 bool")
        if self.only is not None and (self.only >= len(types) or types[self.only] != _INT_SCALAR):
            raise VerifyException(f"'only' of {self.name} is the number of a carried rank-0 i64")
        self._verify_args(0, types, "the body")
        self._verify_yield(0, types, "the body")


@irdl_op_definition
class WhileOp(RegionOp):
    """``tx.while``: region 0 yields a rank-0 bool of the carried values; region 1 the next ones."""

    name = "tx.while"
    ins = var_operand_def()
    outs = var_result_def()
    condition = region_def("single_block")
    body = region_def("single_block")
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        """``tx.while carry (%v = %x) { … } do (%w) { … }``"""
        print_while(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> WhileOp:
        return read_while(parser, cls, _empty_yield)

    def verify_(self) -> None:
        types = [v.type for v in self.operands]
        if [r.type for r in self.results] != types:
            raise VerifyException(f"initial values and results of {self.name} must have the same types")
        self._verify_args(0, types, "the condition")
        self._verify_args(1, types, "the body")
        self._verify_yield(0, [_BOOL_SCALAR], "the condition")
        self._verify_yield(1, types, "the body")


@irdl_op_definition
class IfOp(RegionOp):
    """``tx.if``: one of two regions without arguments, by a rank-0 bool; both yield the results' types."""

    name = "tx.if"
    ins = var_operand_def()
    outs = var_result_def()
    then = region_def("single_block")
    otherwise = region_def("single_block")
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        """``tx.if %c -> (f32[n]) { … } else { … }``"""
        print_if(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        return read_if(parser, cls, _empty_yield)

    def verify_(self) -> None:
        if [v.type for v in self.operands] != [_BOOL_SCALAR]:
            raise VerifyException(f"{self.name} takes one rank-0 bool")
        types = [r.type for r in self.results]
        for i, what in enumerate(("the first branch", "the second branch")):
            self._verify_args(i, [], what)
            self._verify_yield(i, types, what)


@irdl_op_definition
class YieldOp(TxOp):
    """Ends a region of a `tx` operation."""

    name = "tx.yield"
    ins = var_operand_def()
    traits = traits_def(IsTerminator())
    assembly_format = "($ins^ `:` type($ins))? attr-dict"

    def verify_(self) -> None:
        self._typed()


YieldOp.decl = LOCAL["yield"]
