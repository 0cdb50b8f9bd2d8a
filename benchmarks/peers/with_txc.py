"""txc: the NumPy code under `txc.jit`, results from its recycled buffers, as users get them.

Families of `txc.tensure` call its functions, on tensors made before, until the result's elements are there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import txc
from txc import tensure

from ..workloads import Workload
from .absent import Absent

__all__ = ["implementation"]


#: What NumPy does with a state that txc does not have.
_OWN: dict[str, Callable[..., Any]] = {
    "random_uniform": lambda x: txc.random.uniform(x.shape, dtype=x.dtype, seed=1),
    "random_normal": lambda x: txc.random.normal(x.shape, dtype=x.dtype, seed=1),
}


@functools.cache
def _jitted(program: Callable[..., Any]) -> Callable[..., Any]:
    return txc.jit(_OWN.get(program.__name__) or program)


def _mutations(a: Any, b: Any) -> Callable[[], Any]:
    x, y, two = tensure.array(a, a.dtype), tensure.array(b, b.dtype), tensure.array(2, a.dtype)

    def call() -> Any:
        made = tensure.div(x, y)
        tensure.abs_(tensure.mul_(tensure.pow_(tensure.sub_(made, y), two), x))
        return np.asarray(made)

    return call


def implementation(workload: Workload) -> Callable[[], Any]:
    if workload.family.name == "tensure-mutation":
        return _mutations(*workload.arguments)
    compiled, arguments = _jitted(workload.family.program), workload.arguments
    try:
        compiled(*arguments)
    except txc.TxcError as error:
        if error.code != "TX0270":
            raise
        raise Absent(str(error).splitlines()[0]) from error  # a NumPy function that txc does not have yet
    return lambda: compiled(*arguments)
