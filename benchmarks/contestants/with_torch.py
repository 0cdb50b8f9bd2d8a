"""PyTorch, eager: the programs in its words, and its own functions where it has one for the whole program."""

from __future__ import annotations

import builtins
import importlib
import types
from collections.abc import Callable
from typing import Any

from ..families import Workload
from . import torch_words

__all__ = ["contestant", "in_torch"]

torch: Any = importlib.import_module("torch")
functional: Any = torch.nn.functional

#: What stores into arrays, or has another form in PyTorch, in PyTorch's words.
OWN: dict[str, Callable[..., Any]] = {
    "copy": torch.clone,
    "to_double": lambda x: x.double(),
    "to_single": lambda x: x.float(),
    "transpose": lambda x: x.T.contiguous(),
    "swap_last": lambda x: x.permute(0, 2, 1).contiguous(),
    "channels_first": lambda x: x.permute(0, 3, 1, 2).contiguous(),
    "every_other": lambda x: x[::2, ::2].contiguous(),
}
#: PyTorch's own kernels, which only the eager contestant calls: `torch.compile` would leave them as they are.
KERNELS: dict[str, Callable[..., Any]] = {
    "gelu": lambda x: functional.gelu(x, approximate="tanh"),
    "softmax_rows": lambda x: torch.softmax(x, 1),
    "softmax_columns": lambda x: torch.softmax(x, 0),
    "logsumexp": lambda x: torch.logsumexp(x, 1, keepdim=True),
    "layer_norm": lambda x, scale, shift: functional.layer_norm(x, (x.shape[1],), scale, shift),
    "attention": lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, scale=1.0),
    "dense_gelu": lambda a, b, bias: functional.gelu(torch.addmm(bias, a, b), approximate="tanh"),
}


def _heat(x: Any) -> Any:
    y = x.clone()
    for _ in range(10):
        flow = y[1:-1, :-2] + y[1:-1, 2:] + y[:-2, 1:-1] + y[2:, 1:-1] - 4.0 * y[1:-1, 1:-1]
        y[1:-1, 1:-1] += 0.1 * flow
    return y


OWN["heat"] = _heat


def in_torch(program: Callable[..., Any]) -> Callable[..., Any]:
    """The program over PyTorch's words."""
    own = OWN.get(program.__name__)
    scope = {"np": torch_words, "erf": torch_words.erf, "__builtins__": builtins}  # Dynamo asks for these by name
    return own or types.FunctionType(program.__code__, scope, program.__name__)


def contestant(workload: Workload) -> Callable[[], Any]:
    torch.set_grad_enabled(False)
    program = workload.family.program
    call = KERNELS.get(program.__name__) or in_torch(program)
    held = [torch.from_numpy(x) for x in workload.arguments]
    return lambda: call(*held)
