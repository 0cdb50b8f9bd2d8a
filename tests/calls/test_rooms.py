"""Memory for what has no bound: a call that is short of it is made again with more, whoever makes the call."""

from __future__ import annotations

import numpy as np
import pytest

import txc
from txc.compiler.driver.executable import Executable
from txc.compiler.tools import autotune


def growing(x, n):
    """Stores into its argument, so that a call that is made again must find it as it was."""
    for i in range(n):
        ones = np.ones(2**i)
        x[0] += ones.sum()
        x[1] = len(ones)
    return x.copy()


@pytest.fixture
def runs(monkeypatch) -> list[int]:
    """The sizes of the rooms in each run of compiled code."""
    found: list[int] = []
    run = Executable.run

    def counted(self, *args):
        found.append(max(self.rooms.values()))
        return run(self, *args)

    monkeypatch.setattr(Executable, "run", counted)
    return found


def test_what_grows_in_a_loop_is_short_a_few_times(runs):
    x, expected = np.zeros(2), np.zeros(2)
    f = txc.jit(growing)
    np.testing.assert_array_equal(f(x, 18), growing(expected, 18))
    np.testing.assert_array_equal(x, expected)
    assert runs == [1024, 2048, 1 << 15, 1 << 19]
    runs.clear()
    assert f(np.zeros(2), 18)[0] == 2**18 - 1
    assert runs == [1 << 19]


def test_a_profile_has_the_memory_that_its_calls_need():
    x = np.zeros(2)
    profile = txc.jit(growing).profile(x, 12, repeats=1)
    assert profile.kernels and not x.any()


def test_a_search_for_faster_code_has_it_too(monkeypatch):
    monkeypatch.setattr(autotune, "SCALES", {"dispatch_ns": autotune.SCALES["dispatch_ns"]})
    x = np.zeros(2)
    assert txc.jit(growing, autotune=True)(x, 12)[0] == 2**12 - 1
