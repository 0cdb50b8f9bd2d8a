"""`wgmma`: operands in shared memory in every layout that descriptors know, and what is read before it is waited for.

Layouts are written here as CUTLASS does (`mma_sm90_desc.hpp`): shapes and strides in units of 16 bytes, and a function
that exchanges bits of the address.
"""

from __future__ import annotations

import numpy as np
import pytest

from txc.runtime.gpu.gpu_device import DeviceError

from .harness import kernel, launch

N, IMAGE, HALF = 16, 16384, 8192
RNG = np.random.default_rng(7)


def body(types: str, a: int, b: int, tail: str, wait: str = "wgmma.wait_group.sync.aligned 0;") -> str:
    """The image comes into shared memory, 128 bytes a thread; every thread stores the eight sums that it has."""
    copies = "\n".join(
        f"ld.global.v4.u32 {{%r10, %r11, %r12, %r13}}, [%rd4+{16 * i}];\n"
        f"st.shared.v4.u32 [%r3+{16 * i}], {{%r10, %r11, %r12, %r13}};"
        for i in range(8)
    )
    sums = ", ".join(f"%r{20 + i}" for i in range(8))
    zeros = "\n".join(f"mov.u32 %r{20 + i}, 0;" for i in range(8))
    stores = "\n".join(f"st.global.u32 [%rd6+{4 * i}], %r{20 + i};" for i in range(8))
    return f"""
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 128;
    add.s64 %rd4, %rd1, %rd3;
    mov.u32 %r2, tile;
    shl.b32 %r3, %r1, 7;
    add.u32 %r3, %r3, %r2;
    {copies}
    fence.proxy.async.shared::cta;
    bar.sync 0;
    {zeros}
    mov.u64 %rd7, {a};
    mov.u64 %rd8, {b};
    cvt.u64.u32 %rd9, %r2;
    shr.u64 %rd9, %rd9, 4;
    add.u64 %rd7, %rd7, %rd9;
    add.u64 %rd8, %rd8, %rd9;
    setp.eq.u32 %p1, 0, 0;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.{types} {{{sums}}}, %rd7, %rd8, %p1{tail};
    wgmma.commit_group.sync.aligned;
    {wait}
    bar.sync 0;
    st.shared.u32 [%r3], %r1;
    wgmma.wait_group.sync.aligned 0;
    mul.wide.u32 %rd5, %r1, 32;
    add.s64 %rd6, %rd2, %rd5;
    {stores}
    ret;"""


TILE = f".shared .align 1024 .b8 tile[{IMAGE}];"


def multiplied(image: np.ndarray, text: str, kind: type) -> np.ndarray:
    sums = np.zeros((128, 8), kind)
    found = launch(kernel(text, 2, TILE), [image, sums], block=128)[1]
    matrix = np.zeros((64, N), kind)
    for thread in range(128):
        warp, group, member = thread // 32, thread % 32 // 4, thread % 4
        for i in range(8):
            matrix[16 * warp + group + i // 2 % 2 * 8, i // 4 * 8 + 2 * member + i % 2] = found[thread, i]
    return matrix


def place(mode: int, mn_major: bool, row: int, k: int, size: int, leading: int, stride: int) -> int:
    """The byte of an element: row of A or column of B, and place along K."""
    units, bits = {0: (1, 0), 3: (2, 1), 2: (4, 2), 1: (8, 3)}[mode]
    per = 16 // size
    if mn_major and mode == 0:
        at = row // per * (stride // 16) + k % 8 + k // 8 * (leading // 16)
    elif mn_major:
        panel, inside = divmod(row // per, units)
        at = inside + panel * (leading // 16) + k % 8 * units + k // 8 * (stride // 16)
    elif mode == 0:
        at = row % 8 + row // 8 * (stride // 16) + k // per * (leading // 16)
    else:
        at = row % 8 * units + row // 8 * (stride // 16) + k // per
    at ^= at >> 3 & (1 << bits) - 1
    return 16 * at + (row if mn_major else k) % per * size


def image_of(
    parts: list[tuple[np.ndarray, bool, int, int]], mode: int
) -> tuple[np.ndarray, list[int]]:  # fmt: skip
    """Shared memory with both operands, one at its start and one at its half, and their descriptors."""
    image, found = np.zeros(IMAGE, np.uint8), []
    for base, (matrix, mn_major, leading, stride) in zip((0, HALF), parts, strict=True):
        for (row, k), value in np.ndenumerate(matrix):
            at = base + place(mode, mn_major, row, k, matrix.itemsize, leading, stride)
            image[at : at + matrix.itemsize] = np.frombuffer(value.tobytes(), np.uint8)
        found.append(mode << 62 | stride // 16 << 32 | leading // 16 << 16 | base // 16)
    return image, found


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
@pytest.mark.parametrize("majors", [(False, False), (True, False), (False, True), (True, True)], ids=str)
def test_every_layout(mode: int, majors: tuple[bool, bool]) -> None:
    a, b = (RNG.integers(-4, 5, (rows, 16)).astype(np.float16) for rows in (64, N))
    width = {0: 16, 1: 128, 2: 64, 3: 32}[mode]
    leading, stride = (1024, 128) if mode == 0 else (16 * width, 8 * width)
    image, (left, right) = image_of([(a, majors[0], leading, stride), (b, majors[1], leading, stride)], mode)
    tail = f", 1, 1, {int(majors[0])}, {int(majors[1])}"
    found = multiplied(image, body("m64n16k16.f32.f16.f16", left, right, tail), np.float32)
    np.testing.assert_array_equal(found, a.astype(np.float32) @ b.T.astype(np.float32))


def test_bytes_of_two_signs() -> None:
    a, b = RNG.integers(-128, 128, (64, 32)).astype(np.int8), RNG.integers(0, 256, (N, 32)).astype(np.uint8)
    image, (left, right) = image_of([(a, False, 16, 1024), (b, False, 16, 1024)], 1)
    found = multiplied(image, body("m64n16k32.s32.s8.u8", left, right, ""), np.int32)
    np.testing.assert_array_equal(found, a.astype(np.int32) @ b.T.astype(np.int32))


def test_who_writes_what_a_product_still_reads() -> None:
    a, b = np.ones((64, 16), np.float16), np.ones((N, 16), np.float16)
    image, (left, right) = image_of([(a, False, 16, 1024), (b, False, 16, 1024)], 1)
    text = body("m64n16k16.f32.f16.f16", left, right, ", 1, 1, 0, 0", wait="")
    with pytest.raises(DeviceError, match="race"):
        multiplied(image, text, np.float32)


@pytest.mark.parametrize(
    ("types", "tail", "message"),
    [
        ("m64n16k8.f32.f16.f16", ", 1, 1, 0, 0", "a matrix product that is not known"),
        ("m64n24k16.f32.f16.f16", ", 1, 1, 0, 0", "12 registers are needed for the sums"),
        ("m64n16k16.f32.f16.f16", "", "two signs and two majors are needed of floats"),
    ],
)
def test_what_is_not_known(types: str, tail: str, message: str) -> None:
    with pytest.raises(DeviceError, match=message):
        multiplied(np.zeros(IMAGE, np.uint8), body(types, 0, 0, tail), np.float32)
