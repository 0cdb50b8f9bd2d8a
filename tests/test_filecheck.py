"""The FileCheck tests: the RUN lines that `lit filecheck` runs, but in one process, which imports txc once.

lit starts a new interpreter for each command of a RUN line.  Here its function is called, with text for its streams.
"""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options

from txc.compiler.cli import main, tx_opt

FILES = Path(__file__).parent.parent / "filecheck"
TESTS = sorted(path for path in FILES.rglob("*") if path.suffix in (".mlir", ".tx"))


def filecheck(arguments: list[str]) -> int:
    return Matcher.from_opts(parse_argv_options(["filecheck", *arguments])).run()


COMMANDS: dict[str, Callable[[list[str]], int | None]] = {
    "tx-opt": tx_opt.main,
    "tensor-compile": main.main,
    "filecheck": filecheck,
}


def pipelines(path: Path) -> list[list[list[str]]]:
    """The words of the commands of each RUN line, all of which are `command arguments | command arguments ...`."""
    lines = re.findall(r"RUN:(.*)", path.read_text())
    return [[shlex.split(command.replace("%s", str(path))) for command in line.split(" | ")] for line in lines]


def run(commands: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline: each command reads what the one before it wrote, and has to succeed."""
    text = ""
    for name, *arguments in commands:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as errors:
            status = COMMANDS[name](arguments)
        text = out.getvalue()
        assert not status, f"{shlex.join([name, *arguments])}: {text}{errors.getvalue()}"


@pytest.mark.parametrize("path", TESTS, ids=lambda path: str(path.relative_to(FILES)))
def test_filecheck(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = pipelines(path)
    assert made, "a test without a RUN line"
    for commands in made:
        run(commands, monkeypatch)


@pytest.mark.parametrize(
    ("check", "problem"),
    [("func @g", "Couldn't match"), ("", "No check strings found")],
    ids=["another text", "no check"],
)
def test_a_check_that_fails(check: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "wrong.mlir"
    checks = f"// CHECK: {check}\n" if check else ""
    path.write_text(f"// RUN: tx-opt %s | filecheck %s\n{checks}func.func @f() {{\n  func.return\n}}\n")
    (commands,) = pipelines(path)
    with pytest.raises(AssertionError, match=problem):
        run(commands, monkeypatch)


def test_lit() -> None:
    """lit itself, with the commands that users have: one file for each of them."""
    files = [FILES / "canonical" / "cse_dce.mlir", FILES / "llvm" / "bounds.tx"]
    command = [sys.executable, "-c", "from lit.main import main; main()", "-v", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Passed: 2\b", done.stdout), done.stdout
