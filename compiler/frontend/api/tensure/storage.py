"""`Tensure`: a tensor as the Tensure document has it, a view of data that other tensors may view as well.

The data is a `Storage`: a value of the lazy graph.  A mutation replaces that value, so an expression that read it
before keeps what it read, and a chain of mutations is one expression, which is computed, as one fused kernel where it
can be, when elements are asked for.  Memory that nothing else can refer to is then updated in place.

A `Tensure` is a name for a view, never the view that others hang on: `permute_` can make it another one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .....dialects.registry import Op
from ....diagnostics import located
from ...lazy.deferred import array_of_leaf, force
from ...lazy.evaluate import evaluate_value, run_in_place
from ...tensor.leaves import leaf
from ...tensor.memory.storage import strided
from ...tensor.tensor import Tensor
from ...trace.context import current
from ...trace.graph import Value
from ...trace.symint import symint

__all__ = ["LONGEST", "Storage", "Tensure", "all_of", "from_array", "storage_of", "wrapped"]

#: An expression of so many operations is computed before another one reads it, which bounds what is compiled.
LONGEST = 32
#: An array prints its elements up to so many of them, as the document's library does.
PRINTED = 500

_settling = threading.RLock()


class Storage(Tensor):
    """The data that tensors view: a value, which stores replace, and the memory it was last computed into."""

    __slots__ = ("_memory_value", "depth", "shared")

    def __init__(self, value: Value, depth: int = 0):
        # As `Tensor(value, boxed=True)` outside a trace.
        self.memory = self._parent = self._home = self._held = None
        self.frozen, self._dependents = "", ()
        self._value, self.layout, self.weak, self.boxed = value, "row", "", True
        #: The leaf for memory of its own, which later values of this storage may be computed into.
        self._memory_value: Value | None = None
        #: Whether something else may refer to the value, or to that memory.
        self.shared = array_of_leaf(value) is not None
        #: How many operations there are between memory and its value, at most.
        self.depth = depth

    @property
    def value(self) -> Value:
        self.shared = True
        return force(self._value)

    @contextmanager
    def updating(self) -> Iterator[None]:
        """What is read of it inside goes into nothing but its own next value."""
        before = self.shared
        yield
        self.shared = before

    @property
    def present(self) -> Value:
        """Its value, to be noted and not to be read."""
        return self._value

    def set(self, value: Value, depth: int) -> None:
        """Have another value, that what was read inside `updating` went into; so long is its expression."""
        self._value, self.depth = value, depth

    def read(self) -> Value:
        """Its value, for an expression that says with `shared` or `set` what becomes of it.

        What a second one reads, or what is long, is computed first.  Not a literal: as a part of the program it can
        simplify what reads it.
        """
        value = self._value
        if value.operands and (self.shared or self.depth >= LONGEST):
            self.settle()
            value = self._value
        return value

    def settle(self) -> np.ndarray:
        """Its elements, computed where they are not in memory yet."""
        with _settling:
            found = array_of_leaf(self._value)
            if found is not None:
                return found
            own = self._memory_value
            if own is not None and not self.shared:
                run_in_place(self._value, own)
                array = own.node.leaf
            else:
                array = evaluate_value(self._value)
                if not array.flags.writeable:
                    array = array.copy()
            self._hold(array)
            return array

    def writable(self) -> np.ndarray:
        """Its elements in memory that nothing else refers to."""
        array = self.settle()
        if self.shared or self._memory_value is None:
            array = array.copy()
            self._hold(array)
        return array

    def export(self) -> np.ndarray:
        """Its elements, for one who keeps the array: from now on it is not written any more."""
        array = self.settle()
        self.shared = True
        return array

    def _hold(self, array: np.ndarray) -> None:
        self._value = self._memory_value = leaf(array, self._value.type)
        self.shared, self.depth = False, 0


class Tensure(Tensor):
    """A tensor of `txc.tensure`: f32 or f64, of any rank; made by `array`, `zeros` and kin, never by its class.

    Arrays made of it (``np.asarray(t)``) are read-only and keep their elements when it is mutated.  It prints as the
    document's tensors do.
    """

    __slots__ = ()

    def _view(self, op: type[Op] | None, attrs: dict[str, Any]) -> Tensor:
        assert self._parent is not None
        return _named(self._parent if op is None else self._parent._view(op, attrs))

    def renamed(self, view: Tensure) -> None:
        """Be another view of the same data from now on."""
        assert view._parent is not None
        view._parent._viewing(self, None, {})

    @classmethod
    def from_array(cls, array: np.ndarray, layout: str = "row", is_shared: bool = False) -> Tensor:
        """As a tensor's; data that others have too is this one's own from its first store on."""
        if layout != "row":
            return super().from_array(array, layout, is_shared)
        return _named(Storage(leaf(array)))

    def _elements(self) -> np.ndarray:
        owner, index = (self._parent, None) if type(self._parent) is Storage else self.owner()
        assert isinstance(owner, Storage)
        array = owner.export()
        found = array if index is None else strided(array, index)
        found = evaluate_value(self.value) if found is None else found.view()
        found.setflags(write=False)
        return found if self.layout == "row" else found.T

    _memory = Tensor._array

    def __reduce__(self) -> Any:
        with located():
            return Tensure.from_array, (self._array("pickle"), self.layout)

    def __copy__(self) -> Tensor:
        return Tensure.from_array(self._array("copy"), self.layout)

    def __repr__(self) -> str:
        if current() is not None:
            return super().__repr__()
        with located():
            shape = "[" + " ".join(map(str, self.shape)) + "]"
            if symint(self.type.size) > PRINTED:
                return f"#Tensure\nLarge array of shape {shape}"
            return f"#Tensure\n{_text(self._array('printing').tolist(), 0)}"

    __str__ = __repr__
    __hash__ = Tensor.__hash__


def _text(elements: Any, depth: int) -> str:
    """Nested lists as the document prints them: four decimals in ten places, a zero as 0."""
    if not isinstance(elements, list):
        return f"{'0' if elements == 0 else f'{elements:.4f}':>10}"
    if any(isinstance(e, list) for e in elements):
        return "[" + (",\n " + " " * depth).join(_text(e, depth + 1) for e in elements) + "]"
    return "[" + ",".join(_text(e, depth) for e in elements) + "]"


def _named(view: Tensor) -> Tensure:
    # As `view._viewing(made, None, {})` outside a trace.
    made: Tensure = Tensor.__new__(Tensure)
    made._parent, made.layout = view, view.layout
    made._op = made.memory = None
    made.weak, made.boxed, made.frozen = "", False, ""
    return made


def wrapped(result: Tensor, depth: int = 0) -> Tensor:
    """A result as these functions give it: new data; inside a traced function a tensor of the trace."""
    if current() is not None:
        return Tensor(result.value, layout=result.layout, boxed=True)
    made = from_array(result.deferred_value, depth)
    return made if result.layout == "row" else made.swap_layout()


def from_array(value: Value, depth: int) -> Tensure:
    """A tensor of new data, whose expression is so long."""
    return _named(Storage(value, depth))


def all_of(x: Any) -> Storage | None:
    """The data that `x` is all of, as it lies there; None for views of a part, or in another order, and all else."""
    if type(x) is not Tensure or x._op is not None or x.layout != "row":
        return None
    return x._parent if type(x._parent) is Storage and x._parent.memory is None else None


def storage_of(x: Tensor) -> Storage | None:
    """The data that a tensor views; None for a tensor of a trace."""
    owner = x.owner()[0]
    return owner if isinstance(owner, Storage) else None
