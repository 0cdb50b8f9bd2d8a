"""The program of the process that `isolated.py` starts: it makes code of texts that it reads, until there are none."""

from __future__ import annotations

import json
import sys
from typing import Any

from .isolated import DONE, REFUSED, receive, send
from .llvm_backend import generate_here
from .target import Target, TargetError


def _answer(job: dict[str, Any]) -> tuple[int, bytes]:
    try:
        target = Target(**job["target"])
        return DONE, generate_here(job["kind"], job["texts"], job["exported"], target, job["opt_level"])
    except TargetError as error:
        return REFUSED, str(error).encode()


def main() -> None:
    """Answer jobs from stdin on stdout."""
    jobs, results = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            _, job = receive(jobs)
        except EOFError:
            return
        send(results, *_answer(json.loads(job)))


if __name__ == "__main__":
    main()
