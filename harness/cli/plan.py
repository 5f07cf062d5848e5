"""`coldload plan`: what a study will do."""

from __future__ import annotations

import argparse
import itertools
import math
import random
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from harness.cli.options import slower_device
from harness.cli.studychoice import add_study, chosen
from harness.cli.telling import aligned, say
from harness.errors import Outcome, RecordsError, StudyError
from harness.input.shown import count_of
from harness.model.condition import OF_VARIANTS, USUAL, Condition, dimensions_of
from harness.model.kind import Kind
from harness.model.trials import TYPICAL_REST_S, seconds_of
from harness.system.folders import RUNS, kept_folder

if TYPE_CHECKING:
    from harness.study.plan import Plan
    from harness.study.study import Study


USUAL_CVS = (0.01, 0.02, 0.03)
ASKED = (0.02, 0.05)  # differences
PLAIN = 0.08  # a study that finds less plain differences needs no warning
MOST_READ = 5_000  # records of an earlier run

Values = Mapping[tuple[str, int], float]  # by condition and block


class Seen(NamedTuple):
    """The CV that an earlier run of a study had."""

    cv: float
    run: Path


TYPICAL_LOOK_S = 1.5  # of a load that is filmed, beside TYPICAL_REST_S
LONG_MINUTES = 180


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_study(parser)
    parser.add_argument("--order", action="store_true", help="list every trial in its order")


def run(arguments: argparse.Namespace) -> int:
    from harness.cli.archived import refuse_broken, refuse_unless_archived, whole_waits_lines
    from harness.cli.making import make_parts_and_pages, provide_pages
    from harness.pack.packfile import is_pack
    from harness.study.planning import make_plan

    path, study = chosen(arguments)
    if is_pack(path):
        provide_pages(arguments, path, study.conditions)
    make_parts_and_pages(arguments, (), {condition.page for condition in study.conditions})
    refuse_unless_archived(study)
    refuse_broken(study)
    seed = random.getrandbits(32) if study.seed is None else study.seed  # nothing is run in this order
    plan = make_plan(study, seed)
    for line in conditions_table(study):
        say(line)
    if arguments.order:
        for planned in plan.trials:
            say(f"{planned.trial} block {planned.block}: {planned.condition}")
    say("")
    for line in size(study, plan):
        say(line)
    say(f"estimated time: {estimate(plan, study)}")
    hint = slower_device(study.device, study.cpu_slowdowns)
    if hint:
        say(hint)
    for line in (*_originals(study), *whole_waits_lines(study)):
        say(line)
    for line in finding(study, seen_so_far(study, kept_folder(RUNS))):
        say(line)
    warning = no_verdict_warning(study)
    if warning:
        say(warning)
    return 0


def _originals(study: Study) -> Iterable[str]:
    """The variants that are their original; they are made to know it."""
    if all(condition.variant.is_plain for condition in study.conditions):
        return ()
    from harness.cli.archived import originals  # Pillow and the filters

    return originals(study)


def conditions_table(study: Study) -> Iterable[str]:
    """A line per condition, below the names of its keys, those of a group together."""
    from harness.study.planning import settings_of

    groups = (
        group
        for setting in settings_of(study.conditions, twice=study.aa, claims=study.every_claim)
        for group in setting
    )
    told = _told_only_where_unusual(study)
    rows = [
        {"group": str(number), **_words(condition, told)}
        for number, group in enumerate(groups, start=1)
        for condition in group
    ]
    return aligned([list(rows[0]), *(list(row.values()) for row in rows)])


def size(study: Study, plan: Plan) -> Iterable[str]:
    """What a plan is in numbers: conditions, trials, blocks, groups, attempts, looks."""
    from harness.study.planning import settings_of

    settings = settings_of(study.conditions, twice=study.aa, claims=study.every_claim)
    again = plan.conditions - len(plan.cells)
    up_to = "up to " if study.trials.until else ""
    yield (
        f"{study.title}: {plan.conditions} conditions x {up_to}{plan.blocks} trials = {up_to}{len(plan.trials)} trials "
        f"in {plan.blocks} blocks (seed {study.seed if study.seed is not None else 'drawn when the run starts'})"
    )
    if again:
        only = ", also of a single condition" if len(plan.cells) == 1 else ""
        yield f"measured twice (A/A): the baseline of each setting, {again} of the conditions{only}; aa = false: none"
    yield from _visitors(study)
    groups = [len(group) for setting in settings for group in setting]
    yield (
        f"a block: {count_of(len(groups), 'group')} of {_range(groups)}, in random order; "
        "what is compared stands together"
    )
    yield f"attempts: up to {study.trials.attempts} at a trial, until one counts"
    if study.trials.until is not None:
        looks = ", ".join(map(str, study.trials.looks))
        yield f"until {study.trials.until * 100:g} %: looks after the blocks {looks}"


