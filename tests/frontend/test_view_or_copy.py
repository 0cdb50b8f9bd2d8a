"""What shares memory with an argument in NumPy does in a jitted function: for each function and layout, by stores."""

from __future__ import annotations

import itertools
import runpy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.call.facts import stride_fact
from txc.compiler.call.signature import BoxedOutput, ViewOutput
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.tensor.views.view_or_copy import RULES, Rule
from txc.compiler.interpret.graph import run_graph
from txc.dialects.dims.dims import parse_dim
from txc.runtime.buffers.array_view import array_view
from txc.runtime.check_errors import unpacked

BASE = np.arange(1.0, 97.0)
#: Arguments by layout: each call makes a fresh array.
LAYOUTS: dict[str, Callable[[], np.ndarray]] = {
    "C": lambda: BASE[:12].copy().reshape(3, 4),
    "F": lambda: np.asfortranarray(BASE[:12].reshape(3, 4)),
    "transposed": lambda: BASE[:12].copy().reshape(4, 3).T,
    "padded rows": lambda: BASE[:24].copy().reshape(4, 6)[1:4, 1:5],
    "every other column": lambda: BASE[:24].copy().reshape(3, 8)[:, ::2],
    "every other row": lambda: BASE[:24].copy().reshape(6, 4)[::2],
    "reversed": lambda: BASE[:12].copy().reshape(3, 4)[::-1, ::-1],
    "reversed rows": lambda: BASE[:12].copy().reshape(3, 4)[::-1],
    "one row": lambda: BASE[:4].copy().reshape(1, 4),
    "one column": lambda: BASE[:4].copy().reshape(4, 1),
    "one strided column": lambda: BASE[:12].copy().reshape(3, 4)[:, 1:2],
    "one strided row": lambda: BASE[:12].copy().reshape(3, 4)[1:2, ::2],
    "square": lambda: BASE[:9].copy().reshape(3, 3),
    "no rows": lambda: BASE[:0].copy().reshape(0, 4),
    "vector": lambda: BASE[:6].copy(),
    "strided vector": lambda: BASE[:12].copy()[::2],
    "reversed vector": lambda: BASE[:6].copy()[::-1],
    "one element": lambda: BASE[:1].copy(),
    "scalar": lambda: np.array(6.0),
    "cube": lambda: BASE[:24].copy().reshape(2, 3, 4),
    "shuffled cube": lambda: BASE[:24].copy().reshape(2, 3, 4).transpose(1, 0, 2),
    "complex": lambda: BASE[:6].reshape(2, 3) * (1 + 2j),
    "complex columns": lambda: (BASE[:6].reshape(2, 3) * (1 + 2j)).T,
    "ints": lambda: np.arange(6).reshape(2, 3),
}

