"""Outcomes of tests, appended to a file as they come, so that a run that is cut off has said what it knew."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

__all__ = ["OUTCOMES", "Outcome", "Recorder", "read"]

#: The option of pytest that names the file.
OUTCOMES = "--outcomes"


@dataclass(frozen=True)
class Outcome:
    """How a test went: passed, failed, skipped or xfailed; in how many seconds; and the error's last line."""

    test: str
    outcome: str
    seconds: float
    why: str


def read(path: Path) -> dict[str, Outcome]:
    """The outcome of each test; one whose setup or teardown failed has failed."""
    found: dict[str, Outcome] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        new = Outcome(**json.loads(line))
        if new.test not in found or new.outcome == "failed":
            found[new.test] = new
    return found


class Recorder:
    """A plugin of pytest that appends outcomes to a file, and leaves out the tests that have one there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        known = read(self.path)
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in known])
        items[:] = [item for item in items if item.nodeid not in known]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        outcome = "xfailed" if report.skipped and hasattr(report, "wasxfail") else report.outcome
        new = Outcome(report.nodeid, outcome, round(report.duration, 3), _reason(report) if report.failed else "")
        with self.path.open("a") as file:
            file.write(json.dumps(asdict(new)) + "\n")


def _reason(report: pytest.TestReport) -> str:
    """The first line of the error."""
    errors = [line[1:].strip() for line in str(report.longrepr).splitlines() if line.startswith("E ")]
    return errors[0][:300] if errors else "?"
