"""Every function at its edges: results beside NumPy's, ranks and sizes of 0, what it refuses and what it says then."""

import ast
import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc import tensure as m
from txc.compiler.config.options import Options
from txc.compiler.frontend.api.tensure.storage import LONGEST
from txc.compiler.frontend.lazy.evaluate import lazy_graph
from txc.compiler.pipeline import run_stages

#: OPS.md's list.
NAMES = """
array scalar scalar_array matrix zeros ones filled sample_rand_int sample_uniform sample_normal set_rng_seed clone
same_data equals is_array rank dimensionality shape is_scalar is_vec is_matrix dimension_count row_count column_count
ecount scalar_to_number to_number to_int eseq array_to_vector broadcast broadcast_like
add sub mul div negate pow abs log log10 sqrt min max cos sin tan acos asin atan cosh tanh sinh
add_ sub_ mul_ div_ negate_ pow_ abs_ min_ max_ log_ log10_ sqrt_ cos_ sin_ tan_ acos_ asin_ atan_ cosh_ tanh_ sinh_
eq ne gt lt ge le eq_ ne_ gt_ lt_ ge_ le_ mmul outer_product emax emin esum emean estdev
sum_along max_along min_along argmax_along argmin_along submatrix select_range select_axis_range
slices rows columns partition_along join_along stack reshape permute permute_ add_dimension transpose emap emap_indexed
set_range_ set_axis_range_ assign_ fill_ mset_ mset shift
""".split()


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_documented(name: str):
    assert name in m.__all__
    text = inspect.getdoc(getattr(m, name)) or ""
    if name in ("is_array",):
        assert "f32" in text
        return
    for words in (("shape", "scalar", "dim"), ("f32", "f64", "dtype"), ("TxcError",)):
        assert any(w in text for w in words), (name, words)


def array(*shape: int) -> Any:
    return m.array(np.arange(1, math.prod(shape) + 1).reshape(shape) / 8)


UNARY = {
    "negate": np.negative, "abs": np.abs, "log": np.log, "log10": np.log10, "sqrt": np.sqrt, "cos": np.cos,
    "sin": np.sin, "tan": np.tan, "acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "cosh": np.cosh,
    "sinh": np.sinh, "tanh": np.tanh,
}  # fmt: skip
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power, "max": np.maximum,
    "min": np.minimum, "eq": np.equal, "ne": np.not_equal, "gt": np.greater, "lt": np.less, "le": np.less_equal,
    "ge": np.greater_equal,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str):
    for shape in ((), (0,), (2, 3)):
        x = array(*shape)
        right = UNARY[name](np.asarray(x))
        np.testing.assert_allclose(np.asarray(getattr(m, name)(x)), right, 1e-6)
    assert getattr(m, f"{name}_")(x) is x
    np.testing.assert_allclose(np.asarray(x), right, 1e-6)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str):
    for a, b, like in (
        ((2, 3), (3,), (1, 3)), ((2, 3), (2,), (2, 1)), ((3,), (2, 3), (2, 3)), ((2, 3), (), ()), ((), (), ()),
        ((0, 3), (3,), (1, 3)), ((4, 2, 3), (4, 2), (4, 2, 1)), ((4, 2, 3), (2,), (1, 2, 1)),
    ):  # fmt: skip
        x, y = array(*a), array(*b)
        right = BINARY[name](np.asarray(x), np.asarray(y).reshape(like)).astype("f4")
        found = getattr(m, name)(x, y)
        assert found.dtype == np.float32
        np.testing.assert_allclose(np.asarray(found), right, 1e-6)
    x, y = array(2, 3), m.array([0.25, 5])
    right = BINARY[name](np.asarray(x), np.asarray(y)[:, None])
    assert getattr(m, f"{name}_")(x, y) is x
    np.testing.assert_allclose(np.asarray(x), right, 1e-6)


