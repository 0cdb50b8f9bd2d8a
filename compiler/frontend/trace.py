"""The function being traced: its inputs, its dims, the block that nodes go into, and how it becomes a `Graph`."""

from __future__ import annotations

import itertools
from _thread import _local  # `threading.local`, without the rest of that module
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dialects.dims import Dim, DimLike, dim
from ...dialects.registry import OpError
from ...dialects.types import dtype, tensor_type
from ..signature import ColumnOutput, ListOutput, NumberOutput, NumbersOutput, like
from .graph import Block, DimTable, Graph, Input, Literal, Node, Value
from .symint import SymInt, symint

if TYPE_CHECKING:
    from .captures import Captures
    from .regions import Hints
    from .tensor import Tensor

__all__ = ["Trace", "current", "require", "suspended", "table"]


class _Active(_local):
    """The traces of this thread, the innermost last; an attribute of the class, as every operation asks for it."""

    stack: list[Trace] | None = None


_active = _Active()
#: The dims of lazy expressions are numbers: their table has nothing to learn.
_LAZY = DimTable()


def current() -> Trace | None:
    """The trace of this thread, None where expressions are lazy."""
    stack = _active.stack
    return stack[-1] if stack else None


def require() -> Trace:
    """The trace of this thread; OpError outside one."""
    trace = current()
    if trace is None:
        raise OpError("this value exists only while a function is being compiled", code="TX0203")
    return trace


@contextmanager
def suspended() -> Iterator[None]:
    """No trace is active inside: for lazy expressions that a traced function uses."""
    kept, _active.stack = _active.stack, None
    try:
        yield
    finally:
        _active.stack = kept


def table() -> DimTable:
    stack = _active.stack
    return stack[-1].table if stack else _LAZY


