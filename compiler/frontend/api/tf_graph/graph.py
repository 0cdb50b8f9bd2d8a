"""Symbolic graphs as the TensorFlow notes describe them: a `Tensor` is a handle to an output of an `Operation`.

Nothing computes here.  An operation remembers the txc function that makes its outputs; `replay` applies those functions
to traced tensors, which is how a session compiles what is fetched, and how dtype and shape are known when it is made.
"""

from __future__ import annotations

import itertools
import operator
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .....dialects.registry import OPS, OpError
from ....diagnostics import located
from ...tensor.methods.table import METHODS
from ...tensor.tensor import Tensor as TracedTensor
from ...trace.symint import SymInt
from ...trace.trace import Trace
from .default_session import get_default_session
from .host_tensor import data_type_of, numpy_type_of
from .proto import DataType
from .shape import PartialTensorShape, TensorShape, as_shape

__all__ = [
    "Graph",
    "Operation",
    "Tensor",
    "constant",
    "get_default_graph",
    "matmul",
    "operation",
    "placeholder",
    "replay",
]

_local = threading.local()
#: Ranks that an operation on a tensor of unknown rank is tried with, to learn the dtype of its result.
_RANKS = range(5)


class Graph:
    """Operations with unique names, in the order they were made; ``with graph.as_default():`` puts new ones into it."""

    def __init__(self) -> None:
        self._operations: dict[str, Operation] = {}

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Inside, this thread's new operations go here."""
        _stack().append(self)
        try:
            yield self
        finally:
            _stack().pop()

    def get_operations(self) -> list[Operation]:
        """All operations, the first made first."""
        return list(self._operations.values())

    def get_operation_by_name(self, name: str) -> Operation:
        """KeyError where there is none."""
        if name not in self._operations:
            raise KeyError(f"there is no operation {name!r} in the graph")
        return self._operations[name]

    def get_tensor_by_name(self, name: str) -> Tensor:
        """``get_tensor_by_name("add:0")``.  ValueError for other forms, KeyError where there is none."""
        op, colon, index = name.rpartition(":")
        if not colon or not index.isdecimal():
            raise ValueError(f"a tensor's name is operation:index, such as 'add:0', not {name!r}")
        outputs = self.get_operation_by_name(op).outputs
        if int(index) >= len(outputs):
            raise KeyError(f"operation {op!r} has {len(outputs)} outputs, so there is no {name!r}")
        return outputs[int(index)]

    def unique_name(self, name: str) -> str:
        """`name`, or ``name_1``, ``name_2``, … where it is taken."""
        found = name
        for n in itertools.count(1):
            if found not in self._operations:
                return found
            found = f"{name}_{n}"
        raise AssertionError("unreachable")


def _stack() -> list[Graph]:
    if not hasattr(_local, "graphs"):
        _local.graphs = [Graph()]
    return _local.graphs


def get_default_graph() -> Graph:
    """The graph that new operations of this thread go into."""
    return _stack()[-1]


