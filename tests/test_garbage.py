"""The collector's thresholds while something is compiled."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler import pipeline
from txc.compiler.driver.gc_throttle import gc_throttled


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    with gc_throttled:  # a process compiles for the first time only once
        pass
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The thresholds of compilations that have begun."""
    found: list[tuple[int, ...]] = []

    def noted(*args: Any, **given: Any) -> pipeline.Stages:
        found.append(gc.get_threshold())
        return run_stages(*args, **given)

    run_stages = pipeline.run_stages
    monkeypatch.setattr(pipeline, "run_stages", noted)
    return found


def test_the_collector_looks_seldom_while_compiling_and_as_before_afterwards(seen: list[tuple[int, ...]]):
    gc.set_threshold(600, 9, 8)
    txc.jit(lambda x: x * 3 - 0.371)(np.ones(3, np.float32))
    assert seen == [(20_000, 9, 8)]
    np.asarray(txc.asarray(np.ones(3, np.float32)) * 3 - 0.372)
    assert seen == [(20_000, 9, 8)] * 2
    assert gc.get_threshold() == (600, 9, 8)


@pytest.mark.parametrize("asked", [0, 30_000])
def test_what_is_seldom_or_never_stays(asked: int, seen: list[tuple[int, ...]]):
    gc.set_threshold(asked, 9, 8)
    txc.jit(lambda x: x * 3 - 0.373 - asked)(np.ones(3, np.float32))
    assert seen == [(asked, 9, 8)]
    assert gc.get_threshold() == (asked, 9, 8)


def test_an_error_restores_it_and_the_last_of_several_does():
    gc.set_threshold(600, 9, 8)
    with pytest.raises(ZeroDivisionError), gc_throttled:
        with gc_throttled:
            pass
        assert gc.get_threshold()[0] == 20_000
        raise ZeroDivisionError
    assert gc.get_threshold() == (600, 9, 8)


#: What a process sees whose first compilation is this, with and without objects that it has frozen.
FIRST = """
import gc
from txc.compiler.driver.gc_throttle import gc_throttled

young, frozen = [[]], {frozen}
if frozen:
    gc.freeze()
gc.set_threshold(600, 9, 8)
with gc_throttled:
    print(gc.get_threshold()[0])
print(gc.get_threshold(), any(o is young for o in gc.get_objects(generation=2)), gc.get_freeze_count() > 0)
with gc_throttled:
    print(gc.get_threshold()[0])
"""


@pytest.mark.parametrize(("frozen", "old"), [(False, "True False"), (True, "False True")])
def test_what_a_process_imports_first_becomes_old_unless_objects_are_frozen(frozen: bool, old: str):
    done = subprocess.run([sys.executable, "-c", FIRST.format(frozen=frozen)], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["300000", f"(600, 9, 8) {old}", "20000"], done.stderr
