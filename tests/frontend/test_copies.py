"""`copy.copy` and `copy.deepcopy` in jitted functions, and what of Python's library calls them."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

X = np.array([1.0, 5.0, 2.0])


@dataclasses.dataclass
class Pair:
    a: Any
    b: Any = 1.0


def of_arrays(x):
    y, z, s = copy.copy(x), copy.deepcopy(x), copy.copy(x[0])
    y[0], z[1] = 9.0, 8.0
    row = copy.copy(x[:2])
    row[1] = 7.0
    return x, y, z, s, row, copy.deepcopy(len(x))


def of_containers(x):
    shared = [x, x, [1, 2], {"a": x}, (x, 3)]
    shallow, deep = copy.copy(shared), copy.deepcopy(shared)
    shallow.append(4)
    shallow[2].append(3)
    deep[0][0] = 6.0  # which is deep[1] too, and deep[3]["a"]
    deep[2].append(5)
    grown = []
    for i in range(len(x)):
        grown.append(x[i] * 2)
    longer, apart = copy.copy(grown), copy.deepcopy(grown)
    longer.append(1.0)
    return x, len(shared), shared[2], deep[1], deep[2], deep[3]["a"], deep[4][0], grown, longer, apart


def of_objects(x):
    pair = Pair(x, [1])
    pair.b.append(pair)  # which refers to itself
    shallow, deep = copy.copy(pair), copy.deepcopy(pair)
    shallow.b.append(2)
    deep.a[1] = 9.0
    changed = dataclasses.replace(pair, b=x.sum())
    return (
        x,
        len(pair.b),
        len(deep.b),
        deep.b[1] is deep,
        shallow.a,
        deep.a,
        changed.b,
        dataclasses.asdict(changed)["a"],
    )


@pytest.mark.parametrize("f", [of_arrays, of_containers, of_objects])
def test_copies_are_pythons(f: Callable[..., Any]):
    ours, theirs = X.copy(), X.copy()
    assert repr(txc.jit(f)(ours)) == repr(f(theirs))
    np.testing.assert_array_equal(ours, theirs)


OUTSIDE = Pair(X)


def test_an_object_from_outside_is_not_copied():
    with pytest.raises(TxcError, match="a copy of a Pair, which is not the function's own") as refused:
        txc.jit(lambda x: copy.copy(OUTSIDE).a + x)(X)
    assert "make it by Pair(…)" in str(refused.value)
