"""``@txc.jit``: from a call to the compiled version that fits it, compiling one where none does.

A call is reduced to its facts (`call/facts.py`).  For each combination of facts there is a list of versions, each with
the guards that its trace asked for; the first whose guards hold runs.  Equal graphs share machine code, whoever built
them (`compile_cache.py`).
"""

from __future__ import annotations

import functools
import inspect
import itertools
import types
import warnings
from _thread import allocate_lock  # `threading.Lock`, without the rest of that module
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ...runtime.stub.cpython_layout import problem
from ...runtime.stub.native_call import NativeCallable, Record, callable_directly, install, remove_all
from .. import on_demand
from ..cache.source_lookup import SourceLookup
from ..call.arguments import Call, take_apart
from ..call.device_arguments import for_the_user, results_on
from ..call.facts import StrideClass, resolve_aliasing, stride_fact
from ..call.foreign_arrays import InChunks, LeftToPython
from ..call.results import Results
from ..call.signature import Signature
from ..call.wrapper import Wrapper
from ..config import knobs
from ..config.device_names import CPU
from ..config.options import Options
from .compile_cache import compile_cached, stages_of, strides_of
from .inspection import Inspection
from .interop.function_pointers import FunctionPointers
from .interop.pandas_engine import PandasEngine
from .size_specialization import EVIDENCE, NO_LIMIT, is_for_one_size
from .specializations import NONE_FIXED, PreparedCall, Version, why_not

if TYPE_CHECKING:
    from typing import Concatenate, Generic, ParamSpec, TypeVar

    from ..cache.captured_value import Captured
    from ..cache.disk_cache import CodeKey
    from ..call.parameters import Parameter
    from ..frontend.trace.graph import Graph
    from ..gpu.repeated_call import RepeatedCalls
    from ..tools.autotune import Tuned

    P = ParamSpec("P")
    Q = ParamSpec("Q")
    R = TypeVar("R")

__all__ = ["Jitted", "jit"]

_install_lock = allocate_lock()


