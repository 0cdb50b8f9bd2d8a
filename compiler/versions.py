"""The versions of a jitted function: what each was compiled for, why, and how native code gets to it."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..runtime.native_call import CapturedObject, Record
from .call_arguments import Call
from .call_plan import result_objects
from .facts import StrideFact, describe, stride_fact
from .frontend.captures import Captured
from .frontend.graph import Graph

__all__ = ["Ready", "Version", "describe_versions", "why_not"]


@dataclass
class Ready:
    """A call prepared for a version: arrays in the order of the graph's inputs, and what their shapes imply."""

    arrays: list[np.ndarray]
    prepared: Any


@dataclass(eq=False)
class Version:
    """One trace of a function: its graph, its machine code, what it captured, why it was made."""

    graph: Graph
    executable: Any
    stages: Any
    captured: tuple[Captured, ...]
    facts: tuple[StrideFact, ...]
    #: Python objects that a parameter must be, in the order of the parameters.
    values: tuple[Any, ...]
    #: Why Python makes its calls; empty where machine code does.
    not_native: str
    key: tuple[Any, ...] = ()
    why: str = field(default="", init=False)
    #: Later versions have larger ones.
    number: int = field(default_factory=itertools.count().__next__, init=False)

    def ready(self, call: Call) -> Ready | None:
        """The call prepared, where the version's guards hold for it."""
        arrays = call.arrays(self.graph)
        if not self._captured_as_compiled(arrays):
            return None
        steps = [tuple(s // a.itemsize for s in a.strides) for a in arrays]
        prepared = self.executable.prepare([a.shape for a in arrays], steps, call.integers(self.graph))
        return None if prepared is None else Ready(arrays, prepared)

    def _captured_as_compiled(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether captured arrays have the facts they had: the key, which is made of arguments, does not say."""
        inputs = [i for i in self.graph.inputs if i.value is not None]
        return all(
            array.dtype == given.value.type.dtype.numpy
            and array.ndim == given.value.type.rank
            and stride_fact(array) == fact
            for given, array, fact in zip(inputs, arrays, self.facts, strict=True)
            if given.hidden and given.value is not None
        )

    def failing(self, call: Call) -> str:
        """The first captured value or guard that does not hold for a call; empty where all do."""
        for captured in self.captured:
            if not captured():
                return f"{captured} no longer holds"
        arrays = call.arrays(self.graph)
        if not self._captured_as_compiled(arrays):
            return "a captured array has another form"
        shapes = [a.shape for a in arrays]
        return self.executable.failing_guard(shapes, call.integers(self.graph))

    def record(self, signature: inspect.Signature, threads: int) -> Record:
        """What a callable needs to call it directly."""
        parameters = signature.parameters.values()
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        hidden = [i.source for i in self.graph.inputs if i.hidden]
        return Record(
            self.executable.entry.address,
            [None if p.kind is inspect.Parameter.POSITIONAL_ONLY else p.name for p in parameters],
            sum(p.kind in by_position for p in parameters),
            [(p.default is not p.empty, p.default) for p in parameters],
            [*hidden, *self.values, *result_objects(self.graph.structure)],
            [CapturedObject(*c.place, c.value) for c in self.captured if c.place is not None],
            threads,
            self,
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


def describe_versions(name: str, versions: Sequence[Version]) -> str:
    """Each version, in the order made: why it was compiled, its facts, its guards, and who calls it."""
    if not versions:
        return f"{name}: nothing is compiled yet"
    lines = []
    for n, version in enumerate(versions, 1):
        lines.append(f"{name}, version {n}: compiled because {version.why}")
        lines += [f"  fact   {describe(fact)}" for fact in version.key]
        lines += [f"  guard  {guard}" for guard in version.graph.table.guards]
        lines += [f"  guard  {captured}" for captured in version.captured]
        lines.append(f"  calls  {'by Python: ' + version.not_native if version.not_native else 'enter machine code'}")
    return "\n".join(lines)
