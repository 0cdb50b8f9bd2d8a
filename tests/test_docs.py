"""The documentation says what the sources say: the op reference is fresh, every error code has its line."""

import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
CODE = re.compile(r"\bTX\d{4}\b")


def test_the_op_reference_is_up_to_date():
    spec = importlib.util.spec_from_file_location("generate_ops", ROOT / "docs" / "generate_ops.py")
    assert spec is not None and spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    text = (ROOT / "docs" / "ops.md").read_text()
    assert "| `exp` |" in text
    assert text == generator.text(), "run python docs/generate_ops.py"


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
