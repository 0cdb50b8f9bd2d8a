"""A compiled function with what a call needs: symbols, guards, outputs to allocate, arrays written in place.

The dims of the IR become one generated Python function (`_preparation`), so a call evaluates no `Dim`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..dialects.dims import Dim, Sym
from ..runtime.call import NativeFunction
from .call_plan import CallPlan, stored_inputs
from .frontend.graph import Graph, Guard

__all__ = ["BufferSpec", "Executable", "GuardFailure", "NativeEntry", "Prepared"]


class GuardFailure(ValueError):
    """Arguments for which the compiled code is not valid."""


@dataclass(frozen=True)
class BufferSpec:
    """Memory that the native function takes: NumPy dtype, dims, strides in elements."""

    dtype: np.dtype[Any]
    dims: tuple[Dim, ...]
    strides: tuple[Dim, ...]


@dataclass(frozen=True)
class Prepared:
    """What a call's shapes imply."""

    symbols: tuple[int, ...]
    outputs: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    arena: int
    thread_arena: int


@dataclass(frozen=True)
class NativeEntry:
    """Machine code that Python's calls enter: the plan it was written from, its address, what keeps it loaded."""

    plan: CallPlan
    address: int
    keep: Any


class Executable:
    """Runs a graph's machine code on arrays.

    `strides` are those the code was compiled for, one entry a buffer argument of the graph (None: packed, row-major).
    """

    def __init__(
        self,
        graph: Graph,
        native: NativeFunction,
        *,
        symbols: Sequence[Dim],
        buffers: Sequence[BufferSpec],
        outputs: Sequence[int],
        arena: Dim,
        thread_arena: Dim,
        entry: NativeEntry | str,
    ):
        self.graph, self.native = graph, native
        #: Or why there is none.
        self.entry = entry
        self.symbols, self.buffers, self.outputs = tuple(symbols), tuple(buffers), tuple(outputs)
        self.arena, self.thread_arena = arena, thread_arena
        self.arrays = [i for i in graph.inputs if i.value is not None]
        self.integers = [i for i in graph.inputs if i.value is None]
        n = len(self.arrays)
        self.written = tuple(sorted(stored_inputs(graph, self.outputs)))
        self.fresh = tuple(o for o in sorted(set(self.outputs)) if o >= n)

    def for_graph(self, graph: Graph) -> Executable:
        """The same code for an equal graph: its guards and captured arrays are its own."""
        return Executable(
            graph,
            self.native,
            symbols=self.symbols,
            buffers=self.buffers,
            outputs=self.outputs,
            arena=self.arena,
            thread_arena=self.thread_arena,
            entry=self.entry,
        )

    @cached_property
    def guards(self) -> tuple[Guard, ...]:
        return tuple(self.graph.table.guards)

    def prepare(
        self, shapes: Sequence[tuple[int, ...]], strides: Sequence[tuple[int, ...]], integers: Sequence[int]
    ) -> Prepared | None:
        """Symbols, output shapes and memory for a call, or None where a guard fails."""
        found = self._preparation(shapes, strides, integers)
        return None if found is None else Prepared(*found)

    @cached_property
    def _preparation(self) -> Callable[..., Any]:
        return _Preparation(self).compile()

    def failing_guard(self, shapes: Sequence[tuple[int, ...]], integers: Sequence[int]) -> str:
        """A sentence on the first condition that the arguments do not meet; empty where all are met."""
        env: dict[Sym, int] = {}
        for given, shape in zip(self.arrays, shapes):
            assert given.value is not None
            for d, size in zip(given.value.type.dims, shape):
                if d.symbol is not None:
                    env.setdefault(d.symbol, size)
        for given, value in zip(self.integers, integers):
            if given.symbol is not None and given.symbol.symbol is not None:
                env[given.symbol.symbol] = value
        for given, shape in zip(self.arrays, shapes):
            assert given.value is not None
            for axis, (d, size) in enumerate(zip(given.value.type.dims, shape)):
                expected = d.evaluate(env)
                if expected != size:
                    where = f"dim {axis} of {given.name}"
                    return f"{where} must be {d}{'' if d.const is not None else f' = {expected}'}, not {size}"
        env = self.graph.table.environment(env)
        for guard in self.guards:
            try:
                if not guard.holds(env):
                    return f"the arguments do not satisfy {guard}"
            except KeyError:
                continue
        return ""

    def __call__(
        self, arrays: Sequence[np.ndarray], integers: Sequence[int] = (), threads: int = 0
    ) -> list[np.ndarray]:
        """Run on arrays whose dtypes, ranks and stride classes are those compiled for; results by output number.

        Raises GuardFailure where shapes do not fit.
        """
        shapes = [a.shape for a in arrays]
        steps = [tuple(s // a.itemsize for s in a.strides) for a in arrays]
        prepared = self.prepare(shapes, steps, integers)
        if prepared is None:
            raise GuardFailure(self.failing_guard(shapes, integers) or "the arguments do not fit the compiled code")
        return self.run(prepared, arrays, threads)

    def run(
        self,
        prepared: Prepared,
        arrays: Sequence[np.ndarray],
        threads: int = 0,
        given: Mapping[int, np.ndarray] | None = None,
    ) -> list[np.ndarray]:
        """The call itself, for shapes that were prepared; arrays written in place are among the results.

        `given` has arrays to be used for new buffers, by the buffer's number.
        """
        given = given or {}
        made = zip(self.fresh, prepared.outputs)
        fresh = [given[b] if b in given else _empty(self.buffers[b].dtype, *form) for b, form in made]
        held = [*arrays, *fresh]
        self.native([a.ctypes.data for a in held], prepared.symbols, prepared.arena, prepared.thread_arena, threads)
        return [held[o] for o in self.outputs]


def _empty(dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """An array of packed strides (in elements), whatever the order of its dims."""
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], d))
    if order == list(range(len(shape))):
        return np.empty(shape, dtype)
    made = np.empty([shape[d] for d in order], dtype)
    return made.transpose(np.argsort(order))


