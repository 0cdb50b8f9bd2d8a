"""Which ints only the compiled function knows, and where they are in a sequence, by Python's rules."""

from __future__ import annotations

import math
from typing import Any

from ...indexing.advanced import IndexArrays, gather
from ...scalars.python_numbers import as_int, checked
from ...tensor.apply import apply, as_tensor
from ...tensor.tensor import Tensor
from ...trace.context import require, table
from ...trace.symint import SymInt

__all__ = ["inside", "is_known_later", "is_never_known", "taken"]

#: Up to so many iterations, of all loops around, are written out where they look up numbers, and up to so many of those
#: that count the index where they look up anything else.
_OF_NUMBERS, _OF_OTHERS = 32, 1_000


def is_known_later(key: Any) -> bool:
    """Whether an index is an int that only the compiled function knows.

    What loops of a few iterations count is not: Python counts them, as it always can, and then all that depends on
    the index is known.
    """
    if isinstance(key, Tensor):
        return not key.ndim and (key.element.is_integer or key.weak == "bool")
    return isinstance(key, SymInt) and _is_counted_later(key, _OF_NUMBERS, alone=False)


def is_never_known(key: Any) -> bool:
    """Whether an index is such an int even if loops of a known number of iterations are written out."""
    return not isinstance(key, SymInt) or _is_counted_later(key, _OF_OTHERS, alone=True)


def _is_counted_later(key: SymInt, written_out: int, alone: bool) -> bool:
    """Whether an int has no number if loops are written out that have so many iterations, those that count it `alone`
    or all around."""
    trace, facts = require(), table()
    place = facts.resolve(key.dim)
    if not facts.varies(place):
        return facts.hint(place) is None
    never = trace.bound | facts.only_loops
    counts = {s: last - first + 1 for s, (first, last) in facts.loops.items() if s not in never}
    counting = place.symbols() & facts.loops.keys()
    if any(s not in counts or counts[s].const is None for s in counting):
        return True
    known = (count.const for s, count in counts.items() if s in counting or not alone)
    return math.prod(max(n, 1) for n in known if n is not None) > written_out


def inside(key: Any, size: Any, name: str) -> Tensor:
    """The place of an index in a sequence of a size; IndexError of the call, with Python's text, where it has none.

    `name` is what Python calls the sequence; key and size may be ints, or such that only the compiled function knows.
    """
    place, known = as_tensor(key), isinstance(key, SymInt) and isinstance(size, int)
    if isinstance(key, Tensor):
        place = as_int(key)
    facts = table()
    if not (known and facts.proves(-size, "<=", key.dim) and facts.proves(key.dim, "<", size)):
        low = apply("less_equal", apply("negate", as_tensor(size)), place)
        holds = apply("logical_and", low, apply("less", place, size))
        text = f"{name} index out of range".lstrip()
        place = checked(place, holds, IndexError, text)
    if not (known and facts.proves(0, "<=", key.dim)):
        place = apply("select", apply("less", place, 0), apply("add", place, size), place)
    return Tensor(place.value, weak="int")


def taken(vector: Tensor, places: Tensor) -> Tensor:
    """The elements at places that are inside."""
    return gather(IndexArrays(vector, [0], [places], 0, mode=None))
