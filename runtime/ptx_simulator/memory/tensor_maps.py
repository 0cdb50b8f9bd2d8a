"""Tensor maps: how a kernel's parameter holds one here, and the boxes that it describes.

On a GPU the 128 bytes are opaque ("Data Movement and Conversion Instructions: Tensor copy"); these are this one's own.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import gcd, prod

import numpy as np

from ...gpu.gpu_device import TensorMap
from ..ptx.types import Array
from .byte_memory import Fault
from .global_memory import Heap

__all__ = ["BYTES", "box_of", "decoded", "encoded"]

BYTES = 128
#: What begins a map, its address, element size and dims; then, filled up with zeros, extents, strides and a box.
_FORM, _MARK, _MOST = struct.Struct("<8sQII5Q4Q5I"), b"txc map\0", 5


def encoded(tensor: TensorMap) -> bytes:
    """What a kernel is given.  DeviceError where no device could take the map."""
    tensor.check()

    def filled(values: Sequence[int], count: int) -> list[int]:
        return [*values, *[0] * (count - len(values))]

    dims = len(tensor.extents)
    lists = (*filled(tensor.extents, _MOST), *filled(tensor.strides, _MOST - 1), *filled(tensor.box, _MOST))
    return _FORM.pack(_MARK, tensor.address, tensor.size, dims, *lists).ljust(BYTES, b"\0")


def decoded(data: bytes) -> TensorMap:
    """What `encoded` was given; a Fault for other bytes."""
    mark, address, size, dims, *lists = _FORM.unpack_from(data.ljust(BYTES, b"\0"))
    if mark != _MARK:
        raise Fault("no tensor map lies there")
    extents, strides, box = lists[:_MOST], lists[_MOST : 2 * _MOST - 1], lists[2 * _MOST - 1 :]
    return TensorMap(address, size, tuple(extents[:dims]), tuple(strides[: dims - 1]), tuple(box[:dims]))


def box_of(tensor: TensorMap, at: Sequence[int], heap: Heap) -> tuple[Array, Array, Array]:
    """The box that begins at a point, as words of 8 bytes, the offset of each, and the addresses that were read.

    The last place is that along the contiguous dim.  What lies beyond the tensor is zero.
    """
    if len(at) != len(tensor.extents):
        raise Fault(f"{len(at)} places in a tensor of {len(tensor.extents)} dims")
    *outer, line = tensor.box
    # Bytes that are inside or outside together, and lie together in memory.
    unit = gcd(8, at[-1] * tensor.size, tensor.extents[-1] * tensor.size)
    points = np.indices(outer, np.int64).reshape(len(outer), prod(outer))
    rows, base = np.ones(prod(outer), bool), np.full(prod(outer), tensor.address, np.int64)
    for start, offsets, extent, stride in zip(at, points, tensor.extents, tensor.strides):
        rows &= (start + offsets >= 0) & (start + offsets < extent)
        base += (start + offsets) * stride
    along = at[-1] * tensor.size + unit * np.arange(line * tensor.size // unit)
    inside = rows[:, None] & ((along >= 0) & (along < tensor.extents[-1] * tensor.size))[None, :]
    read = (base[:, None] + along[None, :])[inside].astype(np.uint64)
    found = np.zeros(inside.shape, f"u{unit}")
    if len(read):
        found[inside] = heap.load(read, 0, unit)[0]
    words = found.reshape(-1).view(np.uint64)
    return words, np.arange(0, 8 * len(words), 8, dtype=np.uint64), read
