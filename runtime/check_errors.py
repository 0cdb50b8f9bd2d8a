"""The word in which compiled code says that a check failed, and the error that it becomes.

0: none did.  Else the upper 16 bits tell which check of the program failed, so that of several the first has the
largest word, and the lower 48 the index that was outside.  It needs nothing of the compiler, as calls of code from the
cache do not.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np

__all__ = [
    "CHECKS", "ERRORS", "INDEX_BITS", "LEAST", "MOST", "UNKNOWN", "Check", "FailedCheck", "Place", "index_check",
    "packed", "raise_at", "unpacked",
]  # fmt: skip

#: What a check that failed may raise, by name.
ERRORS: dict[str, type[Exception]] = {
    "LinAlgError": np.linalg.LinAlgError,
    **{
        error.__name__: error
        for error in (
            ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, Exception, FloatingPointError,
            IndexError, KeyError, LookupError, MemoryError, NameError, NotImplementedError, OSError, OverflowError,
            PermissionError, RecursionError, ReferenceError, RuntimeError, StopIteration, SystemError, TimeoutError,
            TypeError, UnboundLocalError, UserWarning, ValueError, ZeroDivisionError,
        )
    },
}  # fmt: skip

#: Bits of the index; it is the nearest that they hold.
INDEX_BITS = 48
MOST, LEAST = (1 << INDEX_BITS - 1) - 1, -(1 << INDEX_BITS - 1)
#: How many checks words tell apart; all further ones share the last number.
CHECKS = (1 << 63 - INDEX_BITS) - 1
#: The size of what has none.
UNKNOWN = -1


class Check(NamedTuple):
    """What a call raises where a check of the program failed.

    In `text` a first ``{}`` stands for the word's index, a second one for `size`, which is given as a `Dim`, its text
    or its value.
    """

    error: str
    text: str
    size: Any = UNKNOWN

    def raised(self, place: int) -> Exception:
        """The error, of a size that is a number."""
        if self.text == "{}":  # a key
            return ERRORS[self.error](place)
        text = self.text.replace("{}", str(place), 1).replace("{}", str(self.size), 1)
        return ERRORS[self.error](text)


def index_check(size: Any) -> Check:
    """The check of an index into a dim of that size; None: a loop varies it."""
    if size is None:
        return Check("IndexError", "index {} is out of bounds for its dim")
    return Check("IndexError", "index {} is out of bounds for a dim of size {}", size)


class Place(NamedTuple):
    """Where the user's program has a check; columns count bytes from 0, `end_column` is 0 where it is not known."""

    filename: str
    line: int
    column: int
    end_column: int
    function: str


def raise_at(check: Check, index: int, place: Place | None) -> NoReturn:
    """Raise what a check does, from a frame at a place in the user's program: tracebacks and debuggers then show that.

    Without a place, from here.  No frame keeps the error, which would keep them.
    """
    if place is None:
        raise check.raised(index)
    import ast

    tree = ast.parse("raise check.raised(index)")
    end = place.end_column or _width(place)
    for node in ast.walk(tree):
        if isinstance(node, (ast.expr, ast.stmt)):
            node.lineno = node.end_lineno = place.line
            node.col_offset, node.end_col_offset = place.column, end
    code = compile(tree, place.filename, "exec")
    exec(code.replace(co_name=place.function, co_qualname=place.function), {"check": check, "index": index})
    raise AssertionError


def _width(place: Place) -> int:
    """The bytes of a line, from its first character on at least those before the place."""
    import linecache

    return max(place.column, len(linecache.getline(place.filename, place.line).rstrip().encode()))


class FailedCheck(NamedTuple):
    """Which check of the program failed, from 0 on, and the index that was outside."""

    number: int
    place: int


def packed(number: int, index: int) -> int:
    """The word for an index from LEAST to MOST in check `number`."""
    return (CHECKS - number << INDEX_BITS) + index - LEAST


def unpacked(word: int) -> FailedCheck:
    """What a word that is not 0 says."""
    return FailedCheck(CHECKS - (word >> INDEX_BITS), (word & (1 << INDEX_BITS) - 1) + LEAST)
