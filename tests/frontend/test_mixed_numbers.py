"""Numbers of which compiled code decides the type: what is computed with them, and what they are, as Python has it."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.staging.annotations import declared_graph

from .programs.interpreted import interpreted

KINDS = [
    "True", "3", "2.5", "(1+2j)", "x[1]", "f[1]", "d[1]", "b[1]", "m[1]", "c[1]", "n", "len(d)", "t", "(2**60 + 1)",
]  # fmt: skip
STATEMENTS = {
    "if": ["s = {a}", "if d[0] > z:", "    s = {b}"],
    "if else": ["if d[0] > z:", "    s = {b}", "else:", "    s = {a}"],
    "expression": ["s = {b} if d[0] > z else {a}"],
    "read in a loop": [
        "s, q = {a}, 0.0",
        "for i in range(len(d)):",
        "    q += float(abs(s * 1))",
        "    s = {b}",
        "z = q",
    ],
    "last of a loop": ["s = {a}", "for i in range(len(d)):", "    s = {b}"],
    "branch in a loop": ["s = {a}", "for i in range(len(d)):", "    if d[i] > z:", "        s = {b}"],
    "while": ["s, i = {a}, 0", "while i < len(d):", "    if d[i] > z:", "        s = {b}", "    i += 1"],
    "loop left": ["s = {a}", "for v in d:", "    if v > z:", "        s = {b}", "        break"],
}
HEAD = "import numpy as np\ndef f(d, x, f, b, m, c, n, t, z):\n"
RESULT = "return s, isinstance(s, float), isinstance(s, int), f * s, s - 1, [s, (s, 1)], z"


def arguments(z: float) -> dict[str, Any]:
    return {
        "d": np.array([1.0, 0.5, 0.25]), "x": np.array([5, 7]), "f": np.array([0.5, 1.5], "f4"),
        "b": np.array([2, 3], "i1"), "m": np.array([False, True]), "c": np.array([1, 1.5 + 0.5j], "c8"),
        "n": 4, "t": 0.75, "z": z,
    }  # fmt: skip


def program(name: str, lines: list[str]) -> Callable[..., Any]:
    text = HEAD + "".join(f"    {line}\n" for line in [*lines, RESULT])
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    made: dict[str, Any] = {}
    exec(compile(text, name, "exec"), made)
    return made["f"]


def told(value: Any) -> Any:
    """A value with all its types."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(told, value))
    return (value.dtype, value.tolist()) if isinstance(value, np.ndarray) else (type(value), repr(value))


def check(f: Callable[..., Any], *given: tuple[Any, ...]) -> None:
    jitted = txc.jit(f)
    for arrays in given:
        assert told(jitted(*arrays)) == told(f(*arrays)), arrays


@pytest.mark.parametrize("step", range(1, len(KINDS)))
@pytest.mark.parametrize("statements", STATEMENTS)
def test_types_meet(statements: str, step: int):
    """Each type with each other, by the interpreter of graphs; a third of the pairs for each kind of statement."""
    for k, a in enumerate(KINDS):
        if (k + step + len(statements)) % 3:
            continue
        b = KINDS[(k + step) % len(KINDS)]
        name = f"<{statements}, {a}, {b}>"
        f = program(name, [line.format(a=a, b=b) for line in STATEMENTS[statements]])
        jitted = txc.jit(f)
        for z in (-1.0, 0.6, 9.0):
            with interpreted():
                assert told(jitted(**arguments(z))) == told(f(**arguments(z))), (name, z)


X = np.array([1.0, -2.0, 3.0])
CALLS = [(X,), (X[::-1].copy(),), (-abs(X),), (np.array([4.0, 2, 9]),), (X.astype("f4"),), (X.astype(int),)]


def largest(x):
    best = 0.0
    for i in range(len(x)):
        if x[i] > best:
            best = x[i]
    return best


def total_of_some(x):
    total = 0
    for v in x:
        if v > 0:
            total += v
    return total, sum(v for v in x if v > 0), sum(v > 0 for v in x)


def uses(x):
    s = 0
    for v in x:
        if v > 0:
            s = v
    return (
        x[int(s) % 3], np.sqrt(s), abs(s), -s, s**2, min(s, 1), max(1.5, s), s > 0, s == 0, [s, 1.0], np.array([s, 2]),
        {"a": s}, np.maximum(s, x), np.full(3, s), x[: int(s)], np.float32(s), s if s else 5, s and 7, not s,
        np.where(x > 0, s, x), bool(s), complex(s), divmod(3.0, s + 1),
    )  # fmt: skip


def stored(x):
    s = 0.5 if x[0] > 3 else 2
    y = np.zeros(3)
    y[0] = s
    y[1] += s
    y = y + s
    if s > 1:
        y = y * 2
    while s < 10:
        s = s + 1
    return y, s