def _visitors(study: Study) -> Iterable[str]:
    """Whether the visitors of a crowd share their link."""
    links = {
        condition.link
        for condition in study.conditions
        if condition.kind is Kind.USERS and condition.link.emulated
    }
    for own, told in ((True, "each visitor has it to itself"), (False, "all visitors share it")):
        names = sorted(link.name for link in links if link.per_client is own)
        if names:
            yield f"link{'s' * (len(names) > 1)} {', '.join(names)}: {told}"


def _range(sizes: Iterable[int]) -> str:
    numbers = sorted(set(sizes))
    return (
        count_of(numbers[0], "condition")
        if len(numbers) == 1
        else f"{numbers[0]} to {numbers[-1]} conditions"
    )


def _told_only_where_unusual(study: Study) -> tuple[str, ...]:
    """The dimensions that need a column: a browser at full speed with an empty cache needs none."""
    usual: dict[str, Any] = {**USUAL, **dict.fromkeys(OF_VARIANTS, "")}
    every = study.dimensions
    return tuple(
        name for name in usual if any(condition.get(name, usual[name]) != usual[name] for condition in every)
    )


def _words(condition: Condition, told: Iterable[str]) -> dict[str, str]:
    common = {
        "page": condition.page,
        "variant": condition.variant.name,
        "compression": str(condition.compression),
        "link": condition.link.name,
        "protocol": condition.protocol,
        "engine": condition.engine,
    }
    if condition.workload is None:
        own = {"driver": str(condition.driver)}
    else:
        own = {"server": condition.server, condition.kind.value: str(condition.workload)}
    changed = {"factor": condition.factor} if condition.factor else {}
    unusual = {name: str(dimensions_of(condition).get(name, "-")) for name in told}
    return {**common, **own, **unusual, **changed, "": "again" if condition.again else ""}


def estimate(plan: Plan, study: Study) -> str:
    """A rough time from the workloads, of loads from the archives' bytes; says so when a page is not archived yet."""
    from sites.archive import archives_root, open_archive

    sizes: dict[str, int] = {}
    for page in {trial.condition.page for trial in plan.trials}:
        archive = open_archive(archives_root(), page)
        sizes[page] = sum(entry.body_bytes for entry in archive.entries)
    seconds = sum(seconds_of(trial.condition, sizes[trial.condition.page]) for trial in plan.trials)
    seconds += len(plan.trials) * TYPICAL_REST_S * study.vitals
    looking = sum(
        seconds_of(portrait.condition, sizes[portrait.condition.page]) for portrait in plan.portraits.values()
    )
    looking += len(plan.portraits) * (TYPICAL_REST_S + TYPICAL_LOOK_S)
    count = len(plan.portraits)
    extra = (
        f", {_time(looking)} of it for {count_of(count, 'portrait')} (portraits = false: none)"
        if count
        else ""
    )
    if plan.per_condition is None or plan.per_condition.until is None:
        return f"about {_time(seconds + looking)}{extra}"
    least = seconds * plan.per_condition.least / plan.per_condition.most
    return f"about {_time(least + looking)} to {_time(seconds + looking)}, as the looks find{extra}"


def _time(seconds: float) -> str:
    minutes = seconds / 60
    if minutes >= LONG_MINUTES:
        return f"{minutes / 60:.1f} h"
    return f"{minutes:.0f} min" if minutes >= 2 else f"{seconds:.0f} s"


def comparisons_of(study: Study) -> int:
    """How many verdicts pay for each other: a claim has one in every setting; of one or two pages, each has one.

    Published claims pay by themselves; they are counted where there are no others.
    """
    from analysis.statistics import LEAST_LEVELS
    from harness.study.claim import settings

    conditions = study.dimensions
    asked = study.all_claims or study.every_claim
    cases = [(claim, setting) for claim in asked for setting in settings(claim, conditions)]
    pages = [
        1 if claim.is_budget else len({one["page"] for one, _ in setting.pairs}) for claim, setting in cases
    ]
    return sum(count if count < LEAST_LEVELS else 1 for count in pages)


