"""From a graph to its machine code: made once in a process, or loaded from what another one kept."""

from __future__ import annotations

from _thread import allocate_lock  # `threading.Lock`, without the rest of that module
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..cache.disk_cache import code_key, load_code, publish_code
from ..call.facts import StrideClass, as_dense_strided, resolve_aliasing, stride_fact
from ..call.signature import Signature
from ..config.devices import device_here
from ..config.options import Options
from .executable import Code, CodeSpec, Executable, Prepared

if TYPE_CHECKING:
    from ..cache.disk_cache import CodeKey
    from ..call.parameters import Parameter
    from ..frontend.trace.graph import Graph
    from ..tools.autotune import Tuned

__all__ = [
    "GraphCall", "call_of", "compile_cached", "compiled", "evaluate_graph", "options_here", "packed", "stages_of",
    "strides_of",
]  # fmt: skip

_code: dict[Any, tuple[CodeSpec, Code, CodeKey | None]] = {}
_code_lock = allocate_lock()


def compiled(graph: Graph, facts: Sequence[StrideClass], options: Options) -> Executable:
    """The graph's machine code, made or loaded once for equal graphs, facts and options."""
    return compile_cached(graph, facts, options)[0]


def compile_cached(
    graph: Graph, facts: Sequence[StrideClass], options: Options, parameters: tuple[Parameter, ...] | None = None,
    found: Tuned | None = None,
) -> tuple[Executable, CodeKey | None]:  # fmt: skip
    """And what other processes look it up by.  With the Python function's `parameters` it may have an entry.

    `found`: by which constants a search found the program fastest.
    """
    places = tuple(node.loc for node in graph.walk()) if options.lines else ()
    schedule = options.schedule and options.schedule.key
    key = (graph.key(), graph.name, tuple(facts), options.compiled, schedule, parameters, places,
           found and found.figures)  # fmt: skip
    with _code_lock:
        made = _code.get(key)
        if made is None:
            made = _code[key] = _loaded_or_made(graph, facts, options, parameters, found)
    code, native, kept = made
    return Executable(Signature.of(graph), code, native), kept


def _loaded_or_made(
    graph: Graph, facts: Sequence[StrideClass], options: Options, parameters: tuple[Parameter, ...] | None,
    found: Tuned | None,
) -> tuple[CodeSpec, Code, CodeKey | None]:  # fmt: skip
    key = code_key(graph, facts, options, parameters, found.figures if found else ())
    cached = None if key is None else load_code(key, options.device)
    if cached is not None:
        return cached.code, cached.native, key
    if options.gpu:
        from ..gpu.compile import compile_for_gpu

        code, native = compile_for_gpu(graph, options, strides_of(graph, facts))
        if key is not None:
            publish_code(key, code, native.ptx.encode(), native.plan)
        return code, native, key
    if parameters is not None:
        from ...runtime import ahead

        ahead.begin()
    from ..call.parameters import CallSignature
    from ..pipeline import compile_graph
    from .gc_throttle import gc_throttled

    signature = None if parameters is None else CallSignature(parameters, tuple(facts))
    machine = found.machine() if found else None
    with gc_throttled:
        made = compile_graph(graph, options, strides=strides_of(graph, facts), signature=signature, machine=machine)
    executable, machine_code = made.executable, made.stages.object
    if key is not None and machine_code is not None:
        publish_code(key, executable.code, machine_code)
    return executable.code, executable.native, key


def stages_of(
    graph: Graph,
    facts: Sequence[StrideClass],
    options: Options,
    watch: Any = None,
    found: Tuned | None = None,
    stop_after: str = "obj",
) -> Any:
    """The `pipeline.Stages` of a compilation, whole or up to a stage, that `watch` looks at; nothing is taken from a
    cache, nor kept."""
    from ..pipeline import run_stages

    machine, strides = found.machine() if found else None, strides_of(graph, facts)
    return run_stages(graph, options, strides=strides, watch=watch, machine=machine, stop_after=stop_after)


def strides_of(graph: Graph, facts: Sequence[StrideClass]) -> list[Any]:
    """The run-time strides of a graph's tensor inputs, as `pipeline.run_stages` takes them."""
    from ..call.strides import symbolic_strides

    inputs = [i for i in graph.inputs if i.value is not None]
    return [symbolic_strides(i.name, i.value.type.dims, f) for i, f in zip(inputs, facts, strict=True) if i.value]


def packed(graph: Graph) -> list[StrideClass]:
    """The facts of arrays that are all row-major, for a graph."""
    return [("packed",) for i in graph.inputs if i.value is not None]


class GraphCall(NamedTuple):
    """Code for a graph whose ints are known, and what the shapes and strides of its arrays imply."""

    executable: Executable
    prepared: Prepared
    threads: int
    #: What runs it again and again (`Executable.repeated`); None: as the executable itself does.
    direct: Callable[[Sequence[np.ndarray]], list[np.ndarray]] | None = None

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run it on walkable arrays of just these types, shapes and strides; what it writes is in them then."""
        written = self.executable.written
        if self.direct is not None:
            return self.direct(resolve_aliasing(arrays, written) if written else arrays)
        return self.executable.run(
            self.prepared, resolve_aliasing(arrays, written) if written else arrays, self.threads
        )


def options_here() -> Options:
    """The options of lazy expressions: those of the environment, and the device that is chosen here."""
    device = device_here()
    return Options.of()._replace(device=device.name, threads=device.threads)


def call_of(graph: Graph, options: Options, arrays: Sequence[np.ndarray]) -> GraphCall:
    """How a graph with its run-time checks is evaluated whose ints are all known, on walkable arrays."""
    graph = graph.without_places()  # equal expressions of other lines find the same code
    integers = [i.source for i in graph.inputs if i.kind == "int"]
    executable = compiled(graph, [stride_fact(a) for a in arrays], options)
    return GraphCall(executable, executable.prepared(arrays, integers), options.threads)


def evaluate_graph(graph: Graph, options: Options | None = None) -> list[np.ndarray]:
    """Run a graph with its run-time checks whose arrays and ints are all known: what a lazy expression becomes.

    What it writes to an input is in the input's own array when this returns.
    """
    originals = [i.source for i in graph.inputs if i.kind != "int"]
    arrays = [as_dense_strided(np.asarray(a)) for a in originals]
    call = call_of(graph, options or options_here(), arrays)
    try:
        return call(arrays)
    finally:  # what is stored before an error is stored
        for position in call.executable.written:
            if arrays[position] is not originals[position]:
                originals[position][...] = arrays[position]
