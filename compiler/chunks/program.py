"""A call whose arrays are in chunks, and the programs that run on these: made here, run here or in another process."""

from __future__ import annotations

import math
from _thread import allocate_lock
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ...dialects.dims.dims import Dim, Sym
from ...dialects.registry import RAISE
from ...runtime.file_store import sha256
from ..call.argument import Argument
from ..call.arguments import take_apart
from ..call.facts import StrideClass, as_dense_strided, stride_fact
from ..call.foreign_arrays import refuse_foreign
from ..call.signature import Signature, like
from ..driver.compile_cache import compiled, packed, stages_of
from ..driver.executable import Executable, Prepared
from ..driver.temp_limit import check_temporaries
from ..frontend.indexing.runtime_checks import with_runtime_checks
from ..frontend.scalars.int_ranges import prove
from ..frontend.staging.tracing import trace_function
from ..frontend.tensor.views.strides import known_layouts
from ..frontend.trace.graph import Graph, Input, Node, Value, schedule
from .axes import Total, totals_of
from .part import part_of

if TYPE_CHECKING:
    from ..driver.jit import Jitted

__all__ = ["ChunkProgram", "ChunkedCall", "Form"]


class Form(NamedTuple):
    """What stands for an array among the arguments of a call: its number, dtype and shape."""

    number: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def array(self) -> np.ndarray:
        """A row-major array of that form, which nobody may read: all of its elements are one."""
        steps = [self.dtype.itemsize * math.prod(self.shape[i + 1 :]) for i in range(len(self.shape))]
        memory = np.zeros(1, self.dtype)
        return np.lib.stride_tricks.as_strided(memory, self.shape, steps, writeable=False)


class ChunkedCall:
    """A call of a jitted function with a `Form` in place of each array, and the graph of it.

    It is pickled as the function and the arguments: another process traces again, and knows by the `key` whether that
    gave the same program.
    """

    def __init__(self, function: Jitted, arguments: Mapping[str, Any], key: str = ""):
        self.function, self.arguments = function, arguments
        forms: dict[int, Form] = {}
        call = take_apart({name: _filled(value, forms) for name, value in arguments.items()})
        self.leaves: dict[str, Argument] = call.leaves()
        #: The number of the form that an argument is, by name.
        self.numbers = {
            name: forms[id(a.original)].number for name, a in self.leaves.items() if id(a.original) in forms
        }
        layouts = {name: stride_fact(a.value) for name, a in self.leaves.items() if a.kind == "array"}
        with known_layouts(layouts):
            traced = trace_function(function.__wrapped__, call.arguments)
        if traced.raised is not None:
            raise traced.raised
        self.graph: Graph = traced.graph
        prove(self.graph.nodes(), self.graph.table)  # before it is in parts: what cannot fail is no check
        #: What is checked though no output needs it.
        self.demands = _unneeded_demands(self.graph)
        self.key = self._key(forms.values())
        if key not in ("", self.key):
            raise RuntimeError(f"{function.__name__} is another program here than where it was called")
        self._totals: dict[frozenset[Sym], dict[Value, Total]] = {}

    def __reduce__(self) -> Any:
        return _known_call, (self.key, self.function, self.arguments)

    def _key(self, forms: Iterable[Form]) -> str:
        """Equal for calls that compute the same of the same arrays, in any process."""
        numbers = [(n, a.value.dtype, a.value.tobytes()) for n, a in self.leaves.items() if a.kind == "scalar"]
        integers = [(n, a.value) for n, a in self.leaves.items() if a.kind == "int"]
        shapes = [(form.number, form.dtype.str, form.shape) for form in forms]
        options = self.function.compile_options
        given = {**options._asdict(), "fastmath": sorted(options.fastmath)}
        return sha256(f"{self.graph.key()} {numbers} {integers} {shapes} {given}".encode()).hexdigest()

    def totals(self, cut: frozenset[Sym]) -> dict[Value, Total]:
        """`totals_of` the graph."""
        if cut not in self._totals:
            self._totals[cut] = totals_of(self.graph, cut)
        return self._totals[cut]

    def integer(self, given: Input, rooms: Mapping[str, int]) -> int:
        """The value of an input that is an int: an argument, the size of a whole array, or room for some result."""
        if given.name in rooms:
            return rooms[given.name]
        return self.leaves[given.name].value if given.source is None else given.source


