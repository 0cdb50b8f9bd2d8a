"""Lazy expressions that were evaluated before: their code is found without making their graph again.

A graph of symbols (`generic_sizes`) serves every size, but making it takes much longer than small code runs.  Here an
expression is looked up by its *form* (`forms`).  Of one form there is one call, whose symbols, sizes of results and
temporaries are known, so what is left is to take the arrays of its leaves and to enter machine code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...runtime.variables import variable
from ..devices import device_here
from ..knobs import GDB, PASSES
from .bounded import keep_latest
from .forms import gather
from .graph import Single, Value

if TYPE_CHECKING:
    from ..graph_code import GraphCall

__all__ = ["Known", "asked", "known", "remember"]

#: How many calls are kept; the oldest go first.
MOST = 2048
#: What of the environment selects code, beside the device.
_passes, _gdb = variable(PASSES.name), variable(GDB.name)


class Known(NamedTuple):
    """A call of an expression, and the places that its arrays have among the leaves."""

    call: GraphCall
    places: tuple[int, ...]

    def __call__(self, leaves: Sequence[Single]) -> np.ndarray:
        """The value of the expression of such leaves."""
        return self.call([leaves[i].leaf for i in self.places])[0]


_calls: dict[tuple[Any, ...], Known] = {}


def asked(value: Value, written: Value | None = None) -> tuple[tuple[Any, ...], tuple[Single, ...]] | None:
    """What selects the call for an expression whose value goes into the leaf `written`, where one is given; its leaves.

    None for what is no plain expression of plain arrays.
    """
    key: list[Any] = [device_here(), _passes(), _gdb()]
    leaves = gather(key, (value,) if written is None else (value, written))
    return None if leaves is None else (tuple(key), leaves)


def known(key: tuple[Any, ...]) -> Known | None:
    """What was remembered for such an expression."""
    return _calls.get(key)


def remember(key: tuple[Any, ...], call: GraphCall, places: tuple[int, ...]) -> None:
    """Keep a call, without the arrays that it was made for."""
    executable = call.executable
    lasting = type(executable)(executable.signature.without_sources(), executable.code, executable.native)
    kept = call._replace(executable=lasting, direct=lasting.repeated(call.prepared))
    keep_latest(_calls, key, Known(kept, places), MOST)
