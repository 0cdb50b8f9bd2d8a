"""Records of a run as a Markdown table, and what they come to."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .ceilings import Ceilings
from .ratios import family_mean, ratio_interval

__all__ = ["Row", "markdown", "rows_of"]


@dataclass(frozen=True)
class Row:
    """One workload of one run: txc beside its best peer."""

    family: str
    workload: str
    threads: int
    ours: float
    best: str
    theirs: float
    interval: tuple[float, float]
    share: float  # of the roofline; 0 where there is none
    others: Mapping[str, float]
    minima: tuple[float, float]

    @property
    def ratio(self) -> float:
        """txc's time over the best peer's: below one txc is ahead."""
        return self.ours / self.theirs


def rows_of(answer: Mapping[str, Any]) -> Iterator[Row]:
    """The rows of one worker's answer in which txc and a peer take part."""
    ceilings = Ceilings.from_json(answer["ceilings"]) if answer["ceilings"] else None
    for record in answer["records"]:
        seconds = record["seconds"]
        medians = {name: statistics.median(times) for name, times in seconds.items()}
        peers = {name: median for name, median in medians.items() if name != "txc"}
        if "txc" not in medians or not peers:
            continue
        best = min((n for n in peers if len(seconds[n]) == len(seconds["txc"])), key=lambda name: peers[name])
        roof = 0.0
        if ceilings is not None and record["bytes"]:
            roof = ceilings.seconds(record["bytes"], record["flops"], record["dtype"])
        yield Row(
            record["family"], record["workload"], answer["threads"], medians["txc"], best, peers[best],
            ratio_interval(seconds["txc"], seconds[best]), roof / medians["txc"],
            {name: peers[name] for name in peers if name != best}, (min(seconds["txc"]), min(seconds[best])),
        )  # fmt: skip


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def markdown(answers: Sequence[Mapping[str, Any]], seed: int) -> str:
    """Tables by number of threads, then the geometric mean over families and what is behind a peer."""
    parts = []
    for answer in answers:
        rows = list(rows_of(answer))
        parts.append(f"## {answer['threads']} thread(s)\n\nSizes drawn with seed {seed}.  {_roofs(answer)}")
        parts.append(
            "| family | workload | txc: median (min) | best peer: median (min) | txc / peer | 95% | of roofline "
            "| others |\n|---|---|---|---|---|---|---|---|"
        )
        parts[-1] += "".join(f"\n{_line(row)}" for row in rows)
        absent = _absent(answer)
        if absent:
            parts.append("Absent: " + "; ".join(absent) + ".")
        ratios: dict[str, list[float]] = {}
        for row in rows:
            ratios.setdefault(row.family, []).append(row.theirs / row.ours)
        behind = [f"{r.family} {r.workload}".strip() for r in rows if r.interval[0] > 1.05]
        parts.append(
            f"Speed over the best peer's, geometric mean, families weighing the same: **{family_mean(ratios):.2f}**.  "
            f"Behind by more than 5% with 95% certainty: {'; '.join(behind) or 'none'}."
        )
    return "\n\n".join(parts) + "\n"


def _roofs(answer: Mapping[str, Any]) -> str:
    if not answer["ceilings"]:
        return ""
    c = Ceilings.from_json(answer["ceilings"])
    copies = ", ".join(f"{rate / 1e9:.1f} GB/s up to {size >> 10} kB" for size, rate in c.bandwidth.items())
    return f"Copies: {copies}; FMAs: {c.f32 / 1e9:.0f} Gflop/s (f32), {c.f64 / 1e9:.0f} (f64)."


def _line(row: Row) -> str:
    low, high = row.interval
    others = ", ".join(f"{name} {_time(s)}" for name, s in sorted(row.others.items(), key=lambda item: item[1]))
    share = f"{row.share:.0%}" if row.share else ""
    return (
        f"| {row.family} | {row.workload} | {_time(row.ours)} ({_time(row.minima[0])}) "
        f"| {row.best} {_time(row.theirs)} ({_time(row.minima[1])}) | {row.ratio:.2f} | {low:.2f}–{high:.2f} | {share} "
        f"| {others} |"
    )


def _absent(answer: Mapping[str, Any]) -> list[str]:
    """Who does not take part where, once for each reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for record in answer["records"]:
        for name, why in record["absent"].items():
            families = found.setdefault((name, why), [])
            if record["family"] not in families:
                families.append(record["family"])
    return [f"{name} in {', '.join(families)} ({why})" for (name, why), families in found.items()]
