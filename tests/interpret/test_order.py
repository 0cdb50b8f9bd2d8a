"""The vectorised fold against a word-for-word reading of the order's definition, one element at a time."""

from fractions import Fraction

import numpy as np
import pytest

from txc.compiler.interpret.reduction_order import reduce_in_order
from txc.dialects.order import Order, parse_order


def literally(order: Order, elements: list, combine, identity):
    """`dialects.order`'s text in scalar Python, recording the shape of the combination."""
    if not elements:
        return identity
    blocks = []
    for start in range(0, len(elements), order.block):
        lanes = [identity] * order.lanes
        for i, e in enumerate(elements[start : start + order.block]):
            lanes[i % order.lanes] = combine(lanes[i % order.lanes], e)
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [combine(lanes[i], lanes[i + half]) for i in range(half)]
        blocks.append(lanes[0])
    if order.kind == "chain":
        total = blocks[0]
        for b in blocks[1:]:
            total = combine(total, b)
        return total
    waiting = []
    for b in blocks:
        size = 1
        while waiting and waiting[-1][0] == size:
            b = combine(waiting.pop()[1], b)
            size *= 2
        waiting.append((size, b))
    total = waiting.pop()[1]
    while waiting:
        total = combine(waiting.pop()[1], total)
    return total


ORDERS = ["tree<8, 4>", "tree<16, 1>", "tree<4, 4>", "chain<8>", "tree<1024, 64>", "chain<512>"]


@pytest.mark.parametrize("text", ORDERS)
@pytest.mark.parametrize("count", [0, 1, 3, 8, 9, 31, 64, 77, 3000])
def test_float_sums_are_bitwise_those_of_the_definition(text: str, count: int) -> None:
    order = parse_order(text)
    x = np.random.default_rng(count).normal(size=(count, 3)).astype(np.float32)
    (found,) = reduce_in_order(
        order, count, lambda ks: (x[ks[:, 0]],), lambda a, b: (a[0] + b[0],), (np.float32(0),), batch=(3,)
    )
    for column in range(3):
        expected = literally(order, list(x[:, column]), lambda a, b: np.float32(a + b), np.float32(0))
        assert found[column].tobytes() == np.float32(expected).tobytes()


def test_the_orders_differ_so_that_the_test_above_can_fail() -> None:
    x = np.random.default_rng(0).normal(size=(3000, 20)).astype(np.float32)

    def total(order: Order) -> bytes:
        take, add = lambda ks: (x[ks[:, 0]],), lambda a, b: (a[0] + b[0],)
        return reduce_in_order(order, 3000, take, add, (np.float32(0),), batch=(20,))[0].tobytes()

    sums = {total(parse_order(text)) for text in ORDERS}
    assert len(sums) == len(ORDERS)


def test_an_fma_chain_rounds_once_an_element() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 40)).astype(np.float32)

    def fused(x, y, z):
        exact = [
            Fraction(float(p)) * Fraction(float(q)) + Fraction(float(r)) for p, q, r in zip(x.flat, y.flat, z.flat)
        ]
        return np.array([float(e) for e in exact], np.float64).astype(np.float32).reshape(x.shape)

    (found,) = reduce_in_order(
        parse_order("chain<16, fma>"),
        40,
        lambda ks: (a[ks], b[ks]),
        lambda p, q: (p[0] + q[0],),
        (np.float32(0),),
        fma=fused,
    )
    blocks = []
    for start in range(0, 40, 16):
        total = np.zeros(1, np.float32)
        for i in range(start, min(start + 16, 40)):
            total = fused(a[i : i + 1], b[i : i + 1], total)
        blocks.append(total[0])
    assert found == (blocks[0] + blocks[1]) + blocks[2]


def test_a_mul_add_chain_rounds_products_too() -> None:
    a, b = np.random.default_rng(6).normal(size=(2, 40)).astype(np.float32)
    order = parse_order("chain<16, mul_add>")

    def add(p, q):
        return (p[0] + q[0],)

    assert str(order) == "chain<16, mul_add>"

    (found,) = reduce_in_order(order, 40, lambda ks: (a[ks], b[ks]), add, (np.float32(0),))
    (products,) = reduce_in_order(parse_order("chain<16>"), 40, lambda ks: (a[ks] * b[ks],), add, (np.float32(0),))
    assert found == products


def test_two_states_and_a_free_order() -> None:
    x = np.random.default_rng(1).integers(0, 50, size=2500)

    def combine(older, newer):
        better = (newer[0] > older[0]) | ((newer[0] == older[0]) & (newer[1] < older[1]))
        return tuple(np.where(better, n, o) for n, o in zip(newer, older))

    value, where = reduce_in_order(
        parse_order("free"), 2500, lambda ks: (x[ks], ks), combine, (np.int64(-1), np.int64(1 << 40))
    )
    assert (value, where) == (x.max(), x.argmax())
