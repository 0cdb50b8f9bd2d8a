"""Whole NumPy programs under ``@txc.jit``, unmodified: their accuracy in every layout, recompilation, in-place rules.

The same source runs three times: as it is under NumPy, under NumPy in a wider type (the truth), and compiled.  The
compiled program may be off by twice what NumPy is off by, and by 4 ulp of the largest intermediate value.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

from .codegen.harness import text_at


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def layer_norm(x):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))


def pairwise(x):
    difference = x[:, None, :] - x[None, :, :]
    return np.sqrt((difference * difference).sum(axis=-1))


def heat(x, steps):
    u = x.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.1 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
    return u


def ten_steps(x):
    return heat(x, 10)


def mlp(x, w, b, v, c):
    hidden = np.maximum(x @ w + b, 0)
    return softmax(hidden @ v + c)


def black_scholes(s):
    k, t, rate, vol = 1.1, 0.5, 0.02, 0.3
    spot = np.abs(s) + 0.5
    d1 = (np.log(spot / k) + (rate + 0.5 * vol * vol) * t) / (vol * np.sqrt(t))
    d2 = d1 - vol * np.sqrt(t)
    # The normal distribution by Zelen and Severo's polynomial: only ops that NumPy has.
    results = []
    for d in (d1, d2):
        y = 1 / (1 + 0.2316419 * np.abs(d))
        poly = y * (0.319381530 + y * (-0.356563782 + y * (1.781477937 + y * (-1.821255978 + y * 1.330274429))))
        tail = 0.3989422804014327 * np.exp(-0.5 * d * d) * poly
        results.append(np.where(d < 0, tail, 1 - tail))
    return spot * results[0] - k * np.exp(-rate * t) * results[1]


ONE_ARRAY: dict[str, Any] = {f.__name__: f for f in (softmax, layer_norm, gelu, pairwise, ten_steps, black_scholes)}
COMPILED: dict[str, Any] = {name: txc.jit(f) for name, f in ONE_ARRAY.items()}
#: The largest intermediate value over inputs drawn from a standard normal distribution: a bound in units of the result.
LARGEST = {"softmax": 8.0, "layer_norm": 8.0, "gelu": 16.0, "pairwise": 64.0, "ten_steps": 8.0, "black_scholes": 8.0}


def _roomy(a: np.ndarray) -> np.ndarray:
    big = np.zeros((a.shape[0] * 2, a.shape[1] * 3), a.dtype)
    big[::2, 1::3] = a
    return big[::2, 1::3]


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "contiguous": lambda a: a,
    "strided": _roomy,
    "fortran": np.asfortranarray,
    "negative": lambda a: a[::-1, ::-1],
    "rows": lambda a: np.repeat(a, 2, axis=0)[::-2],
}
#: Layouts that no store can go through, or that compiled code gets a copy of.
READ_ONLY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
    "misaligned": lambda a: np.frombuffer(b"x" + a.tobytes(), a.dtype, offset=1).reshape(a.shape) if a.size else a,
    "swapped bytes": lambda a: a.astype(a.dtype.newbyteorder()),
}


def check(name: str, got: np.ndarray, numpy: np.ndarray, exact: np.ndarray, largest: float) -> None:
    assert got.dtype == numpy.dtype.newbyteorder("=") and got.shape == numpy.shape, f"{name}: {got.dtype} {got.shape}"
    if not got.size:
        return
    wide = exact.dtype
    own = np.abs(numpy.astype(wide) - exact).max()
    error = np.abs(got.astype(wide) - exact).max()
    allowed = 2 * own + 4 * np.spacing(np.asarray(largest, got.dtype)).astype(wide)
    assert error <= allowed, f"{name}: off by {error}, NumPy by {own}; {allowed} is allowed"


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["f32", "f64"])
@pytest.mark.parametrize("name", ONE_ARRAY)
def test_accuracy(name: str, kind: type) -> None:
    program, run = ONE_ARRAY[name], COMPILED[name]
    wide = np.longdouble if kind is np.float64 else np.float64
    rng = np.random.default_rng(1)
    for shape in [(9, 21), (0, 4), (1, 1), (1, 6), (6, 1), (17, 70)]:
        packed = rng.standard_normal(shape).astype(kind)
        for layout, make in (LAYOUTS | READ_ONLY).items():
            x = make(packed)
            before = x.copy()
            with np.errstate(all="ignore"):
                check(f"{layout} {shape}", run(x), program(x), program(x.astype(wide)), LARGEST[name])
            np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["f32", "f64"])
def test_heat_of_any_number_of_steps(kind: type) -> None:
    run = txc.jit(heat)
    wide = np.longdouble if kind is np.float64 else np.float64
    for shape in [(9, 21), (0, 4), (4, 0), (1, 1), (2, 3), (3, 3)]:
        packed = np.random.default_rng(1).standard_normal(shape).astype(kind)
        for layout, make in LAYOUTS.items():
            for steps in (0, 1, 6, -1):
                x = make(packed)
                check(f"{layout} {shape} {steps}", run(x, steps), heat(x, steps), heat(x.astype(wide), steps), 8.0)


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["f32", "f64"])
def test_mlp_of_any_layout(kind: type) -> None:
    run = txc.jit(mlp)
    wide = np.longdouble if kind is np.float64 else np.float64
    w, b, v, c = weights(kind)
    for batch in (0, 1, 9):
        packed = np.random.default_rng(batch).standard_normal((batch, 64)).astype(kind)
        for layout, make in (LAYOUTS | READ_ONLY).items():
            given = (
                make(packed),
                LAYOUTS.get(layout, np.asarray)(w),
                b,
                np.repeat(v, 2, axis=1)[:, ::2],
                np.tile(c, 2)[10:],
            )
            check(f"{layout} {batch}", run(*given), mlp(*given), mlp(*(a.astype(wide) for a in given)), 8.0)


def distances(x, y):
    difference = x[:, None, :] - y[None, :, :]
    return np.sqrt((difference**2).sum(axis=-1))


def blend(x, y):
    return softmax(x) * y + np.exp(y) / (1 + x * x)


def test_overlapping_inputs() -> None:
    run = txc.jit(blend)
    for kind, wide in ((np.float32, np.float64), (np.float64, np.longdouble)):
        x = np.random.default_rng(2).standard_normal((12, 33)).astype(kind)
        for a, b in ((x[:-1], x[1:]), (x[:, :-1], x[:, 1:]), (x, x[::-1]), (x, x)):
            check("overlapping", run(a, b), blend(a, b), blend(a.astype(wide), b.astype(wide)), 64.0)
        pairs = txc.jit(distances)
        for a, b in ((x, x[1:]), (x[::-1], x[1:]), (x, x[:0]), (x[:1], x)):
            check("rows of one array", pairs(a, b), distances(a, b), distances(a.astype(wide), b.astype(wide)), 64.0)


def integers(x, y):
    return (x * y + (x // 3) % 7) ^ (y << 2), x > y, np.where(x == y, x, -y), (x & y).sum(axis=0), x.max(axis=1)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_integers_and_booleans_are_bitwise(kind: type) -> None:
    run = txc.jit(integers)
    info = np.iinfo(kind)
    x, y = np.random.default_rng(3).integers(info.min, info.max, (2, 7, 33), dtype=kind, endpoint=True)
    for make in LAYOUTS.values():
        with np.errstate(all="ignore"):
            expected = integers(make(x), make(y))
        for got, e in zip(run(make(x), make(y)), expected, strict=True):
            assert got.dtype == e.dtype
            np.testing.assert_array_equal(got, e)


def elementwise(x, y):
    return x * y + x / y - np.sqrt(np.abs(x)), np.maximum(x, y), np.minimum(x, y * 2), x**2, np.floor(x) - np.rint(y)


def test_ieee_elementwise_is_bitwise() -> None:
    run = txc.jit(elementwise)
    for kind in (np.float32, np.float64):
        x, y = np.random.default_rng(4).standard_normal((2, 7, 33)).astype(kind)
        x[0, :4], y[0, :4] = [np.inf, np.nan, 0, -0.0], [0, 1, 0, 0.0]
        with np.errstate(all="ignore"):
            for make in LAYOUTS.values():
                for got, expected in zip(run(make(x), make(y)), elementwise(make(x), make(y)), strict=True):
                    nan = np.isnan(got) & np.isnan(expected)
                    np.testing.assert_array_equal(nan, np.isnan(expected))
                    assert got[~nan].tobytes() == expected[~nan].tobytes()


def folds(x, y):
    return x.sum(axis=0), x.sum(), x.mean(axis=1), x.prod(axis=0), x @ y, (x * x).sum(axis=1)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_zeros_of_sums_are_numpys(kind: type) -> None:
    """A sum of nothing, and one of negative zeros, is +0.0."""
    run = txc.jit(folds)
    for x in (np.zeros((0, 4)), np.zeros((4, 0)), np.full((3, 4), -0.0), np.full((3, 70), -0.0)):
        y = np.zeros((x.shape[1], 2), kind)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the mean of nothing
            expected = folds(x.astype(kind), y)
        for got, e in zip(run(x.astype(kind), y), expected, strict=True):
            np.testing.assert_array_equal(got, e)
            np.testing.assert_array_equal(np.signbit(got[~np.isnan(e)]), np.signbit(e[~np.isnan(e)]))


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_an_extreme_of_nothing_is_refused(name: str) -> None:
    run = txc.jit(lambda x: getattr(x, name)(axis=1))
    np.testing.assert_array_equal(run(np.eye(3)), getattr(np.eye(3), name)(axis=1))
    assert run(np.zeros((0, 4))).shape == (0,)
    for shape in ((4, 0), (0, 0)):
        with pytest.raises(txc.TxcError, match="it has no elements"):
            run(np.zeros(shape))


class Compilations:
    """Counts what the pipeline compiles."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        from txc.compiler import pipeline

        self.count = 0
        original = pipeline.compile_graph

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(pipeline, "compile_graph", counted)


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Compilations:
    return Compilations(monkeypatch)


