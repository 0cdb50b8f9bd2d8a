"""Arguments and results of a call that are in the memory of a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime.gpu.device_array import SOME_GPU, DeviceArray, Form, OnDevice, place_of
from ..config.devices import gpu_device

if TYPE_CHECKING:
    from ..driver.executable import Executable, Prepared

__all__ = ["for_the_user", "results_on", "shared"]


def shared(what: str, function: str, value: Any, device: str) -> DeviceArray:
    """An array of a call, which is a `DeviceArray` or another library's array on a GPU, as it is.

    TypeError where it is elsewhere than the function runs; ValueError where kernels cannot use it.
    """
    where = place_of(value)
    if device == "cpu" or where not in (device, SOME_GPU):
        hint = f"{function}.options(device={'cuda:0' if where == SOME_GPU else where!r})"
        raise TypeError(f"{what} is on {where}, and {function} runs on {device}: call {hint}")
    return value if isinstance(value, DeviceArray) else DeviceArray.sharing(gpu_device(device), value)


def results_on(
    name: str, executable: Executable, prepared: Prepared, given: Mapping[int, np.ndarray]
) -> dict[int, np.ndarray]:
    """New arrays in the memory of the GPU of that name for the results that are not `given`, by buffer."""
    device, made = gpu_device(name), dict(given)
    for buffer, (shape, strides) in zip(executable.fresh, prepared.outputs, strict=True):
        # What says whether an index was outside is read here, after the call.
        for_the_caller = not (executable.signature.checks and buffer == executable.outputs[-1])
        if buffer not in made and for_the_caller:
            form = Form.of(executable.buffers[buffer].dtype, shape, strides)
            made[buffer] = DeviceArray.empty(device, form).form()
    return made


def for_the_user(result: Any) -> Any:
    """A result of a call: the `DeviceArray` that a form stands for, or the array of another library behind that."""
    if not isinstance(result, OnDevice):
        return result
    return result.owner if result.owner.original is None else result.owner.original
