"""What one sees of tensors and functions at a prompt, in a debugger, in a notebook and in an f-string."""

from __future__ import annotations

import inspect
import pickle
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import txc

X = np.arange(6.0).reshape(2, 3)
LARGE = np.ones((1001, 1000))


def shown_as(array: np.ndarray, name: str = "Tensor") -> str:
    """NumPy's text of an array under another name, its lines below one another."""
    return repr(array.view(type(name, (np.ndarray,), {})))


def test_elements_are_shown_as_numpys():
    cases: list[tuple[Any, np.ndarray]] = [
        (txc.asarray(X) * 2 + 1, X * 2 + 1),
        (txc.asarray(X)[:, 1:], X[:, 1:]),
        (txc.asarray(X.astype(np.float32)) / 3, X.astype(np.float32) / 3),
        (txc.asarray(X) > 2, X > 2),
        (txc.asarray(X).astype("bf16"), X.astype(ml_dtypes.bfloat16)),
        (txc.asarray(X).sum(), np.asarray(X.sum())),
        (txc.asarray(np.zeros((0, 3))), np.zeros((0, 3))),
        (txc.asarray(LARGE), LARGE),
    ]
    for tensor, array in cases:
        assert repr(tensor) == shown_as(array)
    assert repr(cases[0][0]) == "Tensor([[ 1.,  3.,  5.],\n        [ 7.,  9., 11.]])"
    assert repr([cases[5][0]]) == "[Tensor(15.)]"
    assert repr(txc.asarray(X, layout="col")) == shown_as(X)[:-1] + ", layout='col')"
    fixed = txc.TensorFixedSize("f32", (2,))
    fixed[...] = 1
    assert repr(fixed) == "TensorFixedSize([1., 1.], dtype=float32)"


def test_nobody_waits_for_a_repr_and_it_raises_nothing():
    large = txc.asarray(LARGE) + 1
    assert repr(large) == "<Tensor f64[1001, 1000], not computed yet>"
    assert repr(large.sum()) == "<Tensor f64[], not computed yet>"
    np.asarray(large)
    assert repr(large) == shown_as(LARGE + 1)
    outside = txc.asarray(X[0])[txc.asarray(np.array([7]))]
    text = "<Tensor f64[1], which cannot be computed: index 7 is out of bounds for a dim of size 3>"
    assert repr(outside) == text and outside._repr_html_() == (
        "<div><code>Tensor f64[1]</code>, which cannot be computed: index 7 is out of bounds for a dim of size 3</div>"
    )


def without_styles(html: str) -> str:
    return re.sub(r' style="[^"]*"', "", html)


def test_html():
    elements = '<pre style="font-family: monospace">[[ True False False]\n [False False False]]</pre>'
    assert (txc.asarray(X) < 1)._repr_html_() == f"<div><code>Tensor bool[2, 3]</code>{elements}</div>"
    assert (txc.asarray(LARGE) + 1)._repr_html_() == (
        "<div><code>Tensor f64[1001, 1000]</code>, not computed yet</div>"
    )

    @txc.jit
    def f(x, *, a="<b>"):
        return x if a else -x

    assert f._repr_html_().endswith(".f(x, *, a=&#x27;&lt;b&gt;&#x27;)</code>: nothing is compiled yet</div>")
    f(X)
    f(X[0])
    table = without_styles(f._repr_html_())
    assert table.count("<tr>") == 3 and "<td>1</td><td>it was the first call</td><td>f64 array of rank 2" in table
    assert "<td>2</td><td>the facts were new: f64 array of rank 1" in table and "<th>units of work</th>" in table


@pytest.mark.vectors
def test_an_explanation_is_text_and_tables():
    bound = "<b>"

    @txc.jit
    def f(x):
        e = np.exp(x)
        return e / e.sum() if bound else x

    report = f.explain(X[0])
    assert isinstance(report, str) and report.startswith("f: f64[x.0]\n\nfacts that select this version")
    assert pickle.loads(pickle.dumps(report)) == report
    html = without_styles(report._repr_html_())
    assert html.startswith("<div><code>f: f64[x.0]</code><details open><summary>facts that select this version")
    assert "<pre>bound = &#x27;&lt;b&gt;&#x27;</pre>" in html and bound not in html
    assert "<th>decision</th><th>of</th><th>chosen</th>" in html and "<td>materialize</td>" in html
    for title in ("guards", "decisions", "kernels", "stages"):
        assert f"\n\n{title}" in report and f"<summary>{title}" in html
    tags = re.findall(r"<(/?)(\w+)", html)
    assert [tags.count(("", t)) for _, t in tags] == [tags.count(("/", t)) for _, t in tags]


@pytest.mark.parametrize(
    ("number", "spec"),
    [(1.5, ".2f"), (np.float32(0.1), ".3e"), (3, "04d"), (2.0, ">8"), (1 + 2j, ".1f"), (True, "d"), (1.25, "")],
)
def test_numbers_are_formatted_as_numpys(number: Any, spec: str):
    tensor = txc.asarray(np.asarray(number))
    assert f"{tensor:{spec}}" == f"{np.asarray(number)[()]:{spec}}"


def test_formats_of_arrays_and_of_other_numbers():
    assert f"{txc.asarray(1.5).astype('bf16'):.3f}" == "1.500" and f"{txc.asarray(X)[1, 2]:.1f}" == "5.0"
    assert f"{txc.asarray(X)}" == str(txc.asarray(X)) == "0 1 2\n3 4 5"
    with pytest.raises(TypeError, match=r"unsupported format string passed to Tensor\.__format__: '\.2f' is for a num"):
        format(txc.asarray(X), ".2f")
    with pytest.raises(ValueError, match="Unknown format code 'q'"):
        format(txc.asarray(1.0), "q")


def test_functions_of_tx_say_their_types():
    module = txc.compile_source(
        "def f(x: f32[n, m].col, k: i64) -> f32[n]:\n    return x.sum([1]) * k\n"
        "def g(x: f64[2*n]) -> (f64[2*n], f64):\n    return x, x.sum()\n"
        "def h(x: bool[n]):\n    return x\n",
        "three.tx",
    )
    assert str(inspect.signature(module.f)) == "(x: f32[n, m].col, k: i64) -> f32[n]"
    assert repr(module.g) == "<txc g(x: f64[2*n]) -> (f64[2*n], f64)>"
    assert repr(module.h) == "<txc h(x: bool[n])>" and repr(module) == "<txc module three.tx: f, g, h>"
    assert inspect.signature(module.f).parameters["k"].annotation.is_int
    assert str(inspect.signature(txc.jit(lambda x, *, n=2: x))) == "(x, *, n=2)"
