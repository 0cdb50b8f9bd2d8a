"""Boxes that tensor maps describe: what comes to lie where, and maps and copies that are refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from txc.runtime.gpu.gpu_device import DeviceError, TensorMap
from txc.runtime.ptx_simulator import PtxSimulator
from txc.runtime.ptx_simulator.memory.tensor_maps import decoded, encoded


def body(dims: int, size: int, to: str = "tile", expected: int | None = None) -> str:
    """Thread 0 has a box copied; all threads wait, and copy shared memory as it lies there to the result."""
    places = ", ".join(f"%r{10 + i}" for i in range(dims))
    loads = "\n".join(f"ld.param.b32 %r{10 + i}, [p{i}];" for i in range(dims))
    numbers = "".join(f", .param .u32 p{i}" for i in range(dims))
    return f"""
.version 8.3
.target sm_90a
.address_size 64
.shared .align 1024 .b8 tile[{size}];
.shared .align 8 .b8 bar[8];
.visible .entry f(.param .align 64 .b8 m[128], .param .u64 out{numbers})
{{
    .reg .pred %p<4>;
    .reg .b32 %r<20>;
    .reg .b64 %rd<9>;
    {loads}
    ld.param.u64 %rd1, [out];
    mov.b64 %rd2, m;
    cvta.param.u64 %rd2, %rd2;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, {to};
    mov.u32 %r3, bar;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READY;
    prefetch.tensormap [%rd2];
    mbarrier.init.shared::cta.b64 [%r3], 1;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {size if expected is None else expected};
    cp.async.bulk.tensor.{dims}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
        [%r2], [%rd2, {{{places}}}], [%r3];
READY:
    bar.sync 0;
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0;
    @!%p2 bra WAIT;
    shl.b32 %r4, %r1, 3;
LOOP:
    cvt.u64.u32 %rd3, %r4;
    add.s64 %rd4, %rd1, %rd3;
    mov.u32 %r5, tile;
    add.s32 %r5, %r5, %r4;
    ld.shared.b64 %rd5, [%r5];
    st.global.b64 [%rd4], %rd5;
    add.s32 %r4, %r4, 256;
    setp.lt.s32 %p3, %r4, {size};
    @%p3 bra LOOP;
    ret;
}}
"""


def copied(data: np.ndarray, size_of_box: tuple[int, ...], at: tuple[int, ...], **changed: Any) -> np.ndarray:
    """Shared memory after a box of an array's elements came, as bytes; `changed` are fields of the map."""
    device = PtxSimulator(1 << 20)
    source, size = device.allocate(data.nbytes), int(np.prod(size_of_box)) * data.itemsize
    out = device.allocate(size)
    device.write(source, data)
    tensor = TensorMap(source, data.itemsize, data.shape, data.strides[:-1], size_of_box)
    fields = {name: value(getattr(tensor, name)) for name, value in changed.items() if callable(value)}
    how = {name: value for name, value in changed.items() if not callable(value)}
    given = [tensor._replace(**fields), out, *reversed(at)]
    device.load(body(len(at), size, **how)).launch("f", (1, 1, 1), (32, 1, 1), 0, given)
    found = np.empty(size, np.uint8)
    device.read(out, found)
    return found


def box_of(data: np.ndarray, box: tuple[int, ...], at: tuple[int, ...]) -> np.ndarray:
    """The elements of a box, zero where there are none, element by element."""
    found = np.zeros(box, data.dtype)
    for place in np.ndindex(*box):
        there = tuple(a + p for a, p in zip(at, place, strict=True))
        if all(0 <= t < s for t, s in zip(there, data.shape, strict=True)):
            found[place] = data[there]
    return found


