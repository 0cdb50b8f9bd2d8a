"""What a call needs to know of a graph, without the graph: plain data that a file can hold and give back exactly.

Dims are texts here (`str` of a `Dim`, which `parse_dim` reads back), so that neither the dims nor the op registry are
imported where compiled code comes from the cache.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...runtime.check_errors import Check, Place

if TYPE_CHECKING:
    from ..frontend.trace.graph import Graph

__all__ = [
    "FIRST_ROOM", "ROOM", "BoxedOutput", "ChainedOutput", "ColumnMajorOutput", "EitherOutput", "GivenOutput",
    "InputSpec", "IntOutput", "ListOutput", "Literal", "MixedOutput", "NotSerializable", "NumberOutput",
    "NumbersOutput", "Signature", "SizedOutput", "ViewOutput", "ZippedOutput", "is_named", "like", "plain_structure",
    "structure_of_plain",
]  # fmt: skip


class NotSerializable(ValueError):
    """A value that has no plain form; the text says which."""


class Literal:
    """A part of a function's result that is not computed: a Python value given back as it is."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and type(other.value) is type(self.value) and other.value == self.value

    def __hash__(self) -> int:
        return hash((Literal, self.value))

    def __repr__(self) -> str:
        return f"Literal({self.value!r})"


class _Output(int):
    """The number of an output, with how callers get it: its text tells that too, as programs are told apart by it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"


class ColumnMajorOutput(_Output):
    """The number of an output that lazy callers get as a column-major tensor; as an array its dims count the same."""


class NumberOutput(_Output):
    """The number of an output that callers get as Python's bool, int, float or complex, as the plain function's is."""


class BoxedOutput(_Output):
    """The number of an output of rank 0 that callers get as an array, which NumPy tells apart from a scalar."""


class ListOutput(_Output):
    """The number of an output whose rows callers get as the items of a list: arrays, or numbers of NumPy's."""


class NumbersOutput(ListOutput):
    """The same of Python's numbers."""


class SizedOutput(int):
    """The number of an output that is memory for an array whose sizes, `rank` of them, are the outputs behind it.

    `items` says what callers get: the array (``""``), or its rows as the items of a list, as of a ``ListOutput`` or a
    ``NumbersOutput``.
    """

    rank: int
    items: str

    def __new__(cls, number: int, rank: int, items: str = "") -> SizedOutput:
        made = super().__new__(cls, number)
        made.rank, made.items = rank, items
        return made

    def __repr__(self) -> str:
        return f"SizedOutput({int(self)}, {self.rank}, {self.items!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return SizedOutput, (int(self), self.rank, self.items)

    def of(self, outputs: Sequence[Any]) -> Any:
        """The array: in that memory where it has most of it, else a copy, so that the rest is free."""
        shape = tuple(int(n) for n in outputs[self + 1 : self + 1 + self.rank])
        room = outputs[self]
        count = math.prod(shape)
        used = room[:count].reshape(shape)
        return used if 2 * count >= room.size else used.copy()


class ZippedOutput(tuple[Any, ...]):
    """A list of tuples, or of lists, as the structures of the lists of their first parts, second parts, …"""

    form: type

    def __new__(cls, columns: Sequence[Any], form: type) -> ZippedOutput:
        made = super().__new__(cls, columns)
        made.form = form
        return made

    def __repr__(self) -> str:
        return f"ZippedOutput({tuple(self)}, {self.form.__name__})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ZippedOutput, (tuple(self), self.form)


class ChainedOutput(tuple[Any, ...]):
    """A list as the structures of lists, the items of which are its items one after another."""

    def __repr__(self) -> str:
        return f"ChainedOutput({super().__repr__()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ChainedOutput, (tuple(self),)


