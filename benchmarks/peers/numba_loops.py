"""The benchmarks' programs as loops for Numba, in parallel; what is not here Numba compiles from the NumPy text."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .. import programs

numba: Any = importlib.import_module("numba")
prange = numba.prange
parallel = numba.njit(parallel=True, fastmath=True)


@parallel
def softmax_rows(x):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        top = x[i].max()
        total = x.dtype.type(0)
        for j in range(x.shape[1]):
            out[i, j] = np.exp(x[i, j] - top)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


@parallel
def chain(a, b):
    one, half, two = a.dtype.type(1.5), a.dtype.type(0.5), a.dtype.type(2.0)
    return np.sqrt(np.abs(((a * b + one) * a - b) * half + a)) / (b + two)


@parallel
def broadcast_add(x, row, column):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] + row[0, j] + column[i, 0]
    return out


@parallel
def total(x):
    result = x.dtype.type(0)
    for i in prange(x.shape[0]):
        for j in range(x.shape[1]):
            result += x[i, j]
    return result


@parallel
def row_sum(x):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        total = x.dtype.type(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        out[i] = total
    return out


@parallel
def column_sum(x):
    block = 512
    out = np.zeros(x.shape[1], x.dtype)
    for part in prange((x.shape[1] + block - 1) // block):
        for i in range(x.shape[0]):
            for j in range(part * block, min((part + 1) * block, x.shape[1])):
                out[j] += x[i, j]
    return out


@parallel
def transpose(x):
    out = np.empty((x.shape[1], x.shape[0]), x.dtype)
    side = 32
    for band in prange((x.shape[1] + side - 1) // side):
        for start in range(0, x.shape[0], side):
            for j in range(band * side, min((band + 1) * side, x.shape[1])):
                for i in range(start, min(start + side, x.shape[0])):
                    out[j, i] = x[i, j]
    return out


@parallel
def column_chip(x):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        out[i] = x[i, 3] * 2
    return out


@parallel
def cumsum(x):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        total = x.dtype.type(0)
        for j in range(x.shape[1]):
            total += x[i, j]
            out[i, j] = total
    return out


@parallel
def cumsum_columns(x):
    block = 512
    out = np.empty_like(x)
    for part in prange((x.shape[1] + block - 1) // block):
        first, last = part * block, min((part + 1) * block, x.shape[1])
        for j in range(first, last):
            out[0, j] = x[0, j]
        for i in range(1, x.shape[0]):
            for j in range(first, last):
                out[i, j] = out[i - 1, j] + x[i, j]
    return out


@parallel
def convolve_plane(x, kernel):
    out = np.empty((x.shape[0] - 4, x.shape[1] - 4), x.dtype)
    for h in prange(out.shape[0]):
        for w in range(out.shape[1]):
            total = x.dtype.type(0)
            for i in range(5):
                for j in range(5):
                    total += x[h + i, w + j] * kernel[i, j]
            out[h, w] = total
    return out


@parallel
def convolve_depthwise(x, w):
    out = np.empty((x.shape[0], x.shape[1] - 2, x.shape[2] - 2, x.shape[3]), x.dtype)
    for row in prange(out.shape[0] * out.shape[1]):
        n, h = row // out.shape[1], row % out.shape[1]
        for v in range(out.shape[2]):
            for c in range(out.shape[3]):
                total = x.dtype.type(0)
                for i in range(3):
                    for j in range(3):
                        total += x[n, h + i, v + j, c] * w[i, j, c]
                out[n, h, v, c] = total
    return out


@parallel
def take_rows(x, at):
    out = np.empty((at.shape[0], x.shape[1]), x.dtype)
    for i in prange(at.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[at[i], j]
    return out


@parallel
def take_elements(x, at):
    out = np.empty(at.shape[0], x.dtype)
    for i in prange(at.shape[0]):
        out[i] = x[at[i]]
    return out


@numba.njit
def scatter_add(x, at, v):
    out = x.copy()
    for i in range(at.shape[0]):
        out[at[i]] += v[i]
    return out


_escape = numba.njit(programs.escape)


@parallel
def mandelbrot(across, down):
    re, im = np.linspace(-2.0, 0.5, across.shape[0]), np.linspace(-1.25, 1.25, down.shape[0])
    out = np.empty((im.shape[0], re.shape[0]), np.int64)
    for i in prange(im.shape[0]):
        for j in range(re.shape[0]):
            out[i, j] = _escape(re[j], im[i], 100)
    return out


@parallel
def k_means(points, centres):
    d, n = points.shape
    centres, nearest = centres.copy(), np.empty(n, np.int64)
    for _ in range(10):
        for i in prange(n):
            best = np.inf
            for j in range(centres.shape[1]):
                distance = 0.0
                for c in range(d):
                    distance += (points[c, i] - centres[c, j]) ** 2
                if distance < best:
                    best, nearest[i] = distance, j
        total, sizes = np.zeros(centres.shape), np.zeros(centres.shape[1])
        for i in range(n):
            sizes[nearest[i]] += 1.0
            for c in range(d):
                total[c, nearest[i]] += points[c, i]
        centres = total / np.maximum(sizes, 1.0)
    return centres


@parallel
def matmul(a, b):
    """Stacks of small matrices; Numba has no better word for other products than NumPy's own BLAS."""
    out = np.zeros((a.shape[0], a.shape[1], b.shape[2]), a.dtype)
    for s in prange(a.shape[0]):
        for i in range(a.shape[1]):
            for k in range(a.shape[2]):
                for j in range(b.shape[2]):
                    out[s, i, j] += a[s, i, k] * b[s, k, j]
    return out


@numba.njit
def sum_of_two(a, b):
    return a + b


@numba.njit
def fused_call(x, y):
    return x * 2 - y / 3


@numba.njit
def four_arrays(a, b, c, d):
    return a * b + c * d


@numba.njit
def with_scalars(x, s, n=3):
    return x * s + n
