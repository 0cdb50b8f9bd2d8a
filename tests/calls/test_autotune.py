"""`jit(autotune=True)`: a search around the cost model whose result is kept and changes no bit.

What is faster is decided by a patched comparison: no test depends on time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.cli.main import main
from txc.compiler.config.options import OptionError
from txc.compiler.tools import autotune
from txc.runtime.loader.loader import can_load

X = np.random.default_rng(7).standard_normal((70, 90)).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def moved(x):
    return np.cumsum(x, axis=0), x.T * 2, x.sum(axis=0)


def halve(x):
    x *= 0.5


def picked(x, i):
    return x[i]


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(autotune, "_found", {})
    monkeypatch.setenv("TXC_CACHE_DIR", str(tmp_path / "cache"))
    yield


def judge(monkeypatch: pytest.MonkeyPatch, faster: bool) -> None:
    """Every candidate runs and takes half, or twice, as long as the best before."""

    def compared(candidate: Any, best: Any) -> tuple[float, float]:
        candidate.seconds(1)
        return (1e-3, 2e-3) if faster else (2e-3, 1e-3)

    monkeypatch.setattr(autotune, "_compared", compared)


def same_bits(made: Any, expected: Any) -> None:
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (made, expected)), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


@pytest.mark.parametrize("function", [softmax, moved])
def test_what_is_found_changes_loops_and_no_bit(function: Callable[..., Any], monkeypatch: pytest.MonkeyPatch):
    judge(monkeypatch, faster=True)
    tuned = txc.jit(function, autotune=True)
    same_bits(tuned(X), txc.jit(function)(X))
    assert tuned.lower(X).as_text("loops") != txc.jit(function).lower(X).as_text("loops")
    (found,) = autotune._found.values()
    assert found.figures and all(trial.taken for trial in found.trials)
    assert "dispatch_ns" in dict(found.figures)


def test_nothing_is_taken_that_is_not_faster(monkeypatch: pytest.MonkeyPatch):
    judge(monkeypatch, faster=False)
    tuned = txc.jit(softmax, autotune=True)
    same_bits(tuned(X), txc.jit(softmax)(X))
    (found,) = autotune._found.values()
    assert found.trials and not found.figures
    assert tuned.lower(X).as_text("loops") == txc.jit(softmax).lower(X).as_text("loops")


@pytest.mark.skipif(not can_load(b"\x7fELF"), reason="there is no cache")
def test_what_was_found_is_kept(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    judge(monkeypatch, faster=True)
    txc.jit(softmax, autotune=True)(X)
    (before,) = autotune._found.values()
    assert main(["cache", "info"]) == 0
    assert "         1 searches\n" in capsys.readouterr().out

    def search(self: Any) -> autotune.Tuned:
        raise AssertionError("searched again")

    autotune._found.clear()  # as another process has it
    monkeypatch.setattr(autotune._Search, "run", search)
    text = txc.jit(softmax, autotune=True).explain(X)
    assert list(autotune._found.values()) == [before]
    taken = r"dispatch_ns 512 taken: size of parallel tasks \(a call 1 ms, before 2 ms\)"
    assert re.search(taken, text)


def test_a_search_leaves_arguments_as_they_are(monkeypatch: pytest.MonkeyPatch):
    judge(monkeypatch, faster=True)
    x = X.copy()
    txc.jit(halve, autotune=True)(x)
    np.testing.assert_array_equal(x, X * np.float32(0.5))


def test_calls_that_fail_fail_as_without(monkeypatch: pytest.MonkeyPatch):
    judge(monkeypatch, faster=True)
    with pytest.raises(IndexError, match="index 90 is out of bounds"):
        txc.jit(picked, autotune=True)(X[0], np.array([90]))
    with pytest.raises(txc.TxcError, match="max_temp_bytes is 0"):
        txc.jit(lambda x: (x - x.max()) / x.sum(), autotune=True, max_temp_bytes=0)(X)


def test_samples_are_of_calls():
    found = txc.jit(lambda x: x + 1, autotune=True)
    same_bits(found(X), X + 1)
    for trial in next(iter(autotune._found.values())).trials:
        assert trial.seconds > 0 and trial.before > 0


def test_what_autotune_may_be():
    with pytest.raises(OptionError, match="autotune must be True or False, not 1"):
        txc.jit(softmax, autotune=1)
    with pytest.raises(OptionError, match="autotune=True of 'ptx-sim': the search is one for the CPU"):
        txc.jit(softmax, autotune=True, device="ptx-sim")
    assert txc.jit(softmax).options(autotune=True).compile_options.autotune
