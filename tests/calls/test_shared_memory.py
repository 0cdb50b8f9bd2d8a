"""Arguments and captured arrays that share memory: a store into one is seen in all, as NumPy has it."""

from __future__ import annotations

import numpy as np
import pytest

import txc

PARTS = {
    "same": lambda a: (a, a),
    "same elements": lambda a: (a, a[:]),
    "shifted": lambda a: (a[:-1], a[1:]),
    "part": lambda a: (a, a[1:-1]),
    "whole second": lambda a: (a[2:], a),
    "reversed": lambda a: (a, a[::-1]),
    "steps": lambda a: (a[::2], a[::3]),
    "backwards": lambda a: (a[::-2], a[1:]),
    "apart in one block": lambda a: (a[::2], a[1::2]),
    "no elements": lambda a: (a[:0], a),
}  # fmt: skip
MATRICES = {
    "transposed": lambda a: (a, a.T),
    "order": lambda a: (a.T, a),
    "column": lambda a: (a, a[:, 1]),
    "rows and columns": lambda a: (a[1], a[:, 2]),
    "columns": lambda a: (a[:, :2], a[:, 1:3]),
    "columns apart": lambda a: (a[:, 0], a[:, 1]),
    "blocks": lambda a: (a[:2, ::-1], a[1:, 1:]),
    "flat": lambda a: (a, a.reshape(-1)[3:]),
    "axis": lambda a: (a[None], a),
    "diagonal": lambda a: (a, np.einsum("ii->i", a)),
}  # fmt: skip
DTYPES = ["f8", "f4", "i2", "u1", "c16", "?"]


def stores_then_reads(x, y):
    x[...] = x[::-1] if x.ndim == 1 else x + x
    return y + y


def reads_between(x, y):
    before = y.copy()
    x[0] = x[-1]
    y[-1] = y[0]
    return before, x + 0, y + 0


def in_a_loop(x, y):
    for i in range(len(y)):
        y[i] = x[len(x) - 1 - i % len(x)]
    return x.copy()


def in_a_branch(x, y):
    if x.sum() != 0:
        x[0] = y[-1]
    else:
        y[0] = x[-1]
    return y.sum()


def swapped(x, y):
    for _ in range(3):
        x, y = y, x
        x[0] = y[-1]
    return x.copy(), y.copy()


def agree(jitted, plain, arguments):
    """One call each, of arguments that `arguments` makes of their memory and gives with it."""
    memory, given = arguments()
    expected_memory, expected_given = arguments()
    found, expected = jitted(*given), plain(*expected_given)
    np.testing.assert_array_equal(memory, expected_memory)
    parts = zip(found, expected) if isinstance(expected, tuple) else [(found, expected)]
    for a, b in parts:
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def made(shape, dtype, parts):
    memory = (np.arange(np.prod(shape)) * 7 % 11).reshape(shape).astype(dtype)
    return memory, parts(memory)


@pytest.mark.parametrize("function", [stores_then_reads, reads_between, in_a_loop, in_a_branch, swapped])
@pytest.mark.parametrize("parts", PARTS)
def test_vectors(function, parts):
    if parts == "no elements" and function is not stores_then_reads:
        pytest.skip("the function has an element of each")
    if function is swapped and parts in ("part", "whole second", "steps", "backwards"):
        pytest.skip("its two variables are of one size")
    jitted = txc.jit(function)
    apart = np.arange(6.0), np.arange(6.0) + 9
    agree(jitted, function, lambda: (0, [a.copy() for a in apart]))
    for size in (7, 12, 7):
        for _ in range(2):
            agree(jitted, function, lambda n=size: made(n, "f8", PARTS[parts]))
    agree(jitted, function, lambda: (0, [a.copy() for a in apart]))


