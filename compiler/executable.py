"""A compiled graph that can be called with arrays: allocation, aliasing and the values of its symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dialects.dims import Dim, Sym, dim, sym
from ..runtime.call import NativeFunction, memory_overlaps
from .frontend.graph import Graph
from .options import Options
from .watch import Watch

__all__ = ["Executable", "StrideFact", "compile_graph", "stride_fact", "symbolic_strides"]

#: How an array lies in memory, as far as code depends on it: "packed", a permutation ("order", …), or for each dim
#: "0", "1" or "s" (a stride known at run time).
StrideFact = tuple[Any, ...]

PACKED: StrideFact = ("packed",)


def stride_fact(array: np.ndarray) -> StrideFact | None:
    """The fact of an array; None where compiled code cannot walk it (misaligned, or strides within an element)."""
    if not array.dtype.isnative or not array.flags.aligned:
        return None
    if array.flags.c_contiguous:
        return PACKED
    if array.flags.f_contiguous:
        return ("order", *reversed(range(array.ndim)))
    item = array.itemsize
    if any(s % item for s in array.strides):
        return None
    return ("strides", *("0" if s == 0 else "1" if s == item else "s" for s in array.strides))


def symbolic_strides(name: str, dims: Sequence[Dim], fact: StrideFact) -> tuple[Dim, ...] | None:
    """The strides, in elements, of an argument with that fact; None for packed ones."""
    from ..dialects.attributes import packed_strides

    if fact[0] == "packed":
        return None
    if fact[0] == "order":
        return packed_strides(dims, fact[1:])
    known = {"0": 0, "1": 1}
    return tuple(dim(known[c]) if c in known else sym(f"${name}.s{i}") for i, c in enumerate(fact[1:]))


class Executable:
    """Machine code of a graph for arguments with given stride facts."""

    def __init__(self, graph: Graph, facts: Sequence[StrideFact], options: Options, watch: Watch | None = None):
        from xdsl.dialects import func

        from ..dialects.attributes import from_attr
        from .codegen.machine import load_object
        from .pipeline import run_stages

        self.graph = graph
        self.inputs = [i for i in graph.inputs if i.value is not None]
        strides = [
            symbolic_strides(i.name, i.value.type.dims, fact)
            for i, fact in zip(self.inputs, facts)
            if i.value is not None
        ]
        self.stages = run_stages(graph, options, strides=strides, watch=watch)
        assert self.stages.module is not None and self.stages.object is not None
        function = next(op for op in self.stages.module.body.block.ops if isinstance(op, func.FuncOp))
        attributes = function.attributes
        self._symbols: list[Sym] = [d.symbol for d in from_attr(attributes["tx.symbols"])]
        self._arena: Dim = from_attr(attributes["tx.arena"])
        self._thread_arena: Dim = from_attr(attributes["tx.thread_arena"])
        self._outputs: tuple[int, ...] = from_attr(attributes["tx.outputs"])
        self._buffers = [a.type.data for a in function.body.block.args]  # type: ignore[attr-defined]
        self._loaded = load_object(self.stages.object, [graph.name])
        self._native = NativeFunction(self._loaded.addresses[graph.name])
        self._strided = [
            [(Sym(f"${i.name}.s{d}"), d) for d, c in enumerate(fact[1:]) if c == "s"] if fact[0] == "strides" else []
            for i, fact in zip(self.inputs, facts)
        ]

    def __call__(self, arrays: Sequence[np.ndarray], env: Mapping[Sym, int], threads: int = 0) -> list[np.ndarray]:
        """The graph's outputs; `env` has the value of every dim.  Arrays written in place come back themselves."""
        values = dict(env)
        for array, strided in zip(arrays, self._strided):
            for symbol, d in strided:
                values[symbol] = array.strides[d] // array.itemsize
        buffers = list(arrays)
        written = set(self._outputs) & set(range(len(arrays)))
        for i, array in enumerate(buffers):
            if i not in written and any(memory_overlaps(array, arrays[w]) for w in written):
                buffers[i] = _snapshot(array)
        for info in self._buffers[len(buffers) :]:
            buffers.append(_allocate(info, values))
        self._native(
            [b.ctypes.data for b in buffers],
            [int(values[s]) for s in self._symbols],
            int(self._arena.evaluate(values)),
            int(self._thread_arena.evaluate(values)),
            threads,
        )
        return [buffers[i] for i in self._outputs]


def _snapshot(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides: code was compiled for them."""
    low = sum(min(0, s * (n - 1)) for s, n in zip(array.strides, array.shape))
    high = sum(max(0, s * (n - 1)) for s, n in zip(array.strides, array.shape)) + array.itemsize
    if array.size == 0:
        return array
    memory = np.empty(high - low, np.uint8)
    copy = np.ndarray(array.shape, array.dtype, memory.data, -low, array.strides)
    copy[...] = array
    return copy


def _allocate(info: Any, values: Mapping[Sym, int]) -> np.ndarray:
    """Memory for an output, in the physical order that was chosen for it."""
    shape = [max(0, int(d.evaluate(values))) for d in info.dims]
    strides = [int(s.evaluate(values)) for s in info.strides]
    order = sorted(range(len(shape)), key=lambda i: (-strides[i], i))
    if order == list(range(len(shape))):
        return np.empty(shape, info.dtype.numpy)
    made = np.empty([shape[i] for i in order], info.dtype.numpy)
    return made.transpose([order.index(i) for i in range(len(shape))])


_compiled: dict[Any, Executable] = {}


def compile_graph(graph: Graph, facts: Sequence[StrideFact], options: Options) -> Executable:
    """The machine code of a graph, made once for equal graphs, facts and options."""
    key = (graph.key(), graph.name, tuple(facts), options.compiled)
    found = _compiled.get(key)
    if found is None:
        found = _compiled[key] = Executable(graph, facts, options)
    return found
