"""Run in a process of its own, as a script: which functions run in the calls of a jitted function, by stage and file.

``python observed.py ROOT PROGRAM`` prints JSON: for each stage of the first call, and for the calls after it,
``{file: [functions]}`` in the order in which they first ran.  What runs while a module is imported is left out, and so
is what makes the texts of the dump (`TXC_DUMP_IR`).
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections import defaultdict
from types import FrameType
from typing import Any


class Observer:
    """A profile function (`sys.setprofile`) that knows at which stage the compilation is."""

    def __init__(self, root: str):
        self._root = root
        self._importing = self._printing = 0
        self._stage = "graph"
        self._between: dict[str, dict[str, None]] = defaultdict(dict)
        self.stages: dict[str, dict[str, dict[str, None]]] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event not in ("call", "return"):
            return
        code, entered = frame.f_code, event == "call"
        if code.co_name == "<module>":
            self._importing += 1 if entered else -1
        elif code.co_filename.startswith(self._root):
            self._at(os.path.realpath(code.co_filename).removeprefix(self._root), code.co_qualname, frame, entered)

    def _at(self, file: str, function: str, frame: FrameType, entered: bool) -> None:
        if function == "PassInstrumentation._record":
            self._printing += 1 if entered else -1
        if entered and not self._importing and not self._printing:
            self._between[file][function] = None
        if function == "PassInstrumentation.step":
            self.settle(frame.f_locals["stage"])

    def settle(self, stage: str) -> None:
        """What ran up to here belongs to `stage`: a step has what was done for it since the last one."""
        ran = self.stages.setdefault(stage, {})
        for file, functions in self._between.items():
            ran.setdefault(file, {}).update(functions)
        self._between.clear()


if __name__ == "__main__":
    root, program = sys.argv[1:]
    call = runpy.run_path(program)["call"]
    observer = Observer(root + os.sep)
    for stage in ("call", "second call", "third call"):
        sys.setprofile(observer)
        call()
        sys.setprofile(None)
        observer.settle(stage)
    print(json.dumps({stage: {file: list(f) for file, f in files.items()} for stage, files in observer.stages.items()}))
