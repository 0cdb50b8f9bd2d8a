"""``python -m benchmarks --ablate``: what each part of the optimiser is worth, by running without it.

Each row switches one thing off, by an option that users have too (of a pass, or a knob), and measures the same
workloads; the figure is the time without it over the time with all of it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .ratios import ratio_interval
from .worker import Request

__all__ = ["FAMILIES", "SWITCHES", "Switch", "ablation"]


@dataclass(frozen=True)
class Switch:
    """One part and what switches it off: options of passes, environment variables."""

    passes: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


SWITCHES: dict[str, Switch] = {
    "fusion": Switch("tx-fuse{maps=false},tx-fuse-siblings{enabled=false},tx-fuse-rows{enabled=false}"),
    "row fusion": Switch("tx-fuse-rows{enabled=false}"),
    "sibling fusion": Switch("tx-fuse-siblings{enabled=false}"),
    "eval insertion": Switch("tx-insert-evals{maps=false}"),
    "layout swap": Switch("tx-swap-layout{swap=false}"),
    "streaming stores": Switch("tx-schedule-cpu{nontemporal=false}"),
    "folds that make rows": Switch("tx-schedule-cpu{fuse-reductions=false}"),
    "updates in one sweep": Switch("tx-schedule-cpu{inplace-stencils=false}"),
    "recycled buffers": Switch(environment={"TXC_BUFFER_CACHE_MB": "0"}),
    "huge pages": Switch(environment={"TXC_HUGE_PAGES": "0"}),
}
#: Families in which some part or other matters.
FAMILIES = (
    "add", "sum-difference", "chain", "exp-chain", "black-scholes", "softmax-rows", "layer-norm", "mean-variance",
    "broadcast-exp", "transposed-add", "heat",
)  # fmt: skip


def ablation(request: Request, ask: Callable[[Request], Mapping[str, Any]]) -> str:
    """A Markdown table: a row for each workload, a column for each part.

    Every switch is measured in a process of its own, and so is the whole, before and after: the last column is what
    the machine itself did in between.
    """
    request = replace(request, families=list(request.families) or list(FAMILIES), latencies=[], implementations=["txc"])
    whole = _seconds(ask(request))
    columns = {
        name: _seconds(ask(replace(request, passes=switch.passes, environment=dict(switch.environment))))
        for name, switch in SWITCHES.items()
    }
    columns["nothing"] = _seconds(ask(request))
    lines = [
        f"| workload ({request.threads} thread(s)) | with all | " + " | ".join(f"without {n}" for n in columns) + " |",
        "|---" * (len(columns) + 2) + "|",
    ]
    for workload, base in whole.items():
        cells = [_ratio(column[workload], base) for column in columns.values()]
        lines.append(f"| {workload} | {statistics.median(base) * 1e3:.3g} ms | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _seconds(answer: Mapping[str, Any]) -> dict[str, Sequence[float]]:
    return {f"{r['family']} {r['workload']}": r["seconds"]["txc"] for r in answer["records"]}


def _ratio(without: Sequence[float], base: Sequence[float]) -> str:
    """How many times as long it takes; in bold where the 95% interval of that leaves one by more than 5%."""
    count = min(len(without), len(base))
    low, high = ratio_interval(list(without)[:count], list(base)[:count])
    text = f"{statistics.median(without) / statistics.median(base):.2f}"
    return f"**{text}**" if low > 1.05 or high < 0.95 else text
