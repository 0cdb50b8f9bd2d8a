"""Printing: the formats that have a name, and formats of one's own, as the Eigen document defines them."""

from __future__ import annotations

import numpy as np
import pytest

import txc

X = np.array([[[1, -10], [2, 3]], [[4, 5], [66, 7]]])


def test_formats() -> None:
    t = txc.asarray(X)
    assert t.format("plain") == "  1 -10\n  2   3\n\n  4   5\n 66   7"
    assert t.format("numpy") == "[[[  1 -10]\n  [  2   3]]\n\n [[  4   5]\n  [ 66   7]]]"
    assert t.format("legacy") == "  1 -10\n  2   3\n  4   5\n 66   7"
    rows = txc.TensorIOFormat(
        separator=(", ", ";\n"), prefix=("", "<"), suffix=("", ">"), precision=3, fill=".", tensor_prefix="t:"
    )
    assert txc.asarray(np.array([[0.12345, 2], [33, 4]])).format(rows) == "t:<0.123, ....2>;\n  <...33, ....4>"
    plain = txc.TensorIOFormat(align=False)
    assert txc.asarray(np.array([1 + 2j, 0.5])).format(plain) == "(1,2) (0.5,0)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: txc.TensorIOFormat(separator=()), "separator of a TensorIOFormat is ()"),
        (lambda: txc.TensorIOFormat(fill="ab"), "fill of a TensorIOFormat is 'ab'"),
        (lambda: txc.TensorIOFormat(precision=0), "precision of a TensorIOFormat is 0"),
        (lambda: txc.asarray(X).format("csv"), "there is no tensor format 'csv'"),
    ],
)
def test_formats_that_there_are_not(make, message) -> None:
    with pytest.raises(ValueError, match=r"TensorIOFormat|tensor format") as raised:
        make()
    assert message in str(raised.value)
