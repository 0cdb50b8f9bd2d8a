"""torch.compile: the programs in PyTorch's words through inductor, which writes C++ for the CPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ..families import Workload
from .with_torch import in_torch

__all__ = ["contestant"]

torch: Any = importlib.import_module("torch")


def contestant(workload: Workload) -> Callable[[], Any]:
    torch.set_grad_enabled(False)
    torch._dynamo.reset()  # its limit of versions a function is no limit of the benchmark's
    compiled = torch.compile(in_torch(workload.family.program), dynamic=False)
    held = [torch.from_numpy(x) for x in workload.arguments]
    return lambda: compiled(*held)
