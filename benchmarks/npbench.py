"""NPBench's programs under jit: ``python -m benchmarks.npbench CHECKOUT [NAME …] [--preset S] [--limit SECONDS]``.

CHECKOUT is a clone of github.com/spcl/npbench, whose NumPy versions run as they are: the function that the benchmark
names is compiled, what it calls with it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from .user_programs import Measured, compile_sources, in_a_process, measure_program, report


def _measure(checkout: str, name: str, preset: str) -> Measured:
    info = json.loads((Path(checkout) / "bench_info" / f"{name}.json").read_text())["benchmark"]
    sys.path.insert(0, checkout)
    place = f"npbench.benchmarks.{info['relative_path'].replace('/', '.')}.{info['module_name']}"
    data: dict[str, Any] = dict(info["parameters"][preset])
    if info.get("init"):
        init = info["init"]
        made = getattr(importlib.import_module(place), init["func_name"])(*(data[k] for k in init["input_args"]))
        outputs = init["output_args"]
        data.update(zip(outputs, made if len(outputs) > 1 else (made,)))
    function = getattr(importlib.import_module(f"{place}_numpy"), info["func_name"])
    return measure_program(function, [data[k] for k in info["input_args"]])


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.npbench", description=__doc__)
    parser.add_argument("checkout", help="the folder of a clone of NPBench")
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks; default: all")
    parser.add_argument("--preset", default="S", help="S, M, L or paper (default S)")
    parser.add_argument("--limit", type=float, default=180.0, help="seconds for a benchmark (default 180)")
    args = parser.parse_args()
    names = args.names or sorted(p.stem for p in (Path(args.checkout) / "bench_info").glob("*.json"))
    compile_sources()
    print(f"{'benchmark':28} {'first':>9} {'NumPy':>14} {'later calls':>14} {'times':>9}")
    for name in names:
        print(report(name, in_a_process(_measure, args.checkout, name, args.preset, limit=args.limit)), flush=True)


if __name__ == "__main__":
    main()
