"""Kernels written by hand, and how to run them on the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from txc.runtime.ptx_simulator import PtxSimulator

__all__ = ["kernel", "launch", "line_of", "run"]


def kernel(body: str, parameters: int = 1, variables: str = "", directives: str = "") -> str:
    """PTX of a kernel `f` with some 64-bit parameters `p0`, `p1`, … and registers of every kind to spare."""
    declared = ", ".join(f".param .u64 p{i}" for i in range(parameters))
    return f"""
.version 8.3
.target sm_90a
.address_size 64
{variables}
.visible .entry f({declared}) {directives}
{{
    .reg .pred %p<20>;
    .reg .b16 %rs<20>;
    .reg .b32 %r<60>;
    .reg .b64 %rd<40>;
    .reg .f32 %f<40>;
    .reg .f64 %fd<20>;
{body}
}}
"""


def line_of(ptx: str, text: str) -> int:
    """The number of the first line that has this text."""
    return next(i for i, line in enumerate(ptx.splitlines(), 1) if text in line)


def launch(
    ptx: str, arrays: Sequence[np.ndarray], block: Any = 64, grid: Any = 1, shared: int = 0, written: bool = True,
    numbers: Sequence[int] = (),
) -> list[np.ndarray]:  # fmt: skip
    """Run `f` with arrays of the device as arguments, then numbers; what the arrays hold afterwards.

    Without `written` the last array's memory has not been written when the kernel starts.
    """
    device = PtxSimulator(1 << 22)
    addresses = [device.allocate(a.nbytes) for a in arrays]
    for i, (address, array) in enumerate(zip(addresses, arrays, strict=True)):
        if written or i + 1 < len(arrays):
            device.write(address, np.ascontiguousarray(array))
    sizes = [s if isinstance(s, tuple) else (s, 1, 1) for s in (grid, block)]
    device.load(ptx).launch("f", sizes[0], sizes[1], shared, [*addresses, *numbers])
    found = [np.empty_like(a) for a in arrays]
    for address, array in zip(addresses, found, strict=True):
        device.read(address, array)
    return found


def run(body: str, *arrays: np.ndarray, **how: Any) -> np.ndarray:
    """What the last array holds after a kernel of that body ran with 64 threads."""
    variables = how.pop("variables", "")
    numbers = how.get("numbers", ())
    return launch(kernel(body, len(arrays) + len(numbers), variables), arrays, **how)[-1]
