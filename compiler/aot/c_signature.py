"""A compiled function as C sees it: parameters, sizes, results and the conditions on them, as plain data.

The header (`c_header.py`) and the machine code of the exported function (`compiler/codegen/call/c_stub.py`) are both
written from this, so they cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects.dims.dims import Dim, Sym, dim, size_name
from ...dialects.types import DType
from ..call.signature import ROOM
from ..frontend.trace.graph import Graph, Input
from .c_names import SpelledNames, is_taken

__all__ = [
    "C_TYPES", "FIRST_SIZE_ERROR", "STATUS", "CArray", "CConstant", "CScalar", "CSignature", "CSize", "Condition",
    "ExportError", "c_signature", "check_symbol", "condition_text", "dim_text",
]  # fmt: skip

#: How each element type is written in C; the half-width floats are their bits.
C_TYPES = {
    "bool": "bool", "f16": "txc_f16", "bf16": "txc_bf16", "f32": "float", "f64": "double",
    "c64": "txc_c64", "c128": "txc_c128",
    **{f"i{n}": f"int{n}_t" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}_t" for n in (8, 16, 32, 64)},
}  # fmt: skip

#: What an exported function returns, with what it means; conditions on sizes count from `FIRST_SIZE_ERROR`.
STATUS = {
    "TXC_OK": (0, "the results are written"),
    "TXC_ERROR_NULL": (1, "a pointer to an array with elements is NULL"),
    "TXC_ERROR_WORKSPACE": (2, "the workspace is NULL, and the function needs one"),
    "TXC_ERROR_CPU": (3, "the processor is older than any that the code was compiled for"),
    "TXC_ERROR_THREADS": (4, "txc_threads asks for less than one thread, or for several without a function"),
    "TXC_ERROR_SIZE": (16, "this or more: the sizes do not meet a condition, which the function's comment numbers"),
}
FIRST_SIZE_ERROR = STATUS["TXC_ERROR_SIZE"][0]


class ExportError(ValueError):
    """A function, or an option, that cannot be exported as it is; `hint` says what can."""

    code = "TX0600"

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class CArray:
    """A pointer to packed elements: an argument, or (`result`) memory that the function fills.

    `dims` are in the user's order; with `layout` ``col`` the first of them is the fastest in memory.  `buffer` is its
    number among the pointers that compiled code takes.
    """

    name: str
    dtype: DType
    dims: tuple[Dim, ...]
    layout: str
    buffer: int
    written: bool = False
    result: bool = False

    @property
    def has_shape(self) -> bool:
        """Whether a size is more than a number or parameter, so that a function of its own computes the sizes."""
        return any(d.symbol is None and d.const is None for d in self.dims)

    @property
    def elements(self) -> Dim:
        total = dim(1)
        for d in self.dims:
            total = total * d
        return total


@dataclass(frozen=True)
class CScalar:
    """A number by value; a complex one by address, because targets differ in how they pass its parts."""

    name: str
    dtype: DType
    buffer: int

    @property
    def by_address(self) -> bool:
        return self.dtype.is_complex


@dataclass(frozen=True)
class CConstant:
    """An array of the program that the function was written in: its elements are in the object."""

    name: str
    data: bytes
    buffer: int


@dataclass(frozen=True)
class CSize:
    """An ``int64_t`` that is a symbol of the function: an int argument, or (`implied`) a size that types mention."""

    name: str
    symbol: Sym
    implied: bool


@dataclass(frozen=True)
class Condition:
    """``lhs relation rhs``, relation one of ``== != < <=``; `status` is returned where it does not hold."""

    lhs: Dim
    relation: str
    rhs: Dim
    status: int


@dataclass(frozen=True)
class CSignature:
    """`arguments` in the user's order, then `results`, then `sizes`; `constants` are no parameters.

    `shape_sizes` are the symbols that memory, results' shapes and conditions depend on.
    """

    symbol: str
    doc: str
    arguments: tuple[CArray | CScalar | CSize, ...]
    results: tuple[CArray, ...]
    sizes: tuple[CSize, ...]
    shape_sizes: tuple[CSize, ...]
    conditions: tuple[Condition, ...]
    constants: tuple[CConstant, ...]
    #: For each value that the function returns: the array that holds it.
    returned: tuple[str, ...]
    #: The program's names for the function and parameters that are called something else in C, by what they are there.
    renamed: dict[str, str]
    #: Whether the object has a pool of threads of its own.
    pool: bool = False

    @property
    def integers(self) -> tuple[CSize, ...]:
        """Every symbol, in the order of the parameters."""
        return (*(a for a in self.arguments if isinstance(a, CSize)), *self.sizes)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The functions that the object shows."""
        shapes = (f"{self.symbol}_{r.name}_shape" for r in self.results if r.has_shape)
        return (self.symbol, f"{self.symbol}_workspace", *shapes, *(self.pool_symbols if self.pool else ()))

    @property
    def pool_symbols(self) -> tuple[str, str]:
        """What fills in a `txc_threads`, and what ends the threads."""
        return f"{self.symbol}_pool", f"{self.symbol}_pool_stop"

    @property
    def arrays(self) -> tuple[CArray, ...]:
        return (*(a for a in self.arguments if isinstance(a, CArray)), *self.results)

    def names(self) -> dict[str, str]:
        """C names by symbol name, for `dim_text`."""
        return {s.symbol.name: s.name for s in self.integers}