def test_fewer_and_more_operands():
    a, b, c = m.array([1, 2]), m.array([3, 4]), m.array([[5, 6], [7, 8]])
    assert m.eseq(m.add()) == [0] and m.eseq(m.mul()) == [1] and m.eseq(m.mmul()) == [1]
    assert m.add(a) is a and m.eseq(m.sub(a)) == [-1, -2] and m.eseq(m.div(a)) == [1, 0.5]
    assert m.array_to_vector(m.add(a, b, c)) == [[9, 12], [11, 14]]
    assert m.array_to_vector(m.sub_(c, a, b)) == [[1, 0], [3, 2]]
    assert m.eseq(m.div_(m.array([2, 4]))) == [0.5, 0.25]


def test_products():
    a, b, t, v = array(2, 3), array(3, 4), array(3, 2, 2), array(3)
    for x, y in ((a, b), (a, v), (v, b), (v, v), (a, t), (t, array(2, 5))):
        np.testing.assert_allclose(np.asarray(m.mmul(x, y)), np.tensordot(np.asarray(x), np.asarray(y), 1), 1e-6)
    np.testing.assert_allclose(np.asarray(m.outer_product(v, a)), np.multiply.outer(np.asarray(v), np.asarray(a)), 1e-6)
    assert m.eseq(m.mmul(m.array(2), m.array([1, 2]))) == [2, 4] == m.eseq(m.outer_product(m.array([1, 2]), m.array(2)))


def test_aggregates():
    x = array(3, 4)
    values = np.asarray(x)
    for name, right in (("emax", 1.5), ("emin", 0.125), ("esum", 9.75), ("emean", 0.8125)):
        found = getattr(m, name)(x)
        assert m.is_scalar(found) and m.scalar_to_number(found) == right
    assert m.scalar_to_number(m.estdev(x)) == pytest.approx(values.std(ddof=1), 1e-6)
    assert m.sum_along(x, []) is x and m.scalar_to_number(m.esum(m.zeros([0]))) == 0
    assert np.isnan(m.to_number(m.estdev(m.array([1]))))
    np.testing.assert_array_equal(np.asarray(m.max_along(array(2, 3, 4), [0, 2])), [2.0, 2.5, 3.0])
    t = m.array(np.arange(24).reshape(2, 3, 4) % 7)
    right = np.asarray(t).transpose(1, 0, 2).reshape(3, 8)
    np.testing.assert_array_equal(np.asarray(m.argmax_along(t, [2, 0])), right.argmax(1))
    np.testing.assert_array_equal(np.asarray(m.argmin_along(t, [])), 0)


def test_information():
    t = array(2, 3)
    assert (m.rank(t), m.dimensionality(t), m.shape(t), m.ecount(t)) == (2, 2, [2, 3], 6)
    assert (m.row_count(t), m.column_count(t), m.dimension_count(t, m.array(1))) == (2, 3, 3)
    kinds = (m.is_scalar, m.is_vec, m.is_matrix)
    assert [[f(x) for f in kinds] for x in (m.array(1), m.array([1]), t)] == np.eye(3).astype(bool).tolist()
    assert m.is_array(t) and not m.is_array(3) and not m.is_array([1]) and not m.is_array(np.ones(2))
    assert m.shape(m.array(7)) == [] and m.ecount(m.array(7)) == 1 and m.ecount(m.zeros([3, 0])) == 0


def test_conversion():
    assert m.scalar_to_number(m.array(2.5)) == 2.5 == m.to_number(m.array(2.5)) and m.to_number(3) == 3
    assert m.to_int(m.array(-2.5)) == -2 and m.to_int(7.9) == 7
    assert m.eseq(m.transpose(m.array([[1, 2], [3, 4]]))) == [1, 3, 2, 4]
    assert m.array_to_vector(m.array(1)) == 1.0 and m.array_to_vector(m.zeros([2, 0])) == [[], []]
    assert np.asarray(m.array([1 / 3], dtype="f64"))[0] == 1 / 3


