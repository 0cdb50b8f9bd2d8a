"""What threads do wrong is an error that says who, where and what; the same kernel done right runs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from txc.runtime.gpu.gpu_device import DeviceError
from txc.runtime.ptx_simulator import PtxSimulator

from .harness import kernel, launch, line_of

OUT = np.zeros(64, np.uint32)
MINE = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
"""
TILE = ".shared .align 16 .b8 tile[256];"
#: Each thread leaves its number in shared memory and takes its neighbour's.
EXCHANGE = f"""{MINE}
    mov.u32 %r2, tile;
    shl.b32 %r3, %r1, 2;
    add.u32 %r4, %r2, %r3;
    st.shared.u32 [%r4], %r1;
    {{between}}
    xor.b32 %r5, %r1, {{neighbour}};
    shl.b32 %r6, %r5, 2;
    add.u32 %r7, %r2, %r6;
    ld.shared.u32 %r8, [%r7];
    st.global.u32 [%rd3], %r8;
    ret;
"""


def fails(ptx: str, what: str, at: str, arrays=(OUT,), **how) -> DeviceError:
    """The launch fails with this text, at the line of the PTX that has `at`."""
    with pytest.raises(DeviceError, match=re.escape(what)) as info:
        launch(ptx, arrays, **how)
    assert info.value.kernel == "f" and info.value.ptx_line == line_of(ptx, at), str(info.value)
    return info.value


# Memory


@pytest.mark.parametrize("guarded", [True, False])
def test_a_store_out_of_bounds(guarded: bool) -> None:
    guard = "setp.lt.u32 %p1, %r1, 60;\n @!%p1 bra END;" if guarded else ""
    ptx = kernel(f"{MINE}{guard}\n st.global.u32 [%rd3], %r1;\nEND:\n ret;")
    if guarded:
        np.testing.assert_array_equal(launch(ptx, [OUT[:60]])[0], np.arange(60))
    else:
        error = fails(ptx, "out of bounds: 4 bytes at global address", "st.global", [OUT[:60]])
        assert "0 bytes past the end of an allocation of 240 bytes" in error.what
        assert "block (0, 0, 0), thread (60, 0, 0)" in error.what and "`st.global.u32 [%rd3], %r1`" in error.what


def test_the_user_s_line_is_named() -> None:
    body = f"{MINE}\n .loc 1 7 3\n st.global.u32 [%rd3+256], %r1;\n ret;"
    ptx = kernel(body, variables='.file 1 "work/softmax.py"')
    assert fails(ptx, "out of bounds", "st.global").place == "work/softmax.py:7"


def test_a_read_of_memory_that_was_freed() -> None:
    device = PtxSimulator(1 << 20)
    address = device.allocate(256)
    device.write(address, OUT)
    device.free(address)
    ptx = kernel(f"{MINE}\n ld.global.u32 %r2, [%rd3];\n ret;")
    with pytest.raises(DeviceError, match="out of bounds: 4 bytes at global address 0x100, below every allocation"):
        device.load(ptx).launch("f", (1, 1, 1), (1, 1, 1), 0, [address])


@pytest.mark.parametrize("written", [True, False])
def test_a_read_of_never_written_global_memory(written: bool) -> None:
    ptx = kernel(f"{MINE}\n ld.global.u32 %r2, [%rd3];\n st.global.u32 [%rd3], %r2;\n ret;")
    if written:
        launch(ptx, [OUT])
    else:
        error = fails(
            ptx, "read of never-written memory: 4 bytes at offset 0 of an allocation", "ld.global", written=False
        )
        assert "thread (0, 0, 0)" in error.what


def test_a_read_of_never_written_shared_memory() -> None:
    body = f"{MINE}{TILE}\n mov.u32 %r2, tile;\n {{}} ld.shared.u32 %r3, [%r2+12];\n st.global.u32 [%rd3], %r3;\n ret;"
    fails(kernel(body.format("")), "read of never-written memory: 4 bytes at shared address 0xc", "ld.shared")
    right = launch(kernel(body.format("mov.u32 %r4, 9;\n st.shared.u32 [%r2+12], %r4;\n bar.sync 0;\n")), [OUT])
    assert (right[0] == 9).all()


@pytest.mark.parametrize("offset", [0, 4])
def test_a_misaligned_vector_access(offset: int) -> None:
    ptx = kernel(f"""
    ld.param.u64 %rd1, [p0];
    ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%rd1+{offset}];
    st.global.u32 [%rd1], %r4;
    ret;""")
    if offset:
        fails(ptx, "misaligned vector access: 16 bytes at global address 0x104", "ld.global.v4", [np.arange(64)])
    else:
        assert launch(ptx, [np.arange(64, dtype=np.uint32)])[0][0] == 3


def test_a_misaligned_access() -> None:
    ptx = kernel("ld.param.u64 %rd1, [p0];\n ld.global.u64 %rd2, [%rd1+4];\n ret;")
    fails(ptx, "misaligned access: 8 bytes at global address 0x104, which must be a multiple of 8", "ld.global")


