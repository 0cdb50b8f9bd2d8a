"""The blocks of code of the pages that people write, and how they run.

A page is one program: its blocks of Python share their names and one folder, in which blocks that name a file
(```` ```tx softmax.tx ````) are written and blocks of shell run.  The block of ``text`` behind a block is all that it
prints, as `doctest` compares (``...`` is any text); behind ``python raises`` it is the error.  A block of ``mlir``
there is all that it prints too, and is written by `docs/generate.py`.  ``python needs LIBRARY`` runs where that is
installed.
Code is compiled for an x86-64 processor with AVX2 and FMA, so that IR is the same on every machine.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from txc.compiler.cli.main import main

__all__ = ["PAGES", "Block", "blocks", "differs", "refreshed", "run"]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
#: Tested in `frontend/test_language_doc.py`, `tensure/test_tensure_doc.py` and `export/test_embedding.py`.
ELSEWHERE = {"reference/language.md", "reference/tensure.md", "reference/graph.md", "howto/export-to-c.md"}
BLOCK = re.compile(r"^```([^\n`{][^\n`]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CHECKER = doctest.OutputChecker()
TARGET = {"TXC_TARGET": "x86-64-v3", "TXC_CACHE_DIR": "0"}
#: Commands of this tree.
COMMANDS = {"tensor-compile": "-m txc.compiler.cli.main", "tx-opt": "-m txc.compiler.cli.tx_opt", "python": ""}

#: The pages with code that runs, by their place in `docs/`.
PAGES = {
    name: path
    for path in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    if (name := os.path.relpath(path, DOCS)) not in ELSEWHERE
    and re.search("^```(python|sh)", path.read_text(encoding="utf-8"), re.MULTILINE)
}


class Block(NamedTuple):
    """A block: its language, what else stands behind the fence, its text, and the block behind it that it prints."""

    language: str
    rest: str
    content: str
    printed: str = ""
    printed_as: str = ""
    printed_at: tuple[int, int] = (0, 0)


def blocks(text: str) -> list[Block]:
    """The blocks of a page that have a language, without directives."""
    found = [*BLOCK.finditer(text)]
    made = [Block(*m[1].partition(" ")[::2], content=m[2]) for m in found]
    for i, (block, match) in enumerate(zip(made[1:], found[1:])):
        if block.language in {"text", "mlir"}:
            made[i] = made[i]._replace(printed=match[2], printed_as=block.language, printed_at=match.span(2))
    return made


def refreshed(path: Path) -> str:
    """The text of a page, with what its blocks print as IR now."""
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        printed = [(block, found) for block, found in run(text, Path(folder)) if block.printed_as == "mlir"]
    for block, found in reversed(printed):
        start, end = block.printed_at
        text = text[:start] + found + text[end:]
    return text


def differs(block: Block, found: str) -> bool:
    """Whether a block printed something else than the page says."""
    if block.printed_as == "text":
        return not CHECKER.check_output(block.printed, found, doctest.ELLIPSIS)
    return found != block.printed


def run(text: str, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in a folder: each with what it printed, or with the error that it should raise."""
    names: dict[str, Any] = {"__name__": "page"}
    with _surroundings(folder):
        for number, block in enumerate(blocks(text)):
            if block.rest.startswith("needs ") and not _is_installed(block.rest.removeprefix("needs ")):
                continue
            if "." in block.rest:
                (folder / block.rest).write_text(block.content, encoding="utf-8")
            elif block.language == "sh":
                yield block, _shell(block.content, folder)
            elif block.language == "python":
                # Staging reads a function's source from its file.
                file = folder / f"example{number}.py"
                file.write_text(block.content, encoding="utf-8")
                code = compile(block.content, str(file), "exec")
                printed = _error(code, names) if block.rest == "raises" else _output(code, names)
                yield block, printed.replace(f"{folder}/", "")


def _is_installed(library: str) -> bool:
    """Whether Python has a module of that name, or C++ a folder of headers."""
    return importlib.util.find_spec(library) is not None or Path("/usr/include", library).exists()


def _output(code: Any, names: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def _error(code: Any, names: dict[str, Any]) -> str:
    try:
        exec(code, names)
    except Exception as error:
        return f"{type(error).__name__}: {error}\n"
    raise AssertionError("nothing is raised")


def _shell(commands: str, folder: Path) -> str:
    calls = [shlex.split(line) for line in commands.splitlines()]
    if all(call[0] == "tensor-compile" for call in calls):  # here: a process of its own takes seconds to start
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert not any(main(arguments) for _, *arguments in calls), commands
        return printed.getvalue()
    done = subprocess.run(
        ["bash", "-euc", commands], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextlib.contextmanager
def _surroundings(folder: Path) -> Iterator[None]:
    """Its folder is the current one and has the commands; what the blocks do to the environment is undone."""
    before, here = dict(os.environ), Path.cwd()
    bin = folder / "bin"
    bin.mkdir()
    for name, rest in COMMANDS.items():
        command = f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" {rest} "$@"\n'
        (bin / name).write_text(command, encoding="utf-8")
        (bin / name).chmod(0o755)
    os.environ.update(TARGET | {"PATH": f"{bin}{os.pathsep}{before['PATH']}", "COLUMNS": "120"})
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(before)