class MixedOutput(tuple[Any, ...]):
    """A list of numbers of several types: the structures of a list of their values, and of one of the numbers of their
    types.

    `types` names these: ``int``, ``float``, …, or a dtype of NumPy's scalars, of which ``?`` is the bool.
    """

    types: tuple[str, ...]

    def __new__(cls, columns: Sequence[Any], types: Sequence[str]) -> MixedOutput:
        made = super().__new__(cls, columns)
        made.types = tuple(types)
        return made

    def __repr__(self) -> str:
        return f"MixedOutput({tuple(self)}, {self.types})"

    def __reduce__(self) -> tuple[Any, ...]:
        return MixedOutput, (tuple(self), self.types)


class EitherOutput(tuple[Any, ...]):
    """One of several results: their structures, and the numbers of the outputs that say by a bool which it is."""

    conds: tuple[int, ...]

    def __new__(cls, parts: Sequence[Any], conds: Sequence[int]) -> EitherOutput:
        made = super().__new__(cls, parts)
        made.conds = tuple(conds)
        return made

    def __repr__(self) -> str:
        return f"EitherOutput({tuple(self)}, {self.conds})"

    def __reduce__(self) -> tuple[Any, ...]:
        return EitherOutput, (tuple(self), self.conds)

    def of(self, outputs: Sequence[Any]) -> Any:
        """The structure of the result that there is."""
        return next(part for part, cond in zip(self, self.conds) if outputs[cond])


class ViewOutput:
    """A result that shares the memory of another array: no output of the graph, but a view that the call makes.

    `number` counts the views of a result.  `base` is what it is a view of: an ``input``, by its number among those
    that are arrays, or an ``output``.  `dims`, `strides` and `offset` are texts of dims, the latter two in bytes.
    """

    __slots__ = ("base", "column", "dims", "element", "number", "offset", "read_only", "strides")

    def __init__(
        self, number: int, base: tuple[str, int], element: str, dims: tuple[str, ...], strides: tuple[str, ...],
        offset: str, read_only: bool = False, column: bool = False,
    ) -> None:  # fmt: skip
        self.number, self.base, self.element = number, base, element
        self.dims, self.strides, self.offset = dims, strides, offset
        self.read_only, self.column = read_only, column

    @property
    def parts(self) -> tuple[Any, ...]:
        """What it was made of."""
        return (
            self.number, self.base, self.element, self.dims, self.strides, self.offset, self.read_only, self.column,
        )  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.parts

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, ViewOutput) and other.parts == self.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.parts}"


class IntOutput(ViewOutput):
    """A Python int of any size, which follows from the call's symbols: the only one of `dims`, computed by Python."""

    __slots__ = ()

    @classmethod
    def of(cls, number: int, text: str) -> IntOutput:
        """As the view of that number, of nothing."""
        return cls(number, ("none", 0), "int", (text,), (), "0")


class GivenOutput(str):
    """The name of an argument, one of several that share memory, which is given back as it is."""


#: How the inputs are called that say for how many elements there is memory where no bound of a size is known.
ROOM = "room$"
#: Elements for which there is room in the first call of code.
FIRST_ROOM = 1024


class InputSpec(NamedTuple):
    """An argument: `kind` as in `graph.Input`; `dims` of an array, `symbol` of an int; `source` of a captured array."""

    name: str
    kind: str
    dims: tuple[str, ...] = ()
    symbol: str = ""
    hidden: bool = False
    source: Any = None


