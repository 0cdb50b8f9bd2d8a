"""Calls of jitted functions with Dask's arrays: what is computed chunk by chunk, as Dask's lazy arrays.

All that Dask has to be told follows from the graph of the function (`axes.py`): no chunk is computed to find it out.
An output is one `blockwise` layer of its own program; a reduction along axes that are cut is another one, whose partial
results a tree of NumPy's ufunc combines.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
from dask import delayed

from ...dialects.dims.dims import Dim, Sym
from ...dialects.types import TensorType
from ..call.foreign_arrays import LeftToPython, is_dask_array
from ..call.signature import BoxedOutput, Literal, NumberOutput, is_named, like
from ..diagnostics import TxcError, head_of
from ..frontend.trace.graph import Input
from .axes import NeedsWholeAxis
from .program import ChunkedCall, ChunkProgram, Form

if TYPE_CHECKING:
    from ..driver.jit import Jitted

__all__ = ["call_on_dask_arrays"]


def call_on_dask_arrays(function: Jitted, bound: inspect.BoundArguments) -> Any:
    """The function's result for these arguments, with Dask's arrays for arrays.  No chunk is computed.

    TxcError where a chunk of the result needs more than a chunk of each argument, for chunks of unknown size, and for
    results that no lazy array is.
    """
    bound.apply_defaults()
    arrays: list[Any] = []
    arguments = {name: _without_arrays(name, value, arrays) for name, value in bound.arguments.items()}
    call = ChunkedCall(function, arguments)
    made = _Result(call, arrays)
    try:
        return made.of(call.graph.structure)
    except NeedsWholeAxis as obstacle:
        raise made.refusal(obstacle) from None


def _without_arrays(name: str, value: Any, arrays: list[Any]) -> Any:
    """An argument with forms for its arrays, which are put into the list, as Dask's."""
    if is_dask_array(value):
        if type(value._meta) is not np.ndarray:
            raise LeftToPython(f"{name} has chunks of class {type(value._meta).__name__}")
        if any(n != n for n in value.shape):
            raise TxcError(f"{name} has chunks of unknown size", None, "call its compute_chunk_sizes() first", "TX0331")
        # Dask repeats an axis of size 1, of which there may be empty chunks too.
        value = value.rechunk({a: -1 for a, n in enumerate(value.shape) if n <= 1 and value.numblocks[a] > 1})
    elif type(value) in (np.ndarray, np.memmap):
        value = da.from_array(value, chunks=-1)
    elif isinstance(value, dict):
        return {k: _without_arrays(f"{name}[{k!r}]", v, arrays) for k, v in value.items()}
    elif isinstance(value, (tuple, list)):
        return like(value, [_without_arrays(f"{name}[{i}]", v, arrays) for i, v in enumerate(value)])
    else:
        return value
    arrays.append(value)
    return Form(len(arrays) - 1, value.dtype.newbyteorder("="), value.shape)


