"""The documentation says what the sources say: the op reference is fresh, every error code has its line."""

import re
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
    "inside/tree.md": "| `pipeline.py` | The staircase: every stage of a compilation in order,",
    "not-supported.md": "| `np.polymul` | write np.convolve(p, q) |",
    "operations.md": "| `contract` |",
    "ops.md": "| `exp` |",
    "optimiser.md": "kernel.rows",
    "ptx-simulator.md": "| `fma` | f16 bf16 f16x2 bf16x2 f32 f64 | rn",
}


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_up_to_date(name):
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert LINES[name] in text
    assert text == PAGES[name](), "run python docs/generate.py"


def test_every_op_is_in_the_reference_once():
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "ops.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(OPS)


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_op_has_a_docstring(name):
    assert (OPS[name].__dict__.get("__doc__") or "").strip()


def test_every_error_code_is_documented_and_used():
    used = set()
    for folder in ("compiler", "dialects", "passes", "runtime"):
        for path in (ROOT / folder).rglob("*.py"):
            used |= set(CODE.findall(path.read_text()))
    documented = set(re.findall(r"^\| (TX\d{4}) \|", (ROOT / "docs" / "errors.md").read_text(), re.MULTILINE))
    assert len(used) > 50
    assert used - documented == set(), "codes without a line in docs/errors.md"
    assert documented - used == set(), "lines of docs/errors.md about codes that nothing raises"


ROOMS = "compiler|dialects|passes|runtime|tests|filecheck|benchmarks|examples|docs|src"
FILE = re.compile(rf"`((?:{ROOMS})/[\w/.-]*[\w/])`")


def test_files_that_the_documentation_names_are_there():
    found = 0
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in FILE.findall(page.read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{page.relative_to(ROOT)} names {target}"
            found += 1
    assert found > 300


def test_links_of_the_documentation_lead_somewhere():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"
