"""`accuracy.md`: a row for every approximation, what is stated holds, and part of it is measured again here."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from txc.dialects import ops as _ops  # noqa: F401
from txc.dialects.registry import OPS, Map

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("txc_docs_accuracy", ROOT / "docs" / "accuracy.py")
assert SPEC is not None and SPEC.loader is not None
accuracy = importlib.util.module_from_spec(SPEC)
__import__("sys").modules[SPEC.name] = accuracy
SPEC.loader.exec_module(accuracy)

PAGE = (ROOT / "docs" / "reference" / "accuracy.md").read_text()
ROWS = {
    name: (float(stated), float(single), float(double), unit)
    for name, stated, single, double, unit in re.findall(
        r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.+?) \| (\w+) \|$", PAGE, re.M
    )
}
#: Of real numbers it is 0 or pi; of complex ones `tests/ops/test_complex.py` says how accurate it is.
ELSEWHERE = {"arg"}


def stated(name: str) -> float:
    op = OPS[name]
    assert issubclass(op, Map) and op.ulp is not None
    return op.ulp


def test_every_approximation_has_a_row() -> None:
    approximations = {n for n, op in OPS.items() if issubclass(op, Map) and op.ulp is not None} - ELSEWHERE
    assert set(ROWS) == set(accuracy.CASES) == approximations
    assert PAGE.startswith(accuracy.HEADER), "run python docs/accuracy.py"


@pytest.mark.parametrize("name", sorted(ROWS))
def test_what_is_stated_holds(name: str) -> None:
    promised, single, double, unit = ROWS[name]
    assert promised == stated(name), "run python docs/accuracy.py"
    assert max(single, double) <= promised
    assert unit == ("conditioned" if getattr(OPS[name], "conditioned") else "ulp")  # noqa: B009
    for dtype, figure, every in ((np.float64, double, 9), (np.float32, single, 31)):
        # The table's largest error is among all arguments, of which these are some; it has two decimals.
        assert accuracy.errors(name, dtype, every).max() <= figure + 0.005, "run python docs/accuracy.py"
