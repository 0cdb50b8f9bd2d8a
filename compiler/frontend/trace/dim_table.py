"""The dims of one function: what is known of its symbols, and the facts its graph relies on.

Facts come from operations: an addition demands that two dims are equal (`equate`), broadcasting and `squeeze` ask
whether a dim is 1 (`is_one`), ``int(n)`` asks for a value (`int_of`), slicing asks which of two is larger (`decide`).
Where a call is being traced each input symbol has a *hint*, its value in that call; an answer that rests on a hint
is recorded as a guard, which every later call must pass to use the same graph.  A function declared in `.tx` has no
hints: what its operations demand becomes a guard, that is, a condition on its arguments.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ....dialects.dims.analysis import bounds_over, linear_in
from ....dialects.dims.dims import Call, Dim, DimLike, Sym, dim, maximum, sym
from ....dialects.dims.index_map import product
from ....dialects.registry import OpError

__all__ = ["DimTable", "Guard"]

_TESTS = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}


_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True)
class Guard:
    """``lhs relation rhs`` over input symbols, relation one of ``== != < <=``; `why` says what asked."""

    lhs: Dim
    relation: str
    rhs: Dim
    why: str = ""

    def holds(self, env: Mapping[Sym, int]) -> bool:
        return _TESTS[self.relation](self.lhs.evaluate(env), self.rhs.evaluate(env))

    @cached_property
    def slack(self) -> Dim:
        """What is not negative where the inequality (``<`` or ``<=``) holds."""
        return self.rhs - self.lhs - int(self.relation == "<")

    def __str__(self) -> str:
        return f"{self.lhs} {self.relation} {self.rhs}" + (f"  ({self.why})" if self.why else "")


class DimTable:
    """Symbols with their hints, the substitutions that unification made, and the guards in the order they arose."""

    def __init__(self) -> None:
        self.hints: dict[Sym, int] = {}
        #: What messages say of a symbol beside its name, where that is not all: ``where x begins``.
        self.names: dict[Sym, str] = {}
        self.substitutions: dict[Sym, Dim] = {}
        #: What the substitutions so far make of the dims of tensors.
        self._resolved: dict[tuple[Dim, ...], tuple[Dim, ...]] = {}
        self.guards: list[Guard] = []
        #: Loop variables in scope of the trace, outermost first, with their smallest and largest value.
        self.loops: dict[Sym, tuple[Dim, Dim]] = {}
        #: The same of loops that are over, of which an earlier try of one may have left a number.
        self._ended: dict[Sym, tuple[Dim, Dim]] = {}
        #: The variables of loops that are never written out, since how many iterations they have is a size.
        self.only_loops: set[Sym] = set()

    def declare(self, name: str, hint: int | None = None, described: str = "") -> Dim:
        """A new input symbol; `hint` is its value in the call that is traced, None in a `.tx` declaration."""
        symbol = sym(name)
        assert symbol.symbol is not None
        if hint is not None:
            self.hints[symbol.symbol] = int(hint)
        self.names.setdefault(symbol.symbol, described or name)
        return symbol

    def resolve(self, d: DimLike) -> Dim:
        """`d` with every substitution applied."""
        return dim(d).substitute(self.substitutions) if self.substitutions else dim(d)

    def resolve_all(self, dims: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Dims with every substitution applied; the same object where that changes none."""
        if not self.substitutions:
            return dims
        found = self._resolved.get(dims)
        if found is None:
            found = tuple(d.substitute(self.substitutions) for d in dims)
            found = self._resolved[dims] = dims if found == dims else found
        return found

    def hint(self, d: DimLike) -> int | None:
        """The value of `d` in the traced call; None where it depends on a loop variable or nothing was called."""
        d = dim(d)
        if d.const is not None:
            return d.const
        try:
            return int(d.evaluate(self.hints))
        except KeyError:
            return None
        except ZeroDivisionError:
            return None

    def knows(self, d: DimLike) -> bool:
        """Whether all symbols of a dim are in scope."""
        return all(s in self.names or s in self.loops for s in self.resolve(d).symbols())

    def varies(self, d: Dim) -> bool:
        """Whether `d` mentions a loop variable."""
        return any(s in self.loops for s in d.symbols())

    def equate(self, a: DimLike, b: DimLike, why: str = "") -> Dim:
        """Demand that two dims are equal; the one to use from now on.

        Substitutes where the equation can be solved for an input symbol, else only guards.
        Raises OpError, with both values, where the dims differ in the traced call, which is a fact, or by construction.
        """
        a, b = self.resolve(a), self.resolve(b)
        if a is b:
            return a
        difference = a - b
        hint_a, hint_b = self.hint(a), self.hint(b)
        known = hint_a is not None and hint_b is not None
        if self.varies(difference) and (pair := self._equal_symbols(a, b)):
            self.equate(*pair, why)
            return self.resolve(a)
        if difference.const is not None or (known and hint_a != hint_b) or self.varies(difference):
            if difference.const is None and known:
                self._guard(a, "!=", b, why)  # code that raises it is for no call in which they are equal
            raise OpError(f"sizes {self.describe(a)} and {self.describe(b)} are not equal", code="TX0201")
        if self.varies(a):  # what both add for an iteration is no part of the fact
            self._guard(difference, "==", dim(0), why)
        else:
            self._guard(a, "==", b, why)
        self._solve(difference)
        return self.resolve(a if self.resolve(a) is self.resolve(b) or not b.const else b)

    def _equal_symbols(self, a: Dim, b: Dim) -> tuple[Dim, Dim] | None:
        """Two input symbols with one value in the traced call, which are all that differs between two dims.

        Windows of two arrays, ``x[i - 1 : i + 2]`` and ``y[i - 1 : i + 2]``, are equal in every iteration where
        the arrays' sizes are.
        """
        ours, theirs = ({s for s in d.symbols() if s in self.hints} for d in (a, b))
        for one, other in itertools.product(*(sorted(d, key=str) for d in (ours - theirs, theirs - ours))):
            s, t = sym(one.name), sym(other.name)
            if self.hints[one] == self.hints[other] and a.substitute({one: t}) is b:
                return s, t
        return None

    def is_one(self, d: DimLike, why: str = "broadcasting asks") -> bool:
        """Whether a size is 1, as a fact: a guard where it is not known; without a hint the answer is no."""
        d = self.resolve(d)
        if d.const is not None:
            return d.const == 1
        hint = self.hint(d)
        if hint is None:
            return False
        if hint == 1:
            self.equate(d, 1, why)
            return True
        self._guard(d, "!=", dim(1), why)
        return False

    def all_ones(self, dims: Sequence[Dim], why: str) -> bool:
        """Whether sizes are all 1, as one fact about their product where they are not."""
        total = product(dims)
        return all([self.is_one(d, why) for d in (dims if self.hint(total) == 1 else (total,))])

    def int_of(self, d: DimLike, why: str = "int() of it") -> int:
        """The value as a Python int, which makes it a fact; OpError where it is not the same in every call."""
        d = self.resolve(d)
        if d.const is not None:
            return d.const
        hint = self.hint(d)
        if hint is None:
            raise OpError(
                f"the value of {self.describe(d)} is needed while the function is being compiled",
                "it is known only when the compiled function runs; use it in array operations instead",
                "TX0202",
            )
        self.equate(d, hint, why)
        return hint

    def fix(self, d: DimLike, why: str) -> None:
        """Make a number of an expression that has a hint: its symbols have the values of the traced call, as facts."""
        for symbol in self.resolve(d).symbols():
            self.int_of(sym(symbol.name), why)

    def decide(self, a: DimLike, relation: str, b: DimLike, why: str = "") -> bool | None:
        """The truth of ``a relation b`` (``== != < <=``), proved or of the hints and guarded; None where neither is.

        A comparison that varies with a loop is True where it can be proved, or guarded, for every iteration.
        """
        a, b = self.resolve(a), self.resolve(b)
        if relation in ("==", "!="):
            if (a - b).const is not None:
                return (a is b) == (relation == "==")
            if self.varies(a - b):
                return None
            if self.varies(a):
                a, b = a - b, dim(0)
            if self._positive(a - b) or self._positive(b - a):
                return relation == "!="
        else:
            strict = int(relation == "<")
            low, high = self._range(b - a - strict)
            if low is None and high is None and self._learn_signs(b - a, why):
                low, high = self._range(b - a - strict)
            if low is not None and self._nonneg(low):
                return True
            if high is not None and self._nonneg(-high - 1):
                return False
            if self.varies(b - a):
                hint = None if low is None else self.hint(low)
                if low is None or hint is None or hint < 0:
                    return None
                self._guard(dim(0), "<=", low, why)
                return True
            if self.varies(a):  # what both add for an iteration is no part of the fact
                a, b = dim(0), b - a
        hint_a, hint_b = self.hint(a), self.hint(b)
        if hint_a is None or hint_b is None:
            return None
        truth = _TESTS[relation](hint_a, hint_b)
        if truth:
            self._guard(a, relation, b, why)
        elif relation in ("==", "!="):
            self._guard(a, "!=" if relation == "==" else "==", b, why)
        else:
            self._guard(b, "<" if relation == "<=" else "<=", a, why)
        if (relation == "==") == truth and relation in ("==", "!="):
            self._solve(a - b)
        return truth

    def lowest(self, d: DimLike) -> Dim | None:
        """The smallest value of `d` over the iterations of the loops around; None where it is not known.

        All iterations must be there for certain: the ends of no loop vary with another, and none is empty in the
        traced call, which becomes a fact.
        """
        for first, last in self.loops.values():
            if self.varies(first) or self.varies(last) or self.decide(first, "<=", last, "a loop that runs") is False:
                return None
        return self._range(self.resolve(d))[0]

    def upper(self, d: DimLike, but: Sequence[Sym] = ()) -> Dim | None:
        """A bound of `d` from above over all iterations of the loops around but these; None where there is none."""
        most = self.resolve(d)
        for s, (first, last) in reversed(self.loops.items()):
            if s in but:
                continue
            found = self._bound(most, s, last, first)
            if found is None:
                bounds = bounds_over(most, s, first, last)
                if bounds is None:
                    return None
                found = bounds[1]
            most = found
        return most

    def settle(self, a: DimLike, relation: str, b: DimLike, why: str = "") -> bool | None:
        """`decide`; where a declaration gives no hint, the comparison becomes a condition on the arguments.

        None only for what varies with a loop.
        """
        truth = self.decide(a, relation, b, why)
        difference = self.resolve(b) - self.resolve(a)
        if truth is None and not self.varies(difference):
            a, b = (dim(0), difference) if self.varies(self.resolve(a)) else (self.resolve(a), self.resolve(b))
            self._guard(a, relation, b, why)
            return True
        return truth

    def proves(self, a: DimLike, relation: str, b: DimLike) -> bool | None:
        """Whether ``a relation b`` in every call and every iteration; None where that is unknown.  It adds no guard."""
        d = self.resolve(b) - self.resolve(a)
        if relation in ("==", "!="):
            if d.const is not None:
                return (d.const == 0) == (relation == "==")
            return None
        low, high = self._range(d - int(relation == "<"))
        if low is not None and low.nonneg:
            return True
        if high is not None and (-high - 1).nonneg:
            return False
        return None

    def end_loop(self, symbol: Sym) -> None:
        """A loop is over: its variable has no meaning for what comes."""
        self._ended[symbol] = self.loops.pop(symbol)

    def _ended_in(self, d: Dim) -> dict[Sym, tuple[Dim, Dim]]:
        """The loops that are over whose variables are in an expression, outermost first."""
        found: dict[Sym, tuple[Dim, Dim]] = {}
        for s in d.symbols():
            if s in self._ended and s not in self.loops:
                for bound in self._ended[s]:
                    found |= self._ended_in(bound)
                found[s] = self._ended[s]
        return found

    def holds(self, d: DimLike, low: int, high: int) -> bool:
        """Whether `d`, and what is computed on the way to it, is from `low` to `high`, as a fact.

        Sizes, and what loops over sizes count, are taken to be far from the ends of 64 bits; ``n*n*n`` is not.
        """
        d = self.resolve(d)
        if ended := self._ended_in(d):
            self.loops |= ended
            try:
                return self.holds(d, low, high)
            finally:
                for s in ended:
                    del self.loops[s]
        if d.const is not None:
            return low <= d.const <= high
        wide = low <= _LOWEST and high >= _HIGHEST
        if wide and (d.symbol is not None or self._of_sizes(d)):
            return True
        for mono, _ in d.terms:
            for atom in mono:
                if isinstance(atom, Call) and not (
                    self.holds(atom.a, _LOWEST, _HIGHEST) and self.holds(atom.b, _LOWEST, _HIGHEST)
                ):
                    return False
        least, most = self._range(d)
        if least is None or most is None:
            largest = self._magnitude(d)
            least = least or (dim(0) if d.nonneg else -largest)
            most = most or largest
        return self._reaches(low, least, wide) and self._reaches(-high, -most, wide)

    def _reaches(self, low: int, d: Dim, wide: bool) -> bool:
        """Whether ``low <= d`` in every iteration; what is no less than an argument is within 64 bits by itself."""
        if wide and d.symbols():
            more = sum(c for mono, c in d.terms if not mono)
            rest = d - more
            # The least int of 64 bits is the one number whose negative has no place.
            if more >= 0 and ((-rest).symbol or (rest.symbol and (low == _LOWEST or more))):
                return True
        return bool(self.settle(low, "<=", d, "an int that fits"))

    def _of_sizes(self, d: Dim) -> bool:
        """Whether only sizes, and counters of loops over sizes, are in an expression, and no third power as it were."""
        return all(len(mono) < 3 or len({*mono}) == len(mono) for mono, _ in d.terms) and all(
            all(map(self._of_sizes, map(self.resolve, self.loops[s]))) if s in self.loops else s.nonneg
            for s in d.symbols()
        )

    def _magnitude(self, d: Dim) -> Dim:
        """A bound of the absolute value of `d` over all iterations, without loops' counters."""
        total = dim(0)
        for mono, coefficient in d.terms:
            term = dim(abs(coefficient))
            for atom in mono:
                term = term * self._magnitude_of(atom)
            total = total + term
        return total

    def _magnitude_of(self, atom: Sym | Call) -> Dim:
        if isinstance(atom, Sym):
            if atom in self.loops:
                first, last = (self._magnitude(self.resolve(d)) for d in self.loops[atom])
                return maximum(first, last)
            return sym(atom.name) if atom.nonneg else maximum(sym(atom.name), -sym(atom.name))
        a, b = self._magnitude(atom.a), self._magnitude(atom.b)
        if atom.fn == "%":
            return b - 1 if b.const else b
        return a + 1 if atom.fn == "//" else a + b

    def describe(self, d: Dim) -> str:
        """For messages: the expression, what its symbols are, and its value in this call where it has one."""
        if d.const is not None:
            return str(d.const)
        named = d.symbol is not None and self.names.get(d.symbol)
        text = f"{d} ({named})" if named and named != str(d).removeprefix("$") else str(d)
        hint = self.hint(d)
        return text if hint is None else f"{text} = {hint}"

    @staticmethod
    def without_values(text: str) -> str:
        """A message with what `describe` says of dims, but for their values in this call."""
        return re.sub(r"(?<=[\w)\]]) = -?\d+", "", text)

    def _nonneg(self, d: Dim) -> bool:
        """Whether ``d >= 0`` follows from its form or from one guard."""
        if d.nonneg:
            return True
        return any((d - self.resolve(g.slack)).nonneg for g in self.guards if g.relation in ("<", "<="))

    def _positive(self, d: Dim) -> bool:
        return self._nonneg(d - 1)

    def _guard(self, a: Dim, relation: str, b: Dim, why: str) -> None:
        if relation in ("<", "<="):
            fact = b - a - int(relation == "<")
            if self._nonneg(fact):
                return
            # What the new fact implies is no longer worth checking.
            for old in [g for g in self.guards if g.relation in ("<", "<=")]:
                if (old.slack - fact).nonneg:
                    self.guards.remove(old)
        if not any(g.lhs is a and g.relation == relation and g.rhs is b for g in self.guards):
            self.guards.append(Guard(a, relation, b, why))

    def _solve(self, difference: Dim) -> None:
        """Substitute for one symbol so that `difference` becomes zero, where it is linear with coefficient ±1."""
        scale = math.gcd(*(c for _, c in difference.terms))
        if scale > 1:
            difference = Dim.of_terms({mono: c // scale for mono, c in difference.terms})
        # `$` symbols first: what replaces them is known not to be negative; then the latest declared.
        order = list(self.names)
        free = [s for s in difference.symbols() if s in self.names and s not in self.loops]
        for s in sorted(free, key=lambda s: (s.nonneg, -order.index(s))):
            split = linear_in(difference, [s])
            if split is None:
                continue
            coefficients, rest = split
            coefficient = coefficients[s].const if s in coefficients else None
            if coefficient not in (1, -1):
                continue
            value = rest * -coefficient
            # A size replaced by an expression that may be negative would lose what is known of it.
            if s.nonneg and not value.nonneg and any(t.nonneg for t in free if t is not s):
                continue
            self.substitutions = {k: v.substitute({s: value}) for k, v in self.substitutions.items()}
            self.substitutions[s] = value
            self._resolved.clear()
            return

    def _range(self, d: Dim) -> tuple[Dim | None, Dim | None]:
        """Bounds of `d` over all iterations of the loops it varies with, innermost loops first; None: not known."""
        low: Dim | None = d
        high: Dim | None = d
        for s, (first, last) in reversed(self.loops.items()):
            low = self._bound(low, s, first, last)
            high = self._bound(high, s, last, first)
        return low, high

    def _learn_signs(self, d: Dim, why: str) -> bool:
        """Make facts of the signs of what a step of each loop adds to `d`; whether there are such."""
        parts = linear_in(d, self.loops)
        steps = [] if parts is None else [c for c in parts[0].values() if not self._is_signed(c)]
        return bool(steps) and all([self.decide(0, "<=", c, why) is not None for c in steps])

    def _is_signed(self, d: Dim) -> bool:
        return self._nonneg(d) or self._nonneg(-d)

    def _bound(self, d: Dim | None, s: Sym, at_positive: Dim, at_negative: Dim) -> Dim | None:
        """`d` with `s` replaced by the end of its range that makes it extreme; None where no direction is known."""
        if d is None or s not in d.symbols():
            return d
        split = linear_in(d, [s])
        if split is None:
            return None
        coefficients, rest = split
        c = coefficients.get(s)
        if c is None:
            return rest
        if self._nonneg(c):
            return rest + c * at_positive
        if self._nonneg(-c):
            return rest + c * at_negative
        return None

    def environment(self, shapes: Mapping[Sym, int]) -> dict[Sym, int]:
        """The values of all symbols for a call, those that were substituted included."""
        env: dict[Sym, Any] = dict(shapes)
        for s, value in self.substitutions.items():
            if s not in env:
                env[s] = value.evaluate(env)
        return env