def weights(kind: type) -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    return [rng.standard_normal(s).astype(kind) * 0.3 for s in ((64, 32), (32,), (32, 10), (10,))]


def test_batches_of_the_mlp_compile_once(compilations: Compilations) -> None:
    run = txc.jit(mlp)
    given = weights(np.float32)
    wide = [w.astype(np.float64) for w in given]
    x = np.empty((0, 64), np.float32)
    for batch in range(2, 65):
        x = np.random.default_rng(batch).standard_normal((batch, 64)).astype(np.float32)
        check(f"batch {batch}", run(x, *given), mlp(x, *given), mlp(x.astype(np.float64), *wide), 8.0)
    assert compilations.count == 1
    text = run.explain(x, *given)
    assert "  x: f32 array of rank 2, row-major\n  w: f32 array of rank 2, row-major\n  b: f32 array of rank 1" in text
    for guard in ("x.1 == w.0  (a contraction)", "w.1 == b.0  (broadcasting)", "0 < v.1  (maximum of at least one"):
        assert f"\n  {guard}" in text
    assert "x.0" not in text[text.index("\nguards") : text.index("\ndecisions")], "no guard on the batch"


def shifted(x, n, s):
    return np.exp(x) * s + n


def test_only_facts_recompile(compilations: Compilations) -> None:
    """Values, sizes, addresses and alignment compile nothing; dtype, rank, stride class and kinds of scalars do."""
    run = txc.jit(shifted)
    x = np.random.default_rng(6).standard_normal((8, 9))

    def compiles(*args: Any) -> int:
        before = compilations.count
        np.testing.assert_allclose(run(*args), shifted(*args), rtol=1e-5 if args[0].dtype == np.float32 else 1e-14)
        return compilations.count - before

    assert compiles(x, 2, 1.5) == 1
    same = [
        (x, 3, 1.5), (x, 2, -7.0), (x, -5, 0.0), (x, 0, 1.0), (x, 1, 1.0), (x[2:], 2, 1.5), (np.ones((100, 3)), 2, 1.5),
        (np.zeros((0, 5)), 2, 1.5), (np.zeros((1, 1)), 2, 1.5), (np.empty(8 * 9 + 1)[1:].reshape(8, 9) * 0, 2, 1.5),
    ]  # fmt: skip
    assert [compiles(*args) for args in same] == [0] * len(same)
    assert compiles(x.astype(np.float32), 2, 1.5) == 1
    assert compiles(x[0], 2, 1.5) == 1
    assert compiles(x[:, ::2], 2, 1.5) == 1
    assert [compiles(x[:, ::-1], 2, 1.5), compiles(x[::-1, ::3], 9, 1.5)] == [0, 0]
    assert compiles(x.T, 2, 1.5) == 1
    assert compiles(x, 2.0, 1.5) == 1
    assert compiles(x, 2, np.float32(1.5)) == 1


