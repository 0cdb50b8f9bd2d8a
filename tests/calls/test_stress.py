"""Many threads, many functions, many exits: nothing hangs, and every result is right."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc

FUNCTIONS, THREADS, CALLS = 50, 16, 10_000

#: Interpreters, some of them at once, that end while their pools sleep, spin or have just worked.  They are forked by
#: one that has imported what calls of kept code need, and has no thread; each ends as any does whose program is over.
EXIT = """
import os, sys
import numpy as np, txc
from txc.compiler.driver import compile_cache, jit
from txc.runtime.stub import code as stub_code

def program():
    @txc.jit(threads=3)
    def f(x):
        return np.sqrt(x) + 1
    x = np.ones((256, 1024), np.float32)
    assert (f(x) == 2).all() and (f(x) == 2).all()
    os.write(1, b"done\\n")

def fork(count):
    for _ in range(count):
        if os.fork() == 0:
            program()
            sys.exit()
    return [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(count)]

for _ in range(10):
    assert fork(4) == [0] * 4
"""


def _function(number: int) -> Callable[..., Any]:
    scope: dict[str, Any] = {"np": np}
    exec(f"def f{number}(x, y):\n    return x * {number} + np.abs(y) - {number}", scope)
    return scope[f"f{number}"]


def test_sixteen_threads_call_fifty_functions() -> None:
    plain = [_function(n) for n in range(FUNCTIONS)]
    jitted: Any = [txc.jit(f, threads=2) for f in plain]
    sizes = [3, 64, 1000, 40_000]  # the last releases the GIL and asks for the pool
    rng = np.random.default_rng(0)
    data = [tuple(rng.standard_normal((2, n)).astype(np.float32)) for n in sizes]
    expected = [[f(x, y) for x, y in data] for f in plain]
    wrong: list[object] = []

    def work(seed: int) -> None:
        try:
            call(seed)
        except BaseException as error:
            wrong.append(error)

    def call(seed: int) -> None:
        mine = np.random.default_rng(seed)
        for n, kind in zip(mine.integers(FUNCTIONS, size=CALLS), mine.choice(4, size=CALLS, p=[0.6, 0.2, 0.19, 0.01])):
            if not np.array_equal(jitted[n](*data[kind]), expected[n][kind]):
                wrong.append((n, kind))

    threads = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(600)
    assert not any(t.is_alive() for t in threads), "a caller hangs"
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_forty_interpreters_exit_with_a_live_pool(tmp_path: Path) -> None:
    environment = {**os.environ, "TXC_CACHE_DIR": f"{tmp_path}/cache"}
    command = [sys.executable, "-c", EXIT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "done\n" * 40
