"""Functions without source are traced as they are, and say what that means for their loops and stores."""

import warnings
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

SOURCE = """
def product(x):
    s = x[0]
    for i in range(1, x.shape[0]):
        s = s * x[i]
    return s

def counted(x):
    i = 0
    while i < x.shape[0]:
        i += 1
    return x * i

def stored(x):
    out = np.zeros(x.shape)
    out[:] = x * 2
    return out

def straight(x):
    return np.exp(x) + 1
"""
X = np.arange(1.0, 6.0)


def function(name):
    scope: dict[str, Any] = {"np": np}
    exec(SOURCE, scope)
    return scope[name]


@pytest.mark.parametrize("name", ["product", "counted"])
def test_a_loop_is_a_warning_at_the_function_once(name):
    plain = function(name)
    f = txc.jit(plain)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default")
        assert np.array_equal(f(X), plain(X))
        f(X[:3])
    (warning,) = said
    assert str(warning.message) == (
        f"the source of {name} cannot be read, so it is traced as it is: its loops are unrolled, and code is compiled "
        "anew for each number of iterations. Define it in a file or a notebook cell [TX0323]"
    )
    assert (warning.filename, warning.lineno) == ("<string>", plain.__code__.co_firstlineno)


def test_without_a_loop_nothing_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.allclose(txc.jit(function("straight"))(X), np.exp(X) + 1)


def test_a_store_into_an_array_made_while_tracing_is_an_error():
    with pytest.raises(TxcError) as raised:
        txc.jit(function("stored"))(X)
    text = str(raised.value)
    assert "the source of stored cannot be read, so np.zeros and the like make arrays in it at once" in text
    assert "--> <string>:16, in stored" in text and "[TX0324]" in text
    assert "hint: define stored in a file or a notebook cell, or build the result with np functions" in text
