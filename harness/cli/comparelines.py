"""What B is in units of A as text: lines for people, at most 100 columns wide, and cases for CI."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from analysis.claims.junit import Case, Ending
from analysis.comparing.answers import (
    Answered,
    Place,
    against_text,
    label,
    lines,
    sentence,
    verdict_text,
)
from analysis.comparing.between import Bounded, Change
from analysis.comparing.pair import RunPair, name_of
from analysis.labels import words
from analysis.runs.rundirectory import Run
from analysis.statistics.plainly import signed
from harness.input.shown import shortened
from harness.model.kind import main_metric

WIDTH = 100
DIFFERENCES_SHOWN, CONDITIONS_SHOWN = 20, 8
PLACES_TOLD = 4  # in every metric; of more, what changed
ONLY_IN_A = "this condition of A was not measured in B"


def compared(pair: RunPair, limit: float | None) -> Iterator[str]:
    """What differs, the answers, the claims, and how far all this can be trusted."""
    yield from wrapped(_head(pair))
    yield ""
    yield from answered(pair.answers, limit)
    yield ""
    yield from wrapped(_claims(pair))
    yield from wrapped(_trust(pair))


def answered(answers: Answered, limit: float | None) -> Iterator[str]:
    """The sentences, metric by metric at each place. Of many places: the main metric, and whatever else changed."""
    places = answers.places
    many = len(places) > PLACES_TOLD
    if many:
        places = tuple(Place(spot.text, telling) for spot in places if (telling := _telling(spot, answers)))
    column = max((len(label(metric)) for metric in answers.metrics), default=0) + 2
    for head, told in lines(places, answers.margin, limit):
        if not told:
            yield from wrapped([head])
            continue
        first, rest = f"  {head.ljust(column)}", " " * (column + 2)
        yield from textwrap.wrap(told, WIDTH, initial_indent=first, subsequent_indent=rest)
    left = len(answers.changes) - sum(len(place.changes) for place in places)
    if left:
        yield f"{words.count(left, 'further metric')} without a change or not known yet: --json and --html have all"
    yield from wrapped(answers.left_out_texts)


def wrapped(texts: Iterable[str]) -> Iterator[str]:
    """Lines of at most WIDTH columns; what goes on is indented further. A path or an address stays whole."""
    for text in texts:
        indent = " " * (len(text) - len(text.lstrip()) + 4)
        yield from textwrap.wrap(
            text, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
        ) or [""]


def cases(answers: Answered, limit: float) -> Iterator[Case]:
    """A difference as a case for CI: it fails above the bound, and is skipped while that is not known. A condition that
    B has not is a skipped case, too.
    """
    endings = {Bounded.WITHIN: Ending.PASSED, Bounded.ABOVE: Ending.FAILED, Bounded.UNKNOWN: Ending.SKIPPED}
    for place in answers.places:
        for change in place.changes:
            metric = label(change.metric).lower() if len(place.changes) > 1 or not place.text else ""
            name = ": ".join(text for text in (place.text, metric) if text)
            told = f"{sentence(change, answers.margin)}: {against_text(change, limit)}"
            ending = Ending.ERROR if change.lost else endings[change.against(limit)]
            yield Case(name, ending, told, verdict_text(change))
    for name in answers.missing:
        yield Case(name, Ending.SKIPPED, ONLY_IN_A, "not known")


def _telling(place: Place, answers: Answered) -> tuple[Change, ...]:
    main = main_metric(answers.kind)
    alone = len(place.changes) == 1
    return tuple(change for change in place.changes if alone or change.metric == main or change.changed)


def _head(pair: RunPair) -> Iterator[str]:
    for letter, run, left_out in zip("AB", pair.runs, pair.left_out, strict=True):
        yield f"{letter}: {_run(run, sum(left_out.values()))}"
        yield from (f"   {note}" for note in run.notes)
    if pair.runs[0].study != pair.runs[1].study:
        yield "A and B are runs of different studies; what they have in common is compared."
    if pair.differences:
        yield "what differs (A | B):"
        shown = [str(difference) for difference in pair.differences]
        yield from (f"  {line}" for line in shown[:DIFFERENCES_SHOWN])
        if len(shown) > DIFFERENCES_SHOWN:
            yield f"  and {len(shown) - DIFFERENCES_SHOWN} more (--json lists all)"
    else:
        yield "what differs: nothing that the runs tell"
    for letter, only in zip("AB", pair.matched.only, strict=True):
        if only:
            names = [name_of(condition, pair.matched) for condition in only]
            yield f"only in {letter}: {shortened(names, CONDITIONS_SHOWN, separator='; ', noun='condition')}"


def _run(run: Run, left_out: int) -> str:
    started = sorted(run.records["started_utc"].dropna().astype(str)) if "started_utc" in run.records else []
    since = f", from {started[0][:16].replace('T', ' ')} UTC" if started else ""
    attempts = words.count(len(run.records), "attempt")
    return f"{run.directory} (study {run.study}{since}, {attempts}, {left_out} left out)"


def _claims(pair: RunPair) -> Iterator[str]:
    if not pair.claims.asked:
        return
    changed = pair.claims.changed
    yield f"claims that both runs answer: {pair.claims.asked}, with another verdict: {len(changed)}"
    for claim in changed:
        yield f"  A: {claim.a.sentence}"
        yield f"  B: {claim.b.sentence}"


def _trust(pair: RunPair) -> Iterator[str]:
    answers = pair.answers
    places = words.count(len(answers.places), "condition")
    yield (
        f"Bounds are of the {answers.interval}; those of what has a verdict are corrected for {places}, in each metric "
        "by itself."
    )
    if answers.floor is not None:
        yield f"Floor: equal conditions can show differences of up to {_percent(answers.floor)} inside a run (A/A)."
    yield (
        "One pair of runs cannot show how far runs differ without any change: another hour, or another state of the "
        "machine, can move medians by a few per cent."
    )
    if any(change.relative for change in answers.changes):
        yield (
            "The baseline of a condition is that of its page, link and browser inside each run: a change of the "
            "machine's speed cancels against it."
        )


def _percent(ratio: float) -> str:
    return f"{signed(ratio).removeprefix('+')} %"
