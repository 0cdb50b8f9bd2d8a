"""PyTorch, eager: the programs in its words, and its own functions where it has one for the whole program."""

from __future__ import annotations

import builtins
import importlib
import types
from collections.abc import Callable
from typing import Any

from ..workloads import Workload
from . import torch_words

__all__ = ["heat", "heat_step", "implementation", "in_torch"]

torch: Any = importlib.import_module("torch")
functional: Any = torch.nn.functional


def _slices(x: Any, kernel: Any) -> Any:
    """Sums of shifted slices times elements of a kernel, along the last two dims: what inductor fuses into one loop."""
    h, w = x.shape[-2] - kernel.shape[-2] + 1, x.shape[-1] - kernel.shape[-1] + 1
    total = 0
    for i in range(kernel.shape[-2]):
        for j in range(kernel.shape[-1]):
            total = total + x[..., i : i + h, j : j + w] * kernel[..., i : i + 1, j : j + 1]
    return total


def _convolution(x: Any, w: Any, groups: int) -> Any:
    """Of channels last and weights HWIO, in the memory format that oneDNN takes for it."""
    made = functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), groups=groups)
    return made.permute(0, 2, 3, 1).contiguous()


#: What stores into arrays, or has another form in PyTorch, in PyTorch's words.
OWN: dict[str, Callable[..., Any]] = {
    "copy": torch.clone,
    "to_double": lambda x: x.double(),
    "to_single": lambda x: x.float(),
    "transpose": lambda x: x.T.contiguous(),
    "swap_last": lambda x: x.permute(0, 2, 1).contiguous(),
    "channels_first": lambda x: x.permute(0, 3, 1, 2).contiguous(),
    "every_other": lambda x: x[::2, ::2].contiguous(),
    "fft_rows": lambda x: torch.fft.fft(x, dim=1),
    "fft_plane": torch.fft.fft2,
    "fft_real": lambda x: torch.fft.rfft(x, dim=1),
    "convolve_channels": lambda x, w: _convolution(x, w, 1),
    "convolve_depthwise": lambda x, w: _slices(x.movedim(3, 0), w.movedim(2, 0)[:, None]).movedim(0, 3).contiguous(),
    "convolve_plane": _slices,
    "random_uniform": torch.rand_like,
    "random_normal": torch.randn_like,
    "sort": lambda x: torch.sort(x).values,
    "argsort": torch.argsort,
    "take_rows": lambda x, at: torch.index_select(x, 0, at),
    "take_elements": lambda x, at: torch.index_select(x, 0, at),
    "scatter_add": lambda x, at, v: x.index_add(0, at, v),
}
#: PyTorch's own kernels, which only the eager implementation calls: `torch.compile` would leave them as they are.
KERNELS: dict[str, Callable[..., Any]] = {
    "gelu": lambda x: functional.gelu(x, approximate="tanh"),
    "softmax_rows": lambda x: torch.softmax(x, 1),
    "softmax_columns": lambda x: torch.softmax(x, 0),
    "logsumexp": lambda x: torch.logsumexp(x, 1, keepdim=True),
    "layer_norm": lambda x, scale, shift: functional.layer_norm(x, (x.shape[1],), scale, shift),
    "attention": lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, scale=1.0),
    "convolve_depthwise": lambda x, w: _convolution(x, w[:, :, None, :], w.shape[2]),
    "convolve_plane": lambda x, kernel: functional.conv2d(x[None, None], kernel[None, None])[0, 0],
    "dense_gelu": lambda a, b, bias: functional.gelu(torch.addmm(bias, a, b), approximate="tanh"),
}


def heat_step(y: Any) -> None:
    flow = y[1:-1, :-2] + y[1:-1, 2:] + y[:-2, 1:-1] + y[2:, 1:-1] - 4.0 * y[1:-1, 1:-1]
    y[1:-1, 1:-1] += 0.1 * flow


def heat(x: Any, step: Callable[[Any], None] = heat_step) -> Any:
    y = x.clone()
    for _ in range(10):
        step(y)
    return y


OWN["heat"] = heat


def in_torch(program: Callable[..., Any]) -> Callable[..., Any]:
    """The program over PyTorch's words."""
    own = OWN.get(program.__name__)
    scope = {"__builtins__": builtins, "np": torch_words, "erf": torch_words.erf}  # Dynamo looks for builtins there
    return own or types.FunctionType(program.__code__, scope, program.__name__)


def implementation(workload: Workload) -> Callable[[], Any]:
    torch.set_grad_enabled(False)
    program = workload.family.program
    call = KERNELS.get(program.__name__) or in_torch(program)
    held = [torch.from_numpy(x) for x in workload.arguments]
    return lambda: call(*held)
