"""A roofline plot as SVG: what each workload reaches, over how many operations it does a byte."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from html import escape
from typing import Any

from .ceilings import Ceilings

__all__ = ["roofline"]

WIDTH, HEIGHT, MARGIN = 900, 560, 64
COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#8d6a9f", "#b08900", "#4f5d75", "#d1495b", "#00798c", "#6b705c", "#9c6644")


class _Axes:
    """Logarithmic axes: operations a byte to the right, operations a second upwards."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]):
        self.x, self.y = tuple(map(math.log10, x)), tuple(map(math.log10, y))

    def at(self, x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - self.x[0]) / (self.x[1] - self.x[0])
        up = (math.log10(y) - self.y[0]) / (self.y[1] - self.y[0])
        return MARGIN + across * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - up * (HEIGHT - 2 * MARGIN)


def roofline(answer: Mapping[str, Any]) -> str:
    """The plot of one worker's answer.  Workloads that count no operations stand at one an element moved."""
    ceilings = Ceilings.from_json(answer["ceilings"])
    points = list(_points(answer))
    top = max(ceilings.f32, ceilings.f64) * 2
    axes = _Axes((1 / 32, 1024), (min([top / 1e4, *(p[2] for p in points)]) / 2, top))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="11"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    ]
    parts += _grid(axes)
    for rate, size in ((rate, size) for size, rate in ceilings.bandwidth.items()):
        parts += _roof(axes, rate, ceilings.f32, f"{rate / 1e9:.0f} GB/s ({size >> 10} kB)")
    for peak, name in ((ceilings.f32, "f32"), (ceilings.f64, "f64")):
        parts += _line(axes, (1 / 32, peak), (1024, peak), f"{peak / 1e9:.0f} Gflop/s {name}")
    families = list(dict.fromkeys(p[0] for p in points))
    for family, x, y, label in points:
        across, up = axes.at(x, y)
        colour = COLOURS[families.index(family) % len(COLOURS)]
        title = f"<title>{escape(f'{family} {label}: {y / 1e9:.2f} Gop/s')}</title>"
        parts.append(
            f'<circle cx="{across:.1f}" cy="{up:.1f}" r="4" fill="{colour}" fill-opacity="0.7">{title}</circle>'
        )
    for i, family in enumerate(families):
        y = MARGIN + 14 * i
        parts.append(f'<circle cx="{MARGIN + 12}" cy="{y - 4}" r="4" fill="{COLOURS[i % len(COLOURS)]}"/>')
        parts.append(f'<text x="{MARGIN + 22}" y="{y}">{escape(family)}</text>')
    parts.append(f'<text x="{WIDTH / 2}" y="{HEIGHT - 16}" text-anchor="middle">operations a byte</text>')
    parts.append(f'<text x="{MARGIN}" y="24" font-size="14">txc, {answer["threads"]} thread(s)</text></svg>')
    return "\n".join(parts) + "\n"


def _points(answer: Mapping[str, Any]) -> Any:
    """Family, operations a byte, operations a second, and a label, of each workload that txc ran."""
    for record in answer["records"]:
        if not record["bytes"] or "txc" not in record["seconds"]:
            continue
        seconds = statistics.median(record["seconds"]["txc"])
        operations = record["flops"] or record["bytes"] / int(record["dtype"][1])
        yield record["family"], operations / record["bytes"], operations / seconds, record["workload"]


def _line(axes: _Axes, a: tuple[float, float], b: tuple[float, float], label: str) -> list[str]:
    (x1, y1), (x2, y2) = axes.at(*a), axes.at(*b)
    return [
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#444"/>',
        f'<text x="{x2 - 4:.1f}" y="{y2 - 4:.1f}" text-anchor="end" fill="#444">{escape(label)}</text>',
    ]


def _roof(axes: _Axes, rate: float, peak: float, label: str) -> list[str]:
    return _line(axes, (1 / 32, rate / 32), (peak / rate, peak), label)


def _grid(axes: _Axes) -> list[str]:
    parts = []
    for power in range(-5, 11):
        if 1 / 32 <= 2.0**power <= 1024:
            x, bottom = axes.at(2.0**power, 10 ** axes.y[0])
            _, top = axes.at(2.0**power, 10 ** axes.y[1])
            parts.append(f'<line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}" stroke="#eee"/>')
            label = f"{2**power}" if power >= 0 else f"1/{2**-power}"
            parts.append(f'<text x="{x:.1f}" y="{bottom + 16:.1f}" text-anchor="middle">{label}</text>')
    for power in range(math.ceil(axes.y[0]), math.floor(axes.y[1]) + 1):
        left, y = axes.at(1 / 32, 10.0**power)
        right, _ = axes.at(1024, 10.0**power)
        parts.append(f'<line x1="{left:.1f}" y1="{y:.1f}" x2="{right:.1f}" y2="{y:.1f}" stroke="#eee"/>')
        parts.append(f'<text x="{left - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{10.0 ** (power - 9):g} G</text>')
    return parts
