"""`tests/fast.py` names tests that there are, and some of every folder that has tests of txc itself."""

import subprocess
import sys
from pathlib import Path

from .fast import FAST

HERE = Path(__file__).parent
#: Whose tests start processes, wait, or take a while each.
SLOW = {"cache", "export", "passes", "processes", "runtime", "seeds"}


def test_every_folder_is_in_it() -> None:
    folders = {path.parent.name for path in HERE.glob("*/test_*.py")}
    assert folders - SLOW == {Path(name).parent.name for name in FAST} - {""}


def test_its_names_are_those_of_tests() -> None:
    """`conftest.py` refuses to collect others."""
    command = [sys.executable, "-m", "pytest", "-m", "fast", "--collect-only", "-q", str(HERE)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parent)
    assert done.returncode == 0, done.stdout + done.stderr