def normalise(y):
    y /= y.sum(axis=-1, keepdims=True)


def normalise_name(y):
    y = y / y.sum(axis=-1, keepdims=True)
    return y


def through_transpose(y):
    y.T[...] = np.exp(y[:5, :5] * 0.1) + y[:5, :5]


def shift_down(y):
    y[1:] = y[:-1] * 2


def shift_up(y):
    y[:-1] = y[1:] + y[:-1]


def reverse(y):
    y[...] = y[::-1]


def rows_and_sum(y):
    y[:, 1:] += y[:, :-1]
    total = y.sum()
    y[0] = total
    return total


def outer(y):
    y -= y.max(axis=0)
    y *= y[0] + 1


def two_views(y):
    a, b = y[1:4], y[:3]
    a[...] = b + 1
    b *= a


def loop(y):
    for i in range(1, y.shape[0]):
        y[i] = y[i] + 0.5 * y[i - 1]


SQUARE_ONLY = {"through_transpose"}
STORES = [
    normalise,
    normalise_name,
    through_transpose,
    shift_down,
    shift_up,
    reverse,
    rows_and_sum,
    outer,
    two_views,
    loop,
]


@pytest.mark.parametrize("program", STORES, ids=lambda f: f.__name__)
def test_in_place(program: Callable[..., Any]) -> None:
    """What NumPy leaves in the argument, and returns, is what the compiled function does, in every layout."""
    run = txc.jit(program)
    for shape in [(5, 5)] if program.__name__ in SQUARE_ONLY else [(6, 9), (40, 33)]:
        packed = np.random.default_rng(7).uniform(0.5, 2.0, shape)
        for layout, make in LAYOUTS.items():
            mine, numpys = make(packed.copy()), make(packed.copy())
            got, expected = run(mine), program(numpys)
            np.testing.assert_allclose(mine, numpys, rtol=1e-13, err_msg=f"{layout} {shape}: the argument")
            assert (got is None) == (expected is None)
            if expected is not None:
                np.testing.assert_allclose(got, expected, rtol=1e-13, err_msg=f"{layout} {shape}: the result")


