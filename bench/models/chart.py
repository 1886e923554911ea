"""The results as one SVG picture: per model how many times faster we are than the better of the others."""

from __future__ import annotations

import math
from html import escape
from typing import Any

ROW, BAR, LEFT, WIDTH, TOP = 30, 11, 210, 620, 64
COLOURS = {1: "#4c7fd0", 2: "#3f9d6b"}
OTHER = "#b45fc4"


def _scale(ratios: list[float]) -> tuple[float, float]:
    low = min([0.5, *ratios]) * 0.95
    high = max([2.0, *ratios]) * 1.05
    return math.log(low), math.log(high)


def svg(rows: list[dict[str, Any]]) -> str:
    """rows: those of results.json; rows without a ratio are left out."""
    rows = [row for row in rows if row.get("ratio")]
    names = list(dict.fromkeys(row["model"] for row in rows))
    counts = sorted({row["threads"] for row in rows})
    low, high = _scale([row["ratio"] for row in rows])
    height = TOP + ROW * len(names) + 40

    def x(ratio: float) -> float:
        return LEFT + (math.log(ratio) - low) / (high - low) * WIDTH

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 70}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        '<text x="12" y="24" font-size="15" font-weight="600">Speed beside the better of the other '
        "runtimes (1: equal, to the right: faster)</text>",
    ]
    for at, count in enumerate(counts):
        colour = COLOURS.get(count, OTHER)
        parts.append(f'<rect x="{LEFT + at * 110}" y="36" width="11" height="11" fill="{colour}"/>')
        parts.append(
            f'<text x="{LEFT + 16 + at * 110}" y="46">{count} thread{"s"[: count > 1]}</text>'
        )
    bottom = TOP + ROW * len(names)
    for tick in (0.25, 0.33, 0.5, 0.67, 0.8, 1, 1.25, 1.5, 2, 3, 4, 6, 8):
        if not low <= math.log(tick) <= high:
            continue
        line = "#333" if tick == 1 else "#ddd"
        parts.append(f'<path d="M{x(tick):.1f} {TOP - 6}V{bottom}" stroke="{line}"/>')
        parts.append(
            f'<text x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>'
        )
    for at, name in enumerate(names):
        y = TOP + at * ROW
        parts.append(f'<text x="{LEFT - 10}" y="{y + 15}" text-anchor="end">{escape(name)}</text>')
        own = sorted((r for r in rows if r["model"] == name), key=lambda r: r["threads"])
        for place, row in enumerate(own):
            begin, end = sorted((x(1.0), x(row["ratio"])))
            top = y + place * (BAR + 1)
            colour = COLOURS.get(row["threads"], OTHER)
            parts.append(
                f'<rect x="{begin:.1f}" y="{top}" width="{max(end - begin, 1):.1f}" height="{BAR}" '
                f'fill="{colour}"/>'
            )
            parts.append(
                f'<text x="{max(end, x(1.0)) + 4:.1f}" y="{top + BAR - 1}" font-size="10">'
                f"{row['ratio']:.2f}</text>"
            )
    parts.append("</svg>")
    return "\n".join(parts) + "\n"
