"""What the traced function returns: outputs of its graph, and the structure in which callers get them.

NumPy's results share memory with the arguments and with each other where they are views.  An array of the function's
own is an output.  A view of an argument, or of an array that the caller has, is none: it is an index map on memory that
is there already, and the call makes it from that array, with sizes, strides and offset by the call's symbols.  Where
several results share an array that the function made, the output is the vector of its elements in their order in
memory, and each of these results is a view of that.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ....dialects.dims.dims import Dim, Sym, dim, packed_strides
from ....dialects.registry import OPS, OpError, View
from ...call.made_objects import MadeOutput, Making, NotMade, deque_of, making_of, nested, range_of
from ...call.signature import (
    BoxedOutput,
    ChainedOutput,
    ColumnMajorOutput,
    EitherOutput,
    GivenOutput,
    IntOutput,
    ListOutput,
    Literal,
    MixedOutput,
    NumberOutput,
    NumbersOutput,
    SizedOutput,
    ViewOutput,
    ZippedOutput,
    is_named,
    like,
)
from ...diagnostics import TxcError, user_loc
from ..indexing.data_dependent_sizes import given_out
from ..state.alternatives.mixed_numbers import MixedNumber
from ..state.alternatives.one_of import Method, OneOf
from ..state.containers.growing_lists import GrowingList, Records, Stack
from ..state.containers.staged_deques import StagedDeque
from ..state.containers.staged_dicts import StagedDict
from ..tensor.apply import as_tensor
from ..tensor.promotion import fits
from ..tensor.tensor import Tensor
from ..tensor.views.composite_views import BitsView, ComplexPartView, ConcatView, IndexedView, Perhaps, in_scope, roots
from ..tensor.views.strides import Strides, strides_of, viewed_strides
from ..trace.graph import Value
from ..trace.symint import SymInt
from .iteration.iterables import StagedRange
from .rewriting.break_lowering import GENERATED_PREFIX

if TYPE_CHECKING:
    from ..trace.trace import Trace

__all__ = ["Returned"]


class Returned:
    """``structure(result)`` fills `outputs` and `aliases`, which are as in `graph.Graph`."""

    def __init__(self, trace: Trace, declared: bool, views: bool):
        self.outputs: list[Value] = []
        self.aliases: dict[int, int] = {}
        self._trace, self._declared, self._shares = trace, declared, views
        self._inputs = {t: i for i, t in trace.tensors.items() if t not in trace.made_here}
        #: Tensors and what became of them, by identity: a result that is there twice is one object.
        self._known: dict[int, tuple[Tensor, Any]] = {}
        #: The arrays of the function that several results share, with the number of the output, once there is one.
        self._shared: dict[Tensor, int | None] = {}
        self._views = 0
        #: Objects of Python's by identity, with their structures, and those whose parts are being looked at.
        self._objects: dict[int, tuple[Any, MadeOutput]] = {}
        self._open: set[int] = set()

    def structure(self, result: Any) -> Any:
        """The structure of the returned value."""
        if self._shares:
            self._shared = dict.fromkeys(self._shared_roots(result))
        return self._place(result)

    def _place(self, x: Any) -> Any:
        if isinstance(x, SymInt) and self._shares and not self._trace.is_bound(x.dim) and not fits(x.dim):
            self._views += 1
            return IntOutput.of(self._views - 1, str(self._trace.table.resolve(x.dim)))
        if isinstance(x, (SymInt, np.ndarray)):
            x = as_tensor(x)
        if isinstance(x, Tensor):
            if id(x) not in self._known:
                self._known[id(x)] = x, self._tensor(x)
            return self._known[id(x)][1]
        if isinstance(x, OneOf):
            return self._either(x)
        if isinstance(x, StagedDict) and x.missing:
            return self._place(x.variants())
        if type(x) in (dict, StagedDict):
            return {k: self._place(v) for k, v in x.items()}
        if isinstance(x, StagedDeque):
            return self._object(x)
        if isinstance(x, GrowingList) and x.stacked:
            return self._items(x)
        if isinstance(x, (tuple, list)) and (type(x) in (tuple, list) or is_named(x) or isinstance(x, GrowingList)):
            return like(x, [self._place(v) for v in x])
        return self._object(x)

    def _object(self, x: Any) -> Any:
        """An object of Python's: one from outside is itself, one that the function made is made anew in each call."""
        captures = self._trace.captures
        if x is None or (captures is not None and captures.is_outside(x)):
            return None if x is None else Literal(x)
        if (made := making_of_result(x)) is None:
            return Literal(x)
        if id(x) in self._open:
            raise _refused(
                "an object is returned that refers to itself", "return its parts, and make it of them outside"
            )
        if id(x) not in self._objects:
            self._open.add(id(x))
            self._objects[id(x)] = x, MadeOutput([self._place(part) for part in made.parts], made.make)
            self._open.discard(id(x))
        return self._objects[id(x)][1]

    def _either(self, x: OneOf) -> EitherOutput:
        """What a value of one kind or another is."""
        if self._declared and isinstance(x, MixedNumber):
            return self._place(x.common)
        if self._declared or isinstance(x, Method):
            raise x.error(user_loc())
        return EitherOutput([self._place(v) for v, _ in x.options], [self._output(c.value) for _, c in x.options])

    def _items(self, x: GrowingList) -> Any:
        """A list of as many items as the call says."""
        runs = [*x.runs()]
        if len(runs) > 1:
            return ChainedOutput([self._place(run) for run in runs])
        (part,) = x.parts()
        if (found := x.records()) is not None:
            form, columns = found
            return ZippedOutput([self._place(c) for c in columns], list if isinstance(form, list) else tuple)
        if isinstance(part, Records):
            return self._mixed(part)
        if part.depth > 1 and not part.weak:
            rows = GrowingList()
            rows.add(Stack(x.whole(), ""))
            return MadeOutput([self._place(rows)], partial(nested, part.depth))
        whole, kind = x.whole(), NumbersOutput if part.weak else ListOutput
        return self._sized(whole, kind.__name__) if self._is_sized(whole) else kind(self._output(whole.value))

    def _mixed(self, x: Records) -> MixedOutput:
        """Numbers of one type or another."""
        columns = [GrowingList(), GrowingList()]
        for made, column in zip(columns, x.columns):
            made.add(Stack(column.room, "float", present=column.present))
        # A NumPy bool has the name of Python's: its type code stands for it.
        names = [kind.weak or kind.element.numpy.name.replace("bool", "?") for kind in x.form.spec.kinds]
        return MixedOutput([self._place(column) for column in columns], names)

    def _is_sized(self, x: Tensor) -> bool:
        """Whether values decide a size of it."""
        return bool(self._trace.bound) and any(map(self._trace.is_bound, x.dims))

    def _sized(self, x: Tensor, items: str = "") -> SizedOutput:
        room, sizes = given_out(self._trace, x)
        number = self._output(room.value)
        self.outputs.extend(n.value for n in sizes)
        return SizedOutput(number, len(sizes), items)

    def _tensor(self, x: Tensor) -> Any:
        trace, given = self._trace, self._inputs.get(x)
        if self._is_sized(x):
            return self._sized(x)
        if self._shares and given is None:
            if x in trace.shared_names:
                return GivenOutput(trace.shared_names[x])
            found = self._view(x)
            if found is not None:
                return found
        if x.layout == "col" and x.ndim > 1 and not self._declared:
            return ColumnMajorOutput(self._output(x.swap_layout().shuffle(tuple(range(x.ndim))[::-1]).value))
        number = self._output(x.value)
        if given is not None and trace.inputs[given].kind == "tensor":
            self.aliases[number] = given
        if self._declared:
            return number
        if x.ndim:
            return ColumnMajorOutput(number) if x.layout == "col" else number
        if (x.boxed or x.is_view) and self._shares:
            return BoxedOutput(number)
        return NumberOutput(number) if x.weak else number

    def _output(self, value: Value) -> int:
        if not in_scope(value):
            text = "a value made inside a loop or branch is returned"
            raise OpError(text, "assign it to a variable that is made before, as a copy()", "TX0204")
        self.outputs.append(value)
        return len(self.outputs) - 1

    def _shared_roots(self, result: Any) -> Iterator[Tensor]:
        """The arrays of the function in the memory of which several results may be."""
        seen: dict[Tensor, Tensor] = {}
        for x in _tensors(result):
            for root in roots(x):
                if root not in self._inputs and seen.setdefault(root, x) is not x:
                    yield root

    # Views

    def _view(self, x: Tensor) -> ViewOutput | None:
        """The result as a view of an array that there is; None where it has memory of its own, which is then copied."""
        if not any(root in self._inputs or root in self._shared for root in roots(x)):
            return None
        way = _way(x)
        if way is None:
            return None
        root = way.root
        if root in self._inputs:
            position = sum(i.kind != "int" for i in self._trace.inputs[: self._inputs[root]])
            if self._trace.inputs[self._inputs[root]].kind != "tensor":
                return None
            base, strides = ("input", position), strides_of(root)
        elif root in self._shared:
            base, strides = self._vector(root)
        else:
            return None
        return self._made(x, way, base, strides)

    def _vector(self, root: Tensor) -> tuple[tuple[str, int], Strides]:
        """The output that has the elements of an array in their order in memory, and the strides of the array there."""
        dims = root.type.dims
        columns = packed_strides(dims, range(len(dims))[::-1])
        strides = columns if strides_of(root) == columns else packed_strides(dims)
        number = self._shared[root]
        if number is None:
            ordered = root.swap_layout() if root.layout == "col" else root
            if strides == columns:
                ordered = ordered.T
            number = self._shared[root] = self._output(ordered.reshape(-1).value)
        return ("output", number), strides

    def _made(self, x: Tensor, way: _Way, base: tuple[str, int], strides: Strides | None) -> ViewOutput | None:
        """A view; None where no sizes of the call say where its elements are; OpError where it is unknown if any do."""
        item, offset = way.root.element.bytes, dim(0)
        begins = tuple(dim(0) for _ in x.type.dims)
        for step in way.steps:
            begins = step.source_of(begins)
        if strides is not None:
            for at, stride in zip(begins, strides):
                offset = offset + at * stride * item
        for step in reversed(way.steps):
            offset = offset + step.offset
            strides = None if strides is None else step.strides(strides, self._trace)
            if strides is None and not step.is_reshape:
                return None
        if strides is None:
            text = f"the strides of a result {x.user_type}, a view, are known only at run time"
            raise OpError(text, "return a copy of it, x.copy()", "TX0223")
        if any(map(self._trace.is_bound, (offset, *strides))):
            return None  # where it begins is known only at run time
        element, dims = x.element, x.type.dims
        steps = tuple(stride * element.bytes for stride in strides)
        column = x.layout == "col"
        if column:
            dims, steps = dims[::-1], steps[::-1]
        self._views += 1
        return ViewOutput(
            self._views - 1,
            base,
            element.numpy.name,
            tuple(map(str, dims)),
            tuple(map(str, steps)),
            str(offset),
            way.read_only,
            column and x.ndim > 1,
        )