def joins(x, y):
    return np.concatenate([x, y]), np.concatenate([y, x]), np.concatenate([x, x])


def test_joined_results_are_written_where_they_belong() -> None:
    x, y = np.random.default_rng(13).standard_normal((2, 3, 4))
    run = txc.jit(joins)
    for got, expected in zip(run(x, y), joins(x, y), strict=True):
        np.testing.assert_array_equal(got, expected)
    text = text_at("buffers", run, x, y)
    assert text.count("kernel.generic") == 6 and "loop.alloc" not in text


def diffuse(u, steps):
    for _ in range(steps):
        u[1:-1] += 0.25 * (u[:-2] - 2 * u[1:-1] + u[2:])


def test_steps_are_known_at_run_time(compilations: Compilations) -> None:
    run = txc.jit(diffuse)
    for steps in (5, 0, 1, 12):
        mine = np.random.default_rng(9).standard_normal((30, 4))
        numpys = mine.copy()
        run(mine, steps)
        diffuse(numpys, steps)
        np.testing.assert_allclose(mine, numpys, rtol=1e-12, atol=1e-15)
    assert compilations.count == 1


def accumulate(x, y):
    y += x
    y[1:] += x[:-1]


def test_one_array_is_both_arguments() -> None:
    mine, numpys = np.arange(60.0).reshape(10, 6), np.arange(60.0).reshape(10, 6)
    txc.jit(accumulate)(mine[:8], mine[:8])
    accumulate(numpys[:8], numpys[:8])
    np.testing.assert_array_equal(mine, numpys)


