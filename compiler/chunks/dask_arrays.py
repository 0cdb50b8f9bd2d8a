"""Calls of jitted functions with Dask's arrays: what is computed chunk by chunk, as Dask's lazy arrays.

All that Dask has to be told follows from the graph of the function (`axes.py`): no chunk is computed to find it out.
An output is one `blockwise` layer of its own program; a reduction along axes that are cut is another one, whose partial
results a tree of NumPy's ufunc combines, or, with ``exact=True``, the order of arithmetic (`block_order.py`).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
from dask.array.core import unify_chunks
from dask.delayed import delayed

from ...dialects.dims.dims import Dim, Sym
from ...dialects.types import TensorType
from ..call.foreign_arrays import LeftToPython, is_dask_array
from ..call.signature import BoxedOutput, Literal, NumberOutput, is_named, like
from ..diagnostics import TxcError, head_of
from ..frontend.trace.graph import Input, Node, Value
from .axes import NeedsWholeAxis, mentioned_by
from .block_order import BlockOrder, CombineBlocks, ReduceBlocks, block_order
from .program import ChunkedCall, ChunkProgram, Form

if TYPE_CHECKING:
    from ..driver.jit import Jitted

__all__ = ["call_on_dask_arrays"]


def call_on_dask_arrays(function: Jitted, bound: inspect.BoundArguments) -> Any:
    """The function's result for these arguments, with Dask's arrays for arrays.  No chunk is computed.

    TxcError where a chunk of the result needs more than a chunk of each argument, for chunks of unknown size, and for
    results that no lazy array is.
    """
    if function.compile_options.gpu:
        raise TxcError(
            f"{function.__name__} runs on {function.compile_options.device}, and arrays of Dask's are in memory",
            hint='call f.options(device="cpu")', code="TX0332",
        )  # fmt: skip
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
        value = _in_one_chunk(value)
    elif type(value) is dict:
        return {k: _without_arrays(f"{name}[{k!r}]", v, arrays) for k, v in value.items()}
    elif type(value) in (tuple, list) or is_named(value):
        return like(value, [_without_arrays(f"{name}[{i}]", v, arrays) for i, v in enumerate(value)])
    else:
        return value
    arrays.append(value)
    return Form(len(arrays) - 1, value.dtype.newbyteorder("="), value.shape)


def _in_one_chunk(array: np.ndarray) -> Any:
    return da.from_array(array, chunks=-1)  # pyright: ignore[reportArgumentType]


class _Result:
    """The result of a call, part by part; `arrays` are Dask's, by the numbers of the forms."""

    def __init__(self, call: ChunkedCall, arrays: Sequence[Any]):
        self.call, self.graph = call, call.graph
        self.name = call.function.__name__
        self.arrays = {i.name: self._array(i, arrays) for i in self.graph.inputs if i.kind == "tensor"}
        self._refuse_effects(arrays)
        #: Where each symbol is cut: the inputs and their axes.
        self.places: dict[Sym, list[tuple[Input, int]]] = {}
        for given in self.graph.inputs:
            if given.name in self.arrays:
                self._note_cuts(given)
        self.cut = frozenset(self.places)
        #: What was made of outputs and totals, by their numbers.
        self._made: dict[int, Any] = {}
        self._totals: dict[int, Any] = {}
        #: With `exact`: in which blocks totals are reduced, where bits depend on that.
        self._blocks: dict[int, BlockOrder | None] = {}

    def _array(self, given: Input, arrays: Sequence[Any]) -> Any:
        if given.layout != "row":
            raise LeftToPython(f"{given.name} is a column-major tensor")
        if given.name in self.call.numbers:
            return arrays[self.call.numbers[given.name]]
        return _in_one_chunk(np.asarray(given.source if given.hidden else self.call.leaves[given.name].value))

    def _note_cuts(self, given: Input) -> None:
        assert given.value is not None
        for axis, (d, chunks) in enumerate(zip(given.value.type.dims, self.arrays[given.name].chunks, strict=True)):
            if len(chunks) == 1:
                continue
            if d.symbol is None:
                what = f"is compiled for the size of {self._axis_text(given, axis)}"
                raise self._impossible(what, self._advice(given, axis), "TX0330")
            self.places.setdefault(d.symbol, []).append((given, axis))

    def _refuse_effects(self, arrays: Sequence[Any]) -> None:
        """TxcError where the function does something else than to give results."""
        outputs, inputs = self.graph.outputs, self.graph.inputs
        for number, position in self.graph.aliases.items():
            written = inputs[position]
            if outputs[number] is not written.value:
                name = "an array that it captures" if written.hidden else _spelled(written.name)
                what = f"writes to {name}, and is called when chunks of its results are computed"
                raise self._impossible(what, "write into a copy, and return that")
        for node in () if self._arrays_in(self.graph.structure) else self.call.demands:
            raise self._unshown(node)
        if self.graph.compared and len({*map(id, arrays)}) < len(arrays):
            raise self._impossible("asks which of its arguments are one array", "pass each array once")

    def _impossible(self, what: str, hint: str, code: str = "TX0332") -> TxcError:
        return TxcError(f"{self.name} {what}", head_of(self.call.function.__wrapped__), hint, code)

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
            program = ChunkProgram(self.call, self.cut, "numbers", [int(structure)])
            if not program.inputs:
                return program().item()
        elif type(structure) in (tuple, list) or is_named(structure):
            return like(structure, [self.of(part) for part in structure])
        elif type(structure) is dict:
            return {k: self.of(part) for k, part in structure.items()}
        raise self._no_array("a number of Python's, or what no array is")

    def _no_array(self, what: str) -> TxcError:
        return self._impossible(f"gives {what}", "return arrays whose sizes follow from those of the arguments")

    def _output(self, number: int) -> Any:
        if number not in self._made:
            totals = list(self.call.totals(self.cut))
            outputs = self.graph.outputs
            direct = [] if self.call.demands else totals
            if outputs[number] in direct:
                return self._total(totals.index(outputs[number]))
            alike = [n for n in self._arrays_in(self.graph.structure) if outputs[n] not in direct]
            alike = [n for n in alike if self._cut_axes(outputs[n]) == self._cut_axes(outputs[number])]
            self._refuse_demands(self._cut_axes(outputs[number]))
            program = ChunkProgram(self.call, self.cut, "arrays", alike)
            self._made.update(zip(alike, self._layer(program)))
        return self._made[number]

    def _refuse_demands(self, axes: frozenset[Sym]) -> None:
        """TxcError where something is checked that chunks along these axes do not show."""
        for node in self.call.demands:
            if not mentioned_by(node) & self.cut <= axes:
                raise self._unshown(node)

    def _unshown(self, node: Node) -> TxcError:
        what = f"{self.name} raises an error that a chunk of its result does not show"
        return TxcError(what, node.loc, "check it before the call, or use what is checked", "TX0332")

    def _total(self, number: int) -> Any:
        """A reduction across chunks: partial results, and the tree that combines them."""
        if number in self._totals:
            return self._totals[number]
        blocks = self._block_order(number)
        if blocks is not None:
            self._totals[number] = self._total_in_order(number, blocks)
        else:
            totals = self.call.totals(self.cut)
            kinds = [(total.symbols, self._cut_axes(v)) for v, total in totals.items()]
            alike = [n for n, kind in enumerate(kinds) if kind == kinds[number] and self._block_order(n) is None]
            program = ChunkProgram(self.call, self.cut, "totals", alike)
            for n, partial, total, kind in zip(alike, self._layer(program), program.totals, program.types):
                combine, axes = _Combine(total.combine), tuple(range(len(total.symbols)))
                self._totals[n] = da.reduction(
                    partial, chunk=_unchanged, combine=combine, aggregate=combine, axis=axes,
                    dtype=partial.dtype, meta=_meta(kind),
                )  # fmt: skip
        return self._totals[number]

    def _block_order(self, number: int) -> BlockOrder | None:
        """In which blocks a total is reduced; None where chunks may be combined in any way."""
        if not self.call.function.compile_options.exact:
            return None
        if number not in self._blocks:
            self._blocks[number] = block_order(self.call, self.cut, number, self.graph.table.hints)
        return self._blocks[number]

    def _total_in_order(self, number: int, blocks: BlockOrder) -> Any:
        """A reduction across chunks with the bits of one array: of chunks of whole blocks, combined by their order."""
        program, axis = ReduceBlocks(self.call, self.cut, number, blocks), str(blocks.symbol)
        operands = self._operands(program.inputs)
        chunks, arrays = unify_chunks(*operands)
        lengths = blocks.aligned(chunks[axis])
        starts = da.from_array(np.cumsum((0, *lengths[:-1])), chunks=(1,))  # pyright: ignore[reportArgumentType]
        aligned: list[Any] = [starts, [axis]]
        for array, index in zip(arrays, operands[1::2], strict=True):
            aligned += [array.rechunk({index.index(axis): lengths}) if axis in index else array, index]
        kind = program.value.type
        partial = self._blockwise(program, kind, [axis], aligned, align_arrays=False)
        combine, finish = (CombineBlocks(blocks.order, blocks.by, finish) for finish in (False, True))
        return da.reduction(
            partial, chunk=_unchanged, combine=combine, aggregate=finish, axis=(0,), concatenate=False,
            dtype=partial.dtype, meta=_meta(kind),
        )  # fmt: skip

    def _arrays_in(self, structure: Any) -> list[int]:
        """The outputs that a structure has as arrays, each once."""
        if type(structure) in (int, BoxedOutput):
            return [int(structure)]
        if isinstance(structure, (tuple, list, dict)):
            parts = structure.values() if isinstance(structure, dict) else structure
            return [*dict.fromkeys(n for part in parts for n in self._arrays_in(part))]
        return []

    def _cut_axes(self, value: Value) -> frozenset[Sym]:
        return frozenset(d.symbol for d in value.type.dims if d.symbol is not None) & self.cut

    def _layer(self, program: ChunkProgram) -> list[Any]:
        """The arrays that a program makes: one layer, and for each of several one that takes it out."""
        operands = self._operands(program.inputs)
        if not operands:
            return self._of_nothing(program)
        front = [str(s) for s in program.reduced]
        if len(program.types) == 1:
            return [self._blockwise(program, program.types[0], front, operands)]
        places = [*front, *sorted(str(d) for d in program.types[0].dims if d.symbol in self.cut)]
        together = da.blockwise(
            program, places, *operands, token=self.name, dtype=np.dtype(object),
            meta=np.empty((0,) * len(places), object), adjust_chunks=dict.fromkeys(front, 1),
        )  # fmt: skip
        return [
            self._blockwise(_Item(n), kind, front, [together, places]) for n, kind in enumerate(program.types)
        ]  # fmt: skip

    def _operands(self, inputs: Sequence[Input]) -> list[Any]:
        """The arrays for inputs of a program, each with the names of its axes behind it."""
        operands: list[Any] = []
        for given in inputs:
            assert given.value is not None
            index = [self._index(d, f"{given.name}/{axis}") for axis, d in enumerate(given.value.type.dims)]
            operands += [self._operand(given), index]
        return operands

    def _blockwise(
        self, program: Any, kind: TensorType, front: Sequence[str], operands: Sequence[Any], align_arrays: bool = True
    ) -> Any:
        """An array that a program makes chunk by chunk; `front` are the axes of partial results, of size 1 each."""
        sizes = {f"+{i}": self._size(d) for i, d in enumerate(kind.dims) if d.symbol not in self.cut}
        places = (*front, *(self._index(d, f"+{i}") for i, d in enumerate(kind.dims)))
        return da.blockwise(
            program, places, *operands, token=self.name, dtype=kind.dtype.numpy, new_axes=sizes,
            meta=np.empty((0,) * len(places), kind.dtype.numpy), adjust_chunks=dict.fromkeys(front, 1),
            align_arrays=align_arrays,
        )  # fmt: skip

    def _of_nothing(self, program: ChunkProgram) -> list[Any]:
        """The arrays of a program without inputs, each in one chunk."""
        made: Any = delayed(program)()
        parts = [made] if len(program.types) == 1 else [made[n] for n in range(len(program.types))]
        forms = [(tuple(map(self._size, kind.dims)), kind.dtype.numpy) for kind in program.types]
        return [da.from_delayed(part, *form) for part, form in zip(parts, forms)]

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


class _Item:
    """Takes one result out of those of a chunk."""

    def __init__(self, number: int):
        self.number = number

    def __call__(self, results: tuple[Any, ...]) -> Any:
        return results[self.number]


class _Combine:
    """Combines partial results along axes by a ufunc, where there are any."""

    __name__ = "combine"

    def __init__(self, ufunc: np.ufunc):
        self.ufunc = ufunc

    def __call__(self, x: np.ndarray, axis: tuple[int, ...], keepdims: bool) -> Any:
        if keepdims and 0 in (x.shape[a] for a in axis):  # nothing, and nothing is left of it
            return x[tuple(slice(0, 1) if a in axis else slice(None) for a in range(x.ndim))]
        return self.ufunc.reduce(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
