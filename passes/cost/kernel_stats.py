"""What a kernel does, in numbers: elements moved, floating-point operations, the names of its scalar operations.

Everything is computed from a kernel's extents, index maps and bodies at stage `buffers`; schedules change none of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import kernel
from ...dialects.attributes import BufferInfo, BufferType
from ...dialects.dims.dims import Dim, Sym
from ...dialects.dims.index_map import IndexMap
from ...dialects.loop import AllocOp, LoadOp
from .remarks import enabled, remark

__all__ = ["KernelStats", "float_bits", "kernel_label", "kernel_stats", "remark_kernel"]

Env = Mapping[Sym, int]

#: Operations on floats that count as none: they only look at a sign.
_FREE = frozenset({"arith.cmpf", "arith.constant", "arith.negf", "arith.select", "math.absf", "math.copysign"})
#: Conversions are moves, not arithmetic.
_CONVERSIONS = frozenset({"arith.bitcast", "arith.extf", "arith.sitofp", "arith.truncf", "arith.uitofp"})


@dataclass(frozen=True)
class KernelStats:
    """Bytes and floating-point operations.  An elementary function counts as one operation, a fused one as two."""

    bytes_read: int = 0
    bytes_written: int = 0
    flops: int = 0

    def __add__(self, other: KernelStats) -> KernelStats:
        return KernelStats(
            self.bytes_read + other.bytes_read, self.bytes_written + other.bytes_written, self.flops + other.flops
        )

    def times(self, count: int) -> KernelStats:
        """Those of `count` such kernels."""
        return KernelStats(self.bytes_read * count, self.bytes_written * count, self.flops * count)


def kernel_stats(op: Operation, env: Env) -> KernelStats | None:
    """What a kernel does for these sizes; None where a condition at run time decides it.

    A buffer counts as far as its index maps can reach and once for each kernel that reads and each that writes it: the
    traffic of a cache that holds a kernel's operands.  Memory of a worker's own is not counted.
    """
    if isinstance(op, kernel.GenericOp):
        return _nests([op], env)
    if isinstance(op, kernel.RowGroupOp):
        return _nests(op.nests, env)
    if isinstance(op, kernel.CustomOp):
        return KernelStats(_whole_bytes(op.ins, env), _whole_bytes(op.outs, env), 0)
    if isinstance(op, kernel.ForOp):
        return _for(op, env)
    return None


def _whole_bytes(values: Sequence[SSAValue], env: Env) -> int:
    """The bytes of whole buffers."""
    infos = [_info(v) for v in values]
    return sum(math.prod(d.evaluate(env) for d in info.dims) * info.dtype.bytes for info in infos)


def _for(op: kernel.ForOp, env: Env) -> KernelStats | None:
    bounds = (op.lower.data, op.upper.data, op.step.data)
    if op.break_flag is not None or op.only is not None:
        return None
    trips = range(*(d.evaluate(env) for d in bounds))
    if op.symbol not in set().union(*map(_sizes, _inside(op))):  # every iteration does the same
        one = _block(op.body.block, env)
        return None if one is None else one.times(len(trips))
    total = KernelStats()
    for value in trips:
        one = _block(op.body.block, {**env, op.symbol: value})
        if one is None:
            return None
        total = total + one
    return total


def _block(block: Block, env: Env) -> KernelStats | None:
    total = KernelStats()
    for op in block.ops:
        if op.regions or isinstance(op, kernel.CustomOp):
            one = kernel_stats(op, env)
            if one is None:
                return None
            total = total + one
    return total


def _sizes(op: Operation) -> set[Sym]:
    """The symbols on which a kernel's figures depend."""
    found: set[Sym] = set()
    if isinstance(op, kernel.GenericOp):
        dims = [*op.extents.data, *(d for v in (*op.ins, *op.outs) for d in _info(v).dims)]
        found.update(*(d.symbols() for d in dims))
    elif isinstance(op, kernel.CustomOp):
        found.update(*(d.symbols() for v in (*op.ins, *op.outs) for d in _info(v).dims))
    elif isinstance(op, kernel.ForOp):
        found.update(*(d.data.symbols() for d in (op.lower, op.upper, op.step)))
    return found


def _inside(op: Operation) -> Iterator[Operation]:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield inner
                yield from _inside(inner)


# Nests ----------------------------------------------------------------------------------------------------------------


def _nests(nests: Iterable[kernel.GenericOp], env: Env) -> KernelStats:
    """Nests that share what they read."""
    read: dict[SSAValue, int] = {}
    written: dict[SSAValue, int] = {}
    flops = 0
    for nest in nests:
        flops += _flops_of_nest(nest, env)
        for value, count in _reads(nest, env):
            read[value] = read.get(value, 0) + count
        for value, index in zip(nest.outs, nest.maps_out(), strict=True):
            written[value] = written.get(value, 0) + _reach(index, env)
    return KernelStats(_bytes(read, env), _bytes(written, env), flops)