EXPRESSIONS: dict[str, str] = {
    "asarray": "np.asarray(x)",
    "asarray of its dtype": "np.asarray(x, x.dtype)",
    "asarray of another dtype": "np.asarray(x, np.complex64)",
    "asarray order C": 'np.asarray(x, order="C")',
    "asarray order F": 'np.asarray(x, order="F")',
    "asanyarray": "np.asanyarray(x)",
    "array": "np.array(x)",
    "array copy=False": "np.array(x, copy=False)",
    "array copy=None": "np.array(x, copy=None)",
    "array copy=None ndmin": "np.array(x, copy=None, ndmin=3)",
    "ascontiguousarray": "np.ascontiguousarray(x)",
    "asfortranarray": "np.asfortranarray(x)",
    "require C": 'np.require(x, requirements="C")',
    "require F": 'np.require(x, requirements=["F_CONTIGUOUS", "W"])',
    "atleast_1d": "np.atleast_1d(x)",
    "atleast_2d": "np.atleast_2d(x)",
    "atleast_3d": "np.atleast_3d(x)",
    "astype": "x.astype(x.dtype)",
    "astype copy=False": "x.astype(x.dtype, copy=False)",
    "np.astype copy=False": "np.astype(x, x.dtype, copy=False)",
    "astype other copy=False": "x.astype(np.complex64, copy=False)",
    "real": "np.real(x)",
    "imag": "np.imag(x)",
    "x.real": "x.real",
    "x.imag": "x.imag",
    "x.real.T.ravel": "x.real.T.ravel()",
    "squeeze": "np.squeeze(x)",
    "x.squeeze": "x.squeeze()",
    "expand_dims": "np.expand_dims(x, 0)",
    "transpose": "np.transpose(x)",
    "x.transpose": "x.transpose()",
    "x.T": "x.T",
    "x.mT": "x.mT",
    "matrix_transpose": "np.matrix_transpose(x)",
    "permute_dims": "np.permute_dims(x, (1, 0))",
    "swapaxes": "np.swapaxes(x, 0, 1)",
    "x.swapaxes": "x.swapaxes(0, -1)",
    "moveaxis": "np.moveaxis(x, 0, -1)",
    "rollaxis": "np.rollaxis(x, 1)",
    "flip": "np.flip(x)",
    "flipud": "np.flipud(x)",
    "fliplr": "np.fliplr(x)",
    "rot90": "np.rot90(x)",
    "rot90 by none": "np.rot90(x, 0)",
    "diagonal": "np.diagonal(x)",
    "x.diagonal": "x.diagonal(1)",
    "linalg.diagonal": "np.linalg.diagonal(x)",
    "diag": "np.diag(x)",
    "broadcast_to": "np.broadcast_to(x, (2, *x.shape))",
    "broadcast_to itself": "np.broadcast_to(x, x.shape)",
    "broadcast_arrays": "np.broadcast_arrays(x, x)[0]",
    "split": "np.split(x, [1])[1]",
    "array_split": "np.array_split(x, 2)[0]",
    "hsplit": "np.hsplit(x, [1])[0]",
    "vsplit": "np.vsplit(x, [1])[0]",
    "unstack": "np.unstack(x)[0]",
    "ravel": "np.ravel(x)",
    "x.ravel": "x.ravel()",
    "ravel F": 'x.ravel("F")',
    "ravel A": 'x.ravel("A")',
    "ravel K": 'np.ravel(x, order="K")',
    "ravel of T": "x.T.ravel()",
    "reshape": "np.reshape(x, -1)",
    "x.reshape": "x.reshape(x.size)",
    "reshape column": "x.reshape(-1, 1)",
    "reshape same": "x.reshape(x.shape)",
    "reshape halves": "x.reshape(2, -1)",
    "reshape F": 'x.reshape(-1, order="F")',
    "reshape A": 'np.reshape(x, -1, order="A")',
    "reshape of T": "x.T.reshape(-1)",
    "reshape of a part": "x[1:].reshape(-1)",
    "reshape of some columns": "x[:, 1:].reshape(-1)",
    "reshape of columns": "x[:, ::2].reshape(-1)",
    "reshape of a flip": "x[::-1].reshape(-1)",
    "reshape of a full flip": "x[::-1, ::-1].reshape(-1)",
    "part of a reshape": "x.T.reshape(-1)[1:]",
    "reshape copy": "np.reshape(x, -1, copy=True)",
    "flatten": "x.flatten()",
    "flatten F": 'x.flatten("F")',
    "flat": "x.flat[:]",
    "copy": "x.copy()",
    "np.copy": "np.copy(x)",
    "view": "x.view()",
    "tile": "np.tile(x, 1)",
    "tile twice": "np.tile(x, 2)",
    "repeat": "np.repeat(x, 1)",
    "repeat axis": "np.repeat(x, 1, axis=0)",
    "concatenate": "np.concatenate([x])",
    "stack": "np.stack([x])",
    "vstack": "np.vstack([x])",
    "hstack": "np.hstack([x])",
    "column_stack": "np.column_stack([x])",
    "block": "np.block([x])",
    "append": "np.append(x, np.array([], x.dtype))",
    "where": "np.where(True, x, x)",
    "take": "np.take(x, [0], axis=0)",
    "x.take": "x.take([0])",
    "roll": "np.roll(x, 0)",
    "resize": "np.resize(x, (4,))",
    "nan_to_num": "np.nan_to_num(x)",
    "nan_to_num copy=False": "np.nan_to_num(x, copy=False)",
    "clip": "np.clip(x, None, None)",
    "positive": "+x",
    "absolute": "np.abs(x)",
    "floor": "np.floor(x)",
    "around": "np.round(x)",
    "trunc": "np.trunc(x)",
    "conjugate": "np.conjugate(x)",
    "power 1": "x**1",
    "sort": "np.sort(x)",
    "sum of none": "np.sum(x, axis=())",
    "cumsum": "np.cumsum(x)",
    "tril": "np.tril(x)",
    "ix_": "np.ix_(x, x)[0]",
    "meshgrid": "np.meshgrid(x)[0]",
    "einsum": "np.einsum('ij->ji', x)",
    "einsum of itself": "np.einsum('ij', x)",
    "einsum of sums": "np.einsum('ij->j', x)",
    "einsum of two": "np.einsum('ij,->ji', x, 1)",
    "everything": "x[...]",
    "slice": "x[1:]",
    "step": "x[::2]",
    "backwards": "x[::-1]",
    "new axis": "x[None]",
    "new axes": "x[:, np.newaxis, ..., None]",
    "list": "x[[0]]",
    "windows": "np.lib.stride_tricks.sliding_window_view(x, 2, 0)",
    "product then ravel": "(x * x).T.ravel()",
    "copied then ravel": "np.copy(x).ravel()",
    "copied in rows then ravel": "x.copy().T.reshape(-1)",
}

