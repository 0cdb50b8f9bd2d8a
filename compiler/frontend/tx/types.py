"""Type annotations of `.tx`: ``f32[n, m]``, ``f32[4, 3]``, ``f32``, ``i64``, ``f32[n, m].col``."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from ....dialects.dims.dims import Dim, parse_dim, size_name, size_symbol
from ....dialects.types import DTYPES, DType
from ...diagnostics import Loc, TxcError
from ..trace.symint import SymInt

if TYPE_CHECKING:
    from ..trace.trace import Trace

__all__ = ["Annotation", "Parameter", "read_annotation"]


@dataclass(frozen=True, repr=False)
class Annotation:
    """A declared type.  A scalar ``i64`` or ``i32`` is an int of the function: usable as a size and a loop bound."""

    dtype: DType
    dims: tuple[Dim, ...]
    layout: str = "row"
    scalar: bool = False

    @property
    def is_int(self) -> bool:
        return self.scalar and self.dtype.name == "i64"

    def __str__(self) -> str:
        text = f"{self.dtype}" if self.scalar else f"{self.dtype}[{', '.join(map(str, self.dims))}]"
        return text + (".col" if self.layout == "col" else "")

    __repr__ = __str__  # as signatures show it


@dataclass(frozen=True)
class Parameter:
    """A parameter with its declared type."""

    name: str
    type: Annotation

    def declare(self, trace: Trace, sizes: dict[str, Any]) -> Any:
        """Its symbolic value; the sizes its type names, ints of the function, are added to `sizes`."""
        if self.type.is_int:
            return trace.int_input(self.name)
        for d in self.type.dims:
            for s in sorted(d.symbols(), key=lambda s: s.name):
                name = size_name(s)
                if name not in sizes:
                    sizes[name] = SymInt(trace.table.declare(s.name, None, f"size {name}"))
        if not self.type.dims:
            return trace.scalar_input(self.name, self.type.dtype.numpy, "")
        return trace.tensor_input(self.name, self.type.dtype, self.type.dims, layout=self.type.layout)


def read_annotation(filename: str, node: ast.expr) -> Annotation:
    """The type an annotation means; TxcError with what there is."""
    layout, at = "row", node
    if isinstance(node, ast.Attribute):
        if node.attr not in ("row", "col"):
            _fail(filename, node, f"a layout is .row or .col, not .{node.attr}")
        layout, at = node.attr, node.value
    if isinstance(at, ast.Name):
        return Annotation(_dtype(filename, at), (), layout, True)
    if isinstance(at, ast.Subscript) and isinstance(at.value, ast.Name):
        parts = at.slice.elts if isinstance(at.slice, ast.Tuple) else [at.slice]
        dims: list[Dim] = []
        for part in parts:
            try:
                size = _size(ast.unparse(part))
            except ValueError:
                _fail(
                    filename,
                    part,
                    f"{ast.unparse(part)!r} is not a size",
                    "sizes are names, numbers and expressions of them",
                )
            if size.const is not None and size.const < 0:
                _fail(filename, part, f"a size is not negative: {size}")
            dims.append(size)
        return Annotation(_dtype(filename, at.value), tuple(dims), layout)
    _fail(
        filename, node, f"{ast.unparse(node)!r} is not a type", "types look like f32, f32[n, m], i64[4], f32[n, m].col"
    )


def _size(text: str) -> Dim:
    """A size as a file writes it, of the symbols of the names in it.  ValueError for what is none."""
    size = parse_dim(text)
    return size.substitute({s: size_symbol(s.name) for s in size.symbols()})


def _dtype(filename: str, node: ast.Name) -> DType:
    found = DTYPES.get(node.id)
    if found is None:
        near = difflib.get_close_matches(node.id, DTYPES, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(DTYPES)}"
        _fail(filename, node, f"there is no element type {node.id!r}", hint)
    return found


def _fail(filename: str, node: ast.expr, message: str, hint: str = "") -> NoReturn:
    loc = Loc(filename, node.lineno, node.col_offset, node.end_col_offset or node.col_offset + 1)
    raise TxcError(message, loc, hint, "TX0545")
