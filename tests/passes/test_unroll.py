"""Loops that mutate slices copy nothing, but for values that are computed from what they overwrite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.config.options import Options
from txc.compiler.pipeline import run_stages
from txc.dialects.kernel import GenericOp, YieldOp

N = 8
A = np.random.default_rng(2).random((N, N)) + np.eye(N) * N


def copies(f: Callable[..., Any], *arguments: Any) -> int:
    """Nests at stage `buffers` that only move elements of tensors, inside of loops."""
    graph = txc.jit(f).graph(*[a.copy() if isinstance(a, np.ndarray) else a for a in arguments])
    module = run_stages(graph, Options.of(), stop_after="buffers").module
    assert module is not None
    nests = [op for op in module.walk() if isinstance(op, GenericOp) and op.extents.data]
    moving = [op for op in nests if isinstance(op.body.block.first_op, YieldOp) and not op.is_reduction]
    return sum(_in_a_loop(op) for op in moving)


def _in_a_loop(op: Any) -> bool:
    around = op.parent_op()
    while around is not None:
        if around.name in ("kernel.for", "kernel.while"):
            return True
        around = around.parent_op()
    return False


def jacobi(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])


def gauss_seidel(a, b, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            a[i, 1:-1] += a[i - 1, 1:-1] + a[i + 1, 1:-1]
            for j in range(1, a.shape[1] - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 4.0


def lu(a, b, steps):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]


def leapfrog(a, b, steps):
    """Positions and velocities, as in nbody."""
    for _ in range(steps):
        b += (a.mean(axis=0) - a) * 0.01
        a += b * 0.5
    return a, b


def centred(a, b, steps):
    """Rows that take the place of what they were made of."""
    for _ in range(steps):
        a = (a - a.mean(axis=1, keepdims=True)) * 0.5
    return a


def correlated(a, b, steps):
    """What a row was is asked for behind the row that would replace it."""
    for _ in range(steps):
        c = np.exp(a - a.max(axis=1, keepdims=True))
        b[:, 0] += (c / c.sum(axis=1, keepdims=True) * a).sum(axis=1)
        a = c
    return a


def accumulator_dtype(a, b, steps):
    for i in range(steps):
        b[i] = a[i] * 2
        b[:, 0] += a[:, i]


def heat(a, b, steps):
    for _ in range(steps):
        a[1:-1] = (a[:-2] + a[2:]) / 2


def floyd_warshall(a, b, steps):
    for k in range(a.shape[0]):
        a[:] = np.minimum(a[:], np.add.outer(a[:, k], a[k, :]))


def biquad(a, b, steps):
    """What was read of an element is handed on behind its store."""
    x1 = y1 = 0.0
    for i in range(a.shape[0]):
        x0 = a[i, 0]
        a[i, 0] = x0 + 0.5 * x1 + 0.3 * y1
        x1, y1 = x0, a[i, 0]


def error_diffusion(a, b, steps):
    """Elements are read, stored, and used behind that, some of it under conditions."""
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            old = a[i, j]
            new = 1.0 if old > 0.5 else 0.0
            a[i, j] = new
            e = (old - new) / 8
            if j + 1 < a.shape[1]:
                a[i, j + 1] += e
            if i + 1 < a.shape[0]:
                if j > 0:
                    a[i + 1, j - 1] += e * 3
                a[i + 1, j] += e


def swaps_in_branches(a, b, steps):
    for i in range(a.shape[0] - 1):
        if a[i, 0] > a[i + 1, 0]:
            a[i, 0], a[i + 1, 0] = a[i + 1, 0], a[i, 0]
        else:
            b[i] += a[i]


def rows_read_before_stores(a, b, steps):
    """A row of what the array was, which is less than all of it."""
    for i in range(1, a.shape[0]):
        row = a[i].copy()
        a[i] = a[i - 1] * 0.5
        b[i] = row + a[0]


def either(a, b, steps):
    """One name for two arrays, stored into: neither can be the other's memory."""
    for i in range(steps):
        c = a + b
        if a[i, i] > b[i, i]:
            c[0] = i
        a[i] = c[0] + c[1]


def used_behind_the_branch(a, b, steps):
    """What the array was is asked for behind the branch that stores into it."""
    for i in range(steps):
        before = a.copy()
        if a[i, 0] > 1:
            a[0] = i
        b += before - a


NOTHING = [
    jacobi, gauss_seidel, lu, leapfrog, centred, accumulator_dtype, biquad, error_diffusion, swaps_in_branches, either,
]  # fmt: skip


@pytest.mark.parametrize("f", NOTHING, ids=lambda f: f.__name__)
def test_nothing_is_copied(f: Callable[..., Any]):
    assert copies(f, A, A * 2, 3) == 0


ONCE = [heat, floyd_warshall, correlated, rows_read_before_stores]


@pytest.mark.parametrize("f", ONCE, ids=lambda f: f.__name__)
def test_what_reads_its_own_target_is_staged_once(f: Callable[..., Any]):
    assert copies(f, A, A * 2, 3) == 1


@pytest.mark.parametrize("f", [*NOTHING, *ONCE, used_behind_the_branch], ids=lambda f: f.__name__)
def test_results(f: Callable[..., Any]):
    ours, theirs = (A.copy(), A * 2), (A.copy(), A * 2)
    found, expected = txc.jit(f)(*ours, 3), f(*theirs, 3)
    for x, y in zip((*ours, found), (*theirs, expected)):
        if y is not None:
            np.testing.assert_allclose(x, y, rtol=1e-12)
