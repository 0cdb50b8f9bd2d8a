"""`np.einsum`: any number of operands, ellipses, diagonals, both forms; pairs of operands become contractions.

opt_einsum chooses the order in which three and more operands meet, from the text alone, as if all dims known only at
run time had one size: the same on every call, so results do not depend on the sizes that were met first.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ......dialects.registry import OpError
from ....tensor.apply import apply, as_tensor
from ....tensor.methods import elements, reducing, reshaping
from ....tensor.promotion import cast, common_dtype, strong
from ....tensor.tensor import Tensor
from ....trace.context import table
from ...out_arrays import into, target_of
from ..registry import handles
from .products import contracted

__all__ = ["einsum"]

#: What a dim of unknown size counts as where the order of operands is chosen.
ASSUMED = 64


@handles(np.einsum)
def einsum(*operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None) -> Any:
    """NumPy's, with any `optimize`: True and False choose an order here, a path of `np.einsum_path` is followed."""
    texts, given, result = _letters(operands)
    tensors = [strong(as_tensor(x)) for x in given]
    if dtype is not None:
        tensors = [cast(t, elements.element_named(dtype)) for t in tensors]
    elif (target := target_of(out)) is not None and np.can_cast(common_dtype(tensors).numpy, target.dtype, "safe"):
        tensors = [cast(t, target.element) for t in tensors]
    terms = [_without_diagonals(_Term(t, s)) for t, s in zip(tensors, texts, strict=True)]
    _stretched(terms)
    for pair in _path(terms, result, optimize):
        chosen = [terms[i] for i in pair]
        terms = [t for i, t in enumerate(terms) if i not in pair]
        needed = result + "".join(t.letters for t in terms)
        while len(chosen) > 1:
            inside = needed + "".join(t.letters for t in chosen[2:])
            chosen = [_product(*chosen[:2], inside), *chosen[2:]]
        terms.append(chosen[0])
    (last,) = terms
    last = _summed(last, result)
    order = [last.letters.index(c) for c in result]
    return into(out, reshaping.transpose(last.tensor, order) if order else last.tensor, casting="safe")


@dataclass
class _Term:
    """A tensor, and a letter for each of its dims."""

    tensor: Tensor
    letters: str


def _refused(text: str, tensors: Sequence[Any]) -> OpError:
    listed = ", ".join(str(as_tensor(t).user_type) for t in tensors)
    return OpError(f"np.einsum {text!r} does not fit {listed}", "one letter for each dim of each operand", "TX0272")


def _letters(operands: Sequence[Any]) -> tuple[list[str], list[Any], str]:
    """The letters of each operand, the operands, the letters of the result: ellipses written out, the arrow added."""
    text, tensors = _as_text(operands)
    inputs, arrow, result = text.replace(" ", "").partition("->")
    texts = inputs.split(",")
    if len(texts) != len(tensors) or set(inputs + result) - {*string.ascii_letters, ",", "."}:
        raise _refused(text, tensors)
    free = [c for c in reversed(string.ascii_letters) if c not in inputs + result]
    extra = [np.ndim(x) if not isinstance(x, Tensor) else x.ndim for x in tensors]
    extra = [rank - len(s.replace("...", "")) for rank, s in zip(extra, texts)]
    if any(n < 0 or (n and "..." not in s) for n, s in zip(extra, texts)):
        raise _refused(text, tensors)
    stack = "".join(free[: max(extra, default=0)])
    texts = [s.replace("...", stack[len(stack) - n :]) for s, n in zip(texts, extra)]
    everything = "".join(texts)
    if not arrow:
        once = sorted(c for c in set(everything) if everything.count(c) == 1 and c not in stack)
        result = stack + "".join(once)
    result = result.replace("...", stack)
    if "." in everything + result or len(set(result)) != len(result) or set(result) - set(everything):
        raise _refused(text, tensors)
    return texts, tensors, result


