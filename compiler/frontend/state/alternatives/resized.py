"""Arrays of one size or another, as compiled code decided, as arrays whose sizes values decide.

What a branch leaves of another size than the other one is one of two arrays (`one_of`).  No loop carries that;
but memory for the largest, at the begin of which the elements of the one that there is are, and its sizes
(`changing_sizes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .....dialects.dims.dims import Dim
from ...indexing.changing_sizes import larger, packed, unpacked
from ...indexing.data_dependent_sizes import bind, largest
from ...tensor.apply import as_tensor
from ...tensor.tensor import Tensor
from ...trace.context import require
from ...trace.symint import as_dim, symint
from ..sharing import is_array
from .one_of import Method, OneOf

__all__ = ["as_arrays", "is_one_array"]


def is_one_array(value: Any, like: Any) -> bool:
    """Whether a value is one of several arrays of the dtype and rank of another."""
    return (
        isinstance(value, OneOf)
        and not isinstance(value, Method)
        and is_array(like)
        and all(
            is_array(v) and v.element is like.element and v.ndim == like.ndim and v.layout == like.layout
            for v, _ in value.options
        )
    )


def as_arrays(values: Sequence[OneOf]) -> list[Tensor]:
    """Values, each one of arrays of one dtype and rank, as copies of the array that each one is.

    Sizes that are equal whatever the array is are one size.
    """
    made: dict[int, Tensor] = {}
    groups: dict[tuple[int, ...], list[OneOf]] = {}
    for value in values:
        groups.setdefault(tuple(id(cond.value) for _, cond in value.options), []).append(value)
    for group in groups.values():
        made |= dict(zip(map(id, group), _together(group)))
    return [made[id(value)] for value in values]


def _together(values: Sequence[OneOf]) -> list[Tensor]:
    """Those of values with the same conditions."""
    trace = require()
    resolve = trace.table.resolve
    options = [[v for v, _ in value.options] for value in values]
    #: The sizes of a dim, by the option.
    dims = [[tuple(map(resolve, ends)) for ends in zip(*(v.type.dims for v in of))] for of in options]
    changing = list(dict.fromkeys(ends for of in dims for ends in of if any(d is not ends[0] for d in ends)))
    most = {ends: _largest(ends) for ends in changing}
    rooms = [[most.get(ends, ends[0]) for ends in of] for of in dims]
    first = values[0]
    numbered = OneOf(
        first.name, first.reason, first.hint, [(k, cond) for k, (_, cond) in enumerate(first.options)], first.fork
    )

    def parts(k: int) -> tuple[Tensor, ...]:
        memory = [Tensor(packed(of[k], room)) for of, room in zip(options, rooms)]
        return (*memory, *(as_tensor(symint(ends[k])) for ends in changing))

    found = numbered.each(parts, *(v for of in options for v in of))
    sizes = {ends: as_dim(bind(trace, t, most[ends])) for ends, t in zip(changing, found[len(values) :])}
    return [
        Tensor(unpacked(memory.value, [sizes.get(ends, ends[0]) for ends in of]), layout=given[0].layout, boxed=True)
        for memory, of, given in zip(found, dims, options)
    ]


def _largest(sizes: Sequence[Dim]) -> Dim:
    """The largest of some sizes: in all iterations where that is one size, else in this one."""
    trace = require()
    ends = [largest(trace, d) for d in sizes]
    if any(end is not ends[0] for end in ends):
        ends = [*sizes]
    most = ends[0]
    for end in ends[1:]:
        most = larger(trace, most, end)
    return trace.table.resolve(most)