@callable_directly
class Jitted(Inspection, FunctionPointers, Wrapper, NativeCallable):
    """A function compiled for the facts of its calls.  Made by `jit`; binds as a method; `interop/` pickles it.

    A call goes to the machine code of the version that fits; where none does, `__call__` finds or compiles one.
    ``out=`` names arrays for the results, unless the function has such a parameter: see `out_argument`.
    """

    #: Outside of ``__dict__``, as records must live as long as the native part refers to them.
    __slots__ = ("__dict__", "__weakref__", "_records")
    #: None for a version that is entered directly from its next call but one on.
    _records: dict[Version, Record | None] | None

    def __init__(self, function: Callable[..., Any], options: Options, shared: Jitted | None = None):
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._signature = inspect.signature(function)
        self._options = options
        if options.donate:
            on_demand.donation().check_donated(function.__name__, self._signature.parameters, options.donate)
        self._versions: dict[Any, list[Version]] = {} if shared is None else shared._versions
        self._lookups: list[tuple[Any, SourceLookup]] = [] if shared is None else shared._lookups
        self._records = {}
        #: Traces that ended because of a foreign array, by their key, and whether a call was left to Python before.
        self._left: dict[Any, list[LeftToPython]] = {}
        self._was_left = False
        parameters = self._signature.parameters.values()
        self._takes_out = not any(p.name == "out" or p.kind is p.VAR_KEYWORD for p in parameters)
        self._repeated: RepeatedCalls | None = None
        if options.device != CPU.name:
            self._repeated = on_demand.repeated_call().RepeatedCalls(options.device)

    def __del__(self, remove_all: Callable[[Any], None] = remove_all) -> None:
        # The last moment at which this object is whole: calls from other finalizers must not find freed records.
        # The function is bound here: at the interpreter's end modules lose their names before the last objects go.
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

    def __reduce__(self) -> Any:
        return on_demand.pickling().reduce_jitted(self)

    def __copy__(self) -> Jitted:
        return self  # as functions are

    def __deepcopy__(self, memo: Any) -> Jitted:
        return self

    def __repr__(self) -> str:
        return f"<txc.jit {self.__wrapped__.__qualname__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._repeated is not None and not kwargs:
            repeated = self._repeated.find(args)
            if repeated is not None:
                return repeated(args)
        out = kwargs.pop("out", None) if self._takes_out else None
        version = ready = call = None
        try:
            call = self._bind(args, kwargs)
            version, ready = self._version(call)
        except InChunks:
            pass  # behind this, as errors of what follows are not of this one
        except LeftToPython as why:
            return self._by_python(why, args, kwargs, out)
        if call is None or version is None or ready is None:
            try:
                return self._by_chunks(args, kwargs, out)
            except LeftToPython as why:
                return self._by_python(why, args, kwargs, out)
        if version.executable.views and not version.sees_memory(call, ready):
            why = LeftToPython("a result is a view of an array in a form that has to be copied first")
            return self._by_python(why, args, kwargs, out)
        self._install(version)
        record = (self._records or {}).get(version)
        if record is not None and record.spent:
            self._look_at_sizes(version, record, call)
        result = self._run(version, call, ready, out)
        if self._repeated is not None and not kwargs:
            self._repeated.note(args, call, version, ready.prepared)
        return result

    def _by_chunks(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """A call with arrays of Dask's, as such arrays; LeftToPython where it is Python's."""
        if out is not None:
            raise TypeError(f"out= of {self.__name__}: arrays of Dask's cannot be written to")
        return on_demand.dask_arrays().call_on_dask_arrays(self, self._signature.bind(*args, **kwargs))

    def _by_python(self, why: LeftToPython, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """The call as Python makes it, which a warning says once."""
        if out is not None:
            raise TypeError(f"out= of {self.__name__}, whose call is Python's: {why}") from None
        if not self._was_left:
            self._was_left = True
            text = f"{self.__name__} is not compiled for this call, Python makes it: {why} [TX0326]"
            warnings.warn(text, UserWarning, stacklevel=3)
        return self.__wrapped__(*args, **kwargs)

    def _look_at_sizes(self, version: Version, record: Record, call: Call) -> None:
        """Make a version for the sizes of a call, where calls have kept having them (`size_specialization.py`)."""
        fixed = version.evidence.sizes_to_fix(version, call, self._made()) if knobs.SPECIALIZE.get() else None
        record.renew(NO_LIMIT if fixed is None else EVIDENCE)  # before compiling: other threads go on as they were
        if not fixed:
            return
        special, _ = self._compiled_version(call, fixed)[0]
        special.why = f"calls kept having {', '.join(f'{symbol} = {n}' for symbol, n in fixed.items())}"
        self._versions.setdefault((tuple(call.key), self._options.compiled), []).insert(0, special)
        self._install(special)

    def _install(self, version: Version) -> None:
        """Let later calls that fit a version go to its machine code directly.

        Code is linked for that when it is called again: a process that calls it once is done sooner.
        """
        wanted = knobs.NATIVE_ENTRY.get()
        if version.by_python or wanted is False:
            return
        with _install_lock:
            if self._records is None or self._records.get(version) is not None:
                return
            if version not in self._records and not version.executable.native.linked and not wanted:
                self._records[version] = None
                return
            record = self._records[version] = version.record(self._signature, self._takes_out, self._options.threads)
            install(self, record)

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        call = take_apart(bound.arguments)
        if call.on_device:
            call.bring_to(self.__wrapped__.__name__, self._options.device)
        return call

    def _version(self, call: Call) -> tuple[Version, PreparedCall]:
        """The version for a call, and the call prepared for it.

        Arrays that share memory into which the function stores see each other's stores.
        """
        found = self._found(call)
        while self._shares(call, found[0]):
            found = self._found(call)
        return found

    def _shares(self, call: Call, version: Version) -> bool:
        """Whether arrays of a call share memory that the version writes to, or compares, and does not know of.

        Then it is told.
        """
        written = {*version.executable.written, *version.signature.compared}
        if not written or not call.may_share(version.signature):
            return False
        try:
            return on_demand.shared_memory().share(call, version.signature, written, self._options.donate)
        except on_demand.registry().OpError as error:
            said = on_demand.diagnostics()
            raise said.TxcError(error.message, said.head_of(self.__wrapped__), error.hint, error.code) from None

    def _found(self, call: Call) -> tuple[Version, PreparedCall]:
        """The version whose guards hold, found or compiled now, and the call prepared for it."""
        key = (tuple(call.key), self._options.compiled)
        for version in self._versions.get(key, ()):
            ready = version.ready(call) if all(same() for same in version.captured) else None
            if ready is not None:
                return version, ready
        for left in self._left.get(key, ()):
            if all(same() for same in left.captured):
                raise left.again()
        why = why_not(self._made()[::-1], call)
        try:
            version, ready = self._kept_or_compiled(call)
        except LeftToPython as left:
            self._left.setdefault(key, []).append(left.again())
            raise
        version.why = why
        self._versions.setdefault(key, []).insert(0, version)
        if self._options.donate:
            on_demand.donation().warn_of_unused(
                version.signature, version.executable.written, self._options.donate, stacklevel=4
            )
        return version, ready

    def _made(self) -> list[Version]:
        """All versions for these options, in the order made."""
        found = [v for (_, options), vs in self._versions.items() if options == self._options.compiled for v in vs]
        return sorted(found, key=lambda v: v.number)

    def _kept_or_compiled(self, call: Call) -> tuple[Version, PreparedCall]:
        """A version of the persistent cache, else a new one, which is kept there."""
        lookup = SourceLookup(self.__wrapped__, call.key, self._options)
        for executable in lookup.executables():
            version = Version(executable, lookup.checks, call)
            ready = version.ready(call)
            if ready is not None:
                lookup.why = ""
                self._lookups.append((version.key, lookup))
                return version, ready
        made, code = self._compiled_version(call)
        lookup.keep(made[0].signature, code)
        self._lookups.append((made[0].key, lookup))  # not before: calls that fail leave nothing behind
        return made

    def _compiled_version(
        self, call: Call, fixed: Mapping[str, int] = NONE_FIXED
    ) -> tuple[tuple[Version, PreparedCall], CodeKey | None]:
        """A new version for a call, in which the `fixed` sizes are numbers; what its code is kept by."""
        try:
            with on_demand.gc_throttle().gc_throttled, on_demand.progress().reported(self.__name__):
                graph, captured, facts = self._trace(call, fixed, self._write)
                parameters, reason = self._parameters(call, graph)
                tuned = self._tuned(call, graph, facts)
                executable, code = compile_cached(graph, facts, self._options, parameters, tuned)
        except RecursionError:
            said = on_demand.diagnostics()
            raise said.TxcError(
                f"{self.__name__} has more branches in each other, or checks in a row, than the compiler follows",
                said.head_of(self.__wrapped__),
                "make parts of it functions of their own that Python calls",
                "TX0325",
            ) from None
        if reason:
            executable.code = executable.code._replace(entry="", by_python=reason)
        version = Version(executable, captured, call, fixed)
        ready = version.ready(call)
        if ready is None:
            raise ValueError(version.failing(call))
        return (version, ready), code

    def _trace(
        self, call: Call, fixed: Mapping[str, int] = NONE_FIXED, write: Callable[[Call, Graph], None] | None = None
    ) -> tuple[Graph, list[Captured], tuple[StrideClass, ...]]:
        """The graph for a call, what it took from outside, and the facts of its arrays.

        An error that the function raises is raised here, after `write` did what it had written until then.
        """
        with_runtime_checks = on_demand.runtime_checks().with_runtime_checks
        layouts = {name: stride_fact(a.value) for name, a in call.leaves().items() if a.kind == "array"}
        with on_demand.strides().known_layouts(layouts):
            views = not self._options.gpu
            one_size = is_for_one_size(self._versions.get((tuple(call.key), self._options.compiled), ()))
            trace_function = on_demand.staging().trace_function
            traced = trace_function(self.__wrapped__, call.arguments, fixed, call.storages, views, one_size)
        if traced.raised is not None:
            if write is not None:
                write(call, with_runtime_checks(traced.graph))
            raise traced.raised
        facts = tuple(stride_fact(a) for a in call.arrays(Signature.of(traced.graph)))
        if self._options.gpu and (sized := traced.graph.node_with_bound_size()):
            raise on_demand.diagnostics().TxcError(
                f"{traced.graph.name} has a size that values decide, which code for a GPU does not take",
                sized.loc,
                hint="run it on the CPU, or use np.where(mask, x, other)",
                code="TX0252",
            )
        if self._options.donate:
            on_demand.donation().donate(traced.graph, facts, self._options.donate)
        return with_runtime_checks(traced.graph), [*traced.captured], facts

    def _write(self, call: Call, graph: Graph) -> None:
        """Do what a graph without results writes to the arrays of a call, once: nothing is kept for later calls."""
        if not graph.aliases and not graph.checks:
            return
        facts = tuple(stride_fact(a) for a in call.arrays(Signature.of(graph)))
        version = Version(compile_cached(graph, facts, self._options)[0], (), call)
        if self._shares(call, version):
            self._trace(call, write=self._write)  # which raises the function's error again
            return
        ready = version.ready(call)
        assert ready is not None
        self._run(version, call, ready, None)

    def _tuned(self, call: Call, graph: Graph, facts: Sequence[StrideClass]) -> Tuned | None:
        """By which constants the program is fastest, where that is asked for: known, or searched for with this call."""
        if not self._options.autotune:
            return None
        signature = Signature.of(graph)
        arrays, integers = call.arrays(signature), functools.partial(call.integers, signature)
        tuned = on_demand.autotune().tuned
        return tuned(graph, facts, strides_of(graph, facts), self._options, arrays, integers)

    def _parameters(self, call: Call, graph: Graph) -> tuple[tuple[Parameter, ...] | None, str]:
        """The parameters for a native entry, or why there is to be none."""
        if self._options.gpu:
            return None, f"it runs on {self._options.device}"
        if knobs.NATIVE_ENTRY.get() is False:
            return None, "TXC_NATIVE_ENTRY is 0"
        if problem():
            return None, problem()
        if call.storages:
            return None, "arrays of the call share memory, which it stores into"
        parameters_of = on_demand.call_parameters().parameters_of
        try:
            return parameters_of(self._signature, call.arguments, Signature.of(graph), self._takes_out), ""
        except on_demand.call_parameters().NotNative as why:
            return None, str(why)

    def _run(self, version: Version, call: Call, ready: PreparedCall, out: Any) -> Any:
        executable, arrays, signature = version.executable, ready.arrays, version.signature
        self._check_temporaries(version, call, ready)
        places = {} if out is None else _destinations(signature, out, self._options.device)
        direct = _direct(version, call, ready, places, self._options.device) if places else {}
        if call.on_device:
            direct = results_on(self._options.device, executable, ready.prepared, direct)
        if executable.written:
            call.check_written(signature, executable.written, self._options.donate)
            arrays = resolve_aliasing(arrays, executable.written)
        try:
            outputs = self._outputs(version, call, ready, arrays, direct)
        finally:  # what is stored before an error is stored
            originals = call.write_back(signature, executable.written, arrays)
        outputs = [originals[b] if b < len(arrays) else made for b, made in zip(executable.outputs, outputs)]
        for number, array in places.items():
            if isinstance(number, int) and outputs[number] is not array:
                array[...] = outputs[number]
                outputs[number] = array
        lazy = None if places else call.lazy
        made = [*map(for_the_user, outputs)]
        return Results(made, places, lazy, originals, ready.prepared.views, call.named()).of(signature.structure)

    def _outputs(
        self,
        version: Version,
        call: Call,
        ready: PreparedCall,
        arrays: list[np.ndarray],
        direct: Mapping[int, np.ndarray],
    ) -> list[Any]:
        """What the code gives.  Where it was short of memory for what has no bound, it is run again with more."""
        executable, threads = version.executable, self._options.threads
        if not executable.rooms:
            return executable.run(ready.prepared, arrays, threads, direct)
        before = [(i, arrays[i].copy()) for i in executable.written]
        attempts = itertools.chain([ready], iter(lambda: version.ready(call), None))

        def attempt() -> list[Any]:
            for i, content in before:
                arrays[i][...] = content
            return executable.run(next(attempts).prepared, arrays, threads, direct)

        made = executable.with_room(attempt)
        record = (self._records or {}).get(version)
        if record is not None:
            record.replace(version.hidden)
        return made

    def _check_temporaries(self, version: Version, call: Call, ready: PreparedCall) -> None:
        """TxcError where the call needs more memory for temporaries than `max_temp_bytes`."""
        most = self._options.max_temp_bytes
        if most is None:
            return

        def loops() -> Any:
            graph, _, facts = self._trace(call)
            return stages_of(graph, facts, self._options, stop_after="loops").module

        check_temporaries = on_demand.temp_limit().check_temporaries
        check_temporaries(version.signature.name, version.executable.code, ready.prepared, most, loops)


def _destinations(signature: Signature, out: Any, device: str) -> dict[int, np.ndarray]:
    return on_demand.out_argument().destinations(signature.name, signature.structure, out, device)


def _direct(
    version: Version, call: Call, ready: PreparedCall, places: Mapping[Any, Any], device: str
) -> dict[int, Any]:
    return on_demand.out_argument().written_directly(version, call, ready, places, device)


if TYPE_CHECKING:

    class Compiled(Jitted, Generic[P, R]):
        """A jitted function as type checkers see it: called and bound as the function is, ``out=`` besides."""

        @overload
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
        @overload
        def __call__(self, *args: Any, out: Any, **kwargs: Any) -> R: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> Compiled[P, R]: ...
        @overload
        def __get__(
            self: Compiled[Concatenate[Any, Q], R], instance: object, owner: type | None = None
        ) -> Callable[Q, R]: ...
        def __get__(self, instance: Any, owner: type | None = None) -> Any: ...

        def options(self, **given: Any) -> Compiled[P, R]: ...


@overload
def jit(function: Callable[P, R], **options: Any) -> Compiled[P, R]: ...
@overload
def jit(**options: Any) -> Callable[[Callable[P, R]], Compiled[P, R]]: ...
def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function of NumPy code: ``@txc.jit`` or ``@txc.jit(device="cpu:4")``.

    Options: `device` (``"cpu"``, ``"cpu:N"``, ``"cuda:N"``, ``"ptx-sim"``), `threads`, `fastmath` (rewrites to allow:
    with ``"reassoc"`` matrix units order their sums, with ``"tf32"`` those of a GPU round factors of f32 to a
    significand of 11 bits, with ``"bf16x3"`` or ``"bf16x6"`` those of a CPU add so many products of bf16 for each of
    f32, as `docs/inside/amx.md` says), `passes` (options of passes as text), `debug` (True: debug information for
    gdb), `check_bounds` (True: an index outside of its buffer, a mistake of the compiler, is a RuntimeError),
    `opt_level` (0: code for the CPU is made fast and runs slower, with the same results: `docs/howto/jit.md`),
    `donate` (names of parameters whose arrays may become results: `donation.py`),
    `max_temp_bytes` (a call that needs more of temporaries is an error that says what for),
    `autotune` (True: search around the cost model at the first call: `tools/autotune.py`),
    `schedule` (a function that shapes the loops of elementwise kernels: `docs/concepts/scheduling.md`),
    `exact` (True: sums across chunks of Dask's arrays have the bits of one array: `docs/howto/clusters.md`).
    OptionError for others, TypeError for what is no Python function.  The result is called like the function; arrays
    give arrays, lazy tensors give lazy tensors.
    """
    made = Options.of(**options)

    def decorate(f: Callable[..., Any]) -> Jitted:
        return Jitted(_python_function(f), made)

    decorate.__pandas_udf__ = PandasEngine  # pyright: ignore[reportFunctionMemberAccess]
    return decorate if function is None else decorate(function)


#: pandas runs functions by it: ``df.apply(f, engine=txc.jit, raw=True)``.
jit.__pandas_udf__ = PandasEngine  # pyright: ignore[reportFunctionMemberAccess]


def _python_function(function: Any) -> Callable[..., Any]:
    """A function with a body to stage: the one given, that of a jitted one, or one that calls what is given.

    Bound methods, objects with a ``__call__`` and `functools.partial` are called as they are bound now; what they
    read of their objects is a fact as everything from outside is.
    """
    if isinstance(function, Jitted):
        return function.__wrapped__
    if isinstance(function, types.FunctionType):
        return function
    inner = function
    while isinstance(inner, functools.partial):
        inner = inner.func
    method = inner if isinstance(inner, types.MethodType) else inspect.getattr_static(type(inner), "__call__", None)
    body = getattr(method, "__func__", method)
    has_body = isinstance(inner, types.FunctionType) or isinstance(body, (types.FunctionType, Jitted))
    if isinstance(inner, type) or not (has_body or isinstance(inner, Jitted)):
        name = getattr(function, "__name__", None)
        hint = "write a lambda that calls it" if name is None else f"write lambda x: {name}(x)"
        raise TypeError(f"txc.jit compiles a Python function, not {function!r}: {hint}")
    return _calling(function, inner)


def _calling(called: Any, inner: Any) -> Callable[..., Any]:
    """A function that calls an object with its parameters, named as the object inside is."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return called(*args, **kwargs)

    call.__name__ = getattr(inner, "__name__", type(inner).__name__)
    call.__qualname__ = getattr(inner, "__qualname__", call.__name__)
    call.__doc__ = inner.__doc__
    call.__module__ = getattr(inner, "__module__", call.__module__)
    call.__signature__ = inspect.signature(called)  # pyright: ignore[reportFunctionMemberAccess]
    return call
