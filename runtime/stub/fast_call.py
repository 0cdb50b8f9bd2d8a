"""Calls of machine code that take less time than `ctypes` does: a builtin function, which takes the arrays' addresses.

For code that runs on one thread, needs no memory and is soon done: the GIL is held meanwhile.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..loader.code_cache import RuntimeCode
from .cpython_layout import ARRAY_DATA, problem

__all__ = ["light_call"]

#: CPython's ``METH_FASTCALL``.
_FASTCALL = 0x80

#: `self` is an array of addresses: of the code, of its symbols, of its runtime struct.  The status is the result.
_CODE = f"""
declare ptr @PyLong_FromLong(i64)

define ptr @txc_light_call(ptr %self, ptr %arguments, i64 %count) {{
entry:
  %place = getelementptr i8, ptr %self, i64 {ARRAY_DATA}
  %facts = load ptr, ptr %place
  %symbols.at = getelementptr ptr, ptr %facts, i64 1
  %runtime.at = getelementptr ptr, ptr %facts, i64 2
  %code = load ptr, ptr %facts
  %symbols = load ptr, ptr %symbols.at
  %runtime = load ptr, ptr %runtime.at
  %pointers = alloca ptr, i64 %count
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %after, %one ]
  %left = icmp slt i64 %i, %count
  br i1 %left, label %one, label %call
one:
  %argument = getelementptr ptr, ptr %arguments, i64 %i
  %array = load ptr, ptr %argument
  %data.at = getelementptr i8, ptr %array, i64 {ARRAY_DATA}
  %data = load ptr, ptr %data.at
  %pointer = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %data, ptr %pointer
  %after = add i64 %i, 1
  br label %next
call:
  %status = call i32 %code(ptr %pointers, ptr %symbols, ptr %runtime)
  %wide = sext i32 %status to i64
  %result = call ptr @PyLong_FromLong(i64 %wide)
  ret ptr %result
}}
"""


class _Method(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def light_call(code: int, symbols: int, runtime: int, keep: Any) -> Callable[..., int] | None:
    """A function of NumPy arrays, which it does not check, that calls ``i32 code(pointers, symbols, runtime)``.

    It keeps what `keep` is.  None where this process has other objects than are known.
    """
    if problem():
        return None
    new, method = _builtin()
    return new(ctypes.addressof(method), np.array([code, symbols, runtime], np.uintp), keep)


@functools.lru_cache(maxsize=1)
def _builtin() -> tuple[Any, _Method]:
    """What makes builtin functions, and the description of ours."""
    python = ctypes.pythonapi
    needed = {"PyLong_FromLong": ctypes.cast(python.PyLong_FromLong, ctypes.c_void_p).value or 0}
    address = RuntimeCode("txc_light_call", lambda: _CODE).load(("txc_light_call",), needed)["txc_light_call"]
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return make(("PyCFunction_NewEx", python)), _Method(b"light_call", address, _FASTCALL, None)
