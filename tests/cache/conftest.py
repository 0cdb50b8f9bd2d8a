"""A cache folder of the test's own, and a way to look at it as a new process does."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from txc.compiler import pipeline
from txc.compiler.cache.disk_cache import open_cache
from txc.compiler.driver import compile_cache
from txc.compiler.driver.jit import Jitted, jit
from txc.runtime import file_store as store_module
from txc.runtime.loader.loader import can_load

ROOT = Path(__file__).parent.parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not can_load(b"\x7fELF") or not hasattr(os, "geteuid"):
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="the cache needs our loader and POSIX folders"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, not there yet; warnings are given anew."""
    monkeypatch.setenv("TXC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(store_module, "_warned", set())
    return tmp_path / "cache"


class Processes:
    """`fresh(f)` is `f` jitted as in a new process: nothing of this process's code is found."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.compiled = 0
        self._monkeypatch = monkeypatch
        compile_graph = pipeline.compile_graph

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.compiled += 1
            return compile_graph(*args, **kwargs)

        monkeypatch.setattr(pipeline, "compile_graph", counted)

    def fresh(self, function: Callable[..., Any], **options: Any) -> Jitted:
        self._monkeypatch.setattr(compile_cache, "_code", {})
        return jit(function, **options)


@pytest.fixture
def processes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Processes:
    return Processes(monkeypatch)


@pytest.fixture
def store(folder: Path) -> store_module.Store:
    found, why = open_cache()
    assert found is not None, why
    return found


@pytest.fixture
def define(tmp_path: Path) -> Callable[..., Any]:
    """``define(source)``: the namespace of a module with that text, from a file of its own."""
    count = 0

    def define(source: str, name: str = "user", **given: Any) -> dict[str, Any]:
        nonlocal count
        count += 1
        path = tmp_path / f"{name}{count}.py"
        text = "import numpy as np\n" + textwrap.dedent(source)
        path.write_text(text)
        namespace: dict[str, Any] = {"__name__": name, **given}
        exec(compile(text, str(path), "exec"), namespace)
        return namespace

    return define


def python(
    program: str | Path, folder: Path, *arguments: str, **environment: str
) -> "subprocess.CompletedProcess[str]":
    """A program in a process of its own."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TXC_CACHE_DIR": str(folder), **environment}
    command = [sys.executable, str(program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=variables, timeout=120, check=False)
