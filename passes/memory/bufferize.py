"""Bufferisation: every tensor gets memory (stage `fused` to stage `buffers`), in one forward walk.

Results are written straight into the function's output buffers, an update (`outs`) happens in place where nobody
needs the old value, and everything else is a temporary of the arena, or of a worker where it lives within one row.
A copy is made in three cases only: an update whose old value is still needed, an update that reads its own target
through another map, and a loop-carried value that cannot be computed in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...dialects import kernel, loop
from ...dialects.attributes import (
    BufferInfo,
    BufferType,
    DimsAttr,
    buffer_type,
    dim_attr,
    from_attr,
    integer_attr,
    map_attr,
    scalar_type,
    tensor_of,
)
from ...dialects.dims.dims import Dim, dim, iterators, maximum, packed_strides
from ...dialects.dims.index_map import identity_map
from ..locations import copy_loc
from .arena import Arena, IvRange, aligned_bytes
from .liveness import Liveness, uses_inside
from .row_buffers import are_apart, clobbers, drop_outer_dims, inside, reads

__all__ = ["BufferizePass", "bufferize"]


@dataclass(frozen=True)
class BufferizePass(ModulePass):
    """Tensors to buffers.  `in_place=false` copies before every update: slow, and a check of the analysis."""

    name = "tx-bufferize"
    in_place: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in [f for f in op.body.block.ops if isinstance(f, func.FuncOp)]:
            bufferize(function, self.in_place)


def bufferize(function: func.FuncOp, in_place: bool = True) -> None:
    """Give the function buffer arguments (inputs, then outputs) and its body memory, in place.

    ``tx.strides`` holds the strides of the inputs (default: packed), ``tx.aliases`` for each result the input it is
    written into, or -1.  The function gets ``tx.outputs``: for each result the index of its buffer argument.
    """
    old = function.body.block
    new = Block(arg_types=[_input_type(function, i, a) for i, a in enumerate(old.args)])
    state = _Function(in_place, Liveness(function))
    for before, after in zip(old.args, new.args):
        state.bind(before, after)
        after.name_hint = before.name_hint
    returned = old.last_op
    assert isinstance(returned, func.ReturnOp)
    aliases = _aliases(function, len(returned.operands))
    targets: list[SSAValue] = []
    for value, alias in zip(returned.operands, aliases):
        if alias >= 0:
            state.writable.add(new.args[alias])
            targets.append(new.args[alias])
        else:
            info = _packed(value, _layout(value))
            argument = new.insert_arg(buffer_type(info), len(new.args))
            state.writable.add(argument)
            targets.append(argument)
    walk = _Rewriter(state, new, [])
    walk.prefer_buffer(returned.operands, targets, old)
    for op in list(old.ops):
        if op is not returned:
            walk.visit(op)
    walk.assign(returned, targets)
    new.add_op(func.ReturnOp())
    outputs = [list(new.args).index(t) for t in targets]  # pyright: ignore[reportArgumentType]
    function.detach_region(function.body)
    function.add_region(Region(new))
    function.function_type = FunctionType.from_lists([a.type for a in new.args], [])
    function.attributes["tx.outputs"] = ArrayAttr([integer_attr(i) for i in outputs])
    function.attributes["tx.arena"] = dim_attr(state.arena.size)
    function.attributes["tx.thread_arena"] = dim_attr(state.thread_arena)


def _input_type(function: func.FuncOp, i: int, argument: BlockArgument) -> Attribute:
    tensor = tensor_of(argument.type)
    given = function.attributes.get("tx.strides")
    strides = packed_strides(tensor.dims)
    if isinstance(given, ArrayAttr) and isinstance(given.data[i], DimsAttr):
        strides = given.data[i].data
    return buffer_type(BufferInfo(tensor.dtype, tensor.dims, strides))


def _aliases(function: func.FuncOp, results: int) -> list[int]:
    given = function.attributes.get("tx.aliases")
    return [int(v) for v in from_attr(given)] if isinstance(given, ArrayAttr) else [-1] * results


def _layout(value: SSAValue) -> Sequence[int] | None:
    owner = value.owner
    if isinstance(owner, kernel.RowGroupOp):
        return _layout(inside(owner, value))
    given = owner.attributes.get("layout") if isinstance(owner, Operation) else None
    return from_attr(given) if given is not None else None


def _packed(value: SSAValue, permutation: Sequence[int] | None = None) -> BufferInfo:
    tensor = tensor_of(value.type)
    return BufferInfo(tensor.dtype, tensor.dims, packed_strides(tensor.dims, permutation))


@dataclass
class _Function:
    """What is known of the whole function while it is walked."""

    in_place: bool
    liveness: Liveness
    arena: Arena = field(default_factory=Arena)
    thread_arena: Dim = field(default_factory=lambda: dim(0))
    buffers: dict[SSAValue, SSAValue] = field(default_factory=dict)
    holds: dict[SSAValue, list[SSAValue]] = field(default_factory=dict)
    writable: set[SSAValue] = field(default_factory=set)
    #: What the regions around hand on: written by their end at the latest, so nothing else may be there meanwhile.
    handed_on: set[SSAValue] = field(default_factory=set)
    wishes: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def bind(self, value: SSAValue, buffer: SSAValue) -> None:
        """From now on the value is in the buffer."""
        self.buffers[value] = buffer
        self.holds.setdefault(buffer, []).append(value)

    @contextmanager
    def yielding_buffers(self, buffers: Sequence[SSAValue]) -> Iterator[None]:
        """While a region is walked that hands its values on in these buffers."""
        added = set(buffers) - self.handed_on
        self.handed_on |= added
        try:
            yield
        finally:
            self.handed_on -= added

    def held(self, buffer: SSAValue, op: Operation) -> list[SSAValue]:
        """The values in a buffer that `op`, or what runs after it, may use: the others are forgotten."""
        held = self.holds.get(buffer)
        if held is None:
            return []
        held[:] = [v for v in held if not self.liveness.is_over(v, op)]
        return held

    def is_busy(self, buffer: SSAValue, op: Operation) -> bool:
        """Whether a value in the buffer is still needed after `op`."""
        return any(self.liveness.is_live_after(v, op) for v in self.held(buffer, op))


class _Rewriter:
    """Rewrites one block; `ranges` are the iterators of the loops around it."""

    def __init__(self, state: _Function, block: Block, ranges: list[IvRange]):
        self.state, self.block, self.ranges = state, block, ranges

    def visit(self, op: Operation) -> None:
        name, before = op.name.split(".")[1], self.block.last_op
        getattr(self, f"_visit_{name}")(op)
        copy_loc(op, self.block, before)

    def prefer_buffer(self, values: Sequence[SSAValue], targets: Sequence[SSAValue], block: Block) -> None:
        """Ask that values computed in `block`, and what they update or start from, be computed in the targets."""
        for value, target in zip(values, targets):
            wished: SSAValue | None = value
            while wished is not None and wished not in self.state.wishes:
                owner = wished.owner
                if not isinstance(owner, Operation) or owner.parent is not block:
                    break
                self.state.wishes[wished] = target
                wished = self._origin(wished, owner)

    def _origin(self, value: SSAValue, owner: Operation) -> SSAValue | None:
        """The value whose memory an update or a loop goes on with."""
        position = list(owner.results).index(value)  # pyright: ignore[reportArgumentType]
        if isinstance(owner, kernel.GenericOp):
            return owner.outs[position] if owner.outs else None
        if isinstance(owner, kernel.ScatterOp):
            return owner.base
        if isinstance(owner, kernel.CustomOp):
            return next((v for v in _replaced(owner) if not self.state.liveness.is_live_after(v, owner)), None)
        if isinstance(owner, kernel.IfOp):
            first, second = (self._start(region.block, position) for region in owner.regions)
            return first if first is second else None
        return owner.inits[position] if isinstance(owner, (kernel.ForOp, kernel.WhileOp)) else None

    def _start(self, branch: Block, position: int) -> SSAValue | None:
        """The value from before a branch whose memory a result of it goes on with."""
        assert branch.last_op is not None
        value: SSAValue | None = branch.last_op.operands[position]
        while value is not None and isinstance(owner := value.owner, Operation) and owner.parent is branch:
            value = self._origin(value, owner)
        return value

    def _copy_buffer(self, source: SSAValue, target: SSAValue) -> None:
        assert isinstance(source.type, BufferType)
        info = source.type.data
        body = Block(arg_types=[scalar_type(info.dtype)])
        body.add_op(kernel.YieldOp(body.args[0]))
        index = identity_map(info.dims)
        self.block.add_op(kernel.GenericOp([source], [target], info.dims, [index], [index], body, []))

    def _allocate(self, info: BufferInfo, op: Operation) -> SSAValue:
        """An arena temporary, in the slot of a dead one where one fits."""
        size = aligned_bytes(info, self.ranges)
        used = uses_inside(op)

        def is_free(holder: SSAValue) -> bool:
            # A buffer without a value yet is another result of this very op, or is being staged.
            if holder not in self.state.holds or holder in self.state.handed_on:
                return False
            return not self.state.is_busy(holder, op) and used.isdisjoint(self.state.held(holder, op))

        def is_over(holder: SSAValue) -> bool:
            return not self.state.held(holder, op)

        slot = self.state.arena.slot(size, is_free, is_over)
        made = loop.AllocOp(info, slot.offset)
        self.block.add_op(made)
        slot.buffers.append(made.result)
        self.state.writable.add(made.result)
        return made.result

    def _result_buffer(self, value: SSAValue, op: Operation) -> SSAValue:
        """Memory for a fresh result: where it is wished for, if that is free, else a temporary."""
        target = self.state.wishes.get(value)
        if target is not None and not self._conflicts(target, value, op):
            return target
        info = _packed(value, _layout(value))
        for operand in _replaced(op):
            buffer = self.state.buffers[operand]
            writable = self.state.in_place and buffer in self.state.writable
            if writable and buffer.type == buffer_type(info) and not self.state.is_busy(buffer, op):
                return buffer
        return self._allocate(info, op)

    def _conflicts(self, target: SSAValue, value: SSAValue, op: Operation) -> bool:
        """Whether a result of `op` straight in the target would destroy something that it, or a later op, reads."""
        if self.state.is_busy(target, op):
            return True
        held = self.state.held(target, op)
        if isinstance(op, kernel.RowGroupOp):
            return clobbers(op, value, held)
        if not isinstance(op, kernel.GenericOp) or op.is_reduction or op.outs:
            # A reduction stores before it has read everything; an update starts from a copy of all that it updates.
            used = uses_inside(op) - set(_replaced(op) if self.state.in_place else ())
            return any(v in used for v in held)
        return any(index is None or not index.is_identity for v, index in reads(op) if v in held)

    def _visit_empty(self, op: kernel.EmptyOp) -> None:
        self.state.bind(op.result, self._result_buffer(op.result, op))

    def _visit_generic(self, op: kernel.GenericOp) -> None:
        if op.outs:
            self._update(op)
            return
        targets = [self._result_buffer(r, op) for r in op.results]
        self._emit_nest(op, targets)
        for result, target in zip(op.results, targets):
            self.state.bind(result, target)

    def _emit_nest(self, op: kernel.GenericOp, targets: Sequence[SSAValue]) -> kernel.GenericOp:
        made = kernel.GenericOp.create(
            operands=[*[self.state.buffers[v] for v in op.ins], *targets],
            attributes={**op.attributes, "operandSegmentSizes": kernel.segments(len(op.ins), len(targets))},
            regions=[self._moved(region) for region in op.regions],
        )
        self.block.add_op(made)
        return made

    def _moved(self, region: Region) -> Region:
        """The region of scalars, with whole tensors read inside it replaced by their buffers.

        One that reads tensors stays where it is, too: whoever asks what is still needed finds it among their uses.
        """
        if not any(isinstance(op, kernel.ReadOp) for block in region.blocks for op in block.ops):
            return Region([region.detach_block(block) for block in tuple(region.blocks)])
        made = region.clone()
        for block in made.blocks:
            for op in block.ops:
                for i, operand in enumerate(op.operands):
                    if operand in self.state.buffers:
                        op.operands[i] = self.state.buffers[operand]
        return made

    def _update(self, op: kernel.GenericOp) -> None:
        """A store into a view of a tensor: in place where the old value is dead."""
        (base,) = op.outs
        (result,) = op.results
        buffer = self.state.buffers[base]
        free = self.state.in_place and buffer in self.state.writable and not self.state.is_busy(buffer, op)
        if not free:
            target = self._result_buffer(result, op)
            self._copy_buffer(buffer, target)
            self._emit_nest(op, [target])
            self.state.bind(result, target)
            return
        held = self.state.held(buffer, op)
        (store,) = op.maps_out()
        if any(v in held and index != store and not are_apart(index, store) for v, index in reads(op)):
            self._emit_staged(op, buffer)
        else:
            self._emit_nest(op, [buffer])
        self.state.bind(result, buffer)

    def _visit_scatter(self, op: kernel.ScatterOp) -> None:
        """Stores at computed places: in place where the old value is dead and no point reads what another stores."""
        buffer, (result,) = self.state.buffers[op.base], op.results
        free = self.state.in_place and buffer in self.state.writable and not self.state.is_busy(buffer, op)
        target = buffer
        if not free or op.disturbs(self.state.held(buffer, op)):
            target = self._result_buffer(result, op)
            if target is buffer:
                target = self._allocate(_packed(result, _layout(result)), op)
            self._copy_buffer(buffer, target)
        self.block.add_op(
            kernel.ScatterOp.create(
                operands=[*[self.state.buffers[v] for v in op.ins], target],
                attributes=dict(op.attributes),
                regions=[self._moved(region) for region in op.regions],
            )
        )
        self.state.bind(result, target)

    def _emit_staged(self, op: kernel.GenericOp, buffer: SSAValue) -> None:
        """Compute the stored value into a temporary first: the nest reads what it would overwrite."""
        (store,) = op.maps_out()
        assert isinstance(buffer.type, BufferType)
        dims = op.extents.data
        info = BufferInfo.packed(buffer.type.data.dtype, dims)
        staging = self._allocate(info, op)
        nest = self._emit_nest(op, [staging])
        index = identity_map(dims)
        nest.attributes["out_maps"] = ArrayAttr([map_attr(index)])
        body = Block(arg_types=[scalar_type(info.dtype)])
        body.add_op(kernel.YieldOp(body.args[0]))
        self.block.add_op(kernel.GenericOp([staging], [buffer], dims, [index], [store], body, []))

    def _visit_custom(self, op: kernel.CustomOp) -> None:
        targets = [self._result_buffer(r, op) for r in op.results]
        ins = [self.state.buffers[v] for v in op.ins]
        self.block.add_op(kernel.CustomOp(op.fn.data, ins, targets, op.params, in_place=op.in_place is not None))
        for result, target in zip(op.results, targets):
            self.state.bind(result, target)

    def _visit_row_group(self, op: kernel.RowGroupOp) -> None:
        """Values that leave a row are whole buffers; the others live in the worker's own memory, one row at a time."""
        last = op.body.block.last_op
        assert isinstance(last, kernel.YieldOp)
        leaving = dict(zip(last.values, op.results))
        outer: dict[SSAValue, SSAValue] = {}
        for inner, result in leaving.items():
            outer[inner] = self._result_buffer(result, op)
        body = Block()
        walk = _Rewriter(self.state, body, self.ranges)
        offset = dim(0)
        of_row: dict[SSAValue, list[int]] = {}
        for nest in op.nests:
            before = self.block.last_op
            targets: list[SSAValue] = []
            for value, written in zip(nest.results, nest.maps_out()):
                if value in outer:
                    targets.append(outer[value])
                    continue
                tensor, shared = tensor_of(value.type), set(iterators(op.n_shared))
                own = [i for i, e in enumerate(written.exprs) if e not in shared]
                row = tuple(tensor.dims[i] for i in own)
                info = BufferInfo.packed(tensor.dtype, row)
                made = loop.AllocOp(info, offset, "thread")
                self.block.add_op(made)
                offset = offset + aligned_bytes(info, self.ranges)
                of_row[made.result] = own
                targets.append(made.result)
            copy_loc(nest, self.block, before)
            made_nest = walk._emit_nest(nest, targets)
            for value, target in zip(nest.results, targets):
                self.state.bind(value, target)
            drop_outer_dims(made_nest, of_row)
        body.add_op(kernel.YieldOp())
        rows = kernel.RowGroupOp(op.n_shared, body, [])
        self.block.add_op(rows)
        for inner, result in leaving.items():
            self.state.bind(result, outer[inner])
        self.state.thread_arena = maximum(self.state.thread_arena, offset)

    def _visit_for(self, op: kernel.ForOp) -> None:
        lower, upper, step = op.lower.data, op.upper.data, op.step.data
        number: list[SSAValue] = []
        if op.alone is not None:
            read = loop.LoadOp(self.state.buffers[op.inits[op.alone]], [])
            self.block.add_op(read)
            number = [read.result]
        carried = self._enter_loop(op, op.inits)
        body = Block()
        walk = _Rewriter(self.state, body, [*self.ranges, IvRange(op.symbol, lower, upper - 1)])
        with self.state.yielding_buffers(carried):
            walk._loop_body(op.body.block, carried, op.ends_at)
        until = None if op.ends_at is None else 0
        only = None if op.alone is None else 0
        self.block.add_op(kernel.ForOp(op.iv.data, lower, upper, step, number, body, until, only))
        self._leave_loop(op, carried)

    def _visit_while(self, op: kernel.WhileOp) -> None:
        carried = self._enter_loop(op, op.inits)
        condition = Block()
        test = _Rewriter(self.state, condition, self.ranges)
        for argument, buffer in zip(op.condition.block.args, carried):
            self.state.bind(argument, buffer)
        last = op.condition.block.last_op
        assert isinstance(last, kernel.YieldOp)
        # The body needs what the condition was asked of.
        kept = self.state.writable & set(carried)
        self.state.writable -= kept
        body = Block()
        with self.state.yielding_buffers(carried):
            for inner in op.condition.block.ops:
                if inner is not last:
                    test.visit(inner)
            test._yield_flag(last.values[0])
            self.state.writable |= kept
            _Rewriter(self.state, body, self.ranges)._loop_body(op.body.block, carried)
        self.block.add_op(kernel.WhileOp([], condition, body))
        self._leave_loop(op, carried)

    def _visit_if(self, op: kernel.IfOp) -> None:
        flag = loop.LoadOp(self.state.buffers[op.condition], [])
        self.block.add_op(flag)
        targets: list[SSAValue] = []
        for result in op.results:
            target = self._updated_in_branches(result, op)
            targets.append(self._result_buffer(result, op) if target is None or target in targets else target)
        branches: list[Block] = []
        for region in op.regions:
            block = Block()
            with self.state.yielding_buffers(targets):
                _Rewriter(self.state, block, self.ranges)._branch(region.block, targets)
            branches.append(block)
        self.block.add_op(kernel.IfOp(flag.result, branches[0], branches[1], []))
        for result, target in zip(op.results, targets):
            self.state.bind(result, target)

    def _updated_in_branches(self, result: SSAValue, op: kernel.IfOp) -> SSAValue | None:
        """The memory of a tensor that branches update, or leave as it is, where what it was is not needed any more."""
        origin = self._origin(result, op)
        buffer = None if origin is None else self.state.buffers[origin]
        if buffer is None or not self.state.in_place or buffer not in self.state.writable:
            return None
        return None if self.state.is_busy(buffer, op) else buffer

    def _branch(self, old: Block, targets: Sequence[SSAValue]) -> None:
        last = old.last_op
        assert isinstance(last, kernel.YieldOp)
        self.prefer_buffer(last.values, targets, old)
        for op in old.ops:
            if op is not last:
                self.visit(op)
        self.assign(last, targets)
        self.block.add_op(kernel.YieldOp())

    def _yield_flag(self, value: SSAValue) -> None:
        flag = loop.LoadOp(self.state.buffers[value], [])
        self.block.add_ops([flag, kernel.YieldOp(flag.result)])

    def _enter_loop(self, op: Operation, inits: Sequence[SSAValue]) -> list[SSAValue]:
        """One buffer a carried value: the initial value's own where that is dead afterwards, else a copy."""
        carried: list[SSAValue] = []
        # The body may read the initial value also as what it was before the loop.
        read = {v for region in op.regions for inner in region.walk() for v in inner.operands}
        for init, result in zip(inits, op.results):
            source = self.state.buffers[init]
            reusable = self.state.in_place and source in self.state.writable and source not in carried
            reusable = reusable and read.isdisjoint(self.state.held(source, op))
            if isinstance(source.owner, Block) and not tensor_of(init.type).rank:
                reusable = False
            if reusable and not self.state.is_busy(source, op) and list(inits).count(init) == 1:
                carried.append(source)
                continue
            # A number is carried in a temporary of its own, which becomes a register; anything else where it ends up.
            target = self._result_buffer(result, op) if tensor_of(result.type).rank else None
            if target is None or target in carried:
                target = self._allocate(_packed(result, _layout(result)), op)
            if not isinstance(init.owner, kernel.EmptyOp):  # which has no elements yet
                self._copy_buffer(source, target)
            carried.append(target)
        return carried

    def _loop_body(self, old: Block, carried: Sequence[SSAValue], until: int | None = None) -> None:
        """The body of a loop: next values are computed in place where they can be, else copied over at its end.

        It yields the carried flag number `until`, where there is one.
        """
        for argument, buffer in zip(old.args, carried):
            self.state.bind(argument, buffer)
        last = old.last_op
        assert isinstance(last, kernel.YieldOp)
        self.prefer_buffer(last.values, carried, old)
        for op in old.ops:
            if op is not last:
                self.visit(op)
        self.assign(last, carried)
        if until is None:
            self.block.add_op(kernel.YieldOp())
        else:
            flag = loop.LoadOp(carried[until], [])
            self.block.add_ops([flag, kernel.YieldOp(flag.result)])

    def assign(self, last: Operation, targets: Sequence[SSAValue]) -> None:
        """Bring what a block's last op hands on into the targets.

        All at once, as in ``a, b = b, a``: a source that is itself a target is saved first.
        """
        sources: list[SSAValue] = []
        for value, target in zip(last.operands, targets):
            source = self.state.buffers[value]
            if source is not target and source in targets:
                saved = self._allocate(_packed(value), last)
                self._copy_buffer(source, saved)
                source = saved
            sources.append(source)
        for source, target in zip(sources, targets):
            if source is not target:
                self._copy_buffer(source, target)

    def _leave_loop(self, op: Operation, carried: Sequence[SSAValue]) -> None:
        for result, buffer in zip(op.results, carried):
            self.state.bind(result, buffer)


def _replaced(op: Operation) -> Sequence[SSAValue]:
    """The operand in whose memory the result of a foreign kernel may be."""
    return op.ins if isinstance(op, kernel.CustomOp) and op.in_place is not None else ()
