"""From what was seen of a load to the numbers of its record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.engines.browser import ThreadWork
from harness.engines.browserlog import BrowserLog, Connection, Exchange, Failure, Request, Span
from harness.errors import Outcome
from harness.model.kind import AT_REST, KEPT_FILES, VITALS, Kind
from harness.model.protocol import Protocol
from harness.probes.evidence import Evidence, LoadSetup
from harness.probes.film import Film, Frame
from harness.probes.processor import BROWSER, DRIVER
from harness.probes.programs import Lateness
from harness.probes.registry import PROBES, load_metrics, observe, verdict
from harness.probes.trace import MainThread, Task
from harness.probes.vitals import NOT_SETTLED, Vitals
from sites.servers.server import Match
from tests.unit.harness.probes.goodload import (
    PICTURE,
    START,
    TIMELINE,
    changed,
    evidence,
    request,
    served,
    with_requests,
)


def test_a_probe_is_asked_for_by_a_word_that_studies_have() -> None:
    asked = {each.asked_by for each in PROBES} - {None}
    assert asked <= {VITALS, *KEPT_FILES[Kind.LOAD]}
    assert {VITALS, *AT_REST} <= asked
    assert load_metrics()["lcp_ms"].asked_by == VITALS
    assert load_metrics()["fcp_ms"].asked_by is None  # seen by the load event, too


def test_what_was_not_observed_is_none() -> None:
    nothing = Evidence(LoadSetup(Protocol.H2, START, frozenset(), rtt_ms=50))
    seen = observe(nothing)
    assert seen.requests is None
    assert seen.bytes_down is None
    assert seen.plt_ms is None
    assert seen.connections is None
    assert seen.server_requests is None
    assert verdict(nothing)[0] is Outcome.PAGE_ERROR


def test_lateness_is_told_of_servers_and_browser_apart() -> None:
    """A browser's own processes come and go, and wait for a core as they please."""
    parts = {
        "caddy": Lateness(waiting_ms=2.5, thread_waiting_ms=0.5),
        "dnsmasq": Lateness(stopped_ms=20, waiting_ms=1, thread_waiting_ms=1),
        BROWSER: Lateness(stopped_ms=30, ended=True, waiting_ms=400, thread_waiting_ms=70),
        DRIVER: Lateness(stopped_ms=90, ended=True, waiting_ms=90, thread_waiting_ms=90),
    }
    seen = observe(evidence(lateness=parts, runner_late_ms=2.5))
    assert seen.runner_late_ms == 2.5
    assert (seen.server_stopped_ms, seen.server_late_ms, seen.server_thread_late_ms) == (20, 3.5, 1)
    assert (seen.client_stopped_ms, seen.client_late_ms, seen.client_thread_late_ms) == (30, 400, 70)
    gone = {BROWSER: Lateness(ended=True), DRIVER: Lateness(ended=True)}
    assert verdict(evidence(lateness=gone)) == (Outcome.OK, None)
    unknown = observe(evidence(lateness={"caddy": Lateness()}))
    assert (unknown.server_stopped_ms, unknown.server_late_ms, unknown.client_stopped_ms) == (0, None, None)
    assert (unknown.server_thread_late_ms, unknown.client_late_ms) == (None, None)
    assert observe(evidence()).server_stopped_ms is None


def test_vitals_are_those_of_the_page_and_the_first_paint_is_the_earlier_one() -> None:
    found = Vitals(
        settled=True, observed_ms=3000, fcp_ms=90, lcp_ms=120, lcp_url="https://a.example/" + "x" * 9000
    )
    seen = observe(evidence(vitals=found, timeline=TIMELINE | {"fcp_ms": 80.0}))
    assert (seen.fcp_ms, seen.painted, seen.lcp_ms, seen.settled, seen.observed_ms) == (
        80,
        True,
        120,
        True,
        3000,
    )
    assert len(seen.lcp_url or "") < 2100
    late = observe(evidence(vitals=found))
    assert (late.fcp_ms, late.painted) == (90, False)
    assert observe(evidence(vitals=NOT_SETTLED)).settled is False
    without = observe(evidence())
    assert (without.lcp_ms, without.settled, without.painted) == (None, None, False)
    elsewhere = observe(evidence(vitals=found, timeline=None))
    assert (elsewhere.lcp_ms, elsewhere.settled, elsewhere.painted) == (None, None, None)