def test_shared_memory_ends() -> None:
    ptx = kernel(f"{TILE}\n mov.u32 %r1, 1;\n mov.u32 %r2, tile;\n st.shared.u32 [%r2+256], %r1;\n ret;")
    fails(ptx, "out of bounds: 4 bytes at shared address 0x100, which has 256 bytes", "st.shared")
    launch(ptx.replace("+256", "+252"), [OUT])


# Races


@pytest.mark.parametrize("neighbour", [1, 33])
@pytest.mark.parametrize("between", ["", "bar.sync 0;", "bar.warp.sync -1;"])
def test_a_missing_barrier(between: str, neighbour: int) -> None:
    """A warp's own synchronisation is enough for neighbours within it, and not for others."""
    ptx = kernel(EXCHANGE.format(between=between, neighbour=neighbour), variables=TILE)
    if between == "bar.sync 0;" or (between and neighbour == 1):
        np.testing.assert_array_equal(launch(ptx, [OUT])[0], np.arange(64) ^ neighbour)
    else:
        error = fails(ptx, "shared-memory race: read of shared address", "ld.shared.u32")
        assert f"which thread ({neighbour}, 0, 0) wrote with no barrier between" in error.what


@pytest.mark.parametrize("between", ["", "bar.sync 0;"])
def test_a_write_after_others_read(between: str) -> None:
    body = f"""{MINE}
    mov.u32 %r2, tile;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 st.shared.u32 [%r2], %r1;
    bar.sync 0;
    ld.shared.u32 %r3, [%r2];
    {between}
    mov.u32 %r4, 5;
    @%p1 st.shared.u32 [%r2], %r4; // again
    st.global.u32 [%rd3], %r3;
    ret;"""
    ptx = kernel(body, variables=TILE)
    if between:
        assert not launch(ptx, [OUT])[0].any()
    else:
        error = fails(ptx, "shared-memory race: write of shared address 0x0, which several threads read", "// again")
        assert "thread (0, 0, 0)" in error.what


@pytest.mark.parametrize("value", ["%r5", "%r1"])
def test_threads_that_write_one_place_at_once(value: str) -> None:
    """One value from all of them is no race: blocks run uniform code in every thread."""
    ptx = kernel(
        f"{MINE}\n mov.u32 %r5, 3;\n mov.u32 %r2, tile;\n st.shared.u32 [%r2], {value};\n ret;", variables=TILE
    )
    if value == "%r5":
        launch(ptx, [OUT])
    else:
        fails(ptx, "shared-memory race: threads write different values to shared address 0x0 in one inst", "st.shared")


def test_a_tile_used_twice_needs_two_barriers() -> None:
    """What a loop's next round writes races with what this one reads; two barriers in each round order both."""
    body = f"""{MINE}
    mov.u32 %r2, tile;
    shl.b32 %r3, %r1, 2;
    add.u32 %r4, %r2, %r3;
    xor.b32 %r5, %r3, 252;
    add.u32 %r6, %r2, %r5;
    mov.u32 %r7, 0;
    mov.u32 %r10, 0;
LOOP:
    st.shared.u32 [%r4], %r7;
    bar.sync 0;
    ld.shared.u32 %r8, [%r6];
    {{}}
    add.u32 %r10, %r10, %r8;
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p1, %r7, 4;
    @%p1 bra LOOP;
    st.global.u32 [%rd3], %r10;
    ret;"""
    assert (launch(kernel(body.format("bar.sync 0;"), variables=TILE), [OUT], grid=3)[0] == 6).all()
    fails(kernel(body.format(""), variables=TILE), "shared-memory race: write of shared address", "st.shared")


def test_named_barriers_order_those_who_meet() -> None:
    """One warp produces and arrives, the other waits and consumes."""
    body = f"""{MINE}
    mov.u32 %r2, tile;
    and.b32 %r3, %r1, 31;
    shl.b32 %r3, %r3, 2;
    add.u32 %r4, %r2, %r3;
    setp.lt.u32 %p1, %r1, 32;
    @!%p1 bra CONSUMER;
    st.shared.u32 [%r4], %r1;
    bar.arrive {{}}, 64;
    ret;
CONSUMER:
    bar.sync {{}}, 64;
    ld.shared.u32 %r5, [%r4];
    st.global.u32 [%rd3], %r5;
    ret;"""
    found = launch(kernel(body.format(3, 3), variables=TILE), [OUT])[0]
    np.testing.assert_array_equal(found[32:], np.arange(32))
    fails(kernel(body.format(3, 4), variables=TILE), "divergent barrier: 32 of 64 threads", "bar.sync")


# Barriers


@pytest.mark.parametrize("threads", [16, 32, 64])
def test_a_divergent_barrier(threads: int) -> None:
    ptx = kernel(f"""{MINE}
    setp.lt.u32 %p1, %r1, {threads};
    @!%p1 bra END;
    bar.sync 0;
END:
    st.global.u32 [%rd3], %r1;
    ret;""")
    if threads == 64:
        launch(ptx, [OUT])
    else:
        error = fails(
            ptx, f"divergent barrier: {threads} of 64 threads of block (0, 0, 0) wait in `bar.sync 0`", "bar.sync"
        )
        assert f"thread ({threads}, 0, 0) has ended" in error.what


