"""A plugin of pytest: SciPy's own backend tests with `txc` as one more backend beside `array_api_strict`.

`scipy_suites.py` starts pytest with it.  No file of SciPy is changed: the list of backends and the fixture `xp` of its
`conftest` are replaced in memory, before pytest registers them.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import scipy.conftest as suite

import txc

from .outcomes import OUTCOMES, Recorder

#: The backend that `txc` is compared with, which SciPy's tests know by this name.
STRICT = "array_api_strict"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The file of outcomes."""
    parser.addoption(OUTCOMES, type=Path, help="the file of each test's outcome, to which new ones are appended")


def pytest_configure(config: pytest.Config) -> None:
    """Put the backend where SciPy's fixture and its marks look for one."""
    backend = pytest.param(txc, id="txc", marks=pytest.mark.array_api_backends)
    suite.xp_available_backends.append(backend)
    suite.xp_known_backends.add("txc")
    suite._backends_kwargs_from_request = _as_strict(suite._backends_kwargs_from_request)
    suite.xp = pytest.fixture(params=suite.xp_available_backends)(inspect.unwrap(suite.xp))
    path: Any = config.getoption(OUTCOMES)
    config.pluginmanager.register(Recorder(path))


def _as_strict(reasons: Any) -> Any:
    """SciPy's reasons to skip a test: those of the strict backend are `txc`'s."""

    def reasons_of(*args: Any, **kwargs: Any) -> dict[str, str]:
        found = {name: why for name, why in reasons(*args, **kwargs).items() if name != "txc"}
        return {**found, "txc": found[STRICT]} if STRICT in found else found

    return reasons_of
