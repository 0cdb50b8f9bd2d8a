"""Transposing square tiles in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["transposed"]

#: A shuffle of two registers: for each lane of the result, a lane of the first or, from the width on, of the second.
Shuffle = Callable[[str, str, Sequence[int]], str]
#: Bits of a register within which machines interleave in one instruction.
PIECE_BITS = 128


def transposed(rows: Sequence[str], bits: int, shuffle: Shuffle) -> list[str]:
    """The columns of as many registers as each has lanes (a power of two), in ``width * log2(width)`` shuffles.

    Groups of 1, 2, … elements are interleaved within pieces of 128 bits, then whole pieces change places.
    """
    width = len(rows)
    piece = max(1, min(width, PIECE_BITS // bits))
    made = list(rows)
    size = 1
    while size < piece:
        made = _paired(made, size, _interleaving(width, piece, size), shuffle)
        size *= 2
    while size < width:
        made = _paired(made, size, _exchanging(width, size), shuffle)
        size *= 2
    # Interleaving leaves the columns of each piece in the order of their reversed bits.
    order = piece.bit_length() - 1
    found = [""] * width
    for place, value in enumerate(made):
        within = place % piece
        found[place - within + int(format(within, f"0{order}b")[::-1], 2) if order else place] = value
    return found


def _paired(
    rows: Sequence[str], distance: int, masks: tuple[Sequence[int], Sequence[int]], shuffle: Shuffle
) -> list[str]:
    """Each register and the one `distance` further, shuffled by both masks into their two places."""
    made = list(rows)
    for i in range(len(rows)):
        if not i & distance:
            a, b = rows[i], rows[i + distance]
            made[i], made[i + distance] = shuffle(a, b, masks[0]), shuffle(a, b, masks[1])
    return made


def _interleaving(width: int, piece: int, size: int) -> tuple[list[int], list[int]]:
    """Groups of `size` lanes by turns from both registers: of the lower, and of the upper half of each piece."""
    halves: tuple[list[int], list[int]] = ([], [])
    for start in range(0, width, piece):
        for half, mask in enumerate(halves):
            first = start + half * piece // 2
            for group in range(first, first + piece // 2, size):
                lanes = range(group, group + size)
                mask += [*lanes, *(width + lane for lane in lanes)]
    return halves


def _exchanging(width: int, size: int) -> tuple[list[int], list[int]]:
    """The odd blocks of `size` lanes of the first register change places with the even blocks of the second."""
    lanes = range(width)
    keep_even = [lane if not lane & size else width + lane - size for lane in lanes]
    keep_odd = [lane + size if not lane & size else width + lane for lane in lanes]
    return keep_even, keep_odd
