"""The names of devices, whether or not this machine has them."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["CPU", "DEVICE_VARIABLE", "SIMULATOR", "Device", "OptionError", "device_named"]

SIMULATOR = "ptx-sim"
DEVICE_VARIABLE = "TXC_DEVICE"


class OptionError(ValueError):
    """An option, pass or device that does not exist, or a value it does not take."""

    code = "TX0401"


class Device(NamedTuple):
    """`name` is ``cpu``, ``ptx-sim`` or ``cuda:N``; `threads` those of the CPU (0: as many as there are)."""

    name: str
    threads: int = 0

    @property
    def is_gpu(self) -> bool:
        """Whether it runs PTX."""
        return self.name != "cpu"


CPU = Device("cpu")


def device_named(name: str) -> Device:
    """The device of that name: ``cpu``, ``cpu:N`` (N threads), ``ptx-sim``, ``cuda`` or ``cuda:N``.

    Raises OptionError for what is no such name.
    """
    match = re.fullmatch(r"(cpu|cuda)(?::([0-9]+))?|ptx-sim", name) if isinstance(name, str) else None
    if match is None or (match[1] == "cpu" and match[2] is not None and int(match[2]) == 0):
        raise OptionError(
            f"there is no device {name!r}: txc runs on 'cpu' and, with N threads, on 'cpu:N'; "
            f"on GPU number N, 'cuda:N'; and on a simulated one, {SIMULATOR!r}"
        )
    if match[1] == "cpu":
        return Device("cpu", int(match[2] or 0))
    return Device(SIMULATOR) if match[1] is None else Device(f"cuda:{int(match[2] or 0)}")
