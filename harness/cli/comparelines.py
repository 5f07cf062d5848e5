"""Two compared runs as text: lines for people, cases for CI."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analysis.claims.junit import Case, Ending
from analysis.comparing.between import Change
from analysis.comparing.matching import Condition, varying
from analysis.comparing.runpair import RunPair
from analysis.labels import metrics, words
from analysis.runs.rundirectory import Run
from analysis.statistics.compare import Comparison, Judgement, Verdict, direction_text, verdict_text
from harness.cli.plaintext import aligned
from harness.input.shown import shortened
from harness.model.condition import EVERY_DIMENSION, OF_LINKS, value
from harness.study.metrics import metrics_of

DIFFERENCES_SHOWN = 20
CONDITIONS_SHOWN, FAILED_SHOWN = 8, 3
# What two runs of one study show without any change (docs/methodology.md, "Two runs").
WITHOUT_CHANGE = 1.5


def lines(pair: RunPair) -> Iterable[str]:
    """What differs, the conditions, the claims, and how far all this can be trusted."""
    yield from _head(pair)
    yield ""
    yield from _table(pair)
    yield ""
    yield from _claims(pair)
    yield from _trust(pair)


def name_of(condition: Condition, pair: RunPair) -> str:
    """A condition by its page and what else differs among those of the runs: `agency, h2, 10mbps-20ms`."""
    every = [each.condition for each in pair.changes] + [each for only in pair.matched.only for each in only]
    telling = ["page", *(name for name in varying(every, EVERY_DIMENSION) if name != "page")]
    if "link" in telling:
        telling = [name for name in telling if name == "link" or name not in OF_LINKS]
    texts = {name: value(condition, name) for name in telling}
    return ", ".join(
        str(text) if isinstance(text, str) else f"{name} {words.plain(text)}" for name, text in texts.items()
    )


def failed_text(pair: RunPair, limit: float, failed: tuple[Change, ...]) -> str:
    """What --fail-on found."""
    direction = metrics.direction(pair.metric)
    worse = direction.below if metrics.more_is_better(pair.metric) else direction.above
    by = f"{worse} by more than {limit:g} %" if limit else worse
    said = f"--fail-on {limit:g}: {len(failed)} of {len(pair.changes)} conditions"
    if not failed:
        return f"{said} {by}"
    names = [
        f"{name_of(each.condition, pair)} ({f'B/A {each.comparison.ratio:.3f}' if each.n[1] else 'no data in B'})"
        for each in failed
    ]
    what = f"{by} or without data in B" if pair.lost else by
    return f"{said} {what}: {shortened(names, FAILED_SHOWN, separator='; ', noun='condition')}"


def case_of(change: Change, pair: RunPair, failed: Sequence[Change]) -> Case:
    """A condition as a case for CI: it fails where --fail-on does, and is skipped while nothing is known."""
    if change in failed:
        ending = Ending.FAILED if change.n[1] else Ending.ERROR
    else:
        ending = Ending.SKIPPED if change.judgement.verdict is Verdict.UNKNOWN else Ending.PASSED
    said = f"B/A {ratio_of(change.comparison)}: {verdict_of(change, pair)}"
    return Case(
        name_of(change.condition, pair), ending, said, direction_text(change.judgement.verdict, pair.metric)
    )


def _head(pair: RunPair) -> Iterable[str]:
    for letter, run, left_out in zip("AB", pair.runs, pair.left_out, strict=True):
        yield f"{letter}: {_run(run, sum(left_out.values()))}"
        yield from (f"   {note}" for note in run.notes)
    if pair.runs[0].study != pair.runs[1].study:
        yield "A and B are runs of different studies; what they have in common is compared."
    if pair.differences:
        yield "what differs (A | B):"
        shown = [str(each) for each in pair.differences]
        yield from (f"  {each}" for each in shown[:DIFFERENCES_SHOWN])
        if len(shown) > DIFFERENCES_SHOWN:
            yield f"  and {len(shown) - DIFFERENCES_SHOWN} more (--json lists all)"
    else:
        yield "what differs: nothing that the runs tell"
    for letter, only in zip("AB", pair.matched.only, strict=True):
        if only:
            names = [name_of(each, pair) for each in only]
            yield f"only in {letter}: {shortened(names, CONDITIONS_SHOWN, separator='; ', noun='condition')}"


def _run(run: Run, left_out: int) -> str:
    started = sorted(run.records["started_utc"].dropna().astype(str)) if "started_utc" in run.records else []
    since = f", from {started[0][:16].replace('T', ' ')} UTC" if started else ""
    attempts = words.count(len(run.records), "attempt")
    return f"{run.directory} (study {run.study}{since}, {attempts}, {left_out} left out)"


def _table(pair: RunPair) -> Iterable[str]:
    metric = metrics_of(pair.kind)[pair.metric]
    column = metrics.MetricColumn(pair.metric, metric.label, metric.unit)
    unit = f" ({metrics.UNITS[metric.unit]})" if metric.unit in metrics.UNITS else ""
    yield (
        f"{metric.label}, medians, and B in units of A with 95 % intervals; verdicts, and intervals of what has one, "
        f"are corrected for {words.count(len(pair.changes), 'condition')}"
    )
    head = ("condition", f"A{unit}", f"B{unit}", "n", "B/A", "verdict", "relative to the baseline", "verdict")
    yield from aligned([head, *(_row(each, pair, column) for each in pair.changes)])


def _row(change: Change, pair: RunPair, column: metrics.MetricColumn) -> Sequence[str]:
    before, after = (column.text(each) if words.is_number(each) else words.DASH for each in change.medians)
    return (
        name_of(change.condition, pair),
        before,
        after,
        f"{change.n[0]}, {change.n[1]}",
        ratio_of(change.comparison),
        verdict_of(change, pair),
        *_relative(change, pair),
    )


def verdict_of(change: Change, pair: RunPair) -> str:
    """What is known of a condition, in words; or why there is no ratio."""
    if change.comparison.n:
        return _verdict(change.comparison, change.judgement, change, pair)
    without = [letter for letter, n in zip("AB", change.n, strict=True) if n == 0]
    if without:
        return f"not known: no value in {' and '.join(without)}"
    return "not known: a value is not above 0"


def _relative(change: Change, pair: RunPair) -> tuple[str, str]:
    found = change.relative
    if found is None:
        return "(baseline)", ""
    if found.comparison.n == 0:
        return words.DASH, "not known: no block with both in A or B"
    return ratio_of(found.comparison), _verdict(found.comparison, found.judgement, change, pair)


def ratio_of(seen: Comparison) -> str:
    """`1.050 [1.041-1.059]`, as far as it is known."""
    return f"{words.number(seen.ratio, 3)} {words.span(seen.low, seen.high, 3)}".rstrip()


def _verdict(seen: Comparison, judgement: Judgement, change: Change, pair: RunPair) -> str:
    row = {
        **seen.figures,
        **vars(judgement),
        "trials": None,
    }  # further trials of one run tell nothing of the other
    text = verdict_text(row, pair.margin, pair.metric)
    directed = judgement.verdict in (Verdict.SLOWER, Verdict.FASTER)
    if directed and change.floor is not None and seen.below(change.floor):
        return f"{text} (below the floor of {_percent(change.floor)})"
    return text


def _claims(pair: RunPair) -> Iterable[str]:
    if not pair.claims.asked:
        return
    changed = pair.claims.changed
    yield f"claims that both runs answer: {pair.claims.asked}, with another verdict: {len(changed)}"
    for each in changed:
        yield f"  A: {each.a.sentence}"
        yield f"  B: {each.b.sentence}"


def _trust(pair: RunPair) -> Iterable[str]:
    if pair.floor is not None:
        yield f"Floor: equal conditions can show differences of up to {_percent(pair.floor)} inside a run (A/A)."
    yield (
        f"One pair of runs cannot show how far runs differ: without any change, two runs lie up to {WITHOUT_CHANGE} % "
        "apart (another hour, another state of the machine)."
    )
    if any(each.relative for each in pair.changes):
        yield (
            "Relative to the baseline: the ratio to the baseline of the same page, link and browser inside each run, "
            "B over A. A change of the machine's speed cancels there."
        )


def _percent(ratio: float) -> str:
    return f"{words.number(100 * (ratio - 1), 1)} %"
