"""Arrays of a call that share memory which the function writes: views on one storage.

A store into one of Python's arrays is seen in all that overlap it.  Which arrays of a call do is a fact of the call:
the program for it has one argument for their memory, and each of them is a view of that.  Where all are one array it
is the storage; otherwise the storage is the vector of all elements between the first and the last that any of them
reaches, and element ``(i, j, …)`` of an array is element ``offset + i * stride + j * stride + …`` of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...dialects.registry import OpError
from .argument import Argument
from .arguments import is_donated
from .facts import Identity, as_dense_strided, element_name, shares_memory, stride_fact

if TYPE_CHECKING:
    from .arguments import Call
    from .signature import Signature

__all__ = ["Given", "Member", "Storage", "share", "storages_of"]


class Given:
    """An array of a call, an argument or captured: the user's object, and its memory as an array of NumPy.

    Two are equal where they are one object under one name.
    """

    def __init__(self, name: str, object: Any, is_captured: bool):
        self.name, self.object, self.array, self.is_captured = name, object, np.asarray(object), is_captured

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given) and (other.name, other.object is self.object) == (self.name, True)

    def __hash__(self) -> int:
        return id(self.object)


class Member(NamedTuple):
    """A view of a storage: from which element on; None: all of it."""

    given: Given
    offset: int | None


class Storage:
    """Memory that several arrays of a call share, as one array of the program."""

    def __init__(self, name: str, given: Sequence[Given]):
        self.name = name
        first = given[0].array
        if _is_one(given):
            self.array, self.object, offsets = as_dense_strided(first), given[0].object, [None] * len(given)
        else:
            lows, highs = zip(*(np.lib.array_utils.byte_bounds(g.array) for g in given))
            self.array = self.object = np.asarray(_Memory(min(lows), max(highs), first.dtype, given))
            offsets = [(_address(g.array) - min(lows)) // first.itemsize for g in given]
        self.members = [*map(Member, given, offsets)]

    @property
    def given(self) -> list[Given]:
        """The arrays that share it."""
        return [given for given, _ in self.members]

    def arguments(self) -> Iterator[Argument]:
        """What the program's arguments for it are: the memory, then what the views on it are made from."""
        yield Argument(self.name, "array", self.array, original=self.object)
        for given, offset in self.members:
            if offset is not None:
                array = given.array
                yield Argument(f"{given.name}.offset", "int", offset)
                for i, (size, stride) in enumerate(zip(array.shape, array.strides)):
                    yield Argument(f"{given.name}.{i}", "int", size)
                    yield Argument(f"{given.name}.s{i}", "int", stride // array.itemsize)

    def fact(self) -> tuple[Any, ...]:
        """What a program depends on."""
        parts = []
        for given, offset in self.members:
            array = as_dense_strided(given.array)
            form = (Identity(given.object), element_name(array), array.ndim, stride_fact(array))
            one = next(other.name for other, _ in self.members if other.object is given.object)
            how = "" if offset is None else "part of it", "" if given.array.flags.writeable else "read-only"
            parts.append((given.name, *(form if given.is_captured else ()), f"is {one}", *how))
        return ("shared memory", self.name, *parts)


class _Memory:
    """The elements between two addresses, which `owners` keep alive, for NumPy."""

    def __init__(self, low: int, high: int, element: np.dtype[Any], owners: Sequence[Any]):
        self.owners = owners
        shape = ((high - low) // element.itemsize,)
        self.__array_interface__ = {"data": (low, False), "shape": shape, "typestr": element.str, "version": 3}


def storages_of(given: Sequence[Given], written: Collection[int], function: str) -> list[Storage]:
    """The storages of the arrays that share memory with one of those `written`, by their numbers.

    OpError where some do so in a way in which no program can see them as elements of one array.
    """
    groups: list[set[int]] = []
    for n, one in enumerate(given):
        meets = {
            m
            for m in range(n)
            if (n in written or m in written)
            and (one.object is given[m].object or shares_memory(one.array, given[m].array))
        }
        joined = [group for group in groups if group & meets]
        groups = [*(group for group in groups if group not in joined), {n}.union(*joined)]
    found = [[given[n] for n in sorted(group)] for group in groups if len(group) > 1]
    for group in found:
        _check(group, function)
    return [Storage(f"shared${n}", group) for n, group in enumerate(found)]


def _check(group: Sequence[Given], function: str) -> None:
    """OpError where the arrays are not of elements at whole distances, of one dtype."""
    if _is_one(group):
        return
    first = group[0]
    for other in group:
        distance = _address(other.array) - _address(first.array)
        if other.array.dtype != first.array.dtype:
            how = f"one as {first.array.dtype}, one as {other.array.dtype}"
        elif any(as_dense_strided(g.array) is not g.array for g in (first, other)):
            how = "in a form that has to be copied first"
        elif distance % first.array.itemsize:
            how = f"{distance} bytes apart, no whole number of elements"
        else:
            continue
        names = " and ".join(dict.fromkeys(g.name for g in (first, other)))
        text = f"{names} share memory, into which {function} stores, {how}"
        raise OpError(text, "pass a copy of one of them", "TX0224")


def _is_one(group: Sequence[Given]) -> bool:
    """Whether all are the same elements, in the same order."""
    forms = [(_address(g.array), g.array.shape, g.array.strides, g.array.dtype) for g in group]
    return all(form == forms[0] for form in forms)


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def share(call: Call, signature: Signature, written: Collection[int], donated: Collection[str]) -> bool:
    """Let arrays that share memory with one of those `written` be views on one storage: a fact of the call.

    False where they are that already, or none do.  Of those `donated`, which are given away, others are read as
    they were.  OpError where no program can see them as such views.
    """
    given: list[Given] = []
    stored = set()
    for position, (spec, original) in enumerate(zip(signature.arrays, call.originals(signature))):
        if spec.name in call.on_device:
            continue
        storage = next((s for s in call.storages if s.name == spec.name), None)
        arrays = [Given(spec.name, original, spec.hidden)] if storage is None else storage.given
        if position in written and not is_donated(spec.name, donated):
            stored |= {*range(len(given), len(given) + len(arrays))}
        given += arrays
    found = storages_of(given, stored, signature.name)
    if all(any({*new.given} <= {*old.given} for old in call.storages) for new in found):
        return False
    call.key[len(call.key) - len(call.storages) :] = [storage.fact() for storage in found]
    call.storages = found
    return True
