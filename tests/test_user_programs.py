"""Programs as users write them (`examples/programs`) do under `jit` what they do in Python.

Those that are refused stand in `REFUSED` with the code; one that begins to work has to leave the table.
"""

from __future__ import annotations

import copy
import importlib
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

sys.path.insert(0, str(Path(__file__).parent.parent))

FIELDS = ("images_and_signals", "machine_learning", "finance", "simulation", "data_analysis")
CASES = {
    f.__name__: (f, make, small)
    for field in FIELDS
    for f, (make, small, _) in importlib.import_module(f"examples.programs.{field}").CASES.items()
}

#: Programs that are refused, and the code of the error.
REFUSED = {
    "gaussian_blur": "TX0202",
    "block_dct": "TX0141",
    "adam": "TX0320",
    "dropout": "TX0321",
    "shuffled_epochs": "TX0321",
    "monte_carlo_seeded": "TX0321",
    "rk45_trajectory": "TX0315",
    "bootstrap_seeded": "TX0321",
    "summary": "TX0317",
}  # fmt: skip


def assert_same(got: Any, expected: Any) -> None:
    """Equal types, dtypes, shapes and structure; floats to nine digits, for sums are in another order."""
    assert type(got) is type(expected), (got, expected)
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for a, b in zip(got, expected):
            assert_same(a, b)
    elif isinstance(expected, dict):
        assert list(got) == list(expected)
        for key in expected:
            assert_same(got[key], expected[key])
    elif isinstance(expected, (np.ndarray, np.generic, float)):
        assert np.asarray(got).dtype == np.asarray(expected).dtype
        assert np.shape(got) == np.shape(expected)
        assert np.allclose(got, expected, 1e-9, 1e-9, equal_nan=True)
    else:
        assert got == expected


def run(f: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The result with the arguments as they are left."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return f(*arguments), arguments


@pytest.mark.parametrize("name", CASES)
def test_a_program_does_what_it_does_in_python(name: str):
    """The second call has other numbers: what was taken for a fact of the first one would be seen."""
    f, make, small = CASES[name]
    compiled = txc.jit(f)
    for seed in range(2):
        arguments = make(np.random.default_rng(seed), small)
        ours = copy.deepcopy(arguments)
        if name in REFUSED:
            with pytest.raises(TxcError) as raised:
                compiled(*ours)
            assert raised.value.code == REFUSED[name]
            assert raised.value.loc is not None and raised.value.loc.filename == f.__code__.co_filename
        else:
            assert_same(run(compiled, ours), run(f, arguments))


def test_the_tables_name_programs():
    assert REFUSED.keys() <= CASES.keys()
