"""A user's Python function of scalars as a `ScalarProgram`: traced once on tensors of rank 0, its nodes numbered.

The function is staged, so its branches and loops are nodes with regions.  Scalars that it takes from outside (numbers
known when the compiled function runs, sizes) become further arguments of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

from ....dialects.dims.dims import Call, Dim, Sym, dim, sym
from ....dialects.registry import OPS, Map, OpError
from ....dialects.scalar.program import ScalarProgram, Step
from ....dialects.types import DTYPES, DType, tensor_type
from ..staging.regions import region
from ..staging.runtime import StagedRuntime
from ..state.alternatives.mixed_numbers import as_one_number
from ..tensor.apply import as_tensor
from ..tensor.tensor import Tensor
from ..trace.context import current
from ..trace.demands import Ended
from ..trace.emit import emit
from ..trace.graph import Block, Node, Value, schedule
from ..trace.trace import Trace

__all__ = ["ScalarFunction", "traced"]

I64 = DTYPES["i64"]
#: The operations inside integer expressions.
_OF_INTEGERS = {"//": "floor_divide", "%": "remainder", "min": "cwise_min_propagate", "max": "cwise_max_propagate"}


def cannot_use(node: Node) -> OpError:
    """For an op that a function of scalars has no step for."""
    assert node.op is not None
    if node.op is OPS["require"]:
        text = "the function of an expression raises an error for some numbers"
        return OpError(text, "write NumPy's function, as np.sqrt for math.sqrt, which gives NaN there", "TX0732")
    return OpError(f"the function of an expression cannot use {node.op.name}", "use operations on scalars", "TX0732")


@dataclass
class ScalarFunction:
    """A traced function: its block of scalars, what it gives, and which tensors stand for values from outside."""

    block: Block
    result: Value
    outside: dict[Value, Tensor] = field(default_factory=dict)

    def nodes(self) -> list[Node]:
        return schedule([self.result], self.block)

    @property
    def has_loops(self) -> bool:
        return any(node.op is OPS["for"] or node.op is OPS["while"] for node in _walk(self.nodes()))

    def program(self) -> tuple[ScalarProgram, list[Tensor]]:
        """It as data, and the tensors of rank 0 that are its arguments after the function's own."""
        writer = _Writer(self.outside)
        arguments = [(writer.define(v), v.type.dtype) for v in self.block.args]
        steps = writer.steps(self.nodes())
        result = writer.number(self.result)
        arguments += [(number, t.element) for number, t in writer.captured.items()]
        program = ScalarProgram(tuple(arguments), tuple(steps), ((result, self.result.type.dtype),))
        return program, list(writer.captured.values())


@contextmanager
def traced(f: Callable[..., Any], kinds: Sequence[DType], together: bool = False) -> Iterator[ScalarFunction]:
    """`f` for scalars of these types (`together`: as one tuple); its values stay usable inside the ``with``."""
    if not callable(f):
        raise OpError(f"an expression takes a function of scalars, not {f!r}", code="TX0730")
    trace = current()
    with Trace("expression") if trace is None else nullcontext(trace) as inner:
        with region.region(inner, [tensor_type(kind) for kind in kinds]) as block:
            scalars = tuple(Tensor(v) for v in block.args)
            runtime = StagedRuntime(None, inner.captures)
            inner.fork_value = inner.fork_value or runtime.fork_value
            staged = runtime.fn(f)  # what it takes from outside is a fact of the trace
            before, inner.binds = inner.binds, False
            try:
                result = as_tensor(as_one_number(staged(scalars) if together else staged(*scalars)))
            except Ended as end:  # for scalars of any value, which needs no call to be known
                raise end.error from None
            finally:
                inner.binds = before
            if result.ndim:
                raise OpError(f"the function of an expression gives a scalar, not {result.user_type}", code="TX0731")
            made = ScalarFunction(block, result.value)
            made.nodes()
    if trace is None:
        made.outside.update((i.value, as_tensor(i.source)) for i in inner.inputs if i.value is not None)
    yield made


