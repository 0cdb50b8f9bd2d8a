"""Machine code at LLVM's level 0 of the loops that users have, for tests of these and not of what LLVM makes of them.

Instructions are selected and registers allocated three to five times faster there, which is a quarter of such tests'
time.  No result depends on it.  Code at the usual level is what `tests/codegen`, `tests/calls`, `tests/export`, the
matrices of all ops, recorded bits and whole programs run.
"""

from __future__ import annotations

import pytest

from txc.compiler.codegen.target import llvm_backend

__all__ = ["at_level_0"]


def at_level_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the test is over, code for this machine is generated at level 0."""
    machine = llvm_backend._machine
    monkeypatch.setattr(llvm_backend, "_machine", lambda target, _: machine(target, 0))