def settles(x):
    a, n = 1.0, 0
    while a > 0.1 and n < 10:
        b = a * 0.5
        a = np.abs(b - x[0] / 4)
        n += 1
    return a, n, b  # pyright: ignore[reportPossiblyUnboundVariable]


def in_a_dict(x):
    d = {"a": 0, "b": True}
    for v in x:
        d["a"] += v
        d["b"] = d["b"] and v > 0
    return d


def bisected(x):
    low, high = 0, 1
    for v in x:
        middle = (low + high) / 2
        if middle * middle > v:
            high = middle
        else:
            low = middle
    return low, high


def in_nests(x):
    t = 0
    for i in range(len(x)):
        for j in range(3):
            t += x[i] * j
        t /= 2
    return t


def int_or_float(x):
    k = 0
    for v in x:
        k = k + 1 if v > 0 else 0.5
    return k


def counts(x):
    c = 0
    for v in x:
        c += v > 0
    return c, c / len(x)


def of_three_types(x):
    if x[0] > 3:
        s = 1
    elif x[0] > 0:
        s = 2.5
    else:
        s = x[0]
    return s, s + 1, x * s


def none_or_numbers(x):
    s = None
    if x[0] > 3:
        s = 1
    elif x[0] > 0:
        s = 2.5
    return s, 0 if s is None else s + 1


@pytest.mark.parametrize(
    "f",
    [largest, total_of_some, uses, stored, settles, in_a_dict, bisected, in_nests, int_or_float, counts, of_three_types,
     none_or_numbers],
)  # fmt: skip
def test_programs_of_users(f: Callable[..., Any]):
    check(f, *((x * 1,) for (x,) in CALLS if f is not uses or x.dtype.kind == "f"))


def reset(x):
    s = x[0]
    for _ in range(len(x)):
        s = 0.5
    return s


def reset_by_argument(x, c):
    s = x[0]
    for _ in range(len(x)):
        s = c
    return isinstance(s, float), s


def test_a_loop_does_not_round_what_it_sets_to_the_type_from_before():
    for dtype in ("i8", "f4", "f8", "c16", "i1", "?"):
        check(reset, (X.astype(dtype),))
        check(reset_by_argument, (X.astype(dtype), 0.5), (X.astype(dtype), 0.25))


def test_ints_beyond_what_a_float_holds():
    def f(x, n):
        s = 0.5
        if x[0] > 0:
            s = n
        return s

    def computed(x, n):
        k = int(x[1]) * n
        return k if x[0] > 0 else 0.5

    check(f, (X, 2**60 + 1), (-X, 2**60 + 1), (X, 3))
    check(computed, (np.array([1.0, 3.0]), 5), (np.array([-1.0, 3.0]), 5))
    with pytest.raises(OverflowError):
        txc.jit(computed)(np.array([1.0, 3.0]), 2**60 + 1)


@pytest.mark.parametrize(
    ("f", "branches"), [(largest, 1), (lambda x: x * (1 if x[0] > 0 else 0.5), 0), (lambda x: max(x[0], 0.5) + x, 0)]
)
def test_types_that_come_to_the_same_need_no_branches(f: Callable[..., Any], branches: int):
    graph = str(txc.jit(f).graph(X))
    assert graph.count(" = if ") == branches, graph


def test_types_that_come_to_different_things_do():
    """Of ints the product is one of ints."""
    graph = str(txc.jit(lambda x: x * (1 if x[0] > 0 else 0.5)).graph(X.astype(int)))
    assert graph.count("= if ") == 1, graph


def test_what_numpy_refuses_of_one_type_is_refused_where_it_is_of_that():
    @txc.jit
    def f(x):
        s = x.sum() if x[0] > 0 else 0.5
        x += s
        return x

    assert f(np.arange(1, 4)).tolist() == [7, 8, 9]
    x = np.arange(3)
    with pytest.raises(TypeError, match="cannot store f64 in place into i64"):
        f(x)
    assert x.tolist() == [0, 1, 2]


def test_what_is_done_with_one_type_alone_is_an_error_of_the_other():
    def f(x):
        s = 1 if x[0] > 0 else 0.5
        return [1, 2, 3][s]  # pyright: ignore[reportCallIssue, reportArgumentType]

    compiled = txc.jit(f)
    assert compiled(X) == f(X)
    for g in (f, compiled):
        with pytest.raises(TypeError, match="list indices must be integers or slices, not float"):
            g(-X)


def test_constants_are_distinguished_as_python_does():
    def f(x):
        s = 0.0 if x[0] > 0 else -0.0
        t = 1 if x[0] > 0 else True
        return s, t, 1 / np.float64(s) if s == 0 else s, t + t

    with np.errstate(divide="ignore"):
        check(f, (X,), (-X,))


