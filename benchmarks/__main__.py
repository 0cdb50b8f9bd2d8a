"""Measure txc beside its peers: ``python -m benchmarks [--family NAME …] [--threads 1,2] [--quick] …``.

For each number of threads a fresh process is started.  In it every implementation's result is compared with NumPy's;
then the implementations of a workload take turns.  Tables go to stdout; ``--markdown``, ``--json`` and ``--plot`` write
files.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import secrets
from pathlib import Path
from typing import Any

from .ablation import ablation
from .latency import LATENCIES
from .peers import IMPLEMENTATIONS
from .report import markdown
from .roofline import roofline
from .worker import Request, ask
from .workloads import FAMILIES


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--family", action="append", default=[], metavar="NAME", help="a family or a latency, or several; default: all")
    add("--list", action="store_true", help="print the names")
    add("--threads", default="1,2", help="numbers of threads, separated by commas (default 1,2)")
    add("--quick", action="store_true", help="the smallest sizes and few samples: a check that it runs")
    add("--seed", type=int, help="of the sizes that are drawn and of all numbers (default: drawn, and printed)")
    add("--dtypes", type=_words, default=[], help="f4,f8,i4")
    add("--layouts", type=_words, default=[], help="row,col")
    add("--sizes", type=_words, default=[], help="numbers of sizes in the family's list; the drawn one is the last")
    add("--only", type=_words, default=[], metavar="NAME,…", help=f"implementations: {', '.join(IMPLEMENTATIONS)}")
    add("--passes", default="", metavar="PASSES", help="options of txc's passes, such as tx-fuse-rows{enabled=false}")
    add("--ablate", action="store_true", help="txc only, with all of the optimiser and without each part of it")
    add("--seconds", type=float, default=1.5, help="of samples for each workload (default 1.5, five rounds at least)")
    add("--json", type=Path, metavar="FILE", help="write every sample there")
    add("--markdown", type=Path, metavar="FILE", help="write the tables there")
    add("--plot", type=Path, metavar="FILE", help="write a roofline plot (SVG) of the last number of threads there")
    return parser


def main() -> None:
    """Parse the command line, measure, report."""
    parser = _parser()
    args = parser.parse_args()
    if args.list:
        return print("\n".join([*FAMILIES, *LATENCIES]))
    names = [name for text in args.family for name in _words(text)] or [*FAMILIES, *LATENCIES]
    for kind, given, known in (
        ("family", names, [*FAMILIES, *LATENCIES]), ("implementation", args.only, list(IMPLEMENTATIONS)),
    ):  # fmt: skip
        for name in given:
            if name not in known:
                parser.error(f"there is no {kind} {name!r}; there are {', '.join(known)}")
    seed = secrets.randbelow(10**6) if args.seed is None else args.seed
    fewest, most, patience, warm = (2, 2, 0.0, 0.0) if args.quick else (5, 15, 0.2, 0.75)
    if args.ablate:
        names = names if args.family else []
    answers: list[dict[str, Any]] = []
    for threads in map(int, _words(args.threads)):
        request = Request(
            threads, [n for n in names if n in FAMILIES], [n for n in names if n in LATENCIES], seed, args.quick,
            args.dtypes, args.layouts, [int(s) for s in args.sizes], args.only, args.passes, fewest, most,
            0.0 if args.quick else args.seconds, patience, warm,
        )  # fmt: skip
        if args.ablate:
            print(ablation(request, ask), flush=True)
        else:
            answers.append(ask(request))
    if args.ablate:
        return None
    text = markdown(answers, seed)
    print(text)
    if args.markdown:
        args.markdown.write_text(text)
    if args.json:
        machine = {"machine": platform.machine(), "python": platform.python_version(), "cpus": os.cpu_count()}
        args.json.write_text(json.dumps({**machine, "seed": seed, "quick": args.quick, "answers": answers}, indent=1))
    if args.plot:
        if not answers[-1]["ceilings"]:
            parser.error("--plot needs a family: latencies have no roofline")
        args.plot.write_text(roofline(answers[-1]))
    return None


if __name__ == "__main__":
    main()
