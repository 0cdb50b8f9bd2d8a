"""What a call of a compiled function does, as plain data: arguments to check, dims to compute, results to make.

`compiler/codegen/call/python_stub.py` writes a native entry from it.  It holds no xDSL and nothing of this process:
Python objects that a call compares with or gives back are numbered, and the callable keeps them (`driver/jit.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from ...dialects.dims.dims import Dim, Sym, dim, parse_dim
from ...dialects.types import DType, dtype
from ..frontend.trace.graph import Graph, Input
from .facts import StrideClass
from .made_objects import MadeOutput
from .parameters import CallSignature, NotNative, Parameter, object_count
from .signature import (
    ROOM,
    BoxedOutput,
    ChainedOutput,
    EitherOutput,
    GivenOutput,
    IntOutput,
    ListOutput,
    MixedOutput,
    NumberOutput,
    Signature,
    SizedOutput,
    ViewOutput,
    ZippedOutput,
    is_named,
)

__all__ = ["CallPlan", "InputPlan", "OutputPlan", "Structure", "ViewPlan", "make_plan", "mutated_inputs"]


@dataclass(frozen=True)
class InputPlan:
    """An input of the graph, in its order.

    `kind`: ``array``; ``float``, ``complex`` and ``bool`` (Python's); ``scalar`` (NumPy's, of `dtype`); ``int``
    (Python's, the value of `dims[0]`).  `stored` arrays are written in place; `hidden` inputs are captured, not passed
    (an int is then for how many elements there is memory); `compared` ones are taken to be different objects.
    """

    name: str
    kind: Literal["array", "float", "complex", "bool", "scalar", "int"]
    dtype: DType | None
    dims: tuple[Dim, ...]
    fact: StrideClass = ("packed",)
    strides: tuple[Dim, ...] = ()
    stored: bool = False
    hidden: bool = False
    compared: bool = False


@dataclass(frozen=True)
class OutputPlan:
    """A new array.  `order` lists its dims from the slowest in memory to the fastest."""

    dtype: DType
    dims: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    order: tuple[int, ...]
    #: Whether it is an array though its rank is 0.
    boxed: bool = False


class ViewPlan(NamedTuple):
    """A result in the memory of a buffer.  Strides and offset are in bytes."""

    buffer: int
    dtype: DType
    dims: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    offset: Dim
    read_only: bool


#: The returned value: ``("buffer", i)``, ``("number", i)`` where it is Python's, ``("boxed", i)`` where it is an array
#: of rank 0, ``("view", i)`` with the number of a `ViewPlan`, ``("object", i)``,
#: ``("sized", i, sizes)`` of which the buffers `sizes` say how much is used,
#: ``("tuple" or "list", parts)``, ``("either", conds, parts)`` of which one is there, as the buffers of bools say,
#: ``("dict", keys, parts)`` with keys that are numbers of objects, and
#: ``("named", class, parts)`` with one for the class of a named tuple.
Structure: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class CallPlan:
    """Everything about a call.  Buffers are numbered: array-like inputs first, then `outputs`.

    Objects are numbered: captured arrays, what arguments must be (`Form`), then parts of the result.
    `work` estimates the iterations that the kernel runs; None: no bound is known.
    """

    name: str
    parameters: tuple[Parameter, ...]
    inputs: tuple[InputPlan, ...]
    #: Symbols that no argument may show, and what they are.
    substitutions: tuple[tuple[Sym, Dim], ...]
    guards: tuple[tuple[Dim, str, Dim], ...]
    symbols: tuple[Dim, ...]
    outputs: tuple[OutputPlan, ...]
    structure: Structure
    arena: Dim
    thread_arena: Dim
    work: Dim | None
    #: For each check of which the last output speaks (`runtime/check_errors.py`) the size that it is about.
    checks: tuple[Dim, ...] = ()
    views: tuple[ViewPlan, ...] = ()


def make_plan(
    graph: Graph,
    signature: CallSignature,
    *,
    symbols: Sequence[Dim],
    strides: Sequence[tuple[Dim, ...]],
    outputs: Sequence[int],
    made: Sequence[tuple[DType, tuple[Dim, ...], tuple[Dim, ...]]],
    arena: Dim,
    thread_arena: Dim,
    work: Dim | None,
) -> CallPlan:
    """The plan of a compiled graph.

    `strides` are those of the inputs that are arrays or scalars; `outputs` says which buffer each output of
    the graph is, `made` the dtype, dims and strides of the buffers after the inputs.  NotNative where an element type
    or a result is of a kind that entries do not know.
    """
    parameters = signature.parameters
    given = iter(zip(signature.facts, strides, strict=True))
    stored = mutated_inputs(graph, outputs)
    inputs = []
    buffer = 0
    for source in graph.inputs:
        if source.value is None:
            assert source.symbol is not None
            is_room = source.name.startswith(ROOM)
            if is_room and stored:
                raise NotNative("what is stored would have to be put back: a size that values decide has no bound")
            inputs.append(InputPlan(source.name, "int", None, (source.symbol,), hidden=is_room))
            continue
        fact, steps = next(given)
        inputs.append(_input(source, fact, steps, buffer in stored, buffer in graph.compared))
        buffer += 1
    objects = len([i for i in inputs if i.hidden]) + sum(object_count(p.form) for p in parameters)
    fresh = [_output(d, dims, steps) for d, dims, steps in made]
    if any(o < buffer and o in _scalars(inputs) for o in outputs):
        raise NotNative("a scalar argument is a result")
    numbering = _Numbering(outputs, objects, buffer)
    structure = numbering.structure(graph.structure)
    fresh = [replace(made, boxed=buffer + n in numbering.boxed) for n, made in enumerate(fresh)]
    views = [_view(view, outputs) for view in Signature.of(graph).views]
    return CallPlan(
        graph.name,
        parameters,
        tuple(inputs),
        tuple(graph.table.substitutions.items()),
        tuple((g.lhs, g.relation, g.rhs) for g in graph.table.guards),
        tuple(symbols),
        tuple(fresh),
        structure,
        arena,
        thread_arena,
        work,
        tuple(dim(check.size) for check in graph.checks),
        tuple(views),
    )


def _view(view: ViewOutput, outputs: Sequence[int]) -> ViewPlan:
    kind, number = view.base
    return ViewPlan(
        number if kind == "input" else outputs[number],
        dtype(view.element),
        tuple(map(parse_dim, view.dims)),
        tuple(map(parse_dim, view.strides)),
        parse_dim(view.offset),
        view.read_only,
    )


def mutated_inputs(graph: Graph, outputs: Sequence[int]) -> frozenset[int]:
    """The buffers that are inputs and are written: an argument that is only handed back is not."""
    inputs = [i for i in graph.inputs if i.value is not None]
    return frozenset(o for value, o in zip(graph.outputs, outputs) if o < len(inputs) and value is not inputs[o].value)


def _input(source: Input, fact: StrideClass, strides: tuple[Dim, ...], stored: bool, compared: bool) -> InputPlan:
    assert source.value is not None
    type_ = source.value.type
    if source.layout != "row":
        raise NotNative(f"{source.name} is a column-major tensor")
    kind: Any = "array"
    if source.kind == "scalar":
        kind = source.weak or "scalar"
        if type_.dtype.name == "bf16":
            raise NotNative(f"{source.name} is a scalar of bf16, which is no type of NumPy's own")
    return InputPlan(source.name, kind, type_.dtype, type_.dims, fact, strides, stored, source.hidden, compared)


def _scalars(inputs: Sequence[InputPlan]) -> set[int]:
    buffers = [i for i in inputs if i.kind != "int"]
    return {n for n, i in enumerate(buffers) if i.kind != "array"}


def _output(element: DType, dims: tuple[Dim, ...], strides: tuple[Dim, ...]) -> OutputPlan:
    return OutputPlan(element, dims, strides, packed_order(dims, strides))


def packed_order(dims: Sequence[Dim], strides: Sequence[Dim]) -> tuple[int, ...]:
    """The order of dims, slowest first, for which packed memory has these strides.  NotNative where there is none."""
    left, order = list(range(len(dims))), []
    running = dim(1)
    while left:
        fits = [d for d in reversed(left) if strides[d] is running]
        if not fits:
            raise NotNative("a result is not packed in memory")
        # Of dims with equal strides all but one have size 1: that one must come last.
        chosen = next((d for d in fits if dims[d].const == 1), fits[0])
        order.append(chosen)
        left.remove(chosen)
        running = running * dims[chosen]
    return tuple(reversed(order))


class _Numbering:
    """Turns a graph's structure into a plan's; objects are numbered as `parameters.result_objects` lists them.

    `first` is the number of the first object, `buffers` that of the first output.
    """

    def __init__(self, outputs: Sequence[int], first: int, buffers: int):
        self.outputs, self.next, self.buffers = outputs, first, buffers
        #: The buffers of rank 0 that callers get as arrays.
        self.boxed: set[int] = set()

    def structure(self, x: Any) -> Structure:
        if isinstance(x, GivenOutput):
            raise NotNative("arguments share memory")
        if isinstance(x, IntOutput):
            raise NotNative("an int of any size")
        if isinstance(x, ViewOutput):
            return ("view", x.number)
        if isinstance(x, BoxedOutput):
            self.boxed.add(self.outputs[x])
            return ("boxed", self.outputs[x])
        if isinstance(x, SizedOutput):
            if x.items:
                raise NotNative("a list as long as values say")
            return ("sized", self.outputs[x], tuple(self.outputs[x + 1 : x + 1 + x.rank]))
        if isinstance(x, EitherOutput):
            conds = tuple(self.outputs[c] for c in x.conds)
            if min(conds) < self.buffers:
                raise NotNative("an argument says which of several results there is")
            return ("either", conds, tuple(self.structure(v) for v in x))
        if isinstance(x, MadeOutput):
            raise NotNative("an object of Python's")
        if isinstance(x, (ChainedOutput, ListOutput, MixedOutput, ZippedOutput)):
            raise NotNative("a list as long as the call says")
        if isinstance(x, int) and not isinstance(x, bool):
            return ("number" if isinstance(x, NumberOutput) else "buffer", self.outputs[x])
        if isinstance(x, dict):
            keys = tuple(self._object() for _ in x)
            return ("dict", keys, tuple(self.structure(v) for v in x.values()))
        if isinstance(x, (tuple, list)):
            made_by = ("named", self._object()) if is_named(x) else ("tuple" if isinstance(x, tuple) else "list",)
            return (*made_by, tuple(self.structure(v) for v in x))
        return ("object", self._object())

    def _object(self) -> int:
        self.next += 1
        return self.next - 1
