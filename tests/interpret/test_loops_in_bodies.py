"""Loops of scalar bodies (`scf.while`), at every stage from the graph to machine code."""

from typing import Any

import numpy as np

import txc
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.interpret.bisect import bisect


def test_a_loop_in_a_body_is_the_same_at_every_level() -> None:
    """In a map, and in the finish of a reduction after a map that reads along two dims."""

    def program(x: Any, y: Any) -> Any:
        return np.gcd(x, y), np.gcd(np.gcd(x, 60), y.sum(axis=0)).T, np.lcm(x.sum(axis=1), 7)

    x, y = np.random.default_rng(4).integers(-60, 60, (2, 9, 21))
    with Trace("loops") as trace:
        inputs = [trace.array_input(name, a) for name, a in (("x", x), ("y", y))]
        graph = trace.finish(program(*inputs))
    report = bisect(graph, {"x": x, "y": y})
    assert report.culprit is None, report
    for got, wanted in zip(txc.jit(program)(x, y), program(x, y)):
        np.testing.assert_array_equal(got, wanted)
