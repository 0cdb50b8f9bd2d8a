"""Every pass of the optimiser can be switched off, and then the programs of the suite have the same results.

Where no order of arithmetic is at stake, these are the same bits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler import pipeline

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.ablation import FAMILIES, SWITCHES
from benchmarks.workloads import workloads

#: Families, at their smallest sizes, that have between them everything that a switch can leave out.
NAMES = (
    *FAMILIES, "gelu", "column-sum", "logsumexp", "softmax-columns", "attention", "dense-gelu", "heat", "cumsum",
    "concatenate", "scatter-add", "matrix-vector",
)  # fmt: skip


def small(name: str) -> list[Any]:
    return list(workloads([name], 3, quick=True))


@pytest.fixture(scope="module", autouse=True)
def one_object_for_one_text() -> Iterator[None]:
    """Most passes do nothing to most programs, of which LLVM would make the same code again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "compile_llvm", lru_cache(maxsize=None)(pipeline.compile_llvm))
        yield


@pytest.fixture(scope="module")
def usual() -> dict[str, Any]:
    """Results with all of the optimiser, made where they are asked for first."""
    return {}


@pytest.mark.parametrize("part", [name for name, switch in SWITCHES.items() if switch.passes])
@pytest.mark.parametrize("name", NAMES)
def test_same_bits_without(name: str, part: str, usual: dict[str, Any]) -> None:
    (workload,) = small(name)
    program = workload.family.program
    if name not in usual:
        usual[name] = txc.jit(program)(*workload.arguments)
    got = txc.jit(program, passes=SWITCHES[part].passes)(*workload.arguments)
    for a, b in zip(_tuple(got), _tuple(usual[name]), strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


def _tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)