@pytest.mark.parametrize("function", [stores_then_reads, reads_between])
@pytest.mark.parametrize("parts", MATRICES)
def test_matrices(function, parts):
    jitted = txc.jit(function)
    for size in (4, 5):
        agree(jitted, function, lambda n=size: made((n, n), "f8", MATRICES[parts]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    jitted = txc.jit(reads_between)
    agree(jitted, reads_between, lambda: made(9, dtype, PARTS["shifted"]))


def three(x, y, z):
    x[1:] = y[0]
    z[0] = 5
    return x + 0, y + 0, z + 0


def test_three_of_which_two_do():
    jitted = txc.jit(three)
    agree(jitted, three, lambda: (a := np.arange(8.0), (a[:4], a[2:5], np.arange(3.0))))
    agree(jitted, three, lambda: (a := np.arange(8.0), (a[:3], np.arange(3.0), a[1:6])))
    agree(jitted, three, lambda: (a := np.arange(8.0), (a[:3], a[4:], a[2:5])))  # two pairs make one storage


def in_containers(pair, named):
    pair[0][0] = 7
    named["a"][-1] = pair[1][0]
    return pair[1] + 0, named["a"] + 0


def test_parts_of_containers():
    agree(
        txc.jit(in_containers), in_containers,
        lambda: (a := np.arange(8.0), ((a[2:], a[:3]), {"a": a[::2]})),
    )  # fmt: skip


def test_offsets_are_no_facts():
    jitted = txc.jit(reads_between)
    for shift in (1, 2, 3):
        agree(jitted, reads_between, lambda s=shift: (a := np.arange(8.0), (a[:4], a[s : s + 4])))
    assert len(jitted.signatures()) == 2  # one of arrays apart, which the first call was taken for


def increment(x, y):
    x[0] = 1
    return y[0]


@pytest.mark.parametrize(
    ("second", "how"),
    [
        (lambda a: a.view("i8"), "one as float64, one as int64"),
        (lambda a: a.view("c16").real[1:], None),
        (lambda a: a.view("u1")[4:28].view("f8"), "in a form that has to be copied first"),
        (lambda a: a.view("f4")[1:25:3], "one as float64, one as float32"),
    ],
)
def test_what_is_no_view_of_one_storage_is_refused(second, how):
    memory = np.arange(8.0)
    jitted = txc.jit(increment)
    if how is None:
        agree(jitted, increment, lambda: (a := np.arange(8.0), (a, second(a))))
        return
    for _ in range(2):
        with pytest.raises(txc.TxcError) as error:
            jitted(memory, second(memory))
        text = f"x and y share memory, into which increment stores, {how}"
        assert error.value.message == text and error.value.code == "TX0224"
        assert error.value.hint == "pass a copy of one of them" and error.value.loc is not None
        np.testing.assert_array_equal(memory, np.arange(8.0))


def test_an_array_of_another_byte_order_that_comes_twice():
    agree(txc.jit(increment), increment, lambda: (a := np.arange(4, dtype=">f8"), (a, a)))


def test_a_read_only_view_of_what_is_written():
    def parts(a):
        fixed = a[1:]
        fixed.flags.writeable = False
        return a, fixed

    agree(txc.jit(stores_then_reads), stores_then_reads, lambda: made(5, "f8", parts))
    memory, (x, fixed) = made(5, "f8", parts)
    with pytest.raises(ValueError, match="x is read-only"):
        txc.jit(reads_between)(fixed, x)
    np.testing.assert_array_equal(memory, made(5, "f8", parts)[0])


# What is captured -----------------------------------------------------------------------------------------------------

G = np.arange(6.0)
H = G[2:]


class Holder:
    a: np.ndarray
    b: np.ndarray


BOX = Holder()
BOX.a, BOX.b = G, G


def argument_and_global(x):
    x[0] = 9
    return G[2], G[0]


def two_names(k):
    G[3] = k
    H[2] = G[3] + H[1]
    return G.sum(), H + 0, G is BOX.a, H is G


def attributes(x):
    x[1] = 5
    return BOX.a[1], BOX.b[1] + BOX.a[3]


def usual(x, y=G):
    x[0] = 8
    return y[0], y[2]


@pytest.mark.parametrize("function", [argument_and_global, attributes, usual])
@pytest.mark.parametrize("part", [lambda: (G,), lambda: (H,), lambda: (G[::-1],), lambda: (np.arange(6.0),)])
def test_an_argument_that_is_captured_too(function, part):
    jitted = txc.jit(function)

    def arguments():
        G[:] = np.arange(6.0)
        return G.copy, part()

    for _ in range(2):
        _, given = arguments()
        expected = function(*given)
        after = G.copy()
        _, given = arguments()
        np.testing.assert_array_equal(jitted(*given), expected)
        np.testing.assert_array_equal(G, after)


def test_two_captured_names_of_one_memory():
    jitted = txc.jit(two_names)
    for k in (3.0, 4.0, 5.0):
        G[:] = np.arange(6.0)
        expected = two_names(k)
        after = G.copy()
        G[:] = np.arange(6.0)
        found = jitted(k)
        np.testing.assert_array_equal(G, after)
        assert found[0] == expected[0] and found[2:] == expected[2:]
        np.testing.assert_array_equal(found[1], expected[1])