#: Expressions that have no form here for some layouts; the calls are errors of this code.
REFUSED = {
    ("repeat axis", "scalar"): "TX0103", ("take", "scalar"): "TX0103",
    ("around", "complex"): "TX0112", ("around", "complex columns"): "TX0112",
}  # fmt: skip


#: What NumPy makes of strides that are known only at run time, where arrays are made of such.
OF_ORDER_K = ("ravel K", "product then ravel", "copied then ravel")

#: What is done with `y`, the value of an expression of the argument `x`.
PROGRAMS = {
    "written": "y[...] = 50",
    "followed": "x[...] = 60",
    "in part": "y[..., 0] = 50; x[..., -1] += 7",
    "returned": "",
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Any]:
    """The program that does one of `PROGRAMS` with an expression, from a source file, which staging needs."""
    return written_to(tmp_path_factory.mktemp("programs") / "programs.py")


def written_to(path: Path) -> Callable[[str, str], Any]:
    names = {key: f"program{i}" for i, key in enumerate(itertools.product(EXPRESSIONS, PROGRAMS))}
    texts = [
        f"def {name}(x):\n    y = {EXPRESSIONS[expression]}\n    {PROGRAMS[stores]}\n    return y\n"
        for (expression, stores), name in names.items()
    ]
    path.write_text("\n".join(["import numpy as np\n", *texts]))
    module = runpy.run_path(str(path))
    return lambda expression, stores: module[names[expression, stores]]


