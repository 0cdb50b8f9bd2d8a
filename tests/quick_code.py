"""Code that is made faster than users' code, for tests that are not about machine code: compilation is their time.

No result depends on it: the front end knows no schedule, the order of arithmetic is fixed before there is one, and
`tests/test_opt_level.py` shows that the level changes no bit.  Code at the usual level is what `tests/codegen`,
`tests/calls`, `tests/export`, the matrices of all ops, recorded bits, generated graphs and whole programs run.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from txc.compiler.codegen.target import llvm_backend

__all__ = ["choose_code"]

#: Rooms, and files, that prove what the front end, or who stands in front of it, makes of a program: they are compiled
#: at optimization level 0.  So is what the CPU computes where a GPU has to give the same bits.
PLAIN = {"clusters", "frontend", "gpu", "graph", "processes", "seeds", "tensors", "tensure", "test_user_programs.py"}
#: Rooms about loops: they are those that users have, at LLVM's level 0, where instructions are selected and registers
#: allocated three to five times faster.
USERS_LOOPS = {"ops", "passes"}


def choose_code(path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test is over, compile as its place in `tests` asks for.

    Files whose subject is which memory machine code touches keep the code that users have, wherever they are:
    ``pytestmark = pytest.mark.vectors``.  So do the whole programs of `frontend/programs` and the matrices of all ops,
    and all where `TXC_PASSES` says how loops are made.
    """
    room = path.parts[0]
    if path.parts[:2] == ("frontend", "programs") or (path.name.startswith("test_op_matrix") and room == "ops"):
        return
    if request.node.get_closest_marker("vectors"):
        return
    if room in PLAIN and not os.environ.get("TXC_PASSES"):
        monkeypatch.setenv("TXC_OPT_LEVEL", "0")
    if room in PLAIN | USERS_LOOPS:
        # Functions of a module may be decorated before there is a test: then their loops are users', too.
        machine = llvm_backend._machine

        def at_level_0(target: Any, opt_level: int) -> Any:
            return machine(target, opt_level if target.is_gpu else 0)

        monkeypatch.setattr(llvm_backend, "_machine", at_level_0)
