"""`coldload plan`: what a study will do."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Iterable
from typing import Any

from harness.cli.archived import refuse_broken, refuse_unless_archived
from harness.cli.finding import finding, no_verdict_warning, seen_so_far
from harness.cli.plaintext import aligned, say
from harness.cli.slowerdevice import slower_device
from harness.cli.studychoice import chosen
from harness.model.condition import Condition
from harness.model.dimensions import OF_VARIANTS, USUAL, dimensions_of
from harness.model.plan import Plan
from harness.model.revisit import CacheState
from harness.model.workload import Requests, Users
from harness.study.planning import make_plan, settings_of
from harness.study.study import Study
from harness.system.folders import RUNS, kept_folder
from sites.archive import archives_root, open_archive

# A rough guess: the round trips a load waits for.
TYPICAL_ROUND_TRIPS = 12
TYPICAL_REST_S = 2.5  # of a page that is observed until it comes to rest
LONG_MINUTES = 180


def run(arguments: argparse.Namespace) -> int:
    _, _, study = chosen(arguments)
    refuse_unless_archived(study)
    refuse_broken(study)
    plan = make_plan(study, study.seed if study.seed is not None else secrets.randbits(32))
    for line in conditions_table(study):
        say(line)
    if arguments.order:
        for planned in plan.trials:
            say(f"{planned.trial} block {planned.block}: {planned.condition}")
    say("")
    for line in size(study, plan):
        say(line)
    say(f"estimated time: {_estimate(plan, study)}")
    hint = slower_device(study.device, study.cpu_slowdowns)
    if hint:
        say(hint)
    for line in _originals(study):
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
    from harness.cli.originals import originals  # noqa: PLC0415  # Pillow and the filters

    return originals(study)


def conditions_table(study: Study) -> Iterable[str]:
    """A line per condition, below the names of its keys, those of a group together."""
    groups = (group for setting in settings_of(study.conditions, twice=study.aa) for group in setting)
    told = _told_only_where_unusual(study)
    rows = [
        {"group": str(number), **_words(condition, told)}
        for number, group in enumerate(groups, start=1)
        for condition in group
    ]
    return aligned([list(rows[0]), *(list(row.values()) for row in rows)])


def size(study: Study, plan: Plan) -> Iterable[str]:
    """What a plan is in numbers: conditions, trials, blocks, groups, attempts, looks."""
    settings = settings_of(study.conditions, twice=study.aa)
    again = plan.conditions - len(plan.cells)
    up_to = "up to " if study.trials.until else ""
    yield (
        f"{study.title}: {plan.conditions} conditions x {up_to}{plan.blocks} trials = {up_to}{len(plan.trials)} trials "
        f"in {plan.blocks} blocks (seed {study.seed if study.seed is not None else 'drawn when the run starts'})"
    )
    if again:
        only = ", also of a single condition" if len(plan.cells) == 1 else ""
        yield f"measured twice (A/A): the baseline of each setting, {again} of the conditions{only}; aa = false: none"
    groups = [len(group) for setting in settings for group in setting]
    yield (
        f"a block: {_counted(len(groups), 'group')} of {_range(groups)}, in random order; "
        "what is compared stands together"
    )
    yield f"attempts: up to {study.trials.attempts} at a trial, until one counts"
    if study.trials.until is not None:
        looks = ", ".join(map(str, study.trials.looks))
        yield f"until {study.trials.until * 100:g} %: looks after the blocks {looks}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _range(sizes: Iterable[int]) -> str:
    found = sorted(set(sizes))
    return _counted(found[0], "condition") if len(found) == 1 else f"{found[0]} to {found[-1]} conditions"


def _told_only_where_unusual(study: Study) -> tuple[str, ...]:
    """The dimensions that need a column: a browser at full speed with an empty cache needs none."""
    usual: dict[str, Any] = {**USUAL, **dict.fromkeys(OF_VARIANTS, "")}
    every = study.dimensions
    return tuple(name for name in usual if any(each.get(name, usual[name]) != usual[name] for each in every))


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


def _estimate(plan: Plan, study: Study) -> str:
    """A rough time from the workloads, of loads from the archives' bytes; says so when a page is not archived yet."""
    sizes: dict[str, int] = {}
    for page in {trial.condition.page for trial in plan.trials}:
        archive = open_archive(archives_root(), page)
        sizes[page] = sum(entry.body_bytes for entry in archive.entries)
    seconds = sum(seconds_of(trial.condition, sizes[trial.condition.page]) for trial in plan.trials)
    seconds += len(plan.trials) * TYPICAL_REST_S * study.vitals
    if plan.per_condition is None or plan.per_condition.until is None:
        return f"about {_time(seconds)}"
    least = seconds * plan.per_condition.least / plan.per_condition.most
    return f"about {_time(least)} to {_time(seconds)}, as the looks find"


def seconds_of(condition: Condition, page_bytes: int) -> float:
    """About how long a trial takes."""
    overhead, load = condition.driver.overhead_s, condition.workload
    if isinstance(load, Users):
        return overhead + load.seconds
    if isinstance(load, Requests):
        return overhead + load.warm_s + load.seconds
    on_the_link = page_bytes * 8 / (condition.link.down.rate.mean_mbps * 1e6)
    once = overhead + on_the_link + TYPICAL_ROUND_TRIPS * condition.link.rtt_ms / 1e3
    return once if condition.cache is CacheState.COLD else 2 * once + TYPICAL_REST_S


def _time(seconds: float) -> str:
    minutes = seconds / 60
    if minutes >= LONG_MINUTES:
        return f"{minutes / 60:.1f} h"
    return f"{minutes:.0f} min" if minutes >= 2 else f"{seconds:.0f} s"
