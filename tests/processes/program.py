"""What a user's program pickles: ``python program.py METHOD…`` sends 25 objects to workers, which use them.

A worker is a child of `multiprocessing`, ``fork`` or ``spawn``, or one of joblib's (``loky``) or of Dask's
(``distributed``).  Objects are pickled by pickle, and by cloudpickle where it is installed.  The program prints a line
for each method and pickler: how many results are NumPy's, which are not, and how many threads calls in the worker use,
by themselves and with ``TXC_NUM_THREADS=3``.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import multiprocessing
import os
import pickle
import sys
from typing import Any, NamedTuple

import functions
import ml_dtypes
import numpy as np

import txc
from txc.runtime.pool.pool import get_pool

X = np.arange(1.0, 7.0).reshape(2, 3)
OFFSET = 10.0
TABLE = np.array([1.0, 2.0, 3.0])


class Case(NamedTuple):
    """An object, what a worker makes of it, and what that is to be."""

    name: str
    object: Any
    expected: Any
    arguments: tuple[Any, ...] | None = (X,)


#: By pickler: pickled objects, with the arguments that they are called with.
Payloads = dict[str, list[tuple[bytes, tuple[Any, ...] | None]]]


@txc.jit
def much_work(x):
    return np.exp(np.exp(np.sin(x))).sum(axis=1)


@txc.jit
def of_main(x):
    return x + OFFSET


@txc.jit(threads=1)
def staged(x):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i].sum() > 10:
            total += x[i].max()
    while total < 100:
        total = total * 2
    return total


@txc.jit
def uses_others(x):
    return of_main(x) + down(3) + math.pi + np.linalg.norm(x)


def down(n):
    return 0 if n == 0 else n + down(n - 1)


def closures():
    """Functions with captured values."""
    number, array, twice, add = 4.0, np.array([5.0, 6.0, 7.0]), txc.jit(lambda x: x * 2), lambda x: x + 1
    choices = {"plus": [lambda x: x + 7], "of": [math]}
    tensor = txc.asarray(array) * 2

    @txc.jit
    def outer(x, *, power=2, scale=TABLE):
        def inner(y):
            return y**power * number

        return inner(x) * scale

    minus, times = txc.jit(lambda x: x - number), txc.jit(lambda x: x * number)
    return [
        Case("lambda", txc.jit(lambda x: np.exp(x) + 1), np.exp(X) + 1),
        Case("closure over an array", txc.jit(lambda x: x + array), X + array),
        Case("closure over functions", txc.jit(lambda x: add(twice(x))), X * 2 + 1),
        Case("closure over a tensor", txc.jit(lambda x: x + np.asarray(tensor)), X + 2 * array),
        Case("closure over containers", txc.jit(lambda x: choices["plus"][0](x) + choices["of"][0].e), X + 7 + math.e),
        Case("inner function and defaults", outer, X**2 * 4.0 * TABLE),
        Case("two on a line", [minus, times], [X - 4.0, X * 4.0]),
        Case("vectorize", txc.vectorize(lambda v: v + 1 if v > 2 else -v), np.where(X > 2, X + 1, -X)),
        Case("partial", txc.jit(functools.partial(lambda x, y: x - y, y=3.0)), X - 3.0),
    ]


def cases() -> list[Case]:
    """All of them."""
    module = txc.compile_source("def f(x: f64[n, m], k: i64) -> f64[n]:\n    return x.sum([1]) * k", "rows.tx")
    fixed = txc.TensorFixedSize("f32", (3,))
    fixed[...] = TABLE
    model = functions.Model(2.5)
    return [
        Case("by name", functions.compiled, X * 3.0),
        Case("by name, with options", functions.with_options, X * 3.0),
        Case("of a plain function by name", txc.jit(functions.plain, threads=1), X**2),
        Case("of main", of_main, X + OFFSET),
        Case("staged loops", staged, staged.__wrapped__(X)),
        Case("uses others", uses_others, X + OFFSET + 6 + math.pi + np.linalg.norm(X)),
        Case("bound method", model.times, X * 2.5),
        Case("jit of a bound method", txc.jit(model.times), X * 2.5),
        Case("referred to and back", functions.Trained(), X * 5.0),
        *closures(),
        Case("tensor", txc.asarray(X) * 2 + 1, X * 2 + 1, None),
        Case("tensor of bf16", txc.asarray(X).astype("bf16"), X.astype(ml_dtypes.bfloat16), None),
        Case("column-major tensor", txc.asarray(X, layout="col")[:, 1:], X[:, 1:], None),
        Case("tensor of fixed size", fixed, TABLE.astype(np.float32), None),
        Case(".tx module", module, X.sum(axis=1) * 2, (X, 2)),
        Case(".tx function", module.f.options(threads=2), X.sum(axis=1) * 3, (X, 3)),
        Case("options", functions.with_options.compile_options, (2, 1 << 20), None),
    ]


def use(thing: Any, arguments: tuple[Any, ...] | None) -> Any:
    """What a worker does with an object."""
    if isinstance(thing, list):
        return [use(part, arguments) for part in thing]
    if arguments is None:
        return np.asarray(thing) if isinstance(thing, txc.Tensor) else (thing.threads, thing.max_temp_bytes)
    if isinstance(thing, functions.Trained):
        thing.weight = 5.0  # which its function has to see
        return thing.step(*arguments)
    if type(thing).__name__ == "CompiledModule":
        return thing.f(*arguments)
    return thing(*arguments)


def work(payloads: Payloads) -> tuple[dict[str, list[Any]], list[int]]:
    """In the worker: the results by pickler, and how many threads the pool has after calls that are worth several."""
    results = {p: [use(pickle.loads(text), arguments) for text, arguments in part] for p, part in payloads.items()}
    return results, [_threads(), _threads(TXC_NUM_THREADS="3")]


def _threads(**environment: str) -> int:
    os.environ.update(environment)
    big = np.ones((2000, 500))
    for _ in range(3):
        much_work(big)
    return get_pool().stats().workers + 1


def in_worker(method: str, payloads: Payloads) -> Any:
    """`work` in another process."""
    if method == "loky":
        joblib = importlib.import_module("joblib")
        return joblib.Parallel(n_jobs=2)(joblib.delayed(work)(p) for p in (payloads, payloads))[1]
    if method == "distributed":
        dask, distributed = importlib.import_module("dask"), importlib.import_module("distributed")
        with dask.config.set({"distributed.comm.timeouts.connect": "300s"}):  # of a machine that has other work
            with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
                with distributed.Client(cluster) as client:
                    return client.submit(work, payloads).result()
    with multiprocessing.get_context(method).Pool(1) as pool:
        return pool.apply(work, (payloads,))


def same(got: Any, expected: Any) -> bool:
    """Whether a result is of the dtype and shape expected, and equal but for the order of sums."""
    if isinstance(expected, list):
        return len(got) == len(expected) and all(map(same, got, expected))
    a, b = np.asarray(got), np.asarray(expected)
    return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a.astype(float), b.astype(float), rtol=1e-14)


def main() -> None:
    picklers = [name for name in ("pickle", "cloudpickle") if importlib.util.find_spec(name)]
    made = cases()
    payloads = {p: [(importlib.import_module(p).dumps(c.object), c.arguments) for c in made] for p in picklers}
    much_work(np.ones((2000, 500)))  # what is known of threads here is not so in a forked child
    for method in sys.argv[1:]:
        found, threads = in_worker(method, payloads)
        for pickler, results in found.items():
            wrong = [c.name for c, result in zip(made, results, strict=True) if not same(result, c.expected)]
            print(f"{method}, {pickler}: {len(made) - len(wrong)} right, wrong: {wrong}, threads: {threads}")


if __name__ == "__main__":
    main()
