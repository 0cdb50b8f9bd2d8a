"""``@txc.jit``: from a call to the compiled version that fits it, compiling one where none does.

A call is reduced to its facts (`facts.py`).  For each combination of facts there is a list of versions, each with the
guards that its trace asked for; the first whose guards hold runs.  Equal graphs share machine code, whoever built them.
"""

from __future__ import annotations

import functools
import inspect
import threading
import types
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import numpy as np

from ..runtime.native_call import NativeCallable, Record, callable_directly, install, remove_all
from ..runtime.native_layout import problem
from . import knobs
from .call_arguments import Call, take_apart
from .call_plan import CallSignature, NotNative, Parameter, parameters_of
from .facts import StrideFact, describe, separate, stride_fact, symbolic_strides, walkable
from .frontend.graph import Graph, Literal
from .frontend.staging import trace_function
from .options import Options
from .out_argument import check, destinations, takes_place
from .versions import Ready, Version, describe_versions, why_not

__all__ = ["Jitted", "Lowered", "compiled", "evaluate_graph", "jit", "structured"]


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
    ``out=`` names arrays for the results, unless the function has such a parameter: see `out_argument`.
    """

    #: Outside of ``__dict__``, as records must live as long as the native part refers to them.
    __slots__ = ("__dict__", "__weakref__", "_records")
    _records: dict[Version, Record] | None

    def __init__(self, function: Callable[..., Any], options: Options, shared: Jitted | None = None):
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._signature = inspect.signature(function)
        self._options = options
        self._versions: dict[Any, list[Version]] = {} if shared is None else shared._versions
        self._records = {}
        parameters = self._signature.parameters.values()
        self._takes_out = not any(p.name == "out" or p.kind is p.VAR_KEYWORD for p in parameters)

    def __del__(self) -> None:
        # The last moment at which this object is whole: calls from other finalizers must not find freed records.
        if getattr(self, "_records", None):
            remove_all(self)
            self._records = None

    @property
    def compile_options(self) -> Options:
        """The options that it is compiled with."""
        return self._options

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
        out = kwargs.pop("out", None) if self._takes_out else None
        call = self._bind(args, kwargs)
        version, ready = self._version(call)
        self._install(version)
        return self._run(version, call, ready, out)

    def _install(self, version: Version) -> None:
        """Let later calls that fit a version go to its machine code directly."""
        with _install_lock:
            if self._records is None or version in self._records or version.not_native:
                return
            record = version.record(self._signature, self._options.threads)
            self._records[version] = record
            install(self, record)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return take_apart(bound.arguments)

    def _version(self, call: Call) -> tuple[Version, Ready]:
        """The version whose guards hold, compiled now where there is none, and the call prepared for it."""
        key = (tuple(call.key), self._options.compiled)
        for version in self._versions.get(key, ()):
            ready = version.ready(call) if all(c() for c in version.captured) else None
            if ready is not None:
                return version, ready
        version = self._compile(call)
        version.why = why_not(self._made()[::-1], call)
        ready = version.ready(call)
        self._versions.setdefault(key, []).insert(0, version)
        if ready is None:
            raise ValueError(version.failing(call))
        return version, ready

    def _made(self) -> list[Version]:
        """All versions for these options, in the order made."""
        found = [v for (_, options), vs in self._versions.items() if options == self._options.compiled for v in vs]
        return sorted(found, key=lambda v: v.number)

    def _compile(self, call: Call, watch: Any = None) -> Version:
        traced = trace_function(self.__wrapped__, call.arguments)
        graph = traced.graph
        facts = tuple(stride_fact(a) for a in call.arrays(graph))
        parameters, reason = self._parameters(call, graph)
        made = compiled(graph, facts, self._options, watch, parameters)
        executable = made.executable
        if executable.graph is not graph:
            executable = executable.for_graph(graph)
        by_value = [c for c in traced.captured if c.place is None]
        if not reason and isinstance(executable.entry, str):
            reason = executable.entry
        elif not reason and by_value:
            reason = f"{by_value[0].text} is compared with what it held"
        values = tuple(a.value for a in call.arguments if a.kind == "value")
        captured = tuple(traced.captured)
        return Version(graph, executable, made.stages, captured, facts, values, reason, tuple(call.key))

    def _parameters(self, call: Call, graph: Graph) -> tuple[tuple[Parameter, ...] | None, str]:
        """The parameters for a native entry, or why there is to be none."""
        if not knobs.NATIVE_ENTRY.get():
            return None, "TXC_NATIVE_ENTRY is 0"
        if problem():
            return None, problem()
        try:
            return parameters_of(self._signature, call.arguments, graph), ""
        except NotNative as why:
            return None, str(why)

    def _run(self, version: Version, call: Call, ready: Ready, out: Any) -> Any:
        executable, arrays, graph = version.executable, ready.arrays, version.graph
        places = {} if out is None else destinations(graph.name, graph.structure, out)
        direct = self._direct(version, ready, places)
        if executable.written:
            call.check_written(graph, executable.written)
            arrays = separate(arrays, executable.written)
        outputs = executable.run(ready.prepared, arrays, self._options.threads, direct)
        originals = call.write_back(graph, executable.written, arrays)
        outputs = [originals[b] if b < len(arrays) else made for b, made in zip(executable.outputs, outputs)]
        for number, array in places.items():
            if outputs[number] is not array:
                array[...] = outputs[number]
                outputs[number] = array
        return structured(graph.structure, outputs, call.lazy and not places, places)

    def _direct(self, version: Version, ready: Ready, places: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        """The user's arrays that compiled code can write to, by buffer; an error where one does not fit its result."""
        executable = version.executable
        direct: dict[int, np.ndarray] = {}
        for number, array in places.items():
            buffer = executable.outputs[number]
            fresh = buffer in executable.fresh
            if fresh:
                shape, strides = ready.prepared.outputs[executable.fresh.index(buffer)]
            else:
                shape, strides = ready.arrays[buffer].shape, ()
            check(version.graph.name, array, executable.buffers[buffer].dtype, shape)
            others = [*ready.arrays, *direct.values()]
            if fresh and buffer not in direct and takes_place(array, strides, others):
                direct[buffer] = array
        return direct

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
        version, _ = self._version(call)
        return explain(
            self.__wrapped__.__name__,
            version.graph,
            [f"{name}: {describe(k)}" for name, k in zip(call.names(), call.key, strict=True)],
            [str(c) for c in version.captured],
            self.lower(*args, **kwargs).stages,
        )

    def signatures(self) -> list[str]:
        """The facts for which there is code, a line each."""
        return ["; ".join(describe(k) for k in key[0]) for key in self._versions]

    def explain_compile(self) -> str:
        """Every version there is: why it was compiled, its facts and guards, and whether calls enter it directly."""
        return describe_versions(self.__wrapped__.__name__, self._made())


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


def structured(structure: Any, outputs: list[np.ndarray], lazy: bool, places: Container[int] = ()) -> Any:
    """The function's result in the form the user wrote.  Outputs in `places` stay arrays, others may become scalars."""
    if isinstance(structure, bool) or structure is None:
        return structure
    if isinstance(structure, int):
        array = outputs[structure]
        if lazy:
            from .frontend.tensor import asarray

            return asarray(array)
        return array if array.ndim or structure in places else array[()]
    if isinstance(structure, Literal):
        return structure.value
    if isinstance(structure, dict):
        return {k: structured(v, outputs, lazy, places) for k, v in structure.items()}
    return type(structure)(structured(v, outputs, lazy, places) for v in structure)