@pytest.mark.parametrize(
    ("shape", "box", "at"),
    [
        ((20, 80), (16, 64), (0, 0)),
        ((20, 80), (16, 64), (7, 40)),
        ((20, 80), (8, 64), (-3, -5)),
        ((5, 8), (8, 64), (2, 0)),
        ((3, 9, 64), (1, 8, 64), (2, 4, 0)),
        ((9, 3, 72), (8, 1, 64), (1, 2, 16)),
        ((2, 3, 4, 5, 64), (2, 1, 2, 2, 64), (1, 1, 3, 4, 1)),
    ],
)
@pytest.mark.parametrize("kind", [np.uint16, np.uint8])
def test_a_box_lies_in_lines_whose_granules_are_exchanged(
    shape: tuple[int, ...], box: tuple[int, ...], at: tuple[int, ...], kind: Any
) -> None:  # fmt: skip
    if kind is np.uint8:
        shape, box = (*shape[:-1], 2 * shape[-1]), (*box[:-1], 2 * box[-1])
    data = np.random.default_rng(3).integers(1, 250, shape).astype(kind)
    lines = copied(data, box, at).reshape(-1, 8, 16)
    expected = box_of(data, box, at).view(np.uint8).reshape(-1, 8, 16)
    for line, wanted in enumerate(expected):
        for granule in range(8):
            np.testing.assert_array_equal(lines[line, granule ^ line % 8], wanted[granule])


DATA = np.ones((20, 80), np.uint16)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"address": lambda a: a + 2}, "a tensor map that no device takes: address 0x102 is no multiple of 16"),
        ({"strides": lambda s: (s[0] + 2,)}, "strides (162,): each is a multiple of 16 bytes below 2**40"),
        ({"strides": lambda s: (0,)}, "strides (0,): each is a multiple of 16 bytes below 2**40"),
        ({"extents": lambda e: (0, 80)}, "extents (0, 80): each is from 1 to 2**32"),
        ({"box": lambda b: (257, 64)}, "boxes (257, 64) of 2-byte elements: at most 256 along a dim, 128 bytes along"),
        ({"box": lambda b: (8, 32)}, "boxes (8, 32) of 2-byte elements: at most 256 along a dim, 128 bytes along"),
        ({"strides": lambda s: ()}, "2 extents, 0 strides and 2 sizes of a box"),
        ({"extents": lambda e: (40, 80)}, "out of bounds: 8 bytes at global address"),
        ({"to": "tile+64"}, "a tensor copy to shared address 0x40, which must be a multiple of 128"),
        ({"to": "tile+1024"}, "out of bounds"),
        ({"expected": 512}, "deadlock: no thread can go on"),
    ],
)
def test_what_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(DeviceError, match=re.escape(said)):
        copied(DATA, (8, 64), (16, 0), **changed)


INIT = "mbarrier.init.shared::cta.b64 [%r3], 1;"


def launch(ptx: str, described: Callable[[int], TensorMap]) -> None:
    device = PtxSimulator(1 << 20)
    memory = device.allocate(1 << 14)
    device.write(memory, np.ones(1 << 14, np.uint8))
    device.load(ptx).launch("f", (1, 1, 1), (32, 1, 1), 0, [described(memory), memory, 0, 0])


def map_of(memory: int) -> TensorMap:
    return TensorMap(memory, 2, (8, 64), (128,), (8, 64))


def test_what_is_not_there() -> None:
    right = body(2, 1024)
    launch(right, map_of)
    for old, new, said in (
        ("cvta.param.u64 %rd2, %rd2", "mov.u64 %rd2, %rd1", "no tensor map lies there"),
        ("[%rd2, {", "[%rd2+8, {", "which must be a multiple of 64"),
        (
            "mbarrier.init.shared::cta.b64 [%r3], 1;",
            "mbarrier.init.shared::cta.b64 [%r3], 1;" * 2,
            "lies there already",
        ),
        ("{%r10, %r11}", "{%r10}", "2 places are needed"),
        ("tensor.2d", "tensor.6d", "a tensor copy that is not known"),
        ("@!%p2 bra WAIT;", "", "read of never-written memory"),
    ):
        assert old in right
        with pytest.raises(DeviceError, match=said):
            launch(right.replace(old, new), map_of)


def test_the_dims_of_map_and_copy_are_the_same() -> None:
    three = map_of(0)._replace(extents=(1, 8, 64), strides=(1024, 128), box=(1, 8, 64))
    with pytest.raises(DeviceError, match="2 places in a tensor of 3 dims"):
        launch(body(2, 1024), lambda memory: three._replace(address=memory))


def test_a_map_is_read_back() -> None:
    tensor = TensorMap(1 << 40, 2, (1 << 32, 7, 64), (1 << 39, 128), (1, 256, 64))
    assert decoded(encoded(tensor)) == tensor and len(encoded(tensor)) == 128