def _tensors(x: Any, around: tuple[int, ...] = ()) -> Iterator[Tensor]:
    """The tensors in a result; `around` are the identities of what it is in."""
    if isinstance(x, Tensor):
        yield x
    elif isinstance(x, OneOf):
        for value, _ in x.options:
            yield from _tensors(value, around)
    elif isinstance(x, GrowingList) and x.stacked:
        return
    elif type(x) in (dict, StagedDict, list) or isinstance(x, (tuple, GrowingList)):
        for part in dict.values(x) if isinstance(x, dict) else x:
            yield from _tensors(part, around)
    elif id(x) not in around and (made := making_of_result(x)) is not None:
        yield from _tensors(tuple(made.parts), (*around, id(x)))


def making_of_result(x: Any) -> Making | None:
    """`making_of` a part of a result, with what to write where nobody knows it."""
    if isinstance(x, types.FunctionType) and GENERATED_PREFIX in x.__qualname__:
        what = "a function is returned that exists only while the function around it is compiled"
        raise _refused(what, "return what it computes, or its arguments")
    if isinstance(x, StagedDeque):
        items = GrowingList()
        items.set_parts(x.parts())
        return Making([items], partial(deque_of, x.maxlen))
    if isinstance(x, StagedRange):
        return Making([x.start, x.stop, x.step], range_of)
    try:
        return making_of(x)
    except NotMade:
        kind = type(x).__name__
        raise _refused(f"a {kind} is returned, which is more than its attributes", "return its parts") from None


