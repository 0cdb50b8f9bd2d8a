"""Generated programs at every level: the interpreters and machine code agree.

A seeded generator writes graphs of maps, views, reductions, contractions, stores, loops and branches, several programs
to a graph so that fusion, rows and buffer reuse meet across them.  From `fused` down all results are the same bits, on
any number of threads and with any vector width; above, the order of sums is not fixed yet and results agree closely.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from txc.compiler.codegen.target.llvm_backend import host_target
from txc.compiler.config.options import Options
from txc.compiler.driver.executable import Executable, _empty
from txc.compiler.frontend.staging.regions import fork, loops
from txc.compiler.frontend.tensor.apply import apply
from txc.compiler.frontend.tensor.tensor import Tensor
from txc.compiler.frontend.trace.graph import Graph
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.interpret import graph as graph_level
from txc.compiler.interpret import kernel as kernel_level
from txc.compiler.interpret import loops as loops_level
from txc.compiler.interpret import tensor as tensor_level
from txc.compiler.pipeline import compile_graph, run_stages
from txc.compiler.tools.bisect import differing

PROGRAMS = 8
GRAPHS = 48
SMALL = ((5, 18), (18,))
LARGE = ((130, 67), (67,))
DTYPES: tuple[Any, ...] = (np.float32, np.float64, np.int32, np.float16, ml_dtypes.bfloat16)

#: A value and whether it is bitwise the same at every level, so that what is discontinuous may be applied to it.
Made = tuple[Any, bool]


class Generator:
    """One program: a pool of values that grows by a random op at a time."""

    def __init__(self, rng: np.random.Generator, trace: Trace, inputs: Sequence[Tensor]):
        self.rng, self.trace = rng, trace
        self.pool: list[Made] = [(x, True) for x in inputs]

    def pick(self, fits: Callable[[Made], bool] = lambda made: True) -> Made | None:
        fitting = [made for made in self.pool if fits(made)]
        # Late values are likelier, which makes programs deep rather than wide.
        return fitting[int(len(fitting) * self.rng.random() ** 0.5)] if fitting else None

    def run(self, steps: int) -> Tensor:
        kinds = (self.unary, self.binary, self.view, self.reduction, self.normalise, self.contraction, self.store,
                 self.loop, self.joined, self.compared, self.halved, self.branch,
                 self.running)  # fmt: skip
        weights = np.array([4, 5, 4, 3, 2, 1, 2, 1, 1, 1, 1, 1, 1])
        while steps:
            made = kinds[self.rng.choice(len(kinds), p=weights / weights.sum())]()
            if made is not None:
                self.pool.append(made)
                steps -= 1
        return self.pool[-1][0]

    def matrix(self) -> Made:
        made = self.pick(lambda m: m[0].ndim == 2)
        assert made is not None, "an input is a matrix"
        return made

    def unary(self) -> Made | None:
        made = self.pick()
        assert made is not None
        x, exact = made
        if x.dtype.kind == "i":
            return [-x, abs(x), x // 3, x % 5, x ^ 7][self.rng.integers(5)], exact
        name = self.rng.choice(["tanh", "exp", "sigmoid", "sqrt", "negate", "floor", "rational"])
        if name == "floor":
            return (np.floor(x), True) if exact else None
        if name == "rational":
            return 1 / (x * x + 1.5), exact
        if name == "exp":
            return np.exp(np.minimum(x, 2)), False
        if name == "sqrt":
            return np.sqrt(abs(x)), exact
        return apply(str(name), x), exact and name == "negate"

    def binary(self) -> Made | None:
        made = self.pick()
        assert made is not None
        x, exact = made
        other = self.pick(lambda m: m[0].dims == x.dims or (m[0].ndim < x.ndim and m[0].dims == x.dims[1:]))
        assert other is not None, "the value itself fits"
        y = other[0]
        if (x.dtype.kind == "i") != (y.dtype.kind == "i") and ml_dtypes.bfloat16 in (x.dtype, y.dtype):
            return None  # NumPy knows no common dtype
        made_of = [
            lambda: x + y,
            lambda: x - y,
            lambda: x * 0.5 - y,
            lambda: np.maximum(x, y),
            lambda: np.minimum(y, x),
        ]
        if x.dtype.kind == "i" and y.dtype.kind == "i":
            made_of[2] = lambda: x * y
        return made_of[self.rng.integers(5)](), exact and other[1]

    def view(self) -> Made | None:
        x, exact = self.matrix()
        rows, columns = (d.const or 9 for d in x.dims)
        if rows < 4 or columns < 4:
            return x.T, exact
        n = self.rng.integers(9)
        if n == 8:
            return apply("pad", x, pairs=(1, 0, 0, 2), fill=0.5), exact
        if n == 7:
            return x.reshape(-1), exact
        keys: list[Any] = [
            np.s_[1:-1], np.s_[::-1], np.s_[:, ::2], np.s_[1:, :-1], np.s_[::-1, ::-1], np.s_[1], np.s_[:, 2]
        ]  # fmt: skip
        key = keys[n] if n < len(keys) else keys[0]
        return (x.T if self.rng.random() < 0.3 else x[key]), exact

    def reduction(self) -> Made | None:
        x, exact = self.matrix()
        name = str(self.rng.choice(["sum", "maximum", "minimum", "argmax", "sum"]))
        if name == "argmax" and not exact:
            return None
        given = {} if self.rng.random() < 0.2 else {"dims": (int(self.rng.integers(2)),)}
        if name == "sum" and x.dtype.kind != "i":
            return apply(name, x, **given) * 0.05, False
        return apply(name, x, **given), exact

    def running(self) -> Made | None:
        x, exact = self.matrix()
        name = str(self.rng.choice(["cumsum", "cummax", "cummin"]))
        if name == "cumsum" and x.dtype.kind == "i":
            return None  # in 64 bits, which have no common dtype with bf16
        made = apply(name, x, axis=int(self.rng.integers(2)), exclusive=bool(name == "cumsum" and self.rng.integers(2)))
        return (made * 0.05, False) if name == "cumsum" else (made, exact)

    def normalise(self) -> Made | None:
        """A softmax-like value: a matrix combined with a reduction of itself."""
        x, exact = self.matrix()
        top = x.max(axis=int(self.rng.integers(2)), keepdims=True)
        if x.dtype.kind == "i" or self.rng.random() < 0.4:
            return x - top, exact
        e = np.exp(np.maximum(x - top, -20))
        return e / (e.sum(axis=1, keepdims=True) + 1), False

    def contraction(self) -> Made | None:
        x, _ = self.matrix()
        other = self.pick(lambda m: m[0].ndim == 2 and m[0].dims[1] == x.dims[1] and m[0].dtype == x.dtype)
        assert other is not None
        made = x @ other[0].T
        return (made, False) if x.dtype.kind == "i" else (np.tanh(made * 0.05), False)

    def store(self) -> Made | None:
        x, exact = self.matrix()
        if any(d.const is not None and d.const < 4 for d in x.dims):
            return None
        y = x.copy()
        n = self.rng.integers(4)
        if n == 0:
            y[1:-1] = x[2:] + x[:-2]
        elif n == 1:
            y[:, ::2] = 3
        elif n == 2:
            y[1:] -= y[:-1]
        else:
            y[::-1] = y + 1
        return y, exact

    def loop(self) -> Made | None:
        x, exact = self.matrix()
        if x.dtype.kind == "i":
            return None
        y = x * 1

        def body(i: Any, carried: Sequence[Tensor]) -> tuple[Tensor]:
            return (carried[0] * 0.5 + x[::-1] * 0.25,)

        (result,) = loops.for_(self.trace, 0, 3, 1, body, (y,))
        return result, exact

    def halved(self) -> Made | None:
        """A while whose number of iterations depends on data, exactly."""
        x, exact = self.matrix()
        if x.dtype.kind == "i" or not exact:
            return None

        def body(carried: Sequence[Any]) -> tuple[Any, ...]:
            y, rounds, rows = carried
            return y * 0.5, rounds + 1, rows + y[0]

        def large(carried: Sequence[Any]) -> Any:
            return np.logical_and(apply("maximum", abs(carried[0])) > 0.75, carried[1] < 5)

        y, rounds, rows = loops.while_(self.trace, large, body, (x, 0, x[0]))
        return (y + rounds) - rows * 0.25, True

    def branch(self) -> Made | None:
        """An if with stores, views and an inner if in its branches, on an exact condition."""
        x, exact = self.matrix()
        made = self.pick(lambda m: m[1] and m[0].ndim == 2)
        if made is None or any(d.const is not None and d.const < 4 for d in x.dims):
            return None
        (test, _) = made

        def then() -> tuple[Any, ...]:
            y = x.copy()
            y[1:] = x[:-1] * 2
            return (y,)

        def otherwise() -> tuple[Any, ...]:
            return fork.if_(self.trace, test[1, 1] > 0, lambda: (x[::-1] - 1,), lambda: (x * 1,))

        (result,) = fork.if_(self.trace, test[0, 0] > test[1, 0], then, otherwise)
        return result, exact

    def joined(self) -> Made | None:
        x, exact = self.matrix()
        if self.rng.random() < 0.5:
            return apply("concatenate", x, x[::-1], axis=int(self.rng.integers(2))), exact
        return apply("take", x, np.array([2, 0, -1, 1]), axis=0), exact

    def compared(self) -> Made | None:
        made = self.pick(lambda m: m[1])
        assert made is not None
        x, _ = made
        return np.where(x > 1, x, -x), True


def generate(seed: int, sizes: Sequence[tuple[int, ...]] = SMALL) -> Graph:
    """A graph of `PROGRAMS` programs over two matrices and a vector."""
    rng = np.random.default_rng(seed)
    with Trace(f"generated{seed}") as trace:
        inputs = [trace.array_input(f"x{i}", a) for i, a in enumerate(arrays_for(seed, sizes))]
        # The two matrices have one shape: known once, it needs no guard in each program.
        trace.table.equate(inputs[0].dims[0], inputs[1].dims[0], "the generator")
        trace.table.equate(inputs[0].dims[1], inputs[1].dims[1], "the generator")
        trace.table.equate(inputs[0].dims[1], inputs[2].dims[0], "the generator")
        made = [Generator(rng, trace, inputs).run(int(rng.integers(3, 8))) for _ in range(PROGRAMS)]
        return trace.finish(tuple(x * 1 for x in made))


def arrays_for(seed: int, sizes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    rng = np.random.default_rng(1000 + seed)
    kind = DTYPES[seed % len(DTYPES)]
    shapes = (sizes[0], sizes[0], sizes[1])
    if kind is np.int32:
        return [rng.integers(-50, 50, shape).astype(kind) for shape in shapes]
    return [rng.uniform(-3, 3, shape).astype(kind) for shape in shapes]


def tolerance(kind: np.dtype[Any]) -> float:
    """What a sum in another order, and what follows from it, may be off by, relative to the largest value."""
    return 2000 * float(ml_dtypes.finfo(kind).eps) if kind.itemsize > 2 else 30 * float(ml_dtypes.finfo(kind).eps)


class Levels:
    """One graph and how to run it at each level."""

    def __init__(self, graph: Graph, arrays: list[np.ndarray], options: Options | None = None):
        self.graph, self.arrays = graph, arrays
        self.executable: Executable = compile_graph(graph, options).executable
        self.inputs = self.with_captured(arrays)

    def with_captured(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """Arrays that the generator captured are inputs too."""
        return [*arrays, *(np.asarray(i.source) for i in self.graph.inputs[len(arrays) :])]

    def machine(self, threads: int = 1, arrays: list[np.ndarray] | None = None) -> list[np.ndarray]:
        return self.executable(self.inputs if arrays is None else self.with_captured(arrays), (), threads)

    def interpreted(self) -> list[tuple[str, list[np.ndarray]]]:
        """The results of every interpreter, from the graph down."""
        prepared = self.executable.prepare(
            [a.shape for a in self.inputs], [tuple(s // a.itemsize for s in a.strides) for a in self.inputs], ()
        )
        assert prepared is not None
        symbols = {str(d): n for d, n in zip(self.executable.code.symbols, prepared.symbols)}
        found = [
            ("graph", graph_level.run_graph(self.graph, dict(zip((i.name for i in self.graph.inputs), self.inputs))))
        ]
        program: Any = self.graph
        start = "graph"
        has_fma = host_target().has_fma
        for stage in ("tensor", "canonical", "evals", "fused", "buffers", "loops"):
            program = run_stages(program, start=start, stop_after=stage).module
            start = stage
            if stage in ("tensor", "canonical", "evals"):
                found.append((stage, tensor_level.run(program, self.inputs, symbols)))
            elif stage == "fused":
                found.append((stage, kernel_level.run(program, self.inputs, symbols, has_fma=has_fma)))
            else:
                held = [a.copy() for a in self.inputs]
                specs = [self.executable.buffers[b] for b in self.executable.fresh]
                held += [_empty(s.dtype, *made) for s, made in zip(specs, prepared.outputs)]
                level = kernel_level if stage == "buffers" else loops_level
                level.run(program, held, symbols, has_fma=has_fma)
                found.append((stage, [held[o] for o in self.executable.outputs]))
        return found


def close(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> str | None:
    """What is further apart than the order of sums explains."""
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if x.shape != y.shape or x.dtype != y.dtype:
            return f"result {i} is {x.dtype}{x.shape} and {y.dtype}{y.shape}"
        if x.dtype.kind in "biu":
            if not (x == y).all():
                return f"result {i} differs"
            continue
        kind, x, y = x.dtype, x.astype(np.float64), y.astype(np.float64)
        allowed = tolerance(kind) * (1 + np.max(np.abs(x), initial=0))
        if not (np.abs(x - y) <= allowed).all():
            return f"result {i} is off by {np.max(np.abs(x - y))}, {allowed} is allowed"
    return None


@pytest.mark.parametrize("first", range(0, GRAPHS, 8))
def test_levels_agree(first: int) -> None:
    """And, of one program in eight, threads and vector widths."""
    for seed in range(first, first + 8):
        levels = Levels(generate(seed), arrays_for(seed, SMALL))
        found = levels.interpreted()
        upper = [f for f in found if f[0] in ("graph", "tensor", "canonical", "evals", "fused")]
        for (name, before), (other, after) in itertools.pairwise(upper):
            assert (why := close(before, after)) is None, f"program {seed}: {name} and {other}: {why}"
        lower = [*[f for f in found if f[0] in ("fused", "buffers", "loops")], ("machine code", levels.machine())]
        for (name, before), (other, after) in itertools.pairwise(lower):
            assert (why := differing(before, after)) is None, f"program {seed}: {name} and {other}: {why}"
        if seed == first:
            threads_and_vector_widths_agree(seed, levels)


def threads_and_vector_widths_agree(seed: int, levels: Levels) -> None:
    """Two of three widths, in turn."""
    arrays = arrays_for(seed, LARGE)
    expected = levels.machine(1, arrays)
    for threads in (2, 3, 7):
        why = differing(expected, levels.machine(threads, arrays))
        assert why is None, f"program {seed}, {threads} threads: {why}"
    for lanes in {4, 8, 16} - {4 << seed // 8 % 3}:
        other = Levels(levels.graph, arrays, Options.of(passes=f"tx-schedule-cpu{{lanes={lanes}}}"))
        assert (why := differing(expected, other.machine(3))) is None, f"program {seed}, {lanes} lanes: {why}"
