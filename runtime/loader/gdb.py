"""Code made at run time, shown to gdb: its JIT interface, for objects that our own loader put into memory.

gdb, attached now or later, reads the object's debug information from this process: then ``break file.py:7`` stops in
compiled code, and ``backtrace`` shows its lines.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
import threading
import weakref
from collections.abc import Mapping
from typing import Any

from .gdb_library import DESCRIPTOR, REGISTER, shared_library

__all__ = ["register", "registered"]

_REGISTER, _UNREGISTER = 1, 2


class _Entry(ctypes.Structure):
    """``struct jit_code_entry``: an object file in memory, in a list."""


_Entry._fields_ = [
    ("next", ctypes.POINTER(_Entry)),
    ("previous", ctypes.POINTER(_Entry)),
    ("content", ctypes.c_void_p),
    ("size", ctypes.c_uint64),
]


class _Descriptor(ctypes.Structure):
    """``struct jit_descriptor``: what happens to which entry, and the first of the list."""

    _fields_ = [
        ("version", ctypes.c_uint32),
        ("action", ctypes.c_uint32),
        ("relevant", ctypes.POINTER(_Entry)),
        ("first", ctypes.POINTER(_Entry)),
    ]


_lock = threading.RLock()  # a finalizer may run while its thread holds it
#: What gdb reads, by the address of its entry: it has to stay where it is.
_kept: dict[int, tuple[_Entry, Any]] = {}


@functools.lru_cache(maxsize=1)
def _library(machine: int) -> ctypes.CDLL:
    """The library, loaded from memory; gdb opens it by its name, so that names this process and stays open."""
    file = os.memfd_create("txc-gdb")
    with open(file, "wb", closefd=False) as stream:
        stream.write(shared_library(machine))
    return ctypes.CDLL(f"/proc/{os.getpid()}/fd/{file}")


def register(data: bytes, places: Mapping[int, int], owner: Any) -> None:
    """Tell gdb of an ELF object while `owner` lives; `places` are the addresses of its sections, by number.

    OSError where the system gives no library to tell it through.
    """
    shown = bytearray(data)
    (machine,) = struct.unpack_from("<H", shown, 18)
    (table,) = struct.unpack_from("<Q", shown, 40)
    for number, address in places.items():
        struct.pack_into("<Q", shown, table + 64 * number + 16, address)
    content = (ctypes.c_char * len(shown)).from_buffer(shown)
    with _lock:
        library = _library(machine)
        descriptor = _Descriptor.in_dll(library, DESCRIPTOR)
        entry = _Entry(descriptor.first, None, ctypes.addressof(content), len(shown))
        at = ctypes.addressof(entry)
        _kept[at] = entry, content
        if descriptor.first:
            descriptor.first.contents.previous = ctypes.pointer(entry)
        descriptor.first = ctypes.pointer(entry)
        _tell(library, descriptor, _REGISTER, entry)
    # At the interpreter's end code may still run, and gdb may still ask about it.
    weakref.finalize(owner, _unregister, library, at).atexit = False


def _unregister(library: ctypes.CDLL, at: int) -> None:
    with _lock:
        entry, _ = _kept[at]
        descriptor = _Descriptor.in_dll(library, DESCRIPTOR)
        if entry.previous:
            entry.previous.contents.next = entry.next
        else:
            descriptor.first = entry.next
        if entry.next:
            entry.next.contents.previous = entry.previous
        _tell(library, descriptor, _UNREGISTER, entry)
        del _kept[at]


def _tell(library: ctypes.CDLL, descriptor: _Descriptor, action: int, entry: _Entry) -> None:
    descriptor.action, descriptor.relevant = action, ctypes.pointer(entry)
    library[REGISTER]()
    descriptor.action, descriptor.relevant = 0, None


def registered() -> int:
    """How many objects gdb can see."""
    return len(_kept)
