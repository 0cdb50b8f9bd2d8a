"""Ops made of a user's function of scalars: maps with loops of their own, reductions and scans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self

from ...order import SERIAL, Order
from ...params import axes, axis, bool_param, choice
from ...registry import Map, OpError, Param, Reduction, Scan, op
from ...scalar.language import ComplexValue, ScalarBuilder, Value
from ...scalar.program import ScalarProgram, program_param
from ...types import DType, TensorType

KINDS = frozenset({"bool", "int", "uint", "float", "complex"})


def _init_param() -> Param:
    return Param("number", lambda v, _: v)


@op
class ScalarMap(Map):
    """A function of scalars, traced once, for every element: what `unary_expr` and kin make of functions with loops.

    Each element goes round its loops as often as it needs; the operands have the types of the function's arguments.
    """

    arity = -1
    methods = ()
    dtypes = KINDS
    guarded = True  # a loop might not end for a number that is no element
    params: ClassVar[dict[str, Param]] = {"program": program_param()}

    @classmethod
    def for_params(cls, attrs: Mapping[str, Any]) -> type[Self]:
        return _map_of(cls, attrs["program"])

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        program: ScalarProgram = attrs["program"]
        wanted = [kind for _, kind in program.arguments]
        if [t.dtype for t in operands] != wanted or any(t.dims != operands[0].dims for t in operands):
            listed, kinds = ", ".join(map(str, operands)), ", ".join(map(str, wanted))
            raise OpError(f"a function of ({kinds}) cannot take ({listed})", "cast and broadcast first", "TX0111")
        return (operands[0].with_dtype(program.results[0][1]),)

    @classmethod
    def build(cls, b: ScalarBuilder, *xs: Value, **attrs: Any) -> Value:
        return attrs["program"].run(b, *xs, alive=attrs.get("inside"))[0]


@op
class Fold(Reduction):
    """A user's function of two scalars folded along `dims`, from `init` on: ``f(… f(f(init, x0), x1) …)``.

    `order` is ``serial``, or ``tree``: then the function is associative, `init` its neutral element, and the order is
    that of a sum.
    """

    methods = ()
    dtypes = KINDS
    params: ClassVar[dict[str, Param]] = {
        "dims": axes(), "program": program_param(), "init": _init_param(),
        "order": choice("serial", "tree", default="serial"),
    }  # fmt: skip

    program: ClassVar[ScalarProgram]
    init: ClassVar[Any]
    in_tree: ClassVar[bool] = False

    @classmethod
    def for_params(cls, attrs: Mapping[str, Any]) -> type[Self]:
        return _fold_of(cls, attrs["program"], attrs["init"], attrs["order"] == "tree")

    @classmethod
    def accumulators(cls, element: DType) -> tuple[DType, ...]:
        return (element.part,) * 2 if element.is_complex else (element.computes_in,)

    @classmethod
    def identity(cls, element: DType) -> tuple[float | int | bool, ...]:
        return (cls.init.real, cls.init.imag) if element.is_complex else (cls.init,)

    @classmethod
    def map_element(cls, b: ScalarBuilder, x: Value, k: Value) -> tuple[Value, ...]:
        return (x.re, x.im) if isinstance(x, ComplexValue) else super().map_element(b, x, k)

    @classmethod
    def combine(cls, b: ScalarBuilder, older: tuple[Value, ...], newer: tuple[Value, ...]) -> tuple[Value, ...]:
        (merged,) = cls.program.run(b, _number(b, older), _number(b, newer))
        return (merged.re, merged.im) if isinstance(merged, ComplexValue) else (merged,)

    @classmethod
    def finalize(cls, b: ScalarBuilder, accumulators: tuple[Value, ...], element: DType) -> tuple[Value, ...]:
        return super().finalize(b, (_number(b, accumulators),), element)

    @classmethod
    def exact(cls, element: DType) -> bool:
        return False

    @classmethod
    def order(cls, operand: TensorType, dims: tuple[int, ...], slides: bool = False) -> Order:
        return super().order(operand, dims, slides) if cls.in_tree else SERIAL

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        _check(operands[0], attrs["program"])
        return super().infer(operands, attrs)


@op
class Running(Scan):
    """The partial results along `axis` of a user's function of two scalars, from `init` on.

    Element `i` is ``f(… f(f(init, x0), x1) …, xi)``; with `exclusive` `xi` is left out, so that `init` is first.
    """

    methods = ()
    by = "fold"
    params: ClassVar[dict[str, Param]] = {
        "axis": axis(), "program": program_param(), "init": _init_param(), "exclusive": bool_param(False),
    }  # fmt: skip
    bound: ClassVar[type[Reduction]] = Fold

    @classmethod
    def for_params(cls, attrs: Mapping[str, Any]) -> type[Self]:
        return _scan_of(cls, attrs["program"], attrs["init"])

    @classmethod
    def reduction(cls) -> type[Reduction]:
        return cls.bound

    @classmethod
    def order(cls, operand: TensorType, along: int) -> Order:
        return SERIAL

    @classmethod
    def infer(cls, operands: Sequence[TensorType], attrs: dict[str, Any]) -> tuple[TensorType, ...]:
        _check(operands[0], attrs["program"])
        return super().infer(operands, attrs)


def _number(b: ScalarBuilder, accumulators: tuple[Value, ...]) -> Value:
    return b.complex_of(*accumulators) if len(accumulators) == 2 else accumulators[0]


def _check(operand: TensorType, program: ScalarProgram) -> None:
    """OpError unless the program takes what is accumulated and an element, both as the operand is computed in."""
    kind = operand.dtype.computes_in
    if [k for _, k in program.arguments] != [kind, kind] or [k for _, k in program.results] != [kind]:
        raise OpError(f"a fold of {operand} needs a function ({kind}, {kind}) -> {kind}", code="TX0111")


@lru_cache(maxsize=512)
def _map_of(cls: type[ScalarMap], program: ScalarProgram) -> Any:
    return type(cls.__name__, (cls,), {"cost": program.cost, "__doc__": cls.__doc__})


@lru_cache(maxsize=512)
def _fold_of(cls: type[Fold], program: ScalarProgram, init: Any, in_tree: bool) -> Any:
    return type(cls.__name__, (cls,), {"program": program, "init": init, "in_tree": in_tree, "__doc__": cls.__doc__})


@lru_cache(maxsize=512)
def _scan_of(cls: type[Running], program: ScalarProgram, init: Any) -> Any:
    return type(cls.__name__, (cls,), {"bound": _fold_of(Fold, program, init, False), "__doc__": cls.__doc__})