def finding(study: Study, seen: Seen | None = None) -> Iterable[str]:
    """Lines on what the study can find at usual CVs, and at the one that was seen; none when nothing is compared."""
    from analysis.statistics import LEAST_PAIRS_LOOKED
    from analysis.statistics.power import POWER, Question, smallest_difference, trials_needed

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
        differences = (smallest_difference(trials, question) for question in questions)
        rows.append(
            [
                f"{trials} trials find",
                *("nothing" if share is None else _percent(share) for share in differences),
            ]
        )
    for difference in ASKED:
        needed = (trials_needed(difference, question) for question in questions)
        rows.append(
            [
                f"{_percent(difference)} needs trials",
                *("over 10,000" if count is None else f"{count}" for count in needed),
            ]
        )
    yield from aligned(rows)
    if seen:
        yield f"(a CV of {_percent(seen.cv)} was seen in {seen.run})"


def no_verdict_warning(study: Study) -> str | None:
    """What to say of a study whose trials give no verdict, or one on what is plain to see alone."""
    from analysis.statistics import LEAST_PAIRS
    from analysis.statistics.power import Question, smallest_difference, trials_needed

    most = study.trials.most
    if most < LEAST_PAIRS:
        return (
            f"warning: {count_of(most, 'trial')} per condition give no interval and no verdict, whatever is "
            f"measured; at least {LEAST_PAIRS} do, 10 are usual: --trials 10"
        )
    comparisons = comparisons_of(study)
    if not comparisons:
        return None
    question = Question(USUAL_CVS[0], comparisons, study.trials.until is not None)
    least = smallest_difference(most, question)
    if least is not None and least <= PLAIN:
        return None
    reach = "no difference gets" if least is None else f"only differences from {_percent(least)} on get"
    needed = trials_needed(ASKED[-1], question)
    return (
        f"warning: with {most} trials per condition {reach} a verdict (CV {_percent(USUAL_CVS[0])}, "
        f"{comparisons} verdicts); {needed} trials find {_percent(ASKED[-1])}: --trials {needed}"
    )


def seen_so_far(study: Study, runs: Path) -> Seen | None:
    """The CV of the latest run of the study that tells one: the median over the pairs that are compared."""
    for folder in sorted(runs.glob(f"{study.name}-*Z*"), reverse=True):
        cv = _cv_of(study, folder)
        if cv is not None:
            return Seen(cv, folder)
    return None


def _cv_of(study: Study, run: Path) -> float | None:
    from harness.study.claim import pairs

    dimensions = study.dimensions
    names = {id(each): str(condition) for each, condition in zip(dimensions, study.conditions, strict=True)}
    claims = study.all_claims or study.every_claim
    values = _values(run, {claim.metric for claim in claims})
    cvs = []
    for claim in claims:
        for subject, reference in pairs(claim, dimensions):
            if reference is not None:
                spread = _spread(values[claim.metric], names[id(subject)], names[id(reference)])
                cvs += [spread / math.sqrt(2)] if spread is not None else []
    return statistics.median(cvs) if cvs else None


def _spread(values: Values, subject: str, reference: str) -> float | None:
    """The standard deviation of the log ratios inside blocks; None below three, or when they never vary."""
    from analysis.statistics import LEAST_PAIRS

    ratios = [
        math.log(value / values[reference, block])
        for (name, block), value in values.items()
        if name == subject and (reference, block) in values
    ]
    return (statistics.stdev(ratios) or None) if len(ratios) >= LEAST_PAIRS else None


def _values(run: Path, metrics: Iterable[str]) -> dict[str, Values]:
    """Of each metric what the attempts that count gave; nothing of a file that is missing or damaged."""
    from harness.records import RECORDS, RecordReader

    by_metric: dict[str, dict[tuple[str, int], float]] = {metric: {} for metric in metrics}
    try:
        for _, record, condition in itertools.islice(RecordReader().of(run / RECORDS), MOST_READ):
            if record.outcome != Outcome.OK or record.left_out is not None:
                continue
            key = (str(condition), record.block)
            for metric, values in by_metric.items():
                value = getattr(record, metric, None)
                if value is not None and value > 0:
                    values[key] = value
    except (RecordsError, StudyError):
        return defaultdict(dict)
    return dict(by_metric)


def _pays(comparisons: int, looked: bool) -> str:
    """What a verdict pays for."""
    prices: Sequence[str] = [*["all others"] * (comparisons > 1), *["the looks"] * looked]
    return f"each pays for {' and '.join(prices)}" if prices else "none pays for another"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"
