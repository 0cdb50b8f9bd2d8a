"""Whoever else runs the programs on a GPU: CuPy, PyTorch (eager and compiled) and JAX, as many as are installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .peers.absent import Absent

__all__ = ["PEERS", "Peer"]

Program = Callable[..., Any]


@dataclass(frozen=True)
class Peer:
    """A library with arrays on the GPU: how they get there and back, a program in its words, and how to wait for it."""

    put: Callable[[np.ndarray], Any]
    get: Callable[[Any], np.ndarray]
    program: Callable[[Program], Program]
    wait: Callable[[], None]


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Absent(f"not installed ({error})") from None


def _cupy() -> Peer:
    cupy = _module("cupy")
    own = {"transpose": lambda x: cupy.ascontiguousarray(x.T), "copy": lambda x: x.copy()}
    wait = cupy.cuda.get_current_stream().synchronize
    return Peer(cupy.asarray, cupy.asnumpy, lambda program: own.get(program.__name__, program), wait)


def _torch(compiled: bool) -> Peer:
    torch = _module("torch")
    if not torch.cuda.is_available():
        raise Absent("PyTorch finds no GPU")
    from .peers.with_torch import in_torch

    def put(array: np.ndarray) -> Any:
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).cuda()
        return torch.from_numpy(array).cuda()

    def get(tensor: Any) -> np.ndarray:
        return tensor.float().cpu().numpy() if tensor.dtype == torch.bfloat16 else tensor.cpu().numpy()

    def program(given: Program) -> Program:
        torch.set_grad_enabled(False)
        # The figures for f32 are those of f32, not of tf32.
        torch.backends.cuda.matmul.allow_tf32 = False
        return torch.compile(in_torch(given), dynamic=False) if compiled else in_torch(given)

    return Peer(put, get, program, torch.cuda.synchronize)


def _jax() -> Peer:
    jax = _module("jax")
    if jax.default_backend() != "gpu":
        raise Absent("JAX finds no GPU")
    small = jax.device_put(np.zeros(1, np.float32))

    def wait() -> None:
        """Until what was queued before it is done: results of calls are not kept to be waited for."""
        (small + 1).block_until_ready()

    from .peers.with_jax import over_jax

    return Peer(jax.device_put, np.asarray, lambda given: jax.jit(over_jax(given)), wait)


#: Makes each, or raises Absent with the reason.
PEERS: dict[str, Callable[[], Peer]] = {
    "cupy": _cupy,
    "torch": lambda: _torch(False),
    "torch.compile": lambda: _torch(True),
    "jax": _jax,
}


def available(names: Sequence[str]) -> tuple[dict[str, Peer], dict[str, str]]:
    """The peers that are here, and why the others are not."""
    found: dict[str, Peer] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            found[name] = PEERS[name]()
        except Absent as reason:
            missing[name] = str(reason)
    return found, missing
