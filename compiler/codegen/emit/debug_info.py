"""Debug information of one LLVM module: which of the user's lines each instruction comes from, as LLVM metadata.

A function's text is a tree of lists (`text.py`) in which a `Place` says where what follows it comes from, until the
next one.  Nothing else of the emitter knows of debug information, and without it there are no places.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["DebugInfo", "Place"]


class Place(NamedTuple):
    """A line of the user's; `line` and `column` count from 1."""

    filename: str
    line: int
    column: int

    @staticmethod
    def of(loc: str) -> Place:
        """Of an op's ``loc``, ``"file:line:column"`` with a column from 0."""
        filename, line, column = loc.rsplit(":", 2)
        return Place(filename, int(line), int(column) + 1)


class DebugInfo:
    """The metadata that the functions of a module share; DWARF 4, so that debuggers of ten years read it."""

    def __init__(self) -> None:
        self._numbers: dict[str, str] = {}
        self._unit = ""

    def body(self, name: str, parts: Sequence[list[Any]]) -> tuple[str, str]:
        """A function's instructions with their places, and what its ``define`` has to say; "" where it has no place."""
        lines = _flat(parts)
        first = next((place for _, place in lines if place is not None), None)
        if first is None:
            return "\n".join(text for text, _ in lines), ""
        scope = self._subprogram(name, first)
        texts = [
            f"{text}, !dbg {self._location(place or first, scope, first.filename)}" if text.startswith(" ") else text
            for text, place in lines
        ]
        return "\n".join(texts), f" !dbg {scope}"

    def __str__(self) -> str:
        """The metadata of the module, behind its functions."""
        if not self._unit:
            return ""
        flags = [
            self._node(f'!{{i32 2, !"{k}", i32 {v}}}') for k, v in (("Dwarf Version", 4), ("Debug Info Version", 3))
        ]
        named = f"!llvm.dbg.cu = !{{{self._unit}}}\n!llvm.module.flags = !{{{', '.join(flags)}}}\n"
        return named + "".join(f"{number} = {text}\n" for text, number in self._numbers.items())

    def _node(self, text: str) -> str:
        """The number of a node, made once for equal texts."""
        return self._numbers.setdefault(text, f"!{len(self._numbers)}")

    def _file(self, filename: str) -> str:
        folder = "" if os.path.isabs(filename) else os.getcwd()
        return self._node(f"!DIFile(filename: {_string(filename)}, directory: {_string(folder)})")

    def _subprogram(self, name: str, place: Place) -> str:
        file = self._file(place.filename)
        if not self._unit:
            # A language that debuggers know: they show our functions, which have no variables, as those of C.
            self._unit = self._node(
                f'distinct !DICompileUnit(language: DW_LANG_C99, file: {file}, producer: "txc", isOptimized: true, '
                "runtimeVersion: 0, emissionKind: FullDebug)"
            )
        type_ = self._node(f"!DISubroutineType(types: {self._node('!{}')})")
        return self._node(
            f"distinct !DISubprogram(name: {_string(name)}, scope: {file}, file: {file}, line: {place.line}, "
            f"type: {type_}, scopeLine: {place.line}, "
            f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {self._unit})"
        )

    def _location(self, place: Place, scope: str, home: str) -> str:
        """Where an instruction of function `scope` comes from: its file may be another than the function's, `home`."""
        if place.filename != home:
            file = self._file(place.filename)
            scope = self._node(f"!DILexicalBlockFile(scope: {scope}, file: {file}, discriminator: 0)")
        return self._node(f"!DILocation(line: {place.line}, column: {place.column}, scope: {scope})")


def _flat(parts: Sequence[list[Any]]) -> list[tuple[str, Place | None]]:
    """The lines of a function, each with its place."""
    lines: list[tuple[str, Place | None]] = []
    place: Place | None = None

    def visit(part: Sequence[Any]) -> None:
        nonlocal place
        for item in part:
            if isinstance(item, str):
                lines.append((item, place))
            elif isinstance(item, Place):
                place = item
            else:
                visit(item)

    for part in parts:
        visit(part)
    return lines


def _string(text: str) -> str:
    """As LLVM reads it, in UTF-8."""
    letters = (chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text.encode("utf-8", "replace"))
    return f'"{"".join(letters)}"'
