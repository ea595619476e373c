"""Plots as SVG, written by hand: they follow the reader's light or dark, and need nothing to be installed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 15px }
  .small { font-size: 11px; fill: #59636e }
  .axis { stroke: #c8ced5; stroke-width: 1 }
  .spread { stroke: #1f2328; stroke-width: 1.2 }
  .ours { fill: #0969da; stroke: #0969da }
  .peer { fill: #bc7d28; stroke: #bc7d28 }
  .floor { fill: #818b98; stroke: #818b98 }
  .line { fill: none; stroke-width: 2 }
  .bar { stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .small { fill: #9198a1 }
    .axis { stroke: #3d444d }
    .spread { stroke: #e6edf3 }
    .ours { fill: #4493f8; stroke: #4493f8 }
    .peer { fill: #e3a553; stroke: #e3a553 }
    .floor { fill: #9198a1; stroke: #9198a1 }
  }
"""
WIDTH, LEFT, RIGHT, ROW = 760, 190, 110, 26


@dataclass
class Bar:
    label: str
    kind: str  # ours, peer or floor
    value: float
    low: float
    high: float


@dataclass
class Line:
    label: str
    kind: str
    points: list[tuple[float, float]]


def svg(height: int, title: str, body: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-label="{escape(title)}">'
    )
    return "\n".join([head, f"<style>{STYLE}</style>", words(16, 24, title, "title"), *body, "</svg>", ""])


def words(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    shown = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{shown} text-anchor="{anchor}">{escape(text)}</text>'


def stroke(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def short(value: float) -> str:
    """Three digits are enough for anybody."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def bars(title: str, note: str, unit: str, shown: list[Bar]) -> str:
    """Lengths beside each other, each with what the middle 80 % of the rounds were between."""
    most = max(max(bar.high, bar.value) for bar in shown)
    scale = (WIDTH - LEFT - RIGHT) / most
    body = [words(16, 44, note, "small")]
    top = 60
    for number, bar in enumerate(shown):
        y = top + number * ROW
        body.append(words(LEFT - 10, y + 15, bar.label, anchor="end"))
        width = max(1.0, bar.value * scale)
        body.append(f'<rect x="{LEFT}" y="{y + 3}" width="{width:.1f}" height="16" rx="2" class="bar {bar.kind}"/>')
        if bar.high > bar.low:
            body.append(stroke(LEFT + bar.low * scale, y + 11, LEFT + bar.high * scale, y + 11, "spread"))
        at = LEFT + max(bar.value, bar.high) * scale + 8
        body.append(words(at, y + 15, f"{short(bar.value)} {unit}"))
    bottom = top + len(shown) * ROW
    body.append(stroke(LEFT, top - 4, LEFT, bottom, "axis"))
    return svg(bottom + 14, title, body)


def curves(title: str, note: str, x_name: str, shown: list[Line]) -> str:
    """Both axes logarithmic: what is flat stays flat, and what grows with its work rises as steeply as the grid."""
    points = [point for line in shown for point in line.points]
    (left, right), (low, high) = (
        (math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))))
        for values in zip(*points, strict=True)
    )
    right, high = max(right, left + 1), max(high, low + 1)
    x0, x1, y0, y1 = 70, WIDTH - 180, 330, 64

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            x0 + (math.log10(x) - left) / (right - left) * (x1 - x0),
            y0 - (math.log10(y) - low) / (high - low) * (y0 - y1),
        )

    body = [words(16, 44, note, "small")]
    for power in range(left, right + 1):
        x, _ = place(10**power, 10**low)
        body += [stroke(x, y1, x, y0, "axis"), words(x, y0 + 18, f"{10**power:,g}", "small", "middle")]
    for power in range(low, high + 1):
        _, y = place(10**left, 10**power)
        body += [stroke(x0, y, x1, y, "axis"), words(x0 - 8, y + 4, f"{10**power:,g}", "small", "end")]
    body.append(words((x0 + x1) / 2, y0 + 36, x_name, "small", "middle"))
    # The names stand where the lines end, and not upon each other.
    used: list[float] = []
    for line in sorted(shown, key=lambda line: -line.points[-1][1]):
        placed = [place(*point) for point in line.points]
        body.append(
            f'<polyline class="line {line.kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in placed)}" '
            'style="fill:none"/>'
        )
        body += [f'<circle class="{line.kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in placed]
        y = placed[-1][1] + 4
        while any(abs(y - other) < 14 for other in used):
            y += 2
        used.append(y)
        body.append(words(x1 + 12, y, line.label))
    return svg(y0 + 52, title, body)
