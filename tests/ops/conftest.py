"""Code for tests of ops."""

import pytest

from ..quick_code import at_level_0


@pytest.fixture(autouse=True)
def quick_code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors as users have them, at LLVM's level 0; the matrices of all ops are compiled as for users."""
    if not request.path.name.startswith("test_op_matrix"):
        at_level_0(monkeypatch)