def _refused(text: str, hint: str) -> TxcError:
    return TxcError(text, user_loc(), hint, "TX0322")


class _Viewed(NamedTuple):
    """A step from a tensor to the one of which it is a view by an op."""

    parent: Tensor
    op: type[View]
    attrs: dict[str, Any]
    offset: Dim = dim(0)

    @property
    def is_reshape(self) -> bool:
        """Whether the strides of a call decide if there is such a view; of other ops, tiles have none in any call."""
        return self.op is OPS["reshape"]

    def source_of(self, point: Sequence[Dim]) -> tuple[Dim, ...]:
        """The element of the parent that an element of the view is."""
        at = {Sym(f"d{i}"): p for i, p in enumerate(point)}
        return tuple(e.substitute(at) for e in self.op.view(self.parent.type, self.attrs).exprs)

    def strides(self, parents: Strides, trace: Trace) -> Strides | None:
        return viewed_strides(self.op, self.parent.type, self.attrs, parents, trace.table.decide)


class _OfComplex(NamedTuple):
    """A step from the real or imaginary part of a complex tensor to that."""

    offset: Dim
    is_reshape = False

    def source_of(self, point: Sequence[Dim]) -> tuple[Dim, ...]:
        return tuple(point)

    def strides(self, parents: Strides, trace: Trace) -> Strides:
        return tuple(2 * s for s in parents)