def _unneeded_demands(graph: Graph) -> list[Node]:
    needed = {*schedule(graph.outputs, graph.body)}
    asking = [n for n in graph.demands if n.attrs.get("mode") == RAISE or any(r.demands for r in n.regions)]
    return [node for node in asking if node not in needed]


_calls: OrderedDict[str, ChunkedCall] = OrderedDict()
_calls_lock = allocate_lock()
_MOST_CALLS = 16


def _known_call(key: str, function: Jitted, arguments: Mapping[str, Any]) -> ChunkedCall:
    """The call that another process made; traced once for all of its chunks that come here."""
    with _calls_lock:
        found = _calls.pop(key, None)
        found = _calls[key] = ChunkedCall(function, arguments, key) if found is None else found
        while len(_calls) > _MOST_CALLS:
            _calls.popitem(last=False)
        return found


def _filled(value: Any, forms: dict[int, Form]) -> Any:
    """An argument with arrays for forms, which are noted by the identities of these arrays."""
    if isinstance(value, Form):
        made = value.array()
        forms[id(made)] = value
        return made
    if isinstance(value, dict):
        return {k: _filled(v, forms) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return like(value, [_filled(v, forms) for v in value])
    return value


Kind: TypeAlias = Literal["arrays", "numbers", "totals", "operands"]


class ChunkProgram:
    """What computes a chunk of outputs of a call, or of totals, from chunks of the arrays that are its `inputs`.

    What it makes are outputs that are ``arrays`` or ``numbers``, or ``totals``: those of the `numbers`, which have the
    same cut axes; or the first ``operands`` of such totals.  With arrays goes what the call checks beside them.  The
    totals that outputs need are inputs.  A partial result of a total has a dim of size 1 in front for each axis that is
    reduced, or of size 0 where the chunk has nothing to reduce and that has no value.
    """

    def __init__(self, call: ChunkedCall, cut: frozenset[Sym], kind: Kind, numbers: Sequence[int]):
        self.call, self.cut, self.kind, self.numbers = call, cut, kind, tuple(numbers)
        totals = call.totals(cut)
        before_totals = kind in ("totals", "operands")
        values = [*totals] if before_totals else call.graph.outputs
        values = [values[number] for number in numbers]
        values = [v.node.operands[0] for v in values] if kind == "operands" else values
        given = {} if before_totals else {f"total{n}": v for n, v in enumerate(totals)}
        self._graph = part_of(call.graph, values, call.demands if kind == "arrays" else (), given, cut)
        self.totals = [totals[v] for v in values] if kind == "totals" else []
        self.types = [v.type for v in values]
        self.inputs = [i for i in self._graph.inputs if i.kind == "tensor"]
        #: Where chunks show symbols: the input, its axis; and the ints that do.
        self._shown = [(n, a, d.symbol) for n, i in enumerate(self.inputs) for a, d in enumerate(_dims(i)) if d.symbol]
        rooms = Signature.of(self._graph).rooms
        integers = [(i.symbol.symbol, call.integer(i, rooms)) for i in self._graph.inputs if i.symbol is not None]
        self._integers = {symbol: value for symbol, value in integers if symbol is not None}
        self._executables: dict[tuple[StrideClass, ...], Executable] = {}
        #: What the shapes and strides of chunks that have been computed imply.
        self._prepared: dict[_Form, tuple[Executable, Prepared]] = {}
        self._lock = allocate_lock()

    def __reduce__(self) -> Any:
        return ChunkProgram, (self.call, self.cut, self.kind, self.numbers)

    def __dask_tokenize__(self) -> Any:
        return self.call.key, sorted(s.name for s in self.cut), self.kind, self.numbers

    @property
    def __name__(self) -> str:
        return self.call.function.__name__

    @property
    def reduced(self) -> list[Sym]:
        """The cut axes that its totals reduce."""
        return sorted(self.totals[0].symbols, key=str) if self.totals else []

    def __call__(self, *chunks: Any) -> Any:
        """Run it on chunks of the inputs: one result, or a tuple of several.

        A chunk along axes that are not cut may come in lists of one.
        """
        arrays = self.plain(chunks)
        known = self._prepared.get(_form(arrays))
        if known is not None:
            executable, prepared = known
            made = self._results(executable.run(prepared, self._arrays(arrays), self._threads))
            front = [1] * len(self.reduced)
        else:
            made, front = self._run_first(arrays)
        if front:
            made = [self._partial(*given, front) for given in zip(made, self.totals)]
        return made[0] if len(made) == 1 else tuple(made)

    def _run_first(self, arrays: Sequence[np.ndarray]) -> tuple[list[Any], list[int]]:
        """What chunks of a new form make, and the sizes of the axes that are reduced."""
        sizes = self.sizes(arrays)
        front = [sizes[s] for s in self.reduced]
        has_values = all(total.has_value for total in self.totals) or 0 not in front
        shapes = [[int(d.evaluate(sizes)) for d in kind.dims] for kind in self.types]
        if has_values and (self._graph.demands or not all(0 in shape for shape in shapes)):
            return self._run(arrays), front
        return [np.zeros(shape, kind.dtype.numpy) for shape, kind in zip(shapes, self.types)], front

    def _partial(self, made: Any, total: Total, front: Sequence[int]) -> np.ndarray:
        """The partial result of a total as part of an array of them, of axes of the sizes `front`."""
        made = np.asarray(made)
        if total.has_value or 0 not in front:
            return made.reshape([1] * len(front) + [*made.shape])
        return np.empty([min(n, 1) for n in front] + [*made.shape], made.dtype)

    def plain(self, chunks: Sequence[Any]) -> list[np.ndarray]:
        """Chunks of the inputs as compiled code takes them; with `exact` as those of row-major arrays."""
        arrays = [_plain(i.name, chunk) for i, chunk in zip(self.inputs, chunks, strict=True)]
        if not self.call.function.compile_options.exact:
            return arrays
        return [np.asarray(array, order="C") for array in arrays]

    def sizes(self, arrays: Sequence[np.ndarray]) -> dict[Sym, int]:
        """The symbols that chunks and the ints of the call show."""
        return {**self._integers, **{symbol: arrays[n].shape[axis] for n, axis, symbol in self._shown}}

    def _run(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        executable = self._executable(tuple(map(stride_fact, arrays)))
        given = self._arrays(arrays)

        def attempt() -> list[np.ndarray]:
            integers = [self.call.integer(i, executable.rooms) for i in self._graph.inputs if i.kind == "int"]
            prepared = executable.prepared(given, integers)
            self._check_temporaries(executable, prepared)
            if not executable.rooms:
                self._prepared[_form(arrays)] = executable, prepared
            return executable.run(prepared, given, self._threads)

        return self._results(executable.with_room(attempt))

    @property
    def _threads(self) -> int:
        return self.call.function.compile_options.threads or 1

    def _results(self, made: Sequence[np.ndarray]) -> list[Any]:
        """What a run made that is asked for: arrays, and numbers as NumPy's scalars."""
        return [array if array.ndim else array[()] for array in made[: len(self.types)]]

    def _check_temporaries(self, executable: Executable, prepared: Prepared) -> None:
        """TxcError where a chunk needs more memory for temporaries than `max_temp_bytes`."""
        options = self.call.function.compile_options

        def loops() -> Any:
            graph = with_runtime_checks(self._graph)
            return stages_of(graph, packed(graph), options, stop_after="loops").module

        if options.max_temp_bytes is not None:
            check_temporaries(self.__name__, executable.code, prepared, options.max_temp_bytes, loops)

    def _arrays(self, chunks: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The inputs that are no ints, in the graph's order: chunks, and the numbers of the call."""
        rest = iter(chunks)
        given = [i for i in self._graph.inputs if i.kind != "int"]
        return [next(rest) if i.kind == "tensor" else self.call.leaves[i.name].value for i in given]

    def _executable(self, facts: tuple[StrideClass, ...]) -> Executable:
        """The code for chunks that lie in memory in such a way."""
        with self._lock:
            if facts not in self._executables:
                graph = with_runtime_checks(self._graph)
                rest = iter(facts)
                every = [next(rest) if i.kind == "tensor" else ("packed",) for i in graph.inputs if i.kind != "int"]
                self._executables[facts] = compiled(graph, every, self.call.function.compile_options)
            return self._executables[facts]


_Form: TypeAlias = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]


def _form(arrays: Sequence[np.ndarray]) -> _Form:
    return tuple([(a.shape, a.strides) for a in arrays])


def _dims(given: Input) -> tuple[Dim, ...]:
    assert given.value is not None
    return given.value.type.dims


def _plain(name: str, chunk: Any) -> np.ndarray:
    """A chunk as compiled code takes it.  TypeError where it is of a class with rules of its own."""
    while isinstance(chunk, list):
        (chunk,) = chunk
    refuse_foreign(f"a chunk of {name}", chunk)
    return as_dense_strided(np.asarray(chunk))
