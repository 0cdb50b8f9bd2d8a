"""What the interpreters of the kernel and loop levels share: entering a function, with its arguments and arenas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType

from ...dialects.attributes import BufferType, DimAttr
from ...dialects.kernel import shape_of
from ...dialects.loop import AllocOp
from .frame import Frame
from .memory import Arena, Memory, argument_memory, bind_symbols, evaluate
from .scalar_ops import InterpretError, Scalars

__all__ = ["enter", "function_of"]

Array = np.ndarray[Any, Any]


def function_of(module: ModuleOp) -> func.FuncOp:
    """The module's one function with a body."""
    found = [op for op in module.ops if isinstance(op, func.FuncOp) and op.body.blocks]
    if len(found) != 1:
        raise InterpretError(f"a module to run has one function, not {len(found)}")
    return found[0]


def enter(function: func.FuncOp, arrays: Sequence[Array], symbols: Mapping[str, int], has_fma: bool) -> Frame:
    """A frame with the function's arguments bound; InterpretError where an array does not fit its type."""
    args = function.body.block.args
    if len(args) != len(arrays):
        raise InterpretError(f"{function.sym_name.data} takes {len(args)} arrays, not {len(arrays)}")
    names = [f"argument {i}" for i in range(len(args))]
    shapes = [(name, shape_of(a.type)[1], array) for name, a, array in zip(names, args, arrays)]
    env = bind_symbols(symbols, shapes)
    frame = Frame(Scalars(has_fma), env, Arena(0), Arena(0))
    frame.arena = Arena(_arena_bytes(function, frame, "arena", "tx.arena"))
    frame.private = Arena(_arena_bytes(function, frame, "thread", "tx.thread_arena"))
    for name, argument, array in zip(names, args, arrays):
        if isinstance(argument.type, BufferType):
            frame.memory[argument] = argument_memory(name, array, argument.type.data, env)
            continue
        assert isinstance(argument.type, TensorType)
        element = shape_of(argument.type)[0]
        if array.dtype != element.numpy:
            raise InterpretError(f"{name} is an array of {array.dtype}, not {element}")
        frame.memory[argument] = Memory(array, element)
    return frame


def _arena_bytes(function: func.FuncOp, frame: Frame, scope: str, attribute: str) -> int:
    """The arena's size: what the function says, or what its allocations of that scope need."""
    stated = function.attributes.get(attribute)
    if isinstance(stated, DimAttr):
        return int(evaluate(stated.data, frame.env))
    needed = 0
    for op in function.walk():
        if isinstance(op, AllocOp) and op.scope.data == scope:
            assert isinstance(op.result.type, BufferType)
            info = op.result.type.data
            dims = [int(evaluate(d, frame.env)) for d in info.dims]
            strides = [int(evaluate(s, frame.env)) for s in info.strides]
            last = sum(s * (d - 1) for s, d in zip(strides, dims) if s > 0) + 1
            needed = max(needed, int(evaluate(op.offset.data, frame.env)) + last * info.dtype.bytes)
    return needed
