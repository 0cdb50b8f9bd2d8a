"""The vector instructions of a map's innermost loop, counted in its machine code: what the ports of vectors allow.

An instruction on vectors of floats takes the place of an FMA, whatever it does: so many elements a second are the limit
of a map that waits for neither memory nor divider.  Moves are free, as they are on processors with AVX2 or AVX-512,
of which the names of instructions are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Loop", "innermost_loops", "map_operations"]

#: Registers as long as a vector, the longest first, and their bits.
_VECTORS = (("zmm", 512), ("ymm", 256), ("xmm", 128))
#: Places that an instruction takes which is more than one operation, by how its name begins.
_PLACES = (
    (("vmov", "vbroadcast", "vpbroadcast", "prefetch", "vzeroupper"), 0),
    (("vrcp14", "vrsqrt14", "vdiv", "vsqrt"), 3),
    (("vscalef", "vrndscale", "vcvtps2pd", "vcvtpd2ps"), 2),
)
_TARGET = re.compile(r"^(\.L\w+):")
_JUMP = re.compile(r"^\tj\w+\t(\.L\w+)")


@dataclass(frozen=True)
class Loop:
    """The instructions of a loop that has no loop inside, in order."""

    instructions: Sequence[str]

    @property
    def vector_bits(self) -> int:
        """The bits of its longest vectors; 0: it has none."""
        return next((bits for name, bits in _VECTORS if any(f"%{name}" in i for i in self.instructions)), 0)

    @property
    def stores(self) -> int:
        """Whole vectors that an iteration stores; 0 where the end of a row may cut one.  Registers spilled are none."""
        found = [i for i in self.instructions if re.match(r"vmov\w+\t%[xyz]mm\d+, [^%]*\((?!%rsp)", i)]
        return 0 if any("{%k" in i for i in found) else len(found)

    @property
    def places(self) -> int:
        """Places of FMAs that the vector instructions of an iteration take."""
        return sum(_places(i) for i in self.instructions)


def innermost_loops(assembly: str) -> list[Loop]:
    """The loops without others inside of a program in AT&T's notation."""
    lines = assembly.splitlines()
    starts = {found[1]: at for at, line in enumerate(lines) if (found := _TARGET.match(line))}
    spans: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        jump = _JUMP.match(line)
        if jump and starts.get(jump[1], at) < at:
            spans.append((starts[jump[1]], at))
    inner = [s for s in spans if not any(s != o and s[0] <= o[0] and o[1] <= s[1] for o in spans)]
    return [Loop([x.strip() for x in lines[first:last] if re.match(r"\t[a-z]", x)]) for first, last in inner]


def map_operations(assembly: str) -> float:
    """Operations an element, an FMA counting as two, of the loop of a map with one result.

    0 where there is no loop that stores whole vectors.
    """
    loops = [loop for loop in innermost_loops(assembly) if loop.stores]
    if not loops:
        return 0.0
    loop = max(loops, key=lambda x: (x.vector_bits, x.places))
    return 2.0 * loop.places / loop.stores


def _places(instruction: str) -> int:
    if not re.search(r"%[xyz]mm", instruction):
        return 0
    return next((places for names, places in _PLACES if instruction.startswith(names)), 1)
