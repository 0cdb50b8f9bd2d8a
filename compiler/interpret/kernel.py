"""Runs the stages `fused` (kernels on tensors) and `buffers` (kernels on memory).

A nest is one evaluation of its body on whole arrays: iterators are index arrays, inputs are gathered through their
maps, results scattered.  Reductions keep exactly their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.dims.dims import Sym
from ...dialects.kernel import CustomOp, EmptyOp, ForOp, GenericOp, IfOp, RowGroupOp, ScatterOp, WhileOp, shape_of
from .custom import run_custom
from .frame import Frame, naming
from .memory import Arena, Memory, evaluate, uninitialized
from .reduction_order import Accumulators, reduce_in_order, scan
from .scalar_ops import InterpretError, literal
from .setup import enter, function_of

__all__ = ["run"]

Array = np.ndarray[Any, Any]

#: Points of an iteration space that are computed at once.
_POINTS = 1 << 21


def run(module: ModuleOp, arrays: Sequence[Array], symbols: Mapping[str, int], *, has_fma: bool = True) -> list[Array]:
    """Run the module's function.

    Stage `fused`: `arrays` are its inputs, the results are fresh arrays.  Stage `buffers`: `arrays` are all its
    buffers in order, outputs are written in place and `arrays` comes back.  `symbols` gives the run-time symbols;
    those that are a dim of an argument need no value.  Raises InterpretError, naming the op, for a program or
    arguments that cannot run.
    """
    function = function_of(module)
    frame = enter(function, arrays, symbols, has_fma)
    returned = _Kernels(frame).block(frame, function.body.block)
    if not returned:
        return list(arrays)
    return [frame.memory[value].array.copy() for value in returned]


class _Kernels:
    def __init__(self, frame: Frame):
        self.memory, self.values = frame.memory, frame.values

    def block(self, frame: Frame, block: Block) -> tuple[SSAValue, ...]:
        """Run a block's ops and give the operands of its terminator."""
        last = block.last_op
        assert last is not None
        for op in block.ops:
            if op is last:
                break
            try:
                self.op(frame, op)
            except InterpretError as error:
                raise naming(op, error) from None
        return tuple(last.operands)

    def op(self, frame: Frame, op: Operation) -> None:
        match op:
            case GenericOp():
                self.generic(frame, op, self.outputs(frame, op))
            case EmptyOp():
                element, dims = shape_of(op.result.type)
                shape = [int(evaluate(d, frame.env)) for d in dims]
                self.memory[op.result] = Memory(uninitialized(shape, element), element)
            case ScatterOp():
                self.scatter(frame, op)
            case RowGroupOp():
                self.rows(frame, op)
            case CustomOp():
                self.foreign(frame, op)
            case ForOp():
                self.loop(frame, op)
            case WhileOp():
                self.repeat(frame, op)
            case IfOp():
                taken = op.then if self.truth(op.condition) else op.otherwise
                self.bind(op.results_, self.block(frame.fork(), taken.block))
            case func.CallOp():
                raise InterpretError("calls are not part of this stage")
            case _:
                if not frame.run_scalar(op):
                    raise InterpretError("does not belong to this stage")

    def bind(self, targets: Sequence[SSAValue], sources: Sequence[SSAValue]) -> None:
        """Let the targets name the tensors that the sources name now."""
        self.memory.update(zip(targets, [self.memory[s] for s in sources], strict=True))

    def truth(self, condition: SSAValue) -> bool:
        return bool(self.number(condition))

    def number(self, value: SSAValue) -> int:
        found = self.memory.get(value)
        return int(self.values[value] if found is None else found.array)

    def loop(self, frame: Frame, op: ForOp) -> None:
        lower, upper, step = (int(evaluate(e.data, frame.env)) for e in (op.lower, op.upper, op.step))
        if step <= 0:
            raise InterpretError(f"the step is {step}: it must be positive")
        # On buffers nothing is carried: an operand is the number of the only iteration.
        carried: Sequence[SSAValue] = op.inits if op.results_ else ()
        for i in range(lower, upper, step) if op.alone is None else [self.number(op.inits[op.alone])]:
            self.bind(op.body.block.args, carried)
            inner = frame.fork()
            inner.env[op.symbol] = i
            yielded = self.block(inner, op.body.block)
            carried = yielded[: len(carried)]  # on buffers there is nothing but the flag
            if op.ends_at is not None and self.truth(yielded[op.ends_at]):
                break
        self.bind(op.results_, carried)

    def repeat(self, frame: Frame, op: WhileOp) -> None:
        carried: Sequence[SSAValue] = op.inits
        while True:
            # Both regions take the carried tensors; the targets of `bind` may be its sources, which it reads first.
            self.bind([*op.condition.block.args, *op.body.block.args], [*carried, *carried])
            if not self.truth(self.block(frame.fork(), op.condition.block)[0]):
                break
            carried = self.block(frame.fork(), op.body.block)
        self.bind(op.results_, op.condition.block.args)

    def outputs(self, frame: Frame, op: GenericOp) -> list[Memory]:
        """What a nest writes: its buffers, copies of the tensors it updates, or fresh tensors."""
        if not op.results_:
            return [frame.found(o) for o in op.outs]
        if op.outs:
            found = [Memory(frame.found(o).array.copy(), frame.found(o).element) for o in op.outs]
        else:
            found = []
            for result in op.results_:
                element, dims = shape_of(result.type)
                found.append(Memory(uninitialized([int(evaluate(d, frame.env)) for d in dims], element), element))
        self.memory.update(zip(op.results_, found))
        return found

    def scatter(self, frame: Frame, op: ScatterOp) -> None:
        """All places and new elements at once, then the stores, in order."""
        memory = frame.found(op.base)
        if op.results_:
            memory = Memory(memory.array.copy(), memory.element)
            self.memory[op.results_[0]] = memory
        inner = frame
        for i, extent in reversed(list(enumerate(op.extents.data))):
            inner = inner.bind_axis(Sym(f"d{i}"), np.arange(int(evaluate(extent, frame.env))))
        if 0 in inner.batch:
            return
        (value,) = inner.run_body(op.body.block, self.inputs(inner, op, 0, len(op.ins)))
        place = op.out_map.data
        index, where = inner.index(place.exprs), inner.where(place.guards)
        if not op.combiner.blocks:
            memory.scatter(index, value, where, inner.worker)
            return
        # One ordered point after another: a later one sees what an earlier one stored.
        ordered, rest = inner.batch[: op.n_ordered], inner.batch[op.n_ordered :]
        count = int(np.prod(ordered))
        *index, value, where = (
            np.broadcast_to(x, inner.batch).reshape(count, *rest)
            for x in (*index, value, True if where is None else where)
        )
        for p in range(count):
            at = [i[p] for i in index]
            old = memory.gather(at, where[p], inner.worker)
            (new,) = inner.run_body(op.combiner.block, (old, value[p]))
            memory.scatter(at, new, where[p], inner.worker)

    def foreign(self, frame: Frame, op: CustomOp) -> None:
        """Run the loops that the op's generator makes, whose order of arithmetic is the op's meaning, bit for bit."""
        made = []
        for result in op.results_:
            element, dims = shape_of(result.type)
            made.append(Memory(uninitialized([int(evaluate(d, frame.env)) for d in dims], element), element))
        self.memory.update(zip(op.results_, made))
        outs = made or [frame.found(o) for o in op.outs]
        run_custom(op, [frame.found(v).array for v in op.ins], [m.array for m in outs], frame.scalars.builder.has_fma)

    def rows(self, frame: Frame, op: RowGroupOp) -> None:
        """On tensors the nests run one after another; on buffers each row has private memory of its own."""
        nests = op.nests
        if op.results_ or any(nest.results_ for nest in nests):
            returned = self.block(frame.fork(), op.body.block)
            self.bind(op.results_, returned)
            return
        shared = [int(evaluate(e, frame.env)) for e in nests[0].extents.data[: op.n_shared]]
        points = max(1, int(np.prod(shared[1:])))
        chunk = max(1, min(_POINTS, (64 << 20) // max(64, frame.private.size)) // points)
        for first in range(0, shared[0], chunk):
            last = min(first + chunk, shared[0])
            inner = frame.fork(private=Arena(frame.private.size, (last - first) * points))
            for nest in op.body.block.ops:
                try:
                    if isinstance(nest, GenericOp):
                        self.points(inner, nest, [inner.found(o) for o in nest.outs], (first, last), op.n_shared)
                    elif nest is not op.body.block.last_op:
                        self.op(inner, nest)
                except InterpretError as error:
                    raise naming(nest, error) from None

    def generic(self, frame: Frame, op: GenericOp, outputs: list[Memory]) -> None:
        """Run a nest on its whole iteration space, in pieces along the first iterator where it is large."""
        if not op.n_parallel:
            self.points(frame, op, outputs, (0, 1), 0)
            return
        extents = [int(evaluate(e, frame.env)) for e in op.extents.data[: op.n_parallel]]
        chunk = max(1, _POINTS // max(1, int(np.prod(extents[1:]))))
        for first in range(0, extents[0], chunk):
            self.points(frame, op, outputs, (first, min(first + chunk, extents[0])), 0)

    def points(self, frame: Frame, op: GenericOp, outputs: list[Memory], part: tuple[int, int], shared: int) -> None:
        """Run a nest on the part of its iteration space that has its first iterator in a range."""
        extents = [int(evaluate(e, frame.env)) for e in op.extents.data]
        inner = frame
        for d in reversed(range(op.n_parallel)):
            inner = inner.bind_axis(Sym(f"d{d}"), np.arange(*part) if d == 0 else np.arange(extents[d]))
        if 0 in inner.batch:
            return
        if shared:
            inner.worker = inner.env[Sym("d0")] - part[0]
            for d in range(1, shared):
                inner.worker = inner.worker * extents[d] + inner.env[Sym(f"d{d}")]
        if op.is_scan:
            inner, results = self.scan(inner, op, extents[-1])
        elif op.is_reduction:
            results = self.reduce(inner, op, extents[-1])
        else:
            results = inner.run_body(op.body.block, self.inputs(inner, op, 0, len(op.ins)))
        for memory, index, value in zip(outputs, op.maps_out(), results, strict=True):
            memory.scatter(inner.index(index.exprs), value, inner.where(index.guards), inner.worker)

    def inputs(self, frame: Frame, op: GenericOp | ScatterOp, first: int, last: int) -> list[Array]:
        pairs = list(zip(op.ins, op.maps_in()))[first:last]
        return [frame.load(value, index.exprs, index.guards) for value, index in pairs]

    def reduce(self, frame: Frame, op: GenericOp, count: int) -> tuple[Array, ...]:
        assert op.order is not None
        identity, element, combine = self.reduction_parts(frame, op)
        accumulators = reduce_in_order(op.order.data, count, element, combine, identity, frame.batch, frame.scalars.fma)
        more = self.inputs(frame, op, op.n_element_inputs, len(op.ins))
        return frame.run_body(op.epilogue.block, [*accumulators, *more])

    def scan(self, frame: Frame, op: GenericOp, count: int) -> tuple[Frame, tuple[Array, ...]]:
        """The results at every point along the axis, and the frame in which that is one more axis."""
        assert op.order is not None and op.scan is not None
        identity, element, combine = self.reduction_parts(frame, op)
        exclusive = op.scan.data == "exclusive"
        accumulators, _ = scan(op.order.data, count, element, combine, identity, identity, frame.batch, exclusive)
        inner = frame.bind_axis(op.reduced, np.arange(count))
        posts = self.inputs(inner, op, op.n_element_inputs, len(op.ins))
        return inner, inner.run_body(op.epilogue.block, [*accumulators, *posts])

    def reduction_parts(
        self, frame: Frame, op: GenericOp
    ) -> tuple[list[Any], Callable[[Array], Accumulators], Callable[[Accumulators, Accumulators], Accumulators]]:
        """The identity, the elements and the combiner of a reduction, in a frame of its parallel iterators."""
        assert op.identity is not None
        reduced, posted = op.reduced, op.n_element_inputs

        def element(ks: Array) -> Accumulators:
            inner = frame.fork(batch=(len(ks), *frame.batch))
            inner.env[reduced] = ks
            return inner.run_body(op.body.block, self.inputs(inner, op, 0, posted))

        def combine(older: Accumulators, newer: Accumulators) -> Accumulators:
            return frame.run_body(op.combiner.block, older + newer)

        return [literal(i) for i in op.identity.data], element, combine
