"""The generated pages are up to date, and every op and every error code is documented."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from txc.dialects import ops
from txc.dialects.registry import OPS

assert ops

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("compiler", "dialects", "passes", "runtime")


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("txc_docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_ops_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "ops.md").read_text(encoding="utf-8")
    assert written == _generator().ops_page(), "run: python docs/generate.py"


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_op_has_a_docstring(name: str) -> None:
    assert (OPS[name].__dict__.get("__doc__") or "").strip()


def test_every_op_is_on_the_page() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "ops.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(OPS)


def test_every_error_code_has_its_entry() -> None:
    sources = (p for folder in SOURCES for p in (ROOT / folder).rglob("*.py"))
    raised = {code for p in sources for code in re.findall(r"\bTX\d{4}\b", p.read_text(encoding="utf-8"))}
    rows = re.findall(r"^\| (TX\d{4}) \|", (ROOT / "docs" / "errors.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == len(set(rows)), "a code has two entries"
    assert set(rows) == raised, f"without an entry: {raised - set(rows)}; stale: {set(rows) - raised}"
