"""``out=`` of NumPy's functions: what is written or raised, for each function, dtypes and shapes, is NumPy's."""

from __future__ import annotations

import itertools
import runpy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError
from txc.compiler.interpret.graph import run_graph

CALLS = [
    "np.add(x, y, out=o)", "np.add(x, y, o)", "np.true_divide(x, y, out=o)", "np.sqrt(x, out=o)",
    "np.less(x, y, out=o)", "np.maximum(x, y, out=o)", "np.power(x, y, out=o)", "np.isnan(x, out=o)",
    "np.add(x, y, out=o, where=x > 1)", 'np.add(x, y, out=o, casting="unsafe")',
    "np.add(x, y, out=o, dtype=np.float32)", "np.clip(x, 1, 2, out=o)", "x.clip(1, 2, out=o)",
    "np.clip(x, 1, None, out=o)", "np.fix(x, o)", "np.fix(x, out=o)", "np.round(x, out=o)", "x.round(out=o)",
    "np.round(x, 1, out=o)", "np.sum(x, 0, out=o)", "x.sum(0, out=o)", "x.sum(0, x.dtype, o)", "np.prod(x, 0, out=o)",
    "np.mean(x, 0, out=o)", "np.max(x, 0, out=o)", "x.min(0, out=o)", "np.any(x, 0, out=o)", "np.all(x, 0, out=o)",
    "np.argmax(x, 0, out=o)", "x.argmin(0, out=o)", "np.cumsum(x, 0, out=o)", "x.cumsum(0, out=o)",
    "np.cumprod(x, 1, out=o)", "np.cumsum(x, out=o)", "np.var(x, 0, out=o)", "np.std(x, 0, out=o)",
    "np.ptp(x, 0, out=o)", "np.median(x, 0, out=o)", "np.percentile(x, 50, 0, out=o)", "np.nansum(x, 0, out=o)",
    "np.nanmax(x, 0, out=o)", "np.nanmean(x, 0, out=o)", "np.nanvar(x, 0, out=o)", "np.nanmedian(x, 0, out=o)",
    "np.dot(x, y.T, out=o)", "np.dot(x, y.T, o)", "x.dot(y.T, o)", "np.matmul(x, y.T, out=o)",
    'np.einsum("ij,kj->ik", x, y, out=o)', 'np.einsum("ij->i", x, out=o)', "np.outer(x, y, out=o)",
    "np.take(x, [0, 1], axis=0, out=o)", "x.take([0, 2], 1, o)", "np.concatenate([x, y], out=o)",
    "np.stack([x, y], out=o)", "np.compress([True, False, True], x, 1, out=o)",
    "np.choose([[0, 1, 0], [1, 0, 1]], [x, y], out=o)", "np.trace(x, out=o)", "np.add.reduce(x, 0, out=o)",
    "np.add.accumulate(x, out=o)", "np.maximum.reduce(x, out=o)", "np.fft.fft(x, out=o)", "np.fft.rfft(x, out=o)",
    "np.isposinf(x, out=o)", "np.linalg.multi_dot([x, y.T], out=o)", "np.floor_divide(x, y, out=o)",
]  # fmt: skip
DTYPES = ("f8", "i8", "?", "f4", "c16")
#: Calls that have no form here, by the dtypes of the operand and the array.
REFUSED = {"TX0112", "TX0222", "TX0240"}


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[..., Any]]:
    """The functions that make the calls, from a source file, which staging needs."""
    path = tmp_path_factory.mktemp("functions") / "functions.py"
    texts = [f"def call{n}(x, y, o):\n    return {call}\n" for n, call in enumerate(CALLS)]
    path.write_text("\n".join(["import numpy as np\n", *texts]))
    module = runpy.run_path(str(path))
    return {call: module[f"call{n}"] for n, call in enumerate(CALLS)}


def operands(element: str) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.arange(6).reshape(2, 3) % 3
    return numbers.astype(element), (numbers + 1).astype(element)


def places(call: str, function: Any, element: str) -> list[tuple[int, ...]]:
    """Shapes of arrays for the result: its own, others, one that it broadcasts to."""
    x, y = operands("f8")
    for shape in [(2, 3), (3,), (2,), (2, 2), (6,), (6, 6), (4, 3), (2, 2, 3), ()]:
        try:
            function(x, y, np.zeros(shape, "c16" if "fft" in call else "i8" if "arg" in call else "f8"))
        except (TypeError, ValueError):
            continue
        return [shape, (2, *shape), (1, *shape), (1,) * len(shape)]
    raise AssertionError(f"no array fits {call}")


def compiled(function: Any, x: np.ndarray, y: np.ndarray, o: np.ndarray) -> None:
    """Do what the traced function does to its arguments, by the interpreter."""
    graph = txc.jit(function).graph(x, y, o)
    outputs = run_graph(graph, {"x": x.copy(), "y": y.copy(), "o": o.copy()}) if graph.outputs else []
    for number, given in graph.aliases.items():
        {"x": x, "y": y, "o": o}[graph.inputs[given].name][...] = outputs[number]


@pytest.mark.parametrize("call", CALLS)
def test_what_numpy_writes_or_raises(call, functions):
    function = functions[call]
    for element, target in itertools.product(DTYPES, DTYPES):
        for shape in places(call, function, element):
            x, y = operands(element)
            ours, theirs = (np.full(shape, 9).astype(target) for _ in range(2))
            error: Exception | None = None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    function(x.copy(), y, theirs)
                except (TypeError, ValueError) as raised:
                    error = raised
            which = f"{call}: {element} into {target}{shape}, NumPy: {error!r}"
            try:
                compiled(function, x, y, ours)
            except TxcError as refused:
                assert error is not None or refused.code in REFUSED, which
            except (TypeError, ValueError) as raised:
                assert error is not None and isinstance(raised, type(error)), f"{which}, here: {raised!r}"
            else:
                assert error is None, which
                np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6, err_msg=which)


@pytest.mark.parametrize(
    "call", ["np.add(t, 1, out=o)", "np.sum(t, 0, out=o)", "t.cumsum(0, out=o)", "np.clip(t, 0, 1, o)"]
)
def test_eager_calls_write_arrays_of_numpys(call):
    x = np.arange(6.0).reshape(2, 3)
    ours, theirs = (np.zeros((3,) if "sum(t" in call else (2, 3)) for _ in range(2))
    scope = {"np": np, "t": txc.asarray(x), "o": ours}
    assert eval(call, scope) is ours
    eval(call, {**scope, "t": x, "o": theirs})
    np.testing.assert_array_equal(ours, theirs)
    with pytest.raises((TypeError, ValueError)):
        eval(call, {**scope, "o": np.zeros((5, 5))})


def test_eager_where():
    x, out = np.arange(4.0), np.full(4, 9.0)
    np.add(txc.asarray(x), 1, out=out, where=np.array([True, False, True, False]))
    assert out.tolist() == [1.0, 9.0, 3.0, 9.0]


def summed(x, y):
    return np.einsum("ij,jk->", x, y), np.einsum("ij->i", x), np.vdot(x, x), np.vecdot(x, x), np.einsum("ii", x @ y)


@pytest.mark.parametrize("element", ["?", "u1", "i1", "i4", "f4", "c8"])
def test_einsum_and_dot_products_sum_in_the_dtype_of_the_operands(element):
    x = (np.arange(6).reshape(2, 3) * 50 % 127).astype(element)
    for got, expected in zip(txc.jit(summed)(x, x.T.copy()), summed(x, x.T.copy())):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-5)