def run(program: Any, x: np.ndarray, before: np.ndarray) -> Any:
    """The traced program's result, by the interpreter; `x` is written as the program writes it.

    `before` is another such argument.
    """
    graph = txc.jit(program).graph(x)
    outputs = run_graph(graph, {"x": before}) if graph.outputs else []
    if graph.checks and (word := int(outputs[-1])):
        raise graph.checks[unpacked(word).number]._replace(size=0).raised(unpacked(word).place)
    for number, given in graph.aliases.items():
        if not graph.inputs[given].hidden:
            x[...] = outputs[number]
            outputs[number] = x
    part = graph.structure
    if isinstance(part, ViewOutput):
        assert part.base == ("input", 0)
        dims, strides, (offset,) = (
            [graph.table.hint(parse_dim(text)) or 0 for text in texts]
            for texts in (part.dims, part.strides, [part.offset])
        )
        return array_view(x, np.dtype(part.element), dims, strides, offset, part.read_only)
    assert isinstance(part, int)
    return outputs[part] if outputs[part].ndim or isinstance(part, BoxedOutput) else outputs[part][()]


def verdict(program: Any, make: Callable[[], np.ndarray]) -> str:
    """What became of a program: same, refused (by code), raised as NumPy does, or how it differs."""
    x, ours = make(), make()
    error: Exception | None = None
    expected: Any = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = program(x)
        except (ValueError, TypeError, IndexError, AttributeError) as raised:
            error = raised
    if isinstance(error, TypeError) and "item assignment" in str(error):
        return "a scalar"
    if error is None and not isinstance(expected, np.ndarray | np.generic):
        return "a number of Python's"
    try:
        got = run(program, ours, make())
    except TxcError as refused:
        return "raised" if error is not None else f"refused {refused.code}"
    except (ValueError, TypeError, IndexError, AttributeError):
        return "raised" if error is not None else "raised alone"
    if error is not None:
        return f"not raised: {error}"
    if got.shape != np.shape(expected) or got.dtype != expected.dtype:
        return f"{got.dtype}{got.shape} for {expected.dtype}{np.shape(expected)}"
    if not np.array_equal(got, expected):
        return "another result"
    if type(got) is not type(expected):
        return f"{type(got).__name__} for {type(expected).__name__}"
    if isinstance(expected, np.ndarray):
        if (got is ours) != (expected is x) and expected.ndim:
            return "another object" if expected is x else "the argument"
        if np.shares_memory(got, ours) != np.shares_memory(expected, x):
            return f"{'no ' * (got.base is None)}view of the argument"
        if got.flags.writeable != expected.flags.writeable:
            return f"{'' if got.flags.writeable else 'not '}writeable"
    return "same" if np.array_equal(ours, x) else "another argument"


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_stores_reach_what_numpy_shares(name, programs):
    for stores, (layout, make) in itertools.product(PROGRAMS, LAYOUTS.items()):
        found = verdict(programs(name, stores), make)
        allowed = {"same", "raised", "a scalar", "a number of Python's", f"refused {REFUSED.get((name, layout))}"}
        if name in OF_ORDER_K and stride_fact(make())[0] == "strides":
            allowed.add("refused TX0223")
        assert found in allowed, f"{name} of {layout}, {stores}: {found}"


