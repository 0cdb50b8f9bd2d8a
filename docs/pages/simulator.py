"""docs/reference/ptx-simulator.md: what the simulator checks and counts, and the instructions that it knows."""

from __future__ import annotations

from txc.runtime.ptx_simulator.execution.special_registers import SPECIAL_REGISTERS
from txc.runtime.ptx_simulator.instructions.decode import TABLE

__all__ = ["PAGE", "page"]

PAGE = "reference/ptx-simulator.md"
HEADER = """# The PTX simulator

Written by `docs/generate.py` from the table of decoders (`runtime/ptx_simulator/`); do not edit.

The device `ptx-sim` runs PTX text in NumPy, on a machine without a GPU. Threads that follow one path run together, of
many blocks at once; where they part, the path that is furthest back in the program goes first, so that they meet again
as early as they can. A path that looks at memory again and again (volatile loads, atomics, mbarriers) lets all others
run first. The same launch always gives the same bits.

## What is checked

Each of these is a `DeviceError` with the kernel, the line of the PTX, your line where the PTX has `.loc`, the block and
the thread (`tests/ptx_simulator/test_checks.py` plants each one, beside a twin that runs):

* an access outside of every allocation, also of one that was freed; a misaligned access, of vectors too;
* a read of memory that nobody has written, global, shared or local, and the host's copy of such a result;
* a race in shared memory: two threads touch a byte, one writing, with nothing between that orders them. Barriers of a
  block, named barriers, mbarriers and a warp's own synchronisation do. Threads that store one value to one place in one
  instruction do not race. Where several threads have read, who of the writer's own warp read is not known, and is taken
  to be the writer. Races in global memory are not looked for;
* a barrier that some threads of the block (or of the number that it names) never reach, and threads of one warp that
  meet in different barriers; stricter than a GPU of compute capability 7.0 or later, an ended thread has not arrived;
* a deadlock: no thread can go on, or all that can look at memory that stays as it is;
* sizes of a launch that no GPU takes; an instruction, modifier or special register that is not in the table (at load).

## What is counted

Inside `with device.counting() as counts`, `counts[kernel]` says how often threads ran instructions of each class, how
many 32-byte sectors of global memory the warps' accesses took, and how many passes conflicts of shared memory's banks
added.

## Where a GPU may differ

`.approx` functions are computed in f64 and rounded: within the manual's error, not the bits of a machine. Sums of
matrix instructions, whose order the manual leaves open, are exact for integers, a chain of fused multiply-adds for f64,
and for other floats in f64, rounded once. Those of `wgmma` are there at once, so using them before
`wgmma.wait_group` is not noticed; writing over what it still reads is, as a race. Accesses take effect in the order in
which they are executed: nothing is reordered, and a forgotten `fence.proxy.async` is not noticed either. Bulk copies
read when they are asked for, and arrive when somebody has waited in vain at their mbarrier and comes again. Tensor maps
are the simulator's own 128 bytes; those that the driver's documentation excludes are refused.

## Instructions

| opcode | types | modifiers | section of the PTX ISA manual |
|---|---|---|---|
"""


def page() -> str:
    """The text of docs/reference/ptx-simulator.md: a row for each opcode, and the special registers."""
    rows = [f"| `{name}` | {row.types} | {row.forms} | {row.section} |" for name, row in sorted(TABLE.items())]
    registers = ", ".join(f"`{name}`" for name in sorted(SPECIAL_REGISTERS))
    return HEADER + "\n".join([*rows, "", f"Special registers: {registers}.", ""])
