"""The page of a compilation: its program, every stage side by side, decisions with their costs, and times of passes.

It is one file of HTML that asks for nothing from outside.
"""

from __future__ import annotations

import base64
import html
import inspect
import json
import linecache
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ....passes.cost.remarks import Remark
from ...aot.whole_file import whole_file
from .located_text import Line, Place, located_lines

__all__ = ["Page", "Span", "page_of", "text_of"]

_TEMPLATE = Path(__file__).with_name("page.html")


class Page(str):
    """A page as its HTML text; a notebook shows it, `save` writes it."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, whole or not at all.  OSError where that cannot be."""
        with whole_file(Path(path)) as file:
            file.write(self.encode())

    def _repr_html_(self) -> str:
        source = base64.b64encode(self.encode()).decode()
        return f'<iframe src="data:text/html;base64,{source}" style="width: 100%; height: 40em; border: 0"></iframe>'


class Span(NamedTuple):
    """Lines of a file, the first and the last one."""

    file: str
    first: int
    last: int


def page_of(name: str, explanation: str, own: Span | None, stages: Any, remarks: Sequence[Remark]) -> Page:
    """The page of a function, whose text is `own`, where that is known.

    `explanation` is what is said of it as text; `stages` are its `pipeline.Stages`, with texts and locations.
    """
    found = _stages(stages.records)
    places = _Places(line.place for _, _, lines in found for line in lines)
    data = {
        "name": name,
        "explanation": explanation,
        "files": places.files(own),
        "places": places.numbered(),
        "stages": [
            {"name": title, "ms": ms, "text": "\n".join(line.text for line in lines), "at": places.of(lines)}
            for title, ms, lines in found
        ],
        "decisions": [
            [said.kind, said.subject, said.chosen, said.why, said.costs, places.at(said.place)] for said in remarks
        ],
        "passes": [[record.stage, record.name, 1e3 * record.seconds] for record in stages.records],
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    template = _TEMPLATE.read_text(encoding="utf-8")
    return Page(template.replace("$NAME", html.escape(name)).replace("$DATA", text))


def text_of(function: Any) -> Span | None:
    """Where a Python function's text is; None where there is none."""
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        return None
    return Span(function.__code__.co_filename, first, first + len(lines) - 1)


def _stages(records: Iterable[Any]) -> list[tuple[str, float, list[Line]]]:
    """Title, milliseconds and lines of each pass that changed the program."""
    found: list[tuple[str, float, list[Line]]] = []
    names: dict[str, str] = {}  # of files as IR has them, by what assembly makes of these
    for record in records:
        if not record.text or record.stage == "graph":
            continue
        lines = [_named(line, names) for line in located_lines(record.stage, record.text)]
        if found and found[-1][2] == lines:
            continue
        title = record.stage if record.name in ("lower", "emit", "assemble") else f"{record.stage}: {record.name}"
        found.append((title, 1e3 * record.seconds, lines))
    return found


def _named(line: Line, names: dict[str, str]) -> Line:
    if line.place is None:
        return line
    name = names.setdefault(os.path.abspath(line.place.file), line.place.file)
    return line._replace(place=line.place._replace(file=name))


class _Places:
    """The places of a page, by number."""

    def __init__(self, places: Iterable[Place | None]):
        self._all = sorted({place for place in places if place is not None})
        self._numbers = {place: number for number, place in enumerate(self._all)}

    def of(self, lines: Sequence[Line]) -> list[int]:
        """The number of each line's place; -1: it has none."""
        return [-1 if line.place is None else self._numbers[line.place] for line in lines]

    def at(self, place: str) -> int:
        """The number of a place as a remark says it, ``file:line:column``; -1: there is no such."""
        file, line, *_ = [*place.rsplit(":", 2), ""]
        return self._numbers.get(Place(file, int(line)), -1) if line.isdigit() else -1

    def numbered(self) -> list[list[int]]:
        """File and line of each place."""
        files = self._names()
        return [[files.index(place.file), place.line] for place in self._all]

    def files(self, own: Span | None) -> list[dict[str, Any]]:
        """The files: of each the lines from the first one with a place to the last one, and those of the function."""
        made = []
        for name in self._names():
            lines = [place.line for place in self._all if place.file == name]
            lines += [own.first, own.last] if own is not None and own.file == name else []
            first, last = min(lines), max(lines)
            text = linecache.getlines(name)[first - 1 : last]
            shown = [line.rstrip("\n") for line in text] or [""] * (last - first + 1)
            made.append({"name": os.path.basename(name), "first": first, "lines": shown})
        return made

    def _names(self) -> list[str]:
        return list(dict.fromkeys(place.file for place in self._all))
