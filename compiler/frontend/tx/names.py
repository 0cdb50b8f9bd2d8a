"""What names and operators of the `.tx` language mean, where they are not ops of the registry."""

from __future__ import annotations

import ast
import operator
from typing import Any

import numpy as np

from ....dialects.registry import OpError
from ..numpy import creation, fft

__all__ = ["BINARY", "COMPARE", "CONSTANTS", "FUNCTIONS", "IN_PLACE", "ITERATIONS", "MODULES", "NAMESPACES", "binary"]

#: Functions that are not ops of their own, by name.
FUNCTIONS: dict[str, Any] = {
    "where": np.where,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "concatenate": np.concatenate,
    "stack": np.stack,
    "matmul": np.matmul,
    "tensordot": np.tensordot,
    "transpose": np.transpose,
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "all": np.all,
    "any": np.any,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "take": np.take,
    "clip": np.clip,
    "zeros": creation.zeros,
    "ones": creation.ones,
    "full": creation.full,
    "arange": creation.arange,
    "linspace": creation.linspace,
    "eye": creation.eye,
    **{f.__name__: f for f in fft.FUNCTIONS},
    **{f.__name__: made for f, made in fft.CREATION.items()},
}
#: Packages of functions that are called by their name, as in ``tensure.add(x, y)``: those in their `__all__`.
NAMESPACES = ("tensure",)
#: Modules of Python's, which names here have not in front of them.
MODULES = frozenset({"np", "numpy", "math", "cmath", "scipy", "xp", "txc", "jnp", "torch"})
#: What loops run over besides tensors.
ITERATIONS: dict[str, Any] = {"range": range, "enumerate": enumerate, "zip": zip, "reversed": reversed}
CONSTANTS = {"pi": np.pi, "e": np.e, "inf": np.inf, "nan": np.nan, "True": True, "False": False}
BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
#: Augmented assignments write an array in place, as in NumPy; a number gets a new value.
IN_PLACE = {
    ast.Add: operator.iadd,
    ast.Sub: operator.isub,
    ast.Mult: operator.imul,
    ast.Div: operator.itruediv,
    ast.FloorDiv: operator.ifloordiv,
    ast.Mod: operator.imod,
    ast.Pow: operator.ipow,
    ast.MatMult: operator.imatmul,
    ast.BitAnd: operator.iand,
    ast.BitOr: operator.ior,
    ast.BitXor: operator.ixor,
    ast.LShift: operator.ilshift,
    ast.RShift: operator.irshift,
}
COMPARE = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}

#: Integers known while compiling stay this short, so that no expression can take all time or memory.
_BITS = 4096


def binary(kind: type[ast.operator], a: Any, b: Any) -> Any:
    """``a kind b``.  OpError for lists and texts, and for an integer too long to be meant."""
    for value in (a, b):
        if isinstance(value, (str, list, tuple)):
            raise OpError(f"a {type(value).__name__} is no operand of an operator", "operands are numbers and tensors")
    if isinstance(a, int) and isinstance(b, int):
        bits = {ast.Pow: (abs(a).bit_length() - 1) * b, ast.LShift: abs(a).bit_length() + b}.get(kind, 0)
        if bits > _BITS:
            raise OpError("the integer is too long", f"at most {_BITS} bits", "TX0207")
    return BINARY[kind](a, b)
