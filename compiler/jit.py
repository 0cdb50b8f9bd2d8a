"""``@txc.jit``: from a call to the compiled version that fits it, compiling one where none does.

A call is reduced to its facts (`facts.py`).  For each combination of facts there is a list of versions, each with the
guards that its trace asked for; the first whose guards hold runs.  Equal graphs share machine code, whoever built them.
"""

from __future__ import annotations

import functools
import inspect
import threading
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..dialects.types import dtype
from ..runtime.native_call import CapturedObject, NativeCallable, Record, callable_directly, install, remove_all
from ..runtime.native_layout import problem
from . import knobs
from .call_plan import CallSignature, NotNative, Parameter, parameters_of, result_objects
from .facts import StrideFact, describe, separate, stride_fact, symbolic_strides, walkable
from .frontend.captured import Captured
from .frontend.graph import Graph, Literal
from .frontend.staging import Argument, trace_function
from .frontend.tensor import Tensor
from .options import Options

__all__ = ["Jitted", "Lowered", "compiled", "evaluate_graph", "jit", "structured"]


@dataclass(eq=False)
class _Version:
    """One trace of a function: its graph, its machine code, how its hidden inputs are found, what it captured."""

    graph: Graph
    executable: Any
    stages: Any
    captured: tuple[Captured, ...]
    facts: tuple[StrideFact, ...]
    #: Python objects that a parameter must be, in the order of the parameters.
    values: tuple[Any, ...]
    #: Why Python makes its calls; empty where machine code does.
    not_native: str

    def record(self, signature: inspect.Signature, threads: int) -> Record:
        """What a callable needs to call it directly."""
        entry = self.executable.entry
        parameters = signature.parameters.values()
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        hidden = [i.source for i in self.graph.inputs if i.hidden]
        return Record(
            entry.address,
            [None if p.kind is inspect.Parameter.POSITIONAL_ONLY else p.name for p in parameters],
            sum(p.kind in by_position for p in parameters),
            [(p.default is not p.empty, p.default) for p in parameters],
            [*hidden, *self.values, *result_objects(self.graph.structure)],
            [CapturedObject(*c.place, c.value) for c in self.captured],
            threads,
            self,
        )


