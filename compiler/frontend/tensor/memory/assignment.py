"""Stores: what becomes of a tensor, and of those that it is a view of, when its elements are replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .....dialects.dims.index_map import IndexMap
from .....dialects.registry import OPS, CertainError, OpError
from ....config.devices import device as on_device
from ....config.devices import parse_device
from ....diagnostics import located
from ...lazy.evaluate import check_outside_a_trace, evaluate_async
from ...trace.context import current, table
from ...trace.emit import emit
from ..apply import as_tensor
from ..broadcasting import broadcast_to, common_dims
from ..promotion import cast
from ..tensor import Tensor
from .storage import give_memory, write

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["Target", "store"]


def store(target: Tensor, new: Any, is_fresh: bool = False) -> None:
    """Replace all elements of `target`: ``x[...] = new``, cast and broadcast as NumPy does.

    `is_fresh`: nobody else has `new`.
    """
    with located():
        source, trace = as_tensor(new), current()
        if source is target:
            return
        if trace is not None and target.is_lazy:
            trace.capture_lazy(target).store(source)
            return
        owner, index = target.owner()
        if source.is_view and index is not None and source.dims == target.dims:
            other, where = (None, None) if source.reads_only else source.owner()
            if other is owner and where == index:
                return
        source = cast(source, target.element)
        if source.ndim > 1 and target.ndim > 1 and source.layout != target.layout:
            raise OpError("a store mixes layouts", "put .swap_layout() on the value", "TX0210")
        facts = table()
        while source.ndim > target.ndim and facts.is_one(source.dims[0]):
            source = source[0]
        if trace is not None and trace.bound:
            text = "could not broadcast input array into the shape of what it is stored into"
            source = target.functions.data_dependent_sizes.stored(source, target.dims, text)
        grows = source.ndim > target.ndim or any(
            a is not b and facts.is_one(a) and not facts.is_one(b) for a, b in zip(target.dims[::-1], source.dims[::-1])
        )
        if grows:
            varies = any(facts.varies(facts.resolve(d)) for d in (*target.dims, *source.dims))
            kind = OpError if varies else CertainError
            raise kind(f"cannot store {source.user_type} into {target.user_type}", code="TX0221")
        if source.dims != target.dims:
            common_dims((target, source), "a store")
            source = broadcast_to(source, target.dims, target.layout)
        if owner.memory is not None:
            write(target, source, is_fresh)
            return
        before = owner.value
        if index is None:
            after = source.value
        else:
            # The view is older than what broadcasting has just learnt of its dims.
            parts = (index.extents, index.exprs, index.guards)
            known = IndexMap(*(tuple(facts.resolve(d) for d in part) for part in parts))
            (after,) = emit(OPS["insert"], (before, source.value), {"map": known})
        owner.replace(after, before, target)


class Target:
    """``out.on(device)[key] = expression``: the store is evaluated at once, on that device.

    With `done` it is evaluated in another thread: `future` then gives the tensor, when `done` has been called with it.
    """

    def __init__(self, tensor: Tensor, device: str | None, done: Callable[[Any], object] | None = None):
        check_outside_a_trace("on(…)")
        if device is not None:
            parse_device(device)
        self._tensor, self._device, self._done = tensor, device, done
        self.future: Future[Any] | None = None

    def __setitem__(self, key: Any, new: Any) -> None:
        def work() -> Tensor:
            give_memory(self._tensor)
            self._tensor[key] = new
            return self._tensor

        # Later stores into tensors of the expression are not part of it.
        new = new.snapshot() if isinstance(new, Tensor) else new
        if self._done is not None:
            self.future = evaluate_async(work, self._device, self._done)
            return
        with on_device(self._device):
            work()
