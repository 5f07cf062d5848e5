"""What a record holds of the browser's log: bounded whatever a page asks for, and null where a log cannot tell."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.engines.browserlog import BrowserLog
from harness.errors import Outcome
from harness.input.jsontext import MAX_LINE_BYTES
from harness.probes.browserlog import reached_the_testbed
from harness.probes.evidence import LONGEST_LIST_BYTES, Evidence, fitting
from harness.probes.registry import observe, verdict
from sites.servers.server import Match
from tests.facts import tells
from tests.unit.harness.probes.goodload import START, changed, evidence, log_of, request, served

LISTS_OF_A_RECORD = 3  # failed, missed, fuzzy


def test_a_list_keeps_its_first_texts_and_leaves_room_for_others() -> None:
    usual = tuple(f"https://site.example/{number}" for number in range(10_000))
    assert fitting(usual) == usual
    kept = fitting("\N{SNOWMAN}" * 1000 for _ in range(1000))
    assert 100 < len(kept) < 1000
    assert LISTS_OF_A_RECORD * LONGEST_LIST_BYTES < MAX_LINE_BYTES / 4


def test_digests_tell_lists_apart_that_are_alike_where_they_are_kept() -> None:
    def asking(last: str) -> Evidence:
        page, long = request(START), request(f"{START}long?{'x' * 5000}{last}")
        return evidence(browser_log=BrowserLog((page, long), ()), served=(served(START),))

    one, other = (observe(asking(last)) for last in "ab")
    assert one.requested == other.requested
    assert max(map(len, one.requested)) < 2010
    assert one.requested_digest != other.requested_digest
    assert one.requested_digest == observe(asking("a")).requested_digest


@pytest.mark.parametrize("tells_own", [True, False])
def test_a_log_of_the_page_alone_does_not_say_that_the_browser_asked_for_nothing(*, tells_own: bool) -> None:
    seen = evidence()
    told = changed(seen, browser_log=replace(log_of(seen), tells_own=tells_own))
    assert observe(told).service_requests == (0 if tells_own else None)
    assert verdict(told) == (Outcome.OK, None)


@pytest.mark.parametrize(
    ("last_ms", "outcome"), [(1400.0, Outcome.PAGE_ERROR), (1498.0, Outcome.OK), (1600.0, Outcome.OK)]
)
def test_a_log_that_was_cut_off_before_the_load_event_proves_nothing(
    last_ms: float, outcome: Outcome
) -> None:
    """The load event ends at 1498.5."""
    seen = evidence()
    cut = changed(seen, browser_log=replace(log_of(seen), whole=False, last_ms=last_ms))
    assert verdict(cut)[0] is outcome
    if outcome is not Outcome.OK:
        assert tells([verdict(cut)[1] or ""], "log was cut off", "98 ms before the load event")


def naming(address: str, *, own: bool = False) -> Evidence:
    """A load whose page asked for a picture at an address, and got a 404: from its own server's log or not."""
    url = f"https://{address}/x.gif"
    answers = (served(START), *((served(url, status=404, match=Match.MISS),) if own else ()))
    return evidence(browser_log=BrowserLog((request(START), request(url, status=404)), ()), served=answers)


@pytest.mark.parametrize(
    "address",
    ["10.0.0.2", "10.0.255.254", "10.64.0.9", "10.127.255.255", "[::ffff:10.0.0.2]", "[::ffff:a00:2]"],
)
def test_what_another_server_of_the_testbed_answers_is_no_part_of_the_page(address: str) -> None:
    assert tells([reached_the_testbed(naming(address)) or ""], "testbed's own", f"{address}/x.gif")


@pytest.mark.parametrize(
    "address", ["10.1.2.3", "10.128.0.1", "192.168.0.1", "[::ffff:10.1.2.3]", "[fd00::1]", "other.example"]
)
def test_addresses_that_the_testbed_does_not_have_only_miss(address: str) -> None:
    seen = naming(address)
    assert reached_the_testbed(seen) is None
    assert observe(seen).missed_requests == 1


def test_an_address_that_the_pages_own_server_answers_for_only_misses() -> None:
    seen = naming("10.0.0.2", own=True)
    assert reached_the_testbed(seen) is None
    assert observe(seen).missed_requests == 1
