"""Loads of a page in the browser that count, for the recipe of a crowd's pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.browser.browserlog import Request
from harness.capacity.recipe import PageRecipe, recipe_of
from harness.errors import MeasurementRefused
from harness.model.condition import Condition
from harness.model.link import Link
from harness.model.plan import PlannedTrial
from harness.outcome import Outcome
from harness.trial.bench import Bench
from harness.trial.trial import TrialOptions, run_observed

LOADS = 3  # so that what merely happened to come earlier in one of them is not taken for a dependency
MOST_LOADS = 6
# So long that what the browser computes between one request and the next takes no time beside it: over a quick link all
# style sheets are there before a busy browser has read to the end of its document.
LEAST_RTT_MS = 400.0


def in_the_browser(condition: Condition) -> Condition:
    """The condition of a load in the browser for one of a crowd: one client has the link to itself, and no factor."""
    engine = condition.engine.browser
    link = replace(condition.link, per_client=False, shared_down_mbps=None, shared_up_mbps=None)
    return replace(condition, engine=engine, driver=engine.drivers[0], link=link, workload=None, factor="")


def unhurried(link: Link) -> Link:
    """The link with a long round trip."""
    if link.rtt_ms >= LEAST_RTT_MS:
        return link
    down, up = (replace(each, delay_ms=None) for each in link.directions)
    return replace(link, name="recipe", rtt_ms=LEAST_RTT_MS, down=down, up=up)


def proved_recipe(opened: Bench, condition: Condition, files: Path, *, timeout_s: float = 60.0) -> PageRecipe:
    """What the page of a crowd's condition asks for, from loads by its protocol that were proved.

    They go over the condition's link with a long round trip. MeasurementRefused when not enough of them count.
    """
    usual = in_the_browser(condition)
    asked = replace(usual, link=unhurried(usual.link))
    loads: list[Sequence[Request]] = []
    said = ""
    for number in range(1, MOST_LOADS + 1):
        planned = PlannedTrial(f"recipe-{number}", number, number, asked)
        record, evidence = run_observed(
            opened.testbed, opened.drivers, planned, TrialOptions(timeout_s), files
        )
        if record.outcome is Outcome.OK and evidence is not None:
            loads.append(evidence.load_requests)
        else:
            said = f"{record.outcome}: {record.reason}"
        if len(loads) == LOADS:
            return recipe_of(loads)
    raise MeasurementRefused(
        f"what {condition.page} asks for by {condition.protocol} is taken from {LOADS} loads of it in the browser, and "
        f"only {len(loads)} of {MOST_LOADS} counted ({said}); see `coldload load {condition.page} --protocol "
        f"{condition.protocol}`"
    )
