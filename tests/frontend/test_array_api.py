"""``import txc as xp`` against array-api-strict, which has no more than the standard: drawn arrays, equal results."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import txc as xp
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.api import array_api
from txc.compiler.frontend.api.array_api import elementwise
from txc.compiler.frontend.lazy import evaluate
from txc.compiler.interpret.graph import run_graph

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "uint32", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (3,), (2, 3), (1, 3), (0, 3), (2, 1, 3)]


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expressions run in the graph's interpreter: this is about what they mean, machine code has tests of its own."""

    def computed(value: Any, integers: Any = None) -> np.ndarray:
        if value.node.leaf is not None:
            return np.array(value.node.leaf)
        graph = evaluate.lazy_graph([value])
        return np.asarray(run_graph(graph, {i.name: i.source for i in graph.inputs})[0])

    for module in ("lazy.evaluate", "tensor.memory.storage"):
        monkeypatch.setattr(f"txc.compiler.frontend.{module}.evaluate_value", computed)


def arrays(dtype: str, shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    kind = np.dtype(dtype).kind
    elements = (
        st.floats(-8, 8, width=32) if kind == "f" else st.complex_numbers(max_magnitude=8, width=64) if kind == "c"
        else st.booleans() if kind == "b" else st.integers(0, 5)
    )  # fmt: skip
    return hnp.arrays(np.dtype(dtype), shape, elements=elements)


def same(found: Any, expected: Any, inexact: float = 4e-6) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for f, e in zip(found, expected):
            same(f, e)
        return
    wanted = np.from_dlpack(expected) if hasattr(expected, "__dlpack__") else expected
    assert isinstance(found, xp.Tensor) and found.shape == wanted.shape and found.dtype == wanted.dtype
    got = np.asarray(found)
    if wanted.dtype.kind in "fc":
        rtol = inexact if wanted.dtype.char in "fF" else 1e-12
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=rtol * 10)
    else:
        np.testing.assert_array_equal(got, wanted)


def both(call: Any, *given_arrays: np.ndarray) -> None:
    """`call` of a namespace and its arrays gives the same in both, or is an error in the strict one."""
    with np.errstate(all="ignore"):
        try:
            expected = call(strict, *(strict.asarray(a.copy()) for a in given_arrays))
        except (TypeError, ValueError, IndexError):
            return
        same(call(xp, *(xp.asarray(a) for a in given_arrays)), expected)


QUICK = settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.generate],
    derandomize=True, database=None,
)  # fmt: skip


@pytest.mark.parametrize("name", sorted({*elementwise.__all__} - {"clip"}))
def test_elementwise(name):
    count = len(inspect.signature(getattr(xp, name)).parameters)

    @QUICK
    @given(st.data())
    def run(data: st.DataObject) -> None:
        dtype, shape = data.draw(st.sampled_from(DTYPES)), data.draw(st.sampled_from(SHAPES))
        drawn = [data.draw(arrays(dtype, s)) for s in ([shape, (3,)] if count == 2 else [shape])]
        both(lambda ns, *xs: getattr(ns, name)(*xs), *drawn)

    run()


def _of_definite(xp: Any, square: Any) -> tuple[Any, ...]:
    """Factorisations of a well conditioned matrix; of those with free signs the product, which has none."""
    m = square + 9.0 * xp.eye(square.shape[0])
    (w, v), (q, r), (u, s, vh) = xp.linalg.eigh(m), xp.linalg.qr(m), xp.linalg.svd(m)
    return (
        xp.linalg.cholesky(m), xp.linalg.det(m), xp.linalg.inv(m), *xp.linalg.slogdet(m), xp.linalg.solve(m, m + 1.0),
        xp.linalg.eigvalsh(m), xp.linalg.svdvals(m), xp.linalg.pinv(m), xp.linalg.matrix_rank(m),
        xp.matmul(v * w, v.mT), xp.matmul(q, r), xp.matmul(u * s, vh),
    )  # fmt: skip


