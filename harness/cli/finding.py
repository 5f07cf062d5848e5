"""What a study can find before it is run: the smallest difference, and the trials that small ones need."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from analysis.statistics.contrast import LEAST_PAIRS, LEAST_PAIRS_LOOKED
from analysis.statistics.power import POWER, Question, smallest_difference, trials_needed
from harness.cli.plaintext import aligned
from harness.errors import StudyError
from harness.input import jsontext
from harness.model.claim import pairs, settings
from harness.model.condition import Condition
from harness.model.kind import Kind
from harness.outcome import Outcome
from harness.study.planning import claims_of
from harness.study.study import Study

USUAL_CVS = (0.01, 0.02, 0.03)
ASKED = (0.02, 0.05)  # differences
PLAIN = 0.08  # a study that finds less plain differences needs no warning
MOST_READ = 5_000  # records of an earlier run
RECORDS = "records.jsonl"

Values = Mapping[tuple[str, int], float]  # by condition and block


class Seen(NamedTuple):
    """The CV that an earlier run of a study had."""

    cv: float
    run: Path


def comparisons_of(study: Study) -> int:
    """How many verdicts pay for each other: a claim has one in every setting."""
    conditions = study.dimensions
    return sum(len(settings(claim, conditions)) for claim in claims_of(study))


def finding(study: Study, seen: Seen | None = None) -> Iterable[str]:
    """Lines on what the study can find at usual CVs, and at the one that was seen; none when nothing is compared."""
    comparisons = comparisons_of(study)
    if not comparisons:
        return
    looked = study.trials.until is not None
    cvs = [*USUAL_CVS, *([seen.cv] if seen else [])]
    questions = [Question(cv, comparisons, looked) for cv in cvs]
    yield (
        f"verdicts: {comparisons}, a claim has one in every setting; {_pays(comparisons, looked)}. "
        f"Differences that are found with {POWER * 100:g} % power, on one page:"
    )
    figures = "times" if study.kind is Kind.LOAD else "rates"
    rows = [[f"{figures} of a condition have a CV of", *map(_percent, cvs)]]
    first = max(study.trials.least, LEAST_PAIRS_LOOKED) if looked else study.trials.least
    for trials in sorted({min(first, study.trials.most), study.trials.most}):
        found = (smallest_difference(trials, each) for each in questions)
        rows.append(
            [f"{trials} trials find", *("nothing" if each is None else _percent(each) for each in found)]
        )
    for difference in ASKED:
        needed = (trials_needed(difference, each) for each in questions)
        rows.append(
            [
                f"{_percent(difference)} needs trials",
                *("over 10,000" if each is None else f"{each}" for each in needed),
            ]
        )
    yield from aligned(rows)
    if seen:
        yield f"(a CV of {_percent(seen.cv)} was seen in {seen.run})"


def no_verdict_warning(study: Study) -> str | None:
    """What to say of a study whose trials give no verdict, or one on what is plain to see alone."""
    most = study.trials.most
    if most < LEAST_PAIRS:
        return (
            f"warning: {most} trial{'s' * (most != 1)} per condition give no interval and no verdict, whatever is "
            f"measured; at least {LEAST_PAIRS} do, 10 are usual: --trials 10"
        )
    comparisons = comparisons_of(study)
    if not comparisons:
        return None
    question = Question(USUAL_CVS[0], comparisons, study.trials.until is not None)
    least = smallest_difference(most, question)
    if least is not None and least <= PLAIN:
        return None
    found = "no difference gets" if least is None else f"only differences from {_percent(least)} on get"
    needed = trials_needed(ASKED[-1], question)
    return (
        f"warning: with {most} trials per condition {found} a verdict (CV {_percent(USUAL_CVS[0])}, "
        f"{comparisons} verdicts); {needed} trials find {_percent(ASKED[-1])}: --trials {needed}"
    )


def seen_so_far(study: Study, runs: Path) -> Seen | None:
    """The CV of the latest run of the study that tells one: the median over the pairs that are compared."""
    for folder in sorted(runs.glob(f"{study.name}-*Z*"), reverse=True):
        found = _cv_of(study, folder / RECORDS)
        if found is not None:
            return Seen(found, folder)
    return None


def _cv_of(study: Study, path: Path) -> float | None:
    dimensions = study.dimensions
    names = {id(each): str(condition) for each, condition in zip(dimensions, study.conditions, strict=True)}
    claims = claims_of(study)
    values = _values(path, {claim.metric for claim in claims})
    found = []
    for claim in claims:
        for subject, reference in pairs(claim, dimensions):
            if reference is not None:
                spread = _spread(values[claim.metric], names[id(subject)], names[id(reference)])
                found += [spread / math.sqrt(2)] if spread is not None else []
    return statistics.median(found) if found else None


def _spread(values: Values, subject: str, reference: str) -> float | None:
    """The standard deviation of the log ratios inside blocks; None below three, or when they never vary."""
    ratios = [
        math.log(value / values[reference, block])
        for (name, block), value in values.items()
        if name == subject and (reference, block) in values
    ]
    return (statistics.stdev(ratios) or None) if len(ratios) >= LEAST_PAIRS else None


def _values(path: Path, metrics: Iterable[str]) -> dict[str, Values]:
    """Of each metric what the attempts that count gave; nothing of a file that is missing or damaged."""
    found: dict[str, dict[tuple[str, int], float]] = {metric: {} for metric in metrics}
    try:
        for _, line, ended in itertools.islice(jsontext.lines(path), MOST_READ):
            record = jsontext.parse(line) if ended else {}
            if record.get("outcome") != Outcome.OK or record.get("left_out"):
                continue
            key = (str(Condition.from_json(record["condition"])), int(record["block"]))
            for metric, values in found.items():
                value = record.get(metric)
                if isinstance(value, int | float) and value > 0:
                    values[key] = value
    except (OSError, ValueError, KeyError, TypeError, StudyError):
        return defaultdict(dict)
    return dict(found)


def _pays(comparisons: int, looked: bool) -> str:
    """What a verdict pays for."""
    prices: Sequence[str] = [*["all others"] * (comparisons > 1), *["the looks"] * looked]
    return f"each pays for {' and '.join(prices)}" if prices else "none pays for another"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"
