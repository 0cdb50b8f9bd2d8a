"""What type checkers know of jitted functions: the types and parameters of the functions themselves."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent.parent / "src"

PROGRAM = """\
import txc

@txc.jit
def f(x: bytes, n: int = 2) -> list[bytes]:
    return [x] * n

@txc.jit(threads=2)
def g(x: bytes) -> tuple[bytes, float]:
    return x, 0.5

class Model:
    @txc.jit
    def times(self, x: bytes) -> bytes:
        return x

reveal_type(f(b""))
reveal_type(g(x=b""))
reveal_type(Model().times(b""))
reveal_type(f.options(threads=1)(b"", n=3))
reveal_type(f(b"", out=b""))
reveal_type(f.explain(b""))
f("text")
f(b"", m=3)
Model().times()
"""
#: The types revealed in the lines from 16 on; the last three lines are errors.
REVEALED = ["list[bytes]", "tuple[bytes, float]", "bytes", "list[bytes]", "list[bytes]", "str"]


def _by_pyright(folder: Path) -> tuple[list[str], list[int]]:
    settings = {"include": ["program.py"], "extraPaths": [str(SOURCES)]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "-p", str(folder), "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    found = json.loads(done.stdout)["generalDiagnostics"]
    revealed = [d["message"].rpartition(" is ")[2].strip('"') for d in found if d["severity"] == "information"]
    return revealed, [d["range"]["start"]["line"] + 1 for d in found if d["severity"] == "error"]


def _by_mypy(folder: Path) -> tuple[list[str], list[int]]:
    settings = folder / "mypy.ini"
    settings.write_text(f"[mypy]\nmypy_path = {SOURCES}\nfollow_imports = silent\nignore_missing_imports = True\n")
    command = [sys.executable, "-m", "mypy", "--config-file", settings, "--cache-dir", folder / "cache"]
    command += ["--no-pretty", "--show-error-codes", folder / "program.py"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=300)
    lines = [
        line.partition("program.py:")[2].split(":", 2) for line in done.stdout.splitlines() if "program.py:" in line
    ]
    revealed = [
        text.rpartition(" is ")[2].strip('"').replace("builtins.", "") for _, _, text in lines if "Revealed" in text
    ]
    return revealed, [int(line) for line, kind, _ in lines if kind == " error"]


@pytest.mark.parametrize(("checker", "run"), [("pyright", _by_pyright), ("mypy", _by_mypy)])
def test_type_checkers_know_jitted_functions(checker: str, run, tmp_path: Path):
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    (tmp_path / "program.py").write_text(PROGRAM)
    assert run(tmp_path) == (REVEALED, [22, 23, 24])
