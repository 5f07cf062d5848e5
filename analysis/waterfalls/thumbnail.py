"""A load as a small picture, to be set beside others: the phases of its requests and its marks, without a word."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.charts.waterfall import COLOURS, MARK_COLOURS
from analysis.runs.harfile import PHASES, HarLoad

WIDTH, HEIGHT = 300, 120
LEAST_ROWS = 12  # a page of few requests has thin bars, too
THINNEST = 0.6


def thumbnail(load: HarLoad, until_ms: float) -> str:
    """An SVG of numbers alone, `until_ms` wide; what comes later is cut off."""
    across, down = WIDTH / until_ms, HEIGHT / max(LEAST_ROWS, len(load.requests))
    paths: dict[str, list[str]] = {name: [] for name in PHASES}
    for number, request in enumerate(load.requests):
        at = request.start_ms
        for name, took in zip(PHASES, request.phases_ms, strict=True):
            if took > 0 and at < until_ms:
                paths[name].append(_bar(at * across, number * down, took * across, down))
            at += took
    marks = [
        f'<path d="M{at * across:.1f} 0V{HEIGHT}" stroke="{MARK_COLOURS[name]}"/>'
        for name, at in load.marks_ms.items()
        if 0 <= at < until_ms
    ]
    bars = [f'<path fill="{COLOURS[name]}" d="{"".join(made)}"/>' for name, made in paths.items() if made]
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
