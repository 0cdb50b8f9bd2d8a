"""docs/reference/ops.md: every op of the registry."""

from __future__ import annotations

from typing import Any

import numpy as np

from txc.compiler.frontend.numpy.ufunc_table import reduction_for, scan_of
from txc.compiler.frontend.tx.names import FUNCTIONS as TX_FUNCTIONS
from txc.dialects.registry import OPS, REQUIRED, Op, Scan

__all__ = ["FAMILIES", "PAGE", "accuracy", "dtypes", "page", "summary"]

PAGE = "reference/ops.md"
#: In order, with what the family means.
FAMILIES = {
    "map": "One scalar body applied to every element. Operands are promoted as NumPy 2 promotes, and broadcast.",
    "reduction": "A fold along `dims` (default: all), or NumPy's `axis`; `keepdims` keeps them with size 1.",
    "scan": "The partial results of a reduction along `axis` (default: of all elements, flattened), one an element.",
    "view": "No arithmetic and no copy: each element of the result is one of the operand.",
    "composite": "Written in terms of other ops, and expanded when the graph is built.",
    "structural": "Ops with inference and lowering of their own.",
}

HEADER = """# Ops

Written by `docs/generate.py` from the registry (`dialects/ops/`); do not edit. A method is called as `x.name(…)`, a
function as `name(x, …)` in `.tx`; the NumPy spelling is recognised under `@txc.jit`. Accuracy is in units in the last
place; exact ops are correctly rounded, or do not round. *Seeds* names the spelling of the documents txc started from.
"""


def page() -> str:
    """The text of docs/reference/ops.md."""
    made = [HEADER]
    for family, meaning in FAMILIES.items():
        made.append(f"\n## {family.capitalize()}\n\n{meaning}\n")
        made.append("| op | spelling | parameters | dtypes | accuracy | seeds | meaning |")
        made.append("|---|---|---|---|---|---|---|")
        found = sorted((op for op in OPS.values() if op.family == family), key=lambda op: op.name)
        made += [_row(op) for op in found]
    return "\n".join(made) + "\n"


def _row(op: type[Op]) -> str:
    cells = (f"`{op.name}`", _spelling(op), _parameters(op), dtypes(op), accuracy(op), op.seeds, summary(op))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _spelling(op: type[Op]) -> str:
    found = [f"`.{name}()`" for name in op.methods]
    # Some names of functions in `.tx` are NumPy's, and mean what they mean there.
    if op.methods and op.name not in TX_FUNCTIONS:
        found.append(f"`{op.name}()`")
    found += [f"`{name}()`" for name, f in TX_FUNCTIONS.items() if _recognised(f) == op.name]
    found += [f"`{name}`" for name in dict.fromkeys(_dotted(op, f) for f in (op.numpy, *op.also)) if name]
    return ", ".join(found) or "syntax"


def _dotted(op: type[Op], f: Any) -> str:
    """How the function is written where dispatch takes it for this op; empty where it is only an oracle of tests."""
    if f is None or isinstance(f, str):
        return f or ""
    ufunc = getattr(f, "__self__", None)
    if isinstance(ufunc, np.ufunc):
        fold = {"reduce": reduction_for, "accumulate": scan_of}[f.__name__]
        return f"np.{ufunc.__name__}.{f.__name__}" if fold(ufunc) == op.name else ""
    known = getattr(np, f.__name__, None) is f and _recognised(f) == op.name
    return f"np.{f.__name__}" if known else ""


def _recognised(f: Any) -> str | None:
    """The op that a function means."""
    return next((op.name for op in OPS.values() if op.numpy is f or f in op.also), None) if callable(f) else None


def _parameters(op: type[Op]) -> str:
    def one(name: str) -> str:
        param = op.params[name]
        return f"`{name}: {param.kind}`" if param.default is REQUIRED else f"`{name}: {param.kind} = {param.default}`"

    return ", ".join([*map(one, op.params), *(f"`{key}: {' | '.join(names)}`" for key, names in op.variants.items())])


def dtypes(op: type[Op]) -> str:
    kinds: Any = getattr(op.reduction() if issubclass(op, Scan) else op, "dtypes", None)
    return "any" if kinds is None else ", ".join(k for k in ("bool", "int", "uint", "float") if k in kinds)


def accuracy(op: type[Op]) -> str:
    if op.family == "map":
        ulp = getattr(op, "ulp", None)
        return "exact" if ulp is None else f"{ulp:g} ulp"
    return "exact" if op.family == "view" else ""


def summary(op: type[Op]) -> str:
    return " ".join((op.__doc__ or "").strip().split("\n\n")[0].split())
