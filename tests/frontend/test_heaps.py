"""`heapq` and `bisect` in jitted functions: of lists that compiled code fills, of tuples, and of arrays."""

import bisect
import heapq

import numpy as np

import txc


def like_python(function, *calls):
    compiled = txc.jit(function)
    for args in calls:
        assert repr(compiled(*args)) == repr(function(*args))


def test_heaps_of_numbers():
    def heaps(x, k):
        largest, whole = [], list(x)
        for v in x:
            heapq.heappush(largest, v)
            if len(largest) > k:
                heapq.heappop(largest)
        heapq.heapify(whole)
        first = [heapq.heappop(whole) for _ in range(len(whole) - 1)]
        few = [3, 1, 2]
        heapq.heapify(few)
        swapped = heapq.heappushpop(few, x[0]), heapq.heapreplace(few, x[1])
        return largest, first, whole, few, swapped, heapq.nlargest(k, x), heapq.nsmallest(2, x, key=lambda v: v % 5)

    like_python(heaps, (np.array([5, 2, 9, 2, 7, 1, 8]), 3), (np.array([4, 3, 3]), 1))


def test_a_heap_of_pairs():
    def by_remainder(x):
        heap = []
        for i, v in enumerate(x):
            heapq.heappush(heap, (v % 3, i))
        return [heapq.heappop(heap)[1] for _ in range(len(x) - 1)], heap

    like_python(by_remainder, (np.array([5, 2, 9, 2, 7, 1, 8]),), (np.array([4, 3, 3]),))


def test_places_in_order():
    def places(x, v):
        kept = []
        for q in x:
            bisect.insort(kept, q)
        ordered = np.sort(x)
        at = bisect.bisect_left(ordered, v)
        kept.insert(at, x[0])
        kept.insert(-1, x[1])
        kept.insert(100, x[2])
        taken = kept.pop(at)
        del kept[at - 1]
        return (
            kept,
            taken,
            at,
            bisect.bisect(ordered, v),
            bisect.bisect_right(ordered, v, 1),
            bisect.bisect([1, 3, 5], 3),
        )

    like_python(places, (np.array([5, 2, 9, 2, 7]), 5), (np.array([4, 3, 8, 1]), 3))
