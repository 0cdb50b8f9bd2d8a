"""Run in a process of its own, as a script: which functions run in the calls of a jitted function, by stage and file.

``python observed.py ROOT PROGRAM`` prints JSON: for each stage of the first call, and for the calls after it,
``{file: [functions]}``.  What runs while a module is imported is left out, and so is what makes the texts of the dump
(`TXC_DUMP_IR`).
"""

from __future__ import annotations

import cProfile
import json
import os
import runpy
import sys
import threading
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from types import CodeType
from typing import Any

from txc.compiler.instrumentation import PassInstrumentation


class Observer:
    """What ran since it was last asked; parts that are not to be seen are `hidden`."""

    def __init__(self, root: str):
        self._root, self._thread = root, threading.get_ident()
        self._profile = cProfile.Profile(builtins=False)
        self._hidden = 1
        self.stages: dict[str, dict[str, list[str]]] = {}

    def hidden(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def unseen(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self._thread:  # another thread is not seen anyway, and must not end what is
                return function(*args, **kwargs)
            self.stop()
            try:
                return function(*args, **kwargs)
            finally:
                self.go_on()

        return unseen

    def stop(self) -> None:
        self._hidden += 1
        self._profile.disable()

    def go_on(self) -> None:
        self._hidden -= 1
        if not self._hidden:
            self._profile.enable()

    def settle(self, stage: str) -> None:
        """What ran up to here belongs to `stage`: a step has what was done for it since the last one."""
        self._profile.disable()
        ran = self.stages.setdefault(stage, {})
        for entry in self._profile.getstats():
            if isinstance(entry.code, CodeType) and entry.code.co_filename.startswith(self._root + "src"):
                file = os.path.realpath(entry.code.co_filename).removeprefix(self._root)
                ran.setdefault(file, []).append(entry.code.co_qualname)
        self._profile.clear()

    def step(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`PassInstrumentation.step`, behind which its stage is settled."""

        def step(instrumentation: Any, stage: str, name: str, work: Callable[[], Any]) -> Any:
            made = function(instrumentation, stage, name, work)
            self.settle(stage)
            self._profile.enable()
            return made

        return step


if __name__ == "__main__":
    root, program = sys.argv[1:]
    call = runpy.run_path(program)["call"]
    observer = Observer(root + os.sep)
    SourceFileLoader.exec_module = observer.hidden(SourceFileLoader.exec_module)
    PassInstrumentation._record = observer.hidden(PassInstrumentation._record)
    PassInstrumentation.step = observer.step(PassInstrumentation.step)
    for stage in ("call", "second call", "third call"):
        observer.go_on()
        call()
        observer.stop()
        observer.settle(stage)
    print(json.dumps(observer.stages))
