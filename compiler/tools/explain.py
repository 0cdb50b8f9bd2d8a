"""What was compiled and why, in words: facts, guards, decisions with the figures compared, kernels, stages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from ...passes.cost.remarks import Remark
from ..diagnostics import file_text
from ..frontend.trace.graph import Graph
from .notebook import sections_as_html

__all__ = ["Explanation", "Section", "explain", "figures"]

_EVAL = re.compile(r"%\w+ = tx\.eval\b")
#: A kernel op: how deep it stands, its text up to its region, and its name.
_KERNEL = re.compile(r"^( *)(?:%[^=\n]* = )?(kernel\.(generic|row_group|for|while|if)\b[^{]*)", re.M)
#: The iterators of a nest, those that it reduces, and in which order.
_ITERATORS = re.compile(
    r" over \((.*?)\)(?: (?:reduce|scan \w+) \((.*?)\) order (\w+(?:<[^>]*>)?))? (?:init|in|epilogue_inputs|into|->) "
)


class Section(NamedTuple):
    """A part of a report as lines of text, and, with titles of `columns`, as `rows` of a table too."""

    title: str
    lines: Sequence[str]
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


class _Texts(Protocol):
    def text(self, stage: str) -> str: ...


def figures(graph: Graph, stages: Any) -> tuple[int, int, int, int]:
    """Ops of the graph, evals that were inserted, loop nests, bytes of the object file."""
    evals = len(_EVAL.findall(stages.text("evals")))
    nests = sum(1 for _, _, kind in _KERNEL.findall(stages.text("fused")) if kind == "generic")
    return sum(1 for _ in graph.walk()), evals, nests, len(stages.object or b"")


class Explanation(str):
    """The report of ``f.explain(*args)``; a notebook shows its sections, decisions and stages as tables."""

    head: str
    sections: Sequence[Section]

    def __new__(cls, head: str, sections: Sequence[Section]) -> Explanation:
        texts = [f"{s.title}:\n" + "\n".join(f"  {line}" for line in s.lines or ["none"]) for s in sections]
        made = super().__new__(cls, "\n\n".join([head, *texts]))
        made.head, made.sections = head, sections
        return made

    def __reduce__(self) -> Any:
        return Explanation, (self.head, self.sections)

    def _repr_html_(self) -> str:
        return sections_as_html(self.head, self.sections)


def explain(
    name: str, graph: Graph, facts: Sequence[str], captured: Sequence[str], stages: _Texts, remarks: Sequence[Remark],
    is_plain: bool = False,
) -> Explanation:  # fmt: skip
    """The report of ``f.explain(*args)``; `is_plain` says that the code was made fast, and is not fast."""
    head = f"{name}: {', '.join(str(i.value.type) if i.value else f'{i.symbol}: int' for i in graph.inputs)}"
    head += "\nopt_level 0: plain loops, which are compiled fast and run slower" if is_plain else ""
    plan = getattr(stages, "plan", None)
    model = "the cost model" if plan is None else "the cost model of a GPU"
    records = getattr(stages, "records", ())
    shown = [said for said in remarks if said.kind != "schedule"]
    sections = [
        Section("facts that select this version (sizes are not among them)", facts),
        Section("captured from outside the function, checked at each call", captured),
        Section(
            "guards, checked at each call; another version is compiled where one fails", [*map(str, graph.table.guards)]
        ),
        Section(
            f"decisions, with estimated costs of the alternatives by {model} (sizes that are not facts: 512)",
            [*map(str, shown)],
            ("decision", "of", "chosen", "because", "costs", "at"),
            [(said.kind, said.subject, said.chosen, said.why, said.costs, _short(said.place)) for said in shown],
        ),
        Section("kernels", _kernels(stages.text("fused"))),
        Section(
            "schedules, as the programs that made the loops of kernels",
            [line for said in remarks if said.kind == "schedule" for line in _program(said)],
        ),
        Section("launches", str(plan).splitlines() if plan is not None else []),
        Section(
            "stages",
            [f"{record.stage:<10} {record.name:<24} {1e3 * record.seconds:8.2f} ms" for record in records],
            ("stage", "pass", "ms"),
            [(record.stage, record.name, f"{1e3 * record.seconds:.2f}") for record in records],
        ),
    ]
    unsaid = {"captured": not captured, "launches": plan is None, "schedules,": len(shown) == len(remarks)}
    return Explanation(head, [s for s in sections if not unsaid.get(s.title.split()[0], False)])


def _program(said: Remark) -> list[str]:
    """A schedule below the kernel that it is of."""
    return [f"{said.subject} {said.why}:", *(f"  {line}" for line in said.chosen.splitlines())]


def _short(place: str) -> str:
    """A place ``file:line:column`` with the file's last name, or the notebook's cell."""
    file, *numbers = place.rsplit(":", 2)
    return ":".join([file_text(file).rpartition("/")[2], *numbers])


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
