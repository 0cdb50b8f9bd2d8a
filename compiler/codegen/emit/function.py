"""What functions of the CPU and kernels of a GPU share: a name, buffers, symbols, the functions of maps, the text."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ....dialects.attributes import BufferInfo, BufferType, DimsAttr
from ....dialects.dims.dims import Sym
from ....dialects.loop import AllocOp
from ..target.target import object_name
from .loops.partition import PartitionWriter
from .text import EmitError, Module, quoted

__all__ = ["FunctionWriter", "buffer_info", "symbols_of"]


class FunctionWriter(PartitionWriter):
    """A function being written."""

    def __init__(self, module: Module, name: str):
        super().__init__(module)
        self.name = name
        self.buffers: dict[SSAValue, str] = {}

    def emit(self, op: func.FuncOp) -> None:
        """The whole function."""
        raise NotImplementedError

    def finish(self, result: str, parameters: str, attributes: str = "", group: str = "#0") -> None:
        """Hand the function's text to the module."""
        debug = self.text.module.debug
        parts = (self.text.allocas, self.text.root)
        body, suffix = (self.text.lines(), "") if debug is None else debug.body(object_name(self.name), parts)
        text = f"define {result} {quoted(self.name)}({parameters}) {attributes}{group}{suffix} {{\nentry:\n{body}\n}}"
        self.text.module.functions.append(text)


def buffer_info(op: AllocOp) -> BufferInfo:
    """The memory that an allocation gives."""
    assert isinstance(op.result.type, BufferType)
    return op.result.type.data


def symbols_of(op: func.FuncOp) -> list[Sym]:
    """The symbols that a function is given, in their order; EmitError where it lists an expression."""
    symbols = op.attributes.get("tx.symbols")
    found: list[Sym] = []
    for expr in symbols.data if isinstance(symbols, DimsAttr) else ():
        if expr.symbol is None:
            raise EmitError(f"tx.symbols lists symbols, and {expr} is an expression")
        found.append(expr.symbol)
    return found
