"""A long compilation says what it does, and can be interrupted."""

from __future__ import annotations

import itertools
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler import progress


def waits(seconds: list[float], told: progress.Progress, *states: str) -> Any:
    """A wait that is over after as many rounds as there are states, which are what is done meanwhile."""
    left = list(states)

    def over(timeout: float) -> bool:
        seconds.append(timeout)
        if not left:
            return True
        told.doing = left.pop(0)
        return False

    return over


def test_nothing_is_said_of_a_short_compilation() -> None:
    said: list[str] = []
    told = progress.Progress("f", said.append, clock=lambda: 0.0)
    seconds: list[float] = []
    told.watch(waits(seconds, told))
    assert not said and seconds == [progress.AFTER]


def test_a_long_one_says_each_second_what_it_does() -> None:
    said: list[str] = []
    ticks = itertools.count(100.0)
    told = progress.Progress("f", said.append, clock=lambda: next(ticks))
    told.watch(waits([], told, "at stage loops (schedule)", "at stage obj (compile)"))
    assert said == [
        "compiling f for 1 s, now at stage loops (schedule)",
        "compiling f for 2 s, now at stage obj (compile)",
    ]


def test_stages_are_told_to_the_log(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """What the thread that watches finds at each stage, here said as it comes; the first is the function itself."""
    found: list[str] = []

    class Told(progress.Progress):
        def watch(self, over: Any) -> None:
            pass

        def __setattr__(self, name: str, value: Any) -> None:
            if name == "doing":
                found.append(value)
            super().__setattr__(name, value)

    monkeypatch.setattr(progress, "Progress", Told)
    txc.jit(lambda x: x * 913.5 - 27)(np.ones(3))  # which no other test compiles: a kept kernel would be taken
    assert found[0] == "reading the function" and "at stage obj (compile)" in found
    with caplog.at_level(logging.INFO, logger="txc"):
        progress.to_the_log("compiling f for 1 s, now at stage obj (compile)")
    assert [(r.name, r.levelname) for r in caplog.records] == [("txc", "INFO")]


def run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    script = folder / "program.py"
    # The background jobs of a shell ignore the signal.
    head = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script.write_text(head + textwrap.dedent(text))
    return subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, env=os.environ)


def test_a_compilation_ends_with_ctrl_c_and_leaves_the_function_usable(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import os, signal
        import numpy as np
        import txc
        from txc.compiler import instrumentation

        before, left = instrumentation.PassInstrumentation.step, [1]

        def step(self, stage, name, work):
            if stage == "fused" and left:
                left.clear()
                os.kill(os.getpid(), signal.SIGINT)
            return before(self, stage, name, work)

        instrumentation.PassInstrumentation.step = step
        f = txc.jit(lambda x: x * 2)
        try:
            f(np.ones(2))
        except KeyboardInterrupt:
            print("stopped")
        print(f(np.ones(2)))
        """,
    )
    assert done.stdout == "stopped\n[2. 2.]\n", done.stderr


def test_the_command_ends_with_status_130(tmp_path: Path) -> None:
    """Whether Ctrl-C comes while it compiles or while the program runs, which never ends."""
    (tmp_path / "long.tx").write_text(
        "def f(x: f64) -> f64:\n    while x > 0:\n        x = x * 0.5 + 1\n    return x\n"
    )
    done = run(
        tmp_path,
        f"""
        import os, signal, sys, threading, time
        from txc.compiler.cli.main import main

        def stop():
            time.sleep(3)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=stop, daemon=True).start()
        sys.exit(main(["run", {str(tmp_path / "long.tx")!r}, "--input", "x=1.0"]))
        """,
    )
    assert done.returncode == 130 and "Traceback" not in done.stderr, done.stderr
