"""Which two attempts are to be compared, and what is offered for it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.show.shownrun import CONDITION, ShownRun

MOST_OFFERED = 300


@dataclass(frozen=True)
class Offered:
    """An attempt that can be chosen, by the text that stands for it in an address."""

    text: str
    label: str


def place_text(trial: str, attempt: int) -> str:
    """`00012`, or `00012:2` of a second attempt."""
    return trial if attempt == 1 else f"{trial}:{attempt}"


def place_of(text: str) -> tuple[str, int]:
    """`place_text` read back. What is no number of an attempt belongs to the name."""
    trial, colon, number = text.strip().rpartition(":")
    if colon and number.isascii() and number.isdecimal() and len(number) < 9 and int(number) > 0:
        return trial, int(number)
    return text.strip(), 1


def chosen(shown: ShownRun, texts: Sequence[str]) -> tuple[list[tuple[str, int]], str]:
    """The two attempts, or in one line why they are not two."""
    wanted = [place_of(text) for text in texts if text.strip()]
    for (trial, attempt), text in zip(wanted, (text for text in texts if text.strip()), strict=True):
        if shown.of_trial(trial, attempt) is None:
            return [], f"the run holds no trial {text.strip()[:80]}"
    if len(wanted) != 2:
        told = (
            "choose two trials"
            if len(wanted) < 2
            else f"{len(wanted)} trials are chosen; two can be compared"
        )
        return wanted[:2], told
    return wanted, ""


def offered(shown: ShownRun, condition: str = "") -> list[Offered]:
    """What is worth setting against a trial: the trial nearest to the median of every condition, then those of the
    same condition, or of all.
    """
    return list(dict.fromkeys(_offered(shown, condition)))[:MOST_OFFERED]


def _offered(shown: ShownRun, condition: str) -> Iterator[Offered]:
    for each in shown.conditions.values():
        if each.median_trial is not None and each.key != condition:
            yield Offered(place_text(*each.median_trial), f"{each.label}: the trial at the median")
    attempts = shown.of_condition(condition) if condition else shown.attempts
    for row in attempts.head(MOST_OFFERED).to_dict("records"):
        label = shown.conditions[row[CONDITION]].label
        yield Offered(place_text(str(row["trial"]), int(row["attempt"])), f"{label}: block {row['block']}")
