"""A loader of our own for what LLVM emits: an ELF object becomes callable code, without LLVM in the process.

One mapping holds, page by page, code, constants and variables.  It is written while nobody may execute it and then
protected: no page is ever writable and executable.  Names that the object does not define come from `symbols`.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import platform
import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .elf import EXECUTABLE, WRITABLE, ElfObject, LoaderError, Symbol, read_elf
from .elf_relocations import GOT_BYTES, MACHINES, STUB_BYTES, Machine, Place
from .perf_map import Function, perf_map_wanted, write_perf_map

__all__ = ["Image", "LoadedObject", "LoaderError", "can_load", "library_symbols", "link"]

#: Protections of mprotect(2).
_READ, _EXECUTE = 1, 4


class Segment(NamedTuple):
    """Pages of one protection: offset and size, both whole pages."""

    offset: int
    size: int
    executable: bool
    writable: bool


class _Layout(NamedTuple):
    """Where everything lies, as offsets from the mapping's start."""

    sections: dict[int, int]
    stubs: dict[str, int]
    slots: dict[int, int]
    segments: list[Segment]
    size: int


class Image(NamedTuple):
    """A linked object: the bytes to put at the address it was linked for, the addresses of what it defines for others,
    and all its functions.
    """

    content: bytearray
    segments: list[Segment]
    addresses: dict[str, int]
    functions: list[Function]


def can_load(data: bytes) -> bool:
    """Whether this process can load such an object: an ELF file on Linux, on a processor whose relocations we know."""
    return sys.platform == "linux" and platform.machine() in MACHINES and data[:4] == b"\x7fELF"


def link(data: bytes, address: int, symbols: Mapping[str, int], machine: str, page: int = mmap.PAGESIZE) -> Image:
    """The object as it has to be in memory at `address`.  LoaderError as in `LoadedObject`."""
    elf = read_elf(data)
    rules = MACHINES[machine]
    return _link(elf, rules, _layout(elf, rules, page), address, symbols)