class Trace:
    """``with Trace("f") as t: x = t.array_input("x", a); graph = t.finish(f(x))``."""

    def __init__(self, name: str = "function", *, fixed_captures: bool = False):
        self.name = name
        #: Whether the sizes of captured arrays are numbers: they are where the arrays become part of the code.
        self.fixed_captures = fixed_captures
        self.table = DimTable()
        self.inputs: list[Input] = []
        self.tensors: dict[int, Tensor] = {}
        self.blocks: list[Block] = [Block()]
        #: For each open block: the tensors written in it that are older than it, with their values before.
        self.writes: list[dict[Tensor, Value]] = [{}]
        #: For each open block: the tensors, owners or views, that stores went through.
        self.writers: list[list[Tensor]] = [[]]
        #: The files and names of the functions that are traced as they are, not staged.
        self.plain: set[tuple[str, str]] = set()
        #: For what stands for a variable in a loop: what the variable was before the loop.
        self.stands_for: dict[Tensor, Any] = {}
        self._captured: dict[int, tuple[Any, Tensor]] = {}
        #: Lazy tensors used in the trace, as hidden arguments.
        self._adopted: dict[Value, Tensor] = {}
        self._loops = 0
        #: What the traced function takes from outside it (`captures.Captures`); None where nothing is staged.
        self.captures: Captures | None = None
        #: The seeds of random tensors that are given none.
        self.draws = itertools.count()
        #: How many branches and whiles are open: what is traced inside may not run.
        self.uncertain = 0
        #: Whether comparisons of run-time ints are computed at run time instead of becoming facts.
        self.deferring = False

    def __enter__(self) -> Trace:
        if _active.stack is None:
            _active.stack = []
        _active.stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        assert _active.stack is not None
        _active.stack.pop()

    @property
    def block(self) -> Block:
        return self.blocks[-1]

    def tensor_input(
        self, name: str, element: Any, dims: Sequence[DimLike] = (), *, layout: str = "row", hidden: bool = False,
        source: Any = None, kind: str = "tensor", weak: str = "", strides: Sequence[DimLike] | None = None,
    ) -> Tensor:  # fmt: skip
        """An argument of these dims, in the user's order.  ``kind="scalar"`` for rank 0 by value."""
        from .tensor import Tensor

        ordered = tuple(dim(d) for d in dims)
        if layout == "col":
            ordered = ordered[::-1]
        node = Node(None, (), {}, (tensor_type(element, ordered),), block=self.blocks[0])
        tensor = Tensor(node.results[0], layout=layout, weak=weak, boxed=kind == "tensor")
        tensor._home = self.blocks[0]
        self.tensors[len(self.inputs)] = tensor
        steps = None if strides is None else tuple(dim(s) for s in strides)
        self.inputs.append(
            Input(name, kind, node.results[0], None, hidden, source, layout=layout, weak=weak, strides=steps)
        )
        return tensor

    def array_input(self, name: str, array: Any, *, layout: str = "row", hidden: bool = False) -> Tensor:
        """An argument like `array`: a symbol ``name.0``, ``name.1``, … for each dim, its size as the hint."""
        dims: Sequence[DimLike] = array.shape
        if not (hidden and self.fixed_captures):
            dims = [self.table.declare(f"{name}.{i}", n, f"dim {i} of {name}") for i, n in enumerate(array.shape)]
        source = array if hidden else None
        return self.tensor_input(name, array.dtype, dims, layout=layout, hidden=hidden, source=source)

    def scalar_input(self, name: str, element: Any = "f64", weak: str = "float") -> Tensor:
        """A rank-0 argument by value; `weak`: ``float``, ``complex``, ``bool`` (Python's), or ``""`` (NumPy's)."""
        return self.tensor_input(name, element, kind="scalar", weak=weak)

    def int_input(self, name: str, hint: int | None = None) -> SymInt:
        """A Python int argument: the symbol ``$name``."""
        symbol = self.table.declare(f"${name}", hint, name)
        self.inputs.append(Input(name, "int", None, symbol, weak="int"))
        return SymInt(symbol)

    def capture(self, array: np.ndarray) -> Tensor:
        """An array of the surrounding program, as a hidden argument; the same tensor for the same array."""
        found = self._captured.get(id(array))
        if found is None:
            name = f"captured{len(self._captured)}"
            found = self._captured[id(array)] = (array, self.array_input(name, array, hidden=True))
        return found[1]

    def adopt(self, lazy: Tensor) -> Tensor:
        """A lazy tensor of the surrounding program: computed now, a hidden argument, which stores reach."""
        from .evaluation import computed
        from .memory import give_memory

        with suspended():
            array = None if lazy.reads_only else give_memory(lazy)
            value = lazy.value
        found = self._adopted.get(value)
        if found is None:
            if array is None:
                with suspended():
                    array = computed(value)
            # The argument is in graph dims, which the tensor only counts in its own way.
            given = self.array_input(f"lazy{len(self._adopted)}", array, hidden=True)
            found = self._adopted[value] = given.relabelled() if lazy.layout == "col" else given
        return found

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Inside, a comparison of ints that is not the same in every call is a tensor, never a guard.

        For conditions that are asked again and again, where each answer would be a fact of its own.
        """
        before, self.deferring = self.deferring, True
        try:
            yield
        finally:
            self.deferring = before

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """What is done inside counts only if it ends without an error: else storages and facts are as before."""
        facts = self.table.facts()
        self.writes.append({})
        self.writers.append([])
        try:
            yield
        except BaseException:
            self.writers.pop()
            for owner, before in self.writes.pop().items():
                owner._value = before
            self.table.put_back(facts)
            raise
        self.writers[-2].extend(self.writers.pop())
        for owner, before in self.writes.pop().items():
            self.writes[-1].setdefault(owner, before)

    def new_loop_symbol(self) -> str:
        self._loops += 1
        return f"$iv{self._loops - 1}"

    def emit(self, node: Node) -> tuple[Value, ...]:
        """Put a node into the open block."""
        for v in node.operands:
            if v.node.block is not None and v.node.block not in self.blocks:
                raise OpError(
                    "a value made inside a loop or branch is used outside it",
                    "store it into an array or a variable that is made before; lists do not grow in loops",
                    "TX0204",
                )
        node.block = self.block
        return node.results

    def note_write(self, owner: Tensor, before: Value, through: Tensor) -> None:
        """`owner` had the value `before` and is being written, as itself or through a view."""
        self.writes[-1].setdefault(owner, before)
        self.writers[-1].append(through)

    def for_(
        self, lower: Any, upper: Any, step: Any, body: Callable[..., Any], carried: Sequence[Any] = (),
        names: Sequence[str] = (), stop: str | None = None, is_shared: Callable[[Tensor], bool] | None = None,
        hints: Hints | None = None,
    ) -> tuple[Any, ...]:  # fmt: skip
        """See `regions.for_`."""
        from . import regions

        return regions.for_(self, lower, upper, step, body, carried, names, stop, is_shared, hints)

    def while_(
        self, cond: Callable[..., Any], body: Callable[..., Any], carried: Sequence[Any] = (),
        names: Sequence[str] = (), is_shared: Callable[[Tensor], bool] | None = None, hints: Hints | None = None,
    ) -> tuple[Any, ...]:  # fmt: skip
        """See `regions.while_`."""
        from . import regions

        return regions.while_(self, cond, body, carried, names, is_shared, hints)

    def if_(
        self, cond: Any, then: Callable[[], Any], otherwise: Callable[[], Any], names: Sequence[str] = ()
    ) -> tuple[Any, ...]:
        """See `regions.if_`."""
        from . import regions

        return regions.if_(self, cond, then, otherwise, names)

    def finish(self, result: Any, *, declared: bool = False) -> Graph:
        """The graph: outputs for every tensor in `result`, then for the arguments written in place.

        A column-major result is given out as NumPy counts its dims, in the memory that it has; with the results'
        layouts `declared`, as it is.
        """
        from .apply import as_tensor
        from .growing import GrowingList
        from .tensor import Tensor

        outputs: list[Value] = []
        aliases: dict[int, int] = {}
        owners = {t: i for i, t in self.tensors.items()}

        def place(x: Any) -> Any:
            if isinstance(x, (SymInt, np.ndarray)):
                x = as_tensor(x)
            if isinstance(x, Tensor):
                if x.layout == "col" and x.ndim > 1 and not declared:
                    outputs.append(x.relabelled().shuffle(tuple(range(x.ndim))[::-1]).value)
                    return ColumnOutput(len(outputs) - 1)
                if x in owners and self.inputs[owners[x]].kind == "tensor" and owners[x] not in aliases.values():
                    aliases[len(outputs)] = owners[x]
                outputs.append(x.value)
                number = len(outputs) - 1
                if x.weak and not x.ndim and not declared:
                    return NumberOutput(number)
                return ColumnOutput(number) if x.layout == "col" and x.ndim and not declared else number
            if isinstance(x, dict):
                return {k: place(v) for k, v in x.items()}
            if isinstance(x, GrowingList) and x.stacked:
                outputs.append(x.whole().value)
                return (NumbersOutput if x.weak else ListOutput)(len(outputs) - 1)
            if isinstance(x, (tuple, list)):
                return like(x, [place(v) for v in x])
            return None if x is None else Literal(x)

        structure = place(result)
        count = len(outputs)
        for tensor, i in owners.items():
            if tensor.value is not self.inputs[i].value and i not in aliases.values():
                aliases[len(outputs)] = i
                outputs.append(tensor.value)
        graph = Graph(self.name, self.inputs, outputs, self.table, aliases, structure, count, self.blocks[0])
        return graph.settle()


def shape_of(dims: Sequence[Dim]) -> tuple[int | SymInt, ...]:
    return tuple(symint(d) for d in dims)


def element_of(array: Any) -> Any:
    """The `DType` of an array; OpError where txc has none."""
    try:
        return dtype(array.dtype)
    except TypeError as error:
        raise OpError(str(error), code="TX0205") from error
