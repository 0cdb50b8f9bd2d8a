"""What the front end's tests share: trace a function on arrays, and run its graph by the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from txc.compiler.frontend.trace.graph import Graph, Literal
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.interpret.graph import run_graph


class Runner:
    """``runner(f, *arguments)``: the result of tracing `f` and interpreting its graph, which stays behind."""

    graph: Graph

    def trace(self, f: Any, *arguments: Any) -> Graph:
        with Trace(getattr(f, "__name__", "f")) as trace:
            symbolic: list[Any] = []
            for i, a in enumerate(arguments):
                if isinstance(a, np.ndarray):
                    symbolic.append(trace.array_input(f"x{i}", a))
                elif isinstance(a, int):
                    symbolic.append(trace.int_input(f"x{i}", a))
                else:
                    symbolic.append(trace.scalar_input(f"x{i}", weak="float"))
            self.graph = trace.finish(f(*symbolic))
        return self.graph

    def run(self, *arguments: Any) -> Any:
        """The graph traced last, on arguments; arrays written in place are written."""
        named = {f"x{i}": a for i, a in enumerate(arguments)}
        outputs = run_graph(self.graph, {k: a.copy() if isinstance(a, np.ndarray) else a for k, a in named.items()})
        for output, given in self.graph.aliases.items():
            if not self.graph.inputs[given].hidden:
                named[self.graph.inputs[given].name][...] = outputs[output]

        def place(s: Any) -> Any:
            if isinstance(s, Literal):
                return s.value
            if isinstance(s, (tuple, list)):
                return type(s)(place(x) for x in s)
            return None if s is None else outputs[s]

        return place(self.graph.structure)

    def __call__(self, f: Any, *arguments: Any) -> Any:
        self.trace(f, *arguments)
        return self.run(*arguments)

    def same(self, f: Any, *arguments: Any, exact: bool = False) -> None:
        """`f` gives what NumPy gives, dtype and shape included, and leaves its arguments as NumPy leaves them."""
        for_numpy = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        for_us = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        with np.errstate(all="ignore"):
            expected = f(*for_numpy)
        got = self(f, *for_us)
        compare(got, expected, exact)
        for a, b in zip(for_us, for_numpy):
            compare(a, b, exact)


def compare(got: Any, expected: Any, exact: bool = False) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for g, e in zip(got, expected):
            compare(g, e, exact)
        return
    if expected is None:
        assert got is None
        return
    expected = np.asarray(expected)
    got = np.asarray(got)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    if exact or expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(got, expected)
    else:
        rtol = {"e": 2e-3, "f": 1e-5}.get(expected.dtype.char, 1e-12)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-7)


@pytest.fixture
def runner() -> Runner:
    return Runner()
