"""mbarriers and bulk copies: pipelines that run, and what happens without a wait."""

from __future__ import annotations

import numpy as np
import pytest

from txc.runtime.gpu.gpu_device import DeviceError

from .harness import kernel, launch

TILE = ".shared .align 16 .b8 tile[1024];\n.shared .align 8 .b8 bars[32];"
#: Thread 0 has a row of 256 bytes copied; everyone adds one to an element of it.
COPY = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mul.wide.u32 %rd2, %r2, 256;
    add.s64 %rd3, %rd1, %rd2;
    mov.u32 %r3, tile;
    mov.u32 %r4, bars;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READY;
    mbarrier.init.shared::cta.b64 [%r4], 1;
READY:
    bar.sync 0;
    @%p1 bra WAIT;
    mbarrier.arrive.expect_tx.shared::cta.b64 %rd9, [%r4], 256;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd3], 256, [%r4];
WAIT:
    WAITING
    shl.b32 %r5, %r1, 2;
    add.u32 %r6, %r3, %r5;
    ld.shared.u32 %r7, [%r6];
    add.u32 %r7, %r7, 1;
    st.shared.u32 [%r6], %r7;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p1 bra END;
    cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r3], 256;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
END:
    ret;"""
LOOP = "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;\n @!%p2 bra WAIT;"


def test_a_bulk_copy_there_and_back() -> None:
    data = np.arange(5 * 64, dtype=np.uint32)
    found = launch(kernel(COPY.replace("WAITING", LOOP), variables=TILE), [data], grid=5)[0]
    np.testing.assert_array_equal(found, data + 1)


def test_a_bulk_copy_that_is_not_waited_for() -> None:
    with pytest.raises(DeviceError, match="read of never-written memory: 4 bytes at shared address"):
        launch(kernel(COPY.replace("WAITING", ""), variables=TILE), [np.zeros(64, np.uint32)])


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("[%rd3], 256, [%r4]", "[%rd3], 128, [%r4]", "deadlock: no thread can go on"),
        ("[%r3], [%rd3], 256, [%r4]", "[%r3], [%rd3+4], 256, [%r4]", "each is a multiple of 16"),
        ("%rd9, [%r4], 256", "%rd9, [%r4+8], 256", "read of never-written memory: 8 bytes at shared address"),
        ("@%p1 bra WAIT;", "", "arrivals more than the mbarrier waits for"),
    ],
)
def test_pipelines_done_wrong(old: str, new: str, what: str) -> None:
    ptx = kernel(COPY.replace("WAITING", LOOP).replace(old, new), variables=TILE)
    with pytest.raises(DeviceError, match=what):
        launch(ptx, [np.zeros(64, np.uint32)])


#: Warp 0 fills two buffers by turns, warp 1 empties them, four times; two mbarriers for each buffer, full and empty.
PIPELINE = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    and.b32 %r2, %r1, 31;
    mov.u32 %r3, tile;
    mov.u32 %r4, bars;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra READY;
    mbarrier.init.shared.b64 [%r4], 32;
    mbarrier.init.shared.b64 [%r4+8], 32;
    mbarrier.init.shared.b64 [%r4+16], 32;
    mbarrier.init.shared.b64 [%r4+24], 32;
READY:
    bar.sync 0;
    mov.u32 %r10, 0;
    mov.u32 %r20, 0;
    setp.ge.u32 %p2, %r1, 32;
    @%p2 bra CONSUMER;
PRODUCER:
    and.b32 %r11, %r10, 1;
    shr.u32 %r12, %r10, 1;
    mad.lo.u32 %r13, %r11, 8, %r4;
    mad.lo.u32 %r14, %r11, 128, %r3;
    mad.lo.u32 %r15, %r2, 4, %r14;
    xor.b32 %r16, %r12, 1;
EMPTY:
    EMPTYWAIT
    mad.lo.u32 %r17, %r10, 100, %r2;
    st.shared.u32 [%r15], %r17;
    mbarrier.arrive.shared.b64 _, [%r13];
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p3, %r10, 4;
    @%p3 bra PRODUCER;
    ret;
CONSUMER:
    and.b32 %r11, %r10, 1;
    shr.u32 %r12, %r10, 1;
    mad.lo.u32 %r13, %r11, 8, %r4;
    mad.lo.u32 %r14, %r11, 128, %r3;
    xor.b32 %r16, %r2, 1;
    mad.lo.u32 %r15, %r16, 4, %r14;
FULL:
    FULLWAIT
    ld.shared.u32 %r17, [%r15];
    add.u32 %r20, %r20, %r17;
    mbarrier.arrive.shared.b64 %rd9, [%r13+16];
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p3, %r10, 4;
    @%p3 bra CONSUMER;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r20;
    ret;"""
EMPTY_WAIT = "mbarrier.try_wait.parity.shared.b64 %p4, [%r13+16], %r16;\n @!%p4 bra EMPTY;"
FULL_WAIT = "mbarrier.test_wait.parity.shared.b64 %p4, [%r13], %r12;\n @!%p4 bra FULL;"


def pipeline(empty: str, full: str) -> np.ndarray:
    body = PIPELINE.replace("EMPTYWAIT", empty).replace("FULLWAIT", full)
    return launch(kernel(body, variables=TILE), [np.zeros(32, np.uint32)], grid=2)[0]


def test_warps_that_produce_and_consume() -> None:
    np.testing.assert_array_equal(pipeline(EMPTY_WAIT, FULL_WAIT), 600 + 4 * (np.arange(32) ^ 1))


@pytest.mark.parametrize(("empty", "full"), [("", FULL_WAIT), (EMPTY_WAIT, "")])
def test_a_pipeline_without_one_of_its_waits(empty: str, full: str) -> None:
    """The producer overwrites what may not have been read, or the consumer reads what may not have been written."""
    with pytest.raises(DeviceError, match=r"shared-memory race|never-written memory|deadlock"):
        pipeline(empty, full)
