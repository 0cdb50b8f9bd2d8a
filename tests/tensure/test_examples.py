"""Every example with a result in the Tensure document, in its order: the shape and the elements are what it prints."""

import numpy as np
import pytest

from txc import tensure as m

#: Programs, one a line of the document or a few; the last line is the expression whose result follows.
EXAMPLES = [
    # Creating tensors
    ("m.array([[1, 2, 3], [4, 5, 6]])", [[1, 2, 3], [4, 5, 6]]),
    ("m.zeros([2, 3])", [[0, 0, 0], [0, 0, 0]]),
    ("m.ones([3])", [1, 1, 1]),
    ("m.filled([3, 2, 2], 7)", [[[7, 7], [7, 7]]] * 3),
    ("m.filled(None, np.pi)", np.pi),
    ("m.clone(m.array([1, 2, 3]))", [1, 2, 3]),
    # Views and mutation
    ("a = m.array([[1, 2], [3, 4]])\nm.transpose(a)", [[1, 3], [2, 4]]),
    ("a = m.array([[1, 2], [3, 4]])\nm.reshape(a, [4])", [1, 2, 3, 4]),
    ("a = m.array([[1, 2], [3, 4]])\nm.add(a, m.array([[10, 20], [30, 40]]))", [[11, 22], [33, 44]]),
    # Broadcasting
    ("m.broadcast(m.array([1, 2, 3]), [2, 3])", [[1, 2, 3], [1, 2, 3]]),
    ("m.broadcast(m.array([[1, 2, 3]]), [2, 3])", [[1, 2, 3], [1, 2, 3]]),
    ("m.broadcast(m.array([1, 2]), [2, 3])", [[1, 1, 1], [2, 2, 2]]),
    ("m.broadcast(m.array([1, 2]), [2, 2])", [[1, 2], [1, 2]]),
    ("m.broadcast(m.reshape(m.array([1, 2]), [2, 1]), [2, 2])", [[1, 1], [2, 2]]),
    ("m.broadcast_like(m.array([1, 2]), m.zeros([2, 2]))", [[1, 2], [1, 2]]),
    ("m.add(m.array([[1, 2, 3], [4, 5, 6]]), m.array([10, 20, 30]))", [[11, 22, 33], [14, 25, 36]]),
    ("m.add(m.array([[1, 2, 3], [4, 5, 6]]), m.array([10, 20]))", [[11, 12, 13], [24, 25, 26]]),
    ("a = m.array([[1, 2, 3], [4, 5, 6]])\nm.add_(a, m.array([1, 2, 3]))\na", [[2, 4, 6], [5, 7, 9]]),
    ("m.add(m.array([[1, 2, 3], [4, 5, 6]]), m.array(7))", [[8, 9, 10], [11, 12, 13]]),
    # Reducing
    ("a = m.array([[1, 2], [3, 4]])\nm.sum_along(a, 0)", [4, 6]),
    ("a = m.array([[1, 2], [3, 4]])\nm.sum_along(a, 1)", [3, 7]),
    ("a = m.array([[1, 2], [3, 4]])\nm.sum_along(a, [0, 1])", 10),
    ("a = m.array([[1, 2], [3, 4]])\nm.sum_along(a, 0, False)", [[4, 6]]),
    ("a = m.array([[1, 2], [3, 4]])\nm.sum_along(a, 1, False)", [[3], [7]]),
    ("a = m.array([[1, 2], [3, 4]])\nm.sum_along(a, [0, 1], False)", [[10]]),
    ("m.argmax_along(EXTREMES(), 0)", [0, 0, 2]),
    ("m.argmax_along(EXTREMES(), 1)", [1, 2, 2]),
    ("m.argmax_along(EXTREMES(), [0, 1])", 8),
    ("m.argmin_along(EXTREMES(), 0)", [1, 1, 0]),
    ("m.argmin_along(EXTREMES(), 1)", [0, 0, 0]),
    ("m.argmin_along(EXTREMES(), [0, 1])", 3),
    # Selection
    ("m.submatrix(EXTREMES(), 0, [1, 2])", [[0, 1, 3], [0, 3, 4]]),
    ("m.submatrix(EXTREMES(), 1, [2, 1])", [[2], [3], [4]]),
    ("m.submatrix(EXTREMES(), [[2, 1], [0, 2]])", [[0, 3]]),
    ("m.submatrix(EXTREMES(), 0, 3, 2, 1)", [[2], [3], [4]]),
    ("m.select_range(SQUARE(), [1, 4], [1, 3])", [[6, 7], [10, 11], [14, 15]]),
    ("m.select_range(SQUARE(), [0, 5, 2], [0, 3, 2])", [[1, 3], [9, 11]]),
    ("m.select_range(SQUARE(), 1, [2, 4])", [7, 8]),
    ("m.select_range(SQUARE(), 2, 3)", 12),
    ("m.select_range(SQUARE(), [2, 2], [3, 3])", [[12]]),
    ("m.select_range(SQUARE(), 'butlast', 'first')", [1, 5, 9]),
    ("m.select_axis_range(SQUARE(), 0, 2)", [9, 10, 11, 12]),
    ("m.select_axis_range(SQUARE(), 1, [1, 3])", [[2, 3], [6, 7], [10, 11], [14, 15]]),
    ("m.select_axis_range(SQUARE(), 0, 'first')", [1, 2, 3, 4]),
    # Splitting and joining
    ("m.slices(m.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), 0)[2]", [7, 8, 9]),
    ("m.rows(m.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]))[1]", [4, 5, 6]),
    ("m.columns(m.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]))[1]", [2, 5, 8]),
    ("m.partition_along(m.array([0, 1, 2, 3, 4, 5, 6, 7, 8]), 0, 3, 2)[2]", [4, 5, 6]),
    ("m.partition_along(m.array([0, 1, 2, 3, 4, 5, 6, 7, 8]), 0, 3, 2)[4]", [8]),
    ("m.join_along(0, m.array([1, 2]), m.array([3, 4]), m.array([5, 6]))", [1, 2, 3, 4, 5, 6]),
    ("m.stack(0, m.array([1, 2]), m.array([3, 4]), m.array([5, 6]))", [[1, 2], [3, 4], [5, 6]]),
    ("m.stack(1, m.array([1, 2]), m.array([3, 4]), m.array([5, 6]))", [[1, 3, 5], [2, 4, 6]]),
    # Reshaping and permuting
    ("m.reshape(m.array([1, 2, 3, 4]), [2, 2])", [[1, 2], [3, 4]]),
    (
        "m.permute(m.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]]), [2, 1, 0])",
        [[[1, 5, 9], [3, 7, 11]], [[2, 6, 10], [4, 8, 12]]],
    ),
    ("m.add_dimension(m.array([1, 2, 3]))", [[1, 2, 3]]),
    ("m.add_dimension(m.array([1, 2, 3]), 1)", [[1], [2], [3]]),
    # Mapping
    ("m.emap(lambda a, b: a + b, m.array([[1, 2], [3, 4]]), m.array([[10, 20], [30, 40]]))", [[11, 22], [33, 44]]),
    (
        "m.emap_indexed(lambda i, a, b: a + b + 100 * (i[0] + i[1]), "
        "m.array([[1, 2], [3, 4]]), m.array([[10, 20], [30, 40]]))",
        [[11, 122], [133, 244]],
    ),
    # Setting
    ("a = SQUARE()\nm.fill_(a, 7)\na", [[7] * 4] * 4),
    ("a = m.filled([4, 4], 7)\nm.assign_(a, SQUARE())", np.arange(1, 17).reshape(4, 4)),
    (
        "m.set_range_(SQUARE(), [0, 4, 2], [0, 4, 2], m.zeros([2, 2]))",
        [[0, 2, 0, 4], [5, 6, 7, 8], [0, 10, 0, 12], [13, 14, 15, 16]],
    ),
    (
        "a = m.set_range_(SQUARE(), [0, 4, 2], [0, 4, 2], m.zeros([2, 2]))\n"
        "m.mset_(a, 0, 0, 1)\nm.mset_(a, 0, 2, 3)\nm.mset_(a, 2, 0, 9)\nm.mset_(a, 2, 2, 11)\na",
        np.arange(1, 17).reshape(4, 4),
    ),
    (
        "a = SQUARE()\nm.assign_(m.submatrix(a, [[1, 2], [1, 2]]), m.zeros([2, 2]))\na",
        [[1, 2, 3, 4], [5, 0, 0, 8], [9, 0, 0, 12], [13, 14, 15, 16]],
    ),
    (
        "m.set_axis_range_(SQUARE(), 1, [1, 3], m.filled([4, 2], 7))",
        [[1, 7, 7, 4], [5, 7, 7, 8], [9, 7, 7, 12], [13, 7, 7, 16]],
    ),
    # Misc
    ("m.shift(SQUARE(), 0, -1)", [[0, 0, 0, 0], [1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]),
    ("m.shift(SQUARE(), 0, 1)", [[5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16], [0, 0, 0, 0]]),
    ("m.shift(SQUARE(), 0, [1, -2])", [[0, 0, 5, 6], [0, 0, 9, 10], [0, 0, 13, 14], [0, 0, 0, 0]]),
    ("m.shift(SQUARE(), [1, -2])", [[0, 0, 5, 6], [0, 0, 9, 10], [0, 0, 13, 14], [0, 0, 0, 0]]),
]
NAMES = {
    "m": m,
    "np": np,
    "EXTREMES": lambda: m.array([[1, 3, 2], [0, 1, 3], [0, 3, 4]]),
    "SQUARE": lambda: m.array(np.arange(1, 17).reshape(4, 4)),
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("program", "expected"), EXAMPLES, ids=lambda text: str(text)[:40])
def test_example(program: str, expected: object, dtype: str, monkeypatch: pytest.MonkeyPatch):
    if dtype == "f8":  # all that examples make is then of f64
        for name in ("array", "zeros", "ones", "filled"):
            made = getattr(m, name)
            monkeypatch.setattr(m, name, lambda *args, made=made: made(*args, dtype="f64"))
    *statements, last = program.split("\n")
    names = dict(NAMES)
    exec("\n".join(statements), names)
    found = eval(last, names)
    right = np.asarray(expected, dtype)
    assert m.shape(found) == list(right.shape) and found.dtype == right.dtype
    np.testing.assert_array_equal(np.asarray(found), right)


def test_chunks_have_the_shapes_of_the_document():
    chunks = m.partition_along(m.array([0, 1, 2, 3, 4, 5, 6, 7, 8]), 0, 3, 2)
    assert [m.shape(c) for c in chunks] == [[3], [3], [3], [3], [1]]


def test_tensors_print_as_in_the_document():
    assert str(m.array([[1, 2, 3], [4, 5, 6]])) == (
        "#Tensure\n[[    1.0000,    2.0000,    3.0000],\n [    4.0000,    5.0000,    6.0000]]"
    )
    assert repr(m.filled(None, np.pi)) == "#Tensure\n    3.1416"
    assert str(m.zeros([2])) == "#Tensure\n[         0,         0]"
    assert str(m.zeros([30, 40])) == "#Tensure\nLarge array of shape [30 40]"


def test_same_data():
    a = m.array([[1, 2], [3, 4]])
    ta, ra = m.transpose(a), m.reshape(a, [4])
    assert m.same_data(a, ta, ra)
    assert not m.same_data(a, m.array([[1, 2], [3, 4]]))
    assert not m.same_data(a, m.clone(ta))
    assert m.same_data(a, m.transpose(m.transpose(a)))
    assert m.same_data(a, m.transpose(m.reshape(a, [4])))
    assert not m.same_data(a, m.reshape(m.transpose(a), [4]))
    for view in (m.submatrix(a, 0, [1, 1]), m.select_range(a, [0, 2, 2], "rest"), m.permute(a, [1, 0])):
        assert m.same_data(a, view)


def test_mutation_is_seen_through_every_view():
    a, b = m.array([[1, 2], [3, 4]]), m.array([[10, 20], [30, 40]])
    ta, ra, total = m.transpose(a), m.reshape(a, [4]), m.add(a, b)
    assert m.array_to_vector(a) == [[1, 2], [3, 4]]
    assert m.add_(a, b) is a
    assert m.array_to_vector(a) == [[11, 22], [33, 44]]
    assert m.array_to_vector(ta) == [[11, 33], [22, 44]]
    assert m.array_to_vector(ra) == [11, 22, 33, 44]
    assert m.array_to_vector(b) == [[10, 20], [30, 40]]
    assert m.array_to_vector(total) == [[11, 22], [33, 44]]


def test_equality():
    a = m.array([1, 2, 3])
    assert m.equals(a, m.array([1, 2, 3]))
    assert m.equals(a, m.add(m.array([0, 1, 2]), m.ones([3])))
    assert m.equals(a, m.transpose(a))
    assert not m.equals(a, m.reshape(a, [1, 3]))
    assert not m.equals(m.array([[1, 2, 3]]), m.array([[1], [2], [3]]))
    assert m.equals(a, m.add_(a, m.ones([3])))
    assert m.equals(a, m.add(a, m.array(0.01)), 0.1) and not m.equals(a, m.add(a, m.array(0.01)))


def test_the_mutating_chain_gives_the_result_of_the_copying_one():
    a, b = m.sample_uniform([100, 100]), m.sample_uniform([1e2, 1e2])
    mutated = m.abs_(m.mul_(m.pow_(m.sub_(m.div(a, b), b), m.array(2)), a))
    copied = m.abs(m.mul(m.pow(m.sub(m.div(a, b), b), m.array(2)), a))
    assert m.equals(copied, mutated)


def test_seeds_repeat_draws():
    first, second = m.sample_rand_int([1, 3], 10, 0), m.sample_rand_int([1, 3], 10, 0)
    assert m.equals(first, second) and m.shape(first) == [1, 3]
    draws = []
    for _ in range(2):
        m.set_rng_seed(0)
        draws.append(
            [m.eseq(m.sample_uniform([3])), m.eseq(m.sample_normal([2])), m.eseq(m.sample_rand_int(None, 100))]
        )
    assert draws[0] == draws[1]
    assert not m.equals(m.sample_rand_int([1, 40], 7), m.sample_rand_int([1, 40], 7))
