"""LLVM IR text of a `loops` module: `emit_llvm`."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ..cpu.function import CpuFunction
from ..target.target import Target
from .debug_info import DebugInfo
from .text import ONCE, EmitError, Module

__all__ = ["EmitError", "emit_llvm"]


def emit_llvm(
    module: ModuleOp, target: Target, debug: bool = False, checked: bool = False, polled: bool = False
) -> str:
    """The LLVM IR text of every function of a `loops` module.  EmitError where it holds what this target cannot run.

    With `debug` its instructions have the places of the ops that they come from; with `checked` functions for the CPU
    compare indices with the sizes of buffers (`memory/bounds_check.py`), and with `polled` they ask in long loops
    whether to go on (`polling.py`).
    """
    on_cpu = not target.is_gpu
    out = Module(target, DebugInfo() if debug else None, checked and on_cpu, polled and on_cpu)
    functions = [op for op in module.body.block.ops if isinstance(op, func.FuncOp)]
    out.names.update(f.sym_name.data for f in functions)
    if target.is_gpu:
        from ..gpu.kernel import GpuKernel as Emitter  # start-up: most programs run on no GPU
    else:
        Emitter = CpuFunction
    for op in functions:
        Emitter(out, op.sym_name.data).emit(op)
    return f"{out}{attributes(target)}"


def attributes(target: Target) -> str:
    """The attribute groups of functions: #0, and #1 for what runs once a call (`text.ONCE`).

    Of the latter LLVM makes machine code as quickly as it can on x86: it takes half the time, and a call a nanosecond
    more.
    """
    if target.is_gpu:
        return "attributes #0 = { nounwind }\n"
    words = ["nounwind", f'"prefer-vector-width"="{target.vector_bits}"', '"no-trapping-math"="true"']
    if target.cpu:
        words.append(f'"target-cpu"="{target.cpu}"')
    if target.features:
        words.append(f'"target-features"="{target.features}"')
    quickly = "noinline optnone " if target.is_x86 else ""
    return f"attributes #0 = {{ {' '.join(words)} }}\nattributes {ONCE} = {{ {quickly}{' '.join(words)} }}\n"