def _reads(nest: kernel.GenericOp, env: Env) -> Iterator[tuple[SSAValue, int]]:
    """Buffers with the number of elements that an access of the nest can reach."""
    for value, index in zip(nest.ins, nest.maps_in(), strict=True):
        yield value, _reach(index, env)
    for op in nest.body.block.ops:
        if isinstance(op, (kernel.ReadOp, LoadOp)):  # at computed indices
            yield op.operands[0], _product(nest.extents.data, env)


def _reach(index: IndexMap, env: Env) -> int:
    used = set().union(*(e.symbols() for e in index.exprs))
    return _product((extent for i, extent in enumerate(index.extents) if Sym(f"d{i}") in used), env)


def _bytes(reached: Mapping[SSAValue, int], env: Env) -> int:
    """Of buffers other than a worker's own; no more than there are, and a dim of stride 0 is one element."""
    total = 0
    for value, count in reached.items():
        if isinstance(value.owner, AllocOp) and value.owner.scope.data == "thread":
            continue
        info = _info(value)
        stored = _product((d for d, s in zip(info.dims, info.strides) if s.const != 0), env)
        total += min(count, stored) * info.dtype.bytes
    return total


def _info(value: SSAValue) -> BufferInfo:
    assert isinstance(value.type, BufferType), f"{value.type} is no buffer"
    return value.type.data


def _product(dims: Iterable[Dim], env: Env) -> int:
    total = 1
    for d in dims:
        total *= max(0, d.evaluate(env))
    return total


def _flops_of_nest(nest: kernel.GenericOp, env: Env) -> int:
    extents = nest.extents.data
    points = _product(extents, env)
    flops = _flops(nest.body.block) * points
    if nest.order is None:
        return flops
    product = 1 if nest.order.data.product and float_bits(nest) else 0
    results = _product(extents[: nest.n_outer], env)
    return flops + (_flops(nest.combiner.block) + product) * points + _flops(nest.epilogue.block) * results


def _flops(block: Block) -> int:
    return sum(_flops_of(op) for op in block.ops)


def _flops_of(op: Operation) -> int:
    if len(op.results) != 1 or not isinstance(op.results[0].type, AnyFloat):
        return 0
    if op.name == "math.fma":
        return 2
    return int(_is_arithmetic(op) and op.name not in _FREE and op.name not in _CONVERSIONS)


def _is_arithmetic(op: Operation) -> bool:
    return isinstance(op, kernel.CallOp) or op.name.startswith(("arith.", "math."))


def float_bits(op: Operation) -> int:
    """The widest float that a kernel computes with, in bits; 0 where it has none."""
    values = [v for inner in (op, *_inside(op)) for block in _blocks(inner) for v in block.args]
    values += [r for inner in _inside(op) for r in inner.results]
    return max((v.type.bitwidth for v in values if isinstance(v.type, AnyFloat)), default=0)


def _blocks(op: Operation) -> Iterator[Block]:
    for region in op.regions:
        yield from region.blocks


# Names ----------------------------------------------------------------------------------------------------------------


def kernel_label(op: Operation) -> str:
    """The scalar operations of a kernel in their order: ``contract, tanh add``; ``for`` and the like around them."""
    if isinstance(op, kernel.GenericOp):
        return _nest_label(op)
    if isinstance(op, kernel.CustomOp):
        return op.fn.data
    inner = [kernel_label(o) for block in _blocks(op) for o in block.ops if o.regions or isinstance(o, kernel.CustomOp)]
    text = "; ".join(inner)
    return text if isinstance(op, kernel.RowGroupOp) else f"{op.name.removeprefix('kernel.')} ({text})"


def remark_kernel(kind: str, op: Operation, chosen: str, why: str, choices: Mapping[str, float] | None = None) -> None:
    """Say what was decided on a kernel (`remark`), by its label."""
    if enabled():
        remark(kind, kernel_label(op), chosen, why, choices, op)


def _nest_label(nest: kernel.GenericOp) -> str:
    body = _operations(nest.body.block)
    if nest.order is None:
        return " ".join(body) or "copy"
    if nest.order.data.product:
        reduction = "contract"
    else:
        reduction = f"reduce({' '.join(_operations(nest.combiner.block)) or 'select'})"
    return " ".join([*body, reduction, *_operations(nest.epilogue.block)])


def _operations(block: Block) -> list[str]:
    names = [_operation(op) for op in block.ops if _is_arithmetic(op) and op.name not in _FREE]
    return list(dict.fromkeys(names))


def _operation(op: Operation) -> str:
    if isinstance(op, kernel.CallOp):
        return op.fn.data
    dialect, name = op.name.split(".")
    return re.sub(r"[fi]$", "", name) if dialect == "arith" and name not in _CONVERSIONS else name
