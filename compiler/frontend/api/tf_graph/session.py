"""`Session`: runs what is fetched from a graph, one compiled function for each set of fetches and of feeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ....call.signature import like
from ....driver.jit import Jitted, jit
from .default_session import enter, leave
from .graph import Graph, Operation, Tensor, get_default_graph, replay
from .host_tensor import numpy_type_of
from .shape import TensorShape
from .variables import Variable, variable_of

__all__ = ["FeedError", "Session"]


class FeedError(ValueError):
    """A placeholder that was not fed, or a value that does not fit what it is fed to."""


class Session:
    """Runs operations of one graph (the default one where none is given), and holds the values of its variables.

    Inside ``with session:`` it is the default one, as is its graph; at the end it is closed.
    """

    def __init__(self, graph: Graph | None = None):
        self.graph = graph or get_default_graph()
        self._functions: dict[tuple[tuple[Tensor, ...], tuple[Tensor, ...]], Jitted] = {}
        self._variables: dict[Variable, np.ndarray] = {}
        self._closed = False
        self._entered = ExitStack()

    def __enter__(self) -> Session:
        self._entered.enter_context(self.graph.as_default())
        enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        leave()
        self._entered.close()
        self.close()

    def close(self) -> None:
        """Forget variables and compiled functions; running it is an error from now on."""
        self._closed = True
        self._functions.clear()
        self._variables.clear()

    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any:
        """The values of `fetches`: a tensor, an operation (None), their names, or lists, tuples and dicts of these.

        `feed_dict` gives tensors (of any operation) their values.  FeedError where a placeholder is needed and not
        fed, or a value does not fit; ValueError for tensors of another graph; RuntimeError once closed.
        """
        if self._closed:
            raise RuntimeError("the session is closed")
        wanted: dict[Tensor | Operation, None] = {}
        self._collect(fetches, wanted)
        feeds = {self._tensor(key): value for key, value in (feed_dict or {}).items()}
        arrays = {t: _fed(t, value) for t, value in feeds.items()}
        values: dict[Any, Any] = dict(self._computed([t for t in wanted if isinstance(t, Tensor)], arrays))
        for op in wanted:
            if isinstance(op, Operation):
                self._run_operation(op, arrays)
        return self._structured(fetches, values)

    def function(self, fetches: Sequence[Tensor], feeds: Sequence[Tensor]) -> Jitted:
        """The function that computes `fetches` from the values of `feeds` (one list): one for each such pair."""
        key = (tuple(fetches), tuple(feeds))
        if key not in self._functions:
            plan = _Plan(*key)

            def run(fed: list[Any]) -> list[Any]:
                return plan.replay(fed)

            self._functions[key] = jit(run)
        return self._functions[key]

    def _computed(self, fetches: Sequence[Tensor], arrays: Mapping[Tensor, np.ndarray]) -> dict[Tensor, np.ndarray]:
        if not fetches:
            return {}
        needed = _needed(fetches, arrays)
        values = {t: arrays.get(t) if t in arrays else self._value(t) for t in needed}
        feeds = [t for t in arrays if t in needed] + [t for t in needed if t not in arrays]
        results = self.function(fetches, feeds)([values[t] for t in feeds])
        return dict(zip(fetches, map(np.asarray, results), strict=True))

    def _value(self, tensor: Tensor) -> np.ndarray:
        """The value of a variable; an error for a placeholder."""
        variable = variable_of(tensor)
        if variable is None:
            shape = tensor.shape.debug_string()
            raise FeedError(
                f"placeholder {tensor.op.name!r} of dtype {tensor.dtype.name} and shape {shape} was not fed: "
                f"give run a feed_dict with a value for it"
            )
        if variable not in self._variables:
            raise RuntimeError(f"variable {variable.name!r} has no value in this session: run its initializer")
        return self._variables[variable]

    def _run_operation(self, op: Operation, arrays: Mapping[Tensor, np.ndarray]) -> None:
        if op.type != "assign":
            self._computed(op.outputs, arrays)
            return
        target, value = op.inputs
        variable = variable_of(target)
        assert variable is not None
        self._variables[variable] = self._computed([value], arrays)[value].copy()

    def _tensor(self, key: Any) -> Tensor:
        found = self.graph.get_tensor_by_name(key) if isinstance(key, str) else key
        if not isinstance(found, Tensor):
            raise TypeError(f"values are fed to tensors or their names, not to {key!r}")
        if found.graph is not self.graph:
            raise ValueError(f"{found.name} is no tensor of this session's graph")
        return found

    def _collect(self, fetches: Any, wanted: dict[Tensor | Operation, None]) -> None:
        if isinstance(fetches, (tuple, list)):
            for f in fetches:
                self._collect(f, wanted)
        elif isinstance(fetches, dict):
            for f in fetches.values():
                self._collect(f, wanted)
        else:
            wanted[self._fetched(fetches)] = None

    def _fetched(self, fetch: Any) -> Tensor | Operation:
        if isinstance(fetch, Variable):
            fetch = fetch.value
        if isinstance(fetch, str):
            fetch = self.graph.get_tensor_by_name(fetch) if ":" in fetch else self.graph.get_operation_by_name(fetch)
        if not isinstance(fetch, (Tensor, Operation)):
            raise TypeError(f"tensors, operations and their names are fetched, not {fetch!r}")
        if fetch.graph is not self.graph:
            raise ValueError(f"{fetch.name} is not of this session's graph")
        return fetch

    def _structured(self, fetches: Any, values: Mapping[Any, Any]) -> Any:
        if isinstance(fetches, (tuple, list)):
            return like(fetches, [self._structured(f, values) for f in fetches])
        if isinstance(fetches, dict):
            return {k: self._structured(f, values) for k, f in fetches.items()}
        return values.get(self._fetched(fetches))


class _Plan:
    """What a compiled function of a session computes."""

    def __init__(self, fetches: Sequence[Tensor], feeds: Sequence[Tensor]):
        self.fetches, self.feeds = fetches, feeds

    def replay(self, fed: Sequence[Any]) -> list[Any]:
        return replay(self.fetches, dict(zip(self.feeds, fed, strict=True)))


def _needed(fetches: Sequence[Tensor], fed: Mapping[Tensor, Any]) -> list[Tensor]:
    """What a run must be given: the fed tensors that count, placeholders, variables; in the order that they are met."""
    found: dict[Tensor, None] = {}
    seen: set[Tensor] = set()
    pending = list(fetches)[::-1]
    while pending:
        tensor = pending.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        if tensor in fed or tensor.op.type in ("placeholder", "variable"):
            found[tensor] = None
        else:
            pending.extend(tensor.op.inputs[::-1])
    return list(found)


def _fed(tensor: Tensor, value: Any) -> np.ndarray:
    """The value as an array of the tensor's dtype.  FeedError where it does not fit."""
    if isinstance(value, Tensor):
        raise TypeError(f"the value fed to {tensor.name} is a tensor itself; feed arrays, numbers or lists of these")
    wanted = numpy_type_of(tensor.dtype)
    given = np.asarray(value)
    if not np.can_cast(given.dtype, wanted, "same_kind"):
        raise FeedError(f"{tensor.name} is of {tensor.dtype.name}, and cannot be fed elements of {given.dtype}")
    if not tensor._shape.is_compatible_with(TensorShape(given.shape)):
        shape = TensorShape(given.shape).debug_string()
        raise FeedError(f"{tensor.name} has shape {tensor._shape.debug_string()}, and cannot be fed shape {shape}")
    return given.astype(wanted, copy=False)
