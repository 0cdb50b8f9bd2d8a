"""Calling compiled `.tx` functions."""

import numpy as np

import txc

SOURCE = """
def bump(x: f64[n]) -> f64:
    x[1:] += 1.0
    return x.sum()
"""


def test_stores_reach_an_argument_that_had_to_be_copied():
    swapped = np.arange(5.0).astype(">f8")
    misaligned = np.frombuffer(bytearray(41), np.uint8)[1:].view(np.float64)
    misaligned[:] = np.arange(5.0)
    for x in (np.arange(5.0), swapped, misaligned, np.arange(10.0)[::2], np.arange(5.0)[::-1]):
        expected = x.astype(float)
        expected[1:] += 1
        assert txc.compile_source(SOURCE).bump(x) == expected.sum()
        np.testing.assert_array_equal(x, expected)
