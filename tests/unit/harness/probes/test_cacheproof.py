"""Whether a load found the cache as its condition names it."""

from __future__ import annotations

from typing import Any

import pytest

from harness.engines.browserlog import BrowserLog, Exchange, Request
from harness.model.condition import CacheState
from harness.outcome import Outcome
from harness.probes.cacheproof import can_be_kept, wrong_cache
from harness.probes.evidence import Evidence
from harness.probes.registry import observe, verdict
from tests.unit.harness.probes.goodload import PICTURE, START, evidence, request, served

ETAG = Exchange(answered_with=(("ETag", '"1"'), ("Cache-Control", "no-cache")), status_line="HTTP/1.1 200 OK")
OUT_OF_CACHE: dict[str, Any] = {"protocol": None, "status": None, "from_cache": True}


def cold(*requests: Request) -> Evidence:
    return evidence(browser_log=BrowserLog((request(START), *requests), ()))


def warm(*requests: Request, first: tuple[Request, ...] = ()) -> Evidence:
    kept = first or (request(START, exchange=ETAG), request(PICTURE, exchange=ETAG))
    return evidence(
        browser_log=BrowserLog(requests, ()), cache=CacheState.WARM, first_visit=BrowserLog(kept, ())
    )


def test_a_cold_load_has_nothing_of_an_earlier_one() -> None:
    assert wrong_cache(cold(request(PICTURE))) is None
    again = request(PICTURE, **OUT_OF_CACHE, started_ms=1200)
    assert wrong_cache(cold(request(PICTURE), again)) is None  # it had put that there itself
    assert wrong_cache(cold(again)) == f"not cold: the cache held an earlier load's {PICTURE}"
    assert wrong_cache(cold(request(PICTURE, status=304))) is not None
    assert (
        wrong_cache(
            cold(request(PICTURE), request("https://service.example/", **OUT_OF_CACHE, of_page=False))
        )
        is None
    )
    assert verdict(cold(again))[0] is Outcome.WRONG_CACHE


def test_what_the_hop_fetched_is_the_loads_own_under_https_too() -> None:
    relayed = request(PICTURE.replace("https", "http"), relayed=True)
    assert wrong_cache(cold(relayed, request(PICTURE, **OUT_OF_CACHE))) is None


def test_a_redirect_that_the_browser_makes_by_itself_is_no_answer_of_the_cache() -> None:
    made_up = Exchange(status_line="HTTP/1.1 307 Internal Redirect")
    assert wrong_cache(cold(request("http://site.example/", **OUT_OF_CACHE, exchange=made_up))) is None


def test_a_warm_load_uses_what_the_first_one_kept() -> None:
    assert wrong_cache(warm(request(START, status=304), request(PICTURE))) is None
    assert wrong_cache(warm(request(START), request(PICTURE, **OUT_OF_CACHE))) is None
    anew = wrong_cache(warm(request(START), request(PICTURE)))
    assert anew is not None
    assert anew.startswith("not warm: the browser asked anew for all that it had kept")
    assert verdict(warm(request(START), request(PICTURE)))[0] is not Outcome.OK


def test_a_page_of_which_nothing_can_be_kept_is_warm_as_it_is() -> None:
    nothing = (request(START), request(PICTURE))
    assert wrong_cache(warm(request(START), request(PICTURE), first=nothing)) is None


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        ({"ETag": '"1"'}, True),
        ({"last-modified": "Sun, 01 Jul 2012 12:00:00 GMT"}, True),
        ({"Cache-Control": "public, max-age=60"}, True),
        ({"Cache-Control": "max-age=0"}, False),
        ({"Cache-Control": "no-store", "ETag": '"1"'}, False),
        ({}, False),
    ],
)
def test_what_can_be_kept(headers: dict[str, str], *, kept: bool) -> None:
    found = request(PICTURE, exchange=Exchange(answered_with=tuple(headers.items())))
    assert can_be_kept(found) is kept


def test_a_page_that_comes_out_of_the_cache_as_a_whole_counts() -> None:
    all_of_it = (request(START, **OUT_OF_CACHE), request(PICTURE, **OUT_OF_CACHE))
    whole = warm(*all_of_it)
    assert verdict(whole) == (Outcome.OK, None)
    seen = observe(whole)
    assert (seen.plt_ms, seen.requests, seen.cache_hits, seen.revalidated) == (500, 0, 2, 0)
    usual = observe(evidence())
    assert seen.requested_digest == usual.requested_digest  # the page asked for the same


def test_confirmed_answers_are_counted() -> None:
    confirmed = warm(request(START, status=304, body_bytes=0), request(PICTURE, status=304, body_bytes=0))
    seen = observe(confirmed)
    assert (seen.requests, seen.revalidated, seen.bytes_body) == (2, 2, 0)
    assert served(START).status == 200
