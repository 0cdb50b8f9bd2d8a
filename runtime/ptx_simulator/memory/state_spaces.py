"""State spaces: which memory an access means, and generic addresses ("Generic Addressing").

Addresses of a space count from 0; as generic addresses, shared and local memory and a kernel's parameters lie in
windows above all of global memory, which constants share.
"""

from __future__ import annotations

import numpy as np

from ..ptx.types import Array

__all__ = ["WINDOWS", "WINDOW_BITS", "space_of"]

WINDOW_BITS = 56
#: Where each space's window begins among generic addresses.
WINDOWS = {"global": 0, "const": 0, "shared": 1 << WINDOW_BITS, "local": 2 << WINDOW_BITS, "param": 3 << WINDOW_BITS}
_SPACES = {0: "global", 1: "shared", 2: "local"}


def space_of(addresses: Array) -> list[tuple[str, Array | None]]:
    """The spaces that generic addresses lie in, with the lanes of each; None are all lanes."""
    tags = addresses >> np.uint64(WINDOW_BITS)
    first = int(tags[0])
    if (tags == tags[0]).all():
        return [(_SPACES.get(first, "global"), None)]
    return [(_SPACES.get(int(t), "global"), np.flatnonzero(tags == t)) for t in np.unique(tags)]
