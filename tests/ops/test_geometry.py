"""Patches, inflation, rolls, traces, convolutions: the seeds' examples in every spelling, and against plain loops."""

import itertools
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.interpret.bisect import bisect

T = np.arange(12, dtype=np.float32).reshape(3, 4)
ROLLED = np.arange(1, 13).reshape(3, 4)
CUBE = np.arange(1, 13).reshape(2, 2, 3)
RNG = np.random.default_rng(5)


def spellings(method: str, x: np.ndarray) -> list[Any]:
    """The results of ``x.method`` lazily in both layouts, under jit on 1 and 4 threads, and in `.tx`."""
    dims = ", ".join("nmkl"[: x.ndim])
    module = txc.compile_source(
        f"def f(x: {'f32' if x.dtype == np.float32 else 'i64'}[{dims}]):\n    return x.{method}\n"
    )
    call = eval(f"lambda x: x.{method}")
    found = [call(txc.asarray(x, layout=layout)) for layout in ("row", "col")]
    return [np.asarray(t) for t in (*found, txc.jit(call, threads=1)(x), txc.jit(call, threads=4)(x), module.f(x))]


def test_roll_moves_to_lower_indices() -> None:
    for got in spellings("roll([1, -2])", ROLLED):
        np.testing.assert_array_equal(got, [[7, 8, 5, 6], [11, 12, 9, 10], [3, 4, 1, 2]])


@pytest.mark.parametrize("shift", [0, 1, -1, 7, -13])
def test_numpy_rolls_around_as_often_as_it_takes(shift: int) -> None:
    for x in (np.arange(5), np.arange(0), ROLLED):
        np.testing.assert_array_equal(txc.jit(lambda x: np.roll(x, shift))(x), np.roll(x, shift))


def test_numpy_rolls_along_several_axes_in_one_pass() -> None:
    for shift, axis in (
        ((1, -2), (0, 2)),
        ((1, 4, -2), (0, 1, 0)),
        ((3, -3), (1, 1)),
        (2, (0, 1)),
        ((5, 7, 1), (2, 1, 0)),
    ):
        rolled = txc.jit(lambda x, shift=shift, axis=axis: np.roll(x, shift, axis))
        np.testing.assert_array_equal(rolled(CUBE), np.roll(CUBE, shift, axis))
        assert "tx.empty" not in (text := rolled.lower(CUBE).as_text("canonical")) or text.count("tx.empty") == 1
    by = np.array([2, -1])
    for x in (CUBE, CUBE[:0], CUBE[:, :, :1]):
        got = txc.jit(lambda x, by: np.roll(x, (by[0], 1, by[1]), (0, 2, 1)))(x, by)
        np.testing.assert_array_equal(got, np.roll(x, (2, 1, -1), (0, 2, 1)))


def test_inflate() -> None:
    a = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    for got in spellings("inflate([2, 3])", a):
        np.testing.assert_array_equal(got, [[1, 0, 0, 2, 0, 0, 3], [0] * 7, [4, 0, 0, 5, 0, 0, 6]])
    np.testing.assert_array_equal(txc.jit(lambda x: x.inflate([2, 1], fill=9))(a)[1], [9, 9, 9])
    np.testing.assert_array_equal(txc.jit(lambda x: x.inflate([2, 3]).stride([2, 3]))(a), a)
    assert txc.jit(lambda x: x.inflate([2, 3]))(a[:0]).shape == (0, 7)


def test_trace() -> None:
    for got in spellings("trace(dims=[0, 1])", CUBE):
        np.testing.assert_array_equal(got, [11, 13, 15])
    for got in spellings("trace(dims=[0, 1, 2])", np.arange(1, 28).reshape(3, 3, 3)):
        np.testing.assert_array_equal(got, 42)
    for got in spellings("trace(1, 2, 0)", CUBE):
        np.testing.assert_array_equal(got, np.trace(CUBE, 1, 2, 0))


def test_patches_are_counted_in_the_order_of_the_layout() -> None:
    row, col, *others = spellings("extract_patches([2, 2])", T)
    starts = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    for got in (row, *others):
        np.testing.assert_array_equal(got, [T[i : i + 2, j : j + 2] for i, j in starts])
    starts.sort(key=lambda at: at[::-1])
    np.testing.assert_array_equal(col, np.stack([T[i : i + 2, j : j + 2] for i, j in starts], axis=-1))


