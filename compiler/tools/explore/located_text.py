"""The text of a stage as lines, each with the place in the user's program that it comes from.

IR says that in ``loc("file:line:column")``, LLVM IR in its debug metadata, assembly and PTX in ``.loc`` directives.
What only says it, and other text of no interest to a reader (sections of debug information, frame directives), is
left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Line", "Place", "located_lines"]


class Place(NamedTuple):
    """A line of a file."""

    file: str
    line: int


class Line(NamedTuple):
    """A line of a stage; None where it comes from no line of the program."""

    text: str
    place: Place | None


def located_lines(stage: str, text: str) -> list[Line]:
    """The lines of a stage's text."""
    if stage == "llvm":
        return [*_of_llvm(text)]
    if stage in ("asm", "ptx"):
        return [*_of_assembly(text)]
    return _of_ir(text)


# IR -------------------------------------------------------------------------------------------------------------------

_LOC = re.compile(r'\s*loc\("(?P<file>.*):(?P<line>[0-9]+):[0-9]+"\)')


def _of_ir(text: str) -> list[Line]:
    """The location of an op with regions stands behind the last of them; its heads are the op's too."""
    lines: list[Line] = []
    heads: list[list[int]] = []  # of each op that is open: the lines in front of its regions
    for raw in text.rstrip().splitlines():
        found = _LOC.search(raw)
        place = None if found is None else Place(found["file"], int(found["line"]))
        shown = _LOC.sub("", raw)
        number, closes, opens = len(lines), shown.lstrip().startswith("}"), shown.rstrip().endswith("{")
        lines.append(Line(shown, place))
        if closes and heads:
            own = heads.pop()
            if opens:
                heads.append([*own, number])
            elif place is not None:
                for head in own:
                    lines[head] = lines[head]._replace(place=place)
        elif opens:
            heads.append([number])
    return lines


# LLVM IR --------------------------------------------------------------------------------------------------------------

_NODE = re.compile(
    r"!(?P<id>[0-9]+) = (?:distinct )?!DI(?P<kind>Location|Subprogram|File|LexicalBlock)\((?P<body>.*)\)"
)
_DBG = re.compile(r",? !dbg !(?P<id>[0-9]+)")


def _of_llvm(text: str) -> Iterator[Line]:
    nodes = {found["id"]: found for found in _NODE.finditer(text)}

    def field(id: str, name: str) -> str:
        found = re.search(rf'{name}: (?:!(\d+)|(\d+)|"([^"]*)")', nodes[id]["body"]) if id in nodes else None
        return "" if found is None else next(part for part in found.groups() if part is not None)

    def file_of(id: str) -> str:
        if id not in nodes:
            return ""
        if nodes[id]["kind"] == "File":
            return os.path.join(field(id, "directory"), field(id, "filename"))
        return file_of(field(id, "file") or field(id, "scope"))

    for raw in text.rstrip().splitlines():
        if raw.startswith("!"):
            continue
        found = _DBG.search(raw)
        line = 0 if found is None or raw.startswith("define") else int(field(found["id"], "line") or 0)
        yield Line(_DBG.sub("", raw), Place(file_of(found["id"]), line) if found is not None and line else None)


# Assembly -------------------------------------------------------------------------------------------------------------

_FILE = re.compile(r'\s*\.file\s+(?P<id>[0-9]+)\s+"(?P<first>[^"]*)"(?:\s+"(?P<second>[^"]*)")?')
_ASM_LOC = re.compile(r"\s*\.loc\s+(?P<file>[0-9]+)\s+(?P<line>[0-9]+)")
_SECTION = re.compile(r"\s*\.(?:section\s+\"?(?P<name>[^\s,\"]+)|text)")
_SAYS_NOTHING = re.compile(r"\s*\.(?:cfi_|file|loc|p2align|addrsig|ident)|\s*\.L(?:tmp|func_begin|func_end)[0-9]+:")
_UNINTERESTING = (".debug", ".note", ".eh_frame")


def _of_assembly(text: str) -> Iterator[Line]:
    files: dict[str, str] = {}
    for found in _FILE.finditer(text):  # PTX has them behind the code
        files[found["id"]] = os.path.join(found["first"], found["second"] or "")
        files[found["id"]] = files[found["id"]] if found["second"] else found["first"]
    place: Place | None = None
    shown = True
    for raw in text.rstrip().splitlines():
        section = _SECTION.match(raw)
        if section is not None:
            shown = not (section["name"] or "").startswith(_UNINTERESTING)
        loc = _ASM_LOC.match(raw)
        if loc is not None:
            line = int(loc["line"])
            place = Place(files.get(loc["file"], ""), line) if line else place
        if not shown or _SAYS_NOTHING.match(raw) or not raw.strip():
            continue
        is_label = not raw[:1].isspace() and not raw.startswith((".L", "$L"))
        if is_label:
            place = None  # another function, or data
        is_code = raw[:1].isspace() and not raw.lstrip().startswith((".", "//", "#"))
        yield Line(raw.expandtabs(8), place if is_code else None)
