"""Which values an evaluation keeps beside the one that is asked for: so that a loop does not compute its past again.

Whoever asks for a value of an expression gets that one, in fused kernels; what lies inside is in registers and gone.
In a loop with a test of convergence, `float(abs(new - x).max())`, `new` lies inside, and the next iteration is built on
it: kept nowhere, it would be computed again by each later one, in an expression that grows.

So a value inside that something refers to from outside, a tensor or another expression that waits, is a further result
of the same code (`outside`), and an array from then on (`keep`).  Who keeps a large result that nobody asks for again
has paid with memory, who computes one twice has paid with work.  So it is kept at once where it is small, as it is or
beside the arrays that are read, or where it took more than elementwise ops and is no larger than these; anything else
is when a second evaluation has it inside (`worth_keeping`).  Memory holds no more than with NumPy, which keeps all that
is referred to.

An expression that grows while nobody asks for anything is computed in pieces when somebody does (`first_piece`).  A
piece ends where little is handed on; as iterations are alike so are their pieces, which share their code.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from ....dialects.registry import Map, Op, View
from ..trace.graph import Node, Result, Value, schedule
from .deferred import DeferredValue, array_of_leaf, become_array, force
from .structural_key import NO_KEY, changing, key_of, sources

__all__ = ["first_piece", "fresh_keys", "keep", "outside", "worth_keeping"]

#: Bytes of what is small as it is, and how many times more bytes are read where a value is small beside them.
SMALL, BESIDE = 1 << 16, 8
#: How many ops are compiled together; one that is more than elementwise counts as `HEAVY` of them.
LONGEST, HEAVY = 256, 16
#: What moves elements, beside views, or makes them of nothing.
_LIGHT = frozenset({"constant", "dim", "iota", "insert", "concatenate", "take", "require"})


def outside(root: Value) -> list[Value]:
    """The computed values inside an expression that something else refers to as well.

    Python counts all references to a value; those of the expression itself are counted here.
    """
    if _is_alone(root, _ONCE):
        return []
    reads = _reads(root)
    found = _referred_to(reads, _COUNTING)
    if not found:
        return found
    #: Values whose nodes are made, by the results of these.
    wrappers = {v.made_value: v for v in (root, *reads) if type(v) is DeferredValue}
    kept = dict.fromkeys([wrappers.get(v, v) for v in found])
    kept.pop(root, None)
    return [v for v in kept if v.operands and not v.is_step and not _views(v, kept)]


def _views(value: Value, kept: Container[Value]) -> bool:
    """Whether a value is elements of an array, or of one of those that are kept, in another order."""
    with changing:
        while type(value) is not DeferredValue and value.node.op is not None and issubclass(value.node.op, View):
            value = value.node.operands[0]
            if value in kept or value.node.op is None:
                return True
    return False


def _is_alone(root: Value, most: int) -> bool:
    """Whether each value inside is surely referred to by one other inside, and nothing else, as in most expressions.

    Python says `most` of one that is referred to once.
    """
    count = sys.getrefcount
    waiting = [root]
    for value in waiting:
        if type(value) is not DeferredValue or value.made_value is not None:
            return False
        for operand in value.operands:
            if operand.operands:
                if count(operand) > most:
                    return False
                waiting.append(operand)
    return True


def _reads(root: Value) -> dict[Value, int]:
    """The computed values inside an expression, and how often it refers to each."""
    reads: dict[Value, int] = {}
    counted: set[int] = set()
    waiting = [root]
    for value in waiting:
        plain = type(value) is DeferredValue and value.made_value is None
        for operand in value.operands if plain else _references(value, counted):
            if operand.operands:
                if operand in reads:
                    reads[operand] += 1
                else:
                    # A node of several results refers to each of them.
                    reads[operand] = 2 if type(operand) is Result else 1
                    waiting.append(operand)
    return reads


def _references(value: Value, counted: set[int]) -> Sequence[Value]:
    """The values that one refers to which is a node's, or has its nodes, through what is not `counted` yet."""
    with changing:
        if _became_array(value):
            return ()
        holders, origin = [value.operands], value.origin
    found: list[Value] = []
    if type(value) is DeferredValue:
        found.append(force(value))
    elif origin is not None:
        holders.append(origin[1])
    for held in holders:
        if id(held) not in counted:
            counted.add(id(held))
            found += held
    return found


