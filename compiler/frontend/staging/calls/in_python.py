"""`heapq` and `bisect` as Python: staged code stages these in place of the standard library's, which are C.

Those read and write the memory of a list, where a list that compiled code fills has its items in arrays.  What these do
to a list is what Python's own do, item by item.
"""

from __future__ import annotations

import bisect
import heapq
from collections.abc import Callable
from typing import Any

__all__ = ["IN_PYTHON"]


def _is_less(a: Any, b: Any) -> Any:
    if not isinstance(a, tuple):
        return a < b
    less = len(a) < len(b)
    for x, y in reversed([*zip(a, b)]):
        less = (x < y) | ((x == y) & less)
    return less


def _towards_root(heap: Any, first: Any, at: Any) -> None:
    item = heap[at]
    while at > first and _is_less(item, heap[(at - 1) >> 1]):
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = item


def _towards_leaves(heap: Any, at: Any) -> None:
    end, first, item = len(heap), at, heap[at]
    below = 2 * at + 1
    while below < end:
        if below + 1 < end and not _is_less(heap[below], heap[below + 1]):
            below = below + 1
        heap[at] = heap[below]
        at = below
        below = 2 * at + 1
    heap[at] = item
    _towards_root(heap, first, at)


def _heappush(heap: Any, item: Any) -> None:
    heap.append(item)
    _towards_root(heap, 0, len(heap) - 1)


def _heappop(heap: Any) -> Any:
    last = heap.pop()
    found = last
    if len(heap) > 0:
        found = heap[0]
        heap[0] = last
        _towards_leaves(heap, 0)
    return found


def _heapreplace(heap: Any, item: Any) -> Any:
    found = heap[0]
    heap[0] = item
    _towards_leaves(heap, 0)
    return found


def _heappushpop(heap: Any, item: Any) -> Any:
    found = item
    if len(heap) > 0:
        if _is_less(heap[0], item):
            found = heap[0]
            heap[0] = item
            _towards_leaves(heap, 0)
    return found


def _heapify(x: Any) -> None:
    for at in range(len(x) // 2 - 1, -1, -1):
        _towards_leaves(x, at)


def _nlargest(n: Any, iterable: Any, key: Any = None) -> Any:
    return sorted(iterable, key=key, reverse=True)[:n]


def _nsmallest(n: Any, iterable: Any, key: Any = None) -> Any:
    return sorted(iterable, key=key)[:n]


def _bisect_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
    end = len(a) if hi is None else hi
    while lo < end:
        middle = (lo + end) // 2
        if _is_less(a[middle] if key is None else key(a[middle]), x):
            lo = middle + 1
        else:
            end = middle
    return lo


def _bisect_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> Any:
    end = len(a) if hi is None else hi
    while lo < end:
        middle = (lo + end) // 2
        if _is_less(x, a[middle] if key is None else key(a[middle])):
            end = middle
        else:
            lo = middle + 1
    return lo


def _insort_left(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(_bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def _insort_right(a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(_bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


#: By the function that the user calls; those that these call are staged too.
IN_PYTHON: dict[Any, Callable[..., Any]] = {
    heapq.heappush: _heappush, heapq.heappop: _heappop, heapq.heapify: _heapify, heapq.heapreplace: _heapreplace,
    heapq.heappushpop: _heappushpop, heapq.nlargest: _nlargest, heapq.nsmallest: _nsmallest,
    bisect.bisect_left: _bisect_left, bisect.bisect_right: _bisect_right, bisect.bisect: _bisect_right,
    bisect.insort_left: _insort_left, bisect.insort_right: _insort_right, bisect.insort: _insort_right,
    **{f: f for f in (_is_less, _towards_root, _towards_leaves, _bisect_left, _bisect_right)},
}  # fmt: skip
