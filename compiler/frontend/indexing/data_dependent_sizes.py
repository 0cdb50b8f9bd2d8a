"""Sizes that values decide, as of ``x[x > 0]``: dims like any other, from where they become known.

There the rest of the open block becomes the region of a ``for`` node that runs only the iteration whose number is that
value (`ops.control.For`, `only`).  So inside, the size is a symbol like a loop's counter, of which its range is known:
all that is said of sizes that vary with loops holds for it, and memory is as large as the largest.  The region ends
where the block around it does; what that hands on leaves the region as values of sizes that are known outside.
A result of the function that has such a size leaves it in memory for the largest, beside its size (`given_out`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....dialects.dims.dims import Dim, Sym, dim, iterator, maximum, minimum, sym
from ....dialects.dims.index_map import IndexMap, product
from ....dialects.registry import OPS, OpError
from ....dialects.tx_internal import Empty
from ....dialects.types import DTYPES, TensorType, tensor_type
from ...call.signature import ROOM
from ...diagnostics import Loc, user_loc
from ..tensor.apply import apply, as_tensor
from ..tensor.promotion import cast
from ..tensor.tensor import Tensor
from ..trace.context import current
from ..trace.emit import emit, resolved, resolved_attrs
from ..trace.graph import Block, Node, Value, schedule
from ..trace.symint import SymInt, as_dim, symint

if TYPE_CHECKING:
    from ..trace.trace import Trace

__all__ = [
    "Binding", "as_long", "bind", "closed", "empty", "given_out", "known_places", "largest", "leaves", "met",
    "quotient", "repeated", "resized", "same_expression", "size_of", "stored",
]  # fmt: skip


@dataclass
class Binding:
    """A size that became known in an open block: the region in which `symbol` stands for it."""

    block: Block
    symbol: Sym
    count: Value
    most: Dim
    loc: Loc | None

    def is_in(self, value: Any) -> bool:
        """Whether a parameter or the sizes of a type speak of it."""
        if isinstance(value, Dim):
            return self.symbol in value.symbols()
        if isinstance(value, IndexMap):
            return self.is_in((*value.extents, *value.exprs, *value.guards))
        return isinstance(value, tuple) and any(map(self.is_in, value))

    def end(self) -> None:
        """The region ends as it is."""

    def close(self, trace: Trace, inner: Sequence[Value], _: object) -> dict[Value, Value]:
        """The values behind the region of those in it that it hands on."""
        types = [resolved(v) for v in inner]
        for kind in types:
            if any(self.symbol in d.symbols() for d in kind.dims):
                raise leaves(kind)
        trace.leave(trace.blocks.index(self.block))
        nodes = schedule(inner, self.block, self.block.demands)
        if not any(_needs(node, self) for node in nodes):
            # Nothing asked for the size: what there is needs no region.
            trace.take_over(nodes, self.block)
            return {}
        starts = [emit(Empty, (), {"dtype": t.dtype, "dims": t.dims}, [t], loc=self.loc)[0] for t in types]
        # The block's own argument, which is handed on, is the size.
        arguments = [*Block(types, None).args]
        for argument in arguments:
            argument.node.block = self.block
        self.block.args = (self.block.args[0], *arguments)
        self.block.outputs = [self.block.args[0], *inner]
        attrs = {
            "iv": self.symbol.name, "lower": dim(0), "upper": self.most + 1, "step": dim(1), "until": None, "only": 0,
        }  # fmt: skip
        operands = [self.count, *starts]
        results = emit(OPS["for"], operands, attrs, [resolved(v) for v in operands], (self.block,), self.loc)
        return dict(zip(inner, results[1:]))


def bind(trace: Trace, count: Tensor, most: Dim) -> int | SymInt:
    """A run-time int that is from 0 to `most`, as a size for the rest of the open block."""
    if not trace.binds:
        raise OpError(
            "a function of scalars has no arrays whose size is known only at run time",
            "make the array outside of it",
            "TX0252",
        )
    most = trace.table.resolve(most)
    if most.const == 0:
        return 0
    kind = tensor_type(DTYPES["i64"], ())
    known = cast(count, kind.dtype).value
    for found in trace.bindings.values():
        if isinstance(found, Binding) and found.most is most and same_expression(found.count, known):
            return symint(sym(found.symbol.name))
    name = trace.new_loop_symbol().removeprefix("$")
    binding = Binding(Block([kind], trace.block), Sym(name), known, most, user_loc())
    trace.bound.add(binding.symbol)
    trace.enter([binding.block], [binding])
    return symint(sym(name))


def size_of(x: Any) -> Any:
    """An int that data decides as a size; anything else as it is.

    The call raises ValueError where it is negative.  Where no bound of it is known it is one for which the call has
    memory: a call that has too little says so, and is repeated with more (`jit`).
    """
    trace = current()
    if trace is None or not isinstance(x, Tensor) or x.ndim or not x.element.is_integer:
        return x
    count = cast(x, DTYPES["i64"])
    count = apply("require", count, apply("less_equal", 0, count), text="negative dimensions are not allowed")
    count = apply("cwise_max", count, 0)
    most = _bound_of(trace, x.value)
    if most is None:
        if not trace.has_rooms:
            raise OpError(
                "a size that values decide, of which no bound is known", "take it as an int argument", "TX0252"
            )
        most = trace.room()
        fits = apply("less_equal", count, symint(most))
        count = apply("require", count, fits, text=most.text, error=ROOM)
    return bind(trace, apply("cwise_min", count, symint(most)), most)


def _bound_of(trace: Trace, v: Value) -> Dim | None:
    """What a run-time int is at most, as its expression shows; None where it does not."""
    node = v.node
    if node.op is None or node.regions:
        return None
    name, operands = node.op.name, node.operands
    if name == "constant":
        return dim(max(0, int(node.attrs["value"])))
    if name == "dim":
        return trace.table.upper(maximum(0, node.attrs["expr"]))
    if name == "sum":
        (counted,) = operands
        while counted.node.op is OPS["cast"]:
            (counted,) = counted.node.operands
        return product(counted.type.dims) if counted.type.dtype.kind == "bool" else None
    if name in ("cast", "require", "stored"):
        return _bound_of(trace, operands[0])
    if name in ("argmax", "argmin"):
        return product(operands[0].type.dims)
    if name in ("add", "cwise_min_propagate", "cwise_min", "select"):
        found = [_bound_of(trace, o) for o in operands[-2:]]
        if name.startswith("cwise_min"):
            return next((d for d in found if d is not None), None)
        if found[0] is None or found[1] is None:
            return None
        return found[0] + found[1] if name == "add" else maximum(found[0], found[1])
    return None


def quotient(trace: Trace, size: Dim, by: Dim) -> Dim:
    """How often one size goes into another one, where values decide it; of nothing never."""
    width = apply("cwise_max", as_tensor(symint(by)), 1)
    return as_dim(bind(trace, apply("floor_divide", as_tensor(symint(size)), width), largest(trace, size)))


def closed(trace: Trace, block: Block, values: Sequence[Value]) -> list[Value]:
    """What an open block hands on, once the regions that its rest became, from some place on, have ended."""
    values = list(values)
    #: What values that left a region were in it.
    origin: dict[Value, Value] = {}
    while trace.block is not block:
        binding = trace.bindings[trace.block]
        inner = list(dict.fromkeys(v for v in values if v.node.block is binding.block))
        now = binding.close(trace, inner, origin)
        origin |= {after: origin.get(v, v) for v, after in now.items()}
        values = [now.get(v, v) for v in values]
    return values


def _needs(node: Node, binding: Binding) -> bool:
    """Whether a node, or one inside it, speaks of a size or uses the value that it has."""
    if binding.block.args[0] in node.operands or any(map(binding.is_in, (r.type.dims for r in node.results))):
        return True
    return any(map(binding.is_in, node.attrs.values())) or any(
        _needs(inner, binding) for region in node.regions for inner in region.nodes()
    )


def met(a: Dim, b: Dim) -> Dim | None:
    """The size of two broadcast dims of which values decide one; None where they decide neither.

    As NumPy has it: the call raises ValueError where they differ and neither is 1.
    """
    trace = current()
    if trace is None or not (trace.is_bound(a) or trace.is_bound(b)):
        return None
    x, y = (as_tensor(symint(d)) for d in (a, b))
    either = apply("logical_or", apply("equal", x, 1), apply("equal", y, 1))
    fits = apply("logical_or", apply("equal", x, y), either)
    size = apply("select", apply("equal", x, 1), y, x)
    size = apply("require", size, fits, text="operands could not be broadcast together: their sizes differ")
    most = [largest(trace, d) for d in (a, b)]
    return as_dim(bind(trace, size, maximum(*most)))


def repeated(t: Tensor, dims: Sequence[Dim]) -> Tensor:
    """`t` at sizes of its own or that `met` gave: dims that are 1 in the call repeat their element."""
    trace = current()
    if trace is None or not trace.bound:
        return t
    for axis, (have, want) in enumerate(zip(t.dims, dims)):
        if have.const == 1 or trace.table.resolve(have) is want or not (trace.is_bound(have) or trace.is_bound(want)):
            continue
        # A read outside takes the nearest element.
        at = Tensor(emit(OPS["iota"], (), {"extent": want, "dtype": DTYPES["i64"]})[0])
        t = apply("take", t, at, axis=axis, mode=None)
    return t


def stored(
    source: Tensor, dims: Sequence[Dim], text: str, ones: bool = True, error: str = "ValueError"
) -> Tensor:  # fmt: skip
    """What is stored into a place of these dims, at its sizes where values decide them.

    The call raises the error, of this `text`, where a size is another one, and not 1 (with `ones`).
    """
    for axis, have, want in _differing(source, dims):
        x, y = (as_tensor(symint(d)) for d in (have, want))
        fits = apply("equal", x, y)
        if ones:
            fits = apply("logical_or", fits, apply("equal", x, 1))
        # A read outside takes the nearest element.
        at = apply("require", _places(want), fits, text=text, error=error)
        source = apply("take", source, at, axis=axis, mode=None)
    return source


def resized(source: Tensor, dims: Sequence[Dim]) -> Tensor:
    """Its elements at the sizes of a place where they may not go, which nobody reads if these are other ones."""
    for axis, _, want in _differing(source, dims):
        source = apply("take", source, _places(want), axis=axis, mode=None)
    return source


def _differing(source: Tensor, dims: Sequence[Dim]) -> list[tuple[int, Dim, Dim]]:
    """The axes whose size values decide, here or there, with both sizes."""
    trace = current()
    if trace is None or not trace.bound:
        return []
    sizes = [(trace.table.resolve(a), trace.table.resolve(b)) for a, b in zip(source.dims, dims[-source.ndim :])]
    return [
        (axis, have, want)
        for axis, (have, want) in enumerate(sizes)
        if have is not want and have.const != 1 and (trace.is_bound(have) or trace.is_bound(want))
    ]


def _places(extent: Dim) -> Tensor:
    return Tensor(emit(OPS["iota"], (), {"extent": extent, "dtype": DTYPES["i64"]})[0])


def as_long(a: Tensor, i: int, b: Tensor, j: int, text: str, error: str = "ValueError") -> tuple[Tensor, Tensor]:
    """Two tensors whose dims `i` and `j` have one size that values decide; a call with others raises the error."""
    trace = current()
    first, second = a.dims[i], b.dims[j]
    if trace is None or first is second or not (trace.is_bound(first) or trace.is_bound(second)):
        return a, b
    x, y = (as_tensor(symint(d)) for d in (first, second))
    # The smaller one is there in both, whatever the check says.
    size = apply("require", apply("cwise_min", x, y), apply("equal", x, y), text=text, error=error)
    known = as_dim(bind(trace, size, minimum(*(largest(trace, d) for d in (first, second)))))
    return _begin(a, i, known), _begin(b, j, known)


def _begin(t: Tensor, axis: int, size: Dim) -> Tensor:
    dims = (*t.dims[:axis], size, *t.dims[axis + 1 :])
    return Tensor(apply("slice", t, offsets=(dim(0),) * t.ndim, extents=dims).value, layout=t.layout)


#: Two masks are compared as expressions up to this many nodes.
_NODES = 256


def same_expression(a: Value, b: Value) -> bool:
    """Whether two values are the same expression of the same values."""
    seen: dict[tuple[Value, Value], bool] = {}

    def same(v: Value, w: Value) -> bool:
        if v is w:
            return True
        if (v, w) not in seen:
            seen[v, w] = False  # a pair met again on the way to itself: no
            m, n = v.node, w.node
            alike = m.op is not None and m.op is n.op and not m.regions and v.index == w.index
            alike = alike and (m.attrs == n.attrs or resolved_attrs(m.attrs) == resolved_attrs(n.attrs))
            known = alike and len(m.operands) == len(n.operands) and len(seen) < _NODES
            seen[v, w] = known and all(same(x, y) for x, y in zip(m.operands, n.operands))
        return seen[v, w]

    return same(a, b)


def known_places(trace: Trace, mask: Value) -> Value | None:
    """The positions of a mask's true elements, where they were computed for the same one before and are known here."""
    for other, found in trace.places:
        if found.node.block in trace.blocks and same_expression(mask, other):
            return found
    return None


