"""The page of a compilation: from each line of a program to its code and back, in one file, in a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.cli.main import main
from txc.compiler.tools.explore.located_text import Line, Place, located_lines

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.tx"))
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


def data_of(page: str) -> dict[str, Any]:
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)[1])  # type: ignore[index]


def places_in(data: dict[str, Any], stage: str) -> set[int]:
    """The places of a stage, whichever pass is its last."""
    found = [made["at"] for made in data["stages"] if made["name"].split(":")[0] == stage]
    return {*found[-1]} - {-1}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_line_of_an_example_finds_its_assembly_and_back(path: Path, tmp_path: Path, capsys):
    assert main(["explore", str(path), "-o", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'page.html'}\n"
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = data_of(page)
    assert len(page) < 3_000_000 and not re.search(r'(src|href)="', page)
    assert places_in(data, "asm") == places_in(data, "llvm") == places_in(data, "loops") != set()
    (file,), text = data["files"], path.read_text(encoding="utf-8").splitlines()
    assert file["name"] == path.name
    for number, line in enumerate(file["lines"], file["first"]):
        assert line == text[number - 1]
    for _, line in (data["places"][at] for at in places_in(data, "asm")):
        assert file["first"] <= line < file["first"] + len(file["lines"])
    for stage in data["stages"]:
        assert len(stage["text"].split("\n")) == len(stage["at"])


@txc.jit
def scaled(x, y):
    total = np.exp(x).sum(axis=1, keepdims=True)
    return total * y


def test_a_jitted_function(tmp_path: Path):
    page = scaled.explore(np.ones((4, 5)), np.ones(5))
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    data = data_of(page)
    assert data["files"][0]["lines"][:2] == ["@txc.jit", "def scaled(x, y):"]
    assert len(places_in(data, "asm")) == 2
    decision = next(made for made in data["decisions"] if made[0] == "threads")
    assert data["places"][decision[5]][1] in range(data["files"][0]["first"], data["files"][0]["first"] + 4)
    assert data["explanation"].startswith("scaled: f64[x.0, x.1], f64[y.0]")
    assert page._repr_html_().startswith("<iframe")
    with pytest.raises(IsADirectoryError):
        page.save(tmp_path)


def test_code_of_a_gpu():
    data = data_of(scaled.options(device="ptx-sim").explore(np.ones((4, 5)), np.ones(5)))
    assert places_in(data, "ptx") == places_in(data, "loops") and len(places_in(data, "ptx")) == 2


def test_what_is_no_page(tmp_path: Path, capsys):
    path = str(EXAMPLES[0])
    for arguments, text in [
        (["explore", path, "-o", str(tmp_path)], f"error: cannot write {tmp_path}: it is a folder"),
        (["explore", path, "-o", str(tmp_path / "no" / "page.html")], "No such file or directory"),
        (["explore", path, "--function", "black_schole"], "has no function 'black_schole'"),
    ]:
        assert main(arguments) == 1
        assert text in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]
    with pytest.raises(SystemExit, match="2"):
        main(["explore", path, "--outptu", str(tmp_path / "page.html")])
    assert "unknown option '--outptu'; did you mean --output?" in capsys.readouterr().err


def test_lines_of_ir():
    """What an op with regions ends with is the place of its heads."""
    text = """func.func @f() {
  %0 = kernel.generic over (d0: n) {
    %1 = arith.addf %2, %2 : f32 loc("a:b.py:3:7")
  } combine (%3) {
    kernel.yield %3 : f32
  } loc("a:b.py:4:1")
  func.return %0
}
"""
    three, four = Place("a:b.py", 3), Place("a:b.py", 4)
    assert [line.place for line in located_lines("fused", text)] == [None, four, three, four, None, four, None, None]
    assert located_lines("fused", text)[2] == Line("    %1 = arith.addf %2, %2 : f32", three)


def test_lines_of_assembly():
    """Of a line 0 comes what belongs to the line before."""
    text = """\t.text
\t.file\t1 "/here" "a.py"
f:
.Lfunc_begin0:
\t.cfi_startproc
\t.loc\t1 5 12
\taddq\t%rax, %rbx
.LBB0_1:
\t.loc\t1 0 12
\tret
g:
\tret
\t.section\t.debug_info,"",@progbits
\t.long\t3
"""
    five = Place("/here/a.py", 5)
    assert [(line.text.strip(), line.place) for line in located_lines("asm", text)] == [
        (".text", None), ("f:", None), ("addq    %rax, %rbx", five), (".LBB0_1:", None), ("ret", five), ("g:", None),
        ("ret", None),
    ]  # fmt: skip


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium, in which the page is opened")
@pytest.mark.parametrize("size", ["1300,800", "400,900"], ids=["wide", "phone"])
def test_a_browser_shows_what_a_line_became(tmp_path: Path, size: str):
    assert BROWSER is not None
    page, data = tmp_path / "page.html", data_of(scaled.explore(np.ones((4, 5)), np.ones(5)))
    scaled.explore(np.ones((4, 5)), np.ones(5)).save(page)
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}"]
    command = [BROWSER, *options, f"--window-size={size}", "--dump-dom", f"{page.as_uri()}#1"]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    last = data["stages"][-1]["at"].count(1)
    loops = next(made["at"] for made in data["stages"][::-1] if made["name"].startswith("loops")).count(1)
    decisions = sum(made[5] == 1 for made in data["decisions"])
    assert len(re.findall(r'data-at="1" class="chosen"', shown)) == 1 + loops + last + decisions
