"""What `tensor-compile calibrate` measured of this machine, as it lies in the cache folder.

Compiled code depends on these figures, so the keys of the cache hold them, and a hit reads them: nothing is imported
here that a hit does not need.  They are those of one processor: a folder that is shared by machines has one entry each.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from .file_store import default_folder, open_store
from .fingerprint import processor

__all__ = ["calibrated", "keep_calibration"]


def calibrated() -> Mapping[str, float]:
    """The figures by name (fields of `passes.costs.Machine`); empty where nothing was measured, or nothing is kept."""
    return _read(default_folder())


@functools.lru_cache(maxsize=4)
def _read(folder: str) -> Mapping[str, float]:
    """What lies in a folder, which is looked at once a process."""
    try:
        name, store = _entry(), open_store() if folder else None
    except OSError:
        return {}
    found = None if store is None else store.read(name).metadata
    return {} if found is None else found["machine"]


def keep_calibration(figures: Mapping[str, float]) -> bool:
    """Keep figures for this and other processes; False where there is no folder to keep them in."""
    store = open_store()
    _read.cache_clear()
    return store is not None and store.publish(_entry(), {"machine": dict(figures)})


def _entry() -> str:
    return "machine-" + processor().replace(" ", "-")
