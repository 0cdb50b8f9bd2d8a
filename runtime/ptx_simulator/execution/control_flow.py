"""Basic blocks of a kernel in an order in which paths meet again, and which registers live at each block's start.

The order is Bourdoncle's weak topological one ("Efficient chaotic iteration strategies with widenings", 1993): a loop's
blocks lie together behind its head, and what follows a loop lies behind all of it.  Running the path that is furthest
back in that order therefore lets paths that parted meet again as early as they can.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["Block", "live_registers", "weak_topological_order"]


@dataclass
class Block:
    """Instructions `start` to `end` of the body; `successors` are numbers of blocks."""

    start: int
    end: int
    successors: list[int] = field(default_factory=list)


def weak_topological_order(successors: Sequence[Sequence[int]], entry: int = 0) -> list[int]:
    """The nodes that `entry` reaches, each loop together behind its head."""
    return _order([entry], successors, set(range(len(successors))))


def _order(entries: Sequence[int], successors: Sequence[Sequence[int]], inside: set[int]) -> list[int]:
    """Strongly connected components in topological order; one of several nodes is ordered again without its head."""
    result: list[int] = []
    for head, *others in _components(entries, successors, inside):
        result.append(head)
        if others:
            left = set(others)
            result += _order([s for s in successors[head] if s in left], successors, left)
    return result


def _components(entries: Sequence[int], successors: Sequence[Sequence[int]], inside: set[int]) -> list[list[int]]:
    """Tarjan's components of the nodes `inside`, in topological order; each begins with the node reached first."""
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    for entry in entries:
        if entry in number:
            continue
        todo = [(entry, _enter(entry, successors, number, low, stack, on_stack))]
        while todo:
            node, rest = todo[-1]
            for next_ in rest:
                if next_ not in inside:
                    continue
                if next_ not in number:
                    todo.append((next_, _enter(next_, successors, number, low, stack, on_stack)))
                    break
                if next_ in on_stack:
                    low[node] = min(low[node], number[next_])
            else:
                todo.pop()
                if todo:
                    low[todo[-1][0]] = min(low[todo[-1][0]], low[node])
                if low[node] == number[node]:
                    at = stack.index(node)
                    found.append(stack[at:])
                    on_stack.difference_update(stack[at:])
                    del stack[at:]
    return found[::-1]


def _enter(
    node: int, successors: Sequence[Sequence[int]], number: dict[int, int], low: dict[int, int], stack: list[int],
    on_stack: set[int],
) -> Iterator[int]:  # fmt: skip
    number[node] = low[node] = len(number)
    stack.append(node)
    on_stack.add(node)
    return iter(successors[node])


def live_registers(successors: Sequence[Sequence[int]], reads: Sequence[int], writes: Sequence[int]) -> list[int]:
    """The registers whose values matter at each block's start, as bit sets.

    `reads` are those a block reads before it writes them, `writes` those it writes whatever happens.
    """
    live = list(reads)
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(live))):
            out = 0
            for s in successors[i]:
                out |= live[s]
            now = reads[i] | (out & ~writes[i])
            if now != live[i]:
                live[i], changed = now, True
    return live
