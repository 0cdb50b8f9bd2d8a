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


def counted(x, scale):
    return np.bincount(x), x[x > scale], (np.unique(x), len(np.nonzero(x)[0]))


def test_results_of_sizes_that_values_decide_on_both_paths(calls):
    """Memory that was too small for an entry's call grows, and then the entry makes the calls."""
    f = calls.jit(counted)
    small, none, large = (np.array(given) for given in ([3, 0, 3, 1], [0, 0, 0, 0], [5000, 0, 7, 7]))

    def check(result, x):
        assert repr(result) == repr(counted(x, 1))
        arrays = [*result[:2], result[2][0]]
        assert all(a.flags.c_contiguous and a.flags.aligned and a.flags.writeable for a in arrays)

    for _ in range(2):
        check(f(small, 1), small)
    for x in (small, none, small[:0].copy(), small):
        check(calls.direct(lambda x=x: f(x, 1)), x) if len(x) else f(x, 1)
    check(f(large, 1), large)
    for x in (large, small, large):
        check(calls.direct(lambda x=x: f(x, 1)), x)


def test_an_array_that_a_result_has_twice_is_one(calls):
    def twice(x):
        y = x[x > 0]
        return y, [y, x], np.repeat(x, 2)[: len(y)]

    f, x = calls.jit(twice), np.arange(4.0)
    assert all(len(f(x)[0]) == 3 for _ in range(2))
    y, (again, given), _ = calls.direct(lambda: f(x))
    assert y is again and given is x
    np.testing.assert_array_equal(y, [1, 2, 3])


def test_few_of_many_elements_are_a_copy(calls):
    f, x = calls.jit(lambda x: x[x > 98]), np.arange(100.0)
    assert f(x) == f(x) == 99
    made = calls.direct(lambda: f(x))
    assert made.base is None and made.tolist() == [99.0]


def test_a_profile_has_the_memory_that_its_calls_need():
    x = np.zeros(2)
    profile = txc.jit(growing).profile(x, 12, repeats=1)
    assert profile.kernels and not x.any()


def test_a_search_for_faster_code_has_it_too(monkeypatch):
    monkeypatch.setattr(autotune, "SCALES", {"dispatch_ns": autotune.SCALES["dispatch_ns"]})
    x = np.zeros(2)
    assert txc.jit(growing, autotune=True)(x, 12)[0] == 2**12 - 1
