"""Whole programs at every stage, from the graph to machine code: equal bits from `fused` down."""

import numpy as np
import pytest

from txc.compiler.config.options import Options
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.interpret.bisect import bisect, steps_of
from txc.compiler.stages import IR_STAGES


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)


def standardised(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def perceptron(x, y):
    return np.maximum(x @ y + 1, 0)


def dot(x, y):
    return (x * y).sum(), (x.T @ y).sum(axis=0)


def sums(x):
    return x.sum(axis=0), x.mean(), x.argmax(axis=1), x.min()


def views(x):
    return x[::-1, 1:].T.reshape(-1) + 1, x[1:, ::2] * 3, x.T


def masked(x):
    return np.where(x > 0, x, np.tanh(x)), x > 1


def heat(x):
    x = x + 0
    x[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return x


def joined(x):
    return np.concatenate([x, x * 2], axis=1)


def integers(x):
    return (x // 3) % 5 + x.astype(np.int64), x >> 1, (x * 0.5).astype(np.int8)


def single(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


BYTES = np.random.default_rng(0).integers(0, 255, size=(5, 6)).astype(np.uint8)
PROGRAMS = [
    (softmax, [single(5, 70)]),
    (softmax, [single(3, 2100).astype(np.float64)]),
    (softmax, [single(5, 9).astype(np.float16)]),
    (layer_norm, [single(4, 1500)]),
    (perceptron, [single(9, 700), single(700, 11)]),
    (perceptron, [single(33, 40).astype(np.float64), single(40, 17).astype(np.float64)]),
    (dot, [single(30, 50), single(30, 50)]),
    (sums, [single(8, 1500)]),
    (sums, [single(1, 1)]),
    (views, [single(6, 7)]),
    (masked, [single(7, 3)]),
    (heat, [single(8, 9)]),
    (joined, [single(3, 4)]),
    (standardised, [single(50, 9)]),
    (integers, [BYTES.view(np.int8).astype(np.int32)]),
    (integers, [BYTES]),
]


def traced(program, arrays):
    with Trace("f") as trace:
        inputs = [trace.array_input(f"x{i}", a) for i, a in enumerate(arrays)]
        graph = trace.finish(program(*inputs))
    return graph, {f"x{i}": a for i, a in enumerate(arrays)}


@pytest.mark.parametrize(("program", "arrays"), PROGRAMS, ids=lambda p: p.__name__ if callable(p) else "")
def test_every_stage_computes_the_same(program, arrays) -> None:
    report = bisect(*traced(program, arrays))
    assert report.culprit is None, str(report)
    assert report.steps == ("graph", *IR_STAGES, "obj")


def test_inputs_are_not_written() -> None:
    def in_place(x):
        x += 1
        return x

    x = single(4, 5)
    before = x.copy()
    graph, inputs = traced(in_place, [x])
    for step in steps_of(graph, inputs, Options.of()):
        found = step.run()
        np.testing.assert_array_equal(found[0], before + 1, err_msg=step.name)
        np.testing.assert_array_equal(x, before, err_msg=step.name)
