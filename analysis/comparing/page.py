"""One page of a comparison: its sentences with their intervals drawn, which files differ, the waterfalls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from analysis.charts.waterfallview import WaterfallView, view
from analysis.comparing.answers import Answered, bound_note, label, sentence
from analysis.comparing.between import Change
from analysis.comparing.pair import RunPair
from analysis.comparing.versus import Versus
from analysis.evaluation.loads import Medians, median_loads
from analysis.evaluation.results import evaluate
from analysis.labels import words
from analysis.labels.markup import templates
from analysis.labels.metrics import more_is_better
from analysis.runs.exclude import left_out_text
from analysis.statistics.compare import Verdict
from analysis.statistics.plainly import value_text
from harness.errors import StorageFailed
from harness.model.kind import Kind

TEMPLATE = "page.html.j2"
LEAST_REACH, MOST_REACH = 0.06, 0.5  # of the axis to either side, as a change
ROOM = 1.1  # of an axis, in units of what it has to hold
FILES_SHOWN = 200


@dataclass(frozen=True)
class FileRow:
    """A file that A and B do not share: its address and what became of it."""

    url: str
    text: str


@dataclass(frozen=True)
class ComparedPage:
    """What the page holds. `facts`: how much was measured, what counts against it. `apart`: settings that differ, with
    their values in A and in B. `files`: None where nobody compared them.
    """

    kicker: str
    answers: Answered
    limit: float | None
    facts: tuple[str, ...]
    apart: tuple[tuple[str, str, str], ...] = ()
    files: tuple[FileRow, ...] | None = None
    files_text: str = ""
    waterfalls: WaterfallView | None = None


@dataclass(frozen=True)
class DrawnInterval:
    """An interval on an axis from 0 to 100, cut off at its ends; None of what is not known."""

    low: float
    high: float
    value: float


@dataclass(frozen=True)
class Row:
    """A sentence of the page. `state`: better, worse, open or same. `limit`: where the bound stands on the axis; None
    without one, and where it lies beyond the axis.
    """

    head: str
    sentence: str
    bound: str
    state: str
    drawn: DrawnInterval | None
    limit: float | None
    medians: tuple[str, str]
    n: str


def page_of_pair(pair: RunPair, limit: float | None) -> ComparedPage:
    """Two runs. Their waterfalls are of the loads nearest to the medians of each run."""
    return ComparedPage(
        kicker="Two runs compared, measured with coldload",
        answers=pair.answers,
        limit=limit,
        facts=tuple(
            f"{letter}: study {run.study}, {_counted(left_out, len(run.records))}."
            for letter, run, left_out in zip("AB", pair.runs, pair.left_out, strict=True)
        ),
        apart=tuple(
            (difference.name, difference.a or words.DASH, difference.b or words.DASH)
            for difference in pair.differences
        ),
        waterfalls=_waterfalls_of_pair(pair),
    )


def page_of_versus(
    versus: Versus, limit: float | None, files: Sequence[FileRow] | None, files_text: str
) -> ComparedPage:
    """Two releases or variants within one run."""
    results = versus.results
    return ComparedPage(
        kicker="Two releases compared, measured with coldload",
        answers=versus.answers,
        limit=limit,
        facts=(
            *(f"Caution: {text}" for text in versus.cautions),
            *(f"Budget of B: {row.sentence}" for row in versus.limits),
            f"{versus.text}; {_counted(results.sifted.by_rule(), len(results.records))}.",
        ),
        files=None if files is None else tuple(files),
        files_text=files_text,
        waterfalls=view(median_loads(results)) if results.kind is Kind.LOAD else None,
    )


def write(page: ComparedPage, path: Path) -> None:
    """Write the page; StorageFailed when there is no room."""
    try:
        path.write_text(render(page), encoding="utf-8")
    except OSError as error:
        raise StorageFailed(
            f"cannot write {path}: {error.strerror or error}; make room or choose another place"
        ) from error


def render(page: ComparedPage) -> str:
    """The page as text: self-contained, nothing is fetched from anywhere."""
    answers, limit, reach = page.answers, page.limit, _reach(page.answers, page.limit)
    return (
        templates("analysis.comparing")
        .get_template(TEMPLATE)
        .render(
            page=page,
            answers=answers,
            verdict="" if limit is None else answers.bound_text(limit),
            outcome=None if limit is None else answers.outcome(limit).name.lower(),
            places=[
                (place.text, [_row(change, answers.margin, limit, reach) for change in place.changes])
                for place in answers.places
            ],
            reach=f"{100 * reach:.0f}",
            margin=(_at(1 / (1 + answers.margin), reach), _at(1 + answers.margin, reach)),
            files_shown=FILES_SHOWN,
            waterfalls=page.waterfalls,
        )
    )


def _row(change: Change, margin: float, limit: float | None, reach: float) -> Row:
    before, after = (
        value_text(median, change.metric) if words.is_number(median) else words.DASH
        for median in change.medians
    )
    return Row(
        head=label(change.metric),
        sentence=sentence(change, margin),
        bound=bound_note(change, limit),
        state=_state(change),
        drawn=_drawn(change, reach),
        limit=None if limit is None else _on_axis(change.bound(limit), reach),
        medians=(before, after),
        n=words.between(*sorted(change.n)),
    )


def _counted(left_out: Mapping[str, int], attempts: int) -> str:
    if not sum(left_out.values()):
        return f"{words.count(attempts, 'attempt')}, none left out"
    return left_out_text(left_out, attempts)


def _state(change: Change) -> str:
    """`better` or `worse` where that is known, `same` where it is less than the margin, else `open`."""
    if change.lost:
        return "worse"
    if change.is_finding and not change.judgement.small:
        return "better" if (change.verdict is Verdict.SLOWER) == more_is_better(change.metric) else "worse"
    return "same" if change.judgement.small or change.verdict is Verdict.WITHIN else "open"


def _reach(answers: Answered, limit: float | None) -> float:
    """How far the axis of the intervals goes to either side: as far as most of them, and farther than the limit."""
    ends = [
        abs(end - 1) for change in answers.changes for end in (change.comparison.low, change.comparison.high)
    ]
    seen = min(MOST_REACH, max([LEAST_REACH, *(ROOM * end for end in ends if math.isfinite(end))]))
    return max(seen, ROOM * (limit or 0.0) / 100)


def _on_axis(ratio: float, reach: float) -> float | None:
    """Where a ratio stands on the axis; None beyond its ends."""
    return _at(ratio, reach) if abs(ratio - 1) <= reach else None


def _at(ratio: float, reach: float) -> float:
    """Where a ratio stands on the axis, in per cent of its width."""
    return round(50 + 50 * max(-1.0, min(1.0, (ratio - 1) / reach)), 2)


def _drawn(change: Change, reach: float) -> DrawnInterval | None:
    seen = change.comparison
    if math.isnan(seen.low):
        return None
    return DrawnInterval(*(_at(ratio, reach) for ratio in (seen.low, seen.high, seen.ratio)))


def _waterfalls_of_pair(pair: RunPair) -> WaterfallView | None:
    """A load of each run in turn, in the order of the conditions."""
    if pair.answers.kind is not Kind.LOAD:
        return None
    sides = [
        [replace(load, label=f"{letter}: {load.label}") for load in medians.loads]
        for letter, medians in zip("AB", (median_loads(evaluate([run])) for run in pair.runs), strict=True)
    ]
    loads = [load for both in zip_longest(*sides) for load in both if load]
    return view(Medians(tuple(loads), len(loads), ()))
