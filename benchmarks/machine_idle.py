"""Whether other work disturbs a measurement."""

from __future__ import annotations

import time
from pathlib import Path

__all__ = ["running", "wait_until_idle"]


def running() -> int:
    """How many tasks of the machine are running or ready now, this one included (1 where the system does not tell)."""
    try:
        return int(Path("/proc/loadavg").read_text().split()[3].split("/")[0])
    except (OSError, IndexError, ValueError):
        return 1


def wait_until_idle(patience: float) -> bool:
    """Wait until nothing else runs; False where it did not come to that within `patience` seconds."""
    end = time.perf_counter() + patience
    while running() > 1:
        if time.perf_counter() > end:
            return False
        time.sleep(0.005)
    return True
