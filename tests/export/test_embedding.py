"""`docs/howto/export-to-c.md`: every file is written, every command runs, and prints what the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/howto/export-to-c.md").read_text()
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INTRODUCTION, *_PARTS = re.split(r"^## ", TEXT, flags=re.MULTILINE)
SECTIONS = {part.partition("\n")[0]: part.partition("\n")[2] for part in _PARTS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the introduction's library and object were made; `bin` holds the commands that are ours."""
    made = tmp_path_factory.mktemp("embedding")
    (made / "bin").mkdir()
    txc = f'PYTHONPATH="{ROOT / "src"}" exec "{sys.executable}"'
    for name, command in {
        "tensor-compile": f"{txc} -m txc.compiler.cli.main",
        "python3-with-txc": txc,
        "python3": f'exec "{sys.executable}"',
    }.items():
        path = made / "bin" / name
        path.write_text(f'#!/bin/sh\n{command} "$@"\n')
        path.chmod(0o755)
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    follow(INTRODUCTION, made)
    return made


def follow(text: str, folder: Path) -> int:
    """Do what the blocks of a text say; how many commands printed what they should."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["PATH"] = f"{folder / 'bin'}{os.pathsep}{environment['PATH']}"
    blocks = [m.groups() for m in BLOCK.finditer(text)]
    checked = 0
    for (kind, name, content), following in zip(blocks, [*blocks[1:], ("", "", "")]):
        if kind == "sh":
            command = ["bash", "-euc", content]
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, env=environment, timeout=120, check=False
            )
            assert done.returncode == 0, done.stderr
            assert following[0] == "text", "commands are followed by what they print"
            assert done.stdout == following[2]
            checked += 1
        elif kind != "text":
            assert name, "a file has a name"
            (folder / name).write_text(content)
    return checked


@pytest.mark.parametrize("section", SECTIONS)
def test_section(section: str, folder: Path):
    commands = [content for kind, _, content in BLOCK.findall(SECTIONS[section]) if kind == "sh"]
    for tool in (command.split()[0] for command in commands):
        if shutil.which(tool) is None and not (folder / "bin" / tool).exists():
            pytest.skip(f"{tool} is not installed")
    assert follow(SECTIONS[section], folder) == len(commands) > 0


def test_every_block_is_seen():
    assert TEXT.count("```") == 2 * len(BLOCK.findall(TEXT)) > 30
    assert {"C", "C++", "Rust", "Python without txc"} <= set(SECTIONS)
