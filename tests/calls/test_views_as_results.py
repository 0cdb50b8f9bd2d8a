"""Results that share memory: with arguments, captured arrays and each other, as those of NumPy's functions do."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

CAPTURED = np.arange(12.0).reshape(3, 4)


def part(x):
    return x[1:, ::2]


def transposed(x):
    return x.T


def backwards(x):
    return x[::-1, ::-1]


def flattened(x):
    return x.reshape(-1)


def row(x):
    return x[1]


def itself(x):
    return x


def twice(x):
    return x, x, x[1:], x[1:]


def diagonal(x):
    return np.diagonal(x)


def spread(x):
    return np.broadcast_to(x, (2, *x.shape))


def named(x):
    return {"rows": [x[0], x[2]], "all": (x, x.T)}


def of_captured(x):
    return CAPTURED[1:], CAPTURED, x


def own(x):
    y = x * 2
    return y, y[1:], y.T, y.reshape(-1)


def own_twice(x):
    y = x + 1
    return y, y


def own_columns(x):
    y = np.copy(x.T)
    return y, y[1:], y.T.reshape(-1)


def own_product(x):
    y = x @ x.T
    return y, y.ravel()


def own_parts(x):
    y = x * 3
    return y[1:], y[:2]


def stored_before(x):
    x += 1
    return x[1:], x


def of_sums(x):
    s = x.sum(0)
    return s, s[1:], x.sum()


FUNCTIONS = [
    part, transposed, backwards, flattened, row, itself, twice, diagonal, spread, named, of_captured, own, own_twice,
    own_columns, own_product, own_parts, stored_before, of_sums,
]  # fmt: skip
LAYOUTS = {
    "rows": lambda: np.arange(12.0).reshape(3, 4),
    "columns": lambda: np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "strided": lambda: np.arange(48.0).reshape(6, 8)[::2, ::2],
    "backwards": lambda: np.arange(12.0).reshape(3, 4)[::-1],
    "integers": lambda: np.arange(12, dtype=np.int16).reshape(3, 4),
    "one row": lambda: np.arange(12.0).reshape(3, 4)[:, :3].copy(),
}


def arrays_in(result: Any) -> list[Any]:
    if isinstance(result, dict):
        return [a for part in result.values() for a in arrays_in(part)]
    return [a for part in result for a in arrays_in(part)] if isinstance(result, (tuple, list)) else [result]


def relations(result: Any, *others: np.ndarray) -> list[Any]:
    """What can be seen of where results are: their classes, layouts, and what they share with others and each other."""
    found = arrays_in(result)
    every = [*found, *others]
    facts = [(type(a), a.dtype, a.shape, getattr(a, "flags", None) and a.flags.writeable) for a in found]
    strides = [a.strides for a in found if any(np.shares_memory(a, o) for o in others)]
    same = [a is b for a in every for b in every]
    shared = [np.shares_memory(a, b) for a in every for b in every]
    return [facts, strides, same, shared, [a.tolist() for a in every]]


#: In which order NumPy lays out what they make is not known there, and with it what their reshapes are.
UNKNOWN = {(own, "columns"), (own, "strided"), (own, "backwards"), (own_columns, "strided"), (own_columns, "backwards")}


@pytest.mark.parametrize(("f", "layout"), [(f, layout) for f in FUNCTIONS for layout in LAYOUTS])
def test_results_share_what_numpys_share(f, layout):
    if (f, layout) in UNKNOWN:
        with pytest.raises(
            TxcError, match=r"whether reshape of f64\[x.shape\[0\], x.shape\[1\]\] is a view depends on strides"
        ):
            txc.jit(f)(LAYOUTS[layout]())
        return
    compiled = txc.jit(f)
    for _ in range(3):  # by Python, then by the native entry
        x, ours = LAYOUTS[layout](), LAYOUTS[layout]()
        assert relations(compiled(ours), ours, CAPTURED) == relations(f(x), x, CAPTURED)


@pytest.mark.parametrize("f", [part, transposed, backwards, flattened, row])
def test_stores_are_seen_both_ways(f):
    compiled = txc.jit(f)
    for _ in range(3):
        x, ours = LAYOUTS["rows"](), LAYOUTS["rows"]()
        expected, got = f(x), compiled(ours)
        expected[...] = 50
        got[...] = 50
        x[1] += 1
        ours[1] += 1
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(ours, x)


def test_a_view_keeps_its_array_alive():
    compiled = txc.jit(part)
    for _ in range(3):
        views = [compiled(np.full((3, 4), float(i))) for i in range(50)]
        assert [v[0, 0] for v in views] == [float(i) for i in range(50)]
        base = np.zeros((3, 4))
        assert compiled(base).base is base
        assert compiled(base[:]).base is base  # NumPy names the array that has the memory


def test_a_view_of_a_read_only_array_is_read_only():
    x = np.zeros((3, 4))
    x.flags.writeable = False
    compiled = txc.jit(part)
    for _ in range(3):
        assert not compiled(x).flags.writeable


def test_parts_of_complex_arrays():
    def parts(z):
        return z.real, z.imag[1:], z.T.imag

    compiled = txc.jit(parts)
    for _ in range(3):
        z = np.arange(6.0).reshape(2, 3) + 1j
        got, expected = compiled(z), parts(z)
        for ours, theirs in zip(got, expected):
            assert (ours.dtype, ours.strides) == (theirs.dtype, theirs.strides)
            np.testing.assert_array_equal(ours, theirs)
            assert np.shares_memory(ours, z)


def test_arrays_that_share_memory_come_back_themselves():
    def stores(a, b):
        a[0] = 7.0
        return a, b, b[1:]

    memory = np.arange(6.0)
    a, b = memory[:4], memory[2:]
    got = txc.jit(stores)(a, b)
    assert got[0] is a and got[1] is b and np.shares_memory(got[2], memory)
    assert got[2].tolist() == [3.0, 4.0, 5.0]


def test_what_cannot_be_walked_is_left_to_python():
    swapped = np.arange(12.0).reshape(3, 4).astype(np.dtype(float).newbyteorder())
    misaligned = np.zeros(97, np.uint8)[1:].view(float).reshape(3, 4)
    for x in (swapped, misaligned):
        compiled = txc.jit(part)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            got = compiled(x)
        assert np.shares_memory(got, x) and got.dtype == x.dtype
        assert "a result is a view of an array in a form that has to be copied first [TX0326]" in str(caught[0].message)


def test_what_no_strides_reach_is_a_copy():
    """Eigen's tiles, patches and padded arrays are index maps here, but no memory of another array has their order."""

    def of_argument(x):
        return x.broadcast([3, 2]), x.extract_patches([2, 2]), x.inflate([2, 1]), x.pad([(1, 0), (0, 1)])

    def of_its_own(x):
        y = x * 2.0
        return y, y[1:], y.broadcast([3, 2]), y.extract_patches([2, 2])

    x = np.arange(12.0).reshape(3, 4)
    tiles, patches, inflated, padded = txc.jit(of_argument)(x)
    np.testing.assert_array_equal(tiles, np.tile(x, (3, 2)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2)).reshape(-1, 2, 2)
    np.testing.assert_array_equal(patches, windows)
    np.testing.assert_array_equal(inflated[::2], x)
    np.testing.assert_array_equal(padded, np.pad(x, [(1, 0), (0, 1)]))
    y, rest, tiles, patches = txc.jit(of_its_own)(x)
    assert np.shares_memory(y, rest) and not np.shares_memory(y, tiles) and not np.shares_memory(y, patches)
    np.testing.assert_array_equal(tiles, np.tile(2.0 * x, (3, 2)))
    np.testing.assert_array_equal(patches, 2.0 * windows)


