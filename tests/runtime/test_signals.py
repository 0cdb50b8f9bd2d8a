"""Ctrl-C, and handlers of other signals, while compiled code runs."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

#: Longer than any of these programs takes, shorter than what they are told to run.
ENOUGH = 120

#: A signal comes as soon as the function has stored something; or, where nothing is stored, after a while.
HEAD = """
import os, signal, sys, threading, time
import numpy as np
import txc

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

def send(number, seen):
    def run():
        while not seen():
            time.sleep(0.01)
        os.kill(os.getpid(), number)
    threading.Thread(target=run, daemon=True).start()

def later(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """What a program prints, which has `HEAD` in front."""

    def running(body: str, threads: int = 2) -> str:
        script = tmp_path / "program.py"
        script.write_text(HEAD + textwrap.dedent(body))
        env = {**os.environ, "TXC_NUM_THREADS": str(threads)}
        done = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, timeout=ENOUGH)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return running


LOOP = """
@txc.jit
def f(x, n):
    for i in range(n):
        x[0] = x[0] + 1
    return x
"""
WHILE = """
@txc.jit
def g(x, n):
    while n > 0:
        x[0] = x[0] + 1
    return x
"""
NEST = """
@txc.jit
def h(x, n):
    for i in range(n):
        for j in range(3):
            x[j] = x[j] + x[j - 1] * 1e-30 + 1
    return x
"""
STEPS = """
@txc.jit
def k(x, n):
    for t in range(n):
        x[1:-1] = 0.5 * (x[2:] + x[:-2]) + 1
        x[0] = x[0] + 1
    return x
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_loop_ends_with_what_it_stored(run: Callable[..., str], threads: int) -> None:
    """The first call is through `ctypes`, the second one through the native entry; both are interrupted."""
    body = """
    x = np.zeros(100_000)
    for called in (f, g, h, k):
        for _ in range(2):
            x[:] = 0
            send(signal.SIGINT, lambda: x[0] > 1000)
            try:
                called(x, 10**15)
            except KeyboardInterrupt:
                print(called.__name__, x[0] > 1000)
        called(x, 0)
    """
    printed = run(LOOP + WHILE + NEST + STEPS + textwrap.dedent(body), threads)
    assert printed.split("\n") == [f"{name} True" for name in "fghk" for _ in range(2)]


def test_results_are_dropped_and_later_calls_are_right(run: Callable[..., str]) -> None:
    body = """
    @txc.jit
    def f(x, n):
        s = 0.0
        for i in range(n):
            s = s * 0.5 + x[i % 4]
        return s

    x = np.ones(4)
    f(x, 3)
    send(signal.SIGINT, later(0.3))
    try:
        result = f(x, 10**15)
    except KeyboardInterrupt:
        result = None
    print(result, f(x, 3))
    """
    assert run(body) == "None 1.75"


def test_a_loop_in_each_element(run: Callable[..., str]) -> None:
    body = """
    @np.vectorize
    def steps(v):
        k = 0
        while v > 0 and k < 10**15:
            v = v + 1.0
            k = k + 1
        return k

    f = txc.jit(lambda x: steps(x))
    print(f(-np.ones(5)).sum())
    send(signal.SIGINT, later(0.3))
    try:
        f(np.ones(5))
    except KeyboardInterrupt:
        print("stopped")
    """
    assert run(body) == "0\nstopped"


@pytest.mark.parametrize("threads", [1, 2])
def test_a_contraction(run: Callable[..., str], threads: int) -> None:
    """Chunks of one parallel loop, which workers leave too; minutes of work where nothing stopped it."""
    body = """
    @txc.jit
    def f(x, y, n):
        s = x @ y
        for i in range(n):
            s = s @ y
        return s

    x = np.ones((400, 400))
    f(x, x, 1)
    send(signal.SIGINT, later(0.3))
    try:
        f(x, x, 10**9)
    except KeyboardInterrupt:
        print("stopped")
    """
    assert run(body, threads) == "stopped"


def test_a_handler_that_does_not_raise_lets_the_code_go_on(run: Callable[..., str]) -> None:
    body = """
    @txc.jit
    def f(x, n):
        while x[1] < 1:
            x[0] = x[0] + 1
        return x

    x = np.zeros(2)
    seen = []

    def handler(number, frame):
        seen.append(number)
        if len(seen) == 3:
            x[1] = 1

    signal.signal(signal.SIGINT, handler)
    for k in range(3):
        send(signal.SIGINT, lambda k=k: len(seen) == k and x[0] > 1000)
    f(x, 1)
    print(seen == 3 * [signal.SIGINT], x[1])
    """
    assert run(body) == "True 1.0"


def test_timeouts_and_shutdowns(run: Callable[..., str]) -> None:
    body = (
        LOOP
        + """
def handler(number, frame):
    raise TimeoutError(signal.Signals(number).name)

x = np.zeros(2)
for number in (signal.SIGALRM, signal.SIGTERM):
    x[:] = 0
    signal.signal(number, handler)
    send(number, lambda: x[0] > 1000)
    try:
        f(x, 10**15)
    except TimeoutError as error:
        print(error, signal.getsignal(number) is handler)
"""
    )
    assert run(body) == "SIGALRM True\nSIGTERM True"


def test_other_threads_run_on(run: Callable[..., str]) -> None:
    """A signal is for the main thread; a call of another one comes to its end."""
    body = (
        LOOP
        + """
x = np.zeros(2)
f(x, 1)
thread = threading.Thread(target=f, args=(x, 300_000_000))
thread.start()
try:
    send(signal.SIGINT, lambda: x[0] > 1000)
    while True:
        time.sleep(0.01)
except KeyboardInterrupt:
    print("main")
thread.join()
print(x[0])
"""
    )
    assert run(body) == "main\n300000001.0"


def test_a_call_inside_a_handler(run: Callable[..., str]) -> None:
    body = (
        LOOP
        + """
x, y = np.zeros(2), np.zeros(2)

def handler(number, frame):
    f(y, 100_000)
    raise KeyError(y[0])

f(x, 1)
signal.signal(signal.SIGINT, handler)
try:
    send(signal.SIGINT, lambda: x[0] > 1000)
    f(x, 10**15)
except KeyError as error:
    print(error.args[0])
"""
    )
    assert run(body) == "100000.0"


def test_a_forked_child(run: Callable[..., str]) -> None:
    body = (
        LOOP
        + """
x = np.zeros(2)
f(x, 1)
child = os.fork()
if not child:
    send(signal.SIGINT, lambda: x[0] > 1000)
    try:
        f(x, 10**15)
    except KeyboardInterrupt:
        os._exit(7)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    )
    assert run(body) == "7"
