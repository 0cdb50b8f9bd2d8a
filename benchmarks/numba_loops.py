"""The benchmarks' programs as loops for Numba, in parallel over rows; imported only where Numba is installed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

numba: Any = importlib.import_module("numba")
prange = numba.prange


@numba.njit(parallel=True, fastmath=True)
def softmax(x):
    out = np.empty_like(x)
    for i in prange(x.shape[0]):
        top = x[i].max()
        total = np.float32(0)
        for j in range(x.shape[1]):
            out[i, j] = np.exp(x[i, j] - top)
            total += out[i, j]
        for j in range(x.shape[1]):
            out[i, j] /= total
    return out


@numba.njit(parallel=True, fastmath=True)
def chain(a, b):
    c, h, d = np.float32(1.5), np.float32(0.5), np.float32(2.0)
    return np.sqrt(np.abs(((a * b + c) * a - b) * h + a)) / (b + d)


@numba.njit(parallel=True, fastmath=True)
def row_sum(x):
    out = np.empty(x.shape[0], x.dtype)
    for i in prange(x.shape[0]):
        total = np.float32(0)
        for j in range(x.shape[1]):
            total += x[i, j]
        out[i] = total
    return out


@numba.njit(parallel=True, fastmath=True)
def column_sum(x):
    block = 512
    out = np.zeros(x.shape[1], x.dtype)
    for part in prange((x.shape[1] + block - 1) // block):
        for i in range(x.shape[0]):
            for j in range(part * block, min((part + 1) * block, x.shape[1])):
                out[j] += x[i, j]
    return out


@numba.njit
def add(a, b):
    return a + b


@numba.njit
def fused(x, y):
    return x * 2 - y / 3


@numba.njit
def four(a, b, c, d):
    return a * b + c * d


@numba.njit
def with_scalars(x, s, n=3):
    return x * s + n