def test_arrays_made_of_a_tensor_are_read_only_and_keep_their_elements():
    t = array(2, 2)
    before = np.asarray(t)
    kept = before.copy()
    m.mul_(t, m.array(2))
    m.mset_(t, 0, 0, 9)
    np.testing.assert_array_equal(before, kept)
    assert not before.flags.writeable and np.asarray(t)[0, 0] == 9 and np.asarray(t)[1, 1] == 1.0


def test_expressions_keep_what_they_read():
    t, other = array(4), m.ones([4])
    settled = m.eseq(t)
    total, view = m.add(t, other), m.select_range(t, [1, 3])
    m.fill_(view, 0)
    m.add_(t, other)
    assert m.eseq(total) == [x + 1 for x in settled]
    assert m.eseq(t) == [settled[0] + 1, 1, 1, settled[3] + 1]
    assert m.eseq(view) == [1, 1]


def test_memory_that_nothing_else_refers_to_is_updated_in_place():
    t = m.add(array(1000), m.ones([1000]))
    m.to_number(m.esum(t))  # which keeps what it reads
    m.mul_(t, m.ones([1000]))
    storage = t.owner()[0]
    memory = storage.settle()
    before = memory.copy()
    m.mul_(m.add_(t, m.ones([1000])), t)
    assert storage.settle() is memory
    np.testing.assert_array_equal(memory, (before + 1) ** 2)
    copy = m.clone(t)
    m.negate_(t)
    assert storage.settle() is not memory and m.eseq(copy)[0] == memory[0]


def test_a_chain_of_mutations_is_one_kernel():
    a, b = m.array(np.ones((8, 8))), m.array(np.ones((8, 8)))
    result = m.abs_(m.mul_(m.pow_(m.sub_(m.div(a, b), b), m.array(2)), a))
    module = run_stages(lazy_graph([result.value]), Options.of(), stop_after="fused").module
    assert str(module).count("kernel.generic") == 1 and "kernel.row_group" not in str(module)


def test_a_small_whole_exponent_stays_a_part_of_the_program():
    x, two = array(2, 2), m.array(2)
    for _ in range(3):
        squared = m.pow(x, two)
        ops = [node.op.name for node in lazy_graph([squared.value]).nodes() if node.op]
        assert "square" in ops and "pow" not in ops


def test_long_chains_are_computed_in_parts():
    t, one = array(3), m.ones([3])
    first = m.eseq(t)
    for _ in range(3 * LONGEST):
        m.add_(t, one)
        assert t.owner()[0].depth <= LONGEST + 1
    assert m.eseq(t) == [x + 3 * LONGEST for x in first]


def test_permute_changes_the_name_alone():
    a = m.array([[1, 2, 3], [4, 5, 6]])
    before, view = m.transpose(a), m.rows(a)[0]
    assert m.permute_(a, [1, 0]) is a and m.shape(a) == [3, 2] and m.shape(before) == [3, 2]
    m.mset_(a, 0, 1, 40)
    assert m.eseq(before) == [1, 40, 2, 5, 3, 6] and m.eseq(view) == [1, 2, 3] and m.same_data(a, before, view)


def test_scalar_views_can_be_set():
    a = array(2, 2)
    m.fill_(m.select_range(a, 1, 1), 7)
    m.assign_(m.select_range(a, 0, "last"), m.array(5))
    m.mset_(m.select_range(a, "first", 0), 3)
    assert m.eseq(a) == [3, 5, 0.375, 7]
    b = m.mset(a, 0, 0, 1)
    assert m.eseq(b) == [1, 5, 0.375, 7] and m.eseq(a)[0] == 3


def test_mapping_branches_and_ranks():
    t = m.array([1, 2, 3, 4])

    def halves(x: Any) -> Any:
        if x > 2:
            return x / 2
        return 0.0

    assert m.eseq(m.emap(halves, t)) == [0, 0, 1.5, 2]
    assert m.eseq(m.emap_indexed(lambda i, x: i[0] * x, t)) == [0, 2, 6, 12]
    assert m.eseq(m.emap_indexed(lambda i, x: x + len(i), m.array(1))) == [1]
    assert m.eseq(m.emap(lambda x: x > 2, t)) == [0, 0, 1, 1]


