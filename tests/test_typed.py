"""What type checkers know: of jitted functions their types and parameters, of txc every file."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src"

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
REVEALED = ["list[bytes]", "tuple[bytes, float]", "bytes", "list[bytes]", "list[bytes]", "Explanation"]


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
    revealed = [text.rpartition(" is ")[2].strip('"') for _, _, text in lines if "Revealed" in text]
    revealed = [re.sub(r"(\w+\.)+", "", text) for text in revealed]  # without the modules of classes
    return revealed, [int(line) for line, kind, _ in lines if kind == " error"]


@pytest.mark.parametrize(("checker", "run"), [("pyright", _by_pyright), ("mypy", _by_mypy)])
def test_type_checkers_know_jitted_functions(checker: str, run, tmp_path: Path):
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    (tmp_path / "program.py").write_text(PROGRAM)
    assert run(tmp_path) == (REVEALED, [22, 23, 24])


def _python_files(path: Path) -> set[Path]:
    """As pyright finds them: a folder's, without what links in it lead to."""
    return set(path.rglob("*.py")) if path.is_dir() else {path}


def test_pyright_is_told_of_every_file_of_txc():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pyright"]
    included, excluded = (
        {file for name in settings[key] for path in ROOT.glob(name) for file in _python_files(path)}
        for key in ("include", "exclude")
    )
    parts = [part.resolve() for part in (SOURCES / "txc").iterdir() if part.is_dir() or part.suffix == ".py"]
    assert {"compiler", "dialects", "passes", "runtime", "__init__.py"} <= {part.name for part in parts}
    missed = {file for part in parts for file in _python_files(part)} - (included - excluded)
    assert not missed, sorted(missed)
