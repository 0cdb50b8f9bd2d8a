"""The versions of a jitted function: what each was compiled for, why, and how native code gets to it."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...runtime.stub.native_call import CapturedObject, Record
from .. import on_demand
from ..cache.captured_value import Captured
from ..call.arguments import Call
from ..call.facts import describe, stride_fact
from ..call.signature import Signature
from .executable import Executable
from .size_specialization import EVIDENCE, NO_LIMIT, SizeStatistics

__all__ = ["Described", "PreparedCall", "Version", "describe_versions", "described", "why_not"]


_numbers = itertools.count()
NONE_FIXED: Mapping[str, int] = {}


class PreparedCall(NamedTuple):
    """A call prepared for a version: arrays in the order of the graph's inputs, and what their shapes imply."""

    arrays: list[np.ndarray]
    prepared: Any


class Version:
    """One trace of a function: how it is called, its machine code, what it captured, why it was made."""

    def __init__(
        self, executable: Executable, captured: Sequence[Captured], call: Call, fixed: Mapping[str, int] = NONE_FIXED
    ):
        self.executable, self.captured = executable, tuple(captured)
        #: The sizes that it was made for, by symbol, and what is known of those of its calls
        #: (`size_specialization.py`).
        self.fixed, self.evidence = fixed, SizeStatistics()
        self.key = tuple(call.key)
        self._objects = call.objects()
        #: How many arguments ``*name`` collects, by name, among other tuples.
        self._lengths = {a.name: len(a.value) for a in call.arguments if a.kind == "tuple"}
        self._captured_facts = self._facts_of_captured(call.arrays(self.signature))
        self.why = ""
        #: Later versions have larger ones.
        self.number = next(_numbers)

    @property
    def signature(self) -> Signature:
        return self.executable.signature

    @property
    def by_python(self) -> str:
        """Why Python makes its calls; empty where machine code does."""
        if not self.executable.code.entry:
            return self.executable.code.by_python
        unplaced = [c for c in self.captured if c.place is None]
        return f"{unplaced[0].text} is compared by value" if unplaced else ""

    def ready(self, call: Call) -> PreparedCall | None:
        """The call prepared, where the version's guards hold for it."""
        arrays = call.arrays(self.signature)
        if self._facts_of_captured(arrays) != self._captured_facts:
            return None
        steps = [tuple(s // a.itemsize for s in a.strides) for a in arrays]
        prepared = self.executable.prepare(
            [a.shape for a in arrays], steps, call.integers(self.signature, self.executable.rooms)
        )
        return None if prepared is None else PreparedCall(arrays, prepared)

    def sees_memory(self, call: Call, ready: PreparedCall) -> bool:
        """Whether compiled code has the caller's own arrays where results are views of them, not copies it can walk."""
        originals = call.originals(self.signature)
        return all(
            originals[number] is ready.arrays[number]
            for kind, number in (view.base for view in self.executable.views)
            if kind == "input"
        )

    def _facts_of_captured(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        """The facts of captured arrays: the key, which is made of arguments, does not say."""
        given = zip(self.signature.arrays, arrays, strict=True)
        return [(a.dtype, a.ndim, stride_fact(a)) for spec, a in given if spec.hidden]

    def failing(self, call: Call) -> str:
        """The first captured value or guard that does not hold for a call; empty where all do."""
        for captured in self.captured:
            if not captured():
                return f"{captured} no longer holds"
        arrays = call.arrays(self.signature)
        if self._facts_of_captured(arrays) != self._captured_facts:
            return "a captured array has another form"
        shapes = [a.shape for a in arrays]
        return self.executable.failing_guard(shapes, call.integers(self.signature, self.executable.rooms))

    @property
    def hidden(self) -> list[Any]:
        """What is no argument, in the order of inputs: captured arrays, and for how many elements there is memory."""
        rooms = self.executable.rooms
        return [rooms.get(i.name, i.source) for i in self.signature.inputs if i.hidden or i.name in rooms]

    def record(self, signature: inspect.Signature, takes_out: bool, threads: int) -> Record:
        """What a callable needs to call it directly."""
        parameters = on_demand.call_parameters()
        names: list[str | None] = []
        defaults: list[tuple[bool, Any]] = []
        positional = 0
        for p in signature.parameters.values():
            collected = p.kind is p.VAR_POSITIONAL
            count = self._lengths[p.name] if collected else int(p.kind is not p.VAR_KEYWORD)
            names += [None if collected or p.kind is p.POSITIONAL_ONLY else p.name] * count
            defaults += [(p.default is not p.empty, p.default)] * count
            positional += 0 if p.kind is p.KEYWORD_ONLY else count
        if takes_out:
            names.append(parameters.OUT)
            defaults.append((True, None))
        return Record(
            self.executable.native.entry,
            names,
            positional,
            defaults,
            [*self.hidden, *self._objects, *parameters.result_objects(self.signature.structure)],
            [CapturedObject(*c.place, c.value) for c in self.captured if c.place is not None],
            threads,
            self,
            NO_LIMIT if self.fixed else EVIDENCE,
            self.executable.raise_failed,
        )


def why_not(versions: Sequence[Version], call: Call) -> str:
    """Why none of the versions there are, the latest first, can make a call."""
    if not versions:
        return "it was the first call"
    same = [v for v in versions if v.key == tuple(call.key)]
    if same:
        return f"the facts were known, but {same[0].failing(call)}"
    latest = versions[0].key
    if len(latest) == len(call.key):
        changed = [f"{describe(new)} instead of {describe(old)}" for old, new in zip(latest, call.key) if old != new]
        return f"the facts were new: {'; '.join(changed)}"
    return "the facts were new: other arguments"


class Described(NamedTuple):
    """A version for people: why it was compiled, its facts and guards, units of work of a call (iterations of its
    loops, about), and who makes it."""

    why: str
    facts: list[str]
    guards: list[str]
    work: str
    calls: str


def described(version: Version, waiting: Collection[Version]) -> Described:
    """Those `waiting` came from the cache and have been called once."""
    guards = [f"{a} {relation} {b}  ({why})" for a, relation, b, why in version.signature.guards]
    calls = "enter machine code after the next one" if version in waiting else "enter machine code"
    return Described(
        version.why,
        [describe(fact) for fact in version.key],
        guards + [str(captured) for captured in version.captured],
        version.executable.code.work or "no bound is known",
        f"by Python: {version.by_python}" if version.by_python else calls,
    )


def describe_versions(name: str, versions: Sequence[Version], waiting: Collection[Version] = ()) -> str:
    """Each version, in the order made, as `described`."""
    if not versions:
        return f"{name}: nothing is compiled yet"
    lines = []
    for n, version in enumerate(versions, 1):
        found = described(version, waiting)
        lines.append(f"{name}, version {n}: compiled because {found.why}")
        lines += [f"  fact   {fact}" for fact in found.facts]
        lines += [f"  guard  {guard}" for guard in found.guards]
        lines.append(f"  calls  {found.calls}")
    return "\n".join(lines)
