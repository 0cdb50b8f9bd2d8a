"""Integer expressions over symbols: the sizes of tensors, loop bounds, strides and index maps.

A `Dim` is an immutable, interned polynomial with integer coefficients.  Its atoms are symbols and the calls
``a // b``, ``a % b``, ``a ^ b`` (of bits), ``min`` and ``max``, kept opaque.  Interning makes equality of normal forms
object identity, so ``n*m - m`` and ``m*(n - 1)`` are the same object.  Division and remainder are Python's (they round
down).

A symbol written ``n`` is never negative (a size or an iterator); one written ``$s`` may be (a stride, an `int`
argument).  Nothing here imports xDSL or NumPy; `evaluate` works on ints and on integer arrays alike.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from math import gcd
from typing import Any, ClassVar, TypeAlias

__all__ = [
    "Call",
    "Dim",
    "DimLike",
    "Sym",
    "ceil_div",
    "dim",
    "iterator",
    "iterators",
    "maximum",
    "minimum",
    "of_atom",
    "only_call",
    "packed_strides",
    "parse_dim",
    "size_name",
    "size_symbol",
    "split_divisible",
    "sym",
]


class Sym:
    """A named integer.  ``nonneg`` is part of its name: names that may be negative start with ``$``."""

    __slots__ = ("key", "name", "nonneg")
    _interned: ClassVar[dict[str, Sym]] = {}

    def __new__(cls, name: str) -> Sym:
        found = cls._interned.get(name)
        if found is None:
            found = cls._interned[name] = super().__new__(cls)
            found.name, found.nonneg, found.key = name, not name.startswith("$"), name
        return found

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return Sym, (self.name,)


class Call:
    """An operation that stays opaque inside a polynomial: ``fn`` is one of ``// % ^ min max``."""

    __slots__ = ("a", "b", "fn", "key", "nonneg")
    _interned: ClassVar[dict[tuple[str, Dim, Dim], Call]] = {}

    def __new__(cls, fn: str, a: Dim, b: Dim) -> Call:
        found = cls._interned.get((fn, a, b))
        if found is None:
            found = cls._interned[fn, a, b] = super().__new__(cls)
            found.fn, found.a, found.b = fn, a, b
            found.key = f"{fn}({a}, {b})" if fn in ("min", "max") else f"({_grouped(a)} {fn} {_grouped(b)})"
            if fn == "%":
                found.nonneg = b.nonneg
            elif fn == "max":
                found.nonneg = a.nonneg or b.nonneg
            else:
                found.nonneg = a.nonneg and b.nonneg
        return found

    def __repr__(self) -> str:
        return self.key

    def __reduce__(self) -> tuple[Any, ...]:
        return Call, (self.fn, self.a, self.b)


Atom: TypeAlias = Sym | Call
Monomial: TypeAlias = tuple[Atom, ...]
Terms: TypeAlias = tuple[tuple[Monomial, int], ...]


