"""docs/reference/operations.md: the names of Eigen's Tensor module (`eigen_names.toml`).

Each with what it means here, where it runs, and which test proves it.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import txc
from pages.ops import accuracy, dtypes, summary
from txc.compiler.frontend.numpy import random
from txc.compiler.frontend.scalars.custom_functions import EXPRESSIONS
from txc.compiler.frontend.tensor.methods.table import METHODS
from txc.dialects.registry import OPS
from txc.dialects.types import DTYPES

__all__ = ["PAGE", "TESTS", "eigen_names", "page", "proof"]

PAGE = "reference/operations.md"
FOLDER = Path(__file__).parents[1]
HEADER = """# Operations of Eigen's Tensor module

Written by `docs/generate.py` from `docs/eigen_names.toml` and the registry; do not edit. *Accuracy* is in units in the
last place ([Accuracy](accuracy.md) has what was measured). *cpu*: all listed dtypes, by the test named last.
*ptx-sim*: the element types among {kinds} for which the op compiles to PTX for `sm_90` (`docs/gpu_support.json`), which
the simulator runs (`tests/gpu`). *cuda*: the same PTX; this column says what is emitted for a device, the ops were not
run on one for it. A dash: it is no computation of its own, or there is no PTX of it.
"""
COLUMNS = ("name", "meaning", "dtypes", "accuracy", "cpu", "ptx-sim", "cuda", "test")
#: The generated test of a family, where a name states none of its own.
TESTS = {
    "map": "ops/test_op_matrix_maps.py::test_maps",
    "reduction": "ops/test_op_matrix_reductions.py::test_folds",
    "scan": "ops/test_op_matrix_reductions.py::test_folds",
    "view": "ops/test_op_matrix_views.py::test_views",
}


def eigen_names() -> dict[str, dict[str, dict[str, Any]]]:
    """The entries of eigen_names.toml, by group and name."""
    return tomllib.loads((FOLDER / "eigen_names.toml").read_text(encoding="utf-8"))


def page() -> str:
    """The text of docs/reference/operations.md."""
    support = json.loads((FOLDER / "gpu_support.json").read_text(encoding="utf-8"))
    made = [HEADER.format(kinds=", ".join(support["kinds"]))]
    for group, names in eigen_names().items():
        made.append(f"\n## {group}\n\n| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
        for name, entry in names.items():
            cells = (f"`{name}`", *_named(name, entry, support["ops"]), f"`tests/{proof(name, entry)}`")
            made.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(made) + "\n"


def _named(name: str, entry: dict[str, Any], support: dict[str, list[str]]) -> tuple[str, ...]:
    """Meaning, dtypes, accuracy and the back ends of a name."""
    if entry.get("dtype"):
        element = DTYPES[name]
        return f"{element.kind}, {element.bits} bits", name, "", "yes", "–", "–"
    if "means" in entry or "of" in entry:
        return entry.get("means") or _docstring(entry["of"]), "any", "", "yes", "–", "–"
    op = OPS[entry.get("op", name)]
    kinds = ", ".join(support[op.name]) or "–"
    return summary(op), dtypes(op), accuracy(op), "yes", kinds, f"{kinds} (not run)" if support[op.name] else "–"


def proof(name: str, entry: dict[str, Any]) -> str:
    """The test that proves a name, as pytest is told it, from `tests/` on."""
    if entry.get("dtype"):
        return "ops/test_exact_maps.py::test_cast" if not DTYPES[name].is_complex else TESTS["map"]
    if "test" in entry:
        return entry["test"]
    op = OPS[entry.get("op", name)]
    return TESTS[op.family] + (f"[{op.name}]" if op.family == "view" else "")


def _docstring(path: str) -> str:
    """What an object's docstring says first; a tensor's methods that are no ops are in its table."""
    owner, _, name = path.partition(".")
    if owner == "txc":
        found = getattr(txc, name)
    else:
        found = getattr(txc.Tensor, name, None) or METHODS.get(name) or EXPRESSIONS.get(name) or getattr(random, name)
    text = " ".join((found.__doc__ or "").strip().split("\n\n")[0].split())
    if not text:
        raise ValueError(f"{path} has no docstring, and docs/eigen_names.toml says not what it means")
    return text
