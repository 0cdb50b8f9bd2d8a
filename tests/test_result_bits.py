"""Results keep their bits: digests of a seeded suite, recorded before schedules and rewrites were tuned.

No change of a schedule, of the emitter or of a pass may change a digest.  Where the definition of an op changes its
bits on purpose (another polynomial, another order), ``PYTHONPATH=src python tests/test_result_bits.py`` records the
suite again, and the commit says why.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.codegen.target.llvm_backend import host_target

Array = np.ndarray[Any, Any]
GOLDEN = Path(__file__).parent / "golden" / "result_bits.json"
FLOATS, ALL = ("f4", "f8"), ("f4", "f8", "i4")


def numbers(seed: int, shape: tuple[int, ...], dtype: str) -> Array:
    """Multiples of 2⁻²⁰ in [-4, 4), of integers in [-50, 50), from raw bits, whose stream NumPy keeps for ever."""
    raw = np.random.PCG64(seed).random_raw(max(1, int(np.prod(shape))))[: int(np.prod(shape))]
    if np.dtype(dtype).kind == "i":
        return (raw % np.uint64(100)).astype("i8").astype(dtype).reshape(shape) - np.array(50, dtype)
    return ((raw >> np.uint64(41)).astype("f8") / 2**20 - 4).astype(dtype).reshape(shape)


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(x, axis):
    centred = x - x.mean(axis=axis, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=axis, keepdims=True) + 1e-5)


def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def attention(q, k, v):
    s = q @ np.swapaxes(k, 1, 2)
    e = np.exp(s - s.max(axis=2, keepdims=True))
    return (e / e.sum(axis=2, keepdims=True)) @ v


def stencil(x):
    return 0.25 * (x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1]) - x[1:-1, 1:-1]


def heat(x, steps):
    y = x.copy()
    for _ in range(steps):
        y[1:-1] = y[1:-1] + 0.1 * (y[2:] - 2.0 * y[1:-1] + y[:-2])
    return y


def rolled(x, by):
    return np.concatenate([x[-by:], x[:-by]])


def transposed(x):
    out = np.empty((x.shape[1], x.shape[0]), x.dtype)
    out[...] = x.T + 1
    return out


MATRICES = ((1, 1), (5, 18), (33, 70), (130, 67), (3, 5000), (5000, 3))
PRODUCTS = ((1, 1, 1), (3, 4, 5), (8, 8, 8), (17, 33, 9), (64, 64, 64), (65, 1030, 40), (130, 70, 97), (257, 31, 5))
#: Programs by name: dtypes, shapes of arguments (one tuple a call), the function.
PROGRAMS: dict[str, tuple[tuple[str, ...], list[tuple[tuple[int, ...], ...]], Callable[..., Any]]] = {
    "sum of all": (ALL, [(s,) for s in MATRICES], lambda x: x.sum()),
    "sums of rows": (ALL, [(s,) for s in MATRICES], lambda x: x.sum(axis=1)),
    "sums of columns": (ALL, [(s,) for s in MATRICES], lambda x: x.sum(axis=0)),
    "sums of middles": (FLOATS, [((3, 70, 9),), ((40, 1100, 2),)], lambda x: x.sum(axis=1)),
    "sums of columns of a transpose": (FLOATS, [(s,) for s in MATRICES], lambda x: x.T.sum(axis=0)),
    "products": (FLOATS, [((7, 40),)], lambda x: (1.0 + x / 64).prod(axis=1)),
    "mean and variance": (FLOATS, [(s,) for s in MATRICES], lambda x: (x.mean(axis=1), x.var(axis=1))),
    "moments of columns": (FLOATS, [(s,) for s in MATRICES], lambda x: (x.mean(axis=0), x.var(axis=0))),
    "largest": (ALL, [(s,) for s in MATRICES], lambda x: (x.max(axis=1), x.min(axis=0), x.max())),
    "where largest": (ALL, [(s,) for s in MATRICES], lambda x: (x.argmax(axis=1), x.argmin(axis=0), x.argmax())),
    "softmax of rows": (FLOATS, [(s,) for s in MATRICES], lambda x: softmax(x, 1)),
    "softmax of columns": (FLOATS, [(s,) for s in MATRICES], lambda x: softmax(x, 0)),
    "layer norm": (FLOATS, [(s,) for s in MATRICES], lambda x: layer_norm(x, 1)),
    "layer norm of columns": (FLOATS, [(s,) for s in MATRICES], lambda x: layer_norm(x, 0)),
    "gelu": (FLOATS, [(s,) for s in MATRICES], gelu),
    "elementary": (
        FLOATS, [((33, 70),)],
        lambda x: (np.exp(x), np.log(x * x + 1), np.tanh(x), np.sin(x), np.cos(x), np.expm1(x), np.log1p(x * x),
                   np.sqrt(x * x), np.arctan(x), np.sinh(x)),
    ),
    "integers": (("i4", "i8"), [((33, 70), (33, 70))], lambda x, y: (x // 7 + y % 5, (x ^ y) * 3, np.maximum(x, y))),
    "transposed": (ALL, [(s,) for s in MATRICES], transposed),
    "permuted": (ALL, [((3, 17, 40),), ((1, 70, 5),)], lambda x: np.transpose(x, (0, 2, 1)) * 2),
    "transposed added": (FLOATS, [((33, 70), (70, 33))], lambda x, y: x + y.T),
    "row and column added": (ALL, [((33, 70), (70,), (33, 1))], lambda x, r, c: x + r - c),
    "joined": (ALL, [((5, 18), (7, 18))], lambda x, y: np.concatenate([x, y + 1])),
    "joined along rows": (ALL, [((5, 18), (5, 9))], lambda x, y: np.concatenate([x, y + 1], axis=1)),
    "rolled": (ALL, [((500,),), ((33, 70),)], lambda x: rolled(x, 3)),
    "every other": (ALL, [((33, 70),)], lambda x: x[::2, 1::3] * 2),
    "reversed": (ALL, [((33, 70),)], lambda x: x[::-1, ::-1] - x),
    "stencil": (FLOATS, [((33, 70),), ((5, 5000),)], stencil),
    "heat": (FLOATS, [((500,),)], lambda x: heat(x, 20)),
    "matmul": (ALL, [((m, k), (k, n)) for m, k, n in PRODUCTS], lambda a, b: a @ b),
    "matmul of transposes": (FLOATS, [((k, m), (n, k)) for m, k, n in PRODUCTS], lambda a, b: a.T @ b.T),
    "matmul with an epilogue": (
        FLOATS, [((m, k), (k, n), (n,)) for m, k, n in PRODUCTS], lambda a, b, c: gelu((a @ b + c) / 64)
    ),
    "batches": (FLOATS, [((9, 8, 8), (9, 8, 8)), ((5, 3, 17), (5, 17, 40))], lambda a, b: a @ b),
    "matrix and vector": (FLOATS, [((33, 1100), (1100,)), ((5, 3), (3,))], lambda a, b: a @ b),
    "vector and matrix": (FLOATS, [((33,), (33, 1100)), ((3,), (3, 5))], lambda a, b: a @ b),
    "dot": (FLOATS, [((5000,), (5000,)), ((3,), (3,))], lambda a, b: a @ b),
    "attention": (FLOATS, [((3, 33, 16), (3, 40, 16), (3, 40, 16))], attention),
}  # fmt: skip


def digests(name: str) -> dict[str, str]:
    """The digest of each call of a program, by dtype and shapes."""
    dtypes, shapes, function = PROGRAMS[name]
    compiled = txc.jit(function)
    found: dict[str, str] = {}
    for dtype in dtypes:
        for call in shapes:
            results = compiled(*(numbers(i + 1, s, dtype) for i, s in enumerate(call)))
            digest = hashlib.sha256()
            for result in results if isinstance(results, tuple) else (results,):
                array = np.ascontiguousarray(result)
                if array.dtype.kind == "f":
                    array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)  # all NaNs are equal
                digest.update(f"{array.dtype.str} {np.shape(result)}".encode() + array.tobytes())
            found[f"{dtype} {' '.join('x'.join(map(str, s)) for s in call)}"] = digest.hexdigest()[:16]
    return found


@pytest.mark.skipif(not host_target().has_fma, reason="the orders of a target without FMA give other bits")
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_have_the_recorded_bits(name: str) -> None:
    assert digests(name) == json.loads(GOLDEN.read_text())[name]


def test_the_record_has_every_program_and_no_other() -> None:
    assert set(json.loads(GOLDEN.read_text())) == set(PROGRAMS)


if __name__ == "__main__":
    if not host_target().has_fma:
        sys.exit("record on a machine with FMA")
    GOLDEN.write_text(json.dumps({name: digests(name) for name in PROGRAMS}, indent=1) + "\n")
