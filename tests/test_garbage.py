"""The collector's thresholds while something is compiled."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler import pipeline
from txc.compiler.driver.gc_throttle import gc_throttled


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
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
