"""What the simulator counts: instructions by class, sectors of global memory, conflicts of banks."""

from __future__ import annotations

import numpy as np
import pytest

from txc.runtime.ptx_simulator import PtxSimulator
from txc.runtime.ptx_simulator.execution.perf_counters import KernelCounts

from .harness import kernel


def counted(body: str, size: int = 1 << 16, block: int = 64, grid: int = 1) -> KernelCounts:
    device = PtxSimulator(1 << 20)
    address = device.allocate(size)
    device.write(address, np.zeros(size, np.uint8))
    module = device.load(kernel(body, variables=".shared .align 16 .b8 tile[16384];"))
    module.launch("f", (grid, 1, 1), (block, 1, 1), 0, [address])
    with device.counting() as counts:
        module.launch("f", (grid, 1, 1), (block, 1, 1), 0, [address])
    assert list(counts) == ["f"] and counts["f"].launches == 1
    return counts["f"]


@pytest.mark.parametrize(
    ("stride", "access", "sectors"),
    [(4, "v1.f32", 4), (8, "v1.f32", 8), (64, "v1.f32", 32), (16, "v4.f32", 16), (0, "v1.f32", 1), (2, "v1.b16", 2)],
)
def test_sectors_of_global_memory(stride: int, access: str, sectors: int) -> None:
    """Each of two warps touches so many pieces of 32 bytes."""
    vector, kind = access.split(".")
    letter = "%f" if kind == "f32" else "%rs"
    values = f"{{{letter}1, {letter}2, {letter}3, {letter}4}}" if vector == "v4" else f"{letter}1"
    name = "v4." if vector == "v4" else ""
    counts = counted(f"""
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, {stride};
    add.s64 %rd3, %rd1, %rd2;
    ld.global.{name}{kind} {values}, [%rd3];
    ret;""")
    assert (counts.global_load_requests, counts.global_load_sectors) == (2, 2 * sectors)
    assert counts.global_store_sectors == 0


@pytest.mark.parametrize(
    ("stride", "access", "conflicts"),
    [(4, "", 0), (8, "", 1), (128, "", 31), (132, "", 0), (16, "v4.", 0), (32, "v4.", 4)],
)
def test_conflicts_of_banks(stride: int, access: str, conflicts: int) -> None:
    values = "{%r5, %r6, %r7, %r8}" if access else "%r5"
    counts = counted(f"""
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %r1, {stride}, %r2;
    mov.u32 %r5, 1;
    mov.u32 %r6, 1;
    mov.u32 %r7, 1;
    mov.u32 %r8, 1;
    st.shared.{access}b32 [%r3], {values};
    ret;""")
    assert (counts.shared_requests, counts.shared_bank_conflicts) == (2, 2 * conflicts)


def test_instructions_by_class() -> None:
    """Half of the threads go one way; the others skip two instructions."""
    counts = counted(
        """
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra END;
    add.s32 %r2, %r1, 1;
    mov.f32 %f1, 0f3F800000;
    add.rn.f32 %f2, %f1, %f1;
END:
    ret;""",
        grid=3,
    )
    threads = 3 * 64
    assert counts.instructions == {
        "Data Movement and Conversion": threads + threads // 2,
        "Comparison and Selection": threads,
        "Control Flow": 2 * threads,
        "Integer Arithmetic": threads // 2,
        "Floating Point": threads // 2,
    }