def test_what_comes_after_the_end_of_a_load_is_no_evidence() -> None:
    """As if the browser had been closed then: requests and connections begun later, and errors that came later."""
    over = Exchange(over_ms=1900)
    requests = (
        request(START, answered_ms=1050),
        request(PICTURE, answered_ms=1200, failure=Failure.TRANSPORT, exchange=over),
        request(PICTURE, failure=Failure.TRANSPORT, exchange=over, status=200, answered_ms=1800),
        request(PICTURE, failure=Failure.TRANSPORT, exchange=Exchange(over_ms=1400), status=None),
        request("https://site.example/beacon", started_ms=1600),
    )
    early = Connection("a", "b", None, None, resumed=False, connecting=Span(1000, 1050))
    late = replace(early, connecting=Span(1400, 1550))
    log = BrowserLog(requests, (early, late)).until(1500)
    assert [(each.status, each.failure) for each in log.requests] == [
        (200, None),
        (200, None),
        (None, Failure.ABORTED),
        (None, Failure.TRANSPORT),
    ]
    assert log.connections == (early,)


def test_a_body_counts_as_far_as_it_had_come_at_the_end_of_a_load() -> None:
    """By the times of its bytes. Where those are not told nothing is known of it, also from the server: it sends on."""
    film: dict[str, Any] = {"answered_ms": 1200, "ended_ms": 9000, "body_bytes": 5_000_000}
    bytewise = Exchange(over_ms=9001, arrived=((1300, 40_000), (1450, 90_000), (9000, 5_000_000)))
    document = request(START, answered_ms=1050, ended_ms=1060)

    def cut(*requests: Request) -> BrowserLog:
        return BrowserLog(requests, ()).until(1500)

    told = cut(document, request(PICTURE, **film, exchange=bytewise))
    assert (told.requests[1].body_bytes, told.requests[1].ended_ms) == (90_000, 1450)
    assert observe(evidence(browser_log=told)).bytes_body == 90_100
    untold = cut(document, request(PICTURE, **film | {"body_bytes": None}))
    assert observe(evidence(browser_log=untold)).bytes_body is None
    by_server = cut(document, request(PICTURE, answered_ms=1200, ended_ms=1400, body_bytes=None))
    assert observe(evidence(browser_log=by_server)).bytes_body == 200


def test_a_trace_that_was_read_is_told_with_its_longest_tasks() -> None:
    work = dict.fromkeys(ThreadWork, 1.0) | {ThreadWork.STYLE_LAYOUT: 7.5}
    found = MainThread(50.0, work, (Task(10, 60, "https://a.example/x.js"),))
    seen = observe(evidence(traced=True, main_thread=found))
    assert (seen.traced, seen.main_thread_ms, seen.style_layout_ms, seen.gc_ms) == (True, 50, 7.5, 1)
    assert seen.longest_tasks == ("60.0 ms at 10 ms: https://a.example/x.js",)
    assert observe(evidence(traced=True)).longest_tasks is None
    assert observe(evidence()).traced is None


def test_an_answer_out_of_the_cache_is_no_request() -> None:
    again = request(PICTURE, from_cache=True, protocol=None, status=None)
    log = BrowserLog((request(START, from_cache=False), request(PICTURE, from_cache=False), again), ())
    seen = observe(evidence(browser_log=log))
    assert (seen.requests, seen.failed_requests, seen.cache_hits) == (2, 0, 1)
    assert observe(evidence()).cache_hits is None


@pytest.mark.parametrize(
    "came_of_it", [{"status": 404}, {"status": None, "protocol": None, "failure": Failure.TRANSPORT}]
)
def test_a_host_that_is_not_archived_is_missed_whatever_came_of_it(came_of_it: dict[str, Any]) -> None:
    stranger = request("https://stranger.example/x.js", **came_of_it)
    answers = (served(stranger.url, status=404, match=Match.MISS),) if stranger.status else ()
    seen = evidence(browser_log=BrowserLog((request(START), stranger), ()), served=(served(START), *answers))
    assert verdict(seen) == (Outcome.OK, None)
    found = observe(seen)
    assert (found.missed, found.failed_requests) == ((stranger.url,), 1)


def test_a_style_sheet_is_no_answer_to_a_script() -> None:
    script = request("https://cdn.example/load?a", accepts="script", mime="text/css")
    sheet = request("https://cdn.example/load?b", accepts="style", mime="text/css")
    closest = [served(each.url, match=Match.CLOSEST) for each in (script, sheet)]
    log = BrowserLog((request(START), script, sheet), ())
    seen = observe(evidence(browser_log=log, served=(served(START), *closest)))
    assert (seen.missed, seen.fuzzy) == ((script.url,), (sheet.url,))


