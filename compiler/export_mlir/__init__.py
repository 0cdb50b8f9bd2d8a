"""Exports the stages `fused` and `loops` to upstream MLIR: text that a stock `mlir-opt` reads.

`fused` becomes `linalg.generic` on tensors, `loops` becomes `scf` and `memref`.  Symbols that are a dim of an argument
are read off it, all others become `index` arguments after the function's own.  The order of a reduction is exported as
one sequential loop: upstream has no way to state it.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...dialects.attributes import BufferType
from .fused import export_fused
from .loops import export_loops
from .text import ExportError

__all__ = ["ExportError", "export"]


def export(module: ModuleOp) -> str:
    """The module as upstream MLIR text; ExportError, naming the op, where it holds what has no upstream form."""
    lines: list[str] = []
    for op in module.ops:
        if not isinstance(op, func.FuncOp) or not op.body.blocks:
            raise ExportError(f"{op.name} at the top level of a module: only functions with a body are exported")
        on_buffers = any(isinstance(a.type, BufferType) for a in op.body.block.args)
        lines += (export_loops if on_buffers else export_fused)(op)
    return "module {\n" + "\n".join(f"  {line}" for line in lines) + "\n}\n"
