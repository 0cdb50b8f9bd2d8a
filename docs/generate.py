"""Writes docs/ops.md and docs/operations.md from the op registry: ``python docs/generate.py``.

`ops.md` lists what is declared; `operations.md` the names of Eigen's Tensor module (`eigen_names.toml`), with what each
means here, where it runs, and which test proves it.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

import txc
from txc.compiler.frontend.elementwise import EXPRESSIONS
from txc.compiler.frontend.methods import METHODS
from txc.compiler.frontend.numpy_dispatch import fold_of, scan_of
from txc.compiler.frontend import random
from txc.compiler.frontend.tx_names import FUNCTIONS as TX_FUNCTIONS
from txc.dialects.registry import OPS, REQUIRED, Op, Scan
from txc.dialects.types import DTYPES

__all__ = ["FAMILIES", "TESTS", "eigen_names", "operations_page", "ops_page", "proof"]

FOLDER = Path(__file__).parent

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


def ops_page() -> str:
    """The text of docs/ops.md."""
    made = [HEADER]
    for family, meaning in FAMILIES.items():
        made.append(f"\n## {family.capitalize()}\n\n{meaning}\n")
        made.append("| op | spelling | parameters | dtypes | accuracy | seeds | meaning |")
        made.append("|---|---|---|---|---|---|---|")
        found = sorted((op for op in OPS.values() if op.family == family), key=lambda op: op.name)
        made += [_row(op) for op in found]
    return "\n".join(made) + "\n"


OPERATIONS_HEADER = """# Operations of Eigen's Tensor module

Written by `docs/generate.py` from `docs/eigen_names.toml` and the registry; do not edit. *Accuracy* is in units in the
last place (`accuracy.md` has what was measured). *cpu*: all listed dtypes, by the test named last. *PTX*: the element
types among {kinds} for which the op compiles to PTX for `sm_90` (`docs/gpu_support.json`); that is what the PTX
simulator (`ptx-sim`) and CUDA devices run. A dash: it is no computation of its own, or there is no PTX of it.
"""
#: The generated test of a family, where a name states none of its own.
TESTS = {
    "map": "ops/test_generated.py::test_map",
    "reduction": "ops/test_generated.py::test_reduction",
    "scan": "ops/test_generated.py::test_scan",
    "view": "ops/test_generated.py::test_view",
}


def eigen_names() -> dict[str, dict[str, dict[str, Any]]]:
    """The entries of eigen_names.toml, by group and name."""
    return tomllib.loads((FOLDER / "eigen_names.toml").read_text(encoding="utf-8"))


def operations_page() -> str:
    """The text of docs/operations.md."""
    support = json.loads((FOLDER / "gpu_support.json").read_text(encoding="utf-8"))
    made = [OPERATIONS_HEADER.format(kinds=", ".join(support["kinds"]))]
    for group, names in eigen_names().items():
        made.append(
            f"\n## {group}\n\n| name | meaning | dtypes | accuracy | cpu | PTX | test |\n|---|---|---|---|---|---|---|"
        )
        for name, entry in names.items():
            cells = (f"`{name}`", *_named(name, entry, support["ops"]), f"`tests/{proof(name, entry)}`")
            made.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(made) + "\n"


def _named(name: str, entry: dict[str, Any], support: dict[str, list[str]]) -> tuple[str, ...]:
    """Meaning, dtypes, accuracy and the back ends of a name."""
    if entry.get("dtype"):
        element = DTYPES[name]
        return f"{element.kind}, {element.bits} bits", name, "", "yes", "–"
    if "means" in entry or "of" in entry:
        return entry.get("means") or _docstring(entry["of"]), "any", "", "yes", "–"
    op = OPS[entry.get("op", name)]
    return _summary(op), _dtypes(op), _accuracy(op), "yes", ", ".join(support[op.name]) or "–"


def proof(name: str, entry: dict[str, Any]) -> str:
    """The test that proves a name, as pytest is told it, from `tests/` on."""
    if entry.get("dtype"):
        return "ops/test_exact_maps.py::test_cast" if not DTYPES[name].is_complex else "ops/test_complex.py::test_map"
    if "test" in entry:
        return entry["test"]
    op = OPS[entry.get("op", name)]
    return f"{TESTS[op.family]}[{op.name}]"


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


def _row(op: type[Op]) -> str:
    cells = (f"`{op.name}`", _spelling(op), _parameters(op), _dtypes(op), _accuracy(op), op.seeds, _summary(op))
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
        fold = {"reduce": fold_of, "accumulate": scan_of}[f.__name__]
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


def _dtypes(op: type[Op]) -> str:
    kinds: Any = getattr(op.fold() if issubclass(op, Scan) else op, "dtypes", None)
    return "any" if kinds is None else ", ".join(k for k in ("bool", "int", "uint", "float") if k in kinds)


def _accuracy(op: type[Op]) -> str:
    if op.family == "map":
        ulp = getattr(op, "ulp", None)
        return "exact" if ulp is None else f"{ulp:g} ulp"
    return "exact" if op.family == "view" else ""


def _summary(op: type[Op]) -> str:
    return " ".join((op.__doc__ or "").strip().split("\n\n")[0].split())


if __name__ == "__main__":
    (FOLDER / "ops.md").write_text(ops_page(), encoding="utf-8")
    (FOLDER / "operations.md").write_text(operations_page(), encoding="utf-8")
