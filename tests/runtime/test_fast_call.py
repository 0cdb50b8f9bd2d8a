"""Calls of machine code through a builtin function: what the code gets, what it says, and what is kept meanwhile."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.lazy import eval_cache, structural_key
from txc.compiler.frontend.tensor.conversion import asarray
from txc.runtime.stub import cpython_layout, fast_call

_CODE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_void_p)


class _Kept:
    pass


@pytest.mark.skipif(bool(cpython_layout.problem()), reason="no object has a layout that is known")
@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("status", [0, 7, -1])
def test_code_gets_addresses_and_its_status_comes_back(count: int, status: int):
    seen: list[Any] = []

    def code(pointers: Any, symbols: int, runtime: int) -> int:
        seen.append(([pointers[i] for i in range(count)], symbols, runtime))
        return status

    native = _CODE(code)
    kept = _Kept()
    alive = weakref.ref(kept)
    call = fast_call.light_call(ctypes.cast(native, ctypes.c_void_p).value or 0, 64, 4096, kept)
    assert call is not None
    arrays = [np.arange(3 + i)[i:] for i in range(count)]
    assert [call(*arrays), call(*arrays)] == [status, status]
    assert seen == [([a.ctypes.data for a in arrays], 64, 4096)] * 2
    del kept
    gc.collect()
    assert alive() is not None
    del call
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("known", [True, False])
def test_lazy_expressions_with_it_and_without(monkeypatch: pytest.MonkeyPatch, known: bool):
    structural_key.forget()
    monkeypatch.setattr(eval_cache, "_calls", {})
    monkeypatch.setattr(eval_cache, "OFTEN", 1)
    if not known:
        monkeypatch.setattr(fast_call, "problem", lambda: "this is a test")
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for i in range(4):
        a, b = x + i, (x * 2).T
        np.testing.assert_array_equal(np.asarray(asarray(a) * asarray(b).T - 1), a * b.T - 1)
        stored: Any = txc.Tensor("f32", (3, 4)).set_values(a.tolist())
        for _ in range(2):
            stored[1:] = stored[:-1] + 1
            a[1:] = a[:-1] + 1
        np.testing.assert_array_equal(np.asarray(stored), a)
