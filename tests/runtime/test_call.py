"""Addresses of arrays, which are read from NumPy's objects where these lie as in known builds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from txc.runtime.native_function import address_of
from txc.runtime.stub import cpython_layout


@pytest.fixture(autouse=True)
def asked_again() -> Iterator[None]:
    address_of.cache_clear()
    yield
    address_of.cache_clear()


@pytest.mark.parametrize("problem", ["", "objects lie elsewhere"])
def test_addresses(problem: str, monkeypatch: pytest.MonkeyPatch):
    if not problem and cpython_layout.problem():
        pytest.skip(cpython_layout.problem())
    monkeypatch.setattr(cpython_layout, "problem", lambda: problem)
    base = np.zeros((3, 4))
    arrays = [base, base[1:, ::-1], base.T, np.zeros((), np.float32), np.empty((0, 2)), np.zeros(5, np.bool_)[3:]]
    assert [address_of()(a) for a in arrays] == [a.ctypes.data for a in arrays]
