"""``@txc.jit``: from a call to the compiled version that fits it, compiling one where none does.

A call is reduced to its facts (`facts.py`).  For each combination of facts there is a list of versions, each with the
guards that its trace asked for; the first whose guards hold runs.  Equal graphs share machine code, whoever built them.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .argument import Argument
from .cache import SourceLookup, code_key, explain_miss, load_code, publish_code
from .executable import CodeSpec, Executable
from .facts import StrideFact, describe, element_name, separate, stride_fact, value_fact, walkable
from .options import Options
from .signature import Literal, Signature

if TYPE_CHECKING:
    from ..runtime.call import NativeFunction
    from .cache import CodeKey
    from .frontend.graph import Graph

__all__ = ["Jitted", "Lowered", "compiled", "evaluate_graph", "jit", "packed", "stages_of", "structured"]


class _Version:
    """One trace of a function: how it is called, its machine code, and what it captured."""

    def __init__(self, executable: Executable, captured: Sequence[Callable[[], bool]]):
        self.executable, self.captured = executable, tuple(captured)

    @property
    def signature(self) -> Signature:
        return self.executable.signature


class _Call:
    """A call's arguments, flattened: arrays and ints in the order of the graph's inputs, and the facts key."""

    def __init__(self) -> None:
        self.arguments: list[Argument] = []
        self.key: list[Any] = []
        self.lazy = False
        #: For the version it was prepared for: arrays in the order of the graph's inputs, and what its shapes imply.
        self.arrays: list[np.ndarray] = []
        self.prepared: Any = None

    def prepare(self, version: _Version) -> bool:
        """Whether the version's guards hold for these arguments."""
        self.arrays = _arrays(version.signature, self)
        steps = [tuple(s // a.itemsize for s in a.strides) for a in self.arrays]
        integers = _integers(version.signature, self)
        self.prepared = version.executable.prepare([a.shape for a in self.arrays], steps, integers)
        return self.prepared is not None


_code: dict[Any, tuple[CodeSpec, NativeFunction, CodeKey | None]] = {}
_code_lock = threading.Lock()


def compiled(graph: Graph, facts: Sequence[StrideFact], options: Options) -> Executable:
    """The graph's machine code, made or loaded once for equal graphs, facts and options."""
    return _compiled(graph, facts, options)[0]


def _compiled(graph: Graph, facts: Sequence[StrideFact], options: Options) -> tuple[Executable, CodeKey | None]:
    """And what other processes look it up by."""
    key = (graph.key(), graph.name, tuple(facts), options.compiled)
    with _code_lock:
        found = _code.get(key)
        if found is None:
            found = _code[key] = _loaded_or_made(graph, facts, options)
    code, native, kept = found
    return Executable(Signature.of(graph), code, native), kept


def _loaded_or_made(
    graph: Graph, facts: Sequence[StrideFact], options: Options
) -> tuple[CodeSpec, NativeFunction, CodeKey | None]:
    key = code_key(graph, facts, options)
    cached = None if key is None else load_code(key)
    if cached is not None:
        return cached.code, cached.native, key
    from .pipeline import compile_graph

    made = compile_graph(graph, options, strides=_strides(graph, facts))
    executable, machine_code = made.executable, made.stages.object
    if key is not None and machine_code is not None:
        publish_code(key, executable.code, machine_code)
    return executable.code, executable.native, key


def stages_of(graph: Graph, facts: Sequence[StrideFact], options: Options, watch: Any) -> Any:
    """The `pipeline.Stages` of a compilation that `watch` looks at; nothing is taken from a cache, nor kept."""
    from .pipeline import run_stages

    return run_stages(graph, options, strides=_strides(graph, facts), watch=watch)


def _strides(graph: Graph, facts: Sequence[StrideFact]) -> list[Any]:
    from .strides import symbolic_strides

    inputs = [i for i in graph.inputs if i.value is not None]
    return [symbolic_strides(i.name, i.value.type.dims, f) for i, f in zip(inputs, facts, strict=True) if i.value]


def packed(graph: Graph) -> list[StrideFact]:
    """The facts of arrays that are all row-major, for a graph."""
    return [("packed",) for i in graph.inputs if i.value is not None]


def evaluate_graph(graph: Graph, options: Options | None = None) -> list[np.ndarray]:
    """Run a graph whose inputs are all captured arrays: what a lazy expression becomes."""
    options = options or Options.of()
    arrays = [walkable(np.asarray(i.source)) for i in graph.inputs]
    return compiled(graph, [stride_fact(a) for a in arrays], options)(arrays, (), options.threads)


class Jitted:
    """A function compiled for the facts of its calls.  Made by `jit`; binds as a method; pickles by reference."""

    def __init__(self, function: Callable[..., Any], options: Options, shared: Jitted | None = None):
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._signature = inspect.signature(function)
        self._options = options
        self._versions: dict[Any, list[_Version]] = {} if shared is None else shared._versions
        self._lookups: list[tuple[Any, SourceLookup]] = [] if shared is None else shared._lookups

    @property
    def compile_options(self) -> Options:
        """The options that it is compiled with."""
        return self._options

    def options(self, **given: Any) -> Jitted:
        """The same function with other options; compiled code is shared.  OptionError for what there is not."""
        return Jitted(self.__wrapped__, Options.of(self._options, **given), self)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> str:
        return self.__wrapped__.__qualname__

    def __repr__(self) -> str:
        return f"<txc.jit {self.__wrapped__.__qualname__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = self._bind(args, kwargs)
        version = self._version(call)
        return self._run(version, call)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        call = _Call()
        for name, value in bound.arguments.items():
            call.arguments.append(_argument(name, value, call))
        return call

    def _version(self, call: _Call) -> _Version:
        """The version whose guards hold, found or compiled now; `call` is ready to run it afterwards."""
        key = (tuple(call.key), self._options.compiled)
        for version in self._versions.get(key, ()):
            if all(same() for same in version.captured) and call.prepare(version):
                return version
        version = self._kept_or_compiled(call)
        self._versions.setdefault(key, []).insert(0, version)
        return version

    def _kept_or_compiled(self, call: _Call) -> _Version:
        """A version of the persistent cache, else a new one, which is kept there."""
        lookup = SourceLookup(self.__wrapped__, call.key, self._options)
        self._lookups.append((tuple(call.key), lookup))
        for executable in lookup.executables():
            version = _Version(executable, lookup.checks)
            if call.prepare(version):
                lookup.why = ""
                return version
        graph, captured, facts = self._trace(call)
        executable, code = _compiled(graph, facts, self._options)
        version = _Version(executable, captured)
        if not call.prepare(version):
            shapes = [a.shape for a in call.arrays]
            raise ValueError(executable.failing_guard(shapes, _integers(version.signature, call)))
        lookup.keep(executable.signature, code)
        return version

    def _trace(self, call: _Call) -> tuple[Graph, list[Callable[[], bool]], tuple[StrideFact, ...]]:
        from .frontend.staging import trace_function

        traced = trace_function(self.__wrapped__, call.arguments)
        facts = tuple(stride_fact(a) for a in _arrays(Signature.of(traced.graph), call))
        return traced.graph, traced.captured, facts

    def _run(self, version: _Version, call: _Call) -> Any:
        executable, arrays = version.executable, call.arrays
        if executable.written:
            arrays = separate(arrays, executable.written)
        outputs = executable.run(call.prepared, arrays, self._options.threads)
        if executable.written:
            _write_back(executable, arrays, call)
        return structured(version.signature.structure, outputs, call.lazy)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Every stage of the compilation for these arguments, as text; nothing is run."""
        from .watch import Watch

        graph, _, facts = self._trace(self._bind(args, kwargs))
        return Lowered(stages_of(graph, facts, self._options, Watch(keep_text=True)))

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The expression graph for these arguments."""
        return self._trace(self._bind(args, kwargs))[0]

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """What was compiled for these arguments and why: facts, guards, evals with their figures, kernels."""
        from .explain import explain

        call = self._bind(args, kwargs)
        graph, captured, _ = self._trace(call)
        return explain(
            self.__wrapped__.__name__,
            graph,
            [f"{name}: {describe(k)}" for name, k in zip(_names(call.arguments), call.key, strict=True)],
            [str(c) for c in captured],
            self.lower(*args, **kwargs).stages,
        )

    def explain_cache(self) -> str:
        """For each look-up in the persistent cache: whether it was a hit, and why not.

        A line each, in the order of the calls that had no code yet in this process; ``no look-ups`` where none had.
        """
        lines = []
        for facts, lookup in self._lookups:
            outcome = "hit, neither staged nor compiled"
            if lookup.why:
                nearest = f" ({explain_miss(lookup.key)})" if lookup.key is not None and not lookup.kept else ""
                outcome = f"miss: {lookup.why}{nearest}{'; kept now' if lookup.kept else ''}"
            lines.append(f"{'; '.join(describe(k) for k in facts) or 'no arguments'}: {outcome}")
        return "\n".join(lines) or "no look-ups"

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
    if _is_tensor(value):
        call.lazy = True
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        array = walkable(value)
        call.key.append(("array", element_name(array), array.ndim, stride_fact(array)))
        return Argument(name, "array", array, original=value)
    if isinstance(value, (bool, np.bool_)):
        call.key.append(("bool",))
        return Argument(name, "scalar", np.asarray(value, np.bool_), weak="bool" if isinstance(value, bool) else "")
    if isinstance(value, int):
        call.key.append(("int",))
        return Argument(name, "int", int(value))
    if isinstance(value, float):
        call.key.append(("float",))
        return Argument(name, "scalar", np.asarray(value, np.float64), weak="float")
    if isinstance(value, np.generic):
        call.key.append(("scalar", value.dtype.name))
        return Argument(name, "scalar", np.asarray(value))
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
    """The names of the facts of a call: containers, and what is in them."""
    for argument in arguments:
        yield argument.name
        if argument.kind == "dict":
            yield from _names(argument.value.values())
        elif argument.kind in ("tuple", "list"):
            yield from _names(argument.value)


def _is_tensor(value: Any) -> bool:
    """Whether it is a lazy tensor: there are none before the front end is imported."""
    front_end = sys.modules.get(f"{__package__}.frontend.tensor")
    return front_end is not None and isinstance(value, front_end.Tensor)


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


def _arrays(signature: Signature, call: _Call) -> list[np.ndarray]:
    """The arrays of the inputs: arguments by name, captured ones from where they were found."""
    leaves = _leaves(call.arguments)
    return [walkable(np.asarray(i.source)) if i.hidden else leaves[i.name].value for i in signature.arrays]


def _integers(signature: Signature, call: _Call) -> list[int]:
    leaves = _leaves(call.arguments)
    return [leaves[i.name].value for i in signature.integers]


def _write_back(executable: Executable, arrays: Sequence[np.ndarray], call: _Call) -> None:
    """Arguments that had to be copied to be walked get what was written into the copy."""
    leaves = _leaves(call.arguments)
    inputs = executable.signature.arrays
    for position in executable.written:
        argument = leaves.get(inputs[position].name)
        if argument is not None and argument.original is not None and argument.original is not arrays[position]:
            argument.original[...] = arrays[position]


def structured(structure: Any, outputs: list[np.ndarray], lazy: bool) -> Any:
    """The function's result in the form the user wrote."""
    if structure is None:
        return None
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
