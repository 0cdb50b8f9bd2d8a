"""`reference/api.md`: the public names of txc, from their docstrings."""

from __future__ import annotations

import inspect
from typing import Any

import txc
from txc.compiler.driver.inspection import Inspection
from txc.compiler.driver.interop.function_pointers import FunctionPointers
from txc.compiler.driver.jit import Jitted

__all__ = ["PAGE", "page"]

PAGE = "reference/api.md"
HEADER = """# API

Written by `docs/generate.py` from docstrings; do not edit. Everything is an attribute of `txc`. The methods of
tensors are the operations of [Ops](ops.md); the functions of the Python array API standard (`txc.sum`, `txc.matmul`,
…; `import txc as xp`) are those of the standard; [txc.graph](graph.md) and [txc.tensure](tensure.md) have pages of
their own.
"""
GROUPS: dict[str, tuple[str, ...]] = {
    "Compile": ("jit", "vectorize", "load", "compile_source", "evaluate", "map_chunks", "library", "export"),
    "Tensors": ("asarray", "Tensor", "TensorMap", "TensorFixedSize", "TensorRef", "TensorIOFormat"),
    "Loops and branches as functions": ("fori_loop", "while_loop", "cond", "scan"),
    "Devices": ("device", "devices", "to_device", "info"),
    "Random numbers": ("random.uniform", "random.normal"),
    "Errors": ("TxcError", "OptionError"),
}
#: Described on pages of their own.
MODULES = {"graph", "random", "tensure"}


def page() -> str:
    """The text of docs/reference/api.md."""
    listed = {name.partition(".")[0] for names in GROUPS.values() for name in names}
    if missing := set(txc.__all__) - listed - MODULES:
        raise ValueError(f"public names without a group: {sorted(missing)}")
    parts = [HEADER]
    for title, names in GROUPS.items():
        parts.append(f"\n## {title}\n")
        parts += [_entry(f"txc.{name}", _named(name)) for name in names]
    parts.append("\n## Methods of a jitted function\n")
    methods = [
        name for kind in (Jitted, Inspection, FunctionPointers) for name in vars(kind) if not name.startswith("_")
    ]
    parts += [_entry(f"f.{name}", inspect.getattr_static(Jitted, name)) for name in methods]
    return "".join(parts)


def _named(name: str) -> Any:
    found: Any = txc
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _entry(name: str, what: Any) -> str:
    text = inspect.getdoc(what)
    if not text:
        raise ValueError(f"{name} has no docstring")
    return f"\n### `{name}{_signature(what)}`\n\n{text}\n"


def _signature(what: Any) -> str:
    """Parameters and their defaults; none of an exception, nor of what is not called."""
    if not callable(what) or (isinstance(what, type) and issubclass(what, Exception)):
        return ""
    signature = inspect.signature(what)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name != "self"]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))