class Operation:
    """A node: `type`, `name`, `graph`, the tensors `inputs` and `outputs`.  Made by applying functions to tensors."""

    def __init__(
        self,
        type_: str,
        inputs: Sequence[Tensor],
        make: Callable[[Sequence[Any]], Any],
        name: str | None = None,
        graph: Graph | None = None,
    ):
        self.graph = inputs[0].graph if inputs else graph or get_default_graph()
        for t in inputs[1:]:
            if t.graph is not self.graph:
                raise ValueError(f"{inputs[0].name} and {t.name} are of different graphs")
        self.type, self.inputs, self.make = type_, tuple(inputs), make
        self.name = self.graph.unique_name(name or type_)
        self.outputs: list[Tensor] = []

    def add_outputs(self, results: Sequence[tuple[DataType, PartialTensorShape]]) -> None:
        """Enter the graph, with outputs of these dtypes and shapes."""
        self.outputs = [Tensor(self, i, dtype, shape) for i, (dtype, shape) in enumerate(results)]
        self.graph._operations[self.name] = self
        for t in self.inputs:
            t.add_consumer(self)

    @property
    def device(self) -> str:
        """Where it runs: sessions run on the CPU."""
        return "cpu"

    def run(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> None:
        """Run it in a session (the default one where none is given); results are not kept."""
        _session(session).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<Operation {self.name!r} type={self.type}>"


def _operator(name: str, function: Callable[..., Any]) -> tuple[Any, Any]:
    """``a op b`` and its reflected form, as operations."""
    return (
        lambda self, other: operation(name, function, self, other),
        lambda self, other: operation(name, function, other, self),
    )


def _unary(name: str, function: Callable[..., Any]) -> Any:
    return lambda self: operation(name, function, self)


class Tensor:
    """An output of an operation: `op`, `value_index`, `dtype`, `shape`, `name`, `graph`, `device`, `consumers()`.

    It holds no values; `eval` and `Session.run` compute them.  NumPy functions, operators and the methods of
    `txc.Tensor` make new operations.
    """

    __array_priority__ = 1000

    def __init__(self, op: Operation, value_index: int, dtype: DataType, shape: PartialTensorShape):
        self._op, self._value_index, self._dtype, self._shape = op, value_index, dtype, shape
        self._consumers: list[Operation] = []

    @property
    def op(self) -> Operation:
        """The operation that it is an output of."""
        return self._op

    @property
    def value_index(self) -> int:
        """Which of the operation's outputs."""
        return self._value_index

    @property
    def dtype(self) -> DataType:
        return self._dtype

    @property
    def graph(self) -> Graph:
        return self._op.graph

    @property
    def device(self) -> str:
        return self._op.device

    @property
    def name(self) -> str:
        """``add:0``."""
        return f"{self._op.name}:{self._value_index}"

    @property
    def shape(self) -> TensorShape | PartialTensorShape:
        """What is known of its shape: a TensorShape where that is everything."""
        return self._shape.as_tensor_shape() if self._shape.is_fully_defined() else self._shape.copy()

    def get_shape(self) -> TensorShape | PartialTensorShape:
        """As `shape`."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Add what is known of the shape.  ValueError where it contradicts what was known."""
        try:
            self._shape = self._shape.merge_with(as_shape(shape))
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from error

    def consumers(self) -> list[Operation]:
        """The operations that it is an input of."""
        return list(self._consumers)

    def add_consumer(self, consumer: Operation) -> None:
        """Note an operation that takes it; making one does so."""
        if consumer not in self._consumers:
            self._consumers.append(consumer)

    def as_output(self) -> tuple[Operation, int]:
        """The operation and the index of the output."""
        return self._op, self._value_index

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None) -> np.ndarray:
        """Its value, by a session (the default one where none is given).  RuntimeError where there is none."""
        return _session(session).run(self, feed_dict)

    def __repr__(self) -> str:
        return f"<Tensor {self.name!r} shape={self._shape.debug_string()} dtype={self._dtype.name}>"

    # Making operations

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return operation(ufunc.__name__, getattr(ufunc, method), *inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return operation(function.__name__, function, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS and name not in OPS:
            raise AttributeError(f"a symbolic tensor has no attribute {name!r}")

        def method(*args: Any, **kwargs: Any) -> Any:
            return operation(name, lambda x, *a, **k: getattr(x, name)(*a, **k), self, *args, **kwargs)

        return method

    def __getitem__(self, key: Any) -> Any:
        return operation("getitem", operator.getitem, self, key)

    def __bool__(self) -> bool:
        raise TypeError(f"{self.name} has no value before a session runs it, so no truth; use np.where")

    def __iter__(self) -> Iterator[Any]:
        size = -1 if self._shape.unknown_rank or not self._shape.dims() else self._shape.dim_size(0)
        if size < 0:
            raise TypeError(f"{self.name} of shape {self._shape.debug_string()} cannot be iterated over")
        return (self[i] for i in range(size))

    __hash__ = object.__hash__
    __add__, __radd__ = _operator("add", operator.add)
    __sub__, __rsub__ = _operator("sub", operator.sub)
    __mul__, __rmul__ = _operator("mul", operator.mul)
    __truediv__, __rtruediv__ = _operator("div", operator.truediv)
    __floordiv__, __rfloordiv__ = _operator("floor_divide", operator.floordiv)
    __mod__, __rmod__ = _operator("remainder", operator.mod)
    __pow__, __rpow__ = _operator("pow", operator.pow)
    __matmul__, __rmatmul__ = _operator("matmul", operator.matmul)
    __and__, __rand__ = _operator("bitwise_and", operator.and_)
    __or__, __ror__ = _operator("bitwise_or", operator.or_)
    __xor__, __rxor__ = _operator("bitwise_xor", operator.xor)
    __lshift__, __rlshift__ = _operator("left_shift", operator.lshift)
    __rshift__, __rrshift__ = _operator("right_shift", operator.rshift)
    __lt__, __gt__ = _operator("less", operator.lt)[0], _operator("greater", operator.gt)[0]
    __le__, __ge__ = _operator("less_equal", operator.le)[0], _operator("greater_equal", operator.ge)[0]
    __neg__, __pos__ = _unary("negate", operator.neg), _unary("positive", operator.pos)
    __abs__, __invert__ = _unary("abs", operator.abs), _unary("bitwise_not", operator.invert)


def operation(type_: str, function: Callable[..., Any], *args: Any, name: str | None = None, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)`` as an operation: its output, or a tuple of its outputs.

    Tensors among the arguments (in lists, tuples and dicts too) are its inputs.  `function` is one that takes txc's
    tensors; errors of dtypes and shapes are raised here, with the user's line.
    """
    inputs: dict[Tensor, int] = {}
    _collect((args, kwargs), inputs)

    def make(values: Sequence[Any]) -> Any:
        given, named = _substituted((args, kwargs), inputs, values)
        return function(*given, **named)

    with located():
        made = Operation(type_, list(inputs), make, name)
        several, results = _inferred(made)
        made.add_outputs(results)
    return tuple(made.outputs) if several else made.outputs[0]


def _collect(value: Any, found: dict[Tensor, int]) -> None:
    if isinstance(value, Tensor):
        found.setdefault(value, len(found))
    elif isinstance(value, (tuple, list)):
        for v in value:
            _collect(v, found)
    elif isinstance(value, dict):
        for v in value.values():
            _collect(v, found)


def _substituted(value: Any, numbers: Mapping[Tensor, int], values: Sequence[Any]) -> Any:
    if isinstance(value, Tensor):
        return values[numbers[value]]
    if isinstance(value, (tuple, list)):
        return type(value)(_substituted(v, numbers, values) for v in value)
    if isinstance(value, dict):
        return {k: _substituted(v, numbers, values) for k, v in value.items()}
    return value


def _inferred(made: Operation) -> tuple[bool, list[tuple[DataType, PartialTensorShape]]]:
    """Whether an operation has a tuple of outputs, and their dtypes and shapes, from tracing it on symbolic sizes."""
    unknown = [t for t in made.inputs if t._shape.unknown_rank]
    if not unknown:
        return _traced(made, 0)
    for rank in _RANKS:
        try:
            several, results = _traced(made, rank)
        except OpError:
            if rank == _RANKS[-1]:
                raise
        else:
            return several, [(dtype, PartialTensorShape(None)) for dtype, _ in results]
    raise AssertionError("unreachable")


def _traced(made: Operation, rank: int) -> tuple[bool, list[tuple[DataType, PartialTensorShape]]]:
    """As `_inferred`, inputs of unknown rank being of this one."""
    with Trace(made.name) as trace:
        values = []
        for i, t in enumerate(made.inputs):
            sizes = [None] * rank if t._shape.unknown_rank else t._shape.as_list()
            dims = [trace.table.declare(f"{i}.{d}") if n is None else n for d, n in enumerate(sizes)]
            values.append(trace.tensor_input(t.name, numpy_type_of(t.dtype), dims))
        made_now = made.make(values)
        several = isinstance(made_now, (tuple, list))
        return several, [_described(r) for r in (made_now if several else [made_now])]


def _described(result: Any) -> tuple[DataType, PartialTensorShape]:
    if isinstance(result, TracedTensor):
        sizes = [None if isinstance(n, SymInt) else n for n in result.shape]
        return data_type_of(result.dtype), PartialTensorShape(sizes)
    array = np.asarray(result)
    return data_type_of(array.dtype), PartialTensorShape(array.shape)


def replay(fetches: Sequence[Tensor], known: dict[Tensor, Any]) -> list[Any]:
    """The fetched tensors computed from the `known` ones, each operation between them applied once."""
    pending = list(fetches)
    while pending:
        tensor = pending[-1]
        missing = [] if tensor in known else [t for t in tensor.op.inputs if t not in known]
        if missing:
            pending.extend(missing)
            continue
        pending.pop()
        if tensor not in known:
            result = tensor.op.make([known[t] for t in tensor.op.inputs])
            results = result if isinstance(result, (tuple, list)) else [result]
            known.update(zip(tensor.op.outputs, results, strict=True))
    return [known[t] for t in fetches]


def _session(session: Any) -> Any:
    found = session or get_default_session()
    if found is None:
        raise RuntimeError("there is no default session: use `with Session():`, or give session=")
    return found


# Operations without inputs


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value each run is fed.  `shape`: a list of sizes, None for unknown ones; None: unknown rank."""
    kind = data_type_of(dtype)
    numpy_type_of(kind)

    def unfed(values: Sequence[Any]) -> Any:
        raise ValueError(f"placeholder {made.name!r} has no value: feed it")

    made = Operation("placeholder", (), unfed, name)
    made.add_outputs([(kind, as_shape(shape))])
    return made.outputs[0]


def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str | None = None, verify_shape: bool = False
) -> Tensor:
    """A tensor of these elements: Python's floats are DT_FLOAT, its ints DT_INT32, arrays keep their type.

    With `shape`, fewer elements are filled up by the last one, unless `verify_shape` forbids that: TypeError then.
    ValueError for too many; TypeError for what is no element type.
    """
    array = filled(host_array(value, dtype), shape, verify_shape)
    made = Operation("constant", (), lambda values: array, name)
    made.add_outputs([(data_type_of(array.dtype), PartialTensorShape(array.shape))])
    return made.outputs[0]


def host_array(value: Any, dtype: Any = None) -> np.ndarray:
    """An array of a Python value, of its own memory.  TypeError for what has no elements of numbers or bools."""
    array = np.array(value)
    if array.dtype == object or array.dtype.kind in "SU":
        raise TypeError(f"a symbolic tensor is made of numbers or bools, not {value!r}; a HostTensor holds strings")
    if dtype is not None:
        return array.astype(numpy_type_of(data_type_of(dtype)))
    typed = isinstance(value, (np.ndarray, np.generic))
    return array if typed else array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype))


def filled(array: np.ndarray, shape: Any, verify_shape: bool) -> np.ndarray:
    """`array` in `shape`; see `constant`."""
    if shape is None:
        return array
    sizes = tuple(as_shape(shape).as_tensor_shape().dim_sizes())
    if verify_shape and sizes != array.shape:
        raise TypeError(f"Expected Tensor's shape: {sizes}, got {array.shape}.")
    count = TensorShape(sizes).num_elements()
    if array.size > count:
        raise ValueError(f"Too many elements provided. Needed at most {count}, but received {array.size}")
    if not array.size and count:
        raise ValueError(f"no elements to fill {count} places with")
    flat = np.resize(array.ravel(), count)
    flat[array.size :] = array.ravel()[-1:]
    return flat.reshape(sizes)


def matmul(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The matrix product, as an operation."""
    return operation("matmul", operator.matmul, a, b, name=name)
