"""Objects whose call is machine code: the base type, the versions behind an object, what entries refer to.

An instance has a vectorcall slot and a list of records, one a version (`layout.py`, `ir.py`).  While the
list is empty the slot is too, and CPython calls the subclass's ``__call__``; so it does after every version missed.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..buffers import buffer_pool
from ..loader.loader import library_symbols
from ..native_function import usual_threads
from ..pool.threads import ENVIRONMENT_VARIABLE
from ..signals.layout import NEVER
from ..signals.signals import signal_symbols
from . import cpython_layout
from .layout import (
    CALLABLE_HEAD,
    CALLABLE_SIZE,
    CALLABLE_VECTORCALL,
    CapturedStruct,
    RecordStruct,
    ThreadsStruct,
)

__all__ = [
    "CapturedObject",
    "NativeCallable",
    "Record",
    "callable_directly",
    "install",
    "numpy_functions",
    "outside",
    "remove_all",
]

C = TypeVar("C", bound=type)

_HAVE_VECTORCALL, _IMMUTABLE, _BASETYPE, _DEFAULT = 1 << 11, 1 << 8, 1 << 10, 1 << 18
_METHOD_DESCRIPTOR = 1 << 17
_TP_MEMBERS, _TP_CALL = 72, 50
_READ_ONLY, _SSIZE = 1, 19


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    ]


class _Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _base_type() -> type:
    """A type whose instances have room for the slot and the first record, both NULL at first."""
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", _SSIZE, CALLABLE_VECTORCALL, _READ_ONLY, None))
    slots = (_Slot * 3)(
        _Slot(_TP_MEMBERS, ctypes.addressof(members)), _Slot(_TP_CALL, _address(ctypes.pythonapi.PyVectorcall_Call))
    )
    flags = _DEFAULT | _BASETYPE | _HAVE_VECTORCALL
    spec = _Spec(b"txc.runtime.stub.native_call.NativeCallable", CALLABLE_SIZE, 0, flags, slots)
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(_Spec)]
    return make(ctypes.byref(spec))


#: Without known struct layouts nothing native is ever installed, and any base will do.
NativeCallable: Any = object if cpython_layout.problem() else _base_type()


def callable_directly(subclass: C) -> C:
    """Let CPython use the vectorcall slot of a subclass's instances; a class decorator.

    A class with a ``__call__`` of its own does not inherit the use of the slot, nor does any on CPython 3.11, because
    assigning another ``__call__`` to the class would leave the slot in use.  So the class is made immutable.  Its
    ``__get__`` must bind as a function's does: a call of a method then needs no bound method.
    """
    if cpython_layout.problem():
        return subclass
    offset = ctypes.c_ssize_t.from_address(id(subclass) + cpython_layout.TYPE_VECTORCALL_OFFSET)
    if offset.value != CALLABLE_VECTORCALL:
        raise TypeError(f"{subclass.__name__} does not inherit the vectorcall slot")
    flags = ctypes.c_ulong.from_address(id(subclass) + cpython_layout.TYPE_FLAGS)
    flags.value |= _HAVE_VECTORCALL | _IMMUTABLE | _METHOD_DESCRIPTOR
    return subclass


class CapturedObject(NamedTuple):
    """A captured value that has to be the same object still; a list or dict has to hold the same objects.

    It is the content of a cell, or of `name` in a dict of globals, followed by attributes.
    """

    container: types.CellType | dict[str, Any]
    name: str | None
    attributes: tuple[str, ...]
    expected: Any


class Record:
    """One version behind a callable: the address of its entry, and the Python objects that the entry refers to.

    `names` has None for a parameter that is given by position only; `defaults` are a pair of whether there is one and
    which.  `keep` is what must live as long as the entry may run.  After `budget` iterations of calls the next one
    is Python's.  `failed` raises the error of a check; where it raises none the call is Python's.
    """

    def __init__(
        self,
        entry: int,
        names: Sequence[str | None],
        positional: int,
        defaults: Sequence[tuple[bool, Any]],
        objects: Sequence[Any],
        captured: Sequence[CapturedObject],
        threads: int,
        keep: Any,
        budget: int,
        failed: Callable[[int, int], None],
    ):
        from ..pool.pool import get_pool  # which a process that makes no native call can do without

        pool = get_pool()
        interned = [None if n is None else sys.intern(n) for n in names]
        self._held: list[Any] = [interned, defaults, objects, captured, keep, failed]
        guards = (CapturedStruct * max(1, len(captured)))(*map(self._captured, captured))
        self._held.append(guards)
        self.struct = RecordStruct(
            None,
            entry,
            pool.parallel_address,
            pool.address,
            threads,
            len(interned),
            positional,
            self._pointers([0 if n is None else id(n) for n in interned]),
            self._pointers([id(value) if given else 0 for given, value in defaults]),
            self._pointers([id(o) for o in objects]),
            len(captured),
            ctypes.addressof(guards),
            budget,
            id(failed),
        )

    @property
    def spent(self) -> bool:
        """Whether calls have used up the budget."""
        return self.struct.budget < 0

    def replace(self, objects: Sequence[Any]) -> None:
        """Let the entry refer to these instead of its first objects, which stay alive: a call may be under way."""
        self._held.append(objects)
        for n, new in enumerate(objects):
            ctypes.c_void_p.from_address(self.struct.objects + n * ctypes.sizeof(ctypes.c_void_p)).value = id(new)

    def renew(self, budget: int) -> None:
        """Let calls run so many iterations from now on."""
        self.struct.budget = budget

    def _pointers(self, addresses: Sequence[int]) -> int:
        made = (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
        self._held.append(made)
        return ctypes.addressof(made)

    def _captured(self, given: CapturedObject) -> CapturedStruct:
        name = None if given.name is None else sys.intern(given.name)
        attributes = [sys.intern(a) for a in given.attributes]
        self._held += [name, attributes]
        made = CapturedStruct(
            id(given.container),
            None if name is None else id(name),
            id(given.expected),
            len(attributes),
            self._pointers([id(a) for a in attributes]),
            -1,
        )
        if type(given.expected) in (list, dict):
            is_dict = isinstance(given.expected, dict)
            items = [*given.expected.values()] if is_dict else given.expected
            made.items, made.item_objects = len(items), self._pointers([id(item) for item in items])
            if is_dict:
                made.keys = self._pointers([id(key) for key in given.expected])
                made.held = self._pointers([0] * len(items))
        return made


def install(target: Any, record: Record) -> None:
    """Put a version in front of the others of a callable, which must hold the record as long as it lives."""
    head = ctypes.c_void_p.from_address(id(target) + CALLABLE_HEAD)
    slot = ctypes.c_void_p.from_address(id(target) + CALLABLE_VECTORCALL)
    function = _shared()["txc_vectorcall"]
    buffer_pool.use_setting()
    if "ml_dtypes" in sys.modules:  # whoever has arrays of bfloat16 has loaded it
        _bf16_number.value = np.dtype(sys.modules["ml_dtypes"].bfloat16).num
    record.struct.next = head.value
    head.value = ctypes.addressof(record.struct)
    slot.value = function


def remove_all(
    target: Any, pointer: Any = ctypes.c_void_p, places: tuple[int, ...] = (CALLABLE_VECTORCALL, CALLABLE_HEAD)
) -> None:
    """Take every version from a callable; its calls are Python's from then on.

    All that it needs is bound in its defaults, since finalizers call it when this module's names may be gone.
    """
    for place in places:
        pointer.from_address(id(target) + place).value = None


# What native code refers to by name ----------------------------------------------------------------------------------

_PYTHON_FUNCTIONS = (
    "Py_IncRef", "Py_DecRef", "PyErr_Occurred", "PyErr_Clear", "PyErr_NoMemory", "PyErr_Format", "PyObject_GetAttr",
    "PyObject_CallNoArgs", "PyObject_CallOneArg", "PyObject_CallFunction", "PyObject_Vectorcall",
    "PyDict_GetItemWithError", "PyDict_New", "PyDict_Next", "PyDict_SetItem", "PyDict_Size",
    "PyTuple_New", "PyTuple_SetItem", "PyList_New", "PyList_SetItem", "PyLong_AsLongLongAndOverflow",
    "PyMem_RawMalloc", "PyMem_RawFree", "PyEval_SaveThread", "PyEval_RestoreThread",
)  # fmt: skip
#: Indices into NumPy's table of functions.
_NUMPY_FUNCTIONS = {
    "PyArray_DescrFromType": 45, "PyArray_Scalar": 60, "PyArray_NewCopy": 85, "PyArray_New": 93,
    "PyArray_NewFromDescr": 94, "PyArray_SetBaseObject": 282, "PyDataMem_SetHandler": 304,
}  # fmt: skip
_SCALAR_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                 "float32", "float64", "complex64", "complex128")  # fmt: skip

_usual = ThreadsStruct(threads=0, is_set=-1)
#: No type's number, until somebody knows it.
_bf16_number = ctypes.c_int(-1)
_variable = ctypes.create_string_buffer(ENVIRONMENT_VARIABLE.encode())
_call_name = sys.intern("__call__")


def _count_threads() -> None:
    """Look at the environment variable and remember what it means, until its text changes."""
    text = os.environ.get(ENVIRONMENT_VARIABLE)
    _usual.threads = usual_threads(text)
    encoded = b"" if text is None else os.fsencode(text)
    if len(encoded) < ThreadsStruct.TEXT_BYTES:
        _usual.text, _usual.is_set = encoded, text is not None
    else:
        _usual.is_set = -1


def _forget_threads() -> None:
    _usual.is_set = -1


if hasattr(os, "register_at_fork"):  # the child may be a worker, for which another number is usual
    os.register_at_fork(after_in_child=_forget_threads)


def numpy_functions() -> dict[str, int]:
    """Addresses of functions of NumPy's."""
    table_holder = importlib.import_module("numpy._core._multiarray_umath")

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(table_holder._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    return {name: table[index] or 0 for name, index in _NUMPY_FUNCTIONS.items()}


@lru_cache(maxsize=1)
def _interpreter() -> Mapping[str, int]:
    """Addresses of what CPython, NumPy and the C library give."""
    api = ctypes.pythonapi
    found = {name: _address(getattr(api, name)) for name in _PYTHON_FUNCTIONS}
    found |= library_symbols() | library_symbols(("getenv", "strcmp"))
    found |= numpy_functions()
    found |= signal_symbols()
    found["txc_never"] = ctypes.addressof(NEVER)
    found |= {f"txc_type_{name}": id(getattr(np, name if name != "bool" else "bool_")) for name in _SCALAR_TYPES}
    found |= {
        "PyExc_RuntimeError": ctypes.addressof(ctypes.c_void_p.in_dll(api, "PyExc_RuntimeError")),
        "PyArray_Type": id(np.ndarray),
        "PyBool_Type": id(bool),
        "PyLong_Type": id(int),
        "PyFloat_Type": id(float),
        "PyTuple_Type": id(tuple),
        "PyList_Type": id(list),
        "PyDict_Type": id(dict),
        "_Py_NoneStruct": id(None),
        "PyComplex_Type": id(complex),
        "_Py_TrueStruct": id(True),
        "_Py_FalseStruct": id(False),
        "txc_call_name": id(_call_name),
        "txc_count_threads": id(_count_threads),
        "txc_threads_variable": ctypes.addressof(_variable),
        "txc_usual": ctypes.addressof(_usual),
        "txc_bf16_number": ctypes.addressof(_bf16_number),
        "txc_buffer_handler": buffer_pool.current_handler(),
    }
    return found


@lru_cache(maxsize=1)
def _shared() -> Mapping[str, int]:
    """Addresses of the functions of `ir.py`, loaded at the first use."""
    from .code import shared_half

    return shared_half(_interpreter())


def outside() -> Mapping[str, int]:
    """Addresses of everything that an entry may refer to, by symbol."""
    return {**_interpreter(), **_shared()}
