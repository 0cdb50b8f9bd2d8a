"""What has no compiled form is refused with what to write instead, by meaning; no public name is forgotten."""

from __future__ import annotations

import builtins
import math
import types
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.methods_table import _methods
from txc.compiler.frontend.numpy.dispatch import _handler
from txc.compiler.frontend.numpy.ufunc_table import find_op_for
from txc.compiler.frontend.refusals import COMPILING, GROUPS, instead
from txc.compiler.frontend.staging.calls.builtins import REPLACED
from txc.compiler.frontend.staging.iteration.iterators import ITERATORS
from txc.compiler.frontend.tx.parser import parse

LISTED = {*COMPILING, *(name for group in GROUPS for name in group.names)}
#: Classes of objects, and decorators: what they make is Python's, in compiled functions too.
PYTHONS = {
    "bool", "classmethod", "complex", "dict", "float", "int", "list", "object", "property", "slice", "staticmethod",
    "super", "tuple", "type",
}  # fmt: skip
#: Builtins that need nothing of their own: they ask their arguments, or take no values of arrays.
ASKING = {
    "abs", "all", "any", "bin", "callable", "chr", "divmod", "filter", "getattr", "hex", "issubclass", "iter", "map",
    "next", "oct", "ord", "round", "setattr", "sum",
}  # fmt: skip


def compiled(f: Any) -> bool:
    """Whether a call of it has a compiled form."""
    try:
        return f in REPLACED or _handler(f) is not None or find_op_for(f) is not None
    except TypeError:  # not hashable
        return False


def public(module: Any) -> list[str]:
    found = (name for name in dir(module) if not name.startswith("_"))
    return [n for n in found if callable(f := getattr(module, n)) and not isinstance(f, types.ModuleType)]


@pytest.mark.parametrize("module", [np, np.linalg, np.fft, np.random])
def test_every_function_of_numpy(module: Any) -> None:
    prefix = module.__name__.replace("numpy", "np")
    missing = [n for n in public(module) if not compiled(getattr(module, n)) and f"{prefix}.{n}" not in LISTED]
    assert not missing, f"compile these, or say in refusals.py what to write instead: {missing}"


def test_every_method_of_arrays() -> None:
    tensor = txc.asarray(np.ones((2, 3)))
    names = [n for n in dir(np.ndarray) if not n.startswith("_")]
    missing = [n for n in names if not hasattr(tensor, n) and n not in _methods() and not instead(f"ndarray.{n}")]
    assert not missing


def test_every_builtin() -> None:
    names = [n for n in dir(builtins) if n[0].islower()]
    staged = {*REPLACED, *ITERATORS}
    missing = [n for n in names if getattr(builtins, n) not in staged and n not in LISTED | PYTHONS | ASKING]
    assert missing == ["sorted"]  # which `staging/calls/list_methods.py` has


def test_each_name_is_listed_once_and_says_something() -> None:
    names = [name for group in GROUPS for name in group.names]
    assert len(names) == len(set(names)) and not set(names) & set(COMPILING)
    assert not [name for name in names if not instead(name)]
    assert not [name for group in GROUPS for name in group.own if name not in group.names]


# What a user reads ---------------------------------------------------------------------------------------------------


def insides(x):
    return np.polymul(x, x)


def saved(x):
    np.save("a.npy", x)
    return x


def loaded(x):
    return x + np.load("a.npy")


def opened(x):
    return x + len(open("a.npy").read())


def settings(x):
    np.seterr(all="ignore")
    return x


def listed(x):
    return x.tolist()


def of_memory(x):
    return x.flags


def distinct(x):
    return set(x)


def identity(x):
    return id(x)


def hashed(x):
    return hash(x[0])


def escaped(x):
    return ascii(x[0])


def by_percent(x):
    return "%s" % x[0]  # noqa: UP031


def by_format(x):
    return "{:.2f}".format(x[0])  # noqa: UP032


def by_f_string(x):
    return f"{x[0]:.2f}"


def by_str(x):
    return str(x.sum())


def printed(x):
    print(x)
    return x


def of_a_library(x):
    return np.emath.sqrt(x)


def by_python(x):
    return np.frompyfunc(abs, 1, 1)(x)


