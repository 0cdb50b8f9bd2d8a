"""Dtypes of operands and results: casts, NumPy 2's promotion with its weak types, and what reductions accumulate in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ....dialects.dims.dims import Dim
from ....dialects.registry import OPS, RAISE, Map, OpError, Reduction
from ....dialects.types import DTYPES, DType, dtype
from ..trace.context import current, table
from ..trace.emit import constant, emit, resolved
from .tensor import Tensor

__all__ = [
    "accumulator_dtype", "cast", "common_dtype", "demand_fit", "fits", "promote", "strong", "truth", "weak_result",
]  # fmt: skip

_WEAK: dict[str, Any] = {"complex": 0j, "float": 0.0, "int": 0, "bool": False}


def fits(d: Dim, element: DType = DTYPES["i64"]) -> bool:
    """Whether a Python int known at run time fits a type, which is a fact of the call."""
    info = np.iinfo(element.numpy)
    return table().holds(d, int(info.min), int(info.max))


def demand_fit(d: Dim, element: DType) -> None:
    """OpError where a Python int known at run time does not fit a type; that it does is a fact of the call."""
    if not fits(d, element):
        text = f"the Python int {table().describe(table().resolve(d))} does not fit {element}"
        raise OpError(text, "use a wider dtype, or floats", "TX0207")


def weak_result(weak: str, element: DType) -> str:
    """How weak a result is whose operands are `weak`: comparisons are bools, magnitudes of complex numbers floats."""
    if weak == "complex" and element.is_float:
        return "float"
    return "bool" if weak and element.kind == "bool" else weak


def cast(t: Tensor, element: DType) -> Tensor:
    """`t` as `element`; itself where it is that already (but no longer weak)."""
    if t.element is element:
        return t if not t.weak else Tensor(t.value, layout=t.layout)
    v = t.value
    if (trace := current()) is not None and (whole := trace.exact.get(v)) is not None:
        if whole.type.dtype is element or element.is_float or element.is_complex:
            return cast(Tensor(whole), element)  # the same number, by one way for all types that it may have
    if v.node.op is OPS["constant"] and t.weak:
        return Tensor(constant(v.node.attrs["value"], element))
    if v.node.op is OPS["dim"] and t.weak == "int":
        if element.is_integer:
            demand_fit(v.node.attrs["expr"], element)
        return Tensor(emit(OPS["dim"], (), {"expr": v.node.attrs["expr"], "dtype": element})[0])
    attrs: dict[str, Any] = {"dtype": element}
    if t.weak == "int" and element.is_integer and trace is not None:
        attrs["mode"] = RAISE  # Python's int has to fit
    (result,) = emit(OPS["cast"], (v,), attrs, (resolved(v).with_dtype(element),))
    return Tensor(result, layout=t.layout)


def strong(result: Any) -> Any:
    """What a function of NumPy's gives: NumPy's numbers, never Python's, so none of its results is weak."""
    if isinstance(result, Tensor):
        return cast(result, result.element) if result.weak else result
    return type(result)(map(strong, result)) if type(result) in (tuple, list) else result


def common_dtype(tensors: Sequence[Tensor]) -> DType:
    """NumPy 2's promotion: Python scalars are weak, beside bf16 too (NumPy itself knows no weak ones there)."""
    return _common_dtype(tuple((t.element, t.weak) for t in tensors))


@lru_cache(maxsize=1024)
def _common_dtype(operands: tuple[tuple[DType, str], ...]) -> DType:
    """Of elements, each with how weak it is."""
    try:
        strong = [element.numpy for element, weak in operands if not weak]
        if strong and (found := dtype(np.result_type(*strong))).is_float:
            return found.as_complex if any(weak == "complex" for _, weak in operands) else found
        return dtype(np.result_type(*strong, *(_WEAK[weak] for _, weak in operands if weak)))
    except TypeError as error:
        listed = ", ".join(str(element) for element, _ in operands)
        raise OpError(f"no common dtype of {listed}", "cast one of them", "TX0208") from error


#: What Python computes of bools as of bools; all else as of ints.
_KEEP_BOOLS = frozenset(
    {"bitwise_and", "bitwise_or", "bitwise_xor", "select", "logical_and", "logical_or", "logical_not"}
)


def promote(op: type[Map], tensors: Sequence[Tensor]) -> tuple[list[Tensor], str]:
    """The operands in the dtype that the op computes in, and how weak its result is."""
    rest = list(tensors[1:] if op.name == "select" else tensors)
    if all(t.weak == "bool" for t in rest) and op.result != "bool" and op.name not in _KEEP_BOOLS:
        rest = [Tensor(cast(t, DTYPES["i64"]).value, weak="int") for t in rest]  # True + True is 2
    common = common_dtype(rest)
    if op.dtypes == {"bool"}:
        common = DTYPES["bool"]
    elif op.promotes == "float" or common.kind not in op.dtypes:
        common = _as_float(op, common, rest)
    weak = ""
    if all(t.weak for t in rest):
        weak = {"float": "float", "bool": "bool", "complex": "complex"}.get(common.kind, "int")
    converted = [truth(t) if common.kind == "bool" and t.element is not common else cast(t, common) for t in rest]
    if op.name == "select":
        converted.insert(0, truth(tensors[0]))
    return converted, weak


#: Python's numbers, which NumPy's promotion knows as weak by their types.
_WEAK_TYPES: dict[str, type] = {"int": int, "float": float, "complex": complex}


def _as_float(op: type[Map], common: DType, operands: Sequence[Tensor]) -> DType:
    """What NumPy's ufunc turns integer or bool operands into, where the op is not defined on them: the first of its
    dtypes that takes each, as f16 for u8 and i8, whose common dtype is i16."""
    if "float" not in op.dtypes or common.is_float or common.is_complex:
        return common
    if isinstance(op.numpy, np.ufunc):
        each = [_WEAK_TYPES.get(t.weak, t.element.numpy) for t in operands]
        given = [common.numpy] * op.numpy.nin if all(t.weak for t in operands) else each
        try:
            found = op.numpy.resolve_dtypes((*given, *[None] * op.numpy.nout))[0]
            if dtype(found).kind in op.dtypes:
                return dtype(found)
        except TypeError:
            return DTYPES["f64"]
    return DTYPES["f64"]


def truth(t: Tensor) -> Tensor:
    """`t` as bool: nonzero, NaN included."""
    if t.element.kind == "bool":
        return cast(t, DTYPES["bool"])
    return Tensor.apply("not_equal", t, 0)


def accumulator_dtype(op: type[Reduction], element: DType) -> DType:
    """What a reduction casts to first: NumPy sums bools and small integers in 64 bits."""
    inexact = element.is_float or element.is_complex
    if op.promotes == "sum" and not inexact:
        return DTYPES["u64" if element.kind == "uint" else "i64"]
    if op.promotes == "float" and not inexact:
        return DTYPES["f64"]
    return DTYPES["bool"] if op.promotes == "bool" else element
