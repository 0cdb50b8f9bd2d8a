"""Arrays of a call that share memory, as views on one argument of the trace (see `compiler/call/shared_memory.py`)."""

from __future__ import annotations

from ....dialects.dims.dims import packed_strides
from ....dialects.registry import OPS
from ...call.facts import stride_fact
from ...call.shared_memory import Member, Storage
from ...call.strides import symbolic_strides
from ..tensor.tensor import Tensor
from .trace import Trace

__all__ = ["share"]


def share(trace: Trace, storage: Storage) -> None:
    """Make the argument for a storage; `trace` then knows the arrays on it, one tensor an object, as views of it."""
    whole = trace.array_input(storage.name, storage.array)
    for member in storage.members:
        given = member.given
        if id(given.object) not in trace.shared:
            made = whole._view(None, {}) if member.offset is None else _part(trace, whole, member)
            if not given.array.flags.writeable:
                made.frozen = given.name
            trace.shared[id(given.object)] = made
            trace.shared_names[made] = given.name


def _part(trace: Trace, whole: Tensor, member: Member) -> Tensor:
    """The elements of a member: its sizes are symbols as those of any argument, so are its offset and its strides."""
    name, array = member.given.name, member.given.array
    offset = trace.symbol_input(f"{name}.offset", f"${name}.offset", member.offset, f"where {name} begins")
    dims = tuple(trace.symbol_input(f"{name}.{i}", f"{name}.{i}", n, f"{name}.{i}") for i, n in enumerate(array.shape))
    strides = symbolic_strides(name, dims, stride_fact(array)) or packed_strides(dims)
    for i, stride in enumerate(strides):
        if stride.symbol is not None and stride.symbol.name == f"${name}.s{i}":
            trace.symbol_input(f"{name}.s{i}", stride.symbol.name, array.strides[i] // array.itemsize, f"stride {i}")
    return whole._view(OPS["as_strided"], {"offset": (offset,), "dims": dims, "strides": strides})
