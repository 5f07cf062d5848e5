"""A load of Chromium over HTTP/2, for the benchmarks that set loads of a page against each other.

It counts when its outcome is ok. The rules by which a report leaves out disturbed loads are not applied.
"""

from __future__ import annotations

from pathlib import Path

from harness.input.shown import clipped
from harness.model.condition import Condition, Origins
from harness.model.engine import Driver, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.trials import PlannedTrial
from harness.outcome import Outcome
from harness.probes.probe import TrialOptions
from harness.probes.registry import Observation
from harness.records import Record
from harness.trial.trial import BrowserLab, run_trial

LINK = Link.of(20, 40)
DRIVERS = [driver for driver in Driver if driver.engine is Engine.CHROMIUM]


def over_h2(page: str, driver: Driver) -> Condition:
    return Condition(
        page=page,
        protocol=Protocol.H2,
        link=LINK,
        engine=driver.engine,
        driver=driver,
        origins=Origins.SINGLE,
        server="caddy",
    )


def load(
    opened: BrowserLab, page: str, driver: Driver, number: int, files: Path, options: TrialOptions
) -> Record[Observation] | None:
    """The record of one load, in the block of this number; None when it does not count, which is printed."""
    planned = PlannedTrial(f"{number:05d}", number, number, over_h2(page, driver))
    record = run_trial(opened.testbed, opened.drivers, planned, options, files)
    if record.outcome is Outcome.OK:
        return record
    print(f"  not counted: {page}: {record.outcome}: {clipped(record.reason or '', 200)}")
    return None
