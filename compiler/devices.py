"""Devices: their names, which there are, and the one that lazy expressions of this thread are evaluated on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..runtime.threads import default_threads

__all__ = ["OptionError", "device", "devices", "parse_device", "threads_here"]

_here: ContextVar[int] = ContextVar("txc device", default=0)
_NO_GPU = "txc emits PTX but does not run it yet"


class OptionError(ValueError):
    """An option, pass or device that does not exist, or a value it does not take."""

    code = "TX0401"


def devices() -> dict[str, str]:
    """The devices that txc knows: what each is, or why it is not available."""
    return {"cpu": f"{default_threads()} threads; cpu:N takes N", "cuda": f"not available: {_NO_GPU}"}


def parse_device(name: str) -> int:
    """The threads of ``cpu`` (0: as many as there are) or ``cpu:N``.  Raises OptionError for any other device."""
    match = re.fullmatch(r"cpu(?::([0-9]+))?", name) if isinstance(name, str) else None
    if match is None or (match[1] is not None and int(match[1]) == 0):
        gpu = isinstance(name, str) and name.split(":")[0] in ("cuda", "gpu")
        why = f" ({_NO_GPU})" if gpu else ""
        raise OptionError(f"there is no device {name!r}{why}: txc runs on 'cpu' and, with N threads, on 'cpu:N'")
    return int(match[1] or 0)


@contextmanager
def device(name: str | None) -> Iterator[None]:
    """``with txc.device("cpu:4"):`` lazy expressions that this thread evaluates inside run there; None changes nothing.

    Compiled functions have a device of their own, which `txc.jit` and `options` take.  OptionError for a device that
    there is not.
    """
    if name is None:
        yield
        return
    token = _here.set(parse_device(name))
    try:
        yield
    finally:
        _here.reset(token)


def threads_here() -> int:
    """The threads of the device that `device` chose here; 0 means as many as there are."""
    return _here.get()
