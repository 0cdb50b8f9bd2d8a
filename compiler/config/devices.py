"""Devices: which there are, and the one that lazy expressions of this thread are evaluated on."""

from __future__ import annotations

from _thread import RLock, allocate_lock  # as `threading` has them, without the rest of that module
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime.environment import variable
from ...runtime.gpu.device_array import DeviceArray
from ...runtime.pool.threads import default_threads
from . import knobs
from .device_names import CPU, DEVICE_VARIABLE, SIMULATOR, Device, OptionError, device_named

if TYPE_CHECKING:
    from ...runtime.gpu.device_array import DeviceArray
    from ...runtime.gpu.gpu_device import GpuDevice

__all__ = [
    "device", "device_here", "device_lock", "device_of_knob", "devices", "gpu_device", "parse_device", "to_device",
]  # fmt: skip

_here: ContextVar[Device | None] = ContextVar("txc device", default=None)
_gpus: dict[str, GpuDevice] = {}
_opening = allocate_lock()
_locks: dict[str, RLock] = {}


def devices() -> dict[str, str]:
    """The devices that txc knows: what each is, or why it is not available."""
    from ...runtime.gpu.cuda import find_devices

    found = {"cpu": f"{default_threads()} threads; cpu:N takes N"}
    found[SIMULATOR] = "runs PTX in NumPy, slowly, and checks it"
    gpus, reason = find_devices()
    return {**found, **gpus} if gpus else {**found, "cuda": f"not available: {reason}"}


def parse_device(name: str) -> Device:
    """The device of that name: ``cpu``, ``cpu:N`` (N threads), ``ptx-sim``, ``cuda`` or ``cuda:N``.

    Raises OptionError for what there is not; of a GPU it says why it cannot be used.
    """
    found = device_named(name)
    if found.is_gpu:
        gpu_device(found.name)
    return found


def gpu_device(name: str) -> GpuDevice:
    """The device of a name that `Device.name` has, opened once.  Raises OptionError where it cannot be used."""
    with _opening:
        found = _gpus.get(name)
        if found is None:
            found = _gpus[name] = _opened(name)
    return found


def device_lock(name: str) -> RLock:
    """What a call holds while it uses a GPU, which has one queue."""
    return _locks.setdefault(name, RLock())


def _opened(name: str) -> GpuDevice:
    if name == SIMULATOR:
        from ...runtime.ptx_simulator import PtxSimulator

        return PtxSimulator(cpu=knobs.SIMULATED_GPU.get())
    from ...runtime.gpu.cuda import open_device
    from ...runtime.gpu.cuda_driver import NoDevice

    try:
        return open_device(int(name.partition(":")[2]))
    except NoDevice as reason:
        raise OptionError(f"there is no device {name!r} here: {reason}") from None


def to_device(array: Any, name: str) -> DeviceArray:
    """A copy of an array in the memory of a GPU, for functions that run there: their results stay there too.

    Raises OptionError where there is no such GPU.
    """
    found = parse_device(name)
    if not found.is_gpu:
        raise OptionError(f"to_device(…, {name!r}): NumPy's arrays are in the CPU's memory; name a GPU")
    with device_lock(found.name):
        return DeviceArray.copy_of(gpu_device(found.name), np.asarray(array))


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


_device_text = variable(DEVICE_VARIABLE)


def device_here() -> Device:
    """The device that `device` chose here, or that `TXC_DEVICE` names, or the CPU with as many threads as there are."""
    found = _here.get()
    if found is not None:
        return found
    if not _device_text():
        return CPU
    return device_of_knob()


def device_of_knob() -> Device:
    """The device that `TXC_DEVICE` names.  Raises KnobError for no name, OptionError for a GPU that cannot be used."""
    found = knobs.DEVICE.get()
    try:
        return parse_device(found.name) if found.is_gpu else found
    except OptionError as error:
        raise OptionError(f"{DEVICE_VARIABLE}: {error}") from None