def _walk(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        for part in node.regions:
            yield from _walk(part.nodes())


class _Writer:
    """Numbers values and writes the steps of blocks.  `captured` are values from outside, by number."""

    def __init__(self, outside: dict[Value, Tensor]):
        self.outside = outside
        self.numbers: dict[Value, int] = {}
        self.captured: dict[int, Tensor] = {}
        self.counters: dict[Sym, int] = {}
        self.sizes: dict[Dim, int] = {}
        self.count = 0

    def fresh(self) -> int:
        self.count += 1
        return self.count - 1

    def define(self, v: Value) -> int:
        self.numbers[v] = self.fresh()
        return self.numbers[v]

    def number(self, v: Value) -> int:
        """The number of a value: one from outside becomes an argument."""
        if v not in self.numbers:
            self.captured[self.define(v)] = self.outside.get(v) or Tensor(v)
        return self.numbers[v]

    def steps(self, nodes: Sequence[Node]) -> list[Step]:
        return [step for node in nodes for step in self._node(node)]

    def _node(self, node: Node) -> Iterator[Step]:
        assert node.op is not None
        name = node.op.name
        if name == "constant":
            yield Step(name, (), (self.define(node.results[0]),), (node.attrs["dtype"], node.attrs["value"]))
        elif name == "dim":
            yield from self._size(node)
        elif name in ("if", "while"):
            yield self._control(node)
        elif name == "for":
            yield from self._for(node)
        elif issubclass(node.op, Map):
            operands = tuple(self.number(v) for v in node.operands)
            yield Step(name, operands, (self.define(node.results[0]),), tuple(node.attrs[p] for p in node.op.params))
        else:
            raise cannot_use(node)

    def _size(self, node: Node) -> Iterator[Step]:
        """An integer: the counter of a loop, a number, or a size of the program around."""
        found, steps = self._integer(node.attrs["expr"])
        yield from steps
        kind: DType = node.attrs["dtype"]
        if kind is I64:
            self.numbers[node.results[0]] = found
        else:
            yield Step("cast", (found,), (self.define(node.results[0]),), (kind,))

    def _integer(self, expr: Dim) -> tuple[int, list[Step]]:
        """The number of an i64 that holds an integer expression, and the steps that make it."""
        if expr.const is not None:
            made = self.fresh()
            return made, [Step("constant", (), (made,), (I64, expr.const))]
        if expr.symbol in self.counters:
            return self.counters[expr.symbol], []
        if any(s in self.counters for s in expr.symbols()):
            return self._of_counters(expr)
        if expr not in self.sizes:
            self.sizes[expr] = self.fresh()
            self.captured[self.sizes[expr]] = Tensor(emit(OPS["dim"], (), {"expr": expr, "dtype": I64})[0])
        return self.sizes[expr], []

    def _of_counters(self, expr: Dim) -> tuple[int, list[Step]]:
        """The same for an expression of loops' counters, which is computed as it stands."""
        steps: list[Step] = []

        def number(part: Dim) -> int:
            found, before = self._integer(part)
            steps.extend(before)
            return found

        def combined(op: str, x: int, y: int) -> int:
            made = self.fresh()
            steps.append(Step(op, (x, y), (made,)))
            return made

        def factor(atom: Sym | Call) -> int:
            if isinstance(atom, Sym):
                return number(sym(atom.name))
            return combined(_OF_INTEGERS[atom.fn], number(atom.a), number(atom.b))

        terms = [
            reduce(partial(combined, "mul"), [number(dim(coefficient)), *map(factor, atoms)])
            for atoms, coefficient in expr.terms
        ]
        return reduce(partial(combined, "add"), terms), steps

    def _control(self, node: Node) -> Step:
        assert node.op is not None
        operands = tuple(self.number(v) for v in node.operands)
        inner = tuple(self._block(region) for region in node.regions)
        return Step(node.op.name, operands, tuple(map(self.define, node.results)), (), inner)

    def _for(self, node: Node) -> Iterator[Step]:
        operands = []
        for key in ("lower", "upper", "step"):
            found, steps = self._integer(dim(node.attrs[key]))
            yield from steps
            operands.append(found)
        operands += [self.number(v) for v in node.operands]
        counter = Sym(node.attrs["iv"])
        at = self.counters[counter] = self.fresh()
        body = self._block(node.regions[0], [(at, I64)])
        del self.counters[counter]
        results = tuple(map(self.define, node.results))
        yield Step("for", tuple(operands), results, (node.attrs.get("until"),), (body,))

    def _block(self, block: Block, first: Sequence[tuple[int, DType]] = ()) -> ScalarProgram:
        """A region, whose first arguments (a loop's counter) have numbers already."""
        arguments = [*first, *((self.define(v), v.type.dtype) for v in block.args)]
        steps = self.steps(block.nodes())
        results = tuple((self.number(v), v.type.dtype) for v in block.outputs)
        return ScalarProgram(tuple(arguments), tuple(steps), results)
