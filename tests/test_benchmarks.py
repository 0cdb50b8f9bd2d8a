"""The benchmarks run: small sizes, nothing timed."""

import json
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).resolve().parents[1] / "benchmarks" / "run.py"


def test_quick_run_of_two_cases(tmp_path):
    out = tmp_path / "figures.json"
    command = [sys.executable, str(RUN), "softmax", "call", "--quick", "--threads", "1", "--json", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads(out.read_text())["answers"]
    assert [r["case"] for r in answer["records"]] == ["softmax", "call"]
    assert all({"txc", "numpy"} <= set(r["seconds"]) for r in answer["records"])


def test_unknown_case_is_an_error():
    done = subprocess.run([sys.executable, str(RUN), "nothing"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "there is no case 'nothing'" in done.stderr
