"""`coldload plan`: what a study will do."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Iterable

from harness.cli.plaintext import aligned, say
from harness.cli.studychoice import chosen, no_verdict_warning
from harness.model.condition import Condition
from harness.study.plan import Plan, make_plan
from harness.study.study import Study
from sites.archive import archives_root, open_archive

# A rough guess: the round trips a load waits for.
TYPICAL_ROUND_TRIPS = 12


def run(arguments: argparse.Namespace) -> int:
    _, _, study = chosen(arguments)
    plan = make_plan(study, study.seed if study.seed is not None else secrets.randbits(32))
    for line in conditions_table(study):
        say(line)
    if arguments.order:
        for planned in plan.trials:
            say(f"{planned.trial} block {planned.block}: {planned.condition}")
    seed = study.seed if study.seed is not None else "drawn when the run starts"
    say(
        f"\n{study.title}: {plan.conditions} conditions x {study.trials} trials = {len(plan.trials)} trials "
        f"in {plan.blocks} blocks, each in random order (seed {seed})"
    )
    say(f"estimated time: {_estimate(plan)}")
    warning = no_verdict_warning(study)
    if warning:
        say(warning)
    return 0


def conditions_table(study: Study) -> Iterable[str]:
    """A line per condition, below the names of its keys."""
    rows = [_words(condition) for condition in study.conditions]
    return aligned([list(rows[0]), *(list(row.values()) for row in rows)])


def _words(condition: Condition) -> dict[str, str]:
    return {
        "page": condition.page,
        "variant": condition.variant.name,
        "compression": str(condition.compression),
        "link": condition.link.name,
        "protocol": condition.protocol,
        "engine": condition.engine,
        "driver": condition.driver,
    }


def _estimate(plan: Plan) -> str:
    """A rough time from the archives' bytes; says so when a page is not archived yet."""
    sizes: dict[str, int] = {}
    for page in {trial.condition.page for trial in plan.trials}:
        archive = open_archive(archives_root(), page)
        sizes[page] = sum(entry.body_bytes for entry in archive.entries)
    seconds = 0.0
    for trial in plan.trials:
        condition = trial.condition
        seconds += condition.driver.overhead_s
        seconds += sizes[condition.page] * 8 / (condition.link.down.rate.mean_mbps * 1e6)
        seconds += TYPICAL_ROUND_TRIPS * condition.link.rtt_ms / 1e3
    minutes = seconds / 60
    return f"about {minutes:.0f} min" if minutes >= 2 else f"about {seconds:.0f} s"
