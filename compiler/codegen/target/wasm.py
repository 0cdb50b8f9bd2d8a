"""What a WebAssembly object needs from outside: the functions of its import section."""

from __future__ import annotations

__all__ = ["imported_functions"]

_IMPORTS = 2


class _Reader:
    """Reads the binary format's integers and names."""

    def __init__(self, data: bytes, at: int = 0):
        self.data, self.at = data, at

    def number(self) -> int:
        """An unsigned LEB128."""
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def name(self) -> str:
        size = self.number()
        self.at += size
        return self.data[self.at - size : self.at].decode()

    def limits(self) -> None:
        """Skip the size of a memory or table."""
        if self.number() & 1:
            self.number()
        self.number()


def imported_functions(data: bytes) -> set[str]:
    """Names of the functions that a WebAssembly module or object imports."""
    found: set[str] = set()
    reader = _Reader(data, 8)
    while reader.at < len(data):
        section = reader.number()
        size = reader.number()
        end = reader.at + size
        if section == _IMPORTS:
            for _ in range(reader.number()):
                reader.name()
                name = reader.name()
                kind = reader.number()
                if kind == 0:  # a function, of a type
                    reader.number()
                    found.add(name)
                elif kind == 1:  # a table, of an element type
                    reader.number()
                    reader.limits()
                elif kind == 2:  # a memory
                    reader.limits()
                else:  # a global, of a type, that may change
                    reader.number()
                    reader.number()
        reader.at = end
    return found
