"""``python -m tests.frontend.programs --count 200 --seed 0``: compare programs, and show those that differ.

Each batch runs in a process of its own, so that a crash names the seeds that it was among.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter

from .compare import compare
from .generate import Program, generate
from .shrink import shrink

BATCH = 25


def _batch(first: int, count: int) -> None:
    for seed in range(first, first + count):
        program = generate(seed)
        outcome = compare(program)
        print("=", seed, outcome.verdict, outcome.code, flush=True)
        if outcome.verdict == "different":

            def differs(smaller: Program) -> bool:
                return compare(smaller).verdict == "different"

            small = shrink(program, differs)
            print(f"seed {seed}: f({small.arguments})\n{small.text}{compare(small).detail}\n", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--here", action="store_true", help="in this process, without batches")
    given = parser.parse_args()
    if given.here:
        _batch(given.seed, given.count)
        return 0
    verdicts: Counter[str] = Counter()
    for first in range(given.seed, given.seed + given.count, BATCH):
        count = min(BATCH, given.seed + given.count - first)
        command = [sys.executable, "-m", __spec__.parent, "--here", "--seed", str(first), "--count", str(count)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            if line.startswith("= "):
                verdicts[" ".join(line.split()[2:])] += 1
            else:
                print(line)
        if done.returncode:
            verdicts["crashed"] += 1
            print(f"seeds from {first}: the process ended with {done.returncode}\n{done.stderr[-2000:]}")
    print(*(f"{verdict}: {n}" for verdict, n in verdicts.most_common()), sep="\n")
    return 1 if verdicts["different"] or verdicts["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