def test_sampling():
    x = np.asarray(m.sample_uniform([100, 100], 3))
    assert x.dtype == np.float32 and 0 <= x.min() < 0.01 and 0.99 < x.max() < 1 and abs(x.mean() - 0.5) < 0.02
    n = np.asarray(m.sample_normal(10_000, 3, "f64"))
    assert n.dtype == np.float64 and abs(n.mean()) < 0.05 and abs(n.std() - 1) < 0.05
    assert set(m.eseq(m.sample_rand_int([500], 7, 1))) == set(range(7))
    assert m.shape(m.sample_uniform(None)) == [] and m.ecount(m.sample_uniform([0, 3])) == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m.add(m.array([1, 2, 3]), 2)", "add takes tensors, and argument 1 is the int 2"),
        ("m.add(np.ones(3), m.array(1))", "add takes tensors, and argument 0 is a ndarray"),
        ("m.esum(txc.asarray(np.ones(3)))", "esum takes tensors, and argument 0 is a Tensor"),
        ("m.div()", "div takes at least one tensor"),
        ("m.add(m.ones([2, 1]), m.ones([1, 3]))", "shapes [2 1] and [1 3] do not broadcast to one another"),
        ("m.add(m.ones([8, 1, 6, 1]), m.ones([7, 1, 5]))", "shapes [8 1 6 1] and [7 1 5] do not broadcast"),
        ("m.broadcast(m.array([[1, 2]]), [2, 3])", "shape [1 2] does not broadcast to [2 3]"),
        ("m.broadcast(m.ones([2, 2]), [2])", "shape [2 2] does not broadcast to [2]"),
        ("m.add_(m.ones([3]), m.ones([2, 3]))", "shape [2 3] does not broadcast to [3], the shape of the first"),
        ("m.add_(m.array(1), m.array(1))", "add_ cannot change a scalar: scalars are immutable"),
        ("m.div_(m.array(2))", "div_ cannot change a scalar"),
        ("m.eq_(m.array(2), m.array(3))", "eq_ cannot change a scalar"),
        ("m.pow_(m.array(2), m.array([1, 2]))", "shape [2] does not broadcast to [], the shape of the first"),
        ("m.array([[1], [2, 3]])", "array: the nested lists are ragged"),
        ("m.array('text')", "array takes numbers, not 'text'"),
        ("m.array([1], dtype='i32')", "array: elements are f32 or f64, not i32"),
        ("m.array([1], dtype='no')", "array: "),
        ("m.scalar([1])", "scalar takes a number, not a list"),
        ("m.matrix([1, 2])", "matrix takes data of 2 dims, not of 1"),
        ("m.zeros(3)", "zeros takes a shape as a list of sizes, not 3"),
        ("m.ones([2, -1])", "ones: the sizes of a shape are integers from 0"),
        ("m.filled([2], 'x')", "filled takes a number, not the str 'x'"),
        ("m.filled([2], m.ones([2]))", "filled takes a number, not a f32[2]"),
        ("m.scalar_to_number(m.ones([2]))", "scalar_to_number takes a scalar, not a f32[2]"),
        ("m.to_number('x')", "to_number takes a number, not the str 'x'"),
        ("m.to_int(m.array(float('nan')))", "to_int: nan is no whole number"),
        ("m.same_data()", "same_data takes at least one tensor"),
        ("m.dimension_count(m.ones([2]), 1)", "there is no axis 1 in shape [2]"),
        ("m.row_count(m.array(1))", "there is no axis 0 in shape []"),
        ("m.sum_along(m.ones([2]), -1)", "sum_along: there is no axis -1 in shape [2]"),
        ("m.argmax_along(m.ones([2]), [0, 3])", "argmax_along: there is no axis 3"),
        ("m.emax(m.zeros([0]))", "it has no elements"),
        ("m.mmul(m.ones([2, 3]), m.ones([2, 3]))", "the last size of [2 3] is not the first of [2 3]"),
        ("m.submatrix(m.ones([3]), 0, [3, 2])", "submatrix: 3 is not in dim 0 of shape [3]"),
        ("m.submatrix(m.ones([3]), 0, [-1, 2])", "submatrix: -1 is not in dim 0 of shape [3]"),
        ("m.submatrix(m.ones([3]), 0, [1, 0])", "submatrix: the range [1 0] has no length"),
        ("m.submatrix(m.array(7), [[0, 1]])", "1 ranges for shape []"),
        ("m.submatrix(m.ones([3]), 0, 3)", "a range is [start, length], not 3"),
        ("m.submatrix(m.ones([3]), 3)", "submatrix takes a dim and a range"),
        ("m.submatrix(m.ones([3]), [[0, 1], [0, 1]])", "2 ranges for shape [3]"),
        ("m.select_range(m.ones([3]), 3)", "select_range: 3 is not in dim 0 of shape [3]"),
        ("m.select_range(m.ones([3]), -1)", "select_range: -1 is not in dim 0 of shape [3]"),
        ("m.select_range(m.ones([3]), [2, 1])", "the range [2 1] leads nowhere"),
        ("m.select_range(m.ones([3]), [0, 3, 0])", "the range [0 3 0] leads nowhere"),
        ("m.select_range(m.ones([3]), [0])", "a range is [start, stop] or [start, stop, step], not [0]"),
        ("m.select_range(m.ones([3]), 'most')", "there is no selection 'most'"),
        ("m.select_range(m.zeros([0]), 'first')", "0 is not in dim 0 of shape [0]"),
        ("m.select_range(m.ones([3]))", "one selection a dim: 1 for shape [3], not 0"),
        ("m.select_range(m.ones([3]), 1.5)", "select_range takes an integer for a selection, not the float 1.5"),
        ("m.select_axis_range(m.ones([3]), 1, 0)", "there is no axis 1 in shape [3]"),
        ("m.slices(m.array(1))", "slices: there is no axis 0 in shape []"),
        ("m.columns(m.array(1))", "columns: a scalar has none"),
        ("m.rows(m.array(1))", "rows: a scalar has none"),
        ("m.partition_along(m.ones([3]), 0, 0)", "size 0 and step 0 are from 1"),
        ("m.join_along(0)", "join_along takes an axis and at least one tensor"),
        ("m.join_along(0, m.array(1), m.array(2))", "join_along: there is no axis 0 in shape []"),
        ("m.join_along(0, m.ones([2, 2]), m.ones([2, 3]))", "shapes [2 2] and [2 3] differ beside dim 0"),
        ("m.stack()", "stack takes at least one tensor"),
        ("m.stack(0, m.ones([2]), m.ones([3]))", "shapes [1 2] and [1 3] differ beside dim 0"),
        ("m.stack(0, m.ones([2]), m.ones([2, 2]))", "stack: shapes [2] and [2 2] differ"),
        ("m.stack(3, m.ones([2]))", "stack: there is no axis 3"),
        ("m.reshape(m.ones([4]), [3])", "cannot reshape f32[4] to"),
        ("m.reshape(m.ones([4]), [-1])", "the sizes of a shape are integers from 0"),
        ("m.permute(m.ones([2, 3]), [0, 0])", "[0 0] does not have each axis of shape [2 3] once"),
        ("m.permute_(m.ones([2, 3]), [1])", "[1] does not have each axis of shape [2 3] once"),
        ("m.add_dimension(m.ones([2]), 2)", "there is no axis 2"),
        ("m.emap(lambda x, y: x, m.ones([2]), m.ones([3]))", "emap: shapes [2] and [3] differ"),
        ("m.emap(lambda: 1)", "emap takes a function and at least one tensor"),
        ("m.assign_(m.ones([2, 2]), m.ones([2]))", "assign_ sets shape [2 2], and the source has [2]"),
        ("m.set_range_(m.ones([2, 2]), 0, 'all', m.ones([3]))", "set_range_ sets shape [2], and the source has [3]"),
        ("m.set_range_(m.ones([2]))", "set_range_ takes selections and a source"),
        ("m.fill_(m.ones([2]), 'x')", "fill_ takes a number, not the str 'x'"),
        ("m.mset_(m.ones([2]), 2, 1)", "mset_: index 2 is not in dim 0 of shape [2]"),
        ("m.mset(m.ones([2]), -1, 1)", "mset: index -1 is not in dim 0 of shape [2]"),
        ("m.mset_(m.ones([2]), 1)", "takes 1 indices and a number, not 1 arguments"),
        ("m.shift(m.ones([2]), 1, 1)", "shift: there is no axis 1 in shape [2]"),
        ("m.shift(m.ones([2]), [1, 1])", "2 amounts from axis 0 on are too many for shape [2]"),
        ("m.shift(m.ones([2]), 1)", "shift takes an axis and an amount, or a list of amounts"),
        ("m.set_rng_seed('x')", "set_rng_seed takes an integer seed, not 'x'"),
        ("m.sample_uniform('x')", "sample_uniform takes a shape as a list of sizes"),
    ],
)  # fmt: skip
def test_errors(text: str, message: str):
    with pytest.raises(txc.TxcError) as caught:
        eval(text, {"m": m, "np": np, "txc": txc})
    assert message in str(caught.value) and "test_functions" not in message


