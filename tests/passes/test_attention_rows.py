"""Rows between two contractions on a CPU: panels of them in one kernel, with the bits of kernels that stand apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.config.options import Options
from txc.compiler.pipeline import run_stages

RNG = np.random.default_rng(22)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def scored(q: Any, k: Any) -> Any:
    return q @ np.swapaxes(k, -1, -2)


def masked_softmax(scores: Any) -> Any:
    later = np.arange(scores.shape[-1]) > np.arange(scores.shape[-2])[:, None]
    return softmax(np.where(later, -np.inf, scores * 0.5))


def attention(q: Any, k: Any, v: Any) -> Any:
    return softmax(scored(q, k)) @ v


def causal(q: Any, k: Any, v: Any) -> Any:
    scores = scored(q, k)
    later = np.arange(scores.shape[-1]) > np.arange(scores.shape[-2])[:, None]
    return softmax(np.where(later, -np.inf, scores * 0.5)) @ v


def with_scores(q: Any, k: Any, v: Any) -> Any:
    scores = scored(q, k)
    return softmax(scores) @ v, scores


def finished(q: Any, k: Any, v: Any) -> Any:
    return (softmax(scored(q, k) * 0.5) @ v).clip(-0.1, 0.1)


def product(x: Any, y: Any) -> Any:
    return x @ y


def drawn(*shapes: tuple[int, ...], kind: Any = np.float32) -> list[Any]:
    return [RNG.standard_normal(s).astype(kind) for s in shapes]


def rows_of(f: Callable[..., Any], *arrays: Any) -> str:
    """The text of the rows of a function's fused stage."""
    module = run_stages(txc.jit(f).graph(*arrays), Options.of(), stop_after="fused").module
    assert module is not None
    return str(next(op for op in module.walk() if op.name == "kernel.row_group"))


def test_attention_is_one_kernel() -> None:
    assert rows_of(attention, *drawn((20, 8), (20, 8), (20, 8))).count("chain<") == 2


@pytest.mark.parametrize(
    "f",
    [
        lambda q, k, v: softmax(scored(q, k)) + v.sum(),
        lambda q, k, v: (q - q.mean(axis=-1, keepdims=True)) @ np.swapaxes(k, -1, -2),
        lambda q, k, v: softmax(scored(q, k[0])) @ v,  # the first is no stack
    ],
)
def test_one_contraction_stands_apart(f: Any) -> None:
    assert "chain<" not in rows_of(f, *drawn((2, 20, 8), (2, 20, 8), (2, 20, 20)))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("shapes", "kind"),
    [
        ([(2, 100, 12), (2, 37, 12), (2, 37, 9)], np.float32),
        ([(2, 16, 12), (2, 37, 12), (2, 37, 9)], np.float32),  # too few to pack for
        ([(130, 5), (290, 5), (290, 70)], np.float32),
        ([(130, 600), (40, 600), (40, 8)], np.float32),
        ([(60, 5), (1100, 5), (1100, 7)], np.float64),
        ([(2, 2, 30, 8), (2, 2, 11, 8), (2, 2, 11, 8)], np.float16),
        ([(30, 0), (11, 0), (11, 8)], np.float32),
        ([(0, 3), (11, 3), (11, 8)], np.float32),
    ],
)
def test_panels_have_the_bits_of_kernels_apart(shapes: Any, kind: Any, threads: int) -> None:
    q, k, v = drawn(*shapes, kind=kind)
    scores = txc.jit(scored)(q, k)
    pairs: Any = ((attention, softmax), (causal, masked_softmax))
    for f, between in pairs:
        expected = txc.jit(product)(txc.jit(between)(scores), v)
        np.testing.assert_array_equal(txc.jit(f, threads=threads)(q, k, v), expected)


@pytest.mark.parametrize(("keys", "depth"), [(70, 5), (1100, 5), (70, 600), (70, 0), (1100, 1100)])
def test_scores_may_leave_and_products_may_be_finished(keys: int, depth: int) -> None:
    """Sums of no block, of one and of several, in both products."""
    q, k, v = drawn((50, depth), (keys, depth), (keys, 6))
    result, scores = txc.jit(with_scores)(q, k, v)
    np.testing.assert_array_equal(scores, txc.jit(scored)(q, k))
    np.testing.assert_array_equal(result, txc.jit(attention)(q, k, v))
    expected = txc.jit(product)(txc.jit(softmax)(scores * np.float32(0.5)), v).clip(-0.1, 0.1)
    np.testing.assert_array_equal(txc.jit(finished)(q, k, v), expected)