def test_out_takes_a_view_by_value():
    compiled = txc.jit(transposed)
    for _ in range(3):
        x, out = np.arange(12.0).reshape(3, 4), np.zeros((4, 3))
        assert compiled(x, out=out) is out
        np.testing.assert_array_equal(out, x.T)
        assert not np.shares_memory(out, x)
        with pytest.raises(ValueError, match=r"out= of transposed has shape \(3, 4\), the result has \(4, 3\)"):
            compiled(x, out=np.zeros((3, 4)))
        with pytest.raises(TypeError, match="out= of transposed has dtype int64, the result has float64"):
            compiled(x, out=np.zeros((4, 3), int))


def test_lazy_tensors_share_as_well():
    compiled = txc.jit(part)
    t = txc.asarray(np.arange(12.0).reshape(3, 4))
    got = compiled(t)
    got[0, 0] = 99.0
    assert float(t[1, 0]) == 99.0
    t[1, 2] = 5.0
    assert float(got[0, 1]) == 5.0


def test_lazy_tensors_that_share_memory_see_each_others_stores():
    def stores(a, b):
        b[0] = 5.0
        a[1] += b[0]
        return a, b

    compiled = txc.jit(stores)
    t, n = txc.asarray(np.arange(3.0)), np.arange(3.0)
    for parts in (lambda x: (x, x), lambda x: (x[1:], x[:2]), lambda x: (x[:2], x[1:])):
        got, expected = compiled(*parts(t)), stores(*parts(n))
        np.testing.assert_array_equal(np.asarray(t), n)
        for ours, theirs in zip(got, expected):
            np.testing.assert_array_equal(np.asarray(ours), theirs)


