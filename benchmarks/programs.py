"""The programs that are measured, as plain NumPy: txc gets them unmodified, JAX the same code over ``jax.numpy``.

Where a peer has no word for something, its own form stands in its module of `peers`, under the same name.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import erf


def copy(x):
    return x.copy()


def add(a, b):
    return a + b


def sum_and_difference(a, b):
    return a + b, a - b


def add_three(a, b, c):
    return a + b + c


def chain(a, b):
    """Ten elementwise operations."""
    return np.sqrt(np.abs(((a * b + 1.5) * a - b) * 0.5 + a)) / (b + 2.0)


def tensure_mutation(a, b):
    """The Tensure document's chain, each operation into a new array; txc runs it as the document's mutations."""
    return np.abs(np.power(a / b - b, np.asarray(2, a.dtype)) * a)


def exp_chain(x):
    """Three exponentials and what is between them."""
    return np.exp(-np.exp(-np.exp(-x)))


def gelu(x):
    """The tanh form."""
    return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def black_scholes(s, k, t):
    """European calls, the normal distribution by erf."""
    r, v = 0.02, 0.3
    d1 = (np.log(s / k) + (r + 0.5 * v * v) * t) / (v * np.sqrt(t))
    d2 = d1 - v * np.sqrt(t)
    n1 = 0.5 * (1.0 + erf(d1 * 0.7071067811865476))
    n2 = 0.5 * (1.0 + erf(d2 * 0.7071067811865476))
    return s * n1 - k * np.exp(-r * t) * n2


def to_double(x):
    return x.astype(np.float64)


def to_single(x):
    return x.astype(np.float32)


def broadcast_add(x, row, column):
    return x + row + column


def broadcast_exp(x, row):
    """An exponential of a row, for all rows."""
    return x * np.exp(row)


def transposed_add(x, y):
    return x.T + y.T


def total(x):
    return np.sum(x)


def row_sum(x):
    return np.sum(x, axis=1)


def column_sum(x):
    return np.sum(x, axis=0)


def row_argmax(x):
    return np.argmax(x, axis=1)


def column_argmax(x):
    return np.argmax(x, axis=0)


def mean_and_variance(x):
    mean = np.mean(x, axis=1, keepdims=True)
    centred = x - mean
    return mean, np.mean(centred * centred, axis=1, keepdims=True)


def softmax_rows(x):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def softmax_columns(x):
    e = np.exp(x - np.max(x, axis=0, keepdims=True))
    return e / np.sum(e, axis=0, keepdims=True)


def logsumexp(x):
    top = np.max(x, axis=1, keepdims=True)
    return top + np.log(np.sum(np.exp(x - top), axis=1, keepdims=True))


def layer_norm(x, scale, shift):
    centred = x - np.mean(x, axis=1, keepdims=True)
    variance = np.mean(centred * centred, axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * scale + shift


def attention(q, k, v):
    scores = np.matmul(q, np.swapaxes(k, 1, 2))
    e = np.exp(scores - np.max(scores, axis=2, keepdims=True))
    return np.matmul(e / np.sum(e, axis=2, keepdims=True), v)


def transpose(x):
    out = np.empty((x.shape[1], x.shape[0]), x.dtype)
    out[...] = x.T
    return out


def swap_last(x):
    out = np.empty((x.shape[0], x.shape[2], x.shape[1]), x.dtype)
    out[...] = np.transpose(x, (0, 2, 1))
    return out


def channels_first(x):
    """NHWC to NCHW."""
    out = np.empty((x.shape[0], x.shape[3], x.shape[1], x.shape[2]), x.dtype)
    out[...] = np.transpose(x, (0, 3, 1, 2))
    return out


def roll(x):
    return np.roll(x, 5, axis=1)


def pad(x):
    return np.pad(x, 1)


def concatenate(a, b):
    return np.concatenate([a, b], axis=1)


def every_other(x):
    return x[::2, ::2].copy()


def column_chip(x):
    """One column of a matrix, scaled."""
    return x[:, 3] * 2.0


def stencil(x):
    """Five points."""
    return 0.25 * (x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1]) - x[1:-1, 1:-1]


def heat(x):
    """Ten steps of heat flow."""
    y = x.copy()
    for _ in range(10):
        y[1:-1, 1:-1] = y[1:-1, 1:-1] + 0.1 * (
            y[1:-1, :-2] + y[1:-1, 2:] + y[:-2, 1:-1] + y[2:, 1:-1] - 4.0 * y[1:-1, 1:-1]
        )
    return y


def cumsum(x):
    return np.cumsum(x, axis=1)


def cumsum_columns(x):
    return np.cumsum(x, axis=0)


def fft_rows(x):
    return np.fft.fft(x, axis=1)


def fft_plane(x):
    return np.fft.fft2(x)


def fft_real(x):
    return np.fft.rfft(x, axis=1)


def convolve_channels(x, w):
    """NHWC with weights HWIO, where the window lies inside."""
    under = sliding_window_view(x, (3, 3), (1, 2))
    return np.einsum("nhwcij,ijco->nhwo", under, w, optimize=True)


def convolve_depthwise(x, w):
    """NHWC with weights HWC: each channel by itself."""
    under = sliding_window_view(x, (3, 3), (1, 2))
    return np.einsum("nhwcij,ijc->nhwc", under, w)


def convolve_plane(x, kernel):
    """Eigen's convolve of a plane: the kernel is not reversed."""
    return np.einsum("hwij,ij->hw", sliding_window_view(x, (5, 5)), kernel)


