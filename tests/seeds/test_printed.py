"""What the Eigen documents print is all tested: the places are counted, and those that are no `Example` are here."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import txc

from .printed import COUNTS, ONLY_NEWER, PRINTED
from .test_examples import EXAMPLES

TESTS = Path(__file__).parents[1]


def test_every_printed_place_has_its_tests() -> None:
    newer = sum(map(len, PRINTED.values()))
    assert (newer - sum(ONLY_NEWER.values()), newer) == COUNTS
    assert set(ONLY_NEWER) <= set(PRINTED)
    for places in PRINTED.values():
        for name in (name for place in places for name in place):
            path, _, function = name.partition("::")
            if not function:
                assert name in EXAMPLES
                continue
            tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
            assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name


def sizes(a):
    return a.ndim, a.shape[0], a.shape[1], a.dimension(1), a.size


@pytest.mark.parametrize("layout", ["row", "col"])
def test_metadata(layout: str) -> None:
    """Sizes and ranks, as text, and in compiled functions."""
    fixed = txc.TensorFixedSize("f32", (3, 4), layout=layout)
    mapped = txc.TensorMap(np.zeros((3, 4), np.float32, order="C" if layout == "row" else "F"), layout=layout)
    for a in (txc.Tensor("f32", (3, 4), layout=layout), fixed, mapped, mapped + fixed):
        d = a.dimensions()
        assert f"Dims {a.ndim}" == "Dims 2"
        assert f"Dim size: {len(d)}, dim 0: {d[0]}, dim 1: {d[1]}" == "Dim size: 2, dim 0: 3, dim 1: 4"
        assert f"Dim 1: {a.dimension(1)}" == "Dim 1: 4"
        assert f"Size: {a.size}" == "Size: 12"
        assert f"NumRows: {a.dimension(0)} NumCols: {a.dimension(1)}" == "NumRows: 3 NumCols: 4"
        assert f"Rank: {a.rank}" == "Rank: 2"
    for threads in (1, 4):
        assert tuple(map(int, txc.jit(sizes, threads=threads)(mapped))) == (2, 3, 4, 4, 12)
    kind = "f32[n, m]" if layout == "row" else "f32[n, m].col"
    module = txc.compile_source(
        f"def f(a: {kind}) -> (i64, i64, i64, i64):\n    return a.ndim, a.shape[0], a.shape[1], a.size\n"
    )
    assert tuple(map(int, module.f(np.zeros((3, 4), np.float32)))) == (2, 3, 4, 12)


@pytest.mark.parametrize("layout", ["row", "col"])
def test_random_elements(layout: str) -> None:
    """Which numbers there are is each library's own; their type, number and range are the documents'."""
    a = txc.Tensor("f32", (3, 4), layout=layout).set_random()
    found = np.asarray(a)
    assert found.dtype == np.float32 and found.shape == (3, 4) and len(np.unique(found)) == 12
    assert ((found >= 0) & (found < 1)).all()
    ones = txc.Tensor("f32", (2, 3), layout=layout).set_constant(1.0)
    noisy = np.asarray(ones + ones.random())
    assert noisy.shape == (2, 3) and ((noisy >= 1) & (noisy < 2)).all()

    def f(x):
        return x + x.random(seed=3)

    x = np.ones((2, 3), np.float32)
    one, four = (np.asarray(txc.jit(f, threads=threads)(x)) for threads in (1, 4))
    np.testing.assert_array_equal(one, four)
    assert ((one >= 1) & (one < 2)).all()


def test_text_is_no_element() -> None:
    """Eigen's tensors hold what can be copied, text too; these hold numbers."""
    with pytest.raises(txc.TxcError, match="no element type 'str': txc has bool, i8"):
        txc.Tensor("str", (2, 3))
    with pytest.raises(txc.TxcError, match="str 'yolo' is no tensor and cannot be made one"):
        txc.Tensor("f32", (2, 3)).set_constant("yolo")
