"""JAX: the same code over ``jax.numpy``, jitted, on arrays that it has already."""

from __future__ import annotations

import functools
import importlib
import types
from collections.abc import Callable
from typing import Any

from ..workloads import Workload

__all__ = ["implementation", "over_jax"]

jax: Any = importlib.import_module("jax")
jnp: Any = importlib.import_module("jax.numpy")
jax.config.update("jax_enable_x64", True)

#: What stores into arrays, which JAX does not have, or would not copy, in JAX's words.
_OWN: dict[str, Callable[..., Any]] = {
    "copy": lambda x: jnp.copy(x),
    "transpose": lambda x: x.T,
    "swap_last": lambda x: jnp.transpose(x, (0, 2, 1)),
    "channels_first": lambda x: jnp.transpose(x, (0, 3, 1, 2)),
}


def _windows(x: Any, w: Any, groups: int) -> Any:
    return jax.lax.conv_general_dilated(
        x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups
    )


def _plane(x: Any, kernel: Any) -> Any:
    return _windows(x[None, :, :, None], kernel[:, :, None, None], 1)[0, :, :, 0]


_KEY = jax.random.key(1)
_OWN |= {
    "convolve_channels": lambda x, w: _windows(x, w, 1),
    "convolve_depthwise": lambda x, w: _windows(x, w[:, :, None, :], w.shape[2]),
    "convolve_plane": _plane,
    "random_uniform": lambda x: jax.random.uniform(_KEY, x.shape, x.dtype),
    "random_normal": lambda x: jax.random.normal(_KEY, x.shape, x.dtype),
    "take_rows": lambda x, at: jnp.take(x, at, axis=0, mode="clip"),
    "scatter_add": lambda x, at, v: x.at[at].add(v),
}


def _heat(x: Any) -> Any:
    def step(_: int, y: Any) -> Any:
        flow = y[1:-1, :-2] + y[1:-1, 2:] + y[:-2, 1:-1] + y[2:, 1:-1] - 4.0 * y[1:-1, 1:-1]
        return y.at[1:-1, 1:-1].add(0.1 * flow)

    return jax.lax.fori_loop(0, 10, step, x)


_OWN["heat"] = _heat


def over_jax(program: Callable[..., Any]) -> Callable[..., Any]:
    """The program with ``jax.numpy`` for ``np``."""
    return types.FunctionType(program.__code__, {"np": jnp, "erf": jax.scipy.special.erf}, program.__name__)


@functools.cache
def _jitted(program: Callable[..., Any]) -> Callable[..., Any]:
    return jax.jit(_OWN.get(program.__name__) or over_jax(program))


def implementation(workload: Workload) -> Callable[[], Any]:
    compiled = _jitted(workload.family.program)
    held = [jnp.asarray(x) for x in workload.arguments]
    return lambda: jax.block_until_ready(compiled(*held))