def _became_array(value: Value) -> bool:
    """Whether the result of a value's nodes is an array, through another value: the value is one from now on."""
    array = array_of_leaf(value)
    if array is None:
        return False
    become_array(value, array)
    return True


def _referred_to(reads: dict[Value, int], own: int) -> list[Value]:
    """The values with more references than `reads`, and `own` for being asked."""
    return [v for v, count in reads.items() if sys.getrefcount(v) - count > own]


def _one(*operands: Value) -> DeferredValue:
    """A value that nothing refers to yet."""
    made_of: Any = None
    return DeferredValue(made_of, NO_KEY, operands, None)


#: Releases of Python count differently what looks at a value.
_COUNTING = next(n for n in range(16) if not _referred_to({_one(): 0}, n))
_ONCE = next(n for n in range(16) if _is_alone(_one(_one(_one())), n))


def worth_keeping(found: Sequence[Value], leaves: Sequence[Node]) -> list[Value]:
    """Those of the values `outside` an expression of `leaves` that its evaluation keeps."""
    kept = []
    read = sum([leaf.leaf.nbytes for leaf in leaves])
    for value in found:
        size = _bytes(value)
        if size <= SMALL or size * BESIDE <= read or value.was_inside or (size <= read and _took_work(value)):
            kept.append(value)
        else:
            value.was_inside = True
    return kept


def fresh_keys(outputs: Sequence[Value]) -> None:
    """Find again the keys of all that outputs need, of the values that are arrays now; called while `changing`."""
    seen: set[Value] = set()
    waiting = [*outputs]
    while waiting:
        value = waiting.pop()
        if value.operands and value not in seen and not _became_array(value):
            seen.add(value)
            waiting += sources(value)
    for value in seen:
        value.key = None
    for value in outputs:
        key_of(value)


def keep(values: Sequence[Value], arrays: Sequence[np.ndarray]) -> None:
    """Let values that were computed be arrays."""
    with changing:
        for value, array in zip(values, arrays, strict=True):
            if array_of_leaf(value) is None:
                become_array(value, array)


def first_piece(root: Value) -> list[Value]:
    """What to compute before a long expression, for those parts of it that use it; nothing where it is not long.

    The piece ends where least memory is handed on: no more than the arrays have that the expression reads.
    """
    with changing:
        return _first_piece(schedule([force(root)]))


def _first_piece(nodes: Sequence[Node]) -> list[Value]:
    if sum(_work(node) for node in nodes) <= LONGEST or any(node.regions for node in nodes):
        return []
    last = {operand: number for number, node in enumerate(nodes) for operand in node.operands}
    most = max(SMALL, sum([v.node.leaf.nbytes for v in last if v.node.op is None]))
    #: Values that are computed of no array: each piece has its own.
    free: set[Value] = set()
    handed: dict[Value, int] = {}
    work, least, piece = 0, most + 1, []
    for number, node in enumerate(nodes[:-1]):
        work += _work(node)
        if all(v in free for v in node.operands):
            free.update(node.results)
        else:
            handed |= {v: most + 1 if v.is_step else _bytes(v) for v in node.results if v in last}
        for operand in node.operands:
            if last[operand] == number:
                handed.pop(operand, None)
        if work > LONGEST and piece:
            break
        if 2 * work > LONGEST and handed and sum(handed.values()) < least:
            least, piece = sum(handed.values()), [*handed]
    return piece


def _work(node: Node) -> int:
    assert node.op is not None
    return HEAVY if _is_heavy(node.op) else 1


def _is_heavy(op: type[Op]) -> bool:
    """Whether an op does more than to compute each element of a few."""
    return not issubclass(op, (Map, View)) and op.name not in _LIGHT


def _took_work(value: Value) -> bool:
    """Whether anything heavy computes a value of arrays."""
    seen: set[Value] = set()
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if found in seen or not found.operands:
            continue
        seen.add(found)
        ops = [s.op for s in found.template.steps] if type(found) is DeferredValue else [found.node.op]
        if any(op is not None and _is_heavy(op) for op in ops):
            return True
        waiting += found.operands
    return False


def _bytes(value: Value) -> int:
    """How much memory a value of a lazy expression takes, where every size is a number."""
    kind = value.type
    return math.prod([d.const or 0 for d in kind.dims]) * kind.dtype.numpy.itemsize