def test_shift_by_more_than_there_is():
    t = array(2, 3)
    assert m.eseq(m.shift(t, 1, 5)) == [0] * 6 == m.eseq(m.shift(t, [-2, 0])) and m.equals(m.shift(t, [0]), t)
    assert m.ecount(m.shift(m.zeros([0, 2]), 1, 1)) == 0 and m.eseq(m.shift(m.array(3), [])) == [3]


def test_dtypes_of_results():
    single, double = m.ones([2]), m.ones([2], "f64")
    assert m.add(single, double).dtype == np.float64 and m.add_(single, double).dtype == np.float32
    assert m.gt(double, single).dtype == np.float64 and m.argmax_along(double, 0).dtype == np.float64


def test_the_front_end_computes_nothing():
    """NumPy makes, casts and names arrays here; no function of it calculates."""
    folder = Path(inspect.getfile(m.Tensure)).parent
    files = sorted(folder.rglob("*.py"))
    assert len(files) > 10
    for file in files:
        used = {
            n.attr
            for n in ast.walk(ast.parse(file.read_text()))
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "np"
        }
        assert used <= {"asarray", "ndarray", "number"}, (file.name, used)
        assert len(file.read_text().splitlines()) < 500


CHAINS = {"eq": np.equal, "gt": np.greater, "lt": np.less, "ge": np.greater_equal, "le": np.less_equal}


