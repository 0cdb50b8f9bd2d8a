"""The function being traced: its inputs, its dims, the block that nodes go into, and how it becomes a `Graph`."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ....dialects.dims.dims import Dim, DimLike, Sym, dim
from ....dialects.dims.index_map import dims_in
from ....dialects.registry import RAISE, OpError
from ....dialects.tx_internal import Stored
from ....dialects.types import tensor_type
from ...call.facts import stride_fact
from ...call.signature import ROOM
from ..indexing.data_dependent_sizes import Binding, closed, leaves
from ..lazy.evaluate import evaluate_value
from ..staging.returned import Returned
from ..tensor.memory.storage import give_memory
from ..tensor.tensor import Tensor
from .context import enter, leave, suspended
from .demands import Guard
from .effort import Effort
from .emit import emit
from .graph import Block, DimTable, Graph, Input, Node, Value
from .raised import raised_by
from .symint import SymInt

if TYPE_CHECKING:
    from ...diagnostics import Loc
    from .captures import Captures

__all__ = ["Trace"]


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
        self.effort = Effort()
        #: The tensors of arrays that others see, and whether there are stores into them.
        self.seen_outside: set[Tensor] = set()
        self.has_stores = False
        #: For each open block: the tensors written in it that are older than it, with their values before.
        self.writes: list[dict[Tensor, Value]] = [{}]
        #: For each open block: the tensors, owners or views, that stores went through.
        self.writers: list[list[Tensor]] = [[]]
        #: The files and names of the functions that are traced as they are, not staged.
        self.plain: set[tuple[str, str]] = set()
        #: For what stands for a variable in a loop: what the variable was before the loop.
        self.stands_for: dict[Tensor, Any] = {}
        self._captured: dict[int, tuple[Any, Tensor]] = {}
        #: The tensors of arrays that unstaged code made meanwhile: in each call they begin as they were left by that.
        self.made_here: set[Tensor] = set()
        #: Arrays of numbers that are written in the program, by dtype and elements.
        self.literals: dict[tuple[str, bytes], np.ndarray] = {}
        #: By identity of the user's arrays: those that share memory, as views on it, and their names.
        self.shared: dict[int, Tensor] = {}
        self.shared_names: dict[Tensor, str] = {}
        #: Lazy tensors used in the trace, as hidden arguments.
        self._adopted: dict[Value, Tensor] = {}
        self._loops = 0
        #: What the traced function takes from outside it (`captures.Captures`); None where nothing is staged.
        self.captures: Captures | None = None
        #: By which branches are made of a value of one kind or another (`ControlFlow.fork_value`), where there are any.
        self.fork_value: Callable[..., Any] | None = None
        #: The seeds of random tensors that are given none.
        self.draws = itertools.count()
        #: How many branches and whiles are open: what is traced inside may not run.
        self.conditional_depth = 0
        #: The last error that a region was left by.
        self.left_by: BaseException | None = None
        #: Whether what may fail is checked where nobody uses it (`only_if_used`).
        self.demanding = True
        #: What is open that something is done with errors of: which errors, and where (`guarding`).
        self.guards: list[tuple[Callable[[type[BaseException]], bool], Loc | None]] = []
        #: The nodes that may raise such an error, with where that is: none of them may stay in the program.
        self.guarded: dict[Node, Loc | None] = {}
        #: Lists of lists into whose items the program stores, by where they are made, with the types of the numbers in
        #: these (`growing_lists.AsTable`); None where nothing can be learnt, since the trace is not run again.
        self.tables: dict[Any, Any] | None = None
        #: How many ``with warnings.catch_warnings()`` are open.
        self.quiet = 0
        #: Whether comparisons of run-time ints are computed at run time instead of becoming facts.
        self.defer_guards = False
        #: Whether a size becomes a fact where that makes an op's loops much shorter (`short_loops.py`).
        self.specializes = False
        #: Whether all checks of what the function raises held so far (`demands`); None: there was none.
        self.fine: Tensor | None = None
        #: The open blocks that are the rest of others, in which a size stands for a value (`data_dependent_sizes`), or
        #: which run only where a check held (`demands`); and all symbols that ever stood for a value.
        self.bindings: dict[Block, Binding | Guard] = {}
        self.bound: set[Sym] = set()
        #: Masks and the positions of their true elements (`data_dependent_sizes.known_places`).
        self.places: list[tuple[Value, Value]] = []
        #: Whether those can that have no bound: where the call is repeated with more memory.
        self.has_rooms = False
        #: Whether a value may be one of several kinds (`one_of`), and conditions that are true, or false, here.
        self.has_one_of = False
        self.assumed: list[Value] = []
        self.denied: list[Value] = []
        #: By a condition, one that is true where that is false.
        self.opposites: dict[Value, Value] = {}
        #: Of a number of one type or another: the value of which one of one type was made, exactly.
        self.exact: dict[Value, Value] = {}
        #: By identity: an object that a branch made, of one value of several, and its condition.
        self.made_where: dict[int, tuple[Any, Tensor]] = {}
        #: Views of all kinds, as long as they are referred to.
        self.views: list[weakref.ref[Tensor]] = []
        #: Whether sizes can become known here.
        self.binds = True
        #: The arrays of which was asked whether they are others.
        self._compared: set[Tensor] = set()

    def __enter__(self) -> Trace:
        enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        leave()

    @property
    def block(self) -> Block:
        return self.blocks[-1]

    @property
    def region(self) -> Block:
        """The innermost open block that is the region of a branch or a loop, or the function's own."""
        return next(block for block in reversed(self.blocks) if block not in self.bindings)

    def is_bound(self, d: Dim) -> bool:
        """Whether a size is one that values decide."""
        return any(s in self.bound for s in d.symbols())

    def tensor_input(
        self, name: str, element: Any, dims: Sequence[DimLike] = (), *, layout: str = "row", hidden: bool = False,
        source: Any = None, kind: str = "tensor", weak: str = "", strides: Sequence[DimLike] | None = None,
    ) -> Tensor:  # fmt: skip
        """An argument of these dims, in the user's order.  ``kind="scalar"`` for rank 0 by value."""
        ordered = tuple(dim(d) for d in dims)
        if layout == "col":
            ordered = ordered[::-1]
        node = Node(None, (), {}, (tensor_type(element, ordered),), block=self.blocks[0])
        tensor = Tensor(node.results[0], layout=layout, weak=weak, boxed=kind == "tensor")
        tensor._home = self.blocks[0]
        self.tensors[len(self.inputs)] = tensor
        self.seen_outside.add(tensor)
        steps = None if strides is None else tuple(dim(s) for s in strides)
        self.inputs.append(
            Input(name, kind, node.results[0], None, hidden, source, layout=layout, weak=weak, strides=steps)
        )
        return tensor

    def array_input(self, name: str, array: Any, *, layout: str = "row", hidden: bool = False) -> Tensor:
        """An argument like `array`: a symbol ``name.0``, ``name.1``, … for each dim, its size as the hint."""
        dims: Sequence[DimLike] = array.shape
        if not (hidden and self.fixed_captures):
            dims = [self.table.declare(f"{name}.{i}", n) for i, n in enumerate(array.shape)]
        if isinstance(array, np.ndarray):
            form, *kinds = stride_fact(array)
            for i, kind in enumerate(kinds):
                if form == "strides" and kind == "s":
                    self.table.declare(f"${name}.s{i}", array.strides[i] // array.itemsize)
        source = array if hidden else None
        return self.tensor_input(name, array.dtype, dims, layout=layout, hidden=hidden, source=source)

    def scalar_input(self, name: str, element: Any = "f64", weak: str = "float") -> Tensor:
        """A rank-0 argument by value; `weak`: ``float``, ``complex``, ``bool`` (Python's), or ``""`` (NumPy's)."""
        return self.tensor_input(name, element, kind="scalar", weak=weak)

    def int_input(self, name: str, hint: int | None = None) -> SymInt:
        """A Python int argument: the symbol ``$name``."""
        return SymInt(self.symbol_input(name, f"${name}", hint, name))

    @property
    def in_region(self) -> bool:
        """Whether a branch or a loop of compiled code is open."""
        return any(block not in self.bindings for block in self.blocks[1:])

    def compare(self, *arrays: Tensor) -> None:
        """Whether arrays are one object is asked: a fact of the call, where they are arguments of it."""
        self._compared.update(arrays)

    def symbol_input(self, name: str, symbol: str, hint: int | None, why: str) -> Dim:
        """An int argument under a symbol of its own."""
        declared = self.table.declare(symbol, hint, why)
        self.inputs.append(Input(name, "int", None, declared, weak="int"))
        return declared

    def room(self) -> Dim:
        """The elements for which the call has memory, where it knows no bound of a size."""
        name = f"{ROOM}{sum(i.name.startswith(ROOM) for i in self.inputs)}"
        symbol = self.table.declare(name)
        self.inputs.append(Input(name, "int", None, symbol))
        return symbol

    def capture(self, array: np.ndarray) -> Tensor:
        """An array of the surrounding program, as a hidden argument; the same tensor for the same array."""
        shared = self.shared.get(id(array))
        if shared is not None:
            return shared
        found = self._captured.get(id(array))
        if found is None:
            name = f"captured{len(self._captured)}"
            found = self._captured[id(array)] = (array, self.array_input(name, array, hidden=True))
            if self.captures is not None and self.captures.is_own(array):
                self.made_here.add(found[1])
                self.seen_outside.discard(found[1])
        return found[1]

    def capture_lazy(self, lazy: Tensor) -> Tensor:
        """A lazy tensor of the surrounding program: computed now, a hidden argument, which stores reach."""
        with suspended():
            array = None if lazy.reads_only else give_memory(lazy)
            value = lazy.value
        found = self._adopted.get(value)
        if found is None:
            if array is None:
                with suspended():
                    array = evaluate_value(value)
            # The argument is in graph dims, which the tensor only counts in its own way.
            given = self.array_input(f"lazy{len(self._adopted)}", array, hidden=True)
            found = self._adopted[value] = given.swap_layout() if lazy.layout == "col" else given
        return found

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Inside, a comparison of ints that is not the same in every call is a tensor, never a guard.

        For conditions that are asked again and again, where each answer would be a fact of its own.
        """
        before, self.defer_guards = self.defer_guards, True
        try:
            yield
        finally:
            self.defer_guards = before

    def is_outermost(self, error: BaseException | None) -> bool:
        """Whether an error, and all that it came of, was raised in no region: what was traced before it runs before it.

        The values of what was written are those at that time.
        """
        while error is not None and error is not self.left_by:
            error = error.__cause__ or error.__context__
        return error is None

    @contextmanager
    def guarding(self, takes: Callable[[type[BaseException]], bool], loc: Loc | None) -> Iterator[None]:
        """Inside, what compiled code may raise that something `takes` is noted: nothing would be done then."""
        self.guards.append((takes, loc))
        try:
            yield
        finally:
            self.guards.pop()

    @contextmanager
    def only_if_used(self) -> Iterator[None]:
        """What is emitted inside is no step of the user's program: it is checked only where its value is used."""
        before, self.demanding = self.demanding, False
        try:
            yield
        finally:
            self.demanding = before

    def demanded(self) -> list[int]:
        """How much is demanded of each open block."""
        return [len(block.demands) for block in self.blocks]

    def forget_since(self, demanded: Sequence[int]) -> None:
        """Forget what was demanded of the blocks that were open then."""
        for block, count in zip(self.blocks, demanded):
            del block.demands[count:]

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """What is done inside counts only if it ends without an error: else storages and demands are as before.

        Facts stay, as types of values from before are told by them.
        """
        depth, demanded = len(self.blocks), self.demanded()
        self.writes.append({})
        self.writers.append([])
        try:
            yield
        except BaseException:
            self.leave(depth)
            self.forget_since(demanded)
            self.writers.pop()
            for owner, before in self.writes.pop().items():
                owner._value = before
            raise
        self.writers[-2].extend(self.writers.pop())
        for owner, before in self.writes.pop().items():
            self.writes[-1].setdefault(owner, before)

    def new_loop_symbol(self) -> str:
        self._loops += 1
        return f"$iv{self._loops - 1}"

    def enter(self, blocks: Sequence[Block], bindings: Sequence[Binding | Guard] = ()) -> None:
        """Open blocks, each inside the one before; those of `bindings` among them know a size, or that checks held."""
        self.blocks += blocks
        for binding in bindings:
            self.bindings[binding.block] = binding
            if isinstance(binding, Binding):
                self.table.loops[binding.symbol] = dim(0), binding.most

    def leave(self, depth: int) -> tuple[list[Block], list[Binding | Guard]]:
        """Close all but the `depth` outermost blocks; what `enter` takes to open them again."""
        blocks, self.blocks[depth:] = self.blocks[depth:], []
        bindings = [self.bindings.pop(b) for b in blocks if b in self.bindings]
        for binding in bindings:
            binding.end()
            if isinstance(binding, Binding):
                self.table.end_loop(binding.symbol)
        return blocks, bindings

    def emit(self, node: Node) -> tuple[Value, ...]:
        """Put a node into the open block."""
        if self.bound:
            self._check_sizes(node)
        for v in node.operands:
            if v.node.block is not None and v.node.block not in self.blocks:
                raise OpError(
                    "a value made inside a loop or branch is used outside it",
                    "store it into an array or a variable that is made before; lists do not grow in loops",
                    "TX0204",
                )
        node.block = self.block
        if self.guards and node.attrs.get("mode") == RAISE:
            self._note_guarded(node, raised_by(node))
        if self.demanding and (node.attrs.get("mode") == RAISE or any(region.demands for region in node.regions)):
            self.block.demands.append(node)
        return node.results

    def _note_guarded(self, node: Node, kind: type[BaseException] | None) -> None:
        for takes, loc in self.guards:
            if kind is not None and takes(kind):
                self.guarded[node] = loc

    def take_over(self, nodes: Sequence[Node], block: Block) -> None:
        """Make nodes of a block, and what it demands, parts of the open one."""
        for node in nodes:
            node.block = self.block
        self.block.demands += block.demands

    def _check_sizes(self, node: Node) -> None:
        """OpError where a node speaks of a size that is known no longer."""
        for d in (*(d for result in node.results for d in result.type.dims), *dims_in(node.attrs)):
            if any(s in self.bound and s not in self.table.loops for s in d.symbols()):
                raise leaves(node.results[0].type)

    def record_write(self, owner: Tensor, before: Value, through: Tensor) -> None:
        """`owner` had the value `before` and is being written, as itself or through a view."""
        self.writes[-1].setdefault(owner, before)
        self.writers[-1].append(through)
        for block in reversed(self.blocks):
            rest = self.bindings.get(block)
            if rest is None:
                break  # the region begins here: what is written in it is written in those around it when it ends
            if isinstance(rest, Guard):
                rest.before.setdefault(owner, before)

    def stored(self, owner: Tensor, after: Value, before: Value) -> Value:
        """What `owner` holds from a store on, which others do not see where a check fails before it."""
        if owner not in self.seen_outside:
            return after
        self.has_stores = True
        return emit(Stored, (after, before), {})[0]

    def finish(self, result: Any, *, declared: bool = False, views: bool = False) -> Graph:
        """The graph: outputs for every tensor in `result`, then for the arguments written in place.

        A column-major result is given out as NumPy counts its dims, in the memory that it has; with the results'
        layouts `declared`, as it is.  With `views`, results share memory as NumPy's do (`staging/returned.py`).
        """
        returned = Returned(self, declared, views)
        structure = returned.structure(result)
        outputs, aliases = returned.outputs, returned.aliases
        owners = {t: i for i, t in self.tensors.items() if t not in self.made_here}
        if len(self.blocks) > 1:
            written = [*owners, *(() if self.fine is None else (self.fine,))]
            found = iter(closed(self, self.blocks[0], [*outputs, *(t.value for t in written)]))
            outputs = [next(found) for _ in outputs]
            for tensor in written:
                tensor._value = next(found)
        count = len(outputs)
        for tensor, i in owners.items():
            if tensor.value is not self.inputs[i].value and i not in aliases.values():
                aliases[len(outputs)] = i
                outputs.append(tensor.value)
        if not all(self.table.knows(d) for v in outputs for d in v.type.dims):
            raise OpError(
                "a result has a size that only an iteration of a loop knows",
                "copy it into an array of a size from before the loop",
                "TX0292",
            )
        graph = Graph(self.name, self.inputs, outputs, self.table, aliases, structure, count, self.blocks[0])
        graph.guarded = self.guarded
        graph.demands, graph.raises = self.blocks[0].demands, self.fine is not None
        arrays = [self.tensors[i] for i, given in enumerate(self.inputs) if given.value is not None]
        graph.compared = tuple(n for n, t in enumerate(arrays) if t in self._compared)
        graph.settle()
        if self.has_stores and not any(node.attrs.get("mode") == RAISE for node in graph.walk()):
            graph.forget_stores()
        return graph
