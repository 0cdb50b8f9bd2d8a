"""What was compiled and why, in words: facts, guards, decisions with the figures compared, kernels, stages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

from ...passes.cost.remarks import Remark
from ..frontend.trace.graph import Graph

__all__ = ["explain", "figures"]

_EVAL = re.compile(r"%\w+ = tx\.eval\b")
#: A kernel op: how deep it stands, its text up to its region, and its name.
_KERNEL = re.compile(r"^( *)(?:%[^=\n]* = )?(kernel\.(generic|row_group|for|while|if)\b[^{]*)", re.M)
#: The iterators of a nest, those that it reduces, and in which order.
_ITERATORS = re.compile(
    r" over \((.*?)\)(?: (?:reduce|scan \w+) \((.*?)\) order (\w+(?:<[^>]*>)?))? (?:init|in|epilogue_inputs|into|->) "
)


class _Texts(Protocol):
    def text(self, stage: str) -> str: ...


def figures(graph: Graph, stages: Any) -> tuple[int, int, int, int]:
    """Ops of the graph, evals that were inserted, loop nests, bytes of the object file."""
    evals = len(_EVAL.findall(stages.text("evals")))
    nests = sum(1 for _, _, kind in _KERNEL.findall(stages.text("fused")) if kind == "generic")
    return sum(1 for _ in graph.walk()), evals, nests, len(stages.object or b"")


def explain(
    name: str, graph: Graph, facts: Sequence[str], captured: Sequence[str], stages: _Texts, remarks: Sequence[Remark]
) -> str:  # fmt: skip
    """The report of ``f.explain(*args)``."""
    lines = [f"{name}: {', '.join(str(i.value.type) if i.value else f'{i.symbol}: int' for i in graph.inputs)}"]
    lines += ["", "facts that select this version (sizes are not among them):"]
    lines += [f"  {fact}" for fact in facts] or ["  none"]
    lines += ["", "captured from outside the function, checked at each call:"] if captured else []
    lines += [f"  {fact}" for fact in captured]
    lines += ["", "guards, checked at each call; another version is compiled where one fails:"]
    lines += [f"  {guard}" for guard in graph.table.guards] or ["  none"]
    plan = getattr(stages, "plan", None)
    model = "the cost model" if plan is None else "the cost model of a GPU"
    lines += ["", f"decisions, with estimated costs of the alternatives by {model} (sizes that are not facts: 512):"]
    lines += [f"  {said}" for said in remarks] or ["  none"]
    lines += ["", "kernels:"]
    lines += [f"  {text}" for text in _kernels(stages.text("fused"))] or ["  none"]
    lines += ["", "launches:", *(f"  {line}" for line in str(plan).splitlines())] if plan is not None else []
    lines += ["", "stages:"]
    for record in getattr(stages, "records", ()):
        lines.append(f"  {record.stage:<10} {record.name:<24} {1e3 * record.seconds:8.2f} ms")
    return "\n".join(lines)


def _kernels(text: str) -> list[str]:
    """The kernel ops of the `fused` stage, nested as they are there."""
    found = []
    for indent, head, kind in _KERNEL.findall(text):
        shown = f"kernel.{kind}"
        if kind == "generic" and (match := _ITERATORS.search(" ".join(head.split()))) is not None:
            extents = re.sub(r"\bd\d+: ", "", ", ".join(filter(None, match.group(1, 2))))
            shown += f" over ({extents})" + (f", reduced in the order {match[3]}" if match[3] else "")
        found.append("  " * max(0, len(indent) // 2 - 1) + shown)
    return found