def c_signature(
    graph: Graph,
    symbol: str,
    outputs: Sequence[int],
    memory: Iterable[Dim],
    layouts: Sequence[str] = (),
    doc: str = "",
) -> CSignature:
    """How C calls a graph's machine code, whose results are the buffers `outputs` and which needs `memory` bytes.

    `layouts` are those of the results (default: row-major).  Raises ExportError for what C cannot call.
    """
    if any(given.name.startswith(ROOM) for given in graph.inputs):
        raise ExportError(
            "values decide a size of which no bound is known [TX0252]", "take that size as an int argument"
        )
    unique = SpelledNames({symbol, "workspace", "threads", "shape"})
    inputs = [i for i in graph.inputs if i.value is not None]
    buffers = {id(given): n for n, given in enumerate(inputs)}
    written = {o for o in outputs if o < len(inputs)}
    arguments: list[CArray | CScalar | CSize] = []
    constants: list[CConstant] = []
    for given in graph.inputs:
        if given.hidden:
            constants.append(_constant(given, buffers[id(given)], written))
            continue
        name = unique(given.name)
        if given.value is None:
            assert given.symbol is not None and given.symbol.symbol is not None
            arguments.append(CSize(name, given.symbol.symbol, False))
        elif given.kind == "scalar":
            arguments.append(CScalar(name, given.value.type.dtype, buffers[id(given)]))
        else:
            number = buffers[id(given)]
            dims = _user_dims(given.value.type.dims, given.layout)
            arguments.append(CArray(name, given.value.type.dtype, dims, given.layout, number, number in written))
    results = _results(graph, outputs, len(inputs), layouts, unique)
    ints = [a for a in arguments if isinstance(a, CSize)]
    sizes = tuple(CSize(unique(size_name(s)), s, True) for s in _symbols(inputs) if s not in {i.symbol for i in ints})
    conditions = _conditions(graph, {s.symbol for s in (*ints, *sizes)}, sizes, results)
    shown = (*memory, *(d for r in results for d in r.dims), *(d for c in conditions for d in (c.lhs, c.rhs)))
    needed = {s for d in shown for s in d.symbols()}
    by_buffer = {a.buffer: a.name for a in (*arguments, *results) if isinstance(a, CArray)}
    return CSignature(
        symbol,
        doc,
        tuple(arguments),
        results,
        sizes,
        (*(i for i in ints if i.symbol in needed), *sizes),
        conditions,
        tuple(constants),
        tuple(by_buffer[o] for o in outputs[: graph.results]),
        {**({symbol: graph.name} if symbol != graph.name else {}), **unique.changed},
    )


def _constant(given: Input, buffer: int, written: set[int]) -> CConstant:
    """A captured array as bytes; ExportError where the function changes it."""
    if buffer in written:
        raise ExportError(
            f"the function writes {given.name}, an array of the surrounding program, which is a constant in an object",
            "make it a parameter",
        )
    source = np.asarray(given.source)
    return CConstant(given.name, np.ascontiguousarray(source, source.dtype.newbyteorder("<")).tobytes(), buffer)


def _user_dims(dims: tuple[Dim, ...], layout: str) -> tuple[Dim, ...]:
    return dims[::-1] if layout == "col" else dims


