"""The emitter of one function's LLVM IR, by composition.

A `FunctionEmitter` owns parts, each a class of its own whose constructor names what it needs; what depends on nothing
comes first:

    text      instructions, blocks, phis (`text.py`)
    lanes     the lane dims and masks of the current place; splat, repeated and selected registers
    index     `Dim`s as i64 values and pointers, each written where its last symbol is defined
    polling   where long loops ask whether to go on
    scalars   `arith`, `math` and the bodies of maps, on whole registers
    values    the registers of SSA values
    memory    loads and stores; checks of indices, if functions are checked
    loops, reductions, scans, merges, partitions

`region` goes through a block and has each op's handler write it: `handlers` is a table by the op's type, of methods of
the parts; a target adds its own, or says how it does another's (`cpu/function.py`, `gpu/kernel.py`).  What else differs
between targets it gives to the parts when they are made: what lies outside of the function, how memory is touched under
a condition (`Places`), what rows of memory are aligned to, how a function polls and ends early, how one thread folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import loop
from ....dialects.attributes import DimsAttr
from ....dialects.dims.dims import Dim, Sym
from .debug_info import Place
from .loops.loops import Loops
from .loops.merge import Merges
from .loops.partition import Partitions
from .loops.reduce import ReduceInThread, Reductions
from .loops.scan import Scans
from .memory.access import Memory, Places
from .memory.bounds_check import BoundsChecks, Exits
from .polling import Polling
from .text import EmitError, IrText
from .values.index import IndexValues, undefined
from .values.lanes import Lanes
from .values.registers import ComplexReg, Values, VectorValue, unmade
from .values.scalar import ScalarBodies

__all__ = ["FunctionEmitter", "symbols_of"]


class FunctionEmitter:
    """Writes the ops of one function into `text`.

    `symbol`, `size`, `value` and `buffer` give what lies outside of it: the value of a symbol that no loop defines, and
    of an expression of such symbols where that is not computed here (None), both available when the function begins;
    the register of a value that none of its ops makes, and the pointer to a buffer.
    `alignment` is as `Memory` has it.  `poll` writes a poll, where long loops are to have them; `exits` is how a
    function ends whose indices are checked; `alone` is as `Reductions` has it.
    """

    def __init__(
        self, text: IrText, lanes: Lanes, *, buffer: Callable[[SSAValue], str], places: Places,
        alignment: Callable[[str, str, Dim], int], symbol: Callable[[Sym], str] = undefined,
        size: Callable[[Dim], str | None] = lambda _: None, value: Callable[[SSAValue], VectorValue] = unmade,
        poll: Callable[[], None] | None = None, exits: Exits | None = None, alone: ReduceInThread | None = None,
    ):  # fmt: skip
        self.text, self.lanes = text, lanes
        self.index = IndexValues(text, lanes, symbol, size)
        self.polling = Polling(text, lanes, poll)
        self.scalars = ScalarBodies(text, lanes, self.polling)
        self.values = Values(value)
        checks = None if exits is None else BoundsChecks(text, lanes, self.index, self.scalars, exits)
        self.memory = Memory(
            text, lanes, self.index, self.scalars, buffer=buffer, alignment=alignment, places=places, checks=checks
        )
        self.loops = Loops(text, lanes, self.index, self.values, self.scalars, self.polling, self.region)
        self.reductions = Reductions(text, lanes, self.index, self.values, self.scalars, self.loops, alone)
        self.scans = Scans(text, lanes, self.index, self.values, self.loops)
        self.merges = Merges(text, lanes, self.index, self.memory, self.loops)
        self.partitions = Partitions(text, lanes, self.index, self.values, self.memory, self.loops)
        #: By the type of an op, what writes it.
        self.handlers: dict[type[Operation], Callable[[Any], None]] = {
            loop.LoadOp: self._load, loop.StoreOp: self.store, loop.PrefetchOp: self.memory.prefetch,
            loop.IndexOp: self._index, loop.BindOp: self._bind,
            loop.ForOp: self.loops.for_loop, loop.WhileOp: self.loops.while_loop, loop.IfOp: self.loops.branch,
            scf.WhileOp: self.loops.while_in_lanes, loop.ReduceOp: self.reductions.reduce, loop.ScanOp: self.scans.scan,
            loop.MergeOp: self.merges.merge, loop.PartitionOp: self.partitions.partition,
            func.ReturnOp: lambda op: None,
        }  # fmt: skip
        self._bound_here: list[Sym] = []
        self._place: Place | None = None

    def region(self, block: Block, arguments: Sequence[VectorValue] = ()) -> list[VectorValue]:
        """Emit a block's operations; the registers that it yields."""
        values, handlers = self.values, self.handlers
        values.update(zip(block.args, arguments))
        scopes, bound = len(self.index.scopes), self._bound_here
        self._bound_here = []
        result: list[VectorValue] = []
        debug, place = self.text.module.debug is not None, self._place
        for op in block.ops:
            if debug:
                self.place(op)
            handler = handlers.get(type(op))
            if handler is not None:
                handler(op)
            elif op.name.startswith(("arith.", "math.", "kernel.call")):
                values[op.results[0]] = self.scalars.arithmetic(op, [values[o] for o in op.operands])
            elif isinstance(op, loop.YieldOp | scf.YieldOp | scf.ConditionOp):
                result = [values[v] for v in op.operands]
            elif op.name.startswith("complex."):
                values[op.results[0]] = _complex_part(op, [values[o] for o in op.operands])
            else:
                raise EmitError(f"no machine code is known for {op.name} on this target")
        del self.index.scopes[scopes:]
        for symbol in self._bound_here:
            self.index.symbols.pop(symbol, None)
            self.index.varying_symbols.pop(symbol, None)
        self._bound_here = bound
        self._go_to(place)
        return result

    def place(self, op: Operation) -> None:
        """What follows comes from the op's line; from the line of what is around it where it has none."""
        loc = op.attributes.get("loc")
        if isinstance(loc, StringAttr):
            self._go_to(Place.of(loc.data))

    def _go_to(self, place: Place | None) -> None:
        if place is not None and place != self._place:
            self.text.out.append(place)
            self._place = place

    def _load(self, op: loop.LoadOp) -> None:
        self.values[op.result] = self.memory.load(op)

    def store(self, op: loop.StoreOp) -> None:
        self.memory.store(op, self.values[op.value])

    def _index(self, op: loop.IndexOp) -> None:
        self.values[op.result] = self.index.varying(op.expr.data)

    def _bind(self, op: loop.BindOp) -> None:
        symbol, value = Sym(op.symbol.data), self.values[op.value]
        if value.uniform:
            self.index.push_scope()
            self.index.define(symbol, value.regs[0])
        else:
            self.index.varying_symbols[symbol] = value
        self._bound_here.append(symbol)


def _complex_part(op: Operation, operands: Sequence[VectorValue]) -> VectorValue:
    """``complex.create``, ``complex.re`` and ``complex.im``: names for registers, no instruction."""
    if op.name == "complex.create":
        return ComplexReg(*operands)
    (x,) = operands
    if not isinstance(x, ComplexReg) or op.name not in ("complex.re", "complex.im"):
        raise EmitError(f"bodies take complex values apart by complex.re and complex.im, and do not hold {op.name}")
    return x.re if op.name == "complex.re" else x.im


def symbols_of(op: func.FuncOp) -> list[Sym]:
    """The symbols that a function is given, in their order; EmitError where it lists an expression."""
    symbols = op.attributes.get("tx.symbols")
    found: list[Sym] = []
    for expr in symbols.data if isinstance(symbols, DimsAttr) else ():
        if expr.symbol is None:
            raise EmitError(f"tx.symbols lists symbols, and {expr} is an expression")
        found.append(expr.symbol)
    return found
