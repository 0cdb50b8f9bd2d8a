"""txc: the NumPy code under `txc.jit`, results from its recycled buffers, as users get them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import txc

from ..families import Workload
from .absent import Absent

__all__ = ["contestant"]


@functools.cache
def _jitted(program: Callable[..., Any]) -> Callable[..., Any]:
    return txc.jit(program)


def contestant(workload: Workload) -> Callable[[], Any]:
    compiled, arguments = _jitted(workload.family.program), workload.arguments
    try:
        compiled(*arguments)
    except txc.TxcError as error:
        if error.code != "TX0270":
            raise
        raise Absent(str(error).splitlines()[0]) from error  # a NumPy function that txc does not have yet
    return lambda: compiled(*arguments)
