"""A call as Python sees it: its arguments taken apart, the facts they have, and what the call leaves in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..dialects.types import dtype
from .facts import stride_fact, value_fact, walkable
from .frontend.graph import Graph, Input
from .frontend.staging import Argument
from .frontend.tensor import Tensor

__all__ = ["Call", "take_apart"]


@dataclass
class Call:
    """The arguments in the order of the parameters, and the facts key: what selects code, an entry an argument."""

    arguments: list[Argument] = field(default_factory=list)
    key: list[Any] = field(default_factory=list)
    #: Whether an argument was a lazy tensor: then so are the results.
    lazy: bool = False

    def arrays(self, graph: Graph) -> list[np.ndarray]:
        """The arrays of the graph's tensor inputs: arguments by name, captured ones from where they were found."""
        leaves = self.leaves()
        return [walkable(np.asarray(i.source)) if i.hidden else leaves[i.name].value for i in _tensors(graph)]

    def integers(self, graph: Graph) -> list[int]:
        """The ints of the graph's other inputs."""
        leaves = self.leaves()
        return [leaves[i.name].value for i in graph.inputs if i.value is None]

    def originals(self, graph: Graph) -> list[Any]:
        """As `arrays`, but the objects that the user has, not copies that can be walked."""
        leaves = self.leaves()
        found = []
        for given in _tensors(graph):
            leaf = None if given.hidden else leaves[given.name]
            found.append(given.source if leaf is None else leaf.value if leaf.original is None else leaf.original)
        return found

    def leaves(self) -> dict[str, Argument]:
        """The arguments by name; parts of a tuple, list or dict as ``name.part``."""
        return {a.name: a for argument in self.arguments for a in _parts(argument)}

    def names(self) -> Iterator[str]:
        """The names of the facts in `key`: containers, and what is in them."""
        return _names(self.arguments)

    def check_written(self, graph: Graph, written: Sequence[int]) -> None:
        """ValueError where an argument that is written in place is read-only."""
        originals, inputs = self.originals(graph), _tensors(graph)
        for position in written:
            if not originals[position].flags.writeable:
                shape = "×".join(map(str, originals[position].shape))
                raise ValueError(
                    f"{graph.name} writes to {inputs[position].name} (shape {shape}), which is read-only: pass a copy"
                )

    def write_back(self, graph: Graph, written: Sequence[int], arrays: Sequence[np.ndarray]) -> list[Any]:
        """Give arrays that had to be copied to be walked what was written to the copy; the user's own, in order."""
        originals = self.originals(graph)
        for position in written:
            if originals[position] is not arrays[position]:
                originals[position][...] = arrays[position]
        return originals


def take_apart(arguments: dict[str, Any]) -> Call:
    """A call of arguments by name.  TypeError for element types, OverflowError for ints that txc does not have."""
    call = Call()
    for name, value in arguments.items():
        call.arguments.append(_argument(name, value, call))
    return call


def _tensors(graph: Graph) -> list[Input]:
    return [i for i in graph.inputs if i.value is not None]


def _parts(argument: Argument) -> Iterator[Argument]:
    if argument.kind == "dict":
        parts: dict[str, Argument] = argument.value
        for part in parts.values():
            yield from _parts(part)
    elif argument.kind in ("tuple", "list"):
        for part in argument.value:
            yield from _parts(part)
    else:
        yield argument


def _argument(name: str, value: Any, call: Call) -> Argument:
    """One argument and what it adds to the facts."""
    if isinstance(value, Tensor):
        call.lazy = True
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        array = walkable(value)
        element = dtype(array.dtype)
        fact = stride_fact(array)
        call.key.append(("array", element.name, array.ndim, fact))
        return Argument(name, "array", array, original=value)
    if isinstance(value, np.generic):  # before float: np.float64 is one, but its type counts in promotion
        call.key.append(("scalar", value.dtype.name))
        return Argument(name, "scalar", np.asarray(value))
    if isinstance(value, bool):
        call.key.append(("bool",))
        return Argument(name, "scalar", np.asarray(value, np.bool_), weak="bool")
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 63:
            raise OverflowError(f"{name} = {value} does not fit into 64 bits: pass a float")
        call.key.append(("int",))
        return Argument(name, "int", int(value))
    if isinstance(value, float):
        call.key.append(("float",))
        return Argument(name, "scalar", np.asarray(value, np.float64), weak="float")
    if isinstance(value, (tuple, list)):
        call.key.append((type(value).__name__, len(value)))
        items = [_argument(f"{name}.{i}", v, call) for i, v in enumerate(value)]
        return Argument(name, type(value).__name__, items)
    if isinstance(value, dict):
        call.key.append(("dict", *value))
        return Argument(name, "dict", {k: _argument(f"{name}.{k}", v, call) for k, v in value.items()})
    call.key.append(("value", type(value).__name__, value_fact(value)))
    return Argument(name, "value", value)


def _names(arguments: Iterable[Argument]) -> Iterator[str]:
    for argument in arguments:
        yield argument.name
        if argument.kind == "dict":
            yield from _names(argument.value.values())
        elif argument.kind in ("tuple", "list"):
            yield from _names(argument.value)