_NAME = re.compile(r"[$A-Za-z_][\w.$]*")


class _Preparation:
    """Writes the Python function that checks a call's shapes and computes what depends on them."""

    def __init__(self, executable: Executable):
        self.executable = executable
        self.names: dict[str, str] = {}
        self.lines: list[str] = []

    def compile(self) -> Callable[..., Any]:
        """``prepare(shapes, strides, integers) -> (symbols, outputs, arena, thread_arena)`` or None."""
        e = self.executable
        sizes = self._bind_inputs()
        for symbol, value in e.graph.table.substitutions.items():
            if symbol.name not in self.names:
                self._bind(symbol.name, self._text(value))
        checks = [f"{size} == {self._text(d)}" for d, size in sizes]
        checks += [f"{self._text(g.lhs)} {g.relation} {self._text(g.rhs)}" for g in e.guards]
        fresh = [e.buffers[b] for b in e.fresh]
        outputs = "".join(f"({self._tuple(s.dims)}, {self._tuple(s.strides)}), " for s in fresh)
        result = f"{self._tuple(e.symbols)}, ({outputs}), {self._text(e.arena)}, {self._text(e.thread_arena)}"
        body = [*self.lines, *(f"if not ({check}): return None" for check in checks), f"return {result}"]
        source = "def prepare(shapes, strides, integers):\n" + "".join(f"    {line}\n" for line in body)
        scope: dict[str, Any] = {}
        exec(compile(source, f"<dims of {e.graph.name}>", "exec"), scope)
        return scope["prepare"]

    def _bind_inputs(self) -> list[tuple[Dim, str]]:
        """Give every symbol that an argument shows a variable; what is left to compare: a dim and the size's text."""
        e = self.executable
        compared: list[tuple[Dim, str]] = []
        for i, given in enumerate(e.arrays):
            assert given.value is not None
            for axis, d in enumerate(given.value.type.dims):
                size = f"shapes[{i}][{axis}]"
                if d.symbol is not None and d.symbol.name not in self.names:
                    self._bind(d.symbol.name, size)
                else:
                    compared.append((d, size))
        for i, given in enumerate(e.integers):
            if given.symbol is not None and given.symbol.symbol is not None:
                self._bind(given.symbol.symbol.name, f"integers[{i}]")
            elif given.symbol is not None:
                compared.append((given.symbol, f"integers[{i}]"))
        for i, spec in enumerate(e.buffers[: len(e.arrays)]):
            for axis, stride in enumerate(spec.strides):
                if stride.symbol is not None and stride.symbol.name.startswith("$"):
                    self._bind(stride.symbol.name, f"strides[{i}][{axis}]")
        return compared

    def _bind(self, name: str, text: str) -> None:
        self.names[name] = f"v{len(self.names)}"
        self.lines.append(f"{self.names[name]} = {text}")

    def _text(self, d: Dim) -> str:
        """The expression over the function's variables."""
        return _NAME.sub(lambda m: m[0] if m[0] in ("min", "max") else self.names[m[0]], str(d))

    def _tuple(self, dims: Sequence[Dim]) -> str:
        return f"({''.join(f'{self._text(d)}, ' for d in dims)})"