#: A call of each function of the table.
CALLS: dict[Any, Callable[[np.ndarray], Any]] = {
    np.transpose: np.transpose, np.permute_dims: np.permute_dims, np.matrix_transpose: np.matrix_transpose,
    np.linalg.matrix_transpose: np.linalg.matrix_transpose, np.swapaxes: lambda x: np.swapaxes(x, 0, 1),
    np.moveaxis: lambda x: np.moveaxis(x, 0, 1), np.rollaxis: lambda x: np.rollaxis(x, 1), np.squeeze: np.squeeze,
    np.expand_dims: lambda x: np.expand_dims(x, 0), np.flip: np.flip, np.flipud: np.flipud, np.fliplr: np.fliplr,
    np.rot90: np.rot90, np.split: lambda x: np.split(x, 1)[0], np.array_split: lambda x: np.array_split(x, 1)[0],
    np.hsplit: lambda x: np.hsplit(x, 1)[0], np.vsplit: lambda x: np.vsplit(x, 1)[0],
    np.dsplit: lambda x: np.dsplit(x[..., None], 1)[0], np.unstack: lambda x: np.unstack(x)[0],
    np.atleast_1d: np.atleast_1d, np.atleast_2d: np.atleast_2d, np.atleast_3d: np.atleast_3d,
    np.ix_: lambda x: np.ix_(x[0], x[0])[0], np.real: np.real, np.imag: lambda x: np.imag(x),
    np.broadcast_arrays: lambda x: np.broadcast_arrays(x, x)[0], np.broadcast_to: lambda x: np.broadcast_to(x, x.shape),
    np.diagonal: np.diagonal, np.diag: np.diag, np.linalg.diagonal: np.linalg.diagonal,
    np.reshape: lambda x: np.reshape(x, -1), np.ravel: np.ravel, np.ascontiguousarray: np.ascontiguousarray,
    np.asfortranarray: np.asfortranarray, np.asarray: np.asarray, np.asanyarray: np.asanyarray,
    np.require: np.require, np.einsum: lambda x: np.einsum("ij->ji", x), np.array: lambda x: np.array(x, copy=False),
    np.astype: lambda x: np.astype(x, x.dtype, copy=False), np.nan_to_num: lambda x: np.nan_to_num(x, copy=False),
    np.meshgrid: lambda x: np.meshgrid(x[0], x[0], copy=False)[0],
    np.lib.stride_tricks.sliding_window_view: lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2)),
}  # fmt: skip
MATRICES = ("C", "F", "padded rows", "every other column", "reversed", "square", "complex", "complex columns")


@pytest.mark.parametrize("f", RULES, ids=lambda f: f.__name__)
def test_the_table_is_what_numpy_does(f):
    shared = []
    for layout in MATRICES:
        x = LAYOUTS[layout]()
        if f is np.imag and x.dtype.kind != "c":
            continue
        result = CALLS[f](x)
        shared.append(np.shares_memory(result, x))
        assert f is np.meshgrid or result.flags.writeable == (RULES[f].rule is not Rule.READ_ONLY)
    expected = {True, False} if RULES[f].rule is Rule.STRIDES else {True}
    assert set(shared) == expected


def stored_by_kin(x):
    y = np.asarray(x)
    y[0] = 5
    z = np.atleast_3d(x).T
    z[0, 1] += 1
    w = np.ascontiguousarray(x)
    w[1] = 3
    return w


def stored_flat(x):
    flat = x.ravel()
    turned = x.T.reshape(-1)
    flat[1:3] = -1
    x[2] = 8
    turned[0] = 100
    return flat, turned


def stored_in_a_loop(x):
    rows = x.reshape(-1)
    columns = x.T.ravel()
    for i in range(x.shape[0]):
        x[i] = rows[0] + i
        rows[i] += 1
        columns[i] -= 1
    return rows, columns


@pytest.mark.parametrize("f", [stored_by_kin, stored_flat, stored_in_a_loop])
@pytest.mark.parametrize("layout", ["C", "F", "transposed", "one row", "one column", "square"])
def test_compiled_for_the_layout_of_the_argument(f, layout):
    jitted = txc.jit(f)
    # Code for another layout, which this one must not get.
    jitted(np.ones((3, 5)))
    jitted(np.asfortranarray(np.ones((4, 5))))
    x, ours = LAYOUTS[layout](), LAYOUTS[layout]()
    try:
        expected = f(x)
    except IndexError:
        with pytest.raises(IndexError):
            jitted(ours)
        return
    got = jitted(ours)
    np.testing.assert_array_equal(ours, x)
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_array_equal(g, e)


def diagonal_by_einsum(x):
    # Of square matrices only: of a row NumPy makes a view beyond its memory.
    y = np.einsum("ii->i", x)
    y[...] = 50
    x[0] = 60
    return y


def test_a_diagonal_by_einsum_can_be_stored_into():
    x, ours = LAYOUTS["square"](), LAYOUTS["square"]()
    np.testing.assert_array_equal(txc.jit(diagonal_by_einsum)(ours), diagonal_by_einsum(x))
    np.testing.assert_array_equal(ours, x)


