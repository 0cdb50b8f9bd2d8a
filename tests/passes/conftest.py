"""Code for tests of passes."""

import pytest

from ..quick_code import at_level_0


@pytest.fixture(autouse=True)
def quick_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops as the passes make them, at LLVM's level 0."""
    at_level_0(monkeypatch)
