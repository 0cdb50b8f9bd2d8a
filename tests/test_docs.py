"""The documentation says what the sources say: the op reference is fresh, every error code has its line."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from pages import PAGES

from txc.dialects import ops
from txc.dialects.registry import OPS

assert ops  # importing them fills the registry

ROOT = Path(__file__).parent.parent
CODE = re.compile(r"\bTX\d{4}\b")


#: What each page has, whatever else: a generator that writes nothing would agree with an empty page.
LINES = {
    "reference/api.md": "### `txc.jit(function=None, **options)`",
    "reference/knobs.md": "| `TXC_NUM_THREADS` | a positive integer |",
    "levels.svg": "compiler/frontend/",
    "inside/exp.md": "call <8 x float> @llvm.fma",
    "inside/tree.md": "| `pipeline.py` | The pipeline: every rewrite of a compilation in order,",
    "reference/ir.md": "loop.parallel i = 0 to n step 4 on cpu_thread grain 16 {",
    "reference/not-supported.md": "| `np.polymul` | write np.convolve(p, q) |",
    "reference/operations.md": "| `contract` |",
    "reference/ops.md": "| `exp` |",
    "inside/optimiser.md": "kernel.row_group",
    "reference/ptx-simulator.md": "| `fma` | f16 bf16 f16x2 bf16x2 f32 f64 | rn",
}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_up_to_date(name):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert LINES[name] in text
    assert text == PAGES[name](), "run python docs/generate.py"


def test_every_op_is_in_the_reference_once():
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "reference" / "ops.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(OPS)


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_op_has_a_docstring(name):
    assert (OPS[name].__dict__.get("__doc__") or "").strip()


def test_every_error_code_is_documented_and_used():
    used = set()
    for folder in ("compiler", "dialects", "passes", "runtime"):
        for path in (ROOT / folder).rglob("*.py"):
            used |= set(CODE.findall(path.read_text()))
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    documented = set(re.findall(r"^\| (TX\d{4}) \|", page, re.MULTILINE))
    assert len(used) > 50
    assert used - documented == set(), "codes without a line in docs/reference/errors.md"
    assert documented - used == set(), "lines of docs/reference/errors.md about codes that nothing raises"


ROOMS = "compiler|dialects|passes|runtime|tests|filecheck|benchmarks|examples|docs|src"
FILE = re.compile(rf"`((?:{ROOMS})/[\w/.-]*[\w/])`")


def test_files_that_the_documentation_names_are_there():
    found = 0
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in FILE.findall(page.read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page.relative_to(ROOT)} names {target}"
            found += 1
    assert found > 300


HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)
LINK = re.compile(r"(?<!`)\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def anchors(text: str) -> set[str]:
    """What `#…` may be behind a page: its headings as GitHub and Sphinx write them."""
    found: list[str] = []
    for heading in HEADING.findall(FENCED.sub("", text)):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return set(found)


def test_links_of_the_documentation_lead_somewhere():
    rooms = [(ROOT / room).rglob("*.md") for room in ("docs", "benchmarks", "examples")]
    pages = [*ROOT.glob("*.md"), *(page for room in rooms for page in room)]
    for page in pages:
        for target, anchor in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
            file = page.parent / target if target else page
            assert file.exists(), f"{page.relative_to(ROOT)} points to {target}"
            if anchor:
                assert anchor in anchors(file.read_text(encoding="utf-8")), f"{page.name}: {target}#{anchor}"


def test_every_page_has_its_place_in_the_navigation():
    reached = {(ROOT / "docs" / "index.md")}
    new = list(reached)
    while new:
        page = new.pop()
        for tree in TOCTREE.findall(page.read_text(encoding="utf-8")):
            for line in tree.splitlines():
                if line and not line.startswith(":"):
                    there = page.parent / f"{line}.md"
                    assert there not in reached, f"{line} has two places"
                    reached.add(there)
                    new.append(there)
    assert reached == set((ROOT / "docs").rglob("*.md"))


@pytest.mark.skipif(find_spec("sphinx") is None, reason="Sphinx is not installed (pip install '.[docs]')")
def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path):
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "-d", str(tmp_path / "trees"), "docs", str(tmp_path / "site")]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(list((ROOT / "docs").rglob("*.md")))
    for page in pages:
        loaded = re.findall(r'<(?:script|img|link|iframe)[^>]+(?:src|href)="((?:https?:)?//[^"]+)', page.read_text())
        assert not loaded, f"{page.name} loads {loaded}"
