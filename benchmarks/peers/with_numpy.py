"""NumPy: the program itself; where one ufunc or function is the whole program, into a buffer made before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..workloads import Workload

__all__ = ["implementation"]


def _into(call: Callable[..., Any], out: np.ndarray[Any, Any], *arguments: np.ndarray[Any, Any]) -> Callable[[], Any]:
    return lambda: call(*arguments, out=out)


def _moved(target: np.ndarray[Any, Any], source: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> Callable[[], Any]:
    def call() -> Any:
        np.copyto(target, source)
        return out

    return call


def implementation(workload: Workload) -> Callable[[], Any]:
    program, arguments = workload.family.program, workload.arguments
    x, out = arguments[0], program(*arguments)
    generator = np.random.default_rng(1)
    match program.__name__:
        case "copy" | "to_double" | "to_single":
            return _moved(out, x, out)
        case "add":
            return _into(np.add, out, *arguments)
        case "add_three":
            return lambda: np.add(np.add(x, arguments[1], out=out), arguments[2], out=out)
        case "broadcast_add":
            return lambda: np.add(np.add(x, arguments[1], out=out), arguments[2], out=out)
        case "matmul":
            return _into(np.matmul, out, *arguments)
        case "transpose":
            return _moved(out, x.T, out)
        case "swap_last":
            return _moved(out, np.transpose(x, (0, 2, 1)), out)
        case "channels_first":
            return _moved(out, np.transpose(x, (0, 3, 1, 2)), out)
        case "pad":
            out = np.zeros_like(out)
            return _moved(out[1:-1, 1:-1], x, out)
        case "concatenate":
            return lambda: np.concatenate(arguments, axis=1, out=out)
        case "every_other":
            return _moved(out, x[::2, ::2], out)
        case "column_chip":
            return lambda: np.multiply(x[:, 3], x.dtype.type(2), out=out)
        case "cumsum":
            return lambda: np.cumsum(x, axis=1, out=out)
        case "cumsum_columns":
            return lambda: np.cumsum(x, axis=0, out=out)
        case "take_rows" | "take_elements":
            return lambda: np.take(x, arguments[1], axis=0, out=out, mode="clip")
        case "random_uniform":
            return lambda: generator.random(dtype=x.dtype, out=out)
        case "random_normal":
            return lambda: generator.standard_normal(dtype=x.dtype, out=out)
        case _:
            return lambda: program(*arguments)
