"""How busy link and main thread were, step by step, on the clock of the load."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from harness.engines.browserlog import BrowserLog
from harness.model.link import NO_LINK, Direction, Link, LinkAccount, Way
from harness.model.rate import RateFormat, RecordedRate
from harness.probes.evidence import Evidence, Stretch
from harness.probes.har import MOST_STEPS, activity
from harness.probes.trace import MainThread
from tests.unit.harness.probes.goodload import changed, evidence

BEGAN_US = 998_500  # of the good load, whose log counts from its own zero
LINK = Link.of(10, 40)
NOTHING = LinkAccount((), ())
LOG = BrowserLog((), (), epoch_ms=1_700_000_000_000.0)


def seen(**changes: object) -> dict[str, object]:
    return activity(evidence(**changes), LOG, LINK, 1000.0) or {}


def at(begin_ms: float, end_ms: float) -> tuple[int, int]:
    return round(BEGAN_US + 1000 * begin_ms), round(BEGAN_US + 1000 * end_ms)


def test_the_link_was_busy_for_a_share_of_each_step() -> None:
    account = LinkAccount(down=(at(-50, 1), at(2, 3), at(10.5, 21), at(1999, 3000)), up=(at(998, 1200),))
    found = seen(link_account=account)
    assert (found["stepMs"], found["downMbps"], found["upMbps"]) == (2, 10, 10)
    down, up = found["linkDown"], found["linkUp"]
    assert isinstance(down, list)
    assert isinstance(up, list)
    assert down[:12] == [50, 50, 0, 0, 0, 75, 100, 100, 100, 100, 50, 0]
    assert (len(down), set(down[12:]), up[-2:], sum(up)) == (500, {0}, [0, 100], 100)


def test_the_main_thread_is_told_by_its_trace_or_by_the_kernel_until_the_load_event() -> None:
    thread = MainThread(3.0, {}, (), ((0, 1000), (499_000, 900_000)))
    runs = (Stretch(*at(0, 4), 3000), Stretch(*at(0, 4), 3000), Stretch(*at(20, 40), 5000))
    by_trace = seen(main_thread=thread, runs=runs)
    assert (by_trace["mainThreadBy"], by_trace["mainThread"]) == ("trace", [50, *[0] * 248, 50])
    by_kernel = seen(runs=runs)
    assert by_kernel["mainThreadBy"] == "kernel"
    assert by_kernel["mainThread"] == [100, 100, *[0] * 8, *[25] * 10, *[0] * 230]  # two threads: all at most
    assert "linkDown" not in by_kernel


@pytest.mark.parametrize(
    "nothing",
    [
        evidence(),
        changed(evidence(link_account=NOTHING), timeline=None),
        changed(evidence(link_account=NOTHING), timeline={"plt_ms": 500.0}),
    ],
)
def test_what_was_not_seen_is_not_told(nothing: Evidence) -> None:
    assert activity(nothing, LOG, LINK, 1000.0) is None


def test_a_rate_that_changes_is_no_rate_of_a_whole_step() -> None:
    trace = RecordedRate.of(RateFormat.TRACE, "t", "1\n2\n")
    changing = replace(LINK, down=Direction(Way.DOWN, trace, LINK.down.queue))
    for link in (changing, NO_LINK):
        found = activity(evidence(link_account=NOTHING), LOG, link, 1000.0)
        assert found is not None
        assert "downMbps" not in found
        assert set(found["linkDown"]) == {0}


@pytest.mark.parametrize("end_ms", [0.4, 499.6, 10_001.0, 300_000.0, 9e6])
def test_it_stays_small_however_long_the_load(end_ms: float) -> None:
    account = LinkAccount((at(0, 1e7),), (at(0, 1e7),))
    timeline = {"plt_ms": end_ms, "navigation_start_ms": 998.5}
    found = activity(
        evidence(
            link_account=account, timeline=timeline, navigate_ms=end_ms + 10, runs=(Stretch(*at(0, 5), 9),)
        ),
        LOG,
        LINK,
        end_ms,
    )
    assert found is not None
    assert len(found["linkDown"]) <= MOST_STEPS
    assert set(found["linkDown"]) == {100}
    assert len(json.dumps(found)) < 8000