@dataclass
class _Call:
    """A call's arguments, flattened: arrays and ints in the order of the graph's inputs, and the facts key."""

    arguments: list[Argument] = field(default_factory=list)
    key: list[Any] = field(default_factory=list)
    lazy: bool = False
    #: For the version it was prepared for: arrays in the order of the graph's inputs, and what its shapes imply.
    arrays: list[np.ndarray] = field(default_factory=list)
    prepared: Any = None

    def prepare(self, version: _Version) -> bool:
        """Whether the version's guards hold for these arguments."""
        self.arrays = _arrays(version.graph, self)
        steps = [tuple(s // a.itemsize for s in a.strides) for a in self.arrays]
        integers = _integers(version.graph, self)
        self.prepared = version.executable.prepare([a.shape for a in self.arrays], steps, integers)
        return self.prepared is not None


_code: dict[Any, Any] = {}
_code_lock = threading.Lock()
_install_lock = threading.Lock()


def compiled(
    graph: Graph,
    facts: Sequence[StrideFact],
    options: Options,
    watch: Any = None,
    parameters: tuple[Parameter, ...] | None = None,
) -> Any:
    """A `pipeline.Compiled` for the graph, made once for equal graphs, facts, options and `parameters`.

    With `parameters`, those of the Python function, it has an entry for direct calls where that is possible.
    """
    from .pipeline import compile_graph

    key = (graph.key(), graph.name, tuple(facts), options.compiled, parameters)
    with _code_lock:
        found = _code.get(key)
        if found is None or watch is not None:
            inputs = [i for i in graph.inputs if i.value is not None]
            strides = [
                symbolic_strides(i.name, i.value.type.dims, f) for i, f in zip(inputs, facts, strict=True) if i.value
            ]
            signature = None if parameters is None else CallSignature(parameters, tuple(facts))
            found = compile_graph(graph, options, strides=strides, watch=watch, signature=signature)
            _code.setdefault(key, found)
    return found


def evaluate_graph(graph: Graph, options: Options | None = None) -> list[np.ndarray]:
    """Run a graph whose inputs are all captured arrays: what a lazy expression becomes."""
    options = options or Options.of()
    arrays = [walkable(np.asarray(i.source)) for i in graph.inputs]
    made = compiled(graph, [stride_fact(a) for a in arrays], options)
    return made.executable(arrays, (), options.threads)


@callable_directly
class Jitted(NativeCallable):
    """A function compiled for the facts of its calls.  Made by `jit`; binds as a method; pickles by reference.

    A call goes to the machine code of the version that fits; where none does, `__call__` finds or compiles one.
    """

    #: Outside of ``__dict__``, as records must live as long as the native part refers to them.
    __slots__ = ("__dict__", "__weakref__", "_records")
    _records: dict[_Version, Record] | None

    def __init__(self, function: Callable[..., Any], options: Options, shared: Jitted | None = None):
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._signature = inspect.signature(function)
        self._options = options
        self._versions: dict[Any, list[_Version]] = {} if shared is None else shared._versions
        self._records = {}

    def __del__(self) -> None:
        # The last moment at which this object is whole: calls from other finalizers must not find freed records.
        if getattr(self, "_records", None):
            remove_all(self)
            self._records = None

    def options(self, **given: Any) -> Jitted:
        """The same function with other options; compiled code is shared.  OptionError for what there is not."""
        return Jitted(self.__wrapped__, Options.of(self._options, **given), self)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> str:
        return self.__wrapped__.__qualname__

    def __repr__(self) -> str:
        return f"<txc.jit {self.__wrapped__.__qualname__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = self._bind(args, kwargs)
        version = self._version(call)
        self._install(version)
        return self._run(version, call)

    def _install(self, version: _Version) -> None:
        """Let later calls that fit a version go to its machine code directly."""
        with _install_lock:
            if self._records is None or version in self._records or version.not_native:
                return
            record = version.record(self._signature, self._options.threads)
            self._records[version] = record
            install(self, record)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        call = _Call()
        for name, value in bound.arguments.items():
            call.arguments.append(_argument(name, value, call))
        return call

    def _version(self, call: _Call) -> _Version:
        """The version whose guards hold, compiled now where there is none; `call` is ready to run it afterwards."""
        key = (tuple(call.key), self._options.compiled)
        for version in self._versions.get(key, ()):
            if all(c.holds() for c in version.captured) and call.prepare(version):
                return version
        version = self._compile(call)
        self._versions.setdefault(key, []).insert(0, version)
        if not call.prepare(version):
            shapes = [a.shape for a in call.arrays]
            raise ValueError(version.executable.failing_guard(shapes, _integers(version.graph, call)))
        return version

    def _compile(self, call: _Call, watch: Any = None) -> _Version:
        traced = trace_function(self.__wrapped__, call.arguments)
        graph = traced.graph
        facts = tuple(stride_fact(a) for a in _arrays(graph, call))
        parameters, reason = self._parameters(call, graph)
        made = compiled(graph, facts, self._options, watch, parameters)
        executable = made.executable
        if executable.graph is not graph:
            executable = executable.for_graph(graph)
        if not reason and isinstance(executable.entry, str):
            reason = executable.entry
        values = tuple(a.value for a in call.arguments if a.kind == "value")
        return _Version(graph, executable, made.stages, tuple(traced.captured), facts, values, reason)

    def _parameters(self, call: _Call, graph: Graph) -> tuple[tuple[Parameter, ...] | None, str]:
        """The parameters for a native entry, or why there is to be none."""
        if not knobs.NATIVE_ENTRY.get():
            return None, "TXC_NATIVE_ENTRY is 0"
        if problem():
            return None, problem()
        try:
            return parameters_of(self._signature, call.arguments, graph), ""
        except NotNative as why:
            return None, str(why)

    def _run(self, version: _Version, call: _Call) -> Any:
        executable, arrays = version.executable, call.arrays
        if executable.written:
            arrays = separate(arrays, executable.written)
        outputs = executable.run(call.prepared, arrays, self._options.threads)
        if executable.written:
            _write_back(executable, arrays, call, version.graph)
        return structured(version.graph.structure, outputs, call.lazy)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Every stage of the compilation for these arguments, as text; nothing is run."""
        from .watch import Watch

        return Lowered(self._compile(self._bind(args, kwargs), Watch(keep_text=True)).stages)

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The expression graph for these arguments."""
        return trace_function(self.__wrapped__, self._bind(args, kwargs).arguments).graph

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """What was compiled for these arguments and why: facts, guards, evals with their figures, kernels."""
        from .explain import explain

        call = self._bind(args, kwargs)
        version = self._version(call)
        return explain(
            self.__wrapped__.__name__,
            version.graph,
            [describe(k) for k in call.key],
            self.lower(*args, **kwargs).stages,
        )

    def signatures(self) -> list[str]:
        """The facts for which there is code, a line each."""
        return ["; ".join(describe(k) for k in key[0]) for key in self._versions]


class Lowered:
    """The stages of one compilation."""

    def __init__(self, stages: Any):
        self.stages = stages

    def as_text(self, stage: str = "tensor") -> str:
        """The program as it was after `stage`; OptionError for a stage that there is not."""
        return self.stages.text(stage)


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function of NumPy code: ``@txc.jit`` or ``@txc.jit(device="cpu:4")``.

    Options: `device` (``"cpu"``, ``"cpu:N"``), `threads`, `fastmath` (a set of rewrites to allow), `passes` (options of
    passes as text).  OptionError for others.  The result is called like the function; arrays give arrays, lazy tensors
    give lazy tensors.
    """
    made = Options.of(**options)
    if function is None:
        return lambda f: Jitted(f, made)
    return Jitted(function, made)


def _argument(name: str, value: Any, call: _Call) -> Argument:
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
    if isinstance(value, np.generic):
        call.key.append(("scalar", value.dtype.name))
        return Argument(name, "scalar", np.asarray(value))
    if isinstance(value, bool):
        call.key.append(("bool",))
        return Argument(name, "scalar", np.asarray(value, np.bool_), weak="bool")
    if isinstance(value, int):
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
    call.key.append(("value", type(value).__name__, value if _hashable(value) else id(value)))
    return Argument(name, "value", value)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _leaves(arguments: Sequence[Argument]) -> dict[str, Argument]:
    found: dict[str, Argument] = {}
    for argument in arguments:
        if argument.kind == "dict":
            items: dict[str, Argument] = argument.value
            found.update(_leaves(list(items.values())))
        elif argument.kind in ("tuple", "list"):
            found.update(_leaves(argument.value))
        else:
            found[argument.name] = argument
    return found


def _arrays(graph: Graph, call: _Call) -> list[np.ndarray]:
    """The arrays of the graph's tensor inputs: arguments by name, captured ones from where they were found."""
    leaves = _leaves(call.arguments)
    return [
        walkable(np.asarray(i.source)) if i.hidden else leaves[i.name].value
        for i in graph.inputs
        if i.value is not None
    ]


def _integers(graph: Graph, call: _Call) -> list[int]:
    leaves = _leaves(call.arguments)
    return [leaves[i.name].value for i in graph.inputs if i.value is None]


def _write_back(executable: Any, arrays: Sequence[np.ndarray], call: _Call, graph: Graph) -> None:
    """Arguments that had to be copied to be walked get what was written into the copy."""
    leaves = _leaves(call.arguments)
    inputs = [i for i in graph.inputs if i.value is not None]
    for position in executable.written:
        argument = leaves.get(inputs[position].name)
        if argument is not None and argument.original is not None and argument.original is not arrays[position]:
            argument.original[...] = arrays[position]


def structured(structure: Any, outputs: list[np.ndarray], lazy: bool) -> Any:
    """The function's result in the form the user wrote."""
    if isinstance(structure, bool) or structure is None:
        return structure
    if isinstance(structure, int):
        array = outputs[structure]
        if lazy:
            from .frontend.tensor import asarray

            return asarray(array)
        return array if array.ndim else array[()]
    if isinstance(structure, Literal):
        return structure.value
    if isinstance(structure, dict):
        return {k: structured(v, outputs, lazy) for k, v in structure.items()}
    return type(structure)(structured(v, outputs, lazy) for v in structure)
