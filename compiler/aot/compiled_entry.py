"""One function compiled for C: how C calls it, and its machine code for each version of the target, as LLVM IR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...dialects.attributes import from_attr
from ..codegen.call.c_stub import Version
from ..codegen.target.names import NamedTarget
from ..config.options import Options
from ..frontend.trace.graph import Graph
from ..instrumentation import InstrumentationOptions
from ..pipeline import function_of, run_stages
from .c_names import free_symbol
from .c_signature import CSignature, ExportError, c_signature, check_symbol

__all__ = ["Entry", "compiled_entry"]


@dataclass(frozen=True)
class Entry:
    """A function to export: a graph of packed arguments, and what C calls it (default: by the graph's name).

    `layouts` are those of the results (default: row-major), `doc` is for the header.
    """

    graph: Graph
    symbol: str = ""
    layouts: Sequence[str] = ()
    doc: str = ""


def compiled_entry(
    entry: Entry, target: NamedTarget, options: Options, watch: InstrumentationOptions | None = None
) -> tuple[CSignature, list[Version], list[str]]:
    """How C calls a function, and each version of the target, with its LLVM IR."""
    graph = entry.graph
    kept = ",".join(filter(None, (options.passes, "tx-swap-layout{row-major-results=true}")))
    # Nobody who calls it from C would look at what the checks of indices note.
    options = options._replace(passes=kept, check_bounds=False)
    symbol = check_symbol(entry.symbol or free_symbol(graph.name))
    if graph.raises:
        raise ExportError(
            f"{graph.name} raises errors, as its data decide, and code that C calls raises none",
            "look at what it is given before the call",
        )
    versions: list[Version] = []
    texts: list[str] = []
    outputs: tuple[int, ...] = ()
    for each in target.versions:
        named = replace(graph, name=f"{symbol}.{each.cpu or each.arch}")
        stages = run_stages(named, options, stop_after="llvm", watch=watch, target=each)
        assert stages.module is not None and stages.llvm is not None
        facts = _facts(function_of(stages.module))
        outputs = facts["tx.outputs"]
        texts.append(stages.llvm)
        versions.append(Version(named.name, each, facts["tx.symbols"], facts["tx.arena"], facts["tx.thread_arena"]))
    memory = [d for v in versions for d in (v.arena, v.thread_arena)]
    signature = c_signature(graph, symbol, outputs, memory, entry.layouts, entry.doc)
    return signature, versions, texts


def _facts(function: Any) -> dict[str, Any]:
    names = ("tx.outputs", "tx.symbols", "tx.arena", "tx.thread_arena")
    return {name: from_attr(function.attributes[name]) for name in names}