class Dim:
    """An interned integer expression in normal form: a sum of coefficient times a product of atoms.

    A division by zero stays one: maps of places have it where no element exists, for which nothing is computed.
    """

    __slots__ = ("_symbols", "_text", "nonneg", "terms")
    _interned: ClassVar[dict[Terms, Dim]] = {}
    terms: Terms
    nonneg: bool
    _symbols: frozenset[Sym]
    _text: str | None

    @staticmethod
    def of_terms(terms: Mapping[Monomial, int]) -> Dim:
        kept = [(mono, coeff) for mono, coeff in terms.items() if coeff]
        if len(kept) > 1:
            kept.sort(key=lambda term: _place(term[0]))
        key = tuple(kept)
        found = Dim._interned.get(key)
        if found is None:
            found = Dim._interned[key] = object.__new__(Dim)
            found.terms = key
            found.nonneg = all(c > 0 and all(a.nonneg for a in mono) for mono, c in key)
            found._text = None
            found._symbols = _symbols_of(key)
        return found

    @property
    def text(self) -> str:
        """What `parse_dim` reads back."""
        if self._text is None:
            self._text = _text(self.terms)
        return self._text

    @property
    def const(self) -> int | None:
        """Its value where it is a constant, else None."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    @property
    def symbol(self) -> Sym | None:
        """The symbol it is, where it is just one symbol."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1:
            atom = self.terms[0][0][0]
            return atom if isinstance(atom, Sym) else None
        return None

    def symbols(self) -> frozenset[Sym]:
        return self._symbols

    def __add__(self, other: DimLike) -> Dim:
        return _sum(self, dim(other))

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return _difference(dim(0), self)

    def __sub__(self, other: DimLike) -> Dim:
        return _difference(self, dim(other))

    def __rsub__(self, other: DimLike) -> Dim:
        return _difference(dim(other), self)

    def __mul__(self, other: DimLike) -> Dim:
        return _product(self, dim(other))

    __rmul__ = __mul__

    def __floordiv__(self, other: DimLike) -> Dim:
        other = dim(other)
        if other.const and self.const is not None:
            return dim(self.const // other.const)
        whole, rest = split_divisible(self, other)
        if not rest.terms or _is_remainder_below(rest, other):
            return whole
        if whole.terms:
            return whole + rest // other
        common = _common_factor(rest, other)
        if common > 1:
            return _divided(rest, common) // _divided(other, common)
        # Of powers of two only: another quotient is a division, which its remainder and further ones share.
        inner = only_call(self)
        if inner is not None and inner.fn == "//" and _is_power_of_two(inner.b) and _is_power_of_two(other):
            return inner.a // (inner.b * other)
        return of_atom(Call("//", self, other))

    def __rfloordiv__(self, other: DimLike) -> Dim:
        return dim(other) // self

    def __mod__(self, other: DimLike) -> Dim:
        other = dim(other)
        if other.const and self.const is not None:
            return dim(self.const % other.const)
        _, rest = split_divisible(self, other)
        if not rest.terms or _is_remainder_below(rest, other):
            return rest
        if rest is not self:
            return rest % other
        common = _common_factor(rest, other)
        if common > 1:
            return _divided(rest, common) % _divided(other, common) * common
        return of_atom(Call("%", rest, other))

    def __xor__(self, other: DimLike) -> Dim:
        other = dim(other)
        if other.const is not None and self.const is not None:
            return dim(self.const ^ other.const)
        if self.const == 0 or other.const == 0:
            return self + other
        return of_atom(Call("^", self, other))

    def evaluate(self, env: Mapping[Sym, Any]) -> Any:
        """Its value where each symbol has the value that `env` gives it; arrays broadcast."""
        total: Any = 0
        for mono, coeff in self.terms:
            value: Any = coeff
            for atom in mono:
                value = value * _evaluate_atom(atom, env)
            total = total + value
        return total

    def substitute(self, env: Mapping[Sym, Dim]) -> Dim:
        """The expression with symbols replaced, in normal form again."""
        if not any(s in env for s in self.symbols()):
            return self
        return self.with_atoms(lambda atom: _substitute_atom(atom, env))

    def with_atoms(self, replaced: Callable[[Atom], Dim]) -> Dim:
        """The expression with each atom replaced, in normal form again."""
        terms: dict[Monomial, int] = {}
        for mono, coeff in self.terms:
            factors = [replaced(atom) for atom in mono]
            if all(f is of_atom(atom) for f, atom in zip(factors, mono)):
                terms[mono] = terms.get(mono, 0) + coeff
                continue
            for other, times in reduce(_product, factors).terms:
                terms[other] = terms.get(other, 0) + coeff * times
        return Dim.of_terms(terms)

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return parse_dim, (self.text,)


DimLike: TypeAlias = Dim | int


@lru_cache(maxsize=65536)
def _place(mono: Monomial) -> tuple[bool, list[str]]:
    """Where a term stands in its sum: by the names of its atoms, the constant last."""
    keys = [atom.key for atom in mono]
    return not keys, keys


# A compilation asks for the same few sums, products and quotients hundreds of times.


@lru_cache(maxsize=65536)
def _sum(a: Dim, b: Dim) -> Dim:
    terms = dict(a.terms)
    for mono, coeff in b.terms:
        terms[mono] = terms.get(mono, 0) + coeff
    return _joined(Dim.of_terms(terms))


def _joined(total: Dim) -> Dim:
    """A sum in which a number up to a bound and what is beyond that, ``min(a, b) + max(0, a - b)``, are the number."""
    calls = [mono[0] for mono, coeff in total.terms if coeff == 1 and len(mono) == 1 and isinstance(mono[0], Call)]
    for low, high in itertools.permutations(calls, 2) if len(calls) > 1 else ():
        if low.fn == "min" and high.fn == "max" and dim(0) in (high.a, high.b):
            beyond = high.a + high.b
            for number, bound in ((low.a, low.b), (low.b, low.a)):
                if beyond is number - bound:
                    return total - of_atom(low) - of_atom(high) + number
    return total


@lru_cache(maxsize=65536)
def _difference(a: Dim, b: Dim) -> Dim:
    terms = dict(a.terms)
    for mono, coeff in b.terms:
        terms[mono] = terms.get(mono, 0) - coeff
    return Dim.of_terms(terms)


@lru_cache(maxsize=65536)
def _product(a: Dim, b: Dim) -> Dim:
    terms: dict[Monomial, int] = {}
    for mono_a, ca in a.terms:
        for mono_b, cb in b.terms:
            mono = tuple(sorted(mono_a + mono_b, key=lambda atom: atom.key))
            terms[mono] = terms.get(mono, 0) + ca * cb
    return Dim.of_terms(terms)


def dim(value: DimLike | str) -> Dim:
    """A `Dim` of an int, a symbol's name or expression text, or itself."""
    if isinstance(value, Dim):
        return value
    if isinstance(value, str):
        return parse_dim(value)
    return _constant(int(value))


def sym(name: str) -> Dim:
    """The expression that is just the symbol `name`."""
    return of_atom(Sym(name))


@lru_cache(maxsize=4096)
def _constant(value: int) -> Dim:
    return Dim.of_terms({(): value})


@lru_cache(maxsize=65536)
def of_atom(atom: Atom) -> Dim:
    """The expression that is just one atom."""
    return Dim.of_terms({(atom,): 1})


@lru_cache(maxsize=256)
def iterator(i: int) -> Dim:
    """The `i`-th iterator of an index map, ``d0``, ``d1``, …"""
    return sym(f"d{i}")


def iterators(rank: int) -> tuple[Dim, ...]:
    return tuple(iterator(i) for i in range(rank))


#: What the compiler itself calls iterators of maps (`iterator`), of loops, and of loops of the program.
_COUNTER = re.compile(r"(d|i|iv)\d+|max|min")


def size_symbol(name: str) -> Dim:
    """The symbol of a size that a program calls `name`.

    The compiler's own symbols are in ASCII, and counters are a few letters and a number: a size that one could be taken
    for, or for a function of dims, ends in a dot, which no counter does.
    """
    spelled = "".join(c if c.isascii() else f"u{ord(c):x}." for c in name)
    return sym(f"{spelled}." if _COUNTER.fullmatch(spelled) else spelled)


def size_name(symbol: Sym) -> str:
    """What a program calls the size of a symbol that `size_symbol` made."""
    text = re.sub(r"u([0-9a-f]+)\.", lambda m: chr(int(m[1], 16)), symbol.name)
    return text.removesuffix(".")


def minimum(a: DimLike, b: DimLike) -> Dim:
    """The smaller of two, decided now where their difference has a known sign."""
    a, b = dim(a), dim(b)
    if (b - a).nonneg or _is_one_of("max", b, a) or _is_one_of("min", a, b):
        return a
    if (a - b).nonneg or _is_one_of("max", a, b) or _is_one_of("min", b, a):
        return b
    return of_atom(Call("min", *sorted((a, b), key=str)))


def maximum(a: DimLike, b: DimLike) -> Dim:
    """The larger of two, decided now where their difference has a known sign."""
    a, b = dim(a), dim(b)
    if (b - a).nonneg or _is_one_of("min", a, b) or _is_one_of("max", b, a):
        return b
    if (a - b).nonneg or _is_one_of("min", b, a) or _is_one_of("max", a, b):
        return a
    return of_atom(Call("max", *sorted((a, b), key=str)))


def ceil_div(a: Dim, b: Dim | int) -> Dim:
    """How many parts of `b`, the last of which may be shorter, make up `a`."""
    return (a + (b - 1)) // b


def _is_one_of(fn: str, expr: Dim, part: Dim) -> bool:
    """Whether an expression is the smaller (``fn="min"``), or the larger, of `part` and something else."""
    call = only_call(expr)
    return call is not None and call.fn == fn and (call.a is part or call.b is part)


@lru_cache(maxsize=65536)
def split_divisible(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """``(q, r)`` with ``a == q*b + r`` where q takes every term that the single-term `b` divides."""
    if a is b:
        return dim(1), dim(0)
    if len(b.terms) != 1:
        return dim(0), a
    ((b_mono, b_coeff),) = b.terms
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for mono, coeff in a.terms:
        left = list(mono)
        try:
            for atom in b_mono:
                left.remove(atom)
            divides = coeff % b_coeff == 0
        except ValueError:
            divides = False
        if divides:
            whole[tuple(left)] = whole.get(tuple(left), 0) + coeff // b_coeff
        else:
            rest[mono] = coeff
    return Dim.of_terms(whole), Dim.of_terms(rest)


def _is_power_of_two(expr: Dim) -> bool:
    number = expr.const or 0
    return number > 0 and number & (number - 1) == 0


def only_call(expr: Dim) -> Call | None:
    """The call that an expression is, where it is just one."""
    if len(expr.terms) == 1 and expr.terms[0][1] == 1 and len(expr.terms[0][0]) == 1:
        atom = expr.terms[0][0][0]
        return atom if isinstance(atom, Call) else None
    return None


def _is_remainder_below(a: Dim, b: Dim) -> bool:
    """Whether `a` is a remainder by a constant that is at most the constant `b`, and so lies below that."""
    atom = only_call(a)
    if atom is None or atom.fn != "%" or atom.b.const is None or b.const is None:
        return False
    return 0 < atom.b.const <= b.const


def _common_factor(a: Dim, b: Dim) -> int:
    """The largest number that divides a positive constant `b` and every coefficient of `a`; 1 for any other `b`."""
    if b.const is None or b.const <= 0:
        return 1
    return gcd(b.const, *(coeff for _, coeff in a.terms))


def _divided(expr: Dim, by: int) -> Dim:
    """An expression all of whose coefficients a number divides, divided by it."""
    return Dim.of_terms({mono: coeff // by for mono, coeff in expr.terms})


def _evaluate_atom(atom: Atom, env: Mapping[Sym, Any]) -> Any:
    if isinstance(atom, Sym):
        return env[atom]
    a, b = atom.a.evaluate(env), atom.b.evaluate(env)
    if atom.fn == "//":
        return a // b
    if atom.fn == "%":
        return a % b
    if atom.fn == "^":
        return a ^ b
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b) if atom.fn == "min" else max(a, b)
    less = a < b
    return less * (a if atom.fn == "min" else b) + (1 - less) * (b if atom.fn == "min" else a)


def _substitute_atom(atom: Atom, env: Mapping[Sym, Dim]) -> Dim:
    if isinstance(atom, Sym):
        return env[atom] if atom in env else of_atom(atom)
    a, b = atom.a.substitute(env), atom.b.substitute(env)
    return _FUNCTIONS[atom.fn](a, b)


_FUNCTIONS: dict[str, Callable[[Dim, Dim], Dim]] = {
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "^": lambda a, b: a ^ b,
    "min": minimum,
    "max": maximum,
}


def _symbols_of(terms: Terms) -> frozenset[Sym]:
    atoms = [atom for mono, _ in terms for atom in mono]
    inside = [atom.a.symbols() | atom.b.symbols() for atom in atoms if isinstance(atom, Call)]
    return frozenset(atom for atom in atoms if isinstance(atom, Sym)).union(*inside)


def _grouped(expr: Dim) -> str:
    """As an operand of a division: in parentheses unless it is one atom or a number."""
    return expr.text if expr.const is not None or expr.symbol is not None else f"({expr.text})"


def _text(terms: Terms) -> str:
    if not terms:
        return "0"
    parts: list[str] = []
    for mono, coeff in terms:
        factors = [a.key for a in mono]
        if abs(coeff) != 1 or not factors:
            factors.insert(0, str(abs(coeff)))
        text = "*".join(factors)
        if not parts:
            parts.append(f"-{text}" if coeff < 0 else text)
        else:
            parts.append(f" - {text}" if coeff < 0 else f" + {text}")
    return "".join(parts)


def packed_strides(dims: Sequence[Dim], order: Sequence[int] | None = None) -> tuple[Dim, ...]:
    """Strides without gaps when memory holds the dims from ``order[0]``, the slowest, to ``order[-1]``."""
    strides: dict[int, Dim] = {}
    running = dim(1)
    for d in reversed(range(len(dims)) if order is None else order):
        strides[d] = running
        running = running * dims[d]
    return tuple(strides[d] for d in range(len(dims)))


@lru_cache(maxsize=65536)
def parse_dim(text: str) -> Dim:
    """Read back what `str` printed.  Raises ValueError with the text where it is no such expression."""
    # Python's parser does the work, so `$` and `.`, legal in our symbols only, become letters of its alphabet (the
    # Khoisan clicks, which its identifier normalisation leaves alone) on the way in and are put back in `_from_ast`.
    spelled = text.replace("$", "\u01c0").replace(".", "\u01c1")
    try:
        return _from_ast(ast.parse(spelled, mode="eval").body)
    except (SyntaxError, KeyError, ValueError) as error:
        raise ValueError(f"{text!r} is not an integer expression over dims") from error


def _from_ast(node: ast.expr) -> Dim:
    match node:
        case ast.Constant(value=int(value)):
            return dim(value)
        case ast.Name(id=name):
            return sym(name.replace("\u01c0", "$").replace("\u01c1", "."))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_from_ast(operand)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _from_ast(left), _from_ast(right)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.FloorDiv():
                    return a // b
                case ast.Mod():
                    return a % b
                case ast.BitXor():
                    return a ^ b
        case ast.Call(func=ast.Name(id="min" | "max" as fn), args=[left, right]):
            return _FUNCTIONS[fn](_from_ast(left), _from_ast(right))
    raise ValueError("unsupported syntax")