RANK_0 = [
    lambda x: x, lambda x: x + 1, lambda x: x[...], lambda x: x[()], lambda x: x.copy(), lambda x: x.T,
    lambda x: np.zeros(()), lambda x: np.array(3.0), lambda x: np.squeeze(x.reshape(1)),
    lambda x: np.where(x > 0, x, 0),
    lambda x: np.where(x > 0, 1, 0), lambda x: np.copy(x), lambda x: np.nan_to_num(x), lambda x: np.float32(x),
    lambda x: np.select([x > 1], [x]), lambda x: np.tensordot(x, x, 0), lambda x: np.kron(x, x), lambda x: x.conj(),
    lambda x: np.conj(x), lambda x: np.einsum("->", x), lambda x: np.heaviside(x, 1), lambda x: x.astype(int),
    lambda x: x.item(), lambda x: x.sum(), lambda x: 1, lambda x: float(x), lambda x: x.ndim, lambda x: bool(x > 1),
    lambda x: x > 1, lambda x: np.roll(x, 0), lambda x: np.atleast_1d(x), lambda x: np.add(x, 1), lambda x: x.imag,
    lambda x: np.full((), 2.0), lambda x: np.ones_like(x), lambda x: np.broadcast_to(x, ()), lambda x: (x, x),
]  # fmt: skip


@pytest.mark.parametrize("f", RANK_0)
def test_arrays_of_rank_0_are_no_scalars(f):
    compiled = txc.jit(f)
    for _ in range(3):
        x = np.array(3.0)
        got, expected = compiled(x), f(x)
        for ours, theirs in zip(arrays_in(got), arrays_in(expected)):
            assert type(ours) is type(theirs) and ours == theirs
            assert (ours is x) == (theirs is x)
            assert np.shares_memory(ours, x) == np.shares_memory(theirs, x)


def test_views_stand_beside_constants_in_every_call():
    """The third call of a version is of another path than the first, which numbers what it gives back as it is."""

    def f(x):
        return x[1:], "a", {"k": x.T, 2: 3.5}, None, [x, False]

    jitted = txc.jit(f)
    for n in range(3, 9):
        x = np.arange(float(n))
        for _ in range(3):
            part, text, named, nothing, (same, flag) = jitted(x)
            assert (text, [*named], named[2], nothing, flag) == ("a", ["k", 2], 3.5, None, False)
            assert same is x and part.base is not None and np.shares_memory(part, x) and np.shares_memory(named["k"], x)


def test_identity_of_arguments_is_a_fact_of_the_call():
    def same(x, y):
        return x is y, x is not y, x is x

    compiled = txc.jit(same)
    a, b, empty = np.arange(3.0), np.arange(3.0), np.zeros(0)
    for _ in range(3):
        for x, y in ((a, b), (a, a), (a, a[:]), (a, a[1:]), (empty, empty), (empty, np.zeros(0))):
            assert compiled(x, y) == same(x, y)


KEPT = """
import numpy as np, txc
@txc.jit
def f(x):
    return x[1:], x.T, np.zeros(()), x is CAPTURED
CAPTURED = np.zeros((3, 4))
x = np.arange(12.0).reshape(3, 4)
for _ in range(3):
    got = f(x)
    assert np.shares_memory(got[0], x) and np.shares_memory(got[1], x) and type(got[2]) is np.ndarray
print(f.explain_cache())
"""


def test_views_come_from_the_cache(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(KEPT)
    texts = [
        subprocess.run(
            [sys.executable, str(program)], capture_output=True, text=True, check=True,
            env={**os.environ, "TXC_CACHE_DIR": str(tmp_path / "cache")},
        ).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert "miss" in texts[0] and "hit, neither staged nor compiled" in texts[1]


def test_a_call_that_does_not_fit_a_version_of_strides_makes_another():
    """Its first version has a fact of strides, by which the size of a result is known."""

    @txc.jit
    def f(m, n):
        a = m.T[1]
        for _ in range(n):
            a = m.reshape(-1)
        return a

    m = np.arange(24.0).reshape(4, 6)[:, ::2]
    np.testing.assert_array_equal(f(m, 3), m.reshape(-1))
    np.testing.assert_array_equal(f(m, 0), m.T[1])
