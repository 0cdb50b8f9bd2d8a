"""Lazy expressions that were evaluated before: their code is found without making their graph again.

A graph of symbols (`symbolic_shapes`) serves every size, but making it takes much longer than small code runs.  Here
expressions, one or several that are evaluated together, are looked up by their *form* (`structural_key`).  Of one form
there is one call, whose symbols, sizes of results and temporaries are known, so what is left is to take the arrays of
the leaves and to enter machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ....runtime.environment import variable
from ...config.devices import device_here
from ...config.knobs import GDB, PASSES
from ..trace.graph import Node, Value
from .bounded import lru_put
from .structural_key import combine_keys, key_of

if TYPE_CHECKING:
    from ...driver.compile_cache import GraphCall

__all__ = ["insert", "lookup", "request"]

#: What evaluates expressions of such leaves.
Run: TypeAlias = Callable[[Sequence[Node]], list[np.ndarray]]

#: How many calls are kept; the oldest go first.
MOST = 2048
#: How many times a call runs before what depends on its shapes is done once for all: the first of these loads code.
OFTEN = 16
#: What of the environment selects code, beside the device.
_passes, _gdb = variable(PASSES.name), variable(GDB.name)
_calls: dict[tuple[Any, ...], Run] = {}


def request(outputs: Sequence[Value], written: Value | None = None) -> tuple[tuple[Any, ...], tuple[Node, ...]] | None:
    """What selects the call for expressions, the first of which may go into the leaf `written`; and their leaves.

    None for what is no plain expression of plain arrays.
    """
    if written is None and len(outputs) == 1:  # most are: as `combine_keys`, without its loop
        (value,) = outputs
        form, leaves = value.key or key_of(value)
        if form is None:
            return None
        found = form, (value.node,) if leaves is None else leaves
    else:
        found = combine_keys(outputs if written is None else (*outputs, written))
        if found is None:
            return None
    return (found[0], device_here(), _passes(), _gdb()), found[1]


def lookup(key: tuple[Any, ...]) -> Run | None:
    """What was remembered for such an expression."""
    return _calls.get(key)


def insert(key: tuple[Any, ...], call: GraphCall, places: Sequence[int], numbers: Sequence[np.ndarray]) -> None:
    """Keep a call, without the arrays that it was made for; `places` has, for each of them, its number as a leaf.

    Behind them it takes `numbers`, which the key says.
    """
    executable, prepared = call.executable, call.prepared
    lasting = type(executable)(executable.signature.without_sources(), executable.code, executable.native)
    kept = call._replace(executable=lasting)

    seldom = iter(range(OFTEN))

    def run_for_now(leaves: Sequence[Node]) -> list[np.ndarray]:
        """Run it; what comes often is prepared further."""
        if next(seldom, None) is not None:
            return kept([*[leaves[i].leaf for i in places], *numbers])
        direct = lasting.repeated(prepared)
        run = direct if direct is not None and not lasting.written else kept._replace(direct=direct)
        if numbers:
            return _keep(key, lambda leaves: run([*[leaves[i].leaf for i in places], *numbers]))(leaves)
        return _keep(key, lambda leaves: run([leaves[i].leaf for i in places]))(leaves)

    _keep(key, run_for_now)


def _keep(key: tuple[Any, ...], run: Run) -> Run:
    lru_put(_calls, key, run, MOST)
    return run
