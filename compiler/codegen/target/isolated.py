"""Code generation for a foreign target, in a process of its own: LLVM ends its process on what it cannot select.

The process lives as long as this one, so that only the first job waits for LLVM to be loaded; where a job ends it, the
next one starts another.  The parent writes jobs to its stdin and reads objects or texts from its stdout; whatever ends
it is an error that names the target.  Only LLVM runs there: the text comes in as the parent emitted it.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import IO

from .target import Target, TargetError

__all__ = ["DONE", "REFUSED", "generate", "receive", "send"]

#: How a job ended, where the child could say so: with a result, or with LLVM's words on what is wrong.
DONE, REFUSED = 0, 1
#: A large function for a slow machine takes seconds; what takes this long does not end.
_SECONDS = 600
#: A message: how a job ended, and how many bytes follow.
_HEAD = struct.Struct("<BQ")


def generate(
    kind: str, texts: Sequence[str], exported: Collection[str] | None, target: Target, opt_level: int
) -> bytes:
    """An object (`kind` ``obj``) or assembly (``asm``) of LLVM IR texts that shows `exported` (None: of one text, all).

    Raises TargetError with LLVM's words where it refuses the code or dies of it.
    """
    job = {
        "kind": kind, "texts": list(texts), "exported": exported and sorted(exported), "target": asdict(target),
        "opt_level": opt_level,
    }  # fmt: skip
    what = f"{target.triple}{f' ({target.cpu})' if target.cpu else ''}"
    with _lock:
        child = _running()
        try:
            outcome, made, said = child.ask(json.dumps(job).encode())
        except _Ended as end:
            said = end.said
            how = signal.Signals(-end.status).name if end.status < 0 else f"status {end.status}"
            reason = said.splitlines()[0] if said else "it gave no reason"
            raise TargetError(f"LLVM cannot generate code for {what}: {reason} ({how})") from None
    if outcome == REFUSED:
        raise TargetError(made.decode(errors="replace"))
    if "is not a recognized" in said:
        raise TargetError(f"LLVM does not know a part of {what}: {said.splitlines()[0]}")
    return made


class _Ended(Exception):
    """The child ended during a job, with a status and last words."""

    def __init__(self, status: int, said: str):
        super().__init__(said)
        self.status, self.said = status, said


class _Child:
    """The process, and the file that what LLVM says goes to."""

    def __init__(self) -> None:
        self._words = tempfile.TemporaryFile("ab+")
        self._heard = 0
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.isolated_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            env=environment,
        )
        #: A forked process has the parent's pipes, which the parent goes on using.
        self.owner = os.getpid()

    @property
    def alive(self) -> bool:
        return self.owner == os.getpid() and self._process.poll() is None

    def end(self) -> None:
        """It ends when there are no more jobs to read."""
        self._process.communicate()

    def ask(self, job: bytes) -> tuple[int, bytes, str]:
        """How a job ended, its result, and what LLVM said meanwhile.  Raises _Ended where the child does not answer."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        alarm = threading.Timer(_SECONDS, self._process.kill)
        alarm.start()
        try:
            send(stdin, DONE, job)
            outcome, made = receive(stdout)
        except (EOFError, BrokenPipeError):
            raise _Ended(self._process.wait(), self._news()) from None
        finally:
            alarm.cancel()
        return outcome, made, self._news()

    def _news(self) -> str:
        """What was said since this was last asked."""
        self._words.seek(self._heard)
        said = self._words.read()
        self._heard += len(said)
        return said.decode(errors="replace").strip()


_lock = threading.Lock()
#: The last one is in use.
_children: list[_Child] = []


def _running() -> _Child:
    if not _children or not _children[-1].alive:
        _children.append(_Child())
    return _children[-1]


def _in_forked_child() -> None:
    """Another thread of the parent may have held the lock.  The process is the parent's."""
    global _lock
    _lock = threading.Lock()


@atexit.register
def _end() -> None:
    for child in _children:
        if child.alive:
            child.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_forked_child)


def send(stream: IO[bytes], outcome: int, data: bytes) -> None:
    """Write one message."""
    stream.write(_HEAD.pack(outcome, len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[int, bytes]:
    """Read one message: how a job ended, and its result.  EOFError where the other process has ended."""
    head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    outcome, size = _HEAD.unpack(head)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return outcome, data
