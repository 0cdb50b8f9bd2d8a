"""Asking for lines ahead changes no bit, at whatever size a loop ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.passes.cost.model import CostModel, Machine

from ..codegen.harness import text_at


def neighbours(x: Any) -> Any:
    return x[1:-1] + x[:-2] * x[2:] + x[1:-1]


def of_rows(x: Any) -> Any:
    return x / (np.sum(np.abs(x), axis=1, keepdims=True) + np.max(x, axis=0))


def padded(x: Any) -> Any:
    return np.pad(x, 1) * 2.0


def beside(x: Any) -> Any:
    return np.concatenate([x, x[:, 1:]], axis=1)


WITHOUT = "tx-schedule-cpu{prefetch=false}"


def asked_lines(program: Callable[..., Any], *arrays: np.ndarray, passes: str = "") -> list[str]:
    return [line for line in text_at("loops", program, *arrays, passes=passes).splitlines() if "loop.prefetch" in line]


@pytest.fixture(params=["", "znver4"], ids=["usual", "foreseeing"])
def processor(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """What this machine is taken to be, whatever it is."""
    of_cpu = Machine.of_cpu
    monkeypatch.setattr(Machine, "of_cpu", staticmethod(lambda bits, count, _: of_cpu(bits, count, request.param)))
    return request.param


@pytest.mark.parametrize("program", [neighbours, of_rows, padded, beside])
@pytest.mark.parametrize("shape", [(3, 5), (40, 33), (300, 517)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_results_have_the_same_bits(program: Callable[..., Any], shape: tuple[int, int], dtype: str, processor: str):
    x = np.random.default_rng(3).standard_normal(shape).astype(dtype)
    asking, without = txc.jit(program), txc.jit(program, passes=WITHOUT)
    assert asking(x).tobytes() == without(x).tobytes()
    assert bool(asked_lines(program, x)) == (not processor or program in (neighbours, beside))
    assert not asked_lines(program, x, passes=WITHOUT)


@pytest.mark.parametrize("processor", ["znver4"], indirect=True)
def test_of_one_operand_beside_stores_past_the_caches_a_foreseeing_processor_is_asked(processor: str):
    machine = Machine.of_cpu(512, 32, processor)
    assert CostModel(machine).has_hw_prefetch

    def asked(program: Callable[..., Any], operands: int = 1) -> list[str]:
        return asked_lines(program, *[np.ones(10, "f4")] * operands)

    (line,) = asked(lambda x: x.copy())
    assert "loop.prefetch %x" in line and f"8*x.0 - {machine.prefetch_min_bytes:.0f}" in line
    assert not asked(lambda x, y: x + y, 2)
    assert not asked(lambda x: np.sum(x))  # no stores
    assert not asked(lambda x: np.exp(x) * np.tanh(x))  # through the caches


@pytest.mark.parametrize("processor", ["znver3"], indirect=True)
def test_a_foreseeing_processor_may_be_asked_for_what_is_only_read_from_caches(processor: str):
    most = int(Machine.of_cpu(256, 16, processor).prefetch_reads_bytes)
    (line,) = asked_lines(lambda x: np.sum(x), np.ones(10, "f4"))
    assert f"min(1, max(-4*x.0 + {most}, 0))" in line
    assert not asked_lines(lambda x, y: x + y, *[np.ones(10, "f4")] * 2)


@pytest.mark.parametrize("processor", [""], indirect=True)
def test_places_that_are_data_are_not_asked_for(processor: str):
    x, places = np.arange(40.0), np.array([3, 1, 39, 0])
    asked = asked_lines(lambda x, i: x[i] * 2, x, places)
    assert asked and not any("loop.prefetch %x" in line for line in asked)
