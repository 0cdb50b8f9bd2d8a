"""Random tensors: known answers, moments, the same numbers for any number of threads, seeds."""

from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats

import txc
from txc.compiler.frontend.numpy.random import LINE
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.interpret.bisect import bisect
from txc.dialects.ops.structure.random import Philox

#: Counter (two words, the lower first), key, result: the test vectors that Random123 publishes for philox2x32-10.
KNOWN = [
    ((0x00000000, 0x00000000), 0x00000000, (0xFF1DAE59, 0x6CD10DF2)),
    ((0xFFFFFFFF, 0xFFFFFFFF), 0xFFFFFFFF, (0x2C3F628B, 0xAB4FD7AD)),
    ((0x243F6A88, 0x85A308D3), 0x13198A2E, (0xDD7CE038, 0xF62A4C12)),
]


def joined(words: tuple[int, int]) -> np.ndarray:
    return np.array([words[0] | words[1] << 32], np.uint64)


@pytest.mark.parametrize("counter, key, expected", KNOWN)
def test_philox_gives_the_published_answers(counter: Any, key: int, expected: Any) -> None:
    operands = [joined(counter), np.array([key], np.uint64)]
    np.testing.assert_array_equal(Philox.evaluate(operands, {})[0], joined(expected))
    np.testing.assert_array_equal(txc.jit(lambda c, k: c.philox(k))(*operands), joined(expected))


