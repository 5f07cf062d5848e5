"""Whether the record of a trial whose parts were struck blames the right one and has a true time. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.hostile.stage import shortest_ms
from benchmarks.hostile.watching import Record
from harness.model.soundness import unsound
from harness.outcome import Outcome

LONGER_MS, LONGER_SHARE = 200.0, 1.1  # what a pause of 300 ms adds at the least, if it adds anything


def plain(record: Record) -> bool:
    return bool(record["outcome"] == Outcome.OK)


def said_by(record: Record) -> str:
    if plain(record):
        return f"ok, {record['plt_ms']:.0f} ms"
    return f"{record['outcome']}: {record['reason']}"


def misblamed(record: Record, rule: Mapping[Outcome, tuple[str, ...]]) -> str | None:
    """What the record says, when that blames another one than the struck part."""
    outcome = Outcome(record["outcome"])
    if outcome is Outcome.OK or any(word in (record["reason"] or "") for word in rule.get(outcome, ())):
        return None
    return said_by(record)


def untrue(record: Record, usual_ms: float | None) -> str | None:
    """Why the time of a trial that enters an estimate is not that of the page on the link.

    `usual_ms` is what the page takes; None where nothing has held it up.
    """
    if not plain(record) or unsound(record) is not None:
        return None
    plt = record["plt_ms"]
    if plt < 0.98 * shortest_ms():
        return f"plt_ms {plt:.0f}, but the pictures take {shortest_ms():.0f} ms on the link"
    if usual_ms is not None and plt > max(usual_ms + LONGER_MS, LONGER_SHARE * usual_ms):
        return f"ok with plt_ms {plt:.0f}, undisturbed it is {usual_ms:.0f} ms"
    return None
