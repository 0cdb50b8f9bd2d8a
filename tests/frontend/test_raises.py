"""`raise` and `assert` where compiled code decides: Python's error and message, what was stored before it and no more.

PYTEST_DONT_REWRITE: the messages are Python's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError, is_pythons

ARRAYS = [[1.0, 2, 3], [-1.0, 2, 3], [1.0, 2, -3], [-9.0, 2, 3, 4], [0.5, 0.25, 0.125]]


def asserts(x):
    assert x[0] > 0
    return x * 2


def asserts_and_gives_a_constant(x):
    assert x[0] > 0, "neg"
    return 3


def asserts_before_stores(x):
    assert x[0] > 0
    assert x[1] > 1, "second"
    x[0] = 1
    assert x[2] > 0, "third"
    x[0] = 2


def asserts_of_all(x):
    assert np.all(x > 0), "pos"
    np.sqrt(x, out=x)


def asserts_a_size(x):
    if x[0] < 0:
        assert len(x) == 3, f"size {len(x)}"
        return 1.0
    return 2.0


def asserts_in_letters_of_all_kinds(x):
    assert x[0] > 0, f"größe {len(x)}"
    return 1.0


def stores_between(x):
    x[1] = 7
    if x[0] < 0:
        raise ValueError("bad")
    x[:] = np.sqrt(abs(x))
    return x.sum()


def stores_in_the_branch(x):
    if x[0] < 0:
        x[2] = 9
        raise KeyError("k")
    else:
        y = x + 1
    x[0] = 3
    return y


def stores_through_a_view(x):
    y = x[1:]
    y[0] = 5
    if x[2] < 0:
        raise ValueError("third")
    y[1] = 6
    x.sort()
    return y


def rebinds(x):
    y = x
    if x[0] < 0:
        y[1] = 77
        raise ValueError("after a store")
    y = y * 2
    y[0] = 0
    return y


def in_a_loop(x):
    for k in range(len(x)):
        if x[k] < 0:
            raise ValueError("neg at all")
        x[k] = 10
    return x.sum()


def in_a_loop_that_never_runs(x):
    for _ in range(len(x) - len(x.ravel())):
        assert False, "never"  # noqa: B011
    return x.sum()


def in_a_loop_that_may_not_run(x):
    for _ in range(len(x) - 3):
        raise LookupError("four")
    return x.sum()


def in_nested_loops(x):
    for k in range(len(x)):
        for j in range(len(x)):
            if x[k] < 0 and x[j] > 1:
                raise ArithmeticError("nest")
            x[j] += 1
    return x


def in_a_loop_that_breaks(x):
    s = 0.0
    for k in range(len(x)):
        for j in range(k):
            if x[j] < 0:
                raise IndexError("custom")
            if x[j] > 2:
                break
            s += x[j]
        else:
            continue
        s += 100
    return s


def behind_a_loop(x):
    for v in x:
        if v < 0:
            break
    else:
        raise ValueError("none negative")
    return v


def in_a_while(x):
    k = 0
    while x[k] < 3:
        if x[k] < 0:
            raise RuntimeError("w")
        x[k] = 8
        k += 1
        if k > 2:
            break
    return k


def in_a_while_true(x):
    while True:
        x[0] -= 1
        if x[0] < -5:
            raise StopIteration("s")
        if x[0] == 0:
            return x


def in_a_while_of_many_rounds(x):
    n = 0
    while n < 100_000:
        n += 1
        if x[0] * n > 20:
            raise OverflowError("n")
    return n


def guards_a_loop_that_would_not_end(x):
    step = x[0]
    assert step > 0, "step"
    t = 0.0
    while t < 10:
        t += step
    return t


def between_returns(x):
    if x[0] > 0:
        if x[1] > 1:
            return x[1]
        raise ValueError("x1")
    raise ValueError("x0")


def in_a_chain(x):
    if x[0] > 0:
        r = 1
    elif x[0] > -5:
        r = 2
    else:
        raise ValueError("small")
    return r


def either_way(x):
    if x[0] > 0:
        raise ValueError("a")
    else:
        raise TypeError("b")


def returns_in_a_loop(x):
    s = 0.0
    for v in x:
        if v < 0:
            raise ValueError(f"v of {len(x)}")
        if v > 2:
            return s
        s += v
    return s


def checked(v):
    if v < 0:
        raise ValueError("v")
    return v


def in_a_function(x):
    y = checked(x[0])
    x[1] = y
    z = checked(x[2])
    x[1] += z
    return y + z


def in_a_function_of_a_loop(x):
    def limited(v):
        if v < 0:
            return 0.0
        assert v < 3, "big"
        return v

    s = 0.0
    for v in x:
        s += limited(v)
    return s


def in_a_function_of_a_branch(x):
    def fail():
        raise TypeError("inner")

    if x[0] < 0:
        fail()
    x[0] = 1
    return x[0]


def in_a_function_with_nonlocal(x):
    def inner():
        nonlocal t
        if x[0] < 0:
            raise ValueError("nl")
        t += 1

    t = 0
    inner()
    inner()
    x[0] = t
    return t


def in_a_comprehension(x):
    return [checked(v) for v in x]


def in_a_sum(x):
    return sum(checked(v) for v in x)


def while_a_list_grows(x):
    out = []
    for v in x:
        assert v > 0
        out.append(v * 2)
    return np.array(out)


def in_a_with(x):
    with np.errstate(all="ignore"):
        if x[0] < 0:
            raise ValueError("in with")
        x[0] = 4
    return x[0]


def in_a_short_circuit(x):
    return bool(x[0] > 0 or checked(x[0]) > 0)


def with_a_cause(x):
    if not x[0] > 0:
        raise ValueError from None
    return 1


def of_a_class(x):
    if x[0] < 0:
        raise NotImplementedError
    x += 1


def of_a_number(x):
    if x[0] < 0:
        raise ValueError(3)
    return 1


def of_a_text_with_signs(x):
    if x[0] < 0:
        raise ValueError("100% {x} %d %s")
    return 1


def of_what_a_mask_leaves(x):
    y = x[x > 0]
    if len(y) < 3:
        raise ValueError("few")
    x[0] = y[1]
    return y


def with_an_index_that_is_checked(x):
    i = int(x[0])
    if i < 0:
        raise IndexError("neg")
    x[i] = 9
    return x[i]


def asserts_numbers(x):
    assert x[0] + 1
    assert x.sum(), "sum"
    x[0] = 3
    for v in x:
        assert abs(v), "v"
    return x


def of_an_item_that_is_none(x):
    found = []
    if x[0] < 0:
        x[1] = 5
        return found[0]
    return x.sum()


def of_a_key_that_is_none(x):
    record = {"a": 1.0}
    for v in x:
        if v < 0:
            record["b"] += 1
        x[0] += record["a"]


def of_numbers_of_python(x):
    k = len(x) - 3
    if x[0] < 0:
        return 1 // k
    return 2


def of_an_unpacking(x):
    if x[0] < 0:
        a, b = x[0], x[1], x[2]  # pyright: ignore[reportAssignmentType]
        x[0] = a + b
    x[1] = 7


def in_an_iteration(x):
    pair = [1.0]
    for i in range(int(x[0])):
        x[1] += i
        x[2] = pair[1]
    return x


FUNCTIONS: list[Callable[..., Any]] = [
    asserts_numbers, of_an_item_that_is_none, of_a_key_that_is_none, of_numbers_of_python, of_an_unpacking,
    in_an_iteration,
    asserts, asserts_and_gives_a_constant, asserts_before_stores, asserts_of_all, asserts_a_size,
    asserts_in_letters_of_all_kinds, stores_between, stores_in_the_branch, stores_through_a_view, rebinds, in_a_loop,
    in_a_loop_that_never_runs, in_a_loop_that_may_not_run, in_nested_loops, in_a_loop_that_breaks, behind_a_loop,
    in_a_while, in_a_while_true, in_a_while_of_many_rounds, guards_a_loop_that_would_not_end, between_returns,
    in_a_chain, either_way, returns_in_a_loop, in_a_function, in_a_function_of_a_loop, in_a_function_of_a_branch,
    in_a_function_with_nonlocal, in_a_comprehension, in_a_sum, while_a_list_grows, in_a_with, in_a_short_circuit,
    with_a_cause, of_a_class, of_a_number, of_a_text_with_signs, of_what_a_mask_leaves, with_an_index_that_is_checked,
]  # fmt: skip


def outcome(f: Callable[..., Any], x: np.ndarray) -> tuple[Any, ...]:
    try:
        result = f(x)
    except Exception as error:
        return type(error), str(error), x.tolist()
    return repr(result), x.tolist()


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]):
    jitted = txc.jit(f, check_bounds=True)
    for values in ARRAYS:
        assert outcome(jitted, np.array(values)) == outcome(f, np.array(values)), values


def test_a_size_decides_while_compiling():
    @txc.jit
    def f(x):
        assert x.ndim == 1, "one dim"
        if len(x) > 3:
            raise ValueError(f"{len(x)} are too many")
        return x + 1

    assert f(np.zeros(3)).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"^4 are too many$"):
        f(np.zeros(4))
    with pytest.raises(AssertionError, match=r"^one dim$"):
        f(np.zeros((2, 2)))


class Mine(Exception):
    pass


def of_a_class_of_ones_own(x):
    if x[0] < 0:
        raise Mine("mine")


def of_two_arguments(x):
    if x[0] < 0:
        raise ValueError("a", "b")


def of_a_text_that_is_data(x):
    if x[0] < 0:
        raise ValueError(f"bad {x[0]}")


def in_a_branch_of_cond(x):
    def fails(x):
        raise ValueError("never")

    return txc.cond(x[0] < 0, fails, lambda x: x, x)


REFUSED = [
    (of_a_class_of_ones_own, r"an error cannot be raised here by compiled code: Mine\('mine'\) \[TX0311\]"),
    (of_two_arguments, r"an error cannot be raised here by compiled code: ValueError\('a', 'b'\) \[TX0311\]"),
    (of_a_text_that_is_data, r"the text of a f64\[\] is asked"),
    (in_a_branch_of_cond, r"a function that is a branch or the body of a loop always raises ValueError \[TX0311\]"),
]


@pytest.mark.parametrize(("f", "text"), REFUSED, ids=lambda v: getattr(v, "__name__", ""))
def test_what_compiled_code_cannot_raise_is_refused(f: Callable[..., Any], text: str):
    with pytest.raises(TxcError, match=text):
        txc.jit(f)(np.ones(3))


@pytest.mark.parametrize(
    ("text", "module", "is_ours"),
    [
        ("assert False", "compiler.frontend.made_up", True),
        ("assert False", "", False),
        ("[][0]", "compiler.frontend.state.merging.merging", True),
        ("{}['x']", "dialects.dims.dims", True),
        ("().shape", "compiler.frontend.trace.emit", True),
        ("a, b = ()[1:], c\n    c = 0", "compiler.frontend.tensor.apply", True),
        ("[][0]", "", False),
        ("[][0]", "compiler.frontend.staging.runtime", False),  # which reads items for the program
        ("raise IndexError('as Python says it')", "compiler.frontend.tensor.apply", False),
        ("getattr((), 'shape')", "compiler.frontend.tensor.apply", False),
    ],
)
def test_a_mistake_of_the_compiler_is_none_of_the_programs(text: str, module: str, is_ours: bool):
    """It is an error of ours, not what the compiled function raises."""
    scope: dict[str, Any] = {"__name__": f"txc.{module}" if module else "users"}
    exec(f"def check():\n    {text}", scope)
    with pytest.raises(Exception) as caught:
        scope["check"]()
    assert is_pythons(caught.value) is not is_ours
