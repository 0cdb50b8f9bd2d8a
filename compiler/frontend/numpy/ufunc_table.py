"""Which op a function of NumPy, or of a library that the registry names, means."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ....dialects.registry import OPS, Map, Reduction, Scan

__all__ = ["dotted_name", "elementwise_op", "find_op_for", "is_numpys", "reduction_for", "scan_of"]

#: Functions that are more than their op, or have no meaning for some dtypes that it takes.
_ASKED = (np.fabs, np.float_power, np.power, np.reciprocal, np.sign, np.negative, np.positive)


@functools.cache
def _known() -> dict[Any, str]:
    """Ops by NumPy function and by dotted name; seen by other threads when it is whole."""
    found: dict[Any, str] = {}
    for op in OPS.values():
        for spelled in (op.numpy, *op.also):
            if spelled is not None:
                found.setdefault(spelled, op.name)
    return found


def find_op_for(f: Any) -> str | None:
    """The op that a function of NumPy, or of a library the registry names, means; None where there is none."""
    try:
        found = _known().get(f)
    except TypeError:
        return None
    if found is None and hasattr(f, "__name__"):
        found = _known().get(dotted_name(f))
    return found


def dotted_name(f: Any) -> str:
    """The public name of a library's function."""
    # SciPy's ufuncs do not say where they live; `scipy.special` is the only library the registry names.
    module = getattr(f, "__module__", None) or "scipy.special"
    public = [part for part in module.split(".") if not part.startswith("_")]
    return ".".join([*public, f.__name__.lstrip("_")])


@functools.cache
def is_numpys(f: np.ufunc) -> bool:
    return getattr(np, f.__name__, None) is f


def reduction_for(f: np.ufunc) -> str | None:
    """The reduction that ``f.reduce`` means; None where there is none."""
    reductions = [op for op in OPS.values() if issubclass(op, Reduction)]
    meant = find_op_for(f)
    merged = [op for op in reductions if getattr(op, "by", None) == meant]
    exact = (op.name for op in merged or reductions if op.numpy == f.reduce)
    return next(exact, merged[0].name if merged else None)


def scan_of(f: np.ufunc) -> str | None:
    """The scan that ``f.accumulate`` means; None where there is none."""
    reduction = reduction_for(f)
    return next((op.name for op in OPS.values() if issubclass(op, Scan) and op.by == reduction), None)


@functools.cache
def elementwise_op(f: np.ufunc) -> type[Map] | None:
    """The elementwise op that a call of `f` without other arguments is; None where there is more to it."""
    op = OPS.get(find_op_for(f) or "")
    if op is None or not issubclass(op, Map) or op.results != 1 or f in _ASKED:
        return None
    return op