def random_uniform(x):
    """As many numbers as `x` has."""
    return np.random.default_rng(1).random(x.shape, x.dtype)


def random_normal(x):
    return np.random.default_rng(1).standard_normal(x.shape, x.dtype)


def sort(x):
    return np.sort(x)


def argsort(x):
    return np.argsort(x)


def take_rows(x, at):
    """Rows of a table, as an embedding takes them."""
    return np.take(x, at, axis=0)


def take_elements(x, at):
    return x[at]


def scatter_add(x, at, v):
    y = x.copy()
    np.add.at(y, at, v)
    return y


def median(x):
    return np.median(x)


def lowered(x, y):
    np.minimum(x, y, out=x)
    return x


def own_transpose(x):
    return x.T @ x


def chosen(x):
    return x[x > 0]


def escape(re, im, limit):
    """After how many steps a point leaves the circle of radius 2; `limit` where it has not by then."""
    x, y, n = 0.0, 0.0, 0
    while n < limit and x * x + y * y <= 4.0:
        x, y = x * x - y * y + re, 2.0 * x * y + im
        n += 1
    return n


def mandelbrot(across, down):
    """The Mandelbrot set on a grid of as many points as the arguments have, each its own loop."""
    re, im = np.linspace(-2.0, 0.5, across.shape[0]), np.linspace(-1.25, 1.25, down.shape[0])
    return np.vectorize(escape)(re[None, :], im[:, None], 100)


def k_means(points, centres):
    """Ten rounds; points and centres are columns."""
    count = centres.shape[1]
    for _ in range(10):
        best = np.full(points.shape[1], np.inf)
        nearest = np.zeros(points.shape[1], np.int64)
        for j in range(count):
            distance = ((points - centres[:, j : j + 1]) ** 2).sum(0)
            nearest = np.where(distance < best, j, nearest)
            best = np.minimum(distance, best)
        total, sizes = np.zeros_like(centres), np.zeros(count)
        np.add.at(total, (slice(None), nearest), points)  # pyright: ignore[reportArgumentType]
        np.add.at(sizes, nearest, 1.0)
        centres = total / np.maximum(sizes, 1.0)
    return centres


def matmul(a, b):
    return np.matmul(a, b)


def matmul_right_transposed(a, b):
    return np.matmul(a, np.swapaxes(b, 0, 1))


def matmul_left_transposed(a, b):
    return np.matmul(np.swapaxes(a, 0, 1), b)


def dense_gelu(a, b, bias):
    h = np.matmul(a, b) + bias
    return 0.5 * h * (1.0 + np.tanh(0.7978845608028654 * (h + 0.044715 * h * h * h)))


def sum_of_two(a, b):
    return a + b


def fused_call(x, y):
    return x * 2 - y / 3


def thousand_ops(x, y):
    """1,072 operations, 24 of them tanh, folds and divisions by these: loops of short, known ranges are unrolled."""
    for _ in range(8):
        for _ in range(8):
            for _ in range(4):
                x = x * 0.5 + y
                y = y - x * 0.25
        x = np.tanh(x)
        y = y / (np.abs(y).max(axis=1, keepdims=True) + 1.0)
    return x + y


def four_arrays(a, b, c, d):
    return a * b + c * d


def with_scalars(x, s, n=3):
    return x * s + n
