"""A call as Python sees it: its arguments taken apart, the facts they have, and what the call leaves in them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime.gpu.device_array import is_device_array
from .argument import Argument, item_name
from .device_arguments import shared
from .facts import as_dense_strided, element_name, stride_fact, value_fact
from .foreign_arrays import refuse_container, refuse_foreign
from .signature import Signature

if TYPE_CHECKING:
    from .shared_memory import Storage

__all__ = ["Call", "is_donated", "take_apart"]


class Call:
    """The arguments in the order of the parameters, and the facts key: what selects code, an entry an argument."""

    def __init__(self) -> None:
        self.arguments: list[Argument] = []
        self.key: list[Any] = []
        #: The class of a lazy tensor among the arguments: the results are such tensors then.
        self.lazy: Any = None
        #: Arguments in the memory of a GPU, by name: the results stay there then.
        self.on_device: dict[str, Any] = {}
        #: The memory that arrays of it share, where the function writes to it; facts of the call too.
        self.storages: list[Storage] = []

    def may_share(self, signature: Signature) -> bool:
        """Whether several arrays in the memory of this machine are given.

        Column-major tensors are read as they were.
        """
        if any(leaf.layout == "col" for leaf in self.leaves().values()):
            return False
        return sum(i.name not in self.on_device for i in signature.arrays) > 1

    def arrays(self, signature: Signature) -> list[np.ndarray]:
        """The arrays of the inputs that are arrays: arguments by name, captured ones from where they were found."""
        leaves = self.leaves()
        return [as_dense_strided(np.asarray(i.source)) if i.hidden else leaves[i.name].value for i in signature.arrays]

    def integers(self, signature: Signature, rooms: Mapping[str, int] | None = None) -> list[int]:
        """The ints of the other inputs; `rooms` says how large those of sizes without a bound are."""
        known: dict[str, Any] = {name: leaf.value for name, leaf in self.leaves().items()}
        known.update(rooms or signature.rooms)
        return [known[i.name] for i in signature.integers]

    def originals(self, signature: Signature) -> list[Any]:
        """As `arrays`, but the objects that the user has, not copies that can be walked."""
        leaves = self.leaves()
        found = []
        for given in signature.arrays:
            leaf = None if given.hidden else leaves[given.name]
            found.append(given.source if leaf is None else leaf.value if leaf.original is None else leaf.original)
        return found

    def named(self) -> dict[str, Any]:
        """The arrays that share memory, as the user has them, by name."""
        return {given.name: given.object for storage in self.storages for given in storage.given}

    def leaves(self) -> dict[str, Argument]:
        """The arguments by name, parts of a tuple, list or dict as ``name.part``, and those for shared memory."""
        parts = {a.name: a for argument in self.arguments for a in _parts(argument)}
        return parts | {a.name: a for storage in self.storages for a in storage.arguments()}

    def objects(self) -> list[Any]:
        """What a call that is like this one has again: objects that code depends on, and keys of dicts."""
        return list(_objects(self.arguments))

    def bring_to(self, function: str, device: str) -> None:
        """Take arrays that are in a GPU's memory as they are.  TypeError where it is not that of the `device`."""
        for name, value in self.on_device.items():
            form = shared(f"{name} of {function}", function, value, device).form()
            leaf = self.leaves()[name]
            leaf.value = leaf.original = form
            self.key[self.key.index(("device array", name))] = (
                "array", element_name(form), form.ndim, stride_fact(form),
            )  # fmt: skip

    def names(self) -> Iterator[str]:
        """The names of the facts in `key`: containers, and what is in them."""
        return _names(self.arguments)

    def check_written(self, signature: Signature, written: Sequence[int], donated: Collection[str]) -> None:
        """ValueError where an argument that is written in place, or a donated one, is read-only.

        TypeError where a call with lazy tensors would give one of them away.
        """
        originals, inputs = self.originals(signature), signature.arrays
        given_away = [
            inputs[position].name for position in written if inputs[position].name.partition(".")[0] in donated
        ]
        if given_away and self.lazy:
            names = ", ".join(given_away)
            raise TypeError(f"{signature.name} takes lazy tensors only where it gives nothing away (donate={names})")
        for position in written:
            if not originals[position].flags.writeable:
                which = f"{inputs[position].name} (shape {'×'.join(map(str, originals[position].shape))})"
                verb = "puts a result into" if inputs[position].name in given_away else "writes to"
                raise ValueError(f"{signature.name} {verb} {which}, which is read-only: pass a copy")

    def write_back(self, signature: Signature, written: Sequence[int], arrays: Sequence[np.ndarray]) -> list[Any]:
        """Give arrays that had to be copied to be walked what was written to the copy; the user's own, in order."""
        originals = self.originals(signature)
        for position in written:
            if originals[position] is not arrays[position]:
                originals[position][...] = arrays[position]
        return originals