class Signature(NamedTuple):
    """Inputs, what follows for other symbols, the guards ``(lhs, relation, rhs, why)``, and the result's structure.

    `structure` and `compared` are as in `graph.Graph`; so are `checks`, their sizes as texts, and their `places`.
    """

    name: str
    inputs: tuple[InputSpec, ...]
    substitutions: tuple[tuple[str, str], ...]
    guards: tuple[tuple[str, str, str, str], ...]
    structure: Any
    checks: tuple[Check, ...] = ()
    compared: tuple[int, ...] = ()
    places: tuple[Place | None, ...] = ()

    @staticmethod
    def of(graph: Graph) -> Signature:
        """The signature of a graph."""
        inputs = []
        for i in graph.inputs:
            dims = () if i.value is None else tuple(map(str, i.value.type.dims))
            symbol = "" if i.symbol is None else str(i.symbol)
            inputs.append(InputSpec(i.name, i.kind, dims, symbol, i.hidden, i.source))
        table = graph.table
        return Signature(
            graph.name,
            tuple(inputs),
            tuple((s.name, str(value)) for s, value in table.substitutions.items()),
            tuple((str(g.lhs), g.relation, str(g.rhs), g.why) for g in table.guards),
            graph.structure,
            tuple(check._replace(size=str(check.size)) for check in graph.checks),
            graph.compared,
            tuple(
                p and Place(p.filename, p.line, p.column, p.end_column, p.function or "<module>") for p in graph.places
            ),
        )

    def without_sources(self) -> Signature:
        """The same for other captured arrays, which it then keeps alive no longer."""
        return self._replace(inputs=tuple(i._replace(source=None) for i in self.inputs))

    @property
    def arrays(self) -> tuple[InputSpec, ...]:
        """The inputs that are passed as arrays, scalars included."""
        return tuple(i for i in self.inputs if i.kind != "int")

    @property
    def rooms(self) -> dict[str, int]:
        """The inputs that say how much memory there is for what has no bound, as the first call has them."""
        return {i.name: FIRST_ROOM for i in self.inputs if i.name.startswith(ROOM)}

    @property
    def integers(self) -> tuple[InputSpec, ...]:
        """The inputs that are Python ints."""
        return tuple(i for i in self.inputs if i.kind == "int")

    @property
    def views(self) -> tuple[ViewOutput, ...]:
        """The results that are views of other arrays, in the order of their numbers."""
        found = {view.number: view for view in views_in(self.structure)}
        return tuple(found[n] for n in sorted(found))

    def plain(self) -> dict[str, Any]:
        """As JSON holds it, captured arrays and places left out; NotSerializable where a result is what it has not."""
        return {
            "name": self.name,
            "inputs": [[i.name, i.kind, list(i.dims), i.symbol, i.hidden] for i in self.inputs],
            "substitutions": [list(s) for s in self.substitutions],
            "guards": [list(g) for g in self.guards],
            "structure": plain_structure(self.structure),
            "checks": [list(check) for check in self.checks],
            "compared": list(self.compared),
        }

    @staticmethod
    def of_plain(plain: Mapping[str, Any], sources: Mapping[str, Any]) -> Signature:
        """Read back what `plain` made; `sources` are the captured arrays by the inputs' names."""
        return Signature(
            plain["name"],
            tuple(
                InputSpec(name, kind, tuple(dims), symbol, hidden, sources[name] if hidden else None)
                for name, kind, dims, symbol, hidden in plain["inputs"]
            ),
            tuple((name, value) for name, value in plain["substitutions"]),
            tuple((lhs, relation, rhs, why) for lhs, relation, rhs, why in plain["guards"]),
            structure_of_plain(plain["structure"]),
            tuple(Check(*check) for check in plain["checks"]),
            tuple(plain["compared"]),
        )


def views_in(structure: Any) -> Iterator[ViewOutput]:
    """The results that are views, in a structure."""
    if isinstance(structure, ViewOutput):
        yield structure
    elif isinstance(structure, (tuple, list, dict)):
        for part in structure.values() if isinstance(structure, dict) else structure:
            yield from views_in(part)


def is_named(x: Any) -> bool:
    """Whether it is a named tuple."""
    return isinstance(x, tuple) and hasattr(x, "_fields")


def like(container: tuple[Any, ...] | list[Any], parts: Sequence[Any]) -> Any:
    """A tuple, list or named tuple of these parts."""
    if is_named(container):
        return type(container)(*parts)
    return list(parts) if isinstance(container, list) else tuple(parts)


def _spelling(cls: type) -> list[str]:
    return [cls.__module__, cls.__qualname__]


def _found(spelling: Sequence[str]) -> Any:
    """The class that a module has under a name; None where it has none."""
    module, name = spelling
    return getattr(sys.modules.get(module), name, None)


