"""Entries in other processes: from the cache, without known struct layouts, after a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from txc.runtime.stub.cpython_layout import problem

ROOT = Path(__file__).parent.parent.parent
needs_entries = pytest.mark.skipif(bool(problem()), reason="calls go through Python")

PROGRAM = """
    import sys
    import numpy as np
    import txc

    SCALE = 2.0
    TABLE = np.arange(4.0)

    @txc.jit
    def f(x, n=3):
        return {"a": x * SCALE + TABLE, "b": (x.sum(), n, "text")}

    X = np.arange(4.0)
    for n in (3, 4, 5):
        found = f(X, n=n)
        assert np.array_equal(found["a"], X * SCALE + TABLE), found
        assert found["b"][0] == 6.0 and found["b"][1] == n and found["b"][2] == "text", found
        SCALE = SCALE + 1
"""


def run(program: str, folder: Path, **environment: str) -> str:
    """What a program prints in a process of its own; it must end well."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(PROGRAM) + textwrap.dedent(program), encoding="utf-8")
    full = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False, env=full)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_entries
def test_code_is_entered_directly_once_it_was_called_again(tmp_path):
    """The first call, which may be the only one, links no entry, unless it is told to."""
    program = """
        from txc.compiler.driver import jit
        calls, take_apart = [], jit.take_apart
        jit.take_apart = lambda arguments: calls.append(arguments) or take_apart(arguments)

        def said():
            waiting = f.explain_compile().count("enter machine code after the next one")
            return f.explain_compile().count("enter machine code") - waiting, waiting

        SCALE = 2.0  # the very object of the first of the three calls, each of which has a version of its own
        print(*said(), "txc.runtime.stub.code" in sys.modules, "llvmlite" in sys.modules, "xdsl" in sys.modules)
        for _ in range(3):
            assert np.array_equal(f(X, n=5)["a"], X * SCALE + TABLE)
        print(len(calls), *said())
    """
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o700)
    # With two threads one makes what entries stand on while the other compiles.
    compiled = run(program, tmp_path, TXC_CACHE_DIR=str(kept), TXC_NUM_THREADS="1")
    assert compiled.splitlines() == ["0 3 False True True", "1 1 2"]
    usual = run(program, tmp_path, TXC_CACHE_DIR=str(kept))
    assert usual.splitlines() == ["0 3 False False False", "1 1 2"]
    at_once = run(program, tmp_path, TXC_CACHE_DIR=str(kept), TXC_NATIVE_ENTRY="1")
    assert at_once.splitlines() == ["3 0 True False False", "0 3 0"]


def test_without_known_layouts_python_makes_every_call(tmp_path):
    """A probe that fails costs speed only, and `txc.info` and `explain_compile` say so."""
    text = (ROOT / "runtime" / "stub" / "cpython_layout.py").read_text(encoding="utf-8")
    assert "ARRAY_DATA, ARRAY_RANK" in text
    program = """
        print(txc.info())
        print(f.explain_compile())
    """
    sabotage = """
        import txc.runtime.stub.cpython_layout as layout
        layout.ARRAY_RANK = 28
    """
    path = tmp_path / "program.py"
    body = textwrap.dedent(sabotage) + textwrap.dedent(PROGRAM) + textwrap.dedent(program)
    path.write_text(body, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TXC_CACHE_DIR": "0"}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    reason = "an array's rank lies elsewhere than in known builds"
    assert f"calls    go through Python: {reason}" in done.stdout
    assert done.stdout.count(f"calls  by Python: {reason}") == 3


@needs_entries
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_calls_with_threads_of_its_own(tmp_path):
    program = """
        import os
        @txc.jit(threads=2)
        def g(x):
            return np.exp(x).sum(axis=1)
        big = np.ones((600, 300))
        expected = g(big); g(big)
        child = os.fork()
        if child == 0:
            os._exit(0 if all(np.array_equal(g(big), expected) for _ in range(5)) else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), np.array_equal(g(big), expected))
    """
    assert run(program, tmp_path, TXC_CACHE_DIR="0").split() == ["0", "True"]


@needs_entries
def test_calls_while_the_interpreter_ends(tmp_path):
    """Objects that outlive the modules call once more, and so does a daemon thread that is in the kernel."""
    program = """
        import threading
        class Last:
            def __del__(self, f=f, X=X, same=np.array_equal):
                assert f(X)["b"][1] == 3
        holder = Last()
        sys.modules["kept"] = holder
        big = np.ones((2000, 2000))
        g = txc.jit(lambda x: np.exp(x).sum())
        g(big)
        def forever():
            while True:
                g(big)
        threading.Thread(target=forever, daemon=True).start()
        print("end")
    """
    assert run(program, tmp_path, TXC_CACHE_DIR="0").split() == ["end"]
