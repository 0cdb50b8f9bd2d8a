"""Folds that say where, of rows longer than the blocks in which places are narrow."""

from __future__ import annotations

import re

import numpy as np
import pytest

import txc
from txc.compiler.codegen.emit.loops import reduce
from txc.compiler.driver import compile_cache


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 96 elements; what is compiled for them is kept nowhere."""
    monkeypatch.setattr(reduce, "POSITIONS", 96)
    monkeypatch.setattr(compile_cache, "_code", {})
    monkeypatch.setenv("TXC_CACHE_DIR", "0")


@pytest.mark.parametrize("length", [1, 50, 96, 97, 192, 500])
def test_the_first_of_equal_elements_of_several_blocks(length: int) -> None:
    largest, smallest = txc.jit(lambda x: x.argmax(axis=1)), txc.jit(lambda x: x.argmin(axis=1))
    rng = np.random.default_rng(length)
    x = rng.integers(0, 3, (40, length)).astype(np.float32)
    x[7, length // 2 :] = np.nan
    x[8] = 1.0
    x[9] = np.arange(length)
    x[10] = np.arange(length)[::-1]
    np.testing.assert_array_equal(largest(x), x.argmax(axis=1))
    np.testing.assert_array_equal(smallest(x), x.argmin(axis=1))


def test_there_are_several_blocks() -> None:
    """They are what is tested: a block ends 96 elements behind its first one."""
    text = str(txc.jit(lambda x: x.argmax(axis=1)).lower(np.ones((4, 500), np.float32)).as_text("llvm"))
    assert re.search(r"add nsw i64 %\w+, 96$", text, re.MULTILINE)