def test_fractions_are_exact_in_the_leading_bits() -> None:
    rng = np.random.default_rng(0)
    for kind, element, precision in (("u1", "f2", 8), ("u2", "f2", 11), ("u4", "f4", 24), ("u8", "f8", 53)):
        bits, last = np.dtype(kind).itemsize * 8, np.iinfo(kind).max
        x = np.concatenate([np.array([0, 1, last // 2, last], kind), rng.integers(0, last, 500, kind, endpoint=True)])
        expected = np.array([int(v) >> bits - precision for v in x], "f8") / 2.0**precision
        got = txc.jit(lambda x: x.fraction())(x)
        assert got.dtype == element
        np.testing.assert_array_equal(got, expected)


MOMENTS = {"uniform": (0.5, 1 / 12), "normal": (0.0, 1.0)}


@pytest.mark.parametrize("name", MOMENTS)
@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_moments(name: str, kind: str) -> None:
    x = np.zeros((500, 400), kind)
    drawn = np.asarray(txc.asarray(x).random(name, seed=11)).astype(np.float64)
    mean, variance = MOMENTS[name]
    assert abs(drawn.mean() - mean) < 4 * np.sqrt(variance / x.size)
    assert abs(drawn.var() - variance) < 0.01 * variance
    assert abs(np.corrcoef(drawn[:-1].ravel(), drawn[1:].ravel())[0, 1]) < 0.01
    assert abs(np.corrcoef(drawn[:, :-1].ravel(), drawn[:, 1:].ravel())[0, 1]) < 0.01
    if name == "uniform":
        assert drawn.min() >= 0 and drawn.max() < 1
    else:
        assert abs((drawn**4).mean() - 3) < 0.1 and np.abs(drawn).max() < 7


@pytest.fixture(scope="module")
def million() -> dict[tuple[str, str], np.ndarray]:
    """A million numbers of each distribution and float, as f64."""
    return {
        (name, kind): np.asarray(txc.asarray(np.zeros(10**6, kind)).random(name, seed=29)).astype("f8")
        for name in MOMENTS
        for kind in ("f4", "f8")
    }


@pytest.mark.parametrize("name", MOMENTS)
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_distributions(million: Any, name: str, kind: str) -> None:
    drawn = million[name, kind]
    assert scipy.stats.kstest(drawn, "uniform" if name == "uniform" else "norm").pvalue > 0.001
    if name == "uniform":
        return
    for bound in (2.0, 3.0, 4.0, 4.5):
        expected = drawn.size * scipy.special.ndtr(-bound)
        for beyond in ((drawn > bound).sum(), (drawn < -bound).sum()):
            assert abs(beyond - expected) < 5 * np.sqrt(expected), bound
    assert 4.4 < drawn.max() < 6.2 and -6.2 < drawn.min() < -4.4
    for order, moment in {3: 0, 5: 0, 6: 15}.items():
        spread = np.sqrt(scipy.special.factorial2(2 * order - 1) / drawn.size)
        assert abs((drawn**order).mean() - moment) < 5 * spread


@pytest.mark.parametrize("name", MOMENTS)
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_numbers_of_one_draw_are_independent(million: Any, name: str, kind: str) -> None:
    """Neighbours, elements that share a draw, and those a line further; also what is large or small together."""
    drawn, line = million[name, kind], LINE // (8 * np.dtype(kind).itemsize)
    pairs = drawn[: drawn.size // (2 * line) * (2 * line)].reshape(-1, 2, line)
    together = {"pair": (pairs[:, 0].ravel(), pairs[:, 1].ravel())}
    together |= {f"lag {lag}": (drawn[:-lag], drawn[lag:]) for lag in (1, 2, line, 2 * line)}
    for what, (a, b) in together.items():
        for seen in (np.positive, np.abs, np.square, lambda x: x > 0.5):
            assert abs(np.corrcoef(seen(a), seen(b))[0, 1]) < 5 / np.sqrt(a.size), what
    a, b = (np.argsort(np.argsort(half)) * 16 // half.size for half in together["pair"])
    counts = np.bincount(a * 16 + b, minlength=256)
    assert scipy.stats.chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("kind", ["u1", "f2", "f4", "f8"])
def test_a_number_depends_on_its_place_alone(kind: str) -> None:
    names = ["uniform"] if kind == "u1" else [*MOMENTS]
    draw = txc.jit(lambda x: tuple(x.random(name, seed=5) for name in names))
    long = draw(np.zeros(1000, kind))
    for shape in ((0,), (1,), (31,), (700,), (100, 10), (7, 11)):
        for drawn, expected in zip(draw(np.zeros(shape, kind)), long, strict=True):
            np.testing.assert_array_equal(drawn.ravel(), expected[: drawn.size])


def test_integers_have_all_bits() -> None:
    for kind in (np.uint8, np.int16, np.int32, np.uint64, np.bool_):
        drawn = np.asarray(txc.asarray(np.zeros(4000, kind)).random(seed=2))
        assert drawn.dtype == kind
        bits = np.unpackbits(drawn.view(np.uint8)).reshape(4000, -1)[:, -8:] if kind != np.bool_ else drawn
        assert abs(bits.mean() - 0.5) < 0.05


def test_threads_layouts_and_levels_agree() -> None:
    x = np.zeros((300, 257), np.float32)

    def f(x: Any, seed: Any) -> Any:
        return x.random(seed=seed), x.random("normal", seed=seed)

    expected = txc.jit(f, threads=1)(x, 5)
    for threads in (2, 7):
        for got, wanted in zip(txc.jit(f, threads=threads)(x, 5), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)
    # Elements are counted as they lie in memory.
    col = np.asarray(txc.asarray(x.T, layout="col").random(seed=5))
    np.testing.assert_array_equal(col, expected[0].T)
    with Trace("f") as trace:
        t = trace.array_input("x", x[:9, :21])
        graph = trace.finish((t.random(seed=1), t.random("normal", seed=1), t.astype("f64").random("normal", seed=1)))
    report = bisect(graph, {"x": np.ascontiguousarray(x[:9, :21])})
    assert report.culprit is None, str(report)


def test_seeds() -> None:
    x = txc.asarray(np.zeros(100, np.float32))
    same = [np.asarray(x.random(seed=7)) for _ in range(2)]
    np.testing.assert_array_equal(same[0], same[1])
    others = [np.asarray(x.random(seed=s)) for s in (8, 7 + (1 << 40), -1)]
    assert all((o != same[0]).mean() > 0.9 for o in others)
    assert (np.asarray(x.random()) != np.asarray(x.random())).any()  # each its own
    pair = txc.jit(lambda x: (x.random(), x.random()))(np.zeros(100, np.float32))
    assert (pair[0] != pair[1]).any()


def test_the_seed_may_be_an_argument_and_the_size_too() -> None:
    f = txc.jit(lambda n, seed: txc.random.uniform((n, 3), -1.0, 2.0, seed=seed))
    a, b, again = f(50, 1), f(50, 2), f(50, 1)
    assert a.shape == (50, 3) and a.dtype == np.float32 and a.min() >= -1 and a.max() < 2
    np.testing.assert_array_equal(a, again)
    assert (a != b).any()
    normal = txc.jit(lambda n: txc.random.normal((n,), 10.0, 0.5, dtype="f64"))(20_000)
    assert normal.dtype == np.float64 and abs(normal.mean() - 10) < 0.02 and abs(normal.std() - 0.5) < 0.02


def test_filling_adding_and_generating() -> None:
    t = txc.asarray(np.ones((2, 3), np.float32))
    noisy = np.asarray(t + t.random(seed=3))
    assert ((noisy >= 1) & (noisy < 2)).all()
    filled = txc.asarray(np.zeros((2, 3), np.float32)).set_random("normal", seed=4)
    np.testing.assert_array_equal(np.asarray(filled), np.asarray(t.random("normal", seed=4)))
    np.testing.assert_array_equal(np.asarray(t.random(lambda n: n * 0.5)), [[0, 0.5, 1], [1.5, 2, 2.5]])
    module = txc.compile_source("def f(x: f32[n]) -> f32[n]:\n    return x + x.random('uniform', 3)\n")
    np.testing.assert_array_equal(
        module.f(np.zeros(4, np.float32)), np.asarray(txc.asarray(np.zeros(4, np.float32)).random(seed=3))
    )


def test_errors() -> None:
    x = txc.asarray(np.zeros(3, np.float32))
    for message, call in {
        "'gamma' is no generator": lambda: x.random("gamma"),
        "normal numbers are floats, not i64": lambda: txc.asarray(np.arange(3)).random("normal"),
        "a seed is one integer, not f32[3]": lambda: x.random(seed=x),
    }.items():
        with pytest.raises(txc.TxcError) as raised:
            call()
        assert message in str(raised.value)
