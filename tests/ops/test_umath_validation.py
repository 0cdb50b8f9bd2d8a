"""NumPy's own tables of hard arguments: exponentials and logarithms within 1 ulp, everything else within 2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from txc.compiler.interpret.scalar import NumpyScalarBuilder
from txc.dialects import ops as _ops  # noqa: F401
from txc.dialects.registry import OPS, Map

DATA = Path(np.__file__).parent / "_core" / "tests" / "data"
TABLES = {path.stem.removeprefix("umath-validation-set-"): path for path in DATA.glob("umath-validation-set-*.csv")}
WITHIN_ONE = {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p"}
TYPES = {"np.float32": (np.float32, np.uint32, np.int32), "np.float64": (np.float64, np.uint64, np.int64)}


def rank(x: np.ndarray, signed: type) -> np.ndarray:
    """The number of each float in the order of all floats, so that neighbours differ by one; both zeros are 0."""
    bits = x.view(signed).astype(object)
    return np.where(bits < 0, int(np.iinfo(signed).min) - bits, bits)


@pytest.mark.skipif(not TABLES, reason="this NumPy came without its tests")
@pytest.mark.parametrize("has_fma", [True, False], ids=["fma", "no-fma"])
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("name", sorted(TABLES))
def test_table(name: str, kind: str, has_fma: bool) -> None:
    wide, unsigned, signed = TYPES[kind]
    rows = [line.split(",") for line in TABLES[name].read_text().splitlines() if line.startswith(kind)]
    assert rows
    x, expected = (np.array([int(row[i], 16) for row in rows], unsigned).view(wide) for i in (1, 2))
    op = OPS[name.replace("arc", "a", 1)]
    assert issubclass(op, Map)
    b = NumpyScalarBuilder(has_fma)
    with np.errstate(all="ignore"):
        got = op.build(b, b.value(x)).ref
    assert np.array_equal(np.isnan(got), np.isnan(expected))
    apart = np.where(np.isnan(expected), 0, np.abs(rank(got, signed) - rank(expected, signed)))
    allowed = 1 if name in WITHIN_ONE else 2
    assert apart.max() <= allowed, (x[apart.argmax()], got[apart.argmax()], expected[apart.argmax()])
