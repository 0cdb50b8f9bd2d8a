"""NVIDIA GPUs: which there are, and why one cannot be used."""

from __future__ import annotations

import functools
from typing import Any

from .cuda_device import CudaDevice
from .cuda_driver import NoDevice, architecture, initialised

__all__ = ["find_devices", "open_device"]


def find_devices() -> tuple[dict[str, str], str]:
    """What each GPU is, by its name (``cuda:0``), or none and why; also of those there are why one cannot be used."""
    try:
        driver = initialised()
    except NoDevice as reason:
        return {}, str(reason)
    return {f"cuda:{n}": _describe(driver, n) for n in range(driver.Device.count())}, ""


@functools.cache
def open_device(number: int) -> CudaDevice:
    """GPU number `number`, ready to be used.  Raises NoDevice."""
    return CudaDevice(initialised(), number)


def _describe(driver: Any, number: int) -> str:
    device = driver.Device(number)
    try:
        architecture(device.compute_capability())
    except NoDevice as reason:
        return f"not available: {reason}"
    return f"{device.name()}, {device.total_memory() >> 20} MiB"
