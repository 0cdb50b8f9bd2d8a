"""``@txc.jit``: NumPy functions compiled at their first call, for facts of the arguments and not for their sizes.

A call goes: facts of the arguments (`facts.py`) → the versions traced for these facts → the first whose captured
values and guards hold → `Executable.run`.  Where none does, the function is traced anew; machine code is shared by
all versions, functions and lazy expressions whose graphs are equal (`_compiled`).
"""

from __future__ import annotations

import functools
import inspect
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from ..dialects.registry import OpError
from . import explain
from .captures import Capture, captures_of, unchanged
from .diagnostics import TxcError
from .executable import Executable, GuardFailure, Prepared
from .facts import Argument, classify, stride_dims
from .frontend.graph import Graph, Literal
from .frontend.trace import Trace, current
from .options import Options
from .watch import Watch

__all__ = ["Jitted", "evaluate_lazy", "jit"]

#: Versions kept for one set of facts; the oldest goes first.
_KEPT = 32

_compiled: dict[tuple[Any, ...], Executable] = {}
_lock = threading.RLock()


def executable_for(graph: Graph, strides: Sequence[Any], options: Options) -> Executable:
    """The graph's machine code, compiled once in this process.  `strides`: a stride class for each array input."""
    arrays = [i for i in graph.inputs if i.value is not None]
    dims = [
        stride_dims(given.name, s, given.value.type.dims)
        for given, s in zip(arrays, strides, strict=True)
        if given.value is not None
    ]
    key = (graph.key(), tuple(map(str, dims)), options.compiled)
    with _lock:
        found = _compiled.get(key)
        if found is None:
            from .pipeline import compile_graph

            found = _compiled[key] = compile_graph(graph, options, strides=dims).executable
        return found
