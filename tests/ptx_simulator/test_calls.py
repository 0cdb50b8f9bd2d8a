"""Device functions, divergence inside them, and loops whose paths part and meet."""

from __future__ import annotations

import numpy as np
import pytest

from txc.runtime.gpu.gpu_device import DeviceError
from txc.runtime.ptx_simulator import PtxSimulator

from .harness import kernel, run

#: ``collatz(n)``: how often, written as two functions, one of which calls the other in a loop.
FUNCTIONS = """
.func (.param .b32 result) step(.param .b32 n)
{
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    ld.param.b32 %r1, [n];
    and.b32 %r2, %r1, 1;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra EVEN;
    mad.lo.u32 %r3, %r1, 3, 1;
    st.param.b32 [result], %r3;
    ret;
EVEN:
    shr.u32 %r3, %r1, 1;
    st.param.b32 [result], %r3;
    ret;
}
.func (.param .b32 result) collatz(.param .b32 n)
{
    .reg .pred %p<3>;
    .reg .b32 %r<6>;
    ld.param.b32 %r1, [n];
    mov.u32 %r2, 0;
LOOP:
    setp.le.u32 %p1, %r1, 1;
    @%p1 bra END;
    {
    .param .b32 given;
    .param .b32 taken;
    st.param.b32 [given], %r1;
    call.uni (taken), step, (given);
    ld.param.b32 %r1, [taken];
    }
    add.u32 %r2, %r2, 1;
    bra LOOP;
END:
    st.param.b32 [result], %r2;
    ret;
}
"""
BODY = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    {
    .param .b32 given;
    .param .b32 taken;
    st.param.b32 [given], %r1;
    call.uni (taken), collatz, (given);
    ld.param.b32 %r2, [taken];
    }
    st.global.u32 [%rd3], %r2;
    ret;
"""


def collatz(n: int) -> int:
    return 0 if n <= 1 else 1 + collatz(n // 2 if n % 2 == 0 else 3 * n + 1)


def test_functions_whose_threads_part() -> None:
    found = run(BODY, np.zeros(64, np.uint32), variables=FUNCTIONS)
    np.testing.assert_array_equal(found, [collatz(i) for i in range(64)])


def test_calls_that_are_not_known() -> None:
    with pytest.raises(DeviceError, match=r"no such function: call\.uni \(taken\), collatz, \(given\)"):
        run(BODY, np.zeros(64, np.uint32))
    recursive = FUNCTIONS.replace("call.uni (taken), step", "call.uni (taken), collatz")
    with pytest.raises(DeviceError, match="collatz calls itself"):
        run(BODY, np.zeros(64, np.uint32), variables=recursive)


def test_a_table_of_jumps() -> None:
    body = """
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    and.b32 %r2, %r1, 3;
TABLE: .branchtargets A, B, A, C;
    brx.idx %r2, TABLE;
A:
    mov.u32 %r3, 10;
    bra END;
B:
    mov.u32 %r3, 20;
    bra END;
C:
    mov.u32 %r3, 30;
END:
    st.global.u32 [%rd3], %r3;
    ret;"""
    np.testing.assert_array_equal(run(body, np.zeros(64, np.uint32)), np.tile([10, 20, 10, 30], 16))
    with pytest.raises(DeviceError, match="jump to entry 3 of a table of 2"):
        run(body.replace("A, B, A, C", "A, B"), np.zeros(64, np.uint32))


def test_variables_of_the_module() -> None:
    """Constants with values, zeros where there are none, generic addresses, local memory, narrow types."""
    variables = """
.const .align 4 .b32 table[4] = {7, 8, 9, -1};
.global .align 4 .b32 sums[2];
.extern .shared .align 16 .b8 dynamic[];
"""
    body = """
    .local .align 8 .b8 depot[16];
    ld.param.u64 %rd1, [p0];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    and.b32 %r2, %r1, 3;
    mul.wide.u32 %rd4, %r2, 4;
    mov.u64 %rd5, table;
    cvta.const.u64 %rd5, %rd5;
    add.s64 %rd6, %rd5, %rd4;
    ld.u32 %r3, [%rd6];
    ld.global.u32 %r4, [sums+4];
    add.u32 %r3, %r3, %r4;
    mov.u64 %rd7, depot;
    cvta.local.u64 %rd8, %rd7;
    st.u8 [%rd8+3], %r3;
    ld.local.s8 %r5, [%rd7+3];
    mov.u64 %rd9, dynamic;
    cvta.shared.u64 %rd10, %rd9;
    add.s64 %rd11, %rd10, %rd2;
    and.b32 %r8, %r1, 1;
    setp.eq.u32 %p1, %r8, 0;
    selp.b64 %rd12, %rd11, %rd3, %p1;
    st.u32 [%rd12], %r5;
    ld.u32 %r6, [%rd12];
    st.global.u32 [%rd3], %r6;
    ret;"""
    found = run(body, np.zeros(64, np.uint32), variables=variables, shared=256)
    np.testing.assert_array_equal(found.view(np.int32), np.tile([7, 8, 9, -1], 16))


def test_a_result_that_nobody_wrote() -> None:
    device = PtxSimulator(1 << 20)
    address = device.allocate(16)
    with pytest.raises(DeviceError, match="copy to the host of never-written memory: offset 0 of an allocation"):
        device.read(address, np.empty(4, np.uint32))
    device.load(kernel("ld.param.u64 %rd1, [p0];\n mov.u32 %r1, 3;\n st.global.u32 [%rd1], %r1;\n ret;")).launch(
        "f", (1, 1, 1), (1, 1, 1), 0, [address]
    )
    device.read(address, found := np.empty(1, np.uint32))
    assert found[0] == 3