@pytest.mark.parametrize("name", CHAINS)
def test_comparisons_of_one_tensor_and_of_several(name: str):
    compare, change = getattr(m, name), getattr(m, f"{name}_")
    for shape in ([], [3], [2, 3], [0]):
        assert m.equals(compare(m.filled(shape, math.nan)), m.ones(shape))
    rng = np.random.default_rng(5)
    a, b, c = (rng.integers(0, 3, (4, 5)).astype(np.float32) for _ in range(3))
    right = CHAINS[name](a, b) & CHAINS[name](b, c)
    np.testing.assert_array_equal(compare(m.array(a), m.array(b), m.array(c)), right)
    row = b[0]
    right = CHAINS[name](a, row) & CHAINS[name](row, 1)
    np.testing.assert_array_equal(compare(m.array(a), m.array(row), m.array(1)), right)
    target = m.array(a)
    view = m.transpose(target)
    assert change(target, m.array(row), m.array(1)) is target
    np.testing.assert_array_equal(view, right.T)
    assert m.eseq(change(target)) == [1] * 20


def test_ne_is_the_contrary_of_eq():
    a = m.array([1, 1, 2, math.nan])
    assert m.eseq(m.ne(a)) == [0] * 4 == m.eseq(m.ne_(m.clone(a)))
    several = (a, m.array([1, 2, 2, 1]), m.array([1, 2, 3, 1]))
    assert m.eseq(m.ne(*several)) == [0, 1, 1, 1] == [1 - x for x in m.eseq(m.eq(*several))]
    assert m.eseq(m.ne(m.array(3), m.array(3), m.array(4))) == [1]


