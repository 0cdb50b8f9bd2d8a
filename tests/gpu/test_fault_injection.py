"""Mistakes planted into the PTX that txc emits: the simulator catches each, and names the user's line.

`tests/ptx_simulator/test_checks.py` has more of them, in kernels written by hand.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.call.facts import stride_fact
from txc.compiler.config.options import Options
from txc.compiler.driver.compile_cache import compiled
from txc.compiler.driver.executable import Executable
from txc.compiler.gpu.executable import GpuCode
from txc.runtime.gpu.gpu_device import DeviceError


def smooth(x: Any) -> Any:
    return np.sqrt(x * x + 1)


def centred(x: Any) -> Any:
    return x - x.max(axis=1, keepdims=True)


#: Threads of a block meet in the second kernel of `centred`: the one for rows that do not fit into a warp's registers.
LONG_ROWS = np.random.default_rng(0).standard_normal((4, 1500)).astype(np.float32)
MEETING = r"(st\.shared[^\n]*\n(?:[^\n]*\n)*?)\s*bar\.sync\s+0;"
#: In front of a kernel's end, where no later barrier is there for the others to meet at.
DIVERGES = r"""
    { .reg .pred %low; .reg .b32 %me; mov.u32 %me, %tid.x; setp.lt.u32 %low, %me, 32; @%low bar.sync 0; }\1"""

PLANTED: dict[str, tuple[Callable[..., Any], str, str, str]] = {
    "a store out of bounds": (smooth, r"(st\.global\S*\s+\[%rd\d+)\S*\]", r"\1+1048576]", "out of bounds: "),
    "a missing barrier": (centred, MEETING, r"\1", "shared-memory race: "),
    "a divergent barrier": (centred, r"(\n\s*ret;)", DIVERGES, "divergent barrier: 32 of 256 threads"),
    "an unwritten read": (centred, r"\n\s*(?:@%p\d+ )?st\.shared[^\n]*", "", "read of never-written memory: "),
    "a misaligned vector": (
        smooth, r"(ld\.global\S*\.v\d\S*\s+\{[^}]*\}, \[%rd\d+)\S*\]", r"\1+4]", "misaligned vector access: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_mistake_in_what_is_emitted(mistake: str) -> None:
    program, pattern, replacement, said = PLANTED[mistake]
    graph = txc.jit(program).graph(LONG_ROWS)
    right = compiled(graph, [stride_fact(LONG_ROWS)], Options.of(device="ptx-sim", debug=True))
    assert isinstance(right.native, GpuCode)
    np.testing.assert_array_equal(right([LONG_ROWS])[0], txc.jit(program)(LONG_ROWS))
    ptx, count = re.subn(pattern, replacement, right.native.ptx)
    assert count, f"the PTX has nothing like {pattern!r} any more"
    code = GpuCode("ptx-sim", ptx, right.native.plan, right.code)
    with pytest.raises(DeviceError, match=re.escape(said)) as caught:
        Executable(right.signature, right.code, code)([LONG_ROWS])
    error = caught.value
    line = inspect.getsourcelines(program)[1] + 1
    assert error.place == f"{__file__}:{line}"
    assert error.kernel in ptx.splitlines()[error.ptx_line - 1] or error.ptx_line > ptx.index(error.kernel) > 0
    assert str(error).startswith(f"kernel {error.kernel}, PTX line {error.ptx_line}, {error.place}: ")
