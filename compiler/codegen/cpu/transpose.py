"""Transposing square tiles in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

__all__ = ["transposed"]

#: So many elements of a row from one on.
Load = Callable[[int, int, int], str]
#: A shuffle of two registers: for each lane of the result, a lane of the first or, from their width on, of the second.
Shuffle = Callable[[str, str, Sequence[int]], str]
#: Bits of a register within which machines interleave in one instruction.
BLOCK_BITS = 128


def transposed(width: int, bits: int, load: Load, shuffle: Shuffle) -> list[str]:
    """The columns of a square tile of `width` rows (a power of two), in ``width * log2(block)`` shuffles of registers.

    Blocks of 128 bits are in place from the start: a register is assembled of those of rows a block apart,
    which x86 does while it loads them.  Then groups of 1, 2, … elements are interleaved within blocks.
    """
    block = max(1, min(width, BLOCK_BITS // bits))
    made = []
    for number in range(width):
        first, row = number - number % block, number % block
        parts = [load(start + row, first, block) for start in range(0, width, block)]
        while len(parts) > 1:
            whole = range(2 * width // len(parts))
            parts = [shuffle(x, y, whole) for x, y in zip(parts[::2], parts[1::2])]
        made += parts
    size = 1
    while size < block:
        made = _paired(made, size, _interleaving(width, block, size), shuffle)
        size *= 2
    # Interleaving leaves the columns of each block in the order of their reversed bits.
    order = block.bit_length() - 1
    found = [""] * width
    for place, value in enumerate(made):
        within = place % block
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


def _interleaving(width: int, block: int, size: int) -> tuple[list[int], list[int]]:
    """Groups of `size` lanes by turns from both registers: of the lower, and of the upper half of each block."""
    halves: tuple[list[int], list[int]] = ([], [])
    for start in range(0, width, block):
        for half, mask in enumerate(halves):
            first = start + half * block // 2
            for group in range(first, first + block // 2, size):
                lanes = range(group, group + size)
                mask += [*lanes, *(width + lane for lane in lanes)]
    return halves
