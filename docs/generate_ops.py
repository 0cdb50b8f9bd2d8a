"""Writes `docs/ops.md` from the registry: ``python docs/generate_ops.py`` (a test compares the two)."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np

from txc.dialects import ops as _ops  # noqa: F401  (fills the registry)
from txc.dialects.registry import OPS, REQUIRED, Map, Op

FAMILIES = {
    "map": ("Maps", "One scalar body, applied to every element of operands of equal shape."),
    "reduction": ("Reductions", "A fold along dims, in a fixed order of arithmetic."),
    "view": ("Views", "An index map: no arithmetic, and no copy of their own."),
    "composite": ("Composites", "Written in terms of other ops."),
    "structural": ("Structural", "The ops with inference and lowering of their own."),
}


def text() -> str:
    """The whole page."""
    lines = ["# Operations", "", "Generated from `dialects/ops/` by `python docs/generate_ops.py`.", ""]
    for family, (title, about) in FAMILIES.items():
        found = sorted((op for op in OPS.values() if op.family == family), key=lambda op: op.name)
        if not found:
            continue
        lines += [f"## {title}", "", about, ""]
        lines += ["| op | parameters | meaning | error | NumPy |", "|---|---|---|---|---|"]
        lines += [row(op) for op in found]
        lines.append("")
    return "\n".join(lines)


def row(op: type[Op]) -> str:
    """One op's line of the table."""
    parameters = ", ".join(
        f"`{name}`" if p.default is REQUIRED else f"`{name}={p.default!r}`" for name, p in op.params.items()
    )
    meaning = " ".join(inspect.cleandoc(op.__doc__ or "").split("\n\n")[0].split())
    error = ""
    if issubclass(op, Map):
        error = "exact" if op.ulp is None else f"≤ {op.ulp:g} ulp"
    cells = [f"`{op.name}`", parameters, meaning, error, _numpy_name(op)]
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"


def _numpy_name(op: type[Op]) -> str:
    name = getattr(op.numpy, "__name__", "")
    return f"`np.{name}`" if getattr(np, name, None) is op.numpy else ""


if __name__ == "__main__":
    Path(__file__).with_name("ops.md").write_text(text())
