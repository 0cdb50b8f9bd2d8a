"""torch.compile: the programs in PyTorch's words through inductor, which writes C++ for the CPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..workloads import Workload
from .with_torch import heat, heat_step, in_torch

__all__ = ["implementation"]

torch: Any = importlib.import_module("torch")


def _compile(function: Callable[..., Any]) -> Callable[..., Any]:
    return torch.compile(function, dynamic=False)


def _heat() -> Callable[..., Any]:
    """A step at a time: inductor comes to no end with ten, each of which it computes again for the next."""
    step = _compile(heat_step)
    return lambda x: heat(x, step)


_IN_PARTS = {"heat": _heat}


def implementation(workload: Workload) -> Callable[[], Any]:
    torch.set_grad_enabled(False)
    torch._dynamo.reset()  # its limit of versions a function is no limit of the benchmark's
    held = [torch.from_numpy(x) for x in workload.arguments]
    program = workload.family.program
    compiled = _IN_PARTS[program.__name__]() if program.__name__ in _IN_PARTS else _compile(in_torch(program))
    return lambda: compiled(*held)
