"""A waterfall as a small picture, of bars and marks alone: an SVG for lists of loads, on a scale that they share."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.charts.waterfall import COLOURS, MARK_COLOURS, phase_bars
from analysis.runs.harfile import HarLoad

WIDTH, HEIGHT = 300, 120
LEAST_ROWS = 12  # a page of few requests has thin bars, too
THINNEST = 0.6


def thumbnail(load: HarLoad, until_ms: float) -> str:
    """An SVG of numbers alone, `until_ms` wide; what comes later is cut off."""
    across, down = WIDTH / until_ms, HEIGHT / max(LEAST_ROWS, len(load.requests))
    bars = []
    for name, rows, starts, lengths in phase_bars(load.requests):
        shown = zip(rows.tolist(), starts.tolist(), lengths.tolist(), strict=True)
        drawn = [
            _bar(at * across, row * down, took * across, down) for row, at, took in shown if at < until_ms
        ]
        bars += [f'<path fill="{COLOURS[name]}" d="{"".join(drawn)}"/>'] if drawn else []
    marks = [
        f'<path d="M{at * across:.1f} 0V{HEIGHT}" stroke="{MARK_COLOURS[name]}"/>'
        for name, at in load.marks_ms.items()
        if 0 <= at < until_ms
    ]
    return _picture([*bars, *marks])


def refused(text: str) -> str:
    """In place of a load that cannot be drawn: a few words of ours."""
    at = f'x="{WIDTH / 2:g}" y="{HEIGHT / 2:g}"'
    return _picture(
        [f'<text {at} text-anchor="middle" font-family="sans-serif" font-size="13" fill="#777">{text}</text>']
    )


def _bar(left: float, top: float, width: float, height: float) -> str:
    width, height = min(max(width, THINNEST), WIDTH), max(height * 0.9, THINNEST)
    return f"M{left:.1f} {top:.2f}h{width:.2f}v{height:.2f}h{-width:.2f}z"


def _picture(parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none">'
        f"{''.join(parts)}</svg>"
    )