def test_a_url_of_a_megabyte_fills_no_record_and_blames_no_server() -> None:
    long = request(f"https://site.example/?{'x' * 1_000_000}", status=431)
    seen = evidence(browser_log=BrowserLog((request(START), long), ()), served=(served(START),))
    assert verdict(seen) == (Outcome.OK, None)
    (failed,) = observe(seen).failed
    assert len(failed) < 2100
    stray = request(f"http://site.example/?{'x' * 1_000_000}")
    assert len(str(verdict(evidence(browser_log=BrowserLog((request(START), stray), ())))[1])) < 1000


def test_a_miss_is_counted_but_counts() -> None:
    missing = "https://cdn.example/missing.png"
    seen = evidence(
        browser_log=BrowserLog((request(START), request(missing, status=404)), ()),
        served=(served(START), served(missing, status=404, match=Match.MISS)),
    )
    assert verdict(seen) == (Outcome.OK, None)
    assert observe(seen).missed == (missing,)
    assert observe(seen).failed_requests == 1


def test_what_the_browser_gave_up_and_asked_for_again_is_no_miss() -> None:
    seen = evidence(
        browser_log=BrowserLog((request(START), request(PICTURE)), ()),
        served=(served(START), served(PICTURE, status=499, match=Match.MISS), served(PICTURE)),
    )
    assert verdict(seen) == (Outcome.OK, None)
    assert (observe(seen).missed, observe(seen).missed_requests, observe(seen).server_requests) == ((), 0, 3)


def test_a_status_that_an_archive_holds_is_not_given_up() -> None:
    assert not served(PICTURE, status=499).given_up
    assert not served(PICTURE, status=404, match=Match.MISS).given_up
    assert served(PICTURE, status=499, match=Match.MISS).given_up


def test_what_the_closest_response_answered_is_listed() -> None:
    asked = f"{PICTURE}?now=2"
    seen = evidence(
        browser_log=BrowserLog((request(START), request(asked)), ()),
        served=(served(START), served(asked, match=Match.CLOSEST)),
    )
    assert verdict(seen) == (Outcome.OK, None)
    assert (observe(seen).fuzzy, observe(seen).fuzzy_requests, observe(seen).missed) == ((asked,), 1, ())


def test_requests_after_the_load_event_are_counted_apart() -> None:
    late = request(PICTURE, started_ms=1499)
    seen = observe(with_requests(request(START), late))
    assert (seen.requests, seen.requests_after_load) == (1, 1)


def test_a_request_cancelled_by_the_page_is_not_lost() -> None:
    cancelled = request(PICTURE, status=None, failure=Failure.ABORTED)
    seen = with_requests(request(START), cancelled)
    assert verdict(seen) == (Outcome.OK, None)
    assert observe(seen).failed_requests == 0


def test_a_film_is_told_of_the_page_that_was_asked_for_alone() -> None:
    frames = (Frame(0, b"", 0.0), Frame(100, b"", 0.5), Frame(300, b"", 1.0))
    found = evidence(filmed=True, film=Film(320, 164, 900, False, frames))
    seen = observe(found)
    assert (seen.filmed, seen.film_frames, seen.film_cut, seen.speed_index_ms) == (True, 3, False, 200)
    assert (seen.first_visual_change_ms, seen.visually_complete_85_ms, seen.last_visual_change_ms) == (
        100,
        300,
        300,
    )
    other = observe(changed(found, timeline=None))
    assert (other.filmed, other.film_frames, other.speed_index_ms) == (True, None, None)
    assert observe(evidence()).filmed is None


def test_an_address_that_a_server_refuses_is_missed_by_whatever_comes_of_it() -> None:
    refused = [f"{START}50%-off.png", f"{START}a%00b.png", f"{START}..%2f..%2fx.png"]
    came = (
        request(refused[0], status=400),
        request(refused[1], status=None, failure=Failure.TRANSPORT),
        request(refused[2], status=404),
    )
    seen = evidence(browser_log=BrowserLog((request(START), *came), ()), served=(served(START),))
    assert observe(seen).missed == tuple(refused)
    assert verdict(seen) == (Outcome.OK, None)
    lost = evidence(
        browser_log=BrowserLog(
            (request(START), request(f"{START}x", status=None, failure=Failure.TRANSPORT)), ()
        ),
        served=(served(START),),
    )
    assert verdict(lost)[0] is Outcome.MISSING_OBJECTS
