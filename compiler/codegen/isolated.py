"""Code generation for a foreign target, in a process of its own: LLVM ends its process on what it cannot select.

The parent writes a job to the child's stdin and reads the object or text from its stdout; whatever ends the child is
an error that names the target.  Only LLVM runs here: the text comes in as the parent emitted it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict

from .target import Target, TargetError

__all__ = ["generate"]

#: The child's exit status where LLVM said what is wrong.
_REFUSED = 3
#: A large function for a slow machine takes seconds; what takes this long does not end.
_SECONDS = 600


def generate(kind: str, texts: Sequence[str], exported: Collection[str] | None, target: Target) -> bytes:
    """An object (`kind` ``obj``) or assembly (``asm``) of LLVM IR texts that shows `exported` (None: of one text, all).

    Raises TargetError with LLVM's words where it refuses the code or dies of it.
    """
    job = {"kind": kind, "texts": list(texts), "exported": exported and sorted(exported), "target": asdict(target)}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(job).encode(),
        capture_output=True,
        env=environment,
        timeout=_SECONDS,
        check=False,
    )
    said = done.stderr.decode(errors="replace").strip()
    what = f"{target.triple}{f' ({target.cpu})' if target.cpu else ''}"
    if done.returncode == _REFUSED:
        raise TargetError(said)
    if done.returncode:
        how = signal.Signals(-done.returncode).name if done.returncode < 0 else f"status {done.returncode}"
        reason = said.splitlines()[0] if said else "it gave no reason"
        raise TargetError(f"LLVM cannot generate code for {what}: {reason} ({how})")
    if "is not a recognized" in said:
        raise TargetError(f"LLVM does not know a part of {what}: {said.splitlines()[0]}")
    return done.stdout


def _main() -> int:
    from .machine import generate_here

    job = json.load(sys.stdin)
    target = Target(**job["target"])
    try:
        made = generate_here(job["kind"], job["texts"], job["exported"], target)
    except TargetError as error:
        print(error, file=sys.stderr)
        return _REFUSED
    sys.stdout.buffer.write(made)
    return 0


if __name__ == "__main__":
    raise SystemExit(_main())
