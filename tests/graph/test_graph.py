"""Symbolic tensors, operations and sessions, as the TensorFlow notes describe them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc import graph
from txc.graph import DataType, FeedError, Graph, HostTensor, PartialTensorShape, Session, TensorShape, TensorSlice

#: Any: NumPy's stubs do not know that its functions take whatever has its protocols.
placeholder: Any = graph.placeholder


@pytest.fixture(autouse=True)
def fresh():
    with Graph().as_default() as g:
        yield g


def test_the_example_of_the_notes(n: int = 1024):
    x = placeholder(np.float32, shape=(n, n))
    y = graph.matmul(x, x)
    with Session() as sess:
        with pytest.raises(FeedError, match=f"placeholder 'placeholder' of dtype DT_FLOAT and shape \\[{n},{n}\\]"):
            sess.run(y)
        given = np.random.default_rng(0).random((n, n))
        np.testing.assert_allclose(sess.run(y, feed_dict={x: given}), given @ given, rtol=1e-4)


def test_what_a_tensor_knows(fresh: Graph):
    x = placeholder("float64", [None, 3], name="x")
    y = np.exp(x) + 1
    assert (x.name, x.value_index, x.dtype, x.graph) == ("x:0", 0, DataType.DT_DOUBLE, fresh)
    assert x.consumers() == [y.op.inputs[0].op] and x.op.outputs == [x] and y.consumers() == []
    assert y.op.type == "add" and y.as_output() == (y.op, 0) and y.device == "cpu"
    assert isinstance(x.shape, PartialTensorShape) and y.get_shape() == [None, 3]
    assert isinstance(y.sum().shape, TensorShape)
    assert repr(y) == "<Tensor 'add:0' shape=[?,3] dtype=DT_DOUBLE>"
    assert repr(y.op) == "<Operation 'add' type=add>"
    assert fresh.get_tensor_by_name("add:0") is y and fresh.get_operation_by_name("x") is x.op
    assert [op.name for op in fresh.get_operations()] == ["x", "exp", "add", "sum"]
    assert (y + 1).name == "add_1:0"


def test_set_shape():
    x = placeholder(np.float32)
    assert x.shape.unknown_rank
    x.set_shape([None, 4])
    x.set_shape([2, None])
    assert x.shape == [2, 4]
    with pytest.raises(ValueError, match=r"placeholder:0: incompatible shapes: \[2,4\] and \[3,4\]"):
        x.set_shape([3, 4])


def test_operators_functions_methods_and_indices():
    a, b = (placeholder("f8", [None, 4]) for _ in range(2))
    p, q = np.random.default_rng(0).random((2, 5, 4))
    made = {
        "operators": (2 - a * b / 3, 2 - p * q / 3),
        "reflected": (1 / (a + 1) + 2**b, 1 / (p + 1) + 2**q),
        "ufunc": (np.maximum(a, b), np.maximum(p, q)),
        "function": (np.concatenate([a, b], axis=1), np.concatenate([p, q], axis=1)),
        "method": (a.mean([0]), p.mean(0)),
        "index": (a[1:, 2], p[1:, 2]),
        "compare": (a < b, p < q),
        "registry": (graph.tanh(a), np.tanh(p)),
        "reduce": (np.add.reduce(a, axis=1), p.sum(1)),
        "slice": (a[TensorSlice.parse("1,2:-").as_index()], p[1:3]),
        "matrix product": (a @ np.swapaxes(b, 0, 1), p @ q.T),
    }
    with Session() as s:
        got = s.run({k: t for k, (t, _) in made.items()}, {a: p, b: q})
    for name, (_, expected) in made.items():
        np.testing.assert_allclose(got[name], expected, rtol=1e-14, err_msg=name)


def test_several_outputs():
    x = placeholder(np.float32, [6])
    low, high = x.minmax()
    assert low.op is high.op and (low.value_index, high.name) == (0, "minmax:1")
    assert [v.item() for v in Session().run((low, high), {x: np.arange(6)})] == [0, 5]
    assert Session().run(high, {x: np.arange(6)}) == 5


def test_any_tensor_can_be_fed_and_what_is_not_needed_is_not_run():
    x = placeholder(np.float32, [2])
    y = x * 2
    z = y + 1
    assert Session().run(z, {y: [10, 20]}).tolist() == [11, 21]
    assert Session().run(z, {"mul:0": [10, 20], x: [1, 1]}).tolist() == [11, 21]
    assert Session().run(y, {y: [10, 20]}).tolist() == [10, 20]


def test_fetches_keep_their_structure():
    x = graph.constant([1.0, 2.0])
    y = x + 1
    s = Session()
    got = s.run({"a": [x, (y, "add:0")], "op": y.op, "none": []})
    assert got["a"][0].tolist() == [1, 2] and got["a"][1][1].tolist() == [2, 3]
    assert got["op"] is None and got["none"] == [] and isinstance(got["a"][1], tuple)
    assert s.run("add") is None and s.run("add:0").tolist() == [2, 3]


def test_eval_and_run_use_the_default_session():
    x = graph.constant(3)
    with pytest.raises(RuntimeError, match="there is no default session"):
        x.eval()
    with Session() as s:
        assert graph.get_default_session() is s
        assert (x * x).eval() == 9
        assert (x * x).op.run() is None
    assert (x * x).eval(session=Session()) == 9
    with pytest.raises(RuntimeError, match="the session is closed"):
        s.run(x)


def test_batch_sizes_compile_once():
    x = placeholder(np.float32, [None, 4])
    loss = np.exp(x @ graph.constant(np.ones((4, 3), np.float32))).sum()
    with Session() as s:
        for n in range(2, 102):
            assert s.run(loss, {x: np.zeros((n, 4))}) == n * 3
        assert s.function([loss], [x]).explain_compile().count("compiled because") == 1


def test_a_rank_that_is_not_known_until_the_run():
    x = placeholder("f4")
    y = np.exp(x).sum(axis=1)
    assert y.shape.unknown_rank and y.dtype is DataType.DT_FLOAT
    assert Session().run(y, {x: np.zeros((2, 3))}).tolist() == [3, 3]
    assert Session().run(y, {x: np.zeros((2, 3, 1))}).tolist() == [[3], [3]]


def test_conversions():
    assert graph.convert_to_tensor(1.5).dtype is DataType.DT_FLOAT
    assert graph.convert_to_tensor([1, 2]).dtype is DataType.DT_INT32
    assert graph.convert_to_tensor(np.arange(2)).dtype is DataType.DT_INT64
    assert graph.convert_to_tensor(np.float16(1)).dtype is DataType.DT_HALF
    assert graph.convert_to_tensor(TensorShape([2, 3])).eval(session=Session()).tolist() == [2, 3]
    assert graph.convert_to_tensor(graph.Dimension(4)).shape == []
    assert graph.convert_to_tensor([1, 2], "f8").dtype is DataType.DT_DOUBLE
    t = graph.convert_to_tensor(HostTensor.from_numpy(np.eye(2)))
    assert graph.convert_to_tensor(t) is t
    packed = graph.convert_to_tensor([t[0], [1.0, 2.0]], np.float64)
    assert packed.op.type == "stack" and Session().run(packed).tolist() == [[1, 0], [1, 2]]
    assert [c.op.name for c in graph.convert_n_to_tensor([1, 2.0], name="n")] == ["n_0", "n_1"]


def test_a_conversion_of_ones_own_by_priority():
    class Celsius:
        degrees = 20.0

    graph.register_tensor_conversion_function(Celsius, lambda v, dtype, name: NotImplemented, 10)
    graph.register_tensor_conversion_function(Celsius, lambda v, dtype, name: graph.constant(v.degrees + 273), 20)
    graph.register_tensor_conversion_function(Celsius, lambda v, dtype, name: graph.constant(0.0), 30)
    assert Session().run(graph.convert_to_tensor(Celsius())) == 293
    with pytest.raises(ValueError, match="is of DT_FLOAT, and DT_INT32 was asked for"):
        graph.convert_to_tensor(Celsius(), np.int32)


VALUE = [0, 1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    "value", [VALUE, np.array(VALUE), np.array(VALUE).reshape(2, 4)], ids=["list", "array", "matrix"]
)
def test_constant_initializer_fills_the_rest(value: Any):
    init = graph.initializers.Constant(value)
    with Session():
        x = graph.get_variable("x", shape=[2, 4], initializer=init)
        x.initializer.run()
        assert x.eval().tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
        y = graph.get_variable("y", shape=[3, 4], initializer=init)
        y.initializer.run()
        assert y.eval().tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [7, 7, 7, 7]]
        assert y.eval().dtype == np.float32
        with pytest.raises(ValueError, match=r"Too many elements provided\. Needed at most 6, but received 8"):
            graph.get_variable("z", shape=[2, 3], initializer=init)


def test_constant_initializer_verifies_the_shape():
    init = graph.initializers.Constant(VALUE, verify_shape=True)
    with pytest.raises(TypeError) as caught:
        graph.get_variable("x", shape=[3, 4], initializer=init)
    assert str(caught.value) == "Expected Tensor's shape: (3, 4), got (8,)."


def test_variables_live_in_sessions():
    v = graph.get_variable("v", [2], np.float64, initializer=graph.initializers.Ones())
    w = graph.get_variable("w", [2], initializer=graph.initializers.Zeros())
    y = v.value * 3 + w.value
    with Session() as s:
        with pytest.raises(RuntimeError, match="variable 'v' has no value in this session: run its initializer"):
            s.run(y)
        s.run([v.initializer, w.initializer])
        assert s.run(y).tolist() == [3, 3] and s.run([v])[0].tolist() == [1, 1]
    with Session(), pytest.raises(RuntimeError, match="has no value in this session"):
        v.eval()
    assert repr(v) == "<Variable 'v' shape=[2] dtype=DT_DOUBLE>"


X = "graph.placeholder(np.float32, [None, 3], name='x')"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            f"Session().run({X}, {{'x:0': np.ones((2, 4))}})",
            FeedError,
            "x:0 has shape [?,3], and cannot be fed shape [2,4]",
        ),
        (f"Session().run({X}, {{'x:0': ['a']}})", FeedError, "x:0 is of DT_FLOAT, and cannot be fed elements of <U1"),
        (f"Session().run({X}, {{'x:0': graph.constant(1)}})", TypeError, "fed to x:0 is a tensor itself"),
        ("Session().run(graph.constant(1), {3: 4})", TypeError, "fed to tensors or their names, not to 3"),
        ("Session().run(7)", TypeError, "are fetched, not 7"),
        ("Session().run('no')", KeyError, "there is no operation 'no'"),
        ("Session(Graph()).run(graph.constant(1))", ValueError, "constant:0 is not of this session's graph"),
        (f"{X} @ np.ones((4, 2), np.float32)", ValueError, "= 4 are not equal"),
        (f"bool({X})", TypeError, "x:0 has no value before a session runs it"),
        (f"iter({X})", TypeError, "x:0 of shape [?,3] cannot be iterated over"),
        (f"{X}.nonsense", AttributeError, "no attribute 'nonsense'"),
        ("graph.nonsense", AttributeError, "txc.graph has no attribute 'nonsense'"),
        ("graph.constant('text')", TypeError, "a HostTensor holds strings"),
        ("graph.convert_to_tensor(object())", TypeError, "nothing converts a object to a tensor"),
        ("graph.convert_to_tensor(graph.constant(1).op)", TypeError, "give one of its outputs"),
        ("graph.convert_to_tensor(PartialTensorShape([None]))", ValueError, "not fully defined"),
        ("graph.convert_to_tensor(graph.constant(1), 'f4')", ValueError, "and DT_FLOAT was asked for"),
        ("graph.convert_n_to_tensor(3)", TypeError, "values is a list or a tuple"),
        ("graph.register_tensor_conversion_function(3, print)", TypeError, "a type or a tuple of types, not 3"),
        ("graph.register_tensor_conversion_function(int, 3)", TypeError, "a conversion is a function, not 3"),
        ("graph.get_default_graph().get_tensor_by_name('x')", ValueError, "such as 'add:0', not 'x'"),
        ("graph.constant(1) + with_graph(Graph(), lambda: graph.constant(2))", ValueError, "are of different graphs"),
    ],
)
def test_errors(text: str, error: type[Exception], message: str):
    def with_graph(g: Graph, f: Any) -> Any:
        with g.as_default():
            return f()

    with pytest.raises(error) as caught:
        eval(text, globals() | locals())
    assert message in str(caught.value)


def test_errors_name_the_users_line():
    x = placeholder(np.float32, [2, 3])
    with pytest.raises(txc.TxcError) as caught:
        _ = x @ x
    assert "test_graph.py" in str(caught.value) and "x @ x" in str(caught.value)


def test_the_front_end_computes_nothing():
    """What NumPy is used for: types, making, joining and copying arrays; no function of it calculates."""
    allowed = {
        "array", "asarray", "bool_", "can_cast", "complex128", "complex64", "complexfloating", "concatenate",
        "dtype", "float16", "float32", "float64", "frombuffer", "full", "generic", "int16", "int32", "int64",
        "int8", "integer", "ndarray", "ones", "resize", "stack", "ufunc", "uint16", "uint32", "uint64", "uint8",
        "zeros",
    }  # fmt: skip
    folder = Path(graph.__file__).resolve().parents[0] / "compiler" / "frontend" / "api" / "tf_graph"
    files = sorted(folder.glob("*.py"))
    assert len(files) > 5
    for file in files:
        used = {
            n.attr
            for n in ast.walk(ast.parse(file.read_text()))
            if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "np"
        }
        assert used <= allowed, (file.name, used - allowed)