TEXT = "return the value, and format or print it outside the function"
REFUSED = {
    insides: ("TX0270", "np.polymul is not supported", "write np.convolve(p, q)"),
    saved: (
        "TX0317",
        "np.save has no compiled form: it would run once",
        "return the array and write it after the call",
    ),
    loaded: ("TX0317", "np.load has no compiled form", "read before the call and pass the array"),
    opened: ("TX0317", "open has no compiled form", "read before the call and pass the array"),
    settings: ("TX0317", "np.seterr has no compiled form", "do it outside the function"),
    listed: ("TX0270", "tolist of an array has no compiled form", "call .tolist() on the result"),
    of_memory: ("TX0270", "flags of an array has no compiled form", "do it outside the function"),
    distinct: ("TX0317", "set() of a f64[", "write np.unique(x)"),
    identity: ("TX0317", "id() of a f64[", "compare objects with `is`"),
    hashed: ("TX0317", "hash() of a f64[]", "compare the values themselves"),
    escaped: ("TX0317", "the text of a f64[]", TEXT),
    by_percent: ("TX0317", "the text of a f64[]", TEXT),
    by_format: ("TX0317", "the text of a f64[]", TEXT),
    by_f_string: ("TX0317", "the text of a f64[]", TEXT),
    by_str: ("TX0317", "the text of a f64[]", TEXT),
    printed: ("TX0317", "print of a tensor is not compiled", TEXT),
    of_a_library: ("TX0270", "np.emath.sqrt is not supported", "functions of NumPy on whole arrays"),
    by_python: ("TX0270", "np.frompyfunc is not supported", "write np.vectorize(f)"),
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_a_refusal_has_the_line_and_says_what_to_write(function: Any) -> None:
    code, said, hint = REFUSED[function]
    with pytest.raises(TxcError) as caught:
        txc.jit(function)(np.array([1.5, 2.0]))
    text = str(caught.value)
    assert caught.value.code == code and said in text and hint in text
    assert f"test_refusals.py:{function.__code__.co_firstlineno + 1}" in text


def facts(x, n):
    return (
        f"{n} {n:3d} {x.shape} {x.dtype} {len(x)}", "%d" % n, str(n), repr(x.ndim), n.bit_length(),  # noqa: UP031
        n.to_bytes(2, "little"), pow(3, n, 7), n.conjugate(), sorted([n, 2]), hash("a") == hash("a"),
        sorted([x], key=len),
    )  # fmt: skip


def test_facts_of_a_call_are_python_s() -> None:
    x = np.arange(4.0)
    expected, found = facts(x, 5), txc.jit(facts)(x, 5)
    assert found[:-1] == expected[:-1]
    assert np.array_equal(found[-1], expected[-1])


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("x.foo", "'numpy.ndarray' object has no attribute 'foo'"),
        ("x[0].foo", "'numpy.float64' object has no attribute 'foo'"),
        ("n.foo", "'int' object has no attribute 'foo'"),
        ("t.foo", "'float' object has no attribute 'foo'"),
        ("n.is_integer", "'int' object has no attribute 'is_integer'"),
    ],
)
def test_attributes_that_python_has_not_either(source: str, text: str, tmp_path: Any) -> None:
    path = tmp_path / "module.py"
    path.write_text(f"def f(x, n, t):\n    return {source}\n")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    try:
        names["f"](np.ones(2), 3, 2.5)
    except AttributeError as error:
        assert str(error) == text
    else:
        pytest.skip("this Python has it")
    with pytest.raises(AttributeError) as caught:
        txc.jit(names["f"])(np.ones(2), 3, 2.5)
    assert str(caught.value) == text


def test_others_may_ask_what_a_lazy_tensor_has() -> None:
    lazy = txc.asarray(np.ones(3))
    assert hasattr(lazy, "tolist")
    assert not hasattr(lazy, "tofile")


def by_methods(x, k):
    y = x.copy()
    y.put([0, 2], [9.0, 8.0])
    z = x.copy()
    z.partition(2)
    return (
        y, z[2], x.argpartition(1)[1], k.choose([x[:3], x[1:4]]), x.compress([True, False, True]), x.nonzero()[0],
        x.repeat(2), x.reshape(2, 2).repeat([1, 2], axis=0), x.nbytes,
    )  # fmt: skip


def test_methods_that_are_functions() -> None:
    x, k = np.array([1.5, 0.0, 2.5, -1.0]), np.array([0, 1, 0])
    for want, got in zip(by_methods(x, k), txc.jit(by_methods)(x, k), strict=True):
        np.testing.assert_array_equal(got, want, strict=isinstance(want, np.ndarray))


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("np.exp(x)", "hint: write exp: names have no module in front"),
        ("numpy.arcsinh(x)", "hint: write asinh"),
        ("x * math.pi", "hint: write pi: names have no module in front"),
        ("x.astype(np.float32)", "hint: write f32"),
        ("np.polymul(x, x)", "hint: write np.convolve(p, q)"),
        ("np.linalg.slogdet(x)", "docs/reference/ops.md"),
    ],
)
def test_names_of_tx_have_no_module(written: str, hint: str, tmp_path: Any) -> None:
    path = tmp_path / "bad.tx"
    path.write_text(f"def f(x: f64[n]) -> f64[n]:\n    return {written}\n")
    with pytest.raises(TxcError) as caught:
        parse(path.read_text(), str(path)).graph("f")
    text = str(caught.value)
    assert "[TX0536]" in text and hint in text and "did you mean" not in text and "bad.tx:2" in text


def type_errors(x, t, kind):
    if kind == 0:
        return x + "a"
    if kind == 1:
        return None * t
    if kind == 2:
        return x < None
    if kind == 3:
        return x()
    if kind == 4:
        return t()
    return [1] + "a"  # pyright: ignore[reportOperatorIssue]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (0, "add is not defined on 'numpy.ndarray' and 'str'"),
        (1, "mul is not defined on 'NoneType' and 'float'"),
        (2, "less is not defined on 'numpy.ndarray' and 'NoneType'"),
        (3, "'numpy.ndarray' object is not callable"),
        (4, "'float' object is not callable"),
        (5, 'can only concatenate list (not "str") to list'),
    ],
)
def test_type_errors_name_python_s_types(kind: int, text: str) -> None:
    x = np.ones(3)
    with pytest.raises(TypeError):
        type_errors(x, 2.5, kind)
    with pytest.raises(TypeError) as caught:
        txc.jit(lambda a, b: type_errors(a, b, kind))(x, 2.5)
    assert text in str(caught.value)


def lists_beside_arrays(x):
    return [1, 2, 3] + x, x + [1, 2, 3], [x] + x, [1] + [2, 3]  # noqa: RUF005


def test_a_list_beside_an_array_is_one() -> None:
    x = np.array([1.5, 2.5, 0.5])
    for want, got in zip(lists_beside_arrays(x), txc.jit(lists_beside_arrays)(x), strict=True):
        np.testing.assert_array_equal(got, want)


def test_functions_of_elements_that_raise() -> None:
    with pytest.raises(TxcError, match="raises an error for some numbers") as caught:
        txc.jit(lambda x: np.vectorize(math.sqrt)(x))(np.arange(3.0))
    assert "np.sqrt for math.sqrt" in str(caught.value)