class _SameBits:
    """A step from integers to those of another type in the same memory."""

    offset = dim(0)
    is_reshape = False

    def source_of(self, point: Sequence[Dim]) -> tuple[Dim, ...]:
        return tuple(point)

    def strides(self, parents: Strides, trace: Trace) -> Strides:
        return parents


class _Way(NamedTuple):
    """From a tensor to the one that has the memory."""

    root: Tensor
    steps: list[_Viewed | _OfComplex | _SameBits]
    read_only: bool


def _way(t: Tensor) -> _Way | None:
    """The way from a tensor to where its memory is; None where its place is known only at run time."""
    steps: list[_Viewed | _OfComplex | _SameBits] = []
    read_only = False
    while True:
        read_only = read_only or bool(t.frozen)
        if t._parent is not None:
            if t._op is not None:
                assert issubclass(t._op, View)
                if t._op.view(t._parent.type, t.view_attrs).guards:
                    return None
                read_only = read_only or not t._op.writable
                steps.append(_Viewed(t._parent, t._op, t.view_attrs))
            t = t._parent
        elif isinstance(t, ComplexPartView):
            steps.append(_OfComplex(dim(t.element.bytes if t.which == "imag" else 0)))
            t = t.whole
        elif isinstance(t, BitsView):
            steps.append(_SameBits())
            t = t.whole
        elif isinstance(t, Perhaps) and t.shares_memory():
            t = t.shared
        elif isinstance(t, (IndexedView, ConcatView)):
            return None
        else:
            return _Way(t, steps, read_only)
