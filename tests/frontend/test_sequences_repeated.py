"""``(1, 2) * k`` repeats the sequence, also where `k` is a NumPy integer that only the compiled function knows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

K = np.array([2, 3])
PRODUCTS: list[Callable[[Any], Any]] = [
    lambda k: (1, 2) * k, lambda k: k * (1, 2), lambda k: [0.0] * k, lambda k: k * [1, 2], lambda k: "ab" * k,
]  # fmt: skip


@pytest.mark.parametrize("product", PRODUCTS, ids=range(len(PRODUCTS)))
def test_by_an_integer(product: Callable[[Any], Any]):
    assert product(txc.asarray(K)[1]) == product(K[1])
    with pytest.raises(TxcError, match="needs the value of a tensor"):
        txc.jit(lambda k: product(k[1]))(K)


@pytest.mark.parametrize("number", [K[1] * 0.5, K[1] > 2])
def test_by_what_is_no_integer(number: Any):
    for product in (PRODUCTS[0], PRODUCTS[1], PRODUCTS[4]):
        with pytest.raises(TypeError) as of_numpy:
            product(number)
        with pytest.raises(TypeError) as of_txc:
            txc.jit(lambda v: product(v[0]))(np.array([number]))  # noqa: B023
        assert str(of_txc.value).splitlines()[0].startswith(str(of_numpy.value))


def test_by_an_array():
    """Of the sequence an array is made."""
    np.testing.assert_array_equal(txc.jit(lambda k: (5, 7) * k)(K), [10, 21])
    np.testing.assert_array_equal(txc.jit(lambda k: np.array(k[1]) * (5, 7))(K), [15, 21])
