"""What NVIDIA's assembler says of the PTX of every schedule: that it assembles, and which kernels spill registers.

`docs/inside/gpu.md` lists those that may, each with its reason; here they are assembled too, and no others may spill.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.codegen.target.llvm_backend import gpu_target
from txc.compiler.config.options import Options
from txc.compiler.pipeline import run_stages

from ..codegen.ptxas import may_spill, needs_ptxas, spills


def map_of_vectors(x: Any) -> Any:
    return np.where(x > 0, np.sqrt(x * x + 1), np.exp(-x)) * x


def map_of_halves(x: Any) -> Any:
    return (x * 2 + 1).astype(np.float16)


def transpose(x: Any) -> Any:
    return x.T + 1


def sum_of_rows(x: Any) -> Any:
    return x.sum(axis=1)


def sum_of_short_rows(x: Any) -> Any:
    return x[:, :512].sum(axis=1)


def sum_of_columns(x: Any) -> Any:
    return x.sum(axis=0)


def sum_of_all(x: Any) -> Any:
    return x.sum()


def largest_of_rows(x: Any) -> Any:
    return np.argmax(x, axis=1)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def attention(x: Any) -> Any:
    e = softmax(x @ x.T)
    return e @ x


def product(x: Any) -> Any:
    return np.maximum(x @ x.T + 1, 0)


def product_of_halves(x: Any) -> Any:
    x = x.astype(np.float16)
    return x @ x.T


def product_of_products(x: Any) -> Any:
    """Both factors lie in memory, so that `sm_90a` brings boxes of them."""
    x = product_of_halves(x)
    return x @ x


def product_by_tf32(x: Any) -> Any:
    return np.tanh(x * 2) @ x.T


def product_of_bytes(x: Any) -> Any:
    x = x.astype(np.int8)
    return x.astype(np.int32) @ x.T.astype(np.int32)


def product_of_doubles(x: Any) -> Any:
    return (x.astype(np.float64) * 2) @ x.T


def running_sum(x: Any) -> Any:
    return np.cumsum(x, axis=0)


def running_sum_of_rows(x: Any) -> Any:
    return np.cumsum(x, axis=1)


def taken_and_stored(x: Any) -> Any:
    at = np.array([1, 0, 3])
    x[at] = x[at[::-1]] * 2
    np.add.at(x, at, 1)
    return x


def loops(x: Any) -> Any:
    for i in range(x.shape[0]):
        x[i] += x[:, 0].max()
    while x[0, 0] < 9:
        x = x * 2
    return x


def drawn(x: Any) -> Any:
    return x + txc.random.normal((7, 5), seed=1)


def transform_of_any_length(x: Any) -> Any:
    return np.fft.fft(x, axis=1)


def sorted_rows(x: Any) -> Any:
    return np.argsort(x, axis=1)


def long_functions(x: Any) -> Any:
    return x.bessel_i0e(), x.astype(np.float64).digamma()


def solved(x: Any) -> Any:
    return np.linalg.solve(x @ x.T, x)


FUNCTIONS = [
    map_of_vectors, map_of_halves, transpose, sum_of_rows, sum_of_short_rows, sum_of_columns, sum_of_all,
    largest_of_rows, softmax, attention, product, product_of_halves, product_of_products, product_by_tf32,
    product_of_bytes, product_of_doubles, running_sum, running_sum_of_rows, taken_and_stored, loops, drawn,
    transform_of_any_length, sorted_rows, long_functions, solved,
]  # fmt: skip


def test_the_list_is_of_functions_that_are_assembled_here() -> None:
    assert may_spill() < {f.__name__ for f in FUNCTIONS}


@needs_ptxas
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("cpu", ["sm_80", "sm_90a"])
def test_it_assembles_without_spills(f: Callable[[Any], Any], cpu: str) -> None:
    """Where matrix units are allowed."""
    graph = txc.jit(f).graph(np.ones((7, 5), np.float32))
    allowed = {"tf32"} if f is product_by_tf32 else {"reassoc"}
    stages = run_stages(graph, Options.of(fastmath=allowed), target=gpu_target(cpu), stop_after="asm")
    assert stages.ptx is not None
    assert not set(spills(stages.ptx, cpu)) - may_spill()
