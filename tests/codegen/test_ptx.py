"""Real functions as PTX: schedules for a GPU, and the emitter's form of them.

Where a `ptxas` is found (on the path, or NVIDIA's package of it) it assembles what comes out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import txc
from txc.compiler.codegen.target.llvm_backend import make_target
from txc.compiler.pipeline import run_stages

from .ptxas import may_spill, needs_ptxas, spills

TARGET = make_target("nvptx64-nvidia-cuda", "sm_90", "+ptx80")
DTYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16]


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def shifted(x):
    return np.where(x[:, ::-1] > 0, np.floor(x) + 1, -x).T


def waves(x):
    return np.sin(x) * np.log1p(np.abs(x)) + np.sqrt(x * x + 1) / (1 + np.exp(-x))


def log_sum_exp(x):
    return np.log(np.exp(x - 1).sum(axis=1))


def norms(x):
    return np.sqrt((x * x).sum(axis=1)), x.max(axis=1)


def best(x):
    return np.argmax(x * 2, axis=1)


def ptx_of(function: Callable[..., Any], kind: Any) -> str:
    graph = txc.jit(function).graph(np.ones((64, 32), kind))
    ptx = run_stages(graph, stop_after="ptx", target=TARGET).ptx
    assert ptx is not None
    return ptx


def test_a_map_runs_on_blocks_and_threads() -> None:
    ptx = ptx_of(gelu, np.float32)
    assert ".visible .entry gelu_k0(" in ptx and "%ctaid.x" in ptx and "%tid.x" in ptx
    assert "ld.global" in ptx and "st.global" in ptx and "fma.rn.f32" in ptx
    assert not re.search(r"call|\.local", ptx), "all that a body needs is in it"


def test_a_row_reduction_runs_on_blocks() -> None:
    ptx = ptx_of(log_sum_exp, np.float32)
    assert ".visible .entry log_sum_exp_k0(" in ptx and "%ctaid.x" in ptx and re.search(r"add\.rn\.f32", ptx)


@needs_ptxas
@pytest.mark.parametrize("kind", DTYPES, ids=lambda kind: np.dtype(kind).name)
@pytest.mark.parametrize("function", [gelu, shifted, waves, log_sum_exp, norms, best], ids=lambda f: f.__name__)
def test_ptxas_assembles_it(function: Callable[..., Any], kind: Any) -> None:
    assert not set(spills(ptx_of(function, kind), "sm_90")) - may_spill()
