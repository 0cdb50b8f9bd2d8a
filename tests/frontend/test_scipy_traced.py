"""SciPy's functions of Python traced through inside compiled functions, where SciPy takes array API inputs.

SciPy asks ``SCIPY_ARRAY_API`` when it is imported, so this file is a program of its own too, run by the test.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import txc

X = np.array([[0.5, 1.25, 3.0, 0.75, 2.0, 1.5], [1.0, 0.25, 0.125, 4.0, 2.5, 3.5]])


def transforms(x: Any) -> list[Any]:
    from scipy import fft

    z = fft.fft(x)
    return [z, fft.ifft(x), fft.ihfft(x), fft.irfft(z), fft.fft2(x), fft.fftshift(x), fft.fftfreq(6) * x]


def sums(x: Any) -> list[Any]:
    from scipy import integrate, special

    return [
        special.softmax(x, axis=1),
        special.log_softmax(x, axis=1),
        special.logsumexp(x, axis=1),
        integrate.trapezoid(x, dx=0.5),
        integrate.cumulative_trapezoid(x, dx=0.5),
        integrate.cumulative_simpson(x, dx=0.5),
    ]


def statistics(x: Any) -> list[Any]:
    from scipy import constants, optimize, stats
    from scipy.cluster import vq

    return [
        stats.zscore(x, axis=1),
        stats.zmap(x, x, axis=1),
        stats.gmean(x, axis=1),
        stats.tmean(x, axis=1),
        stats.circmean(x, axis=1),
        stats.circvar(x, axis=1),
        vq.whiten(x, check_finite=False),
        optimize.rosen(x),
        optimize.rosen_der(x[0]),
        constants.convert_temperature(x, "C", "F"),
        constants.lambda2nu(x),
    ]


PROGRAMS: tuple[Callable[[Any], list[Any]], ...] = (transforms, sums, statistics)


def test_functions_of_scipy_are_traced() -> None:
    pytest.importorskip("scipy", reason="SciPy is not installed")
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    ran = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["transforms", "7", "sums", "6", "statistics", "11"]


if __name__ == "__main__":
    for program in PROGRAMS:
        found, expected = txc.jit(program)(X), program(X)
        for made, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(made, right, rtol=1e-12)
            assert made.dtype == right.dtype
        print(program.__name__, len(found))
