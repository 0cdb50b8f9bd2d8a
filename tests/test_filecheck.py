"""Runs the FileCheck tests (lit) as part of pytest: a failing one shows lit's output."""

import subprocess
import sys
from pathlib import Path

FILES = Path(__file__).parent.parent / "filecheck"


def test_filecheck(tmp_path: Path):
    command = [sys.executable, "-c", "from lit.main import main; main()", "-v", "-j2", str(FILES)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout, "lit ran no test"
