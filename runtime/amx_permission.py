"""Leave to use the tile registers of x86-64 (AMX), which Linux gives a process that asks for it.

A thread that multiplies tiles without it is killed.  The kernel refuses where it is older than 5.16, where the
processor has no tiles, and where a thread has a stack for signals that is too small for their registers.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import lru_cache

__all__ = ["tiles_permitted"]

#: From the kernel's headers: the system call, what it is asked, and the number of the tiles' state.
_ARCH_PRCTL, _REQUEST_PERMISSION, _TILES = 158, 0x1023, 18


@lru_cache(maxsize=1)
def tiles_permitted() -> bool:
    """Whether this process may use tiles; it asks once, for all its threads and forks."""
    if sys.platform != "linux" or platform.machine() != "x86_64" or sys.maxsize < 1 << 32:
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILES) == 0
