"""The same functions inside compiled functions: under `jit`, and in `.tx` as ``tensure.name``."""

from typing import Any

import numpy as np
import pytest

import txc
from txc import tensure as m


@txc.jit
def standardised(x: Any, weights: Any) -> Any:
    centred = m.sub(x, m.div(m.sum_along(x, 1), m.array(4)))
    m.mul_(centred, weights)
    return m.select_range(centred, "rest", "all")


def test_jit_takes_arrays_and_gives_arrays():
    x, w = np.arange(12, dtype="f4").reshape(3, 4), np.arange(4, dtype="f4")
    found = standardised(x, w)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, ((x - x.sum(1, keepdims=True) / 4) * w)[1:], 1e-6)


def test_jit_takes_tensors_and_gives_tensors():
    x, w = m.array(np.arange(12).reshape(3, 4)), m.array([0, 1, 2, 3])
    found = standardised(x, w)
    assert isinstance(found, m.Tensure) and m.shape(found) == [2, 4]
    m.add_(found, m.ones([4]))
    np.testing.assert_allclose(np.asarray(found), standardised(np.asarray(x), np.asarray(w)) + 1, 1e-6)


def test_sizes_that_decide_an_alignment_are_facts():
    f = txc.jit(lambda a, b: m.add(a, b))
    b = np.arange(2, dtype="f4")
    for columns in (3, 5, 2, 7):  # with 2 columns the right ends meet
        a = np.ones((2, columns), "f4")
        np.testing.assert_array_equal(f(a, b), a + (b if columns == 2 else b[:, None]))


def test_an_argument_is_changed_in_place():
    @txc.jit
    def double(x: Any) -> None:
        m.mul_(x, m.array(2))

    x = np.ones(5, "f4")
    double(x)
    assert (x == 2).all()


def test_seeds_may_be_arguments():
    f = txc.jit(lambda x, seed: m.add(x, m.sample_uniform(m.shape(x), seed)))
    x = np.zeros((3, 4), "f4")
    np.testing.assert_array_equal(f(x, 5), np.asarray(m.sample_uniform([3, 4], 5)))
    assert (f(x, 5) != f(x, 6)).any()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("m.sample_uniform([3])", "would draw the same numbers in every call"),
        ("m.set_rng_seed(1)", "would run only once"),
        ("m.permute_(x, [1, 0])", "permute_ inside a compiled function"),
        ("m.eseq(x)", "eseq"),
        ("m.add(x, 1)", "add takes tensors, and argument 1 is the int 1"),
        ("m.add(x, m.ones([5]))", "shapes"),
        ("m.fill_(OUTSIDE, 1)", "from outside the compiled function"),
    ],
)
def test_errors(body: str, message: str):
    with pytest.raises(Exception) as caught:
        txc.jit(eval(f"lambda x: {body}", {"m": m, "OUTSIDE": m.ones([2])}))(np.ones((2, 3), "f4"))
    assert message in str(caught.value)


PROGRAM = """
def f(x: f32[n, m], y: f32[n]) -> f32[n, m]:
    z = tensure.add(x, y)
    tensure.set_axis_range_(z, 0, "first", tensure.filled([m], 7))
    return tensure.shift(z, 1, 1)

def g(x: f32[n, m]) -> f32[m]:
    return tensure.argmax_along(tensure.reshape(x, [n, m]), 0)
"""


def test_tx_files_call_them_by_the_name_of_the_package():
    module = txc.compile_source(PROGRAM)
    x, y = np.arange(6, dtype="f4").reshape(2, 3), np.array([10, 20], "f4")
    np.testing.assert_array_equal(module.f(x, y), [[7, 7, 0], [24, 25, 0]])
    np.testing.assert_array_equal(module.g(x), [1, 1, 1])
    with pytest.raises(ValueError, match=r"2"):  # the right ends would meet
        module.f(x[:, :2].copy(), y)
    with pytest.raises(txc.TxcError, match=r"tensure has no function 'ad'(?s:.)*did you mean add"):
        txc.compile_source("def f(x: f32[n]) -> f32[n]:\n    return tensure.ad(x, x)").f(y)