#: A call of a namespace on one array of rank 2 or 3.
CALLS: dict[str, Any] = {
    **{f"{n} axis": (lambda xp, x, n=n: getattr(xp, n)(x, axis=-1, keepdims=True)) for n in (
        "sum", "prod", "mean", "max", "min", "all", "any", "argmax", "argmin", "var", "std", "count_nonzero")},
    **{f"{n} of all": (lambda xp, x, n=n: getattr(xp, n)(x)) for n in (
        "sum", "prod", "mean", "max", "min", "all", "any", "argmax", "argmin", "var", "std", "count_nonzero", "nonzero",
        "tril", "triu", "flip", "matrix_transpose", "zeros_like", "ones_like", "unstack")},
    "sum dtype": lambda xp, x: xp.sum(x, axis=(0, 1), dtype=xp.float32),
    "var correction": lambda xp, x: xp.var(x, axis=0, correction=1.0),
    "cumulative": lambda xp, x: (xp.cumulative_sum(x, axis=1), xp.cumulative_prod(x, axis=0, include_initial=True)),
    "reshape": lambda xp, x: (xp.reshape(x, (-1,)), xp.permute_dims(x, tuple(range(x.ndim))[::-1]), x.mT),
    "dims": lambda xp, x: (xp.expand_dims(x, axis=-1), xp.squeeze(xp.expand_dims(x, axis=1), axis=1)),
    "moveaxis": lambda xp, x: (xp.moveaxis(x, 0, -1), xp.roll(x, 4), xp.roll(x, (1, -2), axis=(0, 1))),
    "joined": lambda xp, x: (xp.concat([x, x], axis=1), xp.concat([x, x], axis=None), xp.stack([x, x], axis=-1)),
    "repeated": lambda xp, x: (xp.tile(x, (2, 1)), xp.repeat(x, 2, axis=0), xp.repeat(x, 3)),
    "broadcast": lambda xp, x: (xp.broadcast_to(x, (2, *x.shape)), xp.broadcast_arrays(x, x[:1, ...])),
    "where": lambda xp, x: (xp.where(x == x, x, xp.zeros_like(x)), xp.isin(x, x[:1, ...])),
    "clip": lambda xp, x: (xp.clip(x, 1, 3), xp.clip(x, max=2)),
    "take": lambda xp, x: (
        xp.take(x, xp.asarray([0, -1]), axis=1),
        xp.take_along_axis(x, xp.argmax(x, axis=1, keepdims=True), axis=1),
    ),
    "diff": lambda xp, x: (xp.diff(x), xp.diff(x, axis=0, n=2)),
    "products": lambda xp, x: (xp.matmul(x, x.mT), xp.vecdot(x, x), xp.tensordot(x, x, axes=([1], [1]))),
    "linalg": lambda xp, x: (
        xp.linalg.diagonal(x), xp.linalg.trace(x), xp.linalg.matrix_norm(x), xp.linalg.vector_norm(x, ord=1, axis=0),
        xp.linalg.cross(x, x), xp.linalg.outer(x[0, :], x[0, :]), xp.linalg.matrix_power(xp.matmul(x, x.mT), 2)),
    "fft": lambda xp, x: (
        xp.fft.fft(xp.astype(x, xp.complex128), n=4), xp.fft.ifftn(xp.astype(x, xp.complex128)), xp.fft.fftshift(x),
        xp.fft.fftfreq(5, d=0.5)),
    "fft of complex": lambda xp, x: (
        xp.fft.ifft(xp.astype(x, xp.complex128)), xp.fft.fftn(xp.astype(x, xp.complex128)),
        xp.fft.hfft(xp.astype(x, xp.complex128)), xp.fft.irfft(xp.astype(x, xp.complex128)),
        xp.fft.irfftn(xp.astype(x, xp.complex128)), xp.fft.ifftshift(x), xp.fft.rfftfreq(5, d=0.5)),
    "fft of real": lambda xp, x: (
        xp.fft.rfft(xp.astype(x, xp.float64)), xp.fft.rfftn(xp.astype(x, xp.float64)),
        xp.fft.ihfft(xp.astype(x, xp.float64))),
    "sorted": lambda xp, x: (
        xp.sort(x), xp.sort(x, axis=0, descending=True), xp.argsort(x), xp.argsort(x, axis=0, descending=True),
        xp.searchsorted(xp.sort(x[0, ...]), x[0, ...])),
    "sets": lambda xp, x: (
        xp.unique_values(x), *xp.unique_counts(x), *xp.unique_inverse(x), *xp.unique_all(x)),
    "spelled twice": lambda xp, x: (
        xp.linalg.matmul(x, x.mT), xp.linalg.matrix_transpose(x), xp.linalg.tensordot(x, x, axes=([1], [1])),
        xp.linalg.vecdot(x, x)),
    "factorisations": lambda xp, x: _of_definite(xp, xp.matmul(xp.astype(x, xp.float64), xp.astype(x, xp.float64).mT)),
    "operators": lambda xp, x: (x + 1, 2 * x, x - x, x @ x.mT, x == x, x[0, ...], x[..., ::-1]),
    "cast": lambda xp, x: (xp.astype(x, xp.float64), xp.astype(x, xp.bool), xp.full_like(x, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_function_of_one_array(name):
    @QUICK
    @given(st.data())
    def run(data: st.DataObject) -> None:
        dtype, shape = data.draw(st.sampled_from(DTYPES)), data.draw(st.sampled_from([(2, 3), (3, 3), (1, 3)]))
        both(CALLS[name], data.draw(arrays(dtype, shape)))

    run()


MADE: dict[str, Any] = {
    "zeros": lambda xp: (xp.zeros((2, 3)), xp.ones(4, dtype=xp.int8), xp.full((2,), True), xp.full((), 2.5)),
    "ranges": lambda xp: (xp.arange(5), xp.arange(1.0, 3.0, 0.5), xp.arange(9, 0, -2, dtype=xp.float32)),
    "linspace": lambda xp: (xp.linspace(0, 1, 5), xp.linspace(2, 3, 4, endpoint=False, dtype=xp.float32)),
    "eye": lambda xp: (xp.eye(3), xp.eye(2, 4, k=1, dtype=xp.int64)),
    "asarray": lambda xp: (xp.asarray([[1, 2], [3, 4]]), xp.asarray(2.0), xp.asarray([True], dtype=xp.uint8)),
    "meshgrid": lambda xp: (
        xp.meshgrid(xp.arange(3), xp.arange(2)),
        xp.meshgrid(xp.arange(3), indexing="ij"),
        xp.meshgrid(),
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_creation(name):
    same(MADE[name](xp), MADE[name](strict))


#: What has no values to compare, or has tests of its own above and below.
NOT_DRAWN = {
    **dict.fromkeys(("empty", "empty_like"), "any values"),
    **dict.fromkeys(("e", "inf", "nan", "newaxis", "pi"), "constants"),
    **dict.fromkeys(("float16", "int16", "uint16", "uint64"), "dtypes: test_dtypes_are_those_of_the_standard"),
    "broadcast_shapes": "no arrays: test_broadcast_shapes",
}
#: What array-api-strict has and txc has not.
MISSING = {"linalg.eig", "linalg.eigvals"}


def test_every_function_is_drawn_or_listed():
    """What is compared is what the texts above call; every name of the namespace is among it or has its reason."""
    text = Path(__file__).read_text(encoding="utf-8")
    known = {*array_api.names()} - {*array_api.EXTENSIONS}
    called = {n for n in known if n in elementwise.__all__ or re.search(rf"\bxp\.{n}\b|\"{n}\"", text)}
    assert {n for n in known if n not in called} <= {*NOT_DRAWN}
    standard = {n for n in strict.__all__ if not n.startswith("_") and "flags" not in n and n not in ("Device",)}
    for extension in array_api.EXTENSIONS:
        names = {n for n in getattr(strict, extension).__all__}
        assert {n for n in names if f"xp.{extension}.{n}(" not in text} <= {n.split(".")[1] for n in MISSING}
        assert {f"{extension}.{n}" for n in names if not hasattr(array_api.EXTENSIONS[extension], n)} <= MISSING
    assert {n for n in standard - known - {*array_api.EXTENSIONS} if n[0].islower()} == set()


def test_broadcast_shapes():
    assert xp.broadcast_shapes((2, 1), (3,), ()) == strict.broadcast_shapes((2, 1), (3,), ())


def test_constants():
    assert (xp.e, xp.inf, xp.pi, xp.newaxis) == (strict.e, strict.inf, strict.pi, None) and np.isnan(xp.nan)


def test_dtypes_are_those_of_the_standard():
    names = xp.__array_namespace_info__().dtypes()
    for a in names:
        for b in names:
            mine, theirs = getattr(xp, a), getattr(xp, b)
            assert xp.can_cast(mine, theirs) == np.can_cast(mine, theirs)
            try:
                expected = strict.result_type(getattr(strict, a), getattr(strict, b))
            except TypeError:  # dtypes of mixed kinds, of which the standard says nothing
                continue
            assert xp.result_type(mine, theirs) == expected._np_dtype
    assert xp.isdtype(xp.float32, ("integral", "real floating")) and not xp.isdtype(xp.bool, "numeric")
    assert xp.result_type(xp.float32, 1.0) == xp.float32 and xp.result_type(xp.int8, 3) == xp.int8
    assert (xp.iinfo(xp.int8).max, xp.finfo(xp.complex64).bits) == (127, 32)


def test_a_tensor_knows_its_namespace():
    x = xp.asarray([1.0, 2.0])
    assert x.__array_namespace__(api_version="2025.12") is xp
    assert xp.__array_api_version__ == "2025.12"
    assert x.to_device(x.device) is x
    assert xp.__array_namespace_info__().devices() == ["cpu"]
    with pytest.raises(ValueError, match=r"txc has the array API 2025\.12 and before, not '1999.1'"):
        x.__array_namespace__(api_version="1999.1")
    for refused in (lambda: x.to_device("cuda:0"), lambda: xp.zeros(2, device="tpu"), lambda: xp.finfo(xp.int8)):
        with pytest.raises(
            TxcError, match=r"tensors live on 'cpu', not on|finfo is of floating-point dtypes, not of i8"
        ):
            refused()


def test_copies_and_shared_memory():
    a = np.arange(3.0)
    shared, copied = xp.asarray(a, copy=False), xp.asarray(a, copy=True)
    shared[0] = 7.0
    assert a[0] == 7.0 and float(copied[0]) == 0.0
    with pytest.raises(ValueError, match="copy"):
        xp.asarray([1, 2], copy=False)
    np.testing.assert_array_equal(np.asarray(xp.from_dlpack(a)), a)


def test_the_namespace_lists_what_it_has():
    assert {*array_api.names()} <= {*dir(xp)}
    for name in array_api.names():
        assert getattr(xp, name) is not None or name == "newaxis"
    with pytest.raises(AttributeError, match="module 'txc' has no attribute 'nothing'"):
        xp.nothing  # noqa: B018


def test_results_that_are_new_arrays_take_stores():
    def made(x):
        results = [xp.tile(x, (2, 1)), xp.tile(x, (1,)), xp.repeat(x, 1), xp.roll(x, 0), xp.concat([x]), xp.stack([x])]
        for result in results:
            result[...] = 7
        return results

    x = xp.asarray([1.0, 2.0])
    assert all((np.asarray(result) == 7).all() for result in made(x)) and np.asarray(x).tolist() == [1, 2]
    given = np.array([1.0, 2.0])
    assert all((result == 7).all() for result in xp.jit(made)(given)) and given.tolist() == [1, 2]