def stores_into_an_unknown(x):
    y = x.reshape(-1)
    y[0] = 1
    return y.sum()


def reads_an_unknown(x):
    y = x.reshape(-1)
    x[0] = 1
    return y


def reads_it_before(x):
    y = x.reshape(-1).sum()
    x[0] = 1
    return y


def stores_into_a_copy(x):
    y = x.reshape(-1).copy()
    y[0] = 100
    x[0] = 1
    return y


STRIDED = (
    lambda: np.ones((4, 6))[:, 1:5], lambda: np.ones((4, 6)), lambda: np.ones((4, 6))[:1, :],
    lambda: np.ones((8, 6))[::2], lambda: np.ones((6, 4)).T, lambda: np.ones((8, 6))[::2, ::2],
)  # fmt: skip


@pytest.mark.parametrize("f", [stores_into_an_unknown, reads_an_unknown, reads_it_before, stores_into_a_copy])
def test_strides_of_the_call_decide(f):
    """One compiled function, whose arguments lie in memory now so and now otherwise."""
    compiled = txc.jit(f)
    for make in (*STRIDED, *STRIDED[::-1]):
        ours, theirs = make(), make()
        np.testing.assert_array_equal(compiled(ours), f(theirs))
        np.testing.assert_array_equal(ours, theirs)


def flat_stores(x):
    x.flat[1] = 7
    x.T.flat[2:4] = 9
    x[:2].flat = x[0, 0] - 1
    first = x.flat[:2]
    first[0] = 100
    return first, x.flat[3], len(x.flat)


@pytest.mark.parametrize("layout", ["C", "F", "padded rows", "reversed", "every other column"])
def test_stores_through_flat_reach_any_layout(layout):
    x, ours = LAYOUTS[layout](), LAYOUTS[layout]()
    expected, got = flat_stores(x), txc.jit(flat_stores)(ours)
    np.testing.assert_array_equal(ours, x)
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_array_equal(g, e)


EAGER = {
    "T": lambda x: x.T,
    "reshape": lambda x: x.reshape(-1),
    "ravel": lambda x: x.ravel(),
    "reshape of T": lambda x: x.T.reshape(-1),
    "ravel of T": lambda x: x.T.ravel(),
    "part": lambda x: x[1:].reshape(-1),
    "columns": lambda x: x[:, 1:].reshape(-1),
    "flip": lambda x: np.flip(x),
    "tile": lambda x: np.tile(x, 1),
    "repeat": lambda x: np.repeat(x, 1, axis=0),
    "roll": lambda x: np.roll(x, 0),
    "concatenate": lambda x: np.concatenate([x]),
    "squeeze": lambda x: np.squeeze(x),
    "atleast": lambda x: np.atleast_3d(x),
    "astype": lambda x: x.astype(x.dtype),
    "astype copy=False": lambda x: x.astype(x.dtype, copy=False),
    "nan_to_num": lambda x: np.nan_to_num(x, copy=False),
    "flatten": lambda x: x.flatten(),
    "copy": lambda x: x.copy(),
    "diagonal": lambda x: np.diagonal(x),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, *x.shape)),
}


@pytest.mark.parametrize("name", EAGER)
def test_eager_tensors_share_as_arrays_do(name):
    f = EAGER[name]
    x = np.arange(12.0).reshape(3, 4)
    ours = txc.asarray(x.copy())
    expected, got = f(x), f(ours)
    try:
        expected[...] = 50
    except ValueError:
        with pytest.raises(TxcError, match="read-only"):
            got[...] = 50
        return
    got[...] = 50
    np.testing.assert_array_equal(np.asarray(got), expected)
    np.testing.assert_array_equal(np.asarray(ours), x)


