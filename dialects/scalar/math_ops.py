"""Ops of the `math` and `complex` dialects, made one by one for the programs that have them.

They are what xDSL declares under these names, and what it parses.  But its two modules declare seventy ops, which takes
as long as fifty modules of txc's own, and bodies have a few of them.
"""

from __future__ import annotations

from abc import ABC
from functools import cache
from typing import ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import AnyFloat, AnyFloatConstr, ComplexType, container_of
from xdsl.irdl import IRDLOperation, VarConstraint, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure, SameOperandsAndResultType

__all__ = ["op_called"]


class _Math(IRDLOperation, ABC):
    """Numbers of one type in, a number of that type out; vectors and tensors of them where IR is exported."""

    T: ClassVar = VarConstraint("T", container_of(AnyFloat))
    result = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    traits = traits_def(Pure(), SameOperandsAndResultType())


class _Unary(_Math, ABC):
    operand = operand_def(_Math.T)
    assembly_format = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


class _Binary(_Math, ABC):
    lhs = operand_def(_Math.T)
    rhs = operand_def(_Math.T)
    assembly_format = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


class _Ternary(_Math, ABC):
    a = operand_def(_Math.T)
    b = operand_def(_Math.T)
    c = operand_def(_Math.T)
    assembly_format = "$a `,` $b `,` $c (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"


class _Create(IRDLOperation, ABC):
    """A complex number of its parts."""

    T: ClassVar = VarConstraint("T", AnyFloatConstr)
    real = operand_def(T)
    imaginary = operand_def(T)
    complex = result_def(ComplexType.constr(T))
    traits = traits_def(Pure())
    assembly_format = "$real `,` $imaginary attr-dict `:` type($complex)"


class _Part(IRDLOperation, ABC):
    """The real or imaginary part of a complex number."""

    T: ClassVar = VarConstraint("T", AnyFloatConstr)
    complex = operand_def(ComplexType.constr(T))
    result = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    traits = traits_def(Pure())
    assembly_format = "$complex (`fastmath` `` $fastmath^)? attr-dict `:` type($complex)"


#: What kind an op is of; those that are not here have one operand.
_KINDS: dict[str, type[IRDLOperation]] = {
    "math.fma": _Ternary,
    **dict.fromkeys(("math.atan2", "math.copysign", "math.powf"), _Binary),
    "complex.create": _Create,
    **dict.fromkeys(("complex.im", "complex.re"), _Part),
}


@cache
def op_called(name: str) -> type[IRDLOperation]:
    """The op of `math` or `complex` that has this name."""
    dialect, _, word = name.partition(".")
    kind = _KINDS.get(name, _Unary)
    return irdl_op_definition(type(f"{dialect.title()}{word.title()}Op", (kind,), {"name": name}))