def test_a_guarded_barrier_is_divergent_too() -> None:
    body = f"{MINE}\n setp.lt.u32 %p1, %r1, 8;\n @%p1 bar.sync 0;\n bar.sync 1;\n ret;"
    error = fails(kernel(body), "divergent barrier: 8 of 64 threads", "bar.sync 0")
    assert "thread (8, 0, 0) waits in `bar.sync 1` at PTX line" in error.what


def test_threads_of_a_warp_that_meet_at_different_instructions() -> None:
    body = f"""{MINE}
    and.b32 %r2, %r1, 1;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra EVEN;
    {{}} 0;
    ret;
EVEN:
    {{}} 0;
    ret;"""
    fails(kernel(body.format("bar.sync", "bar.sync")), "divergent barrier: threads of one warp wait in", "bar.sync 0")
    launch(kernel(body.format("barrier.sync", "barrier.sync")), [OUT])


# Waiting that never ends


def test_a_flag_that_nobody_sets() -> None:
    body = """
    ld.param.u64 %rd1, [p0];
WAIT:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra WAIT;
    ret;"""
    fails(
        kernel(body), "deadlock: no thread can go on; block (0, 0, 0), thread (0, 0, 0) waits in a loop", "ld.volatile"
    )
    launch(kernel(body), [OUT + 1])


@pytest.mark.parametrize("setter", [0, 40])
def test_a_flag_that_another_thread_sets(setter: int) -> None:
    """Threads that spin do not keep away the one they wait for, in their own warp or another."""
    body = f"""{MINE}
    setp.eq.u32 %p1, %r1, {setter};
    @%p1 bra SET;
WAIT:
    ld.volatile.global.u32 %r2, [%rd1];
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra WAIT;
    bra END;
SET:
    mov.u32 %r2, 7;
    st.volatile.global.u32 [%rd1], %r2;
END:
    st.global.u32 [%rd3], %r2;
    ret;"""
    assert (launch(kernel(body), [OUT], grid=1)[0] == 7).all()


def test_a_shuffle_whose_threads_never_come() -> None:
    body = f"""{MINE}
    setp.lt.u32 %p1, %r1, 16;
    @!%p1 bra END;
    shfl.sync.idx.b32 %r2, %r1, 0, 31, {{}};
END:
    ret;"""
    fails(
        kernel(body.format(-1)),
        "deadlock: no thread can go on; block (0, 0, 0), thread (0, 0, 0) waits for",
        "shfl.sync",
    )
    launch(kernel(body.format(65535)), [OUT])


# Launches and texts


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ({"block": 2048}, "block (2048, 1, 1); each size is from 1 to that of (1024, 1024, 64)"),
        ({"block": (64, 32, 1)}, "2048 threads a block; at most 1024"),
        ({"grid": 0}, "grid (0, 1, 1); each size is from 1"),
        ({"shared": 300000}, "0 + 300000 bytes of shared memory; at most 232448"),
        ({"numbers": [3]}, "2 arguments; it has 1 parameters"),
    ],
)
def test_an_invalid_launch(how: dict, what: str) -> None:
    with pytest.raises(DeviceError, match=re.escape(f"kernel f: invalid launch: {what}")):
        launch(kernel("ret;"), [OUT], **how)


def test_launch_bounds() -> None:
    with pytest.raises(DeviceError, match=re.escape("64 threads a block; .maxntid allows (32, 1, 1)")):
        launch(kernel("ret;", directives=".maxntid 32, 1, 1"), [OUT])
    with pytest.raises(DeviceError, match=re.escape("block (64, 1, 1); .reqntid asks for (128, 1, 1)")):
        launch(kernel("ret;", directives=".reqntid 128"), [OUT])


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("frobnicate.b32 %r1, %r2;", "instruction that is not known: frobnicate.b32 %r1, %r2"),
        ("add.rn.s32 %r1, %r2, %r3;", "modifier .rn is not known here: add.rn.s32 %r1, %r2, %r3"),
        ("add.s32 %r1, %r2, %rd3;", "a register of 64 bits where .s32 is needed"),
        ("mov.u32 %r1, %nonsense;", "special register %nonsense is not known"),
        ("bra NOWHERE;", "no such label: bra NOWHERE"),
        ("ld.global.u32 %r1, [missing];", "missing is not declared"),
    ],
)
def test_what_is_not_known_is_an_error_at_load(statement: str, what: str) -> None:
    ptx = kernel(f"    {statement}\n    ret;")
    with pytest.raises(DeviceError, match=re.escape(what)) as info:
        PtxSimulator(1 << 20).load(ptx)
    assert info.value.ptx_line == line_of(ptx, statement)


def test_no_memory_left() -> None:
    device = PtxSimulator(1 << 20)
    kept = device.allocate(1 << 19)
    with pytest.raises(
        DeviceError, match="out of memory: 1048576 bytes asked for, 524288 of 1048576 in use by 1 alloc"
    ):
        device.allocate(1 << 20)
    device.free(kept)
    assert device.allocate(1 << 19) == kept and kept % 256 == 0
