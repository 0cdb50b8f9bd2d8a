"""``python -m tests.frontend.programs --count 3000 --jobs 2``: compare programs, and show those that differ.

Batches run in processes of their own: one that ends, or stands still, names its seed, and the next one goes on behind
it.  What differs is shown once for each kind, made small.  ``--without views,ints`` leaves features out, ``--only``
draws no others; ``--interpreted`` tries the front end alone, in a fifth of the time; ``--show 17`` prints a seed's
program and what comes of it.
"""

from __future__ import annotations

import argparse
import faulthandler
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from .compare import FAULTS, WAYS, Outcome, compare
from .generate import FEATURES, Program, generate
from .shrink import shrink, without

#: After so many seconds a program stands still.
_STILL = 120
#: How often a refused program is tried again without the line that was refused.
_AGAIN = 4


def kind_of(outcome: Outcome) -> str:
    """What two faults of one cause mostly have in common."""
    text = "" if outcome.verdict == "different" else outcome.detail.split("txc:")[-1].strip().split("\n")[0]
    return f"{outcome.verdict} {outcome.code} {re.sub('[0-9]+', '0', text)[:80]}".strip()


def tried(seed: int, given: argparse.Namespace) -> tuple[Program, list[Outcome]]:
    """A seed's program, and what comes of it, and of what is left of it while it is refused."""
    program, way, by_code = generate(seed, given.without, given.only, given.way), given.way, not given.interpreted
    outcomes = [compare(program, way, by_code=by_code, device=given.device)]
    while outcomes[-1].verdict == "refused" and len(outcomes) <= _AGAIN and 1 < outcomes[-1].line < len(program.lines):
        program = Program(without(program.lines, outcomes[-1].line - 1), program.calls)
        outcomes.append(compare(program, way, by_code=by_code, device=given.device))
    return program, outcomes


def _batch(seeds: range, given: argparse.Namespace) -> None:
    faulthandler.enable()
    known: set[str] = set()
    for seed in seeds:
        faulthandler.dump_traceback_later(_STILL, exit=True)
        print("seed", seed, flush=True)
        program, outcomes = tried(seed, given)
        for outcome in outcomes:
            print("=", outcome.verdict, outcome.code, flush=True)
        last = outcomes[-1]
        kind = kind_of(last)
        if last.verdict in FAULTS:
            print(f"! {kind}: seed {seed}", flush=True)
        if last.verdict in FAULTS and (kind not in known or last.verdict == "different") and given.shrink:
            known.add(kind)

            def fails(smaller: Program, kind: str = kind) -> bool:
                faulthandler.dump_traceback_later(_STILL, exit=True)
                return kind_of(compare(smaller, given.way, by_code=not given.interpreted, device=given.device)) == kind

            small = shrink(program, fails)
            detail = compare(small, given.way, by_code=not given.interpreted, device=given.device).detail
            print(f"seed {seed}, {kind}\n{small.text}# {small.calls}\n{detail}\n", flush=True)


def _run(first: int, end: int, options: Sequence[str]) -> tuple[Counter[str], list[str]]:
    """The verdicts of seeds, and what is to be shown."""
    verdicts: Counter[str] = Counter()
    shown: list[str] = []
    while first < end:
        seeds = ["--seed", str(first), "--count", str(end - first)]
        command = [sys.executable, "-m", "tests.frontend.programs", "--here", *seeds, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        at = end - 1
        for line in done.stdout.splitlines():
            if line.startswith("= "):
                verdicts[line[2:].strip()] += 1
            elif re.fullmatch(r"seed \d+", line):
                at = int(line.split()[1])
            else:
                shown.append(line)
        if done.returncode:
            verdicts["ended"] += 1
            shown.append(f"! ended: seed {at}, with {done.returncode}\n{done.stderr[-3000:]}")
        first = at + 1
    return verdicts, shown


def _arguments() -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    def features(text: str) -> list[str]:
        unknown = set(text.split(",")) - set(FEATURES)
        if unknown:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}; features are {', '.join(FEATURES)}")
        return text.split(",")

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--way", choices=WAYS, default="jit")
    parser.add_argument("--interpreted", action="store_true", help="by the interpreter of graphs, not by machine code")
    parser.add_argument("--device", default="cpu", help="ptx-sim, cuda:0: where jit's functions run")
    parser.add_argument("--without", type=features, default=[])
    parser.add_argument("--only", type=features)
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    parser.add_argument("--here", action="store_true", help="in this process")
    given = parser.parse_args()
    if given.device != "cpu" and (given.way != "jit" or given.interpreted):
        parser.error("--device says where functions run that jit compiles")
    return parser, given


def main() -> int:
    _, given = _arguments()
    if given.show is not None:
        program, outcomes = tried(given.show, given)
        print(program.text, *program.calls, *outcomes, outcomes[-1].detail, sep="\n")
        return 0
    if given.here:
        _batch(range(given.seed, given.seed + given.count), given)
        return 0
    options = ["--device", given.device, "--way", given.way, *([] if given.shrink else ["--no-shrink"])]
    options += ["--interpreted"] if given.interpreted else []
    options += ["--without", ",".join(given.without)] if given.without else []
    options += ["--only", ",".join(given.only)] if given.only else []
    end = given.seed + given.count
    verdicts: Counter[str] = Counter()
    with ThreadPoolExecutor(given.jobs) as pool:
        starts = range(given.seed, end, given.batch)
        for done in as_completed(pool.submit(_run, s, min(s + given.batch, end), options) for s in starts):
            found, shown = done.result()
            verdicts += found
            print(*shown, sep="\n", end="\n" if shown else "", flush=True)
    print(*(f"{verdict}: {n}" for verdict, n in verdicts.most_common()), sep="\n")
    return 1 if any(verdict.split()[0] in (*FAULTS, "ended") for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
