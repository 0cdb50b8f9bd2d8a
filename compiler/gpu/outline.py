"""From the loops of a function to kernels and a launch plan: `outline`.

The top level of a function that is scheduled for a GPU is what the host does; each nest of ``gpu_block`` there becomes
a kernel of its own, a function over the buffers and the symbols that the nest uses.  What is left is the plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects.attributes import (
    BufferInfo,
    BufferType,
    DimAttr,
    DimsAttr,
    MapAttr,
    TensorMapType,
    dims_attr,
    from_attr,
)
from ...dialects.dims.dims import Dim, Sym
from ...dialects.loop import (
    AllocOp,
    BindOp,
    ForOp,
    IfOp,
    IndexOp,
    LoadOp,
    ParallelOp,
    ReduceOp,
    ScanOp,
    StoreOp,
    TensorMapOp,
    WhileOp,
    YieldOp,
)
from ...dialects.loop.tensor_map import strides_of_map
from ...passes.schedule.gpu.builder import COMPARISONS, HOST_OPS, runs_on_host
from ..codegen.emit.text import EmitError
from .launch_plan import Allocate, Bind, Compute, EncodeTensorMap, For, If, Kernel, Launch, Load, Plan, Step, While

__all__ = ["outline"]


def outline(module: ModuleOp) -> tuple[ModuleOp, Plan]:
    """A module of kernels, and the plan that launches them, of a module with one function; `module` is left as it is.

    EmitError where the host would have to touch elements.
    """
    function = next(op for op in module.body.block.ops if isinstance(op, func.FuncOp))
    outliner = _Outliner(function)
    steps = outliner.block(function.body.block)
    return ModuleOp([*outliner.functions]), Plan(tuple(outliner.kernels), steps)


@dataclass
class _Outliner:
    function: func.FuncOp
    kernels: list[Kernel] = field(default_factory=list)
    functions: list[func.FuncOp] = field(default_factory=list)
    #: The names that the plan has for buffers, tensor maps and numbers.
    buffers: dict[SSAValue, str] = field(default_factory=dict)
    tensor_maps: dict[SSAValue, str] = field(default_factory=dict)
    numbers: dict[SSAValue, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.buffers.update((b, f"b{i}") for i, b in enumerate(self.function.body.block.args))
        self.arguments = len(self.buffers)
        symbols: tuple[Dim, ...] = from_attr(self.function.attributes["tx.symbols"])
        self.scope = [s.symbol for s in symbols if s.symbol is not None]
        self.needed = _needed_by_host(self.function.body.block)

    def block(self, block: Block) -> tuple[Step, ...]:
        """The steps of a block of the host; what it defines is not known outside of it."""
        known = len(self.scope)
        steps = [step for op in block.ops for step in self._op(op)]
        del self.scope[known:]
        return tuple(steps)

    def _op(self, op: Operation) -> Iterator[Step]:
        match op:
            case ParallelOp():
                yield self._launch(op)
            case AllocOp():
                yield self._temporary(op)
            case TensorMapOp():
                yield self._describe(op)
            case _ if _is_number(op) and op.results[0] not in self.needed:
                pass  # kernels read it, or compute it, again
            case LoadOp():
                yield self._load(op)
            case BindOp():
                self.scope.append(Sym(op.symbol.data))
                yield Bind(op.symbol.data, self._number(op.value))
            case IndexOp():
                yield self._compute(op, "index", str(op.expr.data))
            case arith.ConstantOp(value=IntegerAttr() as value):
                yield self._compute(op, "constant", str(from_attr(value)))
            case arith.CmpiOp() if runs_on_host(op):
                yield self._compute(op, COMPARISONS[op.predicate.value.data])
            case _ if runs_on_host(op):
                yield self._compute(op, HOST_OPS[op.name])
            case ForOp():
                yield self._for(op)
            case WhileOp():
                condition = self.block(op.condition.block)
                yield While(condition, self._number(_yielded(op.condition.block)[0]), self.block(op.body.block))
            case IfOp():
                yield If(self._number(op.condition), self.block(op.then.block), self.block(op.otherwise.block))
            case YieldOp() | func.ReturnOp():
                pass
            case _:
                raise EmitError(f"{op.name} outside of a kernel: the host touches no elements")

    def _temporary(self, op: AllocOp) -> Allocate:
        if op.scope.data != "arena":
            raise EmitError(f"memory of scope {op.scope.data!r} outside of a kernel")
        name = self.buffers[op.result] = f"t{len(self.buffers) - self.arguments}"
        return Allocate(name, str(op.offset.data))

    def _describe(self, op: TensorMapOp) -> EncodeTensorMap:
        places = strides_of_map(op.info, op.index.data)
        assert places is not None
        first, steps = places
        name = self.tensor_maps[op.result] = f"m{len(self.tensor_maps)}"
        extents, between = (tuple(map(str, part)) for part in (op.index.data.extents, steps[:-1]))
        size = op.info.dtype.bytes
        return EncodeTensorMap(name, self.buffers[op.source], str(first), size, extents, between, op.box.sizes)

    def _load(self, op: LoadOp) -> Load:
        info = _info(op.buffer)
        name = self.numbers[op.result] = f"v{len(self.numbers)}"
        if op.guards is not None:
            raise EmitError("a guarded read by the host")
        return Load(name, self.buffers[op.buffer], info.dtype.numpy.name, str(info.address(op.index.data)))

    def _compute(self, op: Operation, operation: str, *given: str) -> Compute:
        operands = given or tuple(map(self._number, op.operands))
        name = self.numbers[op.results[0]] = f"v{len(self.numbers)}"
        return Compute(name, operation, operands)

    def _for(self, op: ForOp) -> For:
        if op.inits or op.lanes > 1:
            raise EmitError("a loop of the host that carries values or has lanes")
        self.scope.append(op.symbol)
        body = self.block(op.body.block)
        self.scope.pop()
        until = self._number(_yielded(op.body.block)[-1]) if op.break_flag is not None else ""
        return For(op.iv.data, str(op.lower.data), str(op.upper.data), str(op.step.data), body, until)

    def _number(self, value: SSAValue) -> str:
        if value not in self.numbers:
            raise EmitError(f"the host needs {value}, which only a kernel computes")
        return self.numbers[value]

    # Kernels

    def _launch(self, nest: ParallelOp) -> Launch:
        if nest.kind.data != "gpu_block":
            raise EmitError(f"loop.parallel of kind {nest.kind.data} outside of a gpu_block")
        name = f"{re.sub(r'[^A-Za-z0-9_]', '_', self.function.sym_name.data)}_k{len(self.kernels)}"
        outside = dict.fromkeys(v for used in _from_outside(nest) for v in _with_buffers(used))
        # Tensor maps come first: as parameters they lie at multiples of 64 bytes.
        maps = [v for v in outside if isinstance(v.type, TensorMapType)]
        used = [v for v in outside if isinstance(v.type, BufferType)]
        body = Block(arg_types=[v.type for v in (*maps, *used)])
        mapping: dict[SSAValue, SSAValue] = dict(zip((*maps, *used), body.args))
        for value in outside:
            self._again(value, body, mapping)
        symbols = _free_symbols([*body.walk(), *nest.walk()], used)
        integers = [s for s in self.scope if s in symbols]
        body.add_ops([nest.clone(mapping), func.ReturnOp()])
        kernel = func.FuncOp(name, ([*body.arg_types], []), Region(body))
        kernel.attributes["tx.symbols"] = dims_attr(tuple(Dim.of_terms({(s,): 1}) for s in integers))
        self.functions.append(kernel)
        self.kernels.append(Kernel(name, nest.n_threads, str(nest.shared_bytes), _place(nest)))
        blocks = (nest.upper.data - nest.lower.data + nest.step.data - 1) // nest.step.data
        names = (*(self.tensor_maps[m] for m in maps), *(self.buffers[b] for b in used))
        return Launch(name, str(blocks), names, tuple(s.name for s in integers))

    def _again(self, value: SSAValue, body: Block, again: dict[SSAValue, SSAValue]) -> SSAValue:
        """A number of the host that a kernel uses, computed again in the kernel."""
        if value in again:
            return again[value]
        made = value.owner
        if not isinstance(made, Operation) or not _is_number(made):
            raise EmitError(f"a kernel uses {value}, which neither it nor the host computes")
        if isinstance(made, LoadOp) and not _is_of_cell(made):
            raise EmitError(f"a kernel uses {value}, which the host has read: loop.bind makes it a symbol")
        for operand in made.operands:
            self._again(operand, body, again)
        copy = made.clone(dict(again))
        body.add_op(copy)
        again[value] = copy.results[0]
        return again[value]


def _is_number(op: Operation) -> bool:
    """Whether an op of the host makes one number, and does nothing else."""
    return isinstance(op, LoadOp) or runs_on_host(op)


def _needed_by_host(block: Block) -> set[SSAValue]:
    """The numbers that decide what the host does: conditions, symbols, and what those are computed from."""
    needed: set[SSAValue] = set()
    open_ = [v for op in _host_ops(block) if not _is_number(op) for v in op.operands]
    while open_:
        value = open_.pop()
        if value not in needed:
            needed.add(value)
            open_.extend(value.owner.operands if isinstance(value.owner, Operation) else ())
    return needed


def _host_ops(block: Block) -> Iterator[Operation]:
    """What the host does, kernels left out."""
    for op in block.ops:
        if not isinstance(op, ParallelOp):
            yield op
            for region in op.regions:
                yield from _host_ops(region.block)


def _is_of_cell(load: LoadOp) -> bool:
    """Whether a kernel behind a read by the host reads the same: one store, in a kernel in front, fills the buffer.

    What is behind `load` runs before that store does so again, since both are of one block.
    """
    if not isinstance(load.buffer.owner, AllocOp):
        return False
    writers = [use.operation for use in load.buffer.uses if not isinstance(use.operation, LoadOp)]
    if len(writers) != 1 or not isinstance(writers[0], StoreOp) or load.parent is None:
        return False
    kernel = load.parent.find_ancestor_op_in_block(writers[0])
    return kernel is not None and kernel.is_before_in_block(load)


def _with_buffers(value: SSAValue) -> Iterator[SSAValue]:
    """A number of the host with the buffers that it is read from."""
    yield value
    if isinstance(value.owner, Operation) and _is_number(value.owner):
        for operand in value.owner.operands:
            yield from _with_buffers(operand)


def _info(buffer: SSAValue) -> BufferInfo:
    assert isinstance(buffer.type, BufferType)
    return buffer.type.data


def _yielded(block: Block) -> tuple[SSAValue, ...]:
    assert isinstance(block.last_op, YieldOp)
    return tuple(block.last_op.values)


def _from_outside(nest: Operation) -> Iterator[SSAValue]:
    """The values that a nest uses and does not make, in the order of their uses."""
    inside: set[SSAValue] = set()
    for op in nest.walk():
        inside.update(op.results)
        inside.update(a for region in op.regions for block in region.blocks for a in block.args)
    return (v for op in nest.walk() for v in op.operands if v not in inside)


def _free_symbols(ops: Iterable[Operation], buffers: Iterable[SSAValue]) -> set[Sym]:
    """The symbols of ops' index expressions and of their buffers' strides that they do not define."""
    found: set[Sym] = set()
    defined: set[Sym] = set()
    for info in map(_info, buffers):
        found.update(*(s.symbols() for s in info.strides))
    for op in ops:
        if isinstance(op, ParallelOp | ForOp | ReduceOp | ScanOp):
            defined.add(op.symbol)
        elif isinstance(op, BindOp):
            defined.add(Sym(op.symbol.data))
        elif isinstance(op, AllocOp):
            found.update(*(d.symbols() for d in (*_info(op.result).dims, *_info(op.result).strides)))
        for attribute in (*op.attributes.values(), *op.properties.values()):
            found.update(*(d.symbols() for d in _dims(attribute)))
    return found - defined


def _dims(attribute: object) -> tuple[Dim, ...]:
    match attribute:
        case DimAttr():
            return (attribute.data,)
        case DimsAttr():
            return attribute.data
        case MapAttr():
            return (*attribute.data.exprs, *attribute.data.guards, *attribute.data.extents)
    return ()


def _place(nest: Operation) -> str:
    """The user's line (``file:line``) of a nest, of the first op in it that has one, or of the innermost around it."""
    locs = (op.attributes.get("loc") for op in (*nest.walk(), *_around(nest)))
    found = next((loc.data for loc in locs if isinstance(loc, StringAttr)), "")
    return found.rpartition(":")[0]


def _around(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()
