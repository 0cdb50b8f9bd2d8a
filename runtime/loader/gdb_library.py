"""The shared library through which gdb learns of code made at run time, written byte by byte: no linker is at hand.

gdb looks in every library of a process for ``__jit_debug_register_code``, an empty function in which it stops, and for
``__jit_debug_descriptor``, which then says what is new (GDB manual, "JIT Compilation Interface").  Machine code that
gdb does not know of yet cannot hold them, so this is an ELF library for the system's own dynamic linker.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

__all__ = ["DESCRIPTOR", "REGISTER", "RETURNS", "shared_library"]

DESCRIPTOR, REGISTER = "__jit_debug_descriptor", "__jit_debug_register_code"
#: By ELF machine number: the instruction that returns.
RETURNS = {62: b"\xc3", 183: b"\xc0\x03\x5f\xd6"}
#: No processor has larger pages; the file's holes take no memory.
_PAGE = 1 << 16
_DESCRIPTOR_BYTES = 24
_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551
_PROGBITS, _STRTAB, _HASH_TABLE, _DYNAMIC_SECTION, _DYNSYM = 1, 3, 5, 6, 11
_WRITE, _ALLOCATED, _EXECUTE = 1, 2, 4


class _Section(NamedTuple):
    name: str
    kind: int
    flags: int
    content: bytes
    #: Number of the section that it refers to.
    link: int = 0
    #: Of a symbol table: the first symbol that others see.
    first: int = 0
    entry: int = 0
    align: int = 8


def shared_library(machine: int) -> bytes:
    """The library's bytes for an ELF machine number.  KeyError where `RETURNS` does not know the processor."""
    names = b"\0" + b"".join(n.encode() + b"\0" for n in (REGISTER, DESCRIPTOR))
    code = RETURNS[machine]
    # What can be read and run, then, from a page of its own, what can be written.
    text, data, after = 4, 6, 64 + 56 * 4
    hashed = struct.pack("<6I", 1, 3, 1, 0, 2, 0)  # one bucket: symbol 1, after it symbol 2
    at: list[int] = []
    for size in (72, len(names), len(hashed), len(code)):
        at.append(after)
        after = _up(after + size, 8)
    symbols = bytes(24)
    for name, section, kind, value, size in (
        (REGISTER, text, 2, at[3], len(code)), (DESCRIPTOR, data, 1, _PAGE, _DESCRIPTOR_BYTES)
    ):  # fmt: skip
        symbols += struct.pack("<IBBHQQ", names.index(name.encode()), 1 << 4 | kind, 0, section, value, size)
    entries = {4: at[2], 5: at[1], 6: at[0], 10: len(names), 11: 24, 0: 0}
    dynamic = b"".join(struct.pack("<QQ", tag, value) for tag, value in entries.items())
    descriptor = struct.pack("<IIQQ", 1, 0, 0, 0)
    sections = [
        _Section(".dynsym", _DYNSYM, _ALLOCATED, symbols, link=2, first=1, entry=24),
        _Section(".dynstr", _STRTAB, _ALLOCATED, names, align=1),
        _Section(".hash", _HASH_TABLE, _ALLOCATED, hashed, link=1, entry=4),
        _Section(".text", _PROGBITS, _ALLOCATED | _EXECUTE, code),
        _Section(".dynamic", _DYNAMIC_SECTION, _ALLOCATED | _WRITE, dynamic, link=2, entry=16),
        _Section(".data", _PROGBITS, _ALLOCATED | _WRITE, descriptor),
    ]
    places = [*at, _PAGE + _DESCRIPTOR_BYTES, _PAGE]
    writable = _DESCRIPTOR_BYTES + len(dynamic)
    segments = [
        (_LOAD, 5, 0, after, _PAGE),
        (_LOAD, 6, _PAGE, writable, _PAGE),
        (_DYNAMIC, 6, _PAGE + _DESCRIPTOR_BYTES, len(dynamic), 8),
        (_STACK, 6, 0, 0, 16),
    ]
    return _file(machine, segments, list(zip(sections, places, strict=True)), _PAGE + writable)


def _file(
    machine: int, segments: list[tuple[int, int, int, int, int]], sections: list[tuple[_Section, int]], end: int
) -> bytes:
    """The file: every byte lies where it is mapped, section headers and their names behind `end`."""
    labels = b"\0" + b"".join(s.name.encode() + b"\0" for s, _ in sections) + b".shstrtab\0"
    table = _up(end + len(labels), 8)
    count = len(sections) + 2
    content = bytearray(table + 64 * count)
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    head = struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, table, 0, 64, 56, len(segments), 64, count, count - 1)
    content[:64] = ident + head
    for i, (kind, flags, at, size, align) in enumerate(segments):
        struct.pack_into("<IIQQQQQQ", content, 64 + 56 * i, kind, flags, at, at, at, size, size, align)
    for i, (s, at) in enumerate(sections, 1):
        content[at : at + len(s.content)] = s.content
        row = labels.index(s.name.encode() + b"\0"), s.kind, s.flags, at, at, len(s.content), s.link, s.first, s.align
        struct.pack_into("<IIQQQQIIQQ", content, table + 64 * i, *row, s.entry)
    content[end : end + len(labels)] = labels
    row = labels.index(b".shstrtab"), _STRTAB, 0, 0, end, len(labels), 0, 0, 1, 0
    struct.pack_into("<IIQQQQIIQQ", content, table + 64 * (count - 1), *row)
    return bytes(content)


def _up(offset: int, align: int) -> int:
    return -(-offset // align) * align