def _as_text(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """NumPy's other form, ``einsum(x, [0, 1], y, [1, 2], [0, 2])``, with letters for numbers."""
    if isinstance(operands[0], str):
        return operands[0], list(operands[1:])

    def letters(numbers: Any) -> str:
        return "".join("..." if n is Ellipsis else string.ascii_letters[int(n)] for n in numbers)

    count = len(operands) // 2
    tensors, places = list(operands[: 2 * count : 2]), [letters(p) for p in operands[1 : 2 * count : 2]]
    end = f"->{letters(operands[-1])}" if len(operands) % 2 else ""
    return ",".join(places) + end, tensors


def _without_diagonals(term: _Term) -> _Term:
    """The term with one dim for each letter: of dims that share a letter the diagonal."""
    for c in dict.fromkeys(term.letters):
        while term.letters.count(c) > 1:
            i = term.letters.index(c)
            j = term.letters.index(c, i + 1)
            table().equate(term.tensor.dims[i], term.tensor.dims[j], "einsum")
            rest = "".join(s for k, s in enumerate(term.letters) if k not in (i, j))
            diagonal = reshaping.diagonal_view(term.tensor, i, j)
            term = _Term(diagonal, rest + c)
    return term


def _stretched(terms: Sequence[_Term]) -> None:
    """Drop dims of size 1 whose letter is longer elsewhere, as broadcasting does."""
    facts = table()
    for c in {c for t in terms for c in t.letters}:
        sizes = [(t, t.tensor.dims[t.letters.index(c)]) for t in terms if c in t.letters]
        hints = [facts.hint(d) for _, d in sizes]
        if all(h == 1 for h in hints):
            continue
        for (term, d), hint in zip(sizes, hints):
            if hint == 1 and facts.is_one(d):
                at = term.letters.index(c)
                term.tensor, term.letters = reshaping.squeeze(term.tensor, at), term.letters.replace(c, "")


def _path(terms: Sequence[_Term], result: str, optimize: Any) -> list[tuple[int, ...]]:
    """Which terms meet, one group after another; what they make goes to the end of the list."""
    if len(terms) <= 2:
        return [tuple(range(len(terms)))]
    if isinstance(optimize, (list, tuple)) and optimize and optimize[0] == "einsum_path":
        return [tuple(p) for p in optimize[1:]]
    from opt_einsum import contract_path

    # NumPy also takes a pair of a strategy and the most elements that an intermediate may have.
    strategy, limit = optimize if isinstance(optimize, (list, tuple)) and len(optimize) == 2 else (optimize, None)
    shapes = [tuple(d.const or ASSUMED for d in t.tensor.dims) for t in terms]
    text = ",".join(t.letters for t in terms) + "->" + result
    try:
        path, _ = contract_path(
            text, *shapes, shapes=True, optimize="auto" if isinstance(strategy, bool) else strategy, memory_limit=limit
        )
    except (TypeError, KeyError, ValueError) as error:
        names = "True, 'optimal', 'greedy', another of opt_einsum's strategies, or a path"
        raise OpError(f"np.einsum does not take optimize={optimize!r}", names, "TX0240") from error
    return [tuple(p) for p in path]


def _summed(term: _Term, needed: str) -> _Term:
    """The term without the letters that nothing needs; einsum sums in the dtype of its operands, bools to a bool."""
    private = tuple(k for k, c in enumerate(term.letters) if c not in needed)
    if not private:
        return term
    kept = "".join(c for c in term.letters if c in needed)
    return _Term(cast(reducing.reduce("sum", term.tensor, private), term.tensor.element), kept)


def _product(a: _Term, b: _Term, needed: str) -> _Term:
    """The product of two terms, summed over the letters that nothing else needs."""
    a, b = _summed(a, needed + b.letters), _summed(b, needed + a.letters)
    kept = "".join(dict.fromkeys(c for c in needed if c in a.letters + b.letters))
    if any(c in b.letters and c not in kept for c in a.letters) or not any(c in b.letters for c in a.letters):
        return _Term(contracted(a.tensor, [*a.letters], b.tensor, [*b.letters], [*kept]), kept)
    return _Term(apply("mul", _aligned(a, kept), _aligned(b, kept)), kept)


def _aligned(term: _Term, want: str) -> Tensor:
    """The tensor with its dims in the order of `want`, and 1 for each letter it lacks."""
    t = reshaping.transpose(term.tensor, [term.letters.index(c) for c in want if c in term.letters])
    missing = tuple(i for i, c in enumerate(want) if c not in term.letters)
    return reshaping.expand_dims(t, missing) if missing else t
