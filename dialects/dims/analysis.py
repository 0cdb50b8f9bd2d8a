"""What can be said of a `Dim` without its symbols' values: bounds, linear parts, and simpler forms within bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from .dims import Atom, Call, Dim, Monomial, Sym, dim, maximum, minimum, of_atom, only_call, split_divisible

__all__ = [
    "bounds_over", "constant_bound", "divisors", "expand_mods", "limits", "linear_in", "period", "quotients",
    "simplify",
]  # fmt: skip


def constant_bound(expr: Dim) -> int | None:
    """A constant that the expression never exceeds, where its own form shows one: its value, or that of a `min`."""
    return min((limit.const for limit in limits(expr) if limit.const is not None), default=None)


def limits(expr: Dim) -> Iterator[Dim]:
    """What an expression never exceeds, by its own form: itself, or what the operands of a `min` do not."""
    call = only_call(expr)
    if call is not None and call.fn == "min":
        yield from limits(call.a)
        yield from limits(call.b)
    else:
        yield expr


def bounds_over(expr: Dim, symbol: Sym, first: Dim, last: Dim) -> tuple[Dim, Dim] | None:
    """The least and the greatest value, or bounds of them, where ``first <= symbol <= last``; None where not known.

    Each occurrence of the symbol counts on its own, so ``i - i // 2`` gets a wider range than it has.
    """
    low, high = dim(0), dim(0)
    for mono, coeff in expr.terms:
        varying = [a for a in mono if symbol in of_atom(a).symbols()]
        factors: list[tuple[Dim, Dim]] = []
        for atom in mono:
            found = _atom_bounds(atom, symbol, first, last) if atom in varying else (of_atom(atom), of_atom(atom))
            if found is None:
                return None
            factors.append(found)
        # Where one factor varies, the signs of the others say which end is which.
        known = not varying or all(a[0].nonneg or varying == [atom] for atom, a in zip(mono, factors))
        least, most = (_product([f[end] for f in factors]) for end in (0, 1)) if known else _by_magnitude(factors)
        ends = (least * coeff, most * coeff)
        low, high = low + ends[coeff < 0], high + ends[coeff > 0]
    return low, high


def _by_magnitude(factors: Sequence[tuple[Dim, Dim]]) -> tuple[Dim, Dim]:
    """Bounds of a product of factors of any signs."""
    most = _product([maximum(high, -low) for low, high in factors])
    return -most, most


def _product(factors: Iterable[Dim]) -> Dim:
    return math.prod(factors, start=dim(1))


def _atom_bounds(atom: Atom, symbol: Sym, first: Dim, last: Dim) -> tuple[Dim, Dim] | None:
    if isinstance(atom, Sym):
        return first, last
    a, b = bounds_over(atom.a, symbol, first, last), bounds_over(atom.b, symbol, first, last)
    if a is None or b is None:
        return None
    if atom.fn in ("min", "max"):
        pick = minimum if atom.fn == "min" else maximum
        return pick(a[0], b[0]), pick(a[1], b[1])
    if atom.fn == "//" and a[0].nonneg and maximum(1, b[0]) is b[0]:
        # What is never run may have a last value before its first.
        return a[0] // maximum(1, b[1]), a[1] // b[0]
    if atom.fn == "^" or symbol in atom.b.symbols() or not atom.b.nonneg:
        return None
    return (a[0] // atom.b, a[1] // atom.b) if atom.fn == "//" else (dim(0), dim(atom.b - 1))


def period(expr: Dim, symbol: Sym) -> int:
    """A number of steps of `symbol` after which an expression goes on as it began, but for a multiple of that number.

    1 where it is linear in the symbol or divides it by no constant.
    """
    found = 1
    for mono, _ in expr.terms:
        for atom in mono:
            if isinstance(atom, Call) and atom.fn in ("//", "%") and symbol in atom.a.symbols():
                found = math.lcm(found, period(atom.a, symbol) * max(1, atom.b.const or 1))
    return found


def linear_in(expr: Dim, symbols: Iterable[Sym]) -> tuple[dict[Sym, Dim], Dim] | None:
    """``(coefficients, rest)`` with ``expr == sum(coefficient * symbol) + rest`` and no listed symbol left in either.

    None where the expression is not linear in the symbols (a product of two, or one inside a division).
    """
    wanted = expr.symbols() & set(symbols)
    if not wanted:
        return {}, expr
    coefficients: dict[Sym, dict[Monomial, int]] = {}
    rest: dict[Monomial, int] = {}
    for mono, coeff in expr.terms:
        hits = [a for a in mono if a in wanted]
        if len(hits) > 1 or any(isinstance(a, Call) and (a.a.symbols() | a.b.symbols()) & wanted for a in mono):
            return None
        if not hits:
            rest[mono] = rest.get(mono, 0) + coeff
            continue
        (hit,) = hits
        assert isinstance(hit, Sym)
        others = tuple(a for a in mono if a is not hit)
        coefficients.setdefault(hit, {})[others] = coeff
    return {s: Dim.of_terms(c) for s, c in coefficients.items()}, Dim.of_terms(rest)


def quotients(expr: Dim, symbol: Sym) -> Iterator[tuple[Dim, Dim]]:
    """The divisions of what `symbol` is in, anywhere in an expression: dividends and divisors.

    ``s // a // b`` divides s by ``a * b``, and by ``a``.
    """
    for mono, _ in expr.terms:
        for atom in mono:
            if isinstance(atom, Call):
                inner = only_call(atom.a)
                if atom.fn in ("//", "%") and symbol in atom.a.symbols():
                    yield atom.a, atom.b
                if atom.fn in ("//", "%") and inner is not None and inner.fn == "//" and symbol in inner.a.symbols():
                    yield inner.a, inner.b * atom.b
                yield from quotients(atom.a, symbol)
                yield from quotients(atom.b, symbol)


def divisors(expr: Dim, symbol: Sym) -> Iterator[Dim]:
    """What the bare `symbol` is divided by anywhere in an expression."""
    return (divisor for dividend, divisor in quotients(expr, symbol) if dividend.symbol is symbol)


@lru_cache(maxsize=65536)
def expand_mods(expr: Dim) -> Dim:
    """Rewrite each ``e % c`` as ``e - c*(e // c)``, so that the address of a reshaped contiguous tensor collapses."""

    def expanded(atom: Atom) -> Dim:
        if isinstance(atom, Call) and atom.fn == "%":
            return atom.a - atom.b * (atom.a // atom.b)
        return of_atom(atom)

    return expr.with_atoms(expanded)


def simplify(expr: Dim, extents: Mapping[Sym, Dim]) -> Dim:
    """Fold divisions, remainders, `min` and `max` using ``0 <= s < extents[s]`` for each listed symbol."""
    if not any(isinstance(atom, Call) for mono, _ in expr.terms for atom in mono):
        return expr
    return _simplified(expr, tuple((s, extents[s]) for s in expr.symbols() if s in extents))


@lru_cache(maxsize=65536)
def _simplified(expr: Dim, bounds: tuple[tuple[Sym, Dim], ...]) -> Dim:
    """`simplify`, with the extents of the symbols that are in the expression."""
    extents = dict(bounds)

    def fold(atom: Atom) -> Dim:
        if isinstance(atom, Sym):
            return of_atom(atom)
        a, b = simplify(atom.a, extents), simplify(atom.b, extents)
        if atom.fn in ("min", "max"):
            if _bounded_nonneg(b - a, extents):
                return a if atom.fn == "min" else b
            if _bounded_nonneg(a - b, extents):
                return b if atom.fn == "min" else a
            return minimum(a, b) if atom.fn == "min" else maximum(a, b)
        if atom.fn == "^":
            return a ^ b
        whole, rest = split_divisible(a, b)
        if b.const is not None and b.const > 0:
            turns = dict(rest.terms).get((), 0) // b.const
            whole, rest = whole + turns, rest - turns * b
        if _below(rest, b, extents):
            return whole if atom.fn == "//" else rest
        return a // b if atom.fn == "//" else a % b

    return expr.with_atoms(fold)


def _below(value: Dim, limit: Dim, extents: Mapping[Sym, Dim]) -> bool:
    """Whether ``0 <= value < limit`` everywhere.  A quotient is where its dividend is below so many times the limit."""
    if _bounded_nonneg(value, extents) and _bounded_nonneg(limit - 1 - value, extents):
        return True
    inner = only_call(value)
    if inner is None or inner.fn != "//" or not limit.nonneg or not inner.b.nonneg:
        return False
    return _below(inner.a, inner.b * limit, extents)


def _bounded_nonneg(expr: Dim, extents: Mapping[Sym, Dim]) -> bool:
    """Whether ``expr >= 0`` for every value of the bounded symbols (taken to be inside a non-empty range)."""
    if expr.nonneg:
        return True
    split = linear_in(expr, extents)
    if split is None:
        return False
    coefficients, least = split
    lows = [least]
    for s, c in coefficients.items():
        if (-c).nonneg:
            lows = [low + c * (limit - 1) for low in lows for limit in limits(extents[s])]
        elif not c.nonneg:
            return False
    return any(low.nonneg for low in lows)
