"""Every block of code that the documentation shows runs, and prints what stands under it.

A page is one program: its blocks of Python share their names and one folder, in which blocks that name a file
(```` ```tx softmax.tx ````) are written and blocks of shell run.  The block of text behind a block is all that it
prints, as `doctest` compares (``...`` is any text); behind ``python raises`` it is the error.  ``python needs LIBRARY``
runs where the library is installed.  Pages that have another form have tests of their own.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: Tested in `frontend/test_language_doc.py`, `tensure/test_tensure_doc.py` and `export/test_embedding.py`.
ELSEWHERE = {"reference/language.md", "reference/tensure.md", "reference/graph.md", "howto/export-to-c.md"}
BLOCK = re.compile(r"^```([^\n`{][^\n`]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CHECKER = doctest.OutputChecker()


class Block(NamedTuple):
    """A block of a page: its language, what else stands behind the fence, its text, and the text that it prints."""

    language: str
    rest: str
    content: str
    printed: str


def blocks(text: str) -> list[Block]:
    found = [Block(*m[1].partition(" ")[::2], content=m[2], printed="") for m in BLOCK.finditer(text)]
    texts = [after.content if after.language == "text" else "" for after in found[1:]]
    return [block._replace(printed=printed) for block, printed in zip(found, [*texts, ""])]


PAGES = {p.relative_to(DOCS).as_posix(): p.read_text(encoding="utf-8") for p in sorted(DOCS.rglob("*.md"))}
PAGES["README.md"] = (ROOT / "README.md").read_text(encoding="utf-8")
RUN = [name for name, text in PAGES.items() if name not in ELSEWHERE and re.search("^```(python|sh)", text, re.M)]


class Page:
    """One page while it runs."""

    def __init__(self, name: str, folder: Path):
        self.name, self.folder = name, folder
        self.names: dict[str, Any] = {"__name__": Path(name).stem}
        self.files = 0

    def python(self, block: Block) -> None:
        """Run a block of Python, from a file, as staging reads a function's source."""
        self.files += 1
        file = self.folder / f"example{self.files}.py"
        file.write_text(block.content, encoding="utf-8")
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(block.content, str(file), "exec"), self.names)
        except Exception as error:
            if block.rest != "raises":
                raise
            self.compare(block, f"{type(error).__name__}: {error}".replace(f"{self.folder}/", ""))
            return
        assert block.rest != "raises", f"{self.name}: nothing is raised by\n{block.content}"
        self.compare(block, printed.getvalue())

    def shell(self, block: Block) -> None:
        done = subprocess.run(
            ["bash", "-euc", block.content],
            cwd=self.folder, capture_output=True, text=True, env=commands(self.folder), timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        self.compare(block, done.stdout)

    def compare(self, block: Block, found: str) -> None:
        want = block.printed
        same = CHECKER.check_output(want, found, doctest.ELLIPSIS) if want else not found
        assert same, f"{self.name}:\n{block.content}prints\n{found}\nand not\n{want}"


def commands(folder: Path) -> dict[str, str]:
    """The environment in which `tensor-compile`, `tx-opt` and `python` are those of this tree."""
    bin = folder / "bin"
    bin.mkdir(exist_ok=True)
    run = f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}"'
    for name, rest in {
        "tensor-compile": " -m txc.compiler.cli.main",
        "tx-opt": " -m txc.compiler.cli.tx_opt",
        "python": "",
    }.items():
        (bin / name).write_text(f'{run}{rest} "$@"\n')
        (bin / name).chmod(0o755)
    return os.environ | {"PATH": f"{bin}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}


@pytest.mark.parametrize("name", RUN)
def test_page(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page, before = Page(name, tmp_path), dict(os.environ)
    try:
        for block in blocks(PAGES[name]):
            library = block.rest.removeprefix("needs ") if block.rest.startswith("needs ") else None
            if library is not None and importlib.util.find_spec(library) is None:
                continue
            if "." in block.rest:
                (tmp_path / block.rest).write_text(block.content, encoding="utf-8")
            elif block.language == "python":
                page.python(block)
            elif block.language == "sh" and name != "README.md":  # those of README.md are what CI runs
                page.shell(block)
    finally:
        os.environ.clear()
        os.environ.update(before)


def test_every_block_is_of_a_kind_that_is_known() -> None:
    known = {"python", "sh", "text", "tx", "c", "cpp", "mlir"}
    assert {block.language for name in RUN for block in blocks(PAGES[name])} <= known