@pytest.mark.parametrize("f", [
    lambda x: x.copy(), lambda x: np.copy(x), lambda x: np.tile(x, 1), lambda x: x.astype(x.dtype),
    lambda x: x.flatten(), lambda x: x.T.reshape(-1), lambda x: x.T.copy(), lambda x: np.roll(x, 0),
    lambda x: np.repeat(x, 1, axis=0), lambda x: np.reshape(x, -1, copy=True),
])  # fmt: skip
@pytest.mark.parametrize("layout", ["row", "col"])
def test_copies_of_what_is_in_memory_see_no_later_stores(f, layout):
    x = np.arange(6.0).reshape(2, 3)
    ours = txc.Tensor("f64", (2, 3), layout=layout)
    ours[...] = txc.asarray(x, layout=layout)
    got, before = f(ours), np.asarray(f(ours)).copy()
    ours[0] = 99
    np.testing.assert_array_equal(np.asarray(got), before)
    got[...] = -1
    np.testing.assert_array_equal(np.asarray(ours)[0], 99)
    assert not (np.asarray(ours) == -1).any()


def test_integers_of_the_same_width_are_in_the_same_memory():
    def stores(x: np.ndarray) -> tuple[np.ndarray, ...]:
        bits = x.view(np.uint64)
        bits[::2] ^= np.uint64(5)
        bits[1, 0] = np.uint64(2**63 + 1)
        return bits, x.T.view("uint64"), x + 1

    for layout in ("C", "transposed", "reversed rows", "every other column"):
        got, expected = ((LAYOUTS[layout]() - 5).astype(np.int64) for _ in range(2))
        results = txc.jit(stores)(got)
        for a, b in zip(results, stores(expected), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(got, expected)
        assert [np.shares_memory(a, got) for a in results] == [True, True, False]


def test_bools_as_bytes():
    def runs(mask: np.ndarray) -> tuple[Any, ...]:
        return np.diff(np.concatenate(([0], mask.view(np.int8), [0]))), mask.view("uint8")[-1], mask[0].view(np.uint8)

    mask = np.array([True, True, False, True])
    got, expected = txc.jit(runs)(mask), runs(mask)
    for a, b in zip(got, expected, strict=True):
        assert type(a) is type(b) and a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_bits_that_no_integer_has_are_refused():
    def store(mask: np.ndarray) -> None:
        mask.view(np.uint8)[0] = 2

    cases: list[tuple[Callable[..., Any], np.ndarray, str]] = [
        (store, np.ones(2, bool), r"a store into a view of bool\[mask.shape\[0\]\] as uint8"),
        (lambda x: x.view(np.int64), np.ones(2), "view of f64.* is not supported"),
        (lambda x: x.view(np.int32), np.arange(2), "view of i64.* is not supported"),
        (lambda x: x.view(bool), np.ones(2, np.uint8), "view of u8.* is not supported"),
    ]
    for f, x, text in cases:
        with pytest.raises(TxcError, match=text):
            txc.jit(f)(x)


def test_views_from_before_a_size_became_known():
    def f(x):
        y, z, w = np.broadcast_to(x[0], (2, x.shape[1])), x[:, : x.shape[1]], x.T.reshape(x.shape[1], -1)
        p = x.reshape((x.size // 2, 2), order="F")  # which a reshape of this layout takes for a fact of the call
        z[0, 0], w[0, 1] = 5, 7
        q = z if x[1, 1] > 0 else x[:, : x.shape[1]]
        return p, y, z, w, q, x

    compiled = txc.jit(f)
    for x in (np.arange(8.0).reshape(4, 2), np.arange(12.0).reshape(4, 3), np.asfortranarray(np.ones((4, 2)))):
        ours, theirs = x.copy(order="K"), x.copy(order="K")
        for got, expected in zip(compiled(ours), f(theirs), strict=True):
            np.testing.assert_array_equal(got, expected)
            assert np.shares_memory(got, ours) == np.shares_memory(expected, theirs)
        np.testing.assert_array_equal(ours, theirs)