class LoadedObject:
    """An object in memory, executable as long as this lives; `addresses` of the functions and variables it defines.

    LoaderError where the object is damaged, of another machine, has a relocation that is not known, needs a name that
    is not in `symbols` (default: `library_symbols`), or lacks one of `names`; MemoryError where there is no memory.
    The function `left_out` is not linked, so what only it needs may be missing, and nobody may call it.
    With ``TXC_PERF_MAP=1`` its functions are also named to Linux's `perf`; OSError where that file cannot be written.
    An object with debug information is shown to gdb (`gdb.py`).
    """

    def __init__(self, data: bytes, names: Iterable[str], symbols: Mapping[str, int] | None = None, left_out: str = ""):
        symbols = library_symbols() if symbols is None else symbols
        elf, names = read_elf(data), list(names)
        elf = _without(elf, left_out) if left_out else elf
        machine = MACHINES[platform.machine()]
        layout = _layout(elf, machine, mmap.PAGESIZE)
        try:
            memory = mmap.mmap(-1, layout.size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise MemoryError(f"no {layout.size} bytes for machine code: {error}") from error
        self._anchor = (ctypes.c_char * layout.size).from_buffer(memory)
        start = ctypes.addressof(self._anchor)
        image = _link(elf, machine, layout, start, symbols)
        self.addresses = {name: image.addresses[name] for name in names if name in image.addresses}
        for name in names:
            if name not in self.addresses:
                raise LoaderError(f"the object has no function {name!r}")
        memory[:] = bytes(image.content)
        for segment in image.segments:
            _protect(start, segment)
        if perf_map_wanted():
            write_perf_map(image.functions)
        if any(section.name == ".debug_line" for section in elf.sections):
            from .gdb import register

            register(data, {n: start + at for n, at in layout.sections.items()}, self._anchor)

    def keep_forever(self) -> None:
        """For code that threads may run while the interpreter takes its objects apart: it is never unmapped."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._anchor))


def _without(elf: ElfObject, name: str) -> ElfObject:
    """The object less the relocations inside one of its functions."""
    function = next((s for s in elf.symbols if s.name == name and s.function), None)
    if function is None:
        raise LoaderError(f"the object has no function {name!r}")
    inside = range(function.value, function.value + function.size)
    kept = [r for r in elf.relocations if r.section != function.section or r.offset not in inside]
    return elf._replace(relocations=kept)


def _protect(start: int, segment: Segment) -> None:
    if segment.writable or not segment.size:
        return
    flags = _READ | (_EXECUTE if segment.executable else 0)
    if _libc().mprotect(ctypes.c_void_p(start + segment.offset), ctypes.c_size_t(segment.size), flags):
        number = ctypes.get_errno()
        raise LoaderError(f"the system does not let this process protect pages of code (errno {number})")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@functools.lru_cache(maxsize=8)
def library_symbols(names: tuple[str, ...] = ("memcpy", "memmove", "memset")) -> dict[str, int]:
    """Addresses of functions of the C library; by default those that LLVM calls of its own accord."""
    library = _libc()
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}


def _layout(elf: ElfObject, machine: Machine, page: int) -> _Layout:
    """Give every section, stub and slot its place."""
    if elf.machine != machine.number:
        raise LoaderError(f"the object is for another machine (ELF machine {elf.machine}, not {machine.number})")
    stubs: dict[str, int] = {}
    slots: dict[int, int] = {}
    for relocation in elf.relocations:
        rule = machine.rules.get(relocation.kind)
        if rule is None:
            raise LoaderError(f"relocation type {relocation.kind} is not supported")
        symbol = elf.symbols[relocation.symbol]
        if rule.needs == "call" and _is_outside(symbol):
            stubs.setdefault(symbol.name, 0)
        elif rule.needs == "slot":
            slots.setdefault(relocation.symbol, 0)
    sections: dict[int, int] = {}
    segments: list[Segment] = []
    end = 0
    for executable, writable in ((True, False), (False, False), (False, True)):
        start = end
        for number, section in enumerate(elf.sections):
            kind = bool(section.flags & EXECUTABLE), bool(section.flags & WRITABLE)
            if kind == (True, True):
                raise LoaderError(f"section {section.name!r} is both writable and executable")
            if section.size and kind == (executable, writable):
                sections[number] = end = -(-end // section.align) * section.align
                end += section.size
        end = -(-end // STUB_BYTES) * STUB_BYTES
        if executable:
            stubs = {name: end + i * STUB_BYTES for i, name in enumerate(stubs)}
            end += STUB_BYTES * len(stubs)
        elif not writable:
            slots = {index: end + i * GOT_BYTES for i, index in enumerate(slots)}
            end += GOT_BYTES * len(slots)
        end = -(-end // page) * page
        segments.append(Segment(start, end - start, executable, writable))
    if not end:
        raise LoaderError("the object has no code")
    return _Layout(sections, stubs, slots, segments, end)


def _link(elf: ElfObject, machine: Machine, layout: _Layout, start: int, symbols: Mapping[str, int]) -> Image:
    """Fill in sections, stubs and slots, then apply the relocations."""
    content = bytearray(layout.size)
    for number, offset in layout.sections.items():
        section = elf.sections[number]
        content[offset : offset + len(section.data)] = section.data
    found: dict[int, int] = {}

    def address(index: int) -> int:
        if index not in found:
            found[index] = _address(elf, layout, start, symbols, index)
        return found[index]

    for name, offset in layout.stubs.items():
        content[offset : offset + STUB_BYTES] = machine.stub + _outside(symbols, name).to_bytes(8, "little")
    for index, offset in layout.slots.items():
        content[offset : offset + GOT_BYTES] = address(index).to_bytes(8, "little")
    for relocation in elf.relocations:
        rule = machine.rules[relocation.kind]
        symbol = elf.symbols[relocation.symbol]
        if relocation.offset + rule.width > len(elf.sections[relocation.section].data):
            raise LoaderError("a relocation reaches beyond its section")
        at = layout.sections[relocation.section] + relocation.offset
        to = 0 if rule.needs == "slot" else address(relocation.symbol)
        stub = start + layout.stubs[symbol.name] if rule.needs == "call" and _is_outside(symbol) else to
        slot = start + layout.slots.get(relocation.symbol, 0)
        place = Place(start + at, to, stub, slot, relocation.addend)
        content[at : at + rule.width] = rule.apply(place, bytes(content[at : at + rule.width]))
    addresses = {
        s.name: start + layout.sections[s.section] + s.value
        for s in elf.symbols
        if s.section in layout.sections and s.name and not s.local
    }
    functions = [
        Function(start + layout.sections[s.section] + s.value, s.size, s.name)
        for s in elf.symbols
        if s.function and s.section in layout.sections
    ]
    return Image(content, layout.segments, addresses, functions)


def _address(elf: ElfObject, layout: _Layout, start: int, symbols: Mapping[str, int], index: int) -> int:
    symbol = elf.symbols[index]
    if symbol.absolute:
        return symbol.value
    if symbol.section is None:
        return 0 if symbol.weak and symbol.name not in symbols else _outside(symbols, symbol.name)
    if symbol.section not in layout.sections:
        raise LoaderError(f"symbol {symbol.name!r} lies in a section that is not loaded")
    return start + layout.sections[symbol.section] + symbol.value


def _is_outside(symbol: Symbol) -> bool:
    return symbol.section is None and not symbol.absolute


def _outside(symbols: Mapping[str, int], name: str) -> int:
    if name not in symbols:
        raise LoaderError(f"the object needs {name!r}, which nothing provides")
    return symbols[name]
