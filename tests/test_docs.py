"""The documentation says what the sources say: the op reference is fresh, every error code has its line."""

import importlib.util
import re
from pathlib import Path

import pytest

from txc.dialects import ops
from txc.dialects.registry import OPS

assert ops  # importing them fills the registry

ROOT = Path(__file__).parent.parent
CODE = re.compile(r"\bTX\d{4}\b")


@pytest.fixture(scope="module")
def generator():
    spec = importlib.util.spec_from_file_location("txc_docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    return generator


def test_the_op_reference_is_up_to_date(generator):
    text = (ROOT / "docs" / "ops.md").read_text()
    assert "| `exp` |" in text
    assert text == generator.ops_page(), "run python docs/generate.py"


def test_the_simulator_s_table_is_up_to_date(generator):
    text = (ROOT / "docs" / "ptx-simulator.md").read_text()
    assert "| `fma` | f16 bf16 f16x2 bf16x2 f32 f64 | rn" in text
    assert text == generator.simulator_page(), "run python docs/generate.py"


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


def test_links_of_the_documentation_lead_somewhere():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"
