"""The word in which compiled code says that an index was outside, and the error that it becomes.

0: all were inside.  Else the upper 16 bits tell which check of the program failed, so that of several the first has the
largest word, and the lower 48 the index.  It needs nothing of the compiler, as calls of code from the cache do not.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["CHECKS", "INDEX_BITS", "LEAST", "MOST", "UNKNOWN", "FailedCheck", "packed", "unpacked"]

#: Bits of the index; it is the nearest that they hold.
INDEX_BITS = 48
MOST, LEAST = (1 << INDEX_BITS - 1) - 1, -(1 << INDEX_BITS - 1)
#: How many checks words tell apart; all further ones share the last number.
CHECKS = (1 << 63 - INDEX_BITS) - 1
#: Stands for the size of a dim that a loop varies.
UNKNOWN = -1


class FailedCheck(NamedTuple):
    """Which check of the program failed, from 0 on, and the index that was outside."""

    number: int
    place: int

    def error(self, size: int) -> IndexError:
        """What the call raises."""
        of = "its dim" if size == UNKNOWN else f"a dim of size {size}"
        return IndexError(f"index {self.place} is out of bounds for {of}")


def packed(number: int, index: int) -> int:
    """The word for an index from LEAST to MOST in check `number`."""
    return (CHECKS - number << INDEX_BITS) + index - LEAST


def unpacked(word: int) -> FailedCheck:
    """What a word that is not 0 says."""
    return FailedCheck(CHECKS - (word >> INDEX_BITS), (word & (1 << INDEX_BITS) - 1) + LEAST)
