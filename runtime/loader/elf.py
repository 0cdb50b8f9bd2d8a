"""Reading relocatable ELF64 objects: sections, symbols and relocations, every offset checked against the file.

What is read here may come from a damaged file: whatever its bytes say, the answer is an `ElfObject` whose numbers lie
inside the file, or a `LoaderError`.  `loader.py` gives it memory.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

__all__ = ["EXECUTABLE", "WRITABLE", "ElfObject", "LoaderError", "Relocation", "Section", "Symbol", "read_elf"]

#: Section flags.
WRITABLE, ALLOCATED, EXECUTABLE = 1, 2, 4
_MERGE, _STRINGS, _INFO, _GROUP, _THREAD_LOCAL, _COMPRESSED = 16, 32, 64, 512, 1024, 2048
_UNDERSTOOD = WRITABLE | ALLOCATED | EXECUTABLE | _MERGE | _STRINGS | _INFO | _GROUP | 0x10000000  # x86-64: large
#: Section types.
_PROGBITS, _SYMTAB, _STRTAB, _RELA, _NOBITS, _NOTE, _REL = 1, 2, 3, 4, 8, 7, 9
_UNWIND = 0x70000001
_UNDEFINED, _ABSOLUTE, _RESERVED = 0, 0xFFF1, 0xFF00
_FUNCTION_SYMBOL, _THREAD_LOCAL_SYMBOL, _INDIRECT_SYMBOL = 2, 6, 10
_LOCAL, _WEAK = 0, 2
#: No object of ours comes near; a damaged length would otherwise ask for all memory.
_LARGEST = 1 << 30


class LoaderError(ValueError):
    """An object that cannot be loaded: damaged, of another machine, or in need of something that is not there."""


class Section(NamedTuple):
    """A section that is part of the program; of one that is not, `size` is 0.  `data` is shorter where zeros follow."""

    name: str
    flags: int
    data: bytes
    size: int
    align: int


class Symbol(NamedTuple):
    """`section` is None where the symbol has to come from outside (or, `absolute`, is a number).

    `size` is in bytes, and `function` says that they are machine code.
    """

    name: str
    section: int | None
    value: int
    absolute: bool
    weak: bool
    local: bool
    size: int
    function: bool


class Relocation(NamedTuple):
    """The bytes at `offset` of section `section` depend on where symbol number `symbol` lies."""

    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


class ElfObject(NamedTuple):
    """An object file.  Sections keep their numbers; those that are not loaded are empty."""

    machine: int
    sections: list[Section]
    symbols: list[Symbol]
    relocations: list[Relocation]


class _Header(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


def read_elf(data: bytes) -> ElfObject:
    """The contents of a relocatable object.  LoaderError, saying what is wrong, where it is none or damaged."""
    machine, headers, names = _headers(data)
    sections = [_section(data, i, h, _text(data, names, h.name)) for i, h in enumerate(headers)]
    if sum(s.size for s in sections) > _LARGEST:
        raise LoaderError(f"the object wants more than {_LARGEST} bytes of memory")
    tables = [i for i, h in enumerate(headers) if h.kind == _SYMTAB]
    if len(tables) != 1:
        raise LoaderError(f"the object has {len(tables)} symbol tables, not one")
    symbols = _symbols(data, headers, sections, headers[tables[0]])
    relocations: list[Relocation] = []
    for header in headers:
        if header.kind == _REL:
            raise LoaderError("relocations without addends are not supported")
        if header.kind == _RELA:
            relocations += _relocations(data, header, headers, sections, tables[0], len(symbols))
    return ElfObject(machine, sections, symbols, relocations)


def _headers(data: bytes) -> tuple[int, list[_Header], _Header]:
    """The machine, the section headers, and the header of the section with their names."""
    if len(data) < 64 or data[:7] != b"\x7fELF\x02\x01\x01":
        raise LoaderError("not an ELF64 object of a little-endian machine")
    kind, machine, _, _, _, table, _, _, _, _, size, count, names = struct.unpack_from("<HHIQQQIHHHHHH", data, 16)
    if kind != 1:
        raise LoaderError(f"not a relocatable object (ELF type {kind})")
    if size != 64 or not 0 < count < _RESERVED or names >= count or table + 64 * count > len(data):
        raise LoaderError("the section table lies outside the file")
    headers = [_Header(*struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i)) for i in range(count)]
    return machine, headers, headers[names]


def _content(data: bytes, header: _Header) -> bytes:
    if header.offset + header.size > len(data):
        raise LoaderError(f"a section of {header.size} bytes at {header.offset} lies outside the file")
    return data[header.offset : header.offset + header.size]


def _text(data: bytes, table: _Header, at: int) -> str:
    """The string at an offset of a string table."""
    if table.kind != _STRTAB or at >= table.size or table.offset + table.size > len(data):
        raise LoaderError("a name lies outside its string table")
    end = data.find(b"\0", table.offset + at, table.offset + table.size)
    if end < 0:
        raise LoaderError("a name has no end")
    return data[table.offset + at : end].decode("ascii", "backslashreplace")


def _section(data: bytes, number: int, header: _Header, name: str) -> Section:
    loaded = header.flags & ALLOCATED and header.kind not in (_UNWIND, _NOTE) and name != ".eh_frame"
    if number == 0 or not loaded:
        return Section(name, 0, b"", 0, 1)
    if header.kind not in (_PROGBITS, _NOBITS) or header.flags & ~_UNDERSTOOD:
        raise LoaderError(f"section {name!r} is of a kind that is not supported (type {header.kind:#x})")
    align = max(1, header.align)
    if align & (align - 1) or align > 4096:
        raise LoaderError(f"section {name!r} has the alignment {align}")
    content = b"" if header.kind == _NOBITS else _content(data, header)
    # Constants that contain addresses: writable to a dynamic linker, final once we have relocated them.
    flags = header.flags & ~WRITABLE if name.startswith(".data.rel.ro") else header.flags
    return Section(name, flags, content, header.size, align)


def _symbols(data: bytes, headers: list[_Header], sections: list[Section], table: _Header) -> list[Symbol]:
    content = _content(data, table)
    if table.entry != 24 or len(content) % 24 or table.link >= len(headers):
        raise LoaderError("the symbol table is damaged")
    strings = headers[table.link]
    found = []
    for at, info, _, index, value, size in struct.iter_unpack("<IBBHQQ", content):
        name = _text(data, strings, at) if at else ""
        kind, binding = info & 15, info >> 4
        if kind in (_THREAD_LOCAL_SYMBOL, _INDIRECT_SYMBOL):
            raise LoaderError(f"symbol {name!r} is of a kind that is not supported (type {kind})")
        section: int | None = None
        if index not in (_UNDEFINED, _ABSOLUTE):
            if index >= len(sections):
                raise LoaderError(f"symbol {name!r} lies in section {index}, which there is not")
            if sections[index].size and value > sections[index].size:
                raise LoaderError(f"symbol {name!r} lies outside its section")
            section = index
        how = index == _ABSOLUTE, binding == _WEAK, binding == _LOCAL
        found.append(Symbol(name, section, value, *how, size, kind == _FUNCTION_SYMBOL))
    return found


def _relocations(
    data: bytes, header: _Header, headers: list[_Header], sections: list[Section], table: int, symbols: int
) -> list[Relocation]:
    content = _content(data, header)
    if header.entry != 24 or len(content) % 24 or header.link != table or header.info >= len(headers):
        raise LoaderError("a relocation table is damaged")
    target = sections[header.info]
    if not target.size:  # of debug information, unwind tables: not loaded
        return []
    found = []
    for offset, info, addend in struct.iter_unpack("<QQq", content):
        if info >> 32 >= symbols:
            raise LoaderError(f"a relocation names symbol {info >> 32}, which there is not")
        if offset >= len(target.data):
            raise LoaderError(f"a relocation lies outside section {target.name!r}")
        found.append(Relocation(header.info, offset, info & 0xFFFFFFFF, info >> 32, addend))
    return found
