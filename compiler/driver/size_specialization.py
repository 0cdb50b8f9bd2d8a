"""Versions for sizes that are numbers: those that are compiled much faster, and those that keep coming.

Code is generic in sizes, so that no new size compiles anything.  Of ops whose loops are much shorter for a known size,
as those of a Fourier transform or of many short rows are, the first `FEW` versions of the same facts are for one size
each, the next for all.  What few short rows compiled, for any size, is for few (`trace/short_loops.py`).

The rest is the second tier.  Where code was busy for long with calls that all had the same small sizes, one more
version is compiled in which those are numbers: short rows then live in registers, and small loops are written out.  The
evidence is counted by native entries, in iterations of kernels, and looked at twice: the sizes must be equal both
times.  Larger sizes gain nothing from being known, and stay symbols.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ..config import knobs

if TYPE_CHECKING:
    from ..call.arguments import Call
    from .specializations import Version

__all__ = ["EVIDENCE", "FEW", "MOST", "NO_LIMIT", "SizeStatistics", "is_for_one_size", "small_sizes"]

#: Iterations, about a quarter of a second of them, between two looks at the calls of a version.
EVIDENCE = 1 << 28
NO_LIMIT = 1 << 62
#: The largest size that is worth knowing, and how many versions of a function may know theirs.
LARGEST, MOST = 64, 4
#: How many versions of the same facts are for one size of an op whose loops are much shorter then.
FEW = 3


def is_for_one_size(made: Collection[Version]) -> bool:
    """Whether a version beside those `made` for the same facts is for one size of what has much shorter loops then."""
    return knobs.SPECIALIZE.get() and len(made) < FEW


def small_sizes(version: Version, call: Call) -> dict[str, int]:
    """The sizes of a call's arrays, from 1 to `LARGEST`, that a version's code has as symbols: by symbol (``x.1``)."""
    symbols = set(version.executable.code.symbols)
    leaves = call.leaves()
    given = [(i.name, leaves[i.name].value.shape) for i in version.signature.arrays if not i.hidden]
    sizes = {f"{name}.{d}": n for name, shape in given for d, n in enumerate(shape)}
    return {symbol: n for symbol, n in sizes.items() if symbol in symbols and 1 <= n <= LARGEST}


class SizeStatistics:
    """What was seen of a version's calls when its budget was spent."""

    def __init__(self) -> None:
        self.before: dict[str, int] | None = None

    def sizes_to_fix(self, version: Version, call: Call, made: Collection[Version]) -> dict[str, int] | None:
        """The sizes that a new version should have as numbers; empty: not yet; None: there is nothing to be gained."""
        if version.fixed or sum(bool(v.fixed) for v in made) >= MOST:
            return None
        now, before = small_sizes(version, call), self.before
        self.before = now
        return now if now and now == before else {} if now or before is None else None
