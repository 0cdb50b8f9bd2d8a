"""`Tensor`: an expression.  Lazy outside a trace (its leaves are arrays), a part of the traced function inside one.

A tensor is either the owner of a value, which a store replaces by an `insert` node, or a view: a parent tensor and a
view op.  Reading a view applies the op to the parent's present value, writing one stores through to the owner, so views
alias as NumPy's do although every value in the graph is immutable.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ....dialects.dims.dims import Dim, packed_strides
from ....dialects.dims.index_map import IndexMap
from ....dialects.registry import Op, OpError, View
from ....dialects.types import DType, TensorType
from ...diagnostics import located, user_loc
from ..lazy.deferred import DeferredValue
from ..refusals import instead
from ..trace.context import current, table
from ..trace.emit import emit, resolved_attrs
from ..trace.graph import Block, Value
from ..trace.symint import SymInt, shape_of, symint
from ..trace.undefined import Unusable
from .column_major import reverse_dims
from .host_protocols import Elements
from .leaves import leaf
from .memory.allocation import allocated
from .memory.storage import update
from .operators import Operators, computes_itself
from .printing.tensor_format import text
from .views.strides import held_strides

__all__ = ["Tensor", "restored"]


class Tensor(Operators, Elements):
    """A tensor expression of a dtype and dims; `layout` says how the user counts them (see `mirror`).

    ``Tensor("f32", (3, 4), layout="col")`` has memory of its own, whose content is not initialised; stores into it
    happen at once.
    """

    #: The module of the functions that make tensors of tensors: it needs the class, and puts itself here.
    functions: ClassVar[Any]
    #: Two of them that operators ask for without a way round: `apply.apply` and `op_templates.lookup_binary`.
    apply: ClassVar[Callable[..., Any]]
    lookup_binary: ClassVar[Callable[[str, Any, Any], Tensor | None]]

    __slots__ = (
        "__weakref__",
        "_attrs",
        "_cached",
        "_dependents",
        "_held",
        "_home",
        "_loc",
        "_op",
        "_parent",
        "_type",
        "_value",
        "boxed",
        "frozen",
        "layout",
        "memory",
        "weak",
    )

    def __init__(
        self, value: Value | Any, sizes: Sequence[int] | int = (), *, layout: str = "row", weak: str = "",
        boxed: bool = False,
    ):  # fmt: skip
        #: Where its elements are, in graph dims: stores go there.  None for what is not computed yet, and for views.
        self.memory: np.ndarray | None = None
        self._parent: Tensor | None = None
        if not isinstance(value, Value):
            self.memory, boxed = allocated(value, sizes, layout), True
            value = leaf(self.memory)
        #: What it holds, of an owner; a view has none of its own.
        self._value: Value = value
        #: The block in which it came to be: stores into it are seen there and in the blocks inside.
        trace = current()
        self._home: Block | None = None if trace is None else trace.block
        #: Tells the strides of its storage as NumPy has it (see `views/strides.py`); None: row-major.
        self._held: Callable[[], tuple[Dim, ...] | None] | None = (
            None if trace is None else partial(held_strides, value)
        )
        #: What may be views of it: a store settles whether they are.
        self._dependents: tuple[weakref.ref[Any], ...] = ()
        #: What NumPy calls the function whose result it is, where that cannot be stored into.
        self.frozen = ""
        self.layout, self.weak = layout, weak
        #: A rank-0 tensor that is an array and not a (immutable) NumPy scalar.
        self.boxed = boxed

    @staticmethod
    def of_value(value: Value, layout: str, weak: str) -> Tensor:
        """As `Tensor(value, layout=layout, weak=weak)` outside a trace, where nothing has to be asked."""
        made = Tensor.__new__(Tensor)
        made._value, made.layout, made.weak = value, layout, weak
        made.memory = made._parent = made._home = made._held = None
        made.boxed = False
        made.frozen, made._dependents = "", ()
        return made

    @staticmethod
    def view_of(parent: Tensor, op: type[Op], attrs: dict[str, Any]) -> Tensor:
        """`op` (a `View`, parameters in the user's dims) on `parent`, sharing its storage."""
        if parent.layout == "col":
            attrs = reverse_dims(op, attrs, [parent])[0]
        return parent._view(op, attrs)

    def _view(self, op: type[Op] | None, attrs: dict[str, Any]) -> Tensor:
        """A view of it by `op`, parameters in graph dims; None: by no op, of all of it."""
        return self._viewing(Tensor.__new__(Tensor), op, attrs)

    def _viewing(self, made: Tensor, op: type[Op] | None, attrs: dict[str, Any]) -> Tensor:
        """Make `made` a view of this tensor."""
        made.layout, made.weak, made.boxed, made.memory = self.layout, "", False, None
        made._parent, made._op, made._attrs, made._cached = self, op, attrs, None
        made.frozen = ""
        if (trace := current()) is not None:
            trace.views.append(weakref.ref(made))
        if op is not None:
            made._loc, made._type = user_loc(), op.infer([self.type], attrs)[0]
        return made

    @classmethod
    def from_array(cls, array: np.ndarray, layout: str = "row", is_shared: bool = False) -> Tensor:
        """A lazy tensor of an array that a compiled function gave back, which was called with lazy tensors.

        Stores into one `is_shared` go to the array, which others have too.
        """
        elements = (array.T if layout == "col" else array).view()
        made = Tensor(leaf(elements), layout=layout, boxed=True)
        made.memory = elements if is_shared else None
        return made

    def attach_memory(self, array: np.ndarray) -> Tensor:
        """A tensor of its layout that lives in `array` (graph dims)."""
        made = Tensor(leaf(array), layout=self.layout, boxed=True)
        made.memory = array
        return made

    def snapshot(self) -> Tensor:
        """Its present value: later stores into it are not seen, those into memory are."""
        return Tensor(self.value, layout=self.layout, weak=self.weak, boxed=self.boxed)

    def set_memory(self, array: np.ndarray, known: TensorType | None = None) -> None:
        """Live in `array` (graph dims, of a type that may be known) from now on; it holds the elements already."""
        self._value, self.memory = leaf(array, known), array

    # What it is.

    @property
    def value(self) -> Value:
        """Its present value in the graph."""
        if self._parent is None:
            value = self._value
            if type(value) is DeferredValue:
                made = value.made()
                if self._value is value:  # which no other thread has replaced
                    self._value = made
                return made
            return value
        source = self._parent.value
        if self._op is None:
            return source
        trace = current()
        if self._cached is not None and self._cached[0] is source:
            block = self._cached[1].node.block
            if block is None or (trace is not None and block in trace.blocks):
                return self._cached[1]
        (result,) = emit(self._op, (source,), self.view_attrs, loc=self._loc)
        self._cached = (source, result)
        return result

    @property
    def view_attrs(self) -> dict[str, Any]:
        """The parameters of the op that makes it a view, with what is known of their dims since."""
        return self._attrs if current() is None else resolved_attrs(self._attrs)

    @property
    def deferred_value(self) -> Value:
        """`value`, perhaps `DeferredValue`: for who makes no node of it."""
        if type(self) is Tensor and self._parent is None:
            return self._value
        return self.value

    @property
    def type(self) -> TensorType:
        """Dtype and dims as the graph has them."""
        known = _typed(self)
        dims = table().resolve_all(known.dims)
        return known if dims is known.dims else known.with_dims(dims)

    @property
    def dims(self) -> tuple[Dim, ...]:
        """Its dims as the user counts them."""
        dims = table().resolve_all(_typed(self).dims)
        return dims[::-1] if self.layout == "col" else dims

    @property
    def user_type(self) -> TensorType:
        known = self.type
        return known.with_dims(known.dims[::-1]) if self.layout == "col" else known

    @property
    def element(self) -> DType:
        return _typed(self).dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.element.numpy

    @property
    def shape(self) -> tuple[int | SymInt, ...]:
        return shape_of(self.dims)

    @shape.setter
    def shape(self, new: Any) -> None:
        with located():
            self.functions.give_shape(self, new)

    @property
    def ndim(self) -> int:
        return len(_typed(self).dims)

    rank = ndim

    @property
    def size(self) -> int | SymInt:
        return symint(self.type.size)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        return self.size * self.itemsize

    @property
    def flat(self) -> Any:
        """Its elements in row-major order: what is read is a copy, what is stored goes to the tensor."""
        return self.functions.Flat(self)

    @flat.setter
    def flat(self, new: Any) -> None:
        self.flat[...] = new

    @property
    def T(self) -> Tensor:
        return self.transpose()

    @property
    def mT(self) -> Tensor:
        """Matrices transposed: the last two dims swapped."""
        with located():
            if self.ndim < 2:
                raise OpError(f"mT is of matrices, not of {self.user_type}", code="TX0103")
            return self.swapaxes(-1, -2)

    @property
    def real(self) -> Tensor:
        """The real part, which can be stored into; a real tensor itself."""
        return self._part("real") if self.element.is_complex else self

    def _part(self, which: str) -> Tensor:
        return self.functions.ComplexPartView(self, which) if self.ndim or self.boxed else self.apply(which, self)

    @real.setter
    def real(self, new: Any) -> None:
        self.real[...] = new

    @property
    def imag(self) -> Tensor:
        """The imaginary part, which can be stored into; zeros for a real tensor."""
        if self.element.is_complex:
            return self._part("imag")
        zeros = self.apply("imag", self)
        zeros.frozen, zeros.boxed = "imag of real numbers", self.boxed
        return zeros

    @imag.setter
    def imag(self, new: Any) -> None:
        if not self.element.is_complex:
            with located():
                raise OpError(f"{self.user_type} has no imaginary part to store into", code="TX0222")
        self.imag[...] = new

    def dimensions(self) -> tuple[int | SymInt, ...]:
        return self.shape

    def dimension(self, n: int) -> int | SymInt:
        return self.shape[n]

    def swap_layout(self) -> Tensor:
        """`swap_layout`: a view of all of it, its dims counted the other way round."""
        made = self._view(None, {})
        made.layout = "row" if self.layout == "col" else "col"
        return made

    @property
    def is_lazy(self) -> bool:
        """Whether it was made outside any trace."""
        root = self
        while root._parent is not None:
            root = root._parent
        return _node(root).block is None

    @property
    def is_view(self) -> bool:
        """Whether it shares the storage of another tensor."""
        return self._parent is not None

    @property
    def device(self) -> str:
        """Where its elements are, or will be."""
        return "cpu"

    # Storage.

    @property
    def reads_only(self) -> bool:
        """Whether it is a view that cannot be stored into."""
        seen: Tensor = self
        while seen._parent is not None:
            if seen.frozen or (seen._op is not None and not getattr(seen._op, "writable", False)):
                return True
            seen = seen._parent
        return bool(seen.frozen)

    @property
    def has_memory(self) -> bool:
        """Whether its elements are in memory, and can be stored there."""
        return not self.reads_only and self.owner()[0].memory is not None

    def owner(self) -> tuple[Tensor, IndexMap | None]:
        """The tensor that owns the storage, and the map from this one's (graph) dims to its; None: all of it."""
        if self.frozen:
            raise OpError(f"the result of {self.frozen} is read-only", "make a copy first", "TX0220")
        if self._parent is None:
            return self, None
        if self._op is None:
            return self._parent.owner()
        assert issubclass(self._op, View)
        if not self._op.writable:
            raise OpError(f"the result of {self._op.name} is read-only", "make a copy first", "TX0220")
        here = self._op.view(self._parent.type, self.view_attrs)
        owner, outer = self._parent.owner()
        return owner, here.simplified() if outer is None else outer.after(here)

    def store(self, new: Any, is_fresh: bool = False) -> None:
        """Replace all its elements: ``x[...] = new``, cast and broadcast as NumPy does.

        `is_fresh`: nobody else has `new`.
        """
        self.functions.store(self, new, is_fresh)

    def replace(self, after: Value, before: Value, through: Tensor) -> None:
        """Give an owner of storage another value than `before`, stored `through` it or a view of it."""
        if self.memory is not None:
            update(self, after, through)
            return
        trace = current()
        if trace is not None:
            for dependent in self._dependents:
                alive = dependent()
                if alive is not None:
                    alive.settle()
            trace.record_write(self, before, through)
            after = trace.stored(self, after, before)
        self._value = after

    def sources(self) -> Sequence[Tensor]:
        """The tensors that it follows from, whose stores it sees, where it has no storage."""
        return ()

    def own_strides(self) -> tuple[Dim, ...] | None:
        """As `strides.strides_of`, of what is no view."""
        return packed_strides(self.type.dims) if self._held is None else self._held()

    # Methods and operators.

    def __getattr__(self, name: str) -> Any:
        return self.functions.method(self, name)

    def __getitem__(self, key: Any) -> Any:
        if (found := _unusable_in(key)) is not None:
            return found.each(lambda v: self[_with(key, found, v)], self, key)
        with located():
            return self.functions.get(self, key)

    def __setitem__(self, key: Any, new: Any) -> None:
        if isinstance(new, Unusable):
            new.each(lambda v: self.__setitem__(key, v), self, key)
            return
        if (found := _unusable_in(key)) is not None:
            found.each(lambda v: self.__setitem__(_with(key, found, v), new), self, key, new)
            return
        with located():
            self.functions.put(self, key, new)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a tensor of rank 0")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))  # read when it is asked for: stores until then are seen

    def __bool__(self) -> bool:
        if current() is None:
            return bool(self._number("the truth of a tensor"))
        with located():
            raise OpError(
                "the truth of a tensor is known only when the compiled function runs",
                "use np.where(condition, a, b), or `if` inside a function under @txc.jit, which stages it",
                "TX0230",
            )

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """txc, which is a namespace of the Python array API standard; ValueError for a revision that it is not."""
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
            raise ValueError(f"txc has the array API 2025.12 and before, not {api_version!r}")
        return sys.modules[__name__.partition(".")[0]]

    def to_device(self, device: str, /, *, stream: Any = None) -> Tensor:
        """The tensor itself: tensors live on the CPU.  TxcError for other devices, and for streams."""
        with located():
            if device != "cpu" or stream is not None:
                what = f"stream={stream!r}" if device == "cpu" else repr(device)
                raise OpError(
                    f"tensors live on 'cpu', not on {what}", "with txc.device(…) says what computes", "TX0701"
                )
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(computes_itself(x) for x in inputs):  # with arrays of NumPy's: xarray takes `dims` for names
            return getattr(ufunc, method)(*(np.asarray(x) if isinstance(x, Tensor) else x for x in inputs), **kwargs)
        with located():
            return self.functions.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        with located():
            return self.functions.function(function, args, kwargs)

    def __reduce__(self) -> Any:
        """By value: it is computed, and the copy has memory of its own.  TxcError in a compiled function."""
        with located():
            return restored, (self._array("pickle"), self.layout, self.weak, self.boxed)

    def __copy__(self) -> Tensor:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self.__copy__()

    def __repr__(self) -> str:
        """Its elements as NumPy shows them; its type in a compiled function, and where much would be computed."""
        return self.functions.tensor_repr().as_text(self)

    def _repr_html_(self) -> str:
        return self.functions.tensor_repr().as_html(self)

    def __str__(self) -> str:
        """Its elements; in a function that is being compiled its type, which txc's own messages have."""
        return text(self, "plain") if current() is None else self._named()

    def __format__(self, spec: str) -> str:
        if current() is not None:
            return self._named()
        if not spec:
            return str(self)
        return self.functions.tensor_repr().formatted(self, spec)

    def _named(self) -> str:
        """Its type, for txc itself; OpError where the user's code asks for the text."""
        if not sys._getframe(2).f_globals.get("__name__", "").startswith("txc."):
            with located():
                asked = f"the text of a {self.user_type} is asked, whose value is known only when the function runs"
                raise OpError(asked, instead("str"), "TX0317")
        return repr(self)


def restored(array: np.ndarray, layout: str, weak: str, boxed: bool) -> Tensor:
    """A tensor of elements that were pickled: it lives in the array, where that can be written to."""
    made = Tensor.from_array(array, layout, is_shared=array.flags.writeable)
    made.weak, made.boxed = weak, boxed
    return made


def _unusable_in(key: Any) -> Unusable | None:
    """The part of a key that is one of several values, or none."""
    if isinstance(key, tuple):
        return next((part for part in key if isinstance(part, Unusable)), None)
    return key if isinstance(key, Unusable) else None


def _with(key: Any, part: Any, value: Any) -> Any:
    """A key with a value in the place of a part."""
    return tuple(value if p is part else p for p in key) if isinstance(key, tuple) else value


def _typed(t: Tensor) -> TensorType:
    """Its type as it was made."""
    while t._parent is not None:
        if t._op is not None:
            return t._type
        t = t._parent
    return t._value.type


def _node(t: Tensor) -> Any:
    return t._value.node
