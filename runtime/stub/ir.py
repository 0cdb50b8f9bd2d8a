"""The half of native entries that all versions share, as LLVM IR text.

A jitted function's vectorcall slot is `txc_vectorcall`.  It offers the call to the entry of each version, the latest
first; an entry answers with an object, with NULL and an exception, or with MISS, having touched nothing; when all have
missed, Python's ``__call__`` decides.  What an entry (`compiler/codegen/call/python_stub.py`) does not write out for
its own arguments it calls here: code for errors and odd cases is compiled once a process, not once a version.

Everything runs with the GIL but for the kernel inside `txc_run`.  References: arguments are borrowed from the caller,
who keeps them for the whole call; ``items`` of `txc_tuple` and its kin are taken over, whatever happens.
"""

from __future__ import annotations

import ctypes
import sys
from string import Template

from ..buffers.buffer_pool_ir import RECYCLED_ELEMENTS
from ..check_errors import CHECKS, INDEX_BITS, LEAST
from ..signals.layout import UNKNOWN_WORK
from . import cpython_layout as layout
from .arguments_ir import ARGUMENTS, DISPATCH
from .layout import (
    BF16_NUMBER,
    CALLABLE_HEAD,
    EXPORTED,
    LIGHT,
    MISS,
    BoundsStruct,
    CapturedStruct,
    RecordStruct,
    RuntimeStruct,
    ThreadsStruct,
)
from .results_ir import DESTINATIONS, RESULTS, SEQUENCE
from .run_ir import KEPT_BYTES, RUNNING

__all__ = ["DECLARATIONS", "source"]


def _declaration(name: str, type_: str) -> str:
    result, _, parameters = type_.rpartition(" (")
    return f"declare {result} @{name}({parameters}"


#: How a module that uses these functions declares them.
DECLARATIONS = {name: _declaration(name, type_) for name, type_ in EXPORTED.items() if name != "txc_vectorcall"}

_OUTSIDE = """
@PyArray_Type = external global i8
@PyLong_Type = external global i8
@PyTuple_Type = external global i8
@PyList_Type = external global i8
@PyDict_Type = external global i8
@_Py_NoneStruct = external global i8
@PyExc_RuntimeError = external global ptr
@txc_call_name = external global i8
@txc_count_threads = external global i8
@txc_threads_variable = external global i8
@txc_usual = external global i8
@txc_bf16_number = external global i32

declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare ptr @PyErr_NoMemory()
declare ptr @PyErr_Format(ptr, ptr, ...)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare ptr @PyObject_CallFunction(ptr, ptr, ...)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyObject_CallOneArg(ptr, ptr)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyDict_New()
declare i32 @PyDict_SetItem(ptr, ptr, ptr)
declare i32 @PyDict_Next(ptr, ptr, ptr, ptr)
declare i64 @PyDict_Size(ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyList_New(i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyMem_RawMalloc(i64)
declare void @PyMem_RawFree(ptr)
declare ptr @txc_signals_begin(i64)
declare i32 @txc_signals_end(ptr)
@txc_never = external global i8
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyDataMem_SetHandler(ptr)
@txc_buffer_handler = external global ptr
declare ptr @PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare ptr @PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare i32 @PyArray_SetBaseObject(ptr, ptr)
declare ptr @PyArray_DescrFromType(i32)
declare ptr @PyArray_Scalar(ptr, ptr, ptr)
declare ptr @PyArray_NewCopy(ptr, i32)
declare ptr @getenv(ptr)
declare i32 @strcmp(ptr, ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)
declare {i64, i1} @llvm.uadd.with.overflow.i64(i64, i64)
"""


def _offsets(struct: type[ctypes.Structure], prefix: str = "") -> dict[str, int]:
    return {prefix + name: getattr(struct, name).offset for name, *_ in struct._fields_}


def source() -> str:
    """The module's text for this process's CPython and NumPy."""
    values = {
        **_offsets(RecordStruct),
        **_offsets(CapturedStruct, "captured_"),
        **_offsets(ThreadsStruct, "usual_"),
        **_offsets(RuntimeStruct, "runtime_"),
        **_offsets(BoundsStruct, "bounds_"),
        "head": CALLABLE_HEAD,
        "miss": MISS,
        "bf16_number": BF16_NUMBER,
        "light": LIGHT,
        "unknown": UNKNOWN_WORK,
        "unknown_counts": LIGHT + 1,
        "kept_bytes": KEPT_BYTES,
        "index_bits": INDEX_BITS,
        "index_mask": (1 << INDEX_BITS) - 1,
        "least_index": LEAST,
        "checks": CHECKS,
        "recycled_elements": RECYCLED_ELEMENTS,
        "captured_bytes": ctypes.sizeof(CapturedStruct),
        "runtime_bytes": ctypes.sizeof(RuntimeStruct),
        "bounds_bytes": ctypes.sizeof(BoundsStruct),
        "outside_text": BoundsStruct.MESSAGE,
        "outside_bytes": len(BoundsStruct.MESSAGE) + 1,
        "object_type": layout.OBJECT_TYPE,
        "tuple_size": layout.TUPLE_SIZE,
        "tuple_items": layout.TUPLE_ITEMS,
        "list_items": layout.LIST_ITEMS,
        "cell_content": layout.CELL_CONTENT,
        "array_data": layout.ARRAY_DATA,
        "array_rank": layout.ARRAY_RANK,
        "array_dims": layout.ARRAY_DIMS,
        "array_strides": layout.ARRAY_STRIDES,
        "array_descr": layout.ARRAY_DESCR,
        "array_flags": layout.ARRAY_FLAGS,
        "packed_flags": layout.ALIGNED | layout.WRITEABLE,
        "descr_order": layout.DESCR_BYTE_ORDER,
        "descr_number": layout.DESCR_TYPE_NUMBER,
        "foreign": ord(">" if sys.byteorder == "little" else "<"),
        "tuple": Template(SEQUENCE).substitute(kind="tuple", Kind="Tuple"),
        "list": Template(SEQUENCE).substitute(kind="list", Kind="List"),
    }
    return "".join(
        Template(text).substitute(values) for text in (_OUTSIDE, DISPATCH, ARGUMENTS, RUNNING, DESTINATIONS, RESULTS)
    )
