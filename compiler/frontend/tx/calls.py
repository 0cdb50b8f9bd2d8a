"""Calls of `.tx` functions: arguments and results against the declared parameters and types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....dialects.dims.dims import Dim, size_name
from ....dialects.registry import OpError
from ..state.alternatives.mixed_numbers import as_one_number
from ..tensor.apply import as_tensor
from ..tensor.promotion import cast
from ..tensor.tensor import Tensor
from ..trace.graph import DimTable
from ..trace.symint import SymInt, as_dim, is_integer
from ..trace.undefined import Unusable
from .types import Annotation, Parameter

__all__ = ["bind_arguments", "match_arguments", "typed_results"]


def match_arguments(
    name: str, parameters: Sequence[Parameter], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments by parameter, in their order; OpError where one is missing, unknown or given twice."""
    names = [p.name for p in parameters]
    listed = ", ".join(names) or "none"
    if len(arguments) > len(names):
        raise OpError(f"{name} takes {len(names)} arguments ({listed}), got {len(arguments)}", code="TX0542")
    given = dict(zip(names, arguments))
    for keyword, value in keywords.items():
        if keyword not in names:
            raise OpError(f"{name} has no parameter {keyword!r}: it takes {listed}", code="TX0542")
        if keyword in given:
            raise OpError(f"{name} gets {keyword} twice, by position and by name", code="TX0542")
        given[keyword] = value
    for p in parameters:
        if p.name not in given:
            raise OpError(f"{name} needs the argument {p.name}: {p.type}", code="TX0542")
    return {n: given[n] for n in names}


def bind_arguments(
    name: str, parameters: Sequence[Parameter], given: Mapping[str, Any], table: DimTable
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of a call inside a file in their declared types, and the sizes that the types name."""
    values = {p.name: _typed_argument(name, p, given[p.name]) for p in parameters}
    sizes: dict[str, Any] = {}
    pairs: list[tuple[Parameter, Dim, Dim]] = []
    for p in parameters:
        if not p.type.is_int and not p.type.scalar:
            pairs += [(p, declared, size) for declared, size in zip(p.type.dims, values[p.name].dims)]
    for _, declared, size in pairs:
        if declared.symbol is not None:
            sizes.setdefault(size_name(declared.symbol), SymInt(size))
    for p, declared, size in pairs:
        wanted = substituted(declared, sizes)
        if wanted is None:
            raise OpError(f"the size {declared} in {p.name}: {p.type} of {name} names what no argument shows")
        try:
            table.equate(wanted, size, f"{p.name} of {name}")
        except OpError as error:
            text = f"{name} takes {p.name}: {p.type}, got {values[p.name].user_type}: {error.message}"
            raise OpError(text, code="TX0543") from error
    return values, sizes


def substituted(declared: Dim, sizes: Mapping[str, Any]) -> Dim | None:
    """A declared size with the sizes that it names; None where one is not known."""
    if any(size_name(s) not in sizes for s in declared.symbols()):
        return None
    return declared.substitute({s: as_dim(sizes[size_name(s)]) for s in declared.symbols()})


def _typed_argument(name: str, p: Parameter, value: Any) -> Any:
    value = as_one_number(value)
    if p.type.is_int:
        if is_integer(value):
            return value
    elif p.type.scalar and (number := _number(value, p.type)) is not None:
        return number
    elif isinstance(value, Tensor):
        found = value.user_type
        if found.dtype is p.type.dtype and found.rank == len(p.type.dims):
            if found.rank > 1 and value.layout != p.type.layout:
                raise OpError(
                    f"{name} takes {p.name}: {p.type}, got one of layout {value.layout}", "use swap_layout()", "TX0543"
                )
            return value
    got = str(value.user_type) if isinstance(value, Tensor) else f"the {type(value).__name__} {value!r}"
    raise OpError(f"{name} takes {p.name}: {p.type}, got {got}", code="TX0543")


def _number(value: Any, declared: Annotation) -> Tensor | None:
    """A number as a tensor of the declared dtype, where Python's promotion gives that; else None."""
    if not isinstance(value, (bool, int, float, SymInt, np.generic)) and not (
        isinstance(value, Tensor) and not value.ndim
    ):
        return None
    made = as_tensor(value)
    if made.element is declared.dtype:
        return made
    weak = {"complex": 0j, "float": 0.0, "int": 0, "bool": False}.get(made.weak)
    if weak is None or np.result_type(weak, declared.dtype.numpy) != declared.dtype.numpy:
        return None
    return cast(made, declared.dtype)


def typed_results(
    name: str, declared: Sequence[Annotation], value: Any, sizes: Mapping[str, Any], table: DimTable
) -> Any:
    """What a function returns, numbers in their declared dtype; OpError where a result is not of its declared type."""
    given = tuple(map(as_one_number, value if isinstance(value, tuple) else (value,)))
    for one in given:
        if isinstance(one, Unusable):  # of one type or another, which no declaration says
            raise OpError(one.reason, one.hint, "TX0312")
    if len(given) != len(declared):
        raise OpError(f"{name} returns {len(given)} values, not {len(declared)}", code="TX0528")
    made = tuple(_typed_result(name, d, v, sizes, table) for d, v in zip(declared, given))
    return made if isinstance(value, tuple) else made[0]


def _typed_result(name: str, declared: Annotation, value: Any, sizes: Mapping[str, Any], table: DimTable) -> Any:
    if declared.is_int and is_integer(value):
        return value
    result = _number(value, declared) if not declared.dims and not isinstance(value, Tensor) else value
    if not isinstance(result, Tensor):
        got = f"the {type(value).__name__} {value!r}"
        raise OpError(f"{name} returns {got}, declared is {declared}", code="TX0529")
    found = result.user_type
    wanted = [substituted(d, sizes) for d in declared.dims]
    same = found.dtype is declared.dtype and found.rank == len(wanted)
    if not same or any(b is None or table.resolve(a) is not table.resolve(b) for a, b in zip(found.dims, wanted)):
        raise OpError(f"{name} returns {found}, declared is {declared}", code="TX0529")
    if found.rank > 1 and result.layout != declared.layout:
        raise OpError(
            f"{name} returns {found} of layout {result.layout}, declared is {declared}", "use swap_layout()", "TX0529"
        )
    return result