def leaves(kind: TensorType) -> OpError:
    return OpError(
        f"a value of type {kind}, whose size is known only at run time, leaves the loop or branch that made it",
        "store what follows from it into an array that is made before, or return it outside of loops and branches",
        "TX0252",
    )


def empty(kind: TensorType) -> Tensor:
    """Memory that nothing wrote yet."""
    return Tensor(emit(Empty, (), {"dtype": kind.dtype, "dims": kind.dims}, [kind])[0], boxed=True)


def largest(trace: Trace, d: Dim) -> Dim:
    """The largest that a size can be; OpError where no bound is known."""
    most = trace.table.upper(d)
    if most is None:
        raise OpError(f"no bound is known of the size {d} of a result", "return a copy of known size", "TX0252")
    return most


def given_out(trace: Trace, x: Tensor) -> tuple[Tensor, list[Tensor]]:
    """A result of sizes that values decide: its elements, packed, at the begin of enough memory, and its sizes."""
    dims = x.dims
    count = product(dims)
    room = empty(tensor_type(x.element, (product([largest(trace, d) for d in dims]),)))
    flat = apply("reshape", x, dims=(count,))
    begin = IndexMap((count,), (iterator(0),))
    (filled,) = emit(OPS["insert"], (room.value, flat.value), {"map": begin})
    return Tensor(filled), [as_tensor(symint(d)) for d in dims]