def plain_structure(structure: Any) -> Any:
    """The structure of a result as JSON: ``[kind, …]``, a named tuple by where its class is found.

    Kinds: output, int, boxed, column, number, sized, view, items, numbers, either, mixed, zipped, none, literal, tuple,
    list, dict, named.
    """
    if isinstance(structure, Literal):
        return ["literal", _plain_literal(structure.value)]
    if structure is None:
        return ["none", None]
    if isinstance(structure, ColumnMajorOutput):
        return ["column", int(structure)]
    if isinstance(structure, BoxedOutput):
        return ["boxed", int(structure)]
    if isinstance(structure, IntOutput):
        return ["int", [structure.number, *structure.dims]]
    if isinstance(structure, ViewOutput):
        return ["view", list(structure.parts)]
    if isinstance(structure, NumberOutput):
        return ["number", int(structure)]
    if isinstance(structure, SizedOutput):
        return ["sized", [int(structure), structure.rank, structure.items]]
    if isinstance(structure, ListOutput):
        return ["numbers" if isinstance(structure, NumbersOutput) else "items", int(structure)]
    if type(structure) is int:
        return ["output", structure]
    if isinstance(structure, dict):
        return ["dict", [[_plain_literal(k), plain_structure(v)] for k, v in structure.items()]]
    if isinstance(structure, EitherOutput):
        return ["either", [list(structure.conds), [plain_structure(v) for v in structure]]]
    if isinstance(structure, ChainedOutput):
        return ["chained", [plain_structure(v) for v in structure]]
    if isinstance(structure, MixedOutput):
        return ["mixed", [list(structure.types), [plain_structure(v) for v in structure]]]
    if isinstance(structure, ZippedOutput):
        return ["zipped", [structure.form.__name__, [plain_structure(v) for v in structure]]]
    if type(structure) in (tuple, list):
        return [type(structure).__name__, [plain_structure(v) for v in structure]]
    if is_named(structure) and _found(_spelling(type(structure))) is type(structure):
        return ["named", [_spelling(type(structure)), [plain_structure(v) for v in structure]]]
    raise NotSerializable(f"a result of type {type(structure).__name__} is not kept")


def _plain_literal(value: Any) -> Any:
    if value is None or type(value) in (bool, int, str) or (type(value) is float and value == value):
        return value
    raise NotSerializable(f"the value {value!r} in the result, of type {type(value).__name__}, is not kept")


def structure_of_plain(plain: Any) -> Any:
    """Read back what `plain_structure` made."""
    kind, value = plain
    if kind == "literal":
        return Literal(value)
    if kind == "column":
        return ColumnMajorOutput(value)
    if kind == "boxed":
        return BoxedOutput(value)
    if kind == "int":
        return IntOutput.of(*value)
    if kind == "view":
        number, base, element, dims, strides, *rest = value
        return ViewOutput(number, tuple(base), element, tuple(dims), tuple(strides), *rest)
    if kind == "number":
        return NumberOutput(value)
    if kind in ("items", "numbers"):
        return (ListOutput if kind == "items" else NumbersOutput)(value)
    if kind == "sized":
        return SizedOutput(*value)
    if kind == "either":
        conds, parts = value
        return EitherOutput([structure_of_plain(v) for v in parts], conds)
    if kind == "chained":
        return ChainedOutput([structure_of_plain(v) for v in value])
    if kind == "mixed":
        types, columns = value
        return MixedOutput([structure_of_plain(v) for v in columns], types)
    if kind == "zipped":
        form, columns = value
        return ZippedOutput([structure_of_plain(v) for v in columns], {"tuple": tuple, "list": list}[form])
    if kind in ("output", "none"):
        return value
    if kind == "dict":
        return {k: structure_of_plain(v) for k, v in value}
    if kind == "named":
        spelling, parts = value
        cls = _found(spelling)
        if cls is None:
            raise NotSerializable(f"the class {'.'.join(spelling)} of a result is not there")
        return cls(*map(structure_of_plain, parts))
    items = [structure_of_plain(v) for v in value]
    return items if kind == "list" else tuple(items)