def test_every_pair_is_met():
    """The thirds of `test_types_meet` are all pairs, together."""
    met = {
        (k, (k + step) % len(KINDS))
        for length, step, k in itertools.product({len(s) for s in STATEMENTS}, range(1, len(KINDS)), range(len(KINDS)))
        if not (k + step + length) % 3
    }
    assert len(met) == len(KINDS) * (len(KINDS) - 1)


def items_of_ranges(x):
    k, out = 7, []
    for i in range(int(x[0])):
        k = i
        out.append(i)
        if x[1] > 2:
            break
    n = 2 if x[1] > 1 else np.int64(3)
    return k, isinstance(k, int), out, [j for j in range(n)], sum(range(n))


def test_items_of_ranges_are_ints():
    """Whatever their bounds are: numbers of the data, and of one type or another."""
    check(items_of_ranges, *((np.array(x),) for x in ([3.0, 1.0], [0.0, 3.0], [4.0, 5.0])))


def test_the_dtype_of_the_value_is_the_smallest():
    """A literal that f32 holds needs no f64, in nests of loops either."""

    def largest_of_rows(x):
        best = 0.0
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                if x[i, j] > best:
                    best = x[i, j]
        return best

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    check(largest_of_rows, (x,), (-x,))
    assert "constant {value=0.0, dtype=f32}" in str(txc.jit(largest_of_rows).graph(x))


def test_declared_functions_give_numbers_of_one_dtype():
    """As NumPy promotes the types that there may be; one of several other values has no C type."""

    def rounded(x):
        return 0.1 if x[0] > 0 else x[0]

    def none_or_a_number(x):
        return None if x[0] > 0 else 1.5

    for signature, element in (("x: f32[n]", "f32"), ("x: f64[n]", "f64")):
        assert [str(v.type.dtype) for v in declared_graph(largest, signature).outputs] == [element]
    with pytest.raises(TxcError, match=r"'?the (result|value)'? is a number of one type or another"):
        declared_graph(rounded, "x: f32[n]")
    with pytest.raises(TxcError, match=r"is None in one branch of an if and 1\.5 in the other"):
        declared_graph(none_or_a_number, "x: f32[n]")


def told_of_its_type(x, t):
    s = 2
    for v in x:
        if v > 2:
            s = v
    return (
        0 < s < 3, 0 < x[0] < 3, -1 < t < 1 < 2, s.__class__ is int, x.__class__ is np.ndarray, t.__class__ is float,
        getattr(s, "ndim", 7), getattr(t, "ndim", 7), getattr(x[0], "ndim", 7), getattr(x, "ndim", 7),
        hasattr(s, "shape"), getattr(len(x), "shape", 5), max(s, t, 1), min(t, s), s.real,
    )  # fmt: skip


def test_chained_comparisons_classes_and_attributes():
    check(told_of_its_type, *((x * 1, 0.5) for (x,) in CALLS))

    def of_a_float(t):
        return t.ndim

    for f in (of_a_float, txc.jit(of_a_float)):
        with pytest.raises(AttributeError, match="'float' object has no attribute 'ndim'"):
            f(0.5)


def test_no_dtype_is_smaller_than_what_it_held_before():
    """t is a float of the call, which f64 holds as it held the literals; f32, which comes last, does not."""

    def f(x, t):
        s = 0.5 if x[0] > 0 else 1
        s = s if x[1] > 0 else t
        s = s if x[2] > 0 else x[0]
        return s, x * s

    def in_a_loop(x, t):
        s = 1
        for i in range(len(x)):
            if x[i] > 0:
                s = t
            else:
                s = x[i]
        return s

    for signs in itertools.product((1, -1), repeat=3):
        check(f, (np.array(signs, np.float32), 0.1))
        check(in_a_loop, (np.array(signs, np.float32), 0.1))


@pytest.mark.parametrize("text", (lambda s: f"{s}", lambda s: "%s" % s, lambda s: f"{(s, 1)}", lambda s: f"{s:.2f}"))  # noqa: UP031
def test_the_text_of_one_type_or_another_is_asked_outside(text: Any):
    """No type that the program gives it makes its value known."""

    @txc.jit
    def f(x):
        s = 1
        if x[0] > 2:
            s = 2.5
        return text(s)

    with pytest.raises(TxcError, match="the text of 's' is asked, a number whose value is known only") as caught:
        f(np.array([3.0]))
    assert caught.value.code == "TX0317" and "hint: return the value, and format" in str(caught.value)


def filled(x):
    """A list of NumPy's scalars and Python's numbers, both of which occur."""
    out = []
    for v in x:
        out.append(max(v, 1.5))
    return np.array(out), np.array([v if v > 2 else 0 for v in x]), np.array([v if v > 2 else 0.5 for v in x])


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "f4", "f8"])
def test_an_array_of_both_has_the_dtype_that_numpy_gives(dtype):
    x = np.arange(5, dtype=dtype)
    for want, got in zip(filled(x), txc.jit(filled)(x), strict=True):
        np.testing.assert_array_equal(got, want, strict=True)
