"""The documentation says what the sources say: the op reference is fresh, every error code has its line."""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from txc.dialects import ops
from txc.dialects.registry import OPS

assert ops  # importing them fills the registry

ROOT = Path(__file__).parent.parent
CODE = re.compile(r"\bTX\d{4}\b")


def _generator(name: str) -> Any:
    """A module of the documentation's folder."""
    spec = importlib.util.spec_from_file_location(f"txc_docs_{name}", ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    sys.modules[spec.name] = generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    return generator


def test_the_tour_of_the_optimiser_is_what_it_does():
    text = (ROOT / "docs" / "optimiser.md").read_text()
    assert "row by row" in text and "kernel.rows" in text
    assert text == _generator("optimiser").optimiser_page(), "run python docs/generate.py"


def test_the_op_reference_is_up_to_date():
    generator = _generator("generate")
    text = (ROOT / "docs" / "ops.md").read_text()
    assert "| `exp` |" in text
    assert text == generator.ops_page(), "run python docs/generate.py"


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
