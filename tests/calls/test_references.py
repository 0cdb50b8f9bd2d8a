"""What calls keep and give back: reference counts, memory, threads."""

from __future__ import annotations

import gc
import resource
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import txc
from txc.runtime.stub.cpython_layout import problem

X = np.arange(4, dtype=np.float32)


def several(x, y, s=2.0, n=3, kind="double"):
    return {"sum": x + y, "parts": [x * s, (y * n, None)], "last": x.max()}, x


def in_place(x, y):
    x += y
    return x


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def counts(*objects: Any) -> list[int]:
    return [sys.getrefcount(o) for o in objects]


def test_reference_counts_do_not_drift(calls):
    jitted = calls.jit(several)
    x, y, s, n, kind = X.copy(), X.copy(), 2.5, 12345, "double"
    jitted(x, y, s, n, kind)
    watched = (x, y, s, n, kind, None, np.dtype(np.float32), np.ndarray, np.float32, jitted)
    gc.collect()  # what compiling left refers to None
    before = counts(*watched)
    for _ in range(300):
        jitted(x, y, s, n=n, kind=kind)
        jitted(x, y, kind=kind, s=s, n=n)
    after = counts(*watched)
    assert [b - a for a, b in zip(before, after)] == pytest.approx([0] * len(watched), abs=60)


def test_a_result_is_owned_by_its_caller_alone(calls):
    jitted = calls.jit(lambda x: x + 1)
    jitted(X)
    result = jitted(X)
    held = sys.getrefcount(result)
    assert held == 2
    parts, same = calls.jit(several)(X, X)
    parts, same = calls.jit(several)(X, X)
    assert same is X
    held = sys.getrefcount(parts["sum"]), sys.getrefcount(parts["parts"])
    assert held == (2, 2)  # by the dict, and by the call that counts


def test_calls_that_fail_keep_nothing(calls):
    jitted = calls.jit(several)
    x, y = X.copy(), X.copy()
    jitted(x, y)
    short = X[:3].copy()
    before = counts(x, y, short, jitted)
    for _ in range(50):
        with pytest.raises(ValueError):
            jitted(x, short)
        with pytest.raises(TypeError):
            jitted(x, y, unknown=1)
        with pytest.raises(TypeError):
            jitted(x)
    gc.collect()
    assert counts(x, y, short, jitted) == before


@pytest.mark.parametrize("kind", ["new arrays", "temporaries", "in place", "containers"])
def test_memory_does_not_grow(calls, kind):
    repeats = 100_000 if calls.native else 3_000
    wide = np.ones((20, 30), np.float32)
    makers = {
        "new arrays": (lambda x: x + 1, (X,)),
        "temporaries": (softmax, (wide,)),
        "in place": (in_place, (X.copy(), X)),
        "containers": (several, (X, X)),
    }
    function, args = makers[kind]
    jitted = calls.jit(function)
    for _ in range(1000):
        jitted(*args)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    blocks = sys.getallocatedblocks()
    for _ in range(repeats):
        jitted(*args)
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 500
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 << 10  # KiB


def test_large_temporaries_are_not_kept(calls):
    jitted = calls.jit(softmax)
    for rows in (10, 3000, 10, 2000, 3000):
        x = np.ones((rows, 1000), np.float32)
        np.testing.assert_allclose(jitted(x), np.full_like(x, 1e-3), rtol=1e-5)


@pytest.mark.parametrize("size", [40, 400])
def test_eight_threads_call_at_once(calls, size):
    jitted = calls.jit(softmax)
    inputs = [np.random.default_rng(i).random((size, 50 + i), dtype=np.float32) for i in range(8)]
    jitted(inputs[0])
    expected = [softmax(x) for x in inputs]
    barrier = threading.Barrier(8)

    def work(i: int) -> bool:
        barrier.wait()
        return all(np.allclose(jitted(inputs[i]), expected[i], rtol=1e-5) for _ in range(200))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_threads_compile_and_call_at_once(calls):
    jitted = calls.jit(several)
    kinds = [np.float32, np.float64, np.int32, np.int64]
    barrier = threading.Barrier(8)

    def work(i: int) -> None:
        x = np.arange(5, dtype=kinds[i % 4])
        barrier.wait()
        for _ in range(50):
            parts, same = jitted(x, x)
            assert same is x and np.array_equal(parts["sum"], x + x)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_other_threads_run_during_a_long_call():
    """The GIL is free while the kernel works: a thread counts on, which it could not if the call held it."""

    @txc.jit
    def slow(x, n):
        for _ in range(n):
            x = np.sin(x) + 1
        return x

    x = np.ones(1000)
    slow(x, 10)
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(1e-4)

    thread = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)  # nothing but a released GIL lets the other thread on
    try:
        thread.start()
        before = counted[0]
        slow(x, 20_000)
        during = counted[0] - before
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert during > 5


@pytest.mark.skipif(bool(problem()), reason="calls go through Python")
def test_every_allocation_of_an_entry_may_fail():
    testcapi = pytest.importorskip("_testcapi")
    jitted = txc.jit(several)
    jitted(X, X)
    before = counts(X)
    outcomes = set()
    for start in range(60):
        testcapi.set_nomemory(start, start + 1)
        try:
            result = jitted(X, X)
            testcapi.remove_mem_hooks()
            outcomes.add("result")
            assert result[1] is X and np.array_equal(result[0]["sum"], X + X)
        except MemoryError:
            testcapi.remove_mem_hooks()
            outcomes.add("error")
        finally:
            testcapi.remove_mem_hooks()
    result = None
    gc.collect()
    assert outcomes == {"error", "result"}
    assert counts(X) == before
