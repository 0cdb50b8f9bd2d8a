"""Ops with temporaries, of windows whose sizes the loop around them varies: memory has room for the largest one.

Each processor has schedules of its own, whose temporaries have sizes of their own; only the loops are made for others
than this one.  Values are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.codegen.target.names import named_target
from txc.compiler.pipeline import run_stages
from txc.dialects.attributes import from_attr
from txc.passes.cost.model import Machine

X = np.random.default_rng(5).standard_normal(12)
OPS: dict[str, Callable[[Any], Any]] = {
    "sort": lambda w: np.sort(w)[0],
    "argsort": lambda w: np.argsort(w)[-1],
    "median": lambda w: np.median(w),
    "columns": lambda w: np.sort(np.outer(w, w), axis=0)[0].sum(),
    "unique": lambda w: np.unique(np.round(w)).sum(),
    "fft": lambda w: np.abs(np.fft.fft(w)).sum(),
    "fft of columns": lambda w: np.abs(np.fft.fft(np.outer(w, w), axis=0)).sum(),
    "product": lambda w: (np.outer(w, w) @ np.outer(w, w)).sum(),
    "correlation": lambda w: np.correlate(w, w, "full").sum(),
    "determinant": lambda w: np.linalg.det(np.outer(w, w) + np.eye(len(w))),
    "singular values": lambda w: np.linalg.svd(np.outer(w, w) + np.eye(len(w)))[1].sum(),
}


def around(op: Callable[[Any], Any]) -> Callable[..., Any]:
    """Of windows that both ends of the array clip, and of what is left of the array."""

    def f(x, r):
        out = np.zeros((2, len(x)))
        for i in range(len(x)):
            out[0, i] = op(x[max(0, i - r) : i + r + 1])
        for i in range(12):
            out[1, i] = op(x[i:])
        return out

    return f


@pytest.mark.parametrize("name", OPS)
def test_temporaries_have_room(name: str) -> None:
    f = around(OPS[name])
    jitted = txc.jit(f)
    np.testing.assert_allclose(jitted(X, 2), f(X, 2), rtol=1e-9)
    graph = jitted.graph(X, 2)
    for processor in ("x86-64-v3", "x86-64-v4", "aarch64"):
        (target,) = named_target(processor).versions
        machine = Machine.of_cpu(target.vector_bits, target.vector_registers, target.cpu)
        made = run_stages(graph, stop_after="loops", target=target, machine=machine)
        assert made.module is not None
        (function,) = made.module.ops
        rooms = [from_attr(function.attributes[name]) for name in ("tx.arena", "tx.thread_arena")]
        assert {str(s) for room in rooms for s in room.symbols()} <= {"x.0", "$r"}
        assert any(room.const != 0 for room in rooms)