def test_scalars_that_functions_change():
    s = m.array(7)
    view = m.reshape(s, [1])
    assert m.sqrt_(s) is s and m.to_number(m.pow_(s, m.array(2))) == pytest.approx(7, 1e-6)
    assert m.to_number(m.max_(s, m.array(9))) == 9 == m.eseq(view)[0] and m.to_number(m.min_(s, m.array(-3))) == -3
    assert m.to_number(m.abs_(s)) == 3 and m.pow_(s) is s and m.permute_(s, None) is s


def test_reductions_along_all_axes():
    t = m.array(np.arange(12).reshape(2, 2, 3) % 7)
    assert m.to_number(m.sum_along(t, None)) == 31 and m.shape(m.sum_along(t, None, False)) == [1, 1, 1]
    assert m.to_number(m.max_along(t, None)) == 6 and m.to_number(m.min_along(t, None)) == 0
    assert m.to_number(m.argmax_along(t, None)) == 6 and m.to_number(m.argmin_along(t, None)) == 0
    s = m.array(4)
    assert all(f(s, None) is s for f in (m.sum_along, m.max_along, m.min_along))
    assert m.sum_along(s, None, False) is s and m.to_number(m.argmax_along(s, None)) == 0
    assert m.to_number(m.estdev(s)) == 0


def test_rows_and_columns_of_any_rank():
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    t = m.array(values)
    np.testing.assert_array_equal(np.stack([np.asarray(r) for r in m.rows(t)]), values.reshape(6, 4))
    columns = values.swapaxes(1, 2).reshape(8, 3)
    np.testing.assert_array_equal(np.stack([np.asarray(c) for c in m.columns(t)]), columns)
    assert m.same_data(t, *m.rows(t), *m.columns(t))
    m.assign_(m.columns(t)[1], m.array([10, 11, 12]))
    assert np.asarray(t)[0, :, 1].tolist() == [10, 11, 12]
    v = m.array([1, 2, 3])
    assert [m.eseq(r) for r in m.rows(v)] == [[1, 2, 3]] and [m.shape(c) for c in m.columns(v)] == [[], [], []]
    assert [m.to_number(c) for c in m.columns(v)] == [1, 2, 3]


def test_regions_end_where_the_tensor_ends():
    v = m.array([1, 2, 3])
    assert m.eseq(m.submatrix(v, [[0, 33]])) == [1, 2, 3] and m.eseq(m.submatrix(v, 0, [2, 2])) == [3]
    assert m.to_number(m.submatrix(m.array(7), [])) == 7
    t = m.array(np.arange(12).reshape(2, 2, 3))
    assert m.eseq(m.submatrix(t, 1, 1, 0, 9)) == [6, 7, 8, 9, 10, 11]
    assert m.eseq(m.submatrix(t, [None, [1, 1], [1, 2]])) == [4, 5, 10, 11]


@pytest.mark.parametrize(
    ("selection", "source", "right"),
    [
        (["first"], [7], [7, 2, 3]),
        (["last"], [[7]], [1, 2, 7]),
        ([1], 7, [1, 7, 3]),
        ([[1, 2]], 7, [1, 7, 3]),
        ([[0, 7, 2]], [[7, 9]], [7, 2, 9]),
        (["butlast"], [[7], [8]], [7, 8, 3]),
    ],
)
def test_a_source_has_the_size_of_the_selection(selection: list[Any], source: Any, right: list[float]):
    a = m.array([1, 2, 3])
    assert m.set_range_(a, *selection, m.array(source)) is a and m.eseq(a) == right
    b = m.array([1, 2, 3])
    assert m.set_axis_range_(b, 0, selection[0], m.array(source)) is b and m.eseq(b) == right
    assert m.to_number(m.set_range_(m.array(3), m.array(7))) == 7
