"""The work of compiling a function grows as its text does: counted in calls that Python makes, not in time."""

from __future__ import annotations

import cProfile
import importlib.util
import pstats
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.trace import effort

STATEMENTS = {
    "stores": "    x[{i}] = x[{i}] * 2.0 + {i}.0\n",
    "ifs": "    if x[{i}] > 0.5:\n        x[0] = x[0] + 1.0\n",
    "numbers that are stored": "    s = s * 0.5 + x[{i}]\n    x[{i}] = s\n",
    "elements of a tensor that changes": "    y = y * 0.5 + {i}.0\n    s = s + y[{i}]\n    x[{i}] = s\n",
}


def calls(folder: Path, line: str, times: int) -> int:
    """The calls that Python makes to compile a function of so many statements, which does what Python does."""
    path = folder / f"of_{times}.py"
    body = "".join(line.format(i=i) for i in range(times))
    path.write_text(f"def f(x):\n    y = x + 1.0\n    s = 0.0\n{body}    return x.sum() + s\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ours, theirs = np.linspace(0, 1, 200), np.linspace(0, 1, 200)
    profile = cProfile.Profile()
    got = profile.runcall(txc.jit(module.f), ours)
    np.testing.assert_allclose(got, module.f(theirs), rtol=1e-12)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    stats: Any = pstats.Stats(profile)
    return stats.total_calls


@pytest.mark.parametrize("line", STATEMENTS.values(), ids=STATEMENTS)
def test_work_is_linear_in_the_statements(line: str, tmp_path: Path):
    calls(tmp_path, line, 3)
    few, many = calls(tmp_path, line, 40), calls(tmp_path, line, 120)
    assert many < 3.6 * few


def test_loops_that_are_staged_in_vain_end(monkeypatch: pytest.MonkeyPatch):
    """Of two loops in each other that fail both are in vain, of one that fails behind one that does not only that."""
    monkeypatch.setattr(effort, "MOST_IN_VAIN", 4)
    work = effort.Effort()
    for _ in range(20):
        with work.loop():
            pass
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), work.loop(), work.loop():
            raise ZeroDivisionError
    with work.loop(), pytest.raises(ZeroDivisionError), work.loop():
        raise ZeroDivisionError
    with pytest.raises(txc.TxcError, match="staged 4 times in vain") as caught, work.loop():
        pass
    assert caught.value.code == "TX0325"
