"""What tests of calls share: both ways a call can take, and a count of the calls that Python made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import txc
from txc.compiler.driver import jit as jit_module
from txc.runtime.stub.cpython_layout import problem


class Calls:
    """``calls.jit`` compiles for one of the paths; ``calls.by_python`` counts calls that Python's dispatcher made."""

    def __init__(self, path: str):
        self.path, self.by_python = path, 0

    @property
    def native(self) -> bool:
        return self.path == "native"

    def jit(self, function: Callable[..., Any], **options: Any) -> Any:
        return txc.jit(function, **options)

    def direct(self, call: Callable[[], Any]) -> Any:
        """The value of a call that has to enter machine code directly, on the path where that is possible."""
        before = self.by_python
        value = call()
        assert (self.by_python == before) is self.native, "the wrong half of txc made the call"
        return value


@pytest.fixture(params=["native", "python"])
def calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Both paths, one after the other."""
    made = Calls(request.param)
    if made.native and problem():
        pytest.skip(problem())
    monkeypatch.setenv("TXC_NATIVE_ENTRY", "1" if made.native else "0")
    take_apart = jit_module.take_apart

    def counted(arguments: dict[str, Any]) -> Any:
        made.by_python += 1
        return take_apart(arguments)

    monkeypatch.setattr(jit_module, "take_apart", counted)
    return made