def image_patches(
    x: np.ndarray, size: tuple[int, ...], stride: tuple[int, ...], inner: tuple[int, ...], inflate: tuple[int, ...],
    padding: Any, fill: float,
) -> np.ndarray:  # fmt: skip
    """Eigen's patches of ``[channels, *spatial, batch]``, by loops, from the definition of its evaluator."""
    spatial = x.shape[1:-1]
    whole = [(n - 1) * f + 1 for n, f in zip(spatial, inflate)]
    reach = [(s - 1) * i + 1 for s, i in zip(size, inner)]
    if padding == "same":
        places = [-(-w // s) for w, s in zip(whole, stride)]
        before = [max(0, ((p - 1) * s + r - w) // 2) for p, s, r, w in zip(places, stride, reach, whole)]
    else:
        pads = [(0, 0)] * len(size) if padding == "valid" else padding
        before = [p[0] for p in pads]
        places = [(w + sum(p) - r) // s + 1 for w, p, r, s in zip(whole, pads, reach, stride)]
    found = np.full((x.shape[0], *size, int(np.prod(places)), x.shape[-1]), fill, x.dtype)
    for number, at in enumerate(itertools.product(*map(range, places[::-1]))):
        for inside in itertools.product(*map(range, size)):
            p = [a * s + k * i - b for a, s, k, i, b in zip(at[::-1], stride, inside, inner, before)]
            if all(0 <= q < w and q % f == 0 for q, w, f in zip(p, whole, inflate)):
                found[(slice(None), *inside, number)] = x[(slice(None), *(q // f for q, f in zip(p, inflate)))]
    return found


IMAGES: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    ({}, ((2, 2), (1, 1), (1, 1), (1, 1), "same", 0)),
    ({"padding": "valid"}, ((2, 2), (1, 1), (1, 1), (1, 1), "valid", 0)),
    ({"row_stride": 2, "col_stride": 3, "fill": 7}, ((2, 2), (2, 3), (1, 1), (1, 1), "same", 7)),
    ({"in_row_stride": 2, "padding": "valid"}, ((2, 2), (1, 1), (2, 1), (1, 1), "valid", 0)),
    ({"row_inflate": 2, "col_inflate": 3, "padding": ((1, 0), (2, 1))},
     ((2, 2), (1, 1), (1, 1), (2, 3), ((1, 0), (2, 1)), 0)),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(IMAGES)))
def test_image_patches_in_both_layouts(number: int) -> None:
    given, expected = IMAGES[number]
    x = RNG.normal(size=(2, 3, 5, 7)).astype(np.float32)  # channels, rows, columns, batch: Eigen's column-major order
    wanted = image_patches(x, *expected)
    col = txc.asarray(x, layout="col")
    np.testing.assert_array_equal(np.asarray(col.extract_image_patches(2, 2, **given)), wanted)
    swapped = col.swap_layout().extract_image_patches(2, 2, **given)
    np.testing.assert_array_equal(np.asarray(swapped), wanted.transpose())
    jitted = txc.jit(lambda x: x.extract_image_patches(2, 2, **given))(np.ascontiguousarray(x.transpose()))
    np.testing.assert_array_equal(jitted, wanted.transpose())
    if number == 0:
        assert wanted.shape == (2, 2, 2, 3 * 5, 7)


@pytest.mark.parametrize("padding", ["same", "valid", ((0, 1), (1, 1), (2, 0))])
def test_volume_patches(padding: Any) -> None:
    x = RNG.normal(size=(2, 4, 3, 5, 2)).astype(np.float32)
    wanted = image_patches(x, (2, 1, 3), (1, 2, 1), (1, 1, 1), (1, 1, 1), padding, 0)
    got = txc.asarray(x, layout="col").extract_volume_patches(2, 1, 3, row_stride=2, padding=padding)
    np.testing.assert_array_equal(np.asarray(got), wanted)


def test_patches_are_views_and_every_level_has_them() -> None:
    x = RNG.normal(size=(2, 5, 4, 3)).astype(np.float32)
    with Trace("f") as trace:
        t = trace.array_input("x", x)
        graph = trace.finish(
            (t.extract_image_patches(2, 3, row_stride=2).sum([2, 3]), t.extract_patches([1, 2, 2, 1]) * 2)
        )
    report = bisect(graph, {"x": x})
    assert report.culprit is None, str(report)
    text = txc.jit(lambda x: x.extract_image_patches(2, 3).sum([2, 3])).lower(x).as_text("fused")
    assert text.count("kernel.generic") == 1


def convolved(x: np.ndarray, kernel: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    under = np.lib.stride_tricks.sliding_window_view(x, kernel.shape, dims)  # type: ignore[call-overload]
    return np.tensordot(under, kernel, kernel.ndim)


@pytest.mark.parametrize("dims", [(1, 2), (3,), (2, 0), (0, 1, 2, 3)])
def test_convolve(dims: tuple[int, ...]) -> None:
    x = RNG.normal(size=(3, 3, 7, 11)).astype(np.float32)
    kernel = RNG.normal(size=(2, 2, 3, 2)[: len(dims)]).astype(np.float32)
    wanted = convolved(x, kernel, dims)
    col = txc.asarray(x, layout="col").convolve(txc.asarray(kernel, layout="col"), dims)
    sizes = ", ".join("pqrs"[: len(dims)])
    module = txc.compile_source(
        f"def f(x: f32[a, b, c, d], k: f32[{sizes}]):\n    return x.convolve(k, [{', '.join(map(str, dims))}])\n"
    )
    results = [np.asarray(col), module.f(x, kernel)]
    results += [txc.jit(lambda x, k: x.convolve(k, dims), threads=n)(x, kernel) for n in (1, 4)]
    for got in results:
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)
    text = txc.jit(lambda x, k: x.convolve(k, dims)).lower(x, kernel).as_text("fused")
    assert text.count("kernel.generic") == 1  # no copy of the windows


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "i8", "u8", "?", "f2", "c8"])
def test_convolve_keeps_the_type(dtype: str) -> None:
    x = RNG.integers(0, 120, 9).astype(dtype)
    kernel = np.array([3, 1, 2]).astype(dtype)
    wanted = convolved(x, kernel, (0,))
    assert wanted.dtype == x.dtype
    results = [txc.asarray(x).convolve(txc.asarray(kernel), [0]), txc.jit(lambda x, k: x.convolve(k, [0]))(x, kernel)]
    for got in results:
        np.testing.assert_array_equal(np.asarray(got), wanted)
        assert got.dtype == x.dtype
    got = txc.jit(lambda x, k: np.convolve(x, k))(x, kernel)
    np.testing.assert_array_equal(got, np.convolve(x, kernel))
    assert got.dtype == x.dtype


def test_pad_takes_a_value() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    wanted = np.pad(x, [(1, 0), (2, 1)], constant_values=-7)
    module = txc.compile_source("def f(x: f32[n, m]):\n    return x.pad([(1, 0), (2, 1)], value=-7)\n")
    padded = [
        txc.asarray(x).pad([(1, 0), (2, 1)], value=-7),
        txc.asarray(x, layout="col").pad([(1, 0), (2, 1)], value=-7),
        txc.asarray(x).pad([(1, 0), (2, 1)], -7),
        txc.jit(lambda x: x.pad([(1, 0), (2, 1)], value=-7))(x),
        module.f(x),
    ]
    for got in padded:
        np.testing.assert_array_equal(np.asarray(got), wanted)
    with pytest.raises(txc.TxcError, match="not both"):
        txc.asarray(x).pad([(1, 0), (2, 1)], value=1, fill=2)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_numpy_convolve(mode: Any) -> None:
    a, v = RNG.normal(size=30), RNG.normal(size=4)
    f = txc.jit(lambda a, v: np.convolve(a, v, mode))
    for p, q in ((a, v), (v, a), (a[:4], v), (a, v[:3]), (v[:3], a), (a[:1], v[:1])):
        np.testing.assert_allclose(f(p, q), np.convolve(p, q, mode), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape, axis", [((2, 3), (0, -1)), ((2, 2, 2), None), (3, 1)])
def test_sliding_windows(shape: Any, axis: Any) -> None:
    x = RNG.normal(size=(5, 4, 6))
    got = txc.jit(lambda x: np.lib.stride_tricks.sliding_window_view(x, shape, axis))(x)
    np.testing.assert_array_equal(got, np.lib.stride_tricks.sliding_window_view(x, shape, axis))


ERRORS = {
    "a patch of (4, 2) does not fit f32[3, 4]": lambda x: x.extract_patches([4, 2]),
    "inflate needs a stride of at least 1 for each dim of": lambda x: x.inflate([2]),
    "extract_image_patches needs channels and row and cols": lambda x: x.extract_image_patches(2, 2),
    "'full' is no padding": lambda x: x.reshape((1, 3, 4, 1)).extract_image_patches(2, 2, padding="full"),
    "the result of inflate is read-only": lambda x: x.inflate([1, 2]).fill(0),
    "name a dim of the input for each dim of the kernel": lambda x: x.convolve(x, [0]),
    "np.convolve does not take mode='circular'": lambda x: np.convolve(x[0], x[0], "circular"),  # type: ignore[call-overload]
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors(message: str) -> None:
    with pytest.raises(txc.TxcError) as raised:
        np.asarray(ERRORS[message](txc.asarray(T)))
    assert message in str(raised.value)
