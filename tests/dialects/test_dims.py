"""Dims: normal forms, division, simplification and text, checked against Python's own integers."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from txc.dialects.dims.analysis import (
    bounds_over,
    constant_bound,
    divisors,
    expand_mods,
    linear_in,
    period,
    simplify,
)
from txc.dialects.dims.dims import Dim, Sym, dim, iterator, maximum, minimum, parse_dim, sym

NAMES = ("n", "m", "x.0", "$s")


@st.composite
def expressions(draw, depth: int = 3) -> Dim:
    if depth == 0:
        return draw(st.one_of(st.integers(-6, 6).map(dim), st.sampled_from(NAMES).map(sym)))
    a, b = draw(expressions(depth=depth - 1)), draw(expressions(depth=depth - 1))
    match draw(st.sampled_from("+-*/%^<>")):
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a // draw(st.integers(1, 7))
        case "%":
            return a % draw(st.integers(1, 7))
        case "^":
            return a ^ draw(st.integers(0, 7))
        case "<":
            return minimum(a, b)
        case _:
            return maximum(a, b)


ENVIRONMENTS = st.fixed_dictionaries(
    {
        Sym("n"): st.integers(0, 9),
        Sym("m"): st.integers(0, 9),
        Sym("x.0"): st.integers(0, 9),
        Sym("$s"): st.integers(-9, 9),
    }
)


@given(expressions())
def test_text_reads_back_as_the_same_object(e: Dim):
    assert parse_dim(str(e)) is e
    assert pickle.loads(pickle.dumps(e)) is e


def test_what_a_remainder_leaves_is_divided_again():
    n, m = sym("n"), sym("m")
    assert (2 * n + 1) % 2 is dim(1)
    assert (4 * n + 7) % 4 is dim(3)
    assert (6 * n + 4 + 2 * m) % 6 is (2 * m + 4) % 6


@given(expressions(), expressions(), ENVIRONMENTS)
def test_arithmetic_is_that_of_integers(a: Dim, b: Dim, env):
    x, y = a.evaluate(env), b.evaluate(env)
    assert (a + b).evaluate(env) == x + y
    assert (a - b).evaluate(env) == x - y
    assert (a * b).evaluate(env) == x * y
    assert minimum(a, b).evaluate(env) == min(x, y)
    assert maximum(a, b).evaluate(env) == max(x, y)
    if y:
        assert (a // b).evaluate(env) == x // y
        assert (a % b).evaluate(env) == x % y


@given(expressions(), ENVIRONMENTS)
def test_nonneg_is_never_wrong(e: Dim, env):
    if e.nonneg:
        assert e.evaluate(env) >= 0


@given(expressions(), ENVIRONMENTS)
def test_simplify_and_expand_mods_keep_the_value(e: Dim, env):
    bounds = {Sym("n"): sym("m"), Sym("x.0"): dim(5)}
    env = {**env, Sym("x.0"): env[Sym("x.0")] % 5}
    if env[Sym("m")] == 0:
        return
    env[Sym("n")] %= env[Sym("m")]
    assert simplify(e, bounds).evaluate(env) == e.evaluate(env)
    assert expand_mods(e).evaluate(env) == e.evaluate(env)


@given(expressions(), ENVIRONMENTS)
def test_linear_in_splits_without_loss(e: Dim, env):
    split = linear_in(e, [Sym("n"), Sym("m")])
    if split is not None:
        coefficients, rest = split
        total = rest.evaluate(env) + sum(c.evaluate(env) * env[s] for s, c in coefficients.items())
        assert total == e.evaluate(env)
        assert not rest.symbols() & {Sym("n"), Sym("m")}


@given(expressions(), ENVIRONMENTS)
def test_constant_bound_is_never_exceeded(e: Dim, env):
    for bounded in (e, minimum(e, 3), minimum(minimum(e, 7), sym("n"))):
        bound = constant_bound(bounded)
        if bound is not None:
            assert bounded.evaluate(env) <= bound
    assert constant_bound(minimum(sym("n"), 3)) == 3
    assert constant_bound(sym("n")) is None and constant_bound(2 * minimum(sym("n"), 3)) is None


@given(expressions(), ENVIRONMENTS)
def test_bounds_over_a_range_hold_for_all_of_it(e: Dim, env):
    for first, last in ((dim(0), sym("m")), (sym("m"), 2 * sym("m") + 3)):
        bounds = bounds_over(e, Sym("n"), first, last)
        if bounds is None:
            continue
        low, high = (b.evaluate(env) for b in bounds)
        for n in range(first.evaluate(env), last.evaluate(env) + 1):
            assert low <= e.evaluate({**env, Sym("n"): n}) <= high


def test_bounds_of_what_temporaries_in_loops_are_made_of():
    n, i = sym("n"), sym("i")
    assert bounds_over(i // 1024 + 1, Sym("i"), dim(0), n - 1) == (dim(1), (n - 1) // 1024 + 1)
    assert bounds_over(n - i // 2, Sym("i"), dim(0), n) == (n - n // 2, n)
    assert bounds_over(i * i, Sym("i"), dim(0), n) == (dim(0), n * n)
    assert bounds_over(n // i, Sym("i"), dim(1), n) == (n // maximum(1, n), n)
    assert bounds_over(n // i, Sym("i"), dim(0), n) is None
    assert bounds_over((i - n) * i, Sym("i"), dim(0), n) is not None
    k = sym("$k")  # may be negative
    assert bounds_over(maximum(0, i - k), Sym("i"), dim(0), n) == (maximum(0, -k), maximum(0, n - k))
    most = n // 2 * maximum(k, -k)
    assert bounds_over(i // 2 * k, Sym("i"), dim(0), n) == (-most, most)


def test_a_part_up_to_a_bound_and_the_rest_are_the_whole():
    n, k = sym("n"), sym("$k")
    assert minimum(3, n) + maximum(0, n - 3) is n and minimum(n, k) + maximum(0, n - k) + 1 is n + 1
    assert minimum(3, n) + maximum(0, n - 2) is not n and 2 * minimum(3, n) + maximum(0, n - 3) is not n
    assert maximum(1, maximum(1, n)) is maximum(1, n) and minimum(minimum(n, 2), 2) is minimum(2, n)


def test_equal_polynomials_are_one_object():
    n, m = sym("n"), sym("m")
    assert n * m - m is m * (n - 1)
    assert (n * 6 + 3) // 3 is 2 * n + 1
    assert (n * m + 1) % m is dim(1) % m


def test_a_reshape_of_contiguous_memory_collapses():
    n, m = sym("n"), sym("m")
    i, j = iterator(0), iterator(1)
    bounds = {Sym("d0"): n, Sym("d1"): m}
    assert simplify((i * m + j) // m, bounds) is i
    assert simplify((i * m + j) % m, bounds) is j
    eight = {lane: dim(8) for lane in j.symbols()}
    assert simplify((i * 32 + j + 24) % 16, eight) is j + 8 and simplify((i * 32 + j + 24) // 16, eight) is i * 2 + 1
    term = {Sym("d0"): n, Sym("d1"): minimum(m, sym("start") + 64)}
    assert simplify((i * m + j) // m, term) is i and simplify((i * 64 + j) // 64, term) is not i
    k = iterator(0)
    assert expand_mods((k // (m - 2)) * (m - 2) + k % (m - 2)) is k


def test_quotients_of_quotients():
    m, k = sym("m"), iterator(0)
    few = {Sym("d0"): m * 3}
    assert simplify((k // m) // 3, few) is dim(0) and simplify((k // m) % 3, few) is k // m
    assert simplify((k // m) % 2, few) is (k // m) % 2
    assert list(divisors((k // m) // 3 + k % 5, Sym("d0"))) == [m * 3, m, dim(5)]


@pytest.mark.parametrize("text", ["n +", "n ** 2", "foo(n)", "", "1.5"])
def test_other_text_is_refused(text: str):
    with pytest.raises(ValueError, match="not an integer expression"):
        parse_dim(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8*(i % 16) // 64", "(i % 16) // 8"),
        ("(8*i) % 64", "8*(i % 8)"),
        ("(i % 8) // 8", "0"),
        ("(i % 8) % 16", "i % 8"),
        ("(i % 8) ^ 0", "i % 8"),
        ("5 ^ 3", "6"),
    ],
)
def test_remainders_and_common_factors(text: str, expected: str):
    assert parse_dim(text) is parse_dim(expected)


def test_divisions_by_powers_of_two_are_one():
    n = sym("n")
    assert n // 16 // 2 is n // 32 and (n + 3) // 4 // 5 is not (n + 3) // 20
    for value in range(-70, 70):
        assert value // 4 // 8 == (sym("$n") // 4 // 8).evaluate({Sym("$n"): value})


@pytest.mark.parametrize(
    ("text", "steps"),
    [("i", 1), ("3*i + m", 1), ("i // 16", 16), ("(i // 16) % 2", 32), ("16*(i // 32) + i % 16", 32),
     ("i % 4 + i % 6", 12), ("(m*j + i) // 8", 8), ("j % 8", 1)],
)  # fmt: skip
def test_periods(text: str, steps: int):
    expr, symbol = parse_dim(text), Sym("i")
    assert period(expr, symbol) == steps
    found = [expr.evaluate({Sym("j"): 5, Sym("m"): 24, symbol: n}) for n in range(100)]
    assert len({found[n + steps] - found[n] for n in range(100 - steps)}) == 1


def test_no_period_is_known_of_a_division_by_a_symbol():
    assert period(sym("i") // sym("m"), Sym("i")) == 1
