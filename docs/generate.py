"""Writes docs/ops.md and docs/ptx-simulator.md from their registries: ``python docs/generate.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from txc.compiler.frontend.numpy_dispatch import fold_of, scan_of
from txc.compiler.frontend.tx_names import FUNCTIONS as TX_FUNCTIONS
from txc.dialects.registry import OPS, REQUIRED, Op, Scan
from txc.runtime.ptx_simulator.program import TABLE
from txc.runtime.ptx_simulator.special import SPECIAL_REGISTERS

__all__ = ["FAMILIES", "ops_page", "simulator_page"]

#: In order, with what the family means.
FAMILIES = {
    "map": "One scalar body applied to every element. Operands are promoted as NumPy 2 promotes, and broadcast.",
    "reduction": "A fold along `dims` (default: all), or NumPy's `axis`; `keepdims` keeps them with size 1.",
    "scan": "The partial results of a reduction along `axis` (default: of all elements, flattened), one an element.",
    "view": "No arithmetic and no copy: each element of the result is one of the operand.",
    "composite": "Written in terms of other ops, and expanded when the graph is built.",
    "structural": "Ops with inference and lowering of their own.",
}

HEADER = """# Ops

Written by `docs/generate.py` from the registry (`dialects/ops/`); do not edit. A method is called as `x.name(…)`, a
function as `name(x, …)` in `.tx`; the NumPy spelling is recognised under `@txc.jit`. Accuracy is in units in the last
place; exact ops are correctly rounded, or do not round. *Seeds* names the spelling of the documents txc started from.
"""


def ops_page() -> str:
    """The text of docs/ops.md."""
    made = [HEADER]
    for family, meaning in FAMILIES.items():
        made.append(f"\n## {family.capitalize()}\n\n{meaning}\n")
        made.append("| op | spelling | parameters | dtypes | accuracy | seeds | meaning |")
        made.append("|---|---|---|---|---|---|---|")
        found = sorted((op for op in OPS.values() if op.family == family), key=lambda op: op.name)
        made += [_row(op) for op in found]
    return "\n".join(made) + "\n"


SIMULATOR_HEADER = """# The PTX simulator

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
and for other floats in f64, rounded once. Accesses take effect in the order in which they are executed: nothing is
reordered.

## Instructions

| opcode | types | modifiers | section of the PTX ISA manual |
|---|---|---|---|
"""


def simulator_page() -> str:
    """The text of docs/ptx-simulator.md: a row for each opcode, and the special registers."""
    rows = [f"| `{name}` | {row.types} | {row.forms} | {row.section} |" for name, row in sorted(TABLE.items())]
    registers = ", ".join(f"`{name}`" for name in sorted(SPECIAL_REGISTERS))
    return SIMULATOR_HEADER + "\n".join([*rows, "", f"Special registers: {registers}.", ""])


def _row(op: type[Op]) -> str:
    cells = (f"`{op.name}`", _spelling(op), _parameters(op), _dtypes(op), _accuracy(op), op.seeds, _summary(op))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _spelling(op: type[Op]) -> str:
    found = [f"`.{name}()`" for name in op.methods]
    # Some names of functions in `.tx` are NumPy's, and mean what they mean there.
    if op.methods and op.name not in TX_FUNCTIONS:
        found.append(f"`{op.name}()`")
    found += [f"`{name}()`" for name, f in TX_FUNCTIONS.items() if _recognised(f) == op.name]
    found += [f"`{name}`" for name in dict.fromkeys(_dotted(op, f) for f in (op.numpy, *op.also)) if name]
    return ", ".join(found) or "syntax"


def _dotted(op: type[Op], f: Any) -> str:
    """How the function is written where dispatch takes it for this op; empty where it is only an oracle of tests."""
    if f is None or isinstance(f, str):
        return f or ""
    ufunc = getattr(f, "__self__", None)
    if isinstance(ufunc, np.ufunc):
        fold = {"reduce": fold_of, "accumulate": scan_of}[f.__name__]
        return f"np.{ufunc.__name__}.{f.__name__}" if fold(ufunc) == op.name else ""
    known = getattr(np, f.__name__, None) is f and _recognised(f) == op.name
    return f"np.{f.__name__}" if known else ""


def _recognised(f: Any) -> str | None:
    """The op that a function means."""
    return next((op.name for op in OPS.values() if op.numpy is f or f in op.also), None) if callable(f) else None


def _parameters(op: type[Op]) -> str:
    def one(name: str) -> str:
        param = op.params[name]
        return f"`{name}: {param.kind}`" if param.default is REQUIRED else f"`{name}: {param.kind} = {param.default}`"

    return ", ".join([*map(one, op.params), *(f"`{key}: {' | '.join(names)}`" for key, names in op.variants.items())])


def _dtypes(op: type[Op]) -> str:
    kinds: Any = getattr(op.fold() if issubclass(op, Scan) else op, "dtypes", None)
    return "any" if kinds is None else ", ".join(k for k in ("bool", "int", "uint", "float") if k in kinds)


def _accuracy(op: type[Op]) -> str:
    if op.family == "map":
        ulp = getattr(op, "ulp", None)
        return "exact" if ulp is None else f"{ulp:g} ulp"
    return "exact" if op.family == "view" else ""


def _summary(op: type[Op]) -> str:
    return " ".join((op.__doc__ or "").strip().split("\n\n")[0].split())


if __name__ == "__main__":
    folder = Path(__file__).parent
    for name, text in (("ops.md", ops_page()), ("ptx-simulator.md", simulator_page())):
        (folder / name).write_text(text, encoding="utf-8")
