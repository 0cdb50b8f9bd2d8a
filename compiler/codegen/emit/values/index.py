"""Index expressions and addresses: `Dim`s become i64 instructions, each written where its last symbol is defined.

A symbol that is a lane iterator stands for the index of its first lane; `varying` gives one register a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from math import gcd, prod
from typing import Any

from .....dialects.attributes import BufferInfo
from .....dialects.dims.analysis import expand_mods, linear_in, simplify
from .....dialects.dims.dims import Call, Dim, Sym, dim, sym
from .....dialects.types import DTYPES
from ..text import EmitError, IrText, vector_type
from .lanes import Lanes
from .registers import VectorAxis, VectorValue, copies, union, width_of

__all__ = ["IndexValues", "operations_of", "undefined"]

I64 = DTYPES["i64"]


class Scope:
    """A place in the function where symbols were defined, with the index values computed there."""

    __slots__ = ("alignment_mask", "pointers", "positive", "prelude", "values")

    def __init__(self, prelude: list[Any]):
        self.prelude = prelude
        self.values: dict[Dim, str] = {}
        self.pointers: dict[tuple[str, str, Dim], str] = {}
        self.alignment_mask: dict[tuple[Dim, int], str] = {}
        self.positive: dict[Dim, str] = {}


def _of(atom: Sym | Call) -> Dim:
    return Dim.of_terms({(atom,): 1})


@lru_cache(maxsize=65536)
def _symbols(expr: Dim) -> tuple[Sym, ...]:
    """In an order that no process changes, so that texts do not."""
    return tuple(sorted(expr.symbols(), key=lambda s: s.name))


@lru_cache(maxsize=65536)
def operations_of(expr: Dim) -> int:
    """About how many instructions compute an expression."""
    atoms = [atom for mono, _ in expr.terms for atom in mono]
    calls = sum(1 + operations_of(a.a) + operations_of(a.b) for a in atoms if isinstance(a, Call))
    return calls + len(expr.terms) - 1 + sum(len(mono) - (coeff == 1) for mono, coeff in expr.terms if mono)


def _set(table: dict[Sym, Any], symbol: Sym, value: Any) -> None:
    """Put a value into a table; None is not there."""
    if value is None:
        table.pop(symbol, None)
    else:
        table[symbol] = value


def undefined(symbol: Sym) -> str:
    """What is outside of a function that is given nothing."""
    raise EmitError(f"nothing defines the symbol {symbol}")


class IndexValues:
    """Symbols, scopes, index values and pointers of `text`.

    `outside` gives the value of a symbol that no loop defines, available when the function begins, and `given` that of
    an expression of such symbols, or None where it is computed here.
    """

    def __init__(
        self, text: IrText, lanes: Lanes, outside: Callable[[Sym], str] = undefined,
        given: Callable[[Dim], str | None] = lambda _: None,
    ):  # fmt: skip
        self.text, self.lanes, self.outside, self.given = text, lanes, outside, given
        self.scopes: list[Scope] = [Scope(text.entry)]
        self.symbols: dict[Sym, tuple[str, int]] = {}
        #: The symbols among them that lie outside.
        self.outer: set[Sym] = set()
        #: Symbols bound to a value that differs between lanes.
        self.varying_symbols: dict[Sym, VectorValue] = {}
        self.bounds: dict[Sym, Dim] = {}
        #: What iterators are multiples of in the loops around: their steps.
        self.multiples: dict[Sym, int] = {}
        self.pointer_depth: dict[str, int] = {}
        #: Pointers by offsets that are no expressions: computed where they are used, as is what is beside them.
        self.computed_pointers: set[str] = set()

    # Scopes and symbols

    def push_scope(self) -> int:
        """Open a scope at the current place; its depth."""
        scope = Scope([])
        self.scopes.append(scope)
        self.text.out.append(scope.prelude)
        return len(self.scopes) - 1

    def define(self, symbol: Sym, value: str) -> None:
        """Give a symbol its i64 value, in the innermost scope."""
        self.symbols[symbol] = (value, len(self.scopes) - 1)

    @contextmanager
    def iterator(self, symbol: Sym, value: str, bound: Dim | None, multiple: int) -> Iterator[None]:
        """A scope in which a symbol is the iterator of a loop, below `bound` and a multiple of a number."""
        tables: tuple[dict[Sym, Any], ...] = (self.symbols, self.bounds, self.multiples)
        saved = [table.get(symbol) for table in tables]
        depth = self.push_scope()
        self.text.frames.append({})
        for table, new in zip(tables, ((value, depth), bound, multiple)):
            _set(table, symbol, new)
        yield
        self.text.frames.pop()
        del self.scopes[depth:]
        for table, old in zip(tables, saved):
            _set(table, symbol, old)

    def symbol(self, symbol: Sym) -> tuple[str, int]:
        found = self.symbols.get(symbol)
        if found is None:
            if symbol in self.varying_symbols:
                raise EmitError(f"{symbol} differs between lanes and cannot bound a loop")
            found = self.symbols[symbol] = (self.outside(symbol), 0)
            self.outer.add(symbol)
        return found

    def depth(self, expr: Dim) -> int:
        return max((self.symbol(s)[1] for s in _symbols(expr)), default=0)

    # Uniform values

    def value(self, expr: Dim) -> str:
        """The i64 value of an expression of symbols that are the same in all lanes (or of the first lane)."""
        const = expr.const
        if const is not None:
            return str(const)
        only = expr.symbol
        if only is not None:
            return self.symbol(only)[0]
        # Symbols from outside are not asked for yet: where the whole is given, nobody needs them.
        known = [self.symbols[s] for s in _symbols(expr) if s in self.symbols and s not in self.outer]
        depth = max((depth for _, depth in known), default=0)
        scope = self.scopes[depth]
        found = scope.values.get(expr)
        if found is None and not known:
            found = self.given(expr)
        if found is None:
            found = self._compute(expr, depth, scope.prelude)
        scope.values[expr] = found
        return found

    def is_positive(self, expr: Dim) -> str:
        """An i1, as far outside as the expression's symbols are known."""
        scope = self.scopes[self.depth(expr)]
        found = scope.positive.get(expr)
        if found is None:
            found = scope.positive[expr] = self.text.ins(f"icmp sgt i64 {self.value(expr)}, 0", scope.prelude)
        return found

    def _compute(self, expr: Dim, depth: int, out: list[Any]) -> str:
        """Terms with the same factors of this depth are one: ``i*a + i*b`` is ``i * (a + b)``, the sum outside."""
        if len(expr.terms) == 1:
            return self._product(*expr.terms[0], depth, out)
        outer: dict[Any, int] = {}
        inner: dict[tuple[Any, ...], dict[Any, int]] = {}
        for mono, coeff in expr.terms:
            deep = tuple(a for a in mono if self._mono_depth((a,)) == depth)
            if deep:
                inner.setdefault(deep, {})[tuple(a for a in mono if a not in deep)] = coeff
            else:
                outer[mono] = coeff
        if not outer and len(inner) == 1:
            ((deep, rest),) = inner.items()
            return self.text.mul(self.value(Dim.of_terms({deep: 1})), self.value(Dim.of_terms(rest)), out)
        total = self.value(Dim.of_terms(outer)) if outer else "0"
        for deep, rest in inner.items():
            factor = Dim.of_terms(rest)
            if factor.const == -1:
                total = self.text.sub(total, self.value(Dim.of_terms({deep: 1})), out)
            else:
                total = self.text.add(total, self.value(Dim.of_terms({deep: 1}) * factor), out)
        return total

    def _mono_depth(self, mono: tuple[Any, ...]) -> int:
        return max(self.symbol(a)[1] if isinstance(a, Sym) else max(self.depth(a.a), self.depth(a.b)) for a in mono)

    def _product(self, mono: tuple[Any, ...], coeff: int, depth: int, out: list[Any]) -> str:
        if len(mono) == 1 and coeff == 1:
            atom = mono[0]
            return self.symbol(atom)[0] if isinstance(atom, Sym) else self._index_call(atom, out)
        shallow = tuple(a for a in mono if self._mono_depth((a,)) != depth)
        if shallow:
            total, rest = self.value(Dim.of_terms({shallow: coeff})), [a for a in mono if a not in shallow]
        elif coeff != 1:  # many expressions have the product, each with a factor of its own
            return self.text.mul(self.value(Dim.of_terms({mono: 1})), str(coeff), out)
        else:
            total, rest = self.value(Dim.of_terms({mono[:-1]: 1})), [mono[-1]]
        for atom in rest:
            total = self.text.mul(self.value(_of(atom)), total, out)
        return total

    def _index_call(self, call: Call, out: list[Any]) -> str:
        a, b = self.value(call.a), self.value(call.b)
        if call.fn in ("min", "max"):
            less = self.text.ins(f"icmp slt i64 {a}, {b}", out)
            first, second = (a, b) if call.fn == "min" else (b, a)
            return self.text.ins(f"select i1 {less}, i64 {first}, i64 {second}", out)
        if call.fn == "^":
            return self.text.ins(f"xor i64 {a}, {b}", out)
        return self.divide(call, a, b, 1, out)

    def divide(self, call: Call, a: str, b: str, width: int, out: list[Any]) -> str:
        """Python's ``//`` or ``%``.  A zero divisor, possible only where no element exists, is taken to be one."""
        ins = self._ins(width, out)
        ty = vector_type(width, "i64")

        def lit(value: int) -> str:
            return f"splat (i64 {value})" if width > 1 else str(value)

        const = call.b.const
        if const == 0:
            b = lit(1)
        if const is not None and const > 0 and const & (const - 1) == 0:
            if call.fn == "%":
                return ins(f"and {ty} {a}, {lit(const - 1)}")
            return ins(f"ashr {ty} {a}, {lit(const.bit_length() - 1)}")
        if const is None:
            zero = ins(f"icmp eq {ty} {b}, {lit(0)}")
            b = ins(f"select {vector_type(width, 'i1')} {zero}, {ty} {lit(1)}, {ty} {b}")
        if call.a.nonneg and call.b.nonneg:
            return ins(f"{'udiv' if call.fn == '//' else 'urem'} {ty} {a}, {b}")
        rest = ins(f"srem {ty} {a}, {b}")
        signs = ins(f"xor {ty} {rest}, {b}")
        differ = ins(f"icmp slt {ty} {signs}, {lit(0)}")
        inexact = ins(f"icmp ne {ty} {rest}, {lit(0)}")
        adjust = ins(f"and {vector_type(width, 'i1')} {differ}, {inexact}")
        if call.fn == "%":
            moved = ins(f"add {ty} {rest}, {b}")
            return ins(f"select {vector_type(width, 'i1')} {adjust}, {ty} {moved}, {ty} {rest}")
        quotient = ins(f"sdiv {ty} {a}, {b}")
        wide = ins(f"sext {vector_type(width, 'i1')} {adjust} to {ty}")
        return ins(f"add {ty} {quotient}, {wide}")

    def _ins(self, width: int, out: list[Any]) -> Callable[[str], str]:
        """What appends index arithmetic: of vectors, which are at the current place, each instruction once."""
        return self.text.once if width > 1 else partial(self.text.ins, out=out)

    def known(self, expr: Dim) -> Dim:
        """An expression in which iterators of one iteration are numbers."""
        values = {s: self.symbols[s][0] for s in expr.symbols() if s in self.symbols}
        return expr.substitute({s: dim(int(value)) for s, value in values.items() if value.isdigit()})

    # Values that differ between lanes

    def lane_symbols(self, expr: Dim) -> list[VectorAxis]:
        """The lane dims whose iterators an expression mentions."""
        if not self.lanes.axes:
            return []
        found = _symbols(expr)
        return [lane for lane in self.lanes.axes if lane.symbol in found]

    def split(self, expr: Dim) -> tuple[tuple[VectorAxis, ...], dict[Sym, Dim]] | None:
        """The lane dims of an expression and its coefficient of the vector one; None where it is not linear in that."""
        found = _symbols(expr)
        if any(s in self.varying_symbols for s in found):
            return None
        lanes = tuple(lane for lane in self.lanes.axes if lane.symbol in found)
        vector = next((lane for lane in lanes if lane.width > 1), None)
        if vector is None:
            return lanes, {}
        parts = linear_in(expr, [vector.symbol])
        if parts is None:
            return None
        return (lanes if parts[0] else tuple(lane for lane in lanes if lane is not vector)), parts[0]

    def shifted(self, expr: Dim, lanes: Sequence[VectorAxis], copy: Sequence[int]) -> Dim:
        """An expression at the first element of one register."""
        moved = {lane.symbol: lane.start(c) for lane, c in zip(lanes, copy) if c}
        return expr.substitute(moved) if moved else expr

    def varying(self, expr: Dim) -> VectorValue:
        """The value of any expression, as i64 registers over the lane dims that it varies along."""
        parts = self.split(expr)
        if parts is not None:
            lanes, coefficients = parts
            return VectorValue(lanes, [self._lane_value(expr, lanes, coefficients, c) for c in copies(lanes)], I64)
        repeated = self._repeated(expr)
        if repeated is not None:
            return repeated
        total: VectorValue | None = None
        for mono, coeff in expr.terms:
            value = VectorValue((), [str(coeff)], I64)
            for i, atom in enumerate(mono):
                factor = self._atom(atom)
                value = factor if i == 0 and coeff == 1 else self._merge_values("mul", value, factor)
            total = value if total is None else self._merge_values("add", total, value)
        return total or VectorValue((), ["0"], I64)

    def multiple(self, expr: Dim) -> int:
        """A number that divides an expression's values; 0 of zero."""
        return gcd(*(c * prod(self.multiples.get(a, 1) for a in mono if isinstance(a, Sym)) for mono, c in expr.terms))

    def _repeated(self, expr: Dim) -> VectorValue | None:
        """Registers of an expression that divides a lane iterator, where in each copy by itself it is linear.

        So it is where that iterator is a multiple of what it is divided by.  Copies that take the same values have one
        register, so what is computed of it is computed once (`Lanes.apply`).
        """
        lanes = tuple(self.lane_symbols(expr))
        vector = next((lane for lane in lanes if lane.width > 1 and not lane.starts), None)
        if vector is None or any(s in self.varying_symbols for s in expr.symbols()):
            return None
        # The iterator as `multiple * whole + place`, with a place inside of one step of the loop.
        multiple = self.multiples.get(vector.symbol, 1)
        whole, lane = sym(f"{vector.symbol}~whole"), sym(f"{vector.symbol}~lane")
        (lane_symbol,) = lane.symbols()
        made: dict[Dim, str] = {}
        regs: list[str] = []
        for copy in copies(lanes):
            place = whole * multiple + lane + copy[lanes.index(vector)] * vector.stride
            others = {k.symbol: k.start(c) for k, c in zip(lanes, copy) if k is not vector}
            value = simplify(expr.substitute({**others, vector.symbol: place}), {lane_symbol: dim(vector.width)})
            parts = linear_in(value, [lane_symbol])
            if parts is None:
                return None
            if value not in made:
                back = {s: sym(vector.symbol.name) // multiple for s in whole.symbols()}
                step = parts[0].get(lane_symbol, dim(0)).substitute(back)
                made[value] = self._spaced(self.value(parts[1].substitute(back)), step, vector.width)
            regs.append(made[value])
        return VectorValue(lanes, regs, I64)

    def _lane_value(
        self, expr: Dim, lanes: tuple[VectorAxis, ...], coefficients: dict[Sym, Dim], copy: Sequence[int]
    ) -> str:
        base = self.value(self.shifted(expr, lanes, copy))
        vector = next((lane for lane in lanes if lane.width > 1), None)
        return base if vector is None else self._spaced(base, coefficients[vector.symbol], vector.width)

    def _spaced(self, base: str, step: Dim, width: int) -> str:
        """A vector of ``base, base + step, …``."""
        ty, const = vector_type(width, "i64"), step.const
        if const == 0:
            return self.lanes.splat(base, "i64", width)
        if const is not None:
            steps = "<" + ", ".join(f"i64 {const * k}" for k in range(width)) + ">"
        else:
            stride = self.lanes.splat(self.value(step), "i64", width)
            steps = self.text.once(f"mul {ty} {stride}, <{', '.join(f'i64 {k}' for k in range(width))}>")
        return self.text.once(f"add {ty} {self.lanes.splat(base, 'i64', width)}, {steps}")

    def _atom(self, atom: Sym | Call) -> VectorValue:
        if isinstance(atom, Sym):
            return self.varying_symbols[atom] if atom in self.varying_symbols else self.varying(_of(atom))
        if not self.lane_symbols(_of(atom)) and not any(
            s in self.varying_symbols for s in atom.a.symbols() | atom.b.symbols()
        ):
            return VectorValue((), [self.value(_of(atom))], I64)
        return self._merge_values(atom, self.varying(atom.a), self.varying(atom.b))

    def _merge_values(self, what: str | Call, a: VectorValue, b: VectorValue) -> VectorValue:
        lanes = union((a.lanes, b.lanes))
        width = width_of(lanes)
        ty, ins = vector_type(width, "i64"), self._ins(width, self.text.out)
        regs = []
        for x, y in zip(self.lanes.spread(a, lanes), self.lanes.spread(b, lanes)):
            if isinstance(what, str):
                regs.append(ins(f"{what} {ty} {x}, {y}"))
            elif what.fn in ("min", "max"):
                regs.append(self.text.intrinsic(f"s{what.fn}", ty, ty, [(ty, x), (ty, y)]))
            elif what.fn == "^":
                regs.append(ins(f"xor {ty} {x}, {y}"))
            else:
                regs.append(self.divide(what, x, y, width, self.text.out))
        return VectorValue(lanes, regs, I64)

    # Memory

    def address(self, info: BufferInfo, index: Sequence[Dim]) -> Dim:
        """The element offset, simplified with what is known of the iterators."""
        return simplify(expand_mods(simplify(info.address(index), self.bounds)), self.bounds)

    def pointer(self, base: str, element: str, offset: Dim) -> str:
        """``&base[offset]``: each part of the offset added where its last symbol is defined."""
        if base in self.computed_pointers:
            return self.text.ins(f"getelementptr {element}, ptr {base}, i64 {self.value(offset)}")
        depth = self.pointer_depth.get(base, 0)
        parts: dict[int, dict[Any, int]] = {}
        const = 0
        for mono, coeff in offset.terms:
            if mono:
                parts.setdefault(max(depth, self._mono_depth(mono)), {})[mono] = coeff
            else:
                const = coeff
        where = depth
        for where in sorted(parts):
            base = self._step(base, element, Dim.of_terms(parts[where]), where)
        return self._step(base, element, dim(const), where) if const else base

    def _step(self, base: str, element: str, offset: Dim, depth: int) -> str:
        scope = self.scopes[depth]
        found = scope.pointers.get((base, element, offset))
        if found is None:
            value = self.value(offset)
            found = self.text.ins(f"getelementptr {element}, ptr {base}, i64 {value}", scope.prelude)
            scope.pointers[base, element, offset] = found
            self.pointer_depth[found] = depth
        return found