def test_written_argument_overlaps_another() -> None:
    """What is stored into one is seen in the other, as in Python."""
    run = txc.jit(accumulate)
    for i, j in ((0, 1), (1, 0), (0, 2)):
        mine, numpys = np.arange(60.0).reshape(10, 6), np.arange(60.0).reshape(10, 6)
        run(mine[i : i + 8], mine[j : j + 8])
        accumulate(numpys[i : i + 8], numpys[j : j + 8])
        np.testing.assert_array_equal(mine, numpys, err_msg=f"{i} {j}")


def eigen_softmax(x):
    beta = 0.5
    y = (x - x.max(axis=1).reshape(x.shape[0], 1)) * beta
    e = np.exp(y)
    return e / e.sum(axis=1).reshape(x.shape[0], 1)


def test_softmax_rows_are_one_parallel_loop() -> None:
    text = text_at("loops", eigen_softmax, np.ones((64, 32), np.float32))
    assert text.count("loop.parallel") == 1
    assert "tx.arena = " not in text or "tx.arena = #tx.dim<0>" in text


def test_swap_layout_and_shuffle_copy_nothing() -> None:
    """One pass that reads and writes neighbours: the transpositions are gone, and no tile of a transpose is left."""

    def there_and_back(x):
        return np.exp(txc.asarray(x).swap_layout().shuffle((2, 1, 0)))

    def plain(x):
        return np.exp(x)

    x = np.random.default_rng(11).standard_normal((3, 4, 5))
    run = txc.jit(there_and_back)
    np.testing.assert_array_equal(run(x), txc.jit(plain)(x))
    text = text_at("loops", run, x)
    assert text.count("loop.load") == text.count("loop.store") == 1 and "loop.alloc" not in text
    (read,), (written,) = (re.findall(rf"loop\.{name} .*?%\w+(\[.*\])", text) for name in ("load", "store"))
    assert read == written, "the same place in both"
    given, made = re.findall(r"buffer (f64\[.*?\](?: by \[.*?\])?)", text)
    assert given == made, "buffers that lie alike"
    assert run(x).strides == x.strides


def test_results_of_column_major_tensors_have_their_own_dims() -> None:
    def swapped(x):
        y = x.swap_layout()
        return y + 1, {"sum": y.sum(axis=0), "part": [y[1:]]}

    x = np.random.default_rng(12).standard_normal((3, 4))
    first, rest = txc.jit(swapped)(x)
    np.testing.assert_array_equal(first, x.T + 1)
    np.testing.assert_allclose(rest["sum"], x.T.sum(axis=0))
    np.testing.assert_array_equal(rest["part"][0], x.T[1:])
