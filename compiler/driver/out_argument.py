"""``out=`` of a call: the user's arrays that results go to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime.gpu.device_array import OnDevice, is_device_array
from ..call.device_arguments import shared
from ..call.made_objects import MadeOutput
from ..call.signature import (
    ChainedOutput,
    EitherOutput,
    GivenOutput,
    IntOutput,
    MixedOutput,
    SizedOutput,
    ViewOutput,
    ZippedOutput,
)
from .executable import named_dtype

if TYPE_CHECKING:
    from ..call.arguments import Call
    from .specializations import PreparedCall, Version

__all__ = ["destinations", "written_directly"]


def destinations(name: str, structure: Any, out: Any, device: str) -> dict[Any, np.ndarray]:
    """The array for each output, or part of the structure that is no output, that is to go to one.

    `out` is an array for a function with one result; for one that returns a tuple or list, a tuple with an array or
    None for each result.  Arrays on the device that the function runs on are forms (`OnDevice`) here.  TypeError where
    it does not fit what the function returns.
    """
    if isinstance(structure, (ChainedOutput, EitherOutput, MadeOutput, MixedOutput, ZippedOutput)):
        raise TypeError(f"out= of {name}: it takes functions that return an array, or a tuple of arrays")
    single = _is_array(structure)
    results = [structure] if single else list(structure) if isinstance(structure, (tuple, list)) else None
    if results is None or not all(map(_is_array, results)):
        raise TypeError(f"out= of {name}: it takes functions that return an array, or a tuple of arrays")
    given = [out] if single and not isinstance(out, tuple) else list(out) if isinstance(out, tuple) else None
    if given is None or len(given) != len(results):
        raise TypeError(f"out= of {name} must be a tuple of {len(results)} arrays, one a result, or None")
    found = {}
    for i, (number, array) in enumerate(zip(results, given)):
        if array is None:
            continue
        if isinstance(number, SizedOutput):
            raise TypeError(f"out= of {name}, result {i}: values decide its size; pass None for it, and copy it")
        if is_device_array(array):
            array = shared(f"out= of {name}, result {i},", name, array, device).form()
        if not isinstance(array, np.ndarray):
            raise TypeError(f"out= of {name}, result {i}: an array is needed, not a {type(array).__name__}")
        found[number] = array
    return found


def _is_array(part: Any) -> bool:
    return isinstance(part, (int, ViewOutput, GivenOutput)) and not isinstance(part, IntOutput)


def written_directly(
    version: Version, call: Call, ready: PreparedCall, places: Mapping[Any, np.ndarray], device: str
) -> dict[int, np.ndarray]:
    """The user's arrays that compiled code can write to, by buffer; an error where one does not fit its result."""
    executable, name = version.executable, version.signature.name
    direct: dict[int, np.ndarray] = {}
    for number, array in places.items():
        if isinstance(number, GivenOutput):
            _check(name, array, call.named()[number].dtype, call.named()[number].shape)
            continue
        if isinstance(number, ViewOutput):
            shape, _, _ = ready.prepared.views[number.number]
            _check(name, array, named_dtype(number.element), shape)
            continue
        buffer = executable.outputs[number]
        fresh = buffer in executable.fresh
        if fresh:
            shape, strides = ready.prepared.outputs[executable.fresh.index(buffer)]
        else:
            shape, strides = ready.arrays[buffer].shape, ()
        _check(name, array, executable.buffers[buffer].dtype, shape)
        others = [*ready.arrays, *direct.values()]
        if fresh and buffer not in direct and _takes_place(array, strides, others):
            direct[buffer] = array
        elif isinstance(array, OnDevice):
            raise ValueError(
                f"out= of {name} is on {device} and would have to be copied to: "
                f"pass an array of shape {tuple(shape)} without gaps that overlaps no argument"
            )
    return direct


def _check(name: str, array: np.ndarray, dtype: np.dtype[Any], shape: Sequence[int]) -> None:
    """TypeError or ValueError, with what to pass instead, where a result cannot be stored in an array."""
    if array.dtype != dtype:
        fitting = f"np.empty({tuple(shape)}, {dtype.name!r})"
        raise TypeError(f"out= of {name} has dtype {array.dtype}, the result has {dtype}: pass {fitting}")
    if array.shape != tuple(shape):
        raise ValueError(f"out= of {name} has shape {array.shape}, the result has {tuple(shape)}")
    if not array.flags.writeable:
        raise ValueError(f"out= of {name} is read-only: pass an array that can be written")


def _takes_place(array: np.ndarray, strides: Sequence[int], others: Sequence[np.ndarray]) -> bool:
    """Whether compiled code may write straight to an array: it lies as the code expects and apart from the others."""
    expected = tuple(s * array.itemsize for s in strides)
    laid = array.size == 0 or all(
        n == 1 or have == want for n, have, want in zip(array.shape, array.strides, expected, strict=True)
    )
    apart = not any(np.may_share_memory(array, other) for other in others)
    return laid and array.flags.aligned and apart and type(array) in (np.ndarray, OnDevice)