class _Result:
    """The result of a call, part by part; `arrays` are Dask's, by the numbers of the forms."""

    def __init__(self, call: ChunkedCall, arrays: Sequence[Any]):
        self.call, self.graph = call, call.graph
        self.name = call.function.__name__
        self.arrays = {i.name: self._array(i, arrays) for i in self.graph.inputs if i.kind == "tensor"}
        self._refuse_effects()
        #: Where each symbol is cut: the inputs and their axes.
        self.places: dict[Sym, list[tuple[Input, int]]] = {}
        for given in self.graph.inputs:
            if given.name in self.arrays:
                self._note_cuts(given)
        self.cut = frozenset(self.places)
        self._made: dict[Any, Any] = {}

    def _array(self, given: Input, arrays: Sequence[Any]) -> Any:
        if given.layout != "row":
            raise LeftToPython(f"{given.name} is a column-major tensor")
        if given.name in self.call.numbers:
            return arrays[self.call.numbers[given.name]]
        return da.from_array(np.asarray(given.source if given.hidden else self.call.leaves[given.name].value))

    def _note_cuts(self, given: Input) -> None:
        assert given.value is not None
        for axis, (d, chunks) in enumerate(zip(given.value.type.dims, self.arrays[given.name].chunks, strict=True)):
            if len(chunks) == 1:
                continue
            if d.symbol is None:
                where = self._axis_text(given, axis)
                raise TxcError(
                    f"{self.name} is compiled for the size of {where}",
                    head_of(self.call.function.__wrapped__), self._advice(given, axis), "TX0330",
                )  # fmt: skip
            self.places.setdefault(d.symbol, []).append((given, axis))

    def _refuse_effects(self) -> None:
        """TxcError where the function does something else than to give results."""
        outputs, inputs = self.graph.outputs, self.graph.inputs
        found = {inputs[i].name for o, i in self.graph.aliases.items() if outputs[o] is not inputs[i].value}
        if found:
            written = ", ".join(sorted(found))
            raise TxcError(
                f"{self.name} writes to {written}, and arrays of Dask's cannot be written to",
                head_of(self.call.function.__wrapped__), f"return the new value: write into {written}.copy()", "TX0332",
            )  # fmt: skip

    def refusal(self, obstacle: NeedsWholeAxis) -> TxcError:
        """The error of an axis that has to be whole, with what to write."""
        places = self.places[obstacle.symbol]
        given, axis = places[0]
        op = "it" if obstacle.node is None or obstacle.node.op is None else obstacle.node.op.name
        why = obstacle.why.format(axis=self._axis_text(given, axis))
        loc = obstacle.node.loc if obstacle.node else head_of(self.call.function.__wrapped__)
        advice = " and ".join(dict.fromkeys(self._advice(given, axis) for given, axis in places))
        return TxcError(f"{self.name} by chunks: {op} {why}", loc, advice, "TX0330")

    def _axis_text(self, given: Input, axis: int) -> str:
        chunks = len(self.arrays[given.name].chunks[axis])
        return f"axis {axis} of {_spelled(given.name)} ({chunks} chunks)"

    def _advice(self, given: Input, axis: int) -> str:
        return f"pass {_spelled(given.name)}.rechunk({{{axis}: -1}})"

    def of(self, structure: Any) -> Any:
        """The part of the result that a structure of outputs stands for."""
        if structure is None:
            return None
        if isinstance(structure, Literal):
            return structure.value
        if type(structure) in (int, BoxedOutput):
            return self._output(int(structure))
        if isinstance(structure, NumberOutput):
            program = ChunkProgram(self.call, self.cut, int(structure), of_total=False)
            if not program.inputs:
                return program().item()
        elif type(structure) in (tuple, list) or is_named(structure):
            return like(structure, [self.of(part) for part in structure])
        elif type(structure) is dict:
            return {k: self.of(part) for k, part in structure.items()}
        raise self._no_array("a number of Python's, or what no array is")

    def _no_array(self, what: str) -> TxcError:
        return TxcError(
            f"{self.name} gives {what}",
            head_of(self.call.function.__wrapped__),
            "return arrays whose sizes follow from those of the arguments",
            "TX0332",
        )

    def _output(self, number: int) -> Any:
        if number not in self._made:
            totals = list(self.call.totals(self.cut))
            value = self.graph.outputs[number]
            if value in totals:
                self._made[number] = self._total(totals.index(value))
            else:
                program = ChunkProgram(self.call, self.cut, number, of_total=False)
                self._made[number] = self._blockwise(program, (), {})
        return self._made[number]

    def _total(self, number: int) -> Any:
        """A reduction across chunks: partial results, and the tree that combines them."""
        if ("total", number) not in self._made:
            program = ChunkProgram(self.call, self.cut, number, of_total=True)
            assert program.total is not None
            reduced = tuple(str(s) for s in sorted(program.total.symbols, key=str))
            partial = self._blockwise(program, reduced, dict.fromkeys(reduced, 1))
            combine = _Combine(program.total.combine)
            self._made["total", number] = da.reduction(
                partial, chunk=_unchanged, combine=combine, aggregate=combine, axis=tuple(range(len(reduced))),
                dtype=partial.dtype, meta=_meta(program.type),
            )  # fmt: skip
        return self._made["total", number]

    def _blockwise(self, program: ChunkProgram, front: tuple[str, ...], chunks: dict[str, int]) -> Any:
        """The layer of a program; `front` are the axes of partial results, which have chunks of that size."""
        sizes = {f"+{i}": self._size(d) for i, d in enumerate(program.type.dims) if d.symbol not in self.cut}
        places = (*front, *(self._index(d, f"+{i}") for i, d in enumerate(program.type.dims)))
        operands: list[Any] = []
        for given in program.inputs:
            assert given.value is not None
            index = [self._index(d, f"{given.name}/{axis}") for axis, d in enumerate(given.value.type.dims)]
            operands += [self._operand(given), index]
        if not operands:
            shape = tuple(sizes.values())
            return da.from_delayed(delayed(program)(), shape, program.type.dtype.numpy, _meta(program.type))
        return da.blockwise(
            program, places, *operands, token=self.name, dtype=program.type.dtype.numpy, adjust_chunks=chunks,
            new_axes=sizes, meta=np.empty((0,) * len(places), program.type.dtype.numpy),
        )  # fmt: skip

    def _operand(self, given: Input) -> Any:
        if given.name in self.arrays:
            return self.arrays[given.name]
        return self._total(int(given.name.removeprefix("total")))

    def _index(self, d: Dim, own: str) -> str:
        """What Dask knows an axis by: the cut axes of one size go together, all others are alone."""
        return str(d.symbol) if d.symbol in self.cut else own

    def _size(self, d: Dim) -> int:
        size = self.graph.table.hint(d)
        if size is None:
            raise self._no_array("an array of a size that values decide")
        return size


def _meta(kind: TensorType) -> np.ndarray:
    return np.empty((0,) * kind.rank, kind.dtype.numpy)


def _spelled(name: str) -> str:
    """An argument, or a part of one, as Python writes it."""
    first, *parts = name.split(".")
    return first + "".join(f"[{part}]" if part.isdecimal() else f"[{part!r}]" for part in parts)


def _unchanged(x: Any, axis: Any, keepdims: bool) -> Any:
    return x


class _Combine:
    """Combines partial results along axes by a ufunc, where there are any."""

    __name__ = "combine"

    def __init__(self, ufunc: np.ufunc):
        self.ufunc = ufunc

    def __call__(self, x: np.ndarray, axis: tuple[int, ...], keepdims: bool) -> Any:
        if keepdims and x.size == 0 and 0 in (x.shape[a] for a in axis):
            return x  # nothing that a later step has to know of
        return self.ufunc.reduce(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