def _results(
    graph: Graph, outputs: Sequence[int], inputs: int, layouts: Sequence[str], unique: SpelledNames
) -> tuple[CArray, ...]:
    """The arrays that only the function writes: outputs that are no arguments."""
    fresh = list(dict.fromkeys(o for o in outputs if o >= inputs))
    made = []
    for number, buffer in enumerate(fresh):
        position = list(outputs).index(buffer)
        layout = layouts[position] if position < len(layouts) else "row"
        kind = graph.outputs[position].type
        name = unique("out" if len(fresh) == 1 else f"out{number}")
        made.append(CArray(name, kind.dtype, _user_dims(kind.dims, layout), layout, buffer, True, True))
    return tuple(made)


def _symbols(inputs: Sequence[Input]) -> list[Sym]:
    """The sizes that types of arguments mention, in the order of a reader of the declaration."""
    found: dict[Sym, None] = {}
    for given in inputs:
        assert given.value is not None
        for d in _user_dims(given.value.type.dims, given.layout):
            found.update(dict.fromkeys(sorted(d.symbols(), key=lambda s: s.name)))
    return list(found)


_TRUE: dict[str, Callable[[Dim], bool]] = {
    "==": lambda d: d.const == 0,
    "!=": lambda d: d.const is not None and d.const != 0,
    "<": lambda d: (d - 1).nonneg,
    "<=": lambda d: d.nonneg,
}


def _conditions(
    graph: Graph, known: set[Sym], sizes: Sequence[CSize], results: Sequence[CArray]
) -> tuple[Condition, ...]:
    """What a caller must see to: sizes are not negative, and the guards of the graph hold."""
    replaced = {s: d for s, d in graph.table.substitutions.items() if s not in known}
    wanted: list[tuple[Dim, str, Dim]] = [(dim(0), "<=", Dim.of_terms({(s.symbol,): 1})) for s in sizes]
    asked = [(g.lhs.substitute(replaced), g.relation, g.rhs.substitute(replaced)) for g in graph.table.guards]
    arrays = [i.value.type.dims for i in graph.inputs if i.value is not None]
    asked += [(dim(0), "<=", d) for dims in (*arrays, *(r.dims for r in results)) for d in dims]
    for lhs, relation, rhs in asked:
        implied = _TRUE[relation](rhs - lhs) or any(
            relation in ("<", "<=") and r in ("<", "<=") and _implies(b - a - (r == "<"), rhs - lhs - (relation == "<"))
            for a, r, b in wanted
        )
        if not implied and (lhs, relation, rhs) not in wanted:
            wanted.append((lhs, relation, rhs))
    return tuple(Condition(a, r, b, FIRST_SIZE_ERROR + n) for n, (a, r, b) in enumerate(wanted))


def _implies(known: Dim, asked: Dim) -> bool:
    """Whether ``known >= 0`` implies ``asked >= 0``, by their forms."""
    return (asked - known).nonneg


_DIM_NAME = re.compile(r"[$A-Za-z_][\w.$]*")


def dim_text(d: Dim, names: dict[str, str]) -> str:
    """A size for a reader of C: its parameters' names, ``/`` for divisions (which round down)."""
    text = _DIM_NAME.sub(lambda m: m[0] if m[0] in ("min", "max") else names.get(m[0], m[0]), str(d))
    return text.replace("//", "/")


def condition_text(condition: Condition, names: dict[str, str]) -> str:
    """A condition for a reader of C, a constant on the right."""
    lhs, rhs = dim_text(condition.lhs, names), dim_text(condition.rhs, names)
    if condition.lhs.const is not None:
        return f"{rhs} {condition.relation.replace('<', '>')} {lhs}"
    return f"{lhs} {condition.relation} {rhs}"


def check_symbol(symbol: str) -> str:
    """`symbol`, where a C function may be called that; ExportError where not."""
    hint = "give the exported function a name of its own: --symbol NAME, or export(…, symbol=NAME)"
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", symbol):
        raise ExportError(f"{symbol!r} is no name of a C function: letters, digits and _, a letter first", hint)
    if is_taken(symbol, symbol=True):
        raise ExportError(f"{symbol!r} means something else in C, C++, their library or txc's header", hint)
    return symbol
