"""Page times of a crowd beside the network time of the same page in the browser, protocol by protocol. Some minutes.

    .venv/bin/python benchmarks/crowdtimes.py [--runs 3] [--only times]

Twenty users load the page, by SPDY five, as the gateway is slow; each behind a link of 5 Mbit/s and 85 ms. In the
browser it is loaded over the same link, before the crowd comes and after it has gone. The network time of a load is
from asking for the document to the last byte of the last object. A figure is the median page time of a run's crowd in
units of the median network time.
"""

from __future__ import annotations

import contextlib
import statistics
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.link import Row, Setting, program
from harness.capacity.crowdtrial import CrowdOptions, run_crowd_trial
from harness.capacity.recipe import PageRecipe, in_the_browser, network_ms, proved_recipe
from harness.lab.testbed import testbed
from harness.model.condition import Condition, Origins
from harness.model.engine import Engine, speaking
from harness.model.kind import Kind, Users
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.serversettings import Tuning
from harness.model.settings import Replay
from harness.model.trials import PlannedTrial
from harness.model.underload import CrowdObservation
from harness.outcome import Outcome
from harness.probes.probe import TrialOptions
from harness.probes.timeline import load_requests
from harness.system.enclosure import WORKSPACE
from harness.trial.trial import BrowserLab, browser_lab, run_observed
from sites.archive import Archive, archives_root, open_archive

PAGE = "dummy-2012"
PROTOCOLS = (Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2, Protocol.H3, Protocol.SPDY)
LINK = replace(Link.of(5, 85), per_client=True)
USERS = Users(steps=(20,), step_s=20, think_s=5, page_timeout_s=60, bucket_s=5)
ON_THE_GATEWAY = 5  # users
LOADS = 3  # before the crowd, and after it
WITHIN = 0.1


def crowd(protocol: Protocol) -> Condition:
    """The users of the page by a protocol."""
    engine = speaking(protocol, Kind.USERS)[0]
    many = USERS if engine is Engine.K6 else replace(USERS, steps=(ON_THE_GATEWAY,))
    return Condition(
        page=PAGE,
        protocol=protocol,
        link=LINK,
        engine=engine,
        driver=engine.drivers[0],
        origins=Origins.SINGLE,
        server=engine.traits.server,
        workload=many,
    )


def in_lab(archive: Archive, condition: Condition) -> contextlib.AbstractContextManager[BrowserLab]:
    """Where the browser that the users are like loads the page."""
    return browser_lab(
        {PAGE: archive},
        [condition.protocol],
        server=condition.server,
        engine=condition.engine.browser,
    )


def in_browser(opened: BrowserLab, condition: Condition, first: int) -> list[float]:
    """The network times of some loads that count."""
    found: list[float] = []
    for number in range(first, first + LOADS):
        planned = PlannedTrial(f"load-{number}", number, number, in_the_browser(condition))
        record, evidence = run_observed(
            opened.testbed, opened.drivers, planned, TrialOptions(), WORKSPACE / "loads"
        )
        if record.outcome is Outcome.OK and evidence is not None:
            found.append(network_ms(load_requests(evidence)))
    return found


def by_crowd(
    setting: Setting, archive: Archive, condition: Condition, recipe: PageRecipe
) -> tuple[float, str]:
    """The median page time of a crowd, and how its trial ended."""
    with TemporaryDirectory(dir=WORKSPACE) as folder, testbed(device=setting.device) as made:
        tuning = Tuning(status=True, name=condition.server)
        replay = Replay.usual(condition.engine)
        made.serve(archive, [condition.protocol], replay, condition.server, condition.engine, tuning)
        planned = PlannedTrial("crowd", 1, 1, condition)
        record = run_crowd_trial(made, planned, CrowdOptions(recipe), Path(folder))
    seen = record.observation
    if not isinstance(seen, CrowdObservation) or seen.page_ms is None:
        raise AssertionError(f"{record.outcome}: {record.reason}")
    return seen.page_ms, f"{record.outcome}, limited by {seen.limited_by}"


def times(setting: Setting) -> Iterator[Row | str]:
    """Page times of users over network times in the browser."""
    archive = open_archive(archives_root(), PAGE)
    for protocol in PROTOCOLS:
        condition, shares = crowd(protocol), []
        with in_lab(archive, condition) as opened:
            recipe = proved_recipe(opened, condition, WORKSPACE / "recipe")
            taken = in_browser(opened, condition, 1)
        for run in range(setting.runs):
            page_ms, ended = by_crowd(setting, archive, condition, recipe)
            with in_lab(archive, condition) as opened:
                after = in_browser(opened, condition, 1 + (run + 1) * LOADS)
            network = statistics.median(taken + after)
            said = (
                f"crowd {page_ms:,.0f} ms ({ended}), browser {network:,.0f} ms of {len(taken + after)} loads"
            )
            yield f"{protocol}: {said}"
            shares.append(page_ms / network)
            taken = after
        reached = abs(statistics.median(shares) - 1) <= WITHIN
        yield Row(f"{protocol}, page time over network time", shares, "", f"1 within {WITHIN:g}", reached)


MEASUREMENTS = {"times": times}


def main() -> int:
    return program(__doc__, MEASUREMENTS)


if __name__ == "__main__":
    sys.exit(main())