def is_donated(argument: str, names: Collection[str]) -> bool:
    """Whether an argument, or a part of one (``x.0``), is given away."""
    return argument.partition(".")[0] in names


def take_apart(arguments: dict[str, Any]) -> Call:
    """A call of arguments by name.

    LeftToPython for foreign arrays, TypeError for element types, OverflowError for ints that txc does not have.
    """
    call = Call()
    for name, value in arguments.items():
        call.arguments.append(_argument(name, value, call))
    return call


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


def _objects(arguments: Iterable[Argument]) -> Iterator[Any]:
    for argument in arguments:
        if argument.kind == "value":
            yield argument.value
        elif argument.kind == "dict":
            yield from argument.value
            yield from _objects(argument.value.values())
        elif argument.kind in ("tuple", "list"):
            yield from _objects(argument.value)


def _argument(name: str, value: Any, call: Call, listed: bool = False) -> Argument:
    """One argument and what it adds to the facts.

    A bool is a flag, whose value is a fact of the call; only the bools in a list (`listed`) are data.
    """
    column = False
    if _is_tensor(value):
        call.lazy = call.lazy or type(value)
        column = value.layout == "col" and value.ndim > 0
        value = np.asarray(value).T if column else np.asarray(value)
    if is_device_array(value):
        call.on_device[name] = value
        call.key.append(("device array", name))
        return Argument(name, "array", None)
    refuse_foreign(name, value)
    if isinstance(value, np.ndarray):
        array = as_dense_strided(value)
        call.key.append(("column array" if column else "array", element_name(array), array.ndim, stride_fact(array)))
        return Argument(name, "array", array, original=value, layout="col" if column else "row")
    if isinstance(value, np.generic):  # before float: np.float64 is one, but its type counts in promotion
        call.key.append(("scalar", value.dtype.name))
        return Argument(name, "scalar", np.asarray(value))
    if isinstance(value, bool) and listed:
        call.key.append(("bool",))
        return Argument(name, "scalar", np.asarray(value, np.bool_), weak="bool")
    if isinstance(value, int) and not isinstance(value, bool):
        if not -(1 << 63) <= value < 1 << 63:
            raise OverflowError(f"{name} = {value} does not fit into 64 bits: pass a float")
        call.key.append(("int",))
        return Argument(name, "int", int(value))
    if isinstance(value, float):
        call.key.append(("float",))
        return Argument(name, "scalar", np.asarray(value, np.float64), weak="float")
    if isinstance(value, complex):
        call.key.append(("complex",))
        return Argument(name, "scalar", np.asarray(value, np.complex128), weak="complex")
    if isinstance(value, (tuple, list, dict)):
        refuse_container(name, value)
    if isinstance(value, (tuple, list)):
        which = () if type(value) in (tuple, list) else (value_fact(type(value)),)
        call.key.append((type(value).__name__, len(value), *which))
        in_list = listed or isinstance(value, list)
        items = [_argument(f"{name}.{i}", v, call, in_list) for i, v in enumerate(value)]
        return Argument(name, "tuple" if isinstance(value, tuple) else "list", items, original=value)
    if isinstance(value, dict):
        call.key.append(("dict", *value))
        names = (item_name(name, k, place) for place, k in enumerate(value))
        given = {k: _argument(item, v, call, listed) for item, (k, v) in zip(names, value.items())}
        return Argument(name, "dict", given)
    held = getattr(type(value), "__txc_array__", None)  # of a tensor of another kind: the array that it stands for
    if held is not None:
        return _argument(name, held(value), call)
    call.key.append(("value", type(value).__name__, value_fact(value)))
    return Argument(name, "value", value)


def _is_tensor(value: Any) -> bool:
    """Whether it is a lazy tensor: there are none before the front end is imported."""
    front_end = sys.modules.get(f"{__name__.rsplit('.', 2)[0]}.frontend.tensor.tensor")
    kind = getattr(front_end, "Tensor", None)  # another thread may be importing it now
    return kind is not None and isinstance(value, kind)


def _names(arguments: Iterable[Argument]) -> Iterator[str]:
    for argument in arguments:
        yield argument.name
        if argument.kind == "dict":
            yield from _names(argument.value.values())
        elif argument.kind in ("tuple", "list"):
            yield from _names(argument.value)
