"""Python's iterators: what one gives is what stands there when it is asked, once, and branches begin at one place."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

from .control import same


def of_a_list(x):
    items = [1.0, 2.0]
    it = iter(items)
    if x[0] > 5:
        items[0] = 7.0
        a = next(it)
    else:
        a = next(it)
    return a, next(it)


def of_an_array(x):
    it = iter(x)
    if x[0] > 5:
        x[0] = 7.0
        a = next(it)
    else:
        a = next(it)
    return a, next(it)


def of_rows_side_by_side(x):
    it = zip(x, x[1:], (1.0, 2.0))
    if x[0] > 5:
        x[1] = 7.0
        a = next(it)
    else:
        a = next(it)
    return a


def of_numbered_rows(x):
    it = enumerate(x, 3)
    next(it)
    if x[0] > 5:
        x[1] = 7.0
        a = next(it)
    else:
        a = next(it)
    return a


def of_a_reversed_list(x):
    items = [1.0, 2.0]
    it = reversed(items)
    items.append(3.0)
    if x[0] > 5:
        items[1] = 7.0
        a = next(it)
    else:
        a = next(it)
    return a, next(it), next(it, -1.0)


def of_a_dicts_values(x):
    record = {"a": 1.0, "b": x[1]}
    it = iter(record.values())
    if x[0] > 5:
        record["a"] = 7.0
        a = next(it)
    else:
        a = next(it)
    return a, next(it)


def of_a_map(x):
    shift = 0.0
    it = map(lambda q: q + x[0] + shift, [1.0, 2.0])
    if x[0] > 5:
        x[0] = shift = 7.0
        a = sum(it)
    else:
        a = next(it)
    return a


def of_a_filter(x):
    least = 1
    it = filter(lambda q: q > least, [1, 2, 3, 4])
    if x[0] > 5:
        least = 3
        a = next(it)
    else:
        a = next(it)
    return a * x[1]


def of_a_generator(x):
    shift = 1.0
    it = (q + shift + p for q in [1.0, 2.0] if q < 2 or x.ndim for p in (x[1], 5.0))
    first = next(it)
    if x[0] > 5:
        shift = 7.0
        a = next(it) + next(it)
    else:
        a = next(it) + next(it)
    return first, a


def left_in_a_branch(x):
    it = iter(x)
    next(it)
    if x[0] > 5:
        s = sum(it)
    else:
        s = 1.0
        x[2] = 100.0
        for v in it:
            s += v
    return s, next(it, -1.0)


def gone_through_once(x):
    numbered, paired, back = enumerate(x), zip(x, x[::-1]), reversed(x)
    s = 0.0
    for _ in range(2):
        for i, v in numbered:
            s += i * v
        for a, b in paired:
            s += a * b
        for v in back:
            s = s * 0.5 + v
    return s, [*numbered], list(paired), tuple(back)


def the_rest_of_it(x):
    it = enumerate(x)
    first = next(it)
    rest = 0.0
    for i, v in it:
        rest += i * v
    return first, rest, next(it, None) is None


def two_at_a_time(x):
    it = iter(x)
    s = 0.0
    for a, b in zip(it, it):
        s += a * b
    return s, [p - q for p, q in itertools.pairwise([1.0, 2.0, 4.0])]


def of_another_iterator(x):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, reversed(x))):
        s += i * a - b
    return s, [i * v for i, v in enumerate(reversed(x))]


def ended_by_who_takes_all(x):
    numbered = enumerate(x)
    listed = [i * v for i, v in numbered]
    squares = (v * v for v in x)
    return listed, next(numbered, 7.0), sum(squares), next(squares, 5.0), sorted(it := iter(x)), next(it, 3.0)


def by_a_class(x):
    class Halves:
        def __init__(self, at):
            self.at = at

        def __iter__(self):
            return self

        def __next__(self):
            self.at = self.at / 2
            return self.at

    it = iter(Halves(8.0))
    if x[0] > 5:
        a = next(it) + next(it)
    else:
        a = next(it) - next(it)
    return a, next(it)


def left_early_by_a_class(x):
    class Halves:
        def __init__(self, at):
            self.at = at

        def __iter__(self):
            return self

        def __next__(self):
            self.at = self.at / 2
            return self.at

    halves = Halves(x[5] * 4)
    for v, _ in zip(halves, range(4)):
        if v < 4.0:
            break
    return halves.at


@pytest.mark.parametrize(
    "f",
    [
        of_a_list, of_an_array, of_rows_side_by_side, of_numbered_rows, of_a_reversed_list, of_a_dicts_values, of_a_map,
        of_a_filter, of_a_generator, left_in_a_branch, gone_through_once, the_rest_of_it, two_at_a_time,
        of_another_iterator, ended_by_who_takes_all, by_a_class,
        left_early_by_a_class,
    ],
)  # fmt: skip
def test_an_iterator_gives_what_stands_there(f: Callable[..., Any]):
    x = np.arange(6.0)
    same(f, (x,), (x + 9,))


def taken_by_another(x):
    it = iter(x)
    pairs = zip(it, x)
    return next(pairs), next(it)


def of_a_changed_list(x):
    items = [1.0, 2.0]
    it = itertools.chain(items, (5.0,))
    if x[0] > 5:
        items[0] = 7.0
        a = next(it)
    else:
        a = next(it)
    return a


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (taken_by_another, "how far a loop or branch of compiled code has gone through an iterator is not known"),
        (of_a_changed_list, "an iterator is gone through again, in another branch or iteration, whose items may be"),
    ],
)
def test_what_is_not_known_of_an_iterator(f: Callable[..., Any], text: str):
    with pytest.raises(TxcError, match=text):
        txc.jit(f)(np.arange(6.0))


def test_an_iterator_of_itertools_whose_items_stay():
    def f(x):
        it = itertools.cycle([1.0, 2.0])
        s = 0.0
        for i in range(3):
            s += next(it) * x[i]
        return s

    same(f, (np.arange(6.0),))


def test_pythons_errors_of_iterators():
    def shorter(x):
        return [a * b for a, b in zip([1.0, 2.0], [1.0], strict=True)]

    def longer(x):
        return [a * b for a, b in zip([1.0], [1.0, 2.0], strict=True)]

    def grows(x):
        record = {"a": x}
        for key in iter(record):
            record[key + "b"] = x
        return x

    for f in (shorter, longer, grows):
        kinds = []
        for function in (f, txc.jit(f)):
            with pytest.raises((ValueError, RuntimeError)) as raised:
                function(np.arange(3.0))
            kinds.append((type(raised.value), str(raised.value)))
        assert kinds[0] == kinds[1]
