"""Short rows that lie one after another, as pixels and points do: an element of each, from and to whole vectors.

As many rows as vectors have lanes are as many vectors as a row has elements.  In registers an element of all rows is
one vector, whose lanes are a row's length apart in memory.  Where that is odd, these are in different lanes of the
vectors, so choosing and one permutation makes the register; where it is even, even and odd elements part before; and
rows of whole vectors are tiles to transpose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from ...cpu.transpose import Shuffle, transposed

__all__ = ["MOST_ELEMENTS", "deinterleaved", "interleaved"]

#: Of longer rows, reading the vectors that one element of each is in takes more than reading these elements.
MOST_ELEMENTS = 16


def deinterleaved(
    width: int, length: int, bits: int, element: int, load: Callable[[int, int], str], shuffle: Shuffle
) -> str:
    """An element of each of `width` rows; ``load(first, count)`` gives so many in the order of memory."""
    if length % width == 0:
        first = element - element % width
        columns = transposed(width, bits, lambda row, start, count: load(row * length + first + start, count), shuffle)
        return columns[element % width]

    vector = cache(lambda number: load(number * width, width))
    while length % 2 == 0:
        vector = _every_other(vector, [2 * k + element % 2 for k in range(width)], shuffle)
        length, element = length // 2, element // 2
    places = [divmod(element + k * length, width) for k in range(width)]
    owner = {place: number for number, place in places}
    first, *others = dict.fromkeys(number for number, _ in places)
    made = vector(first)
    for number in others:
        made = shuffle(made, vector(number), [k + width * (owner[k] == number) for k in range(width)])
    return made if length == 1 else shuffle(made, made, [place for _, place in places])


def interleaved(width: int, bits: int, elements: Sequence[str], shuffle: Shuffle) -> list[str]:
    """The vectors that `width` rows are in memory, of the registers of their elements."""
    length = len(elements)
    if length % width == 0:
        found = [""] * length
        for first in range(0, length, width):

            def part(row: int, start: int, count: int, first: int = first) -> str:
                whole = elements[first + row]
                return whole if count == width else shuffle(whole, whole, range(start, start + count))

            for row, made in enumerate(transposed(width, bits, part, shuffle)):
                found[(row * length + first) // width] = made
        return found
    if length == 1:
        return list(elements)
    if length % 2 == 0:
        halves = [interleaved(width, bits, elements[parity::2], shuffle) for parity in (0, 1)]
        orders = [[k // 2 + width * (k % 2) for k in range(first, first + width)] for first in (0, width)]
        return [shuffle(even, odd, order) for even, odd in zip(*halves) for order in orders]
    placed: list[str] = []
    for number, register in enumerate(elements):
        lane_at = {(number + k * length) % width: k for k in range(width)}
        placed.append(shuffle(register, register, [lane_at[k] for k in range(width)]))
    found = []
    for vector in range(length):
        owners = [(vector * width + k) % length for k in range(width)]
        first, *others = dict.fromkeys(owners)
        made = placed[first]
        for number in others:
            made = shuffle(made, placed[number], [k + width * (owners[k] == number) for k in range(width)])
        found.append(made)
    return found


def _every_other(vector: Callable[[int], str], lanes: Sequence[int], shuffle: Shuffle) -> Callable[[int], str]:
    """Vectors of the even, or of the odd elements of others."""
    return cache(lambda number: shuffle(vector(2 * number), vector(2 * number + 1), lanes))
