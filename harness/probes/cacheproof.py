"""Whether a load found the cache as its condition names it, by the browser's log. Pure.

A cold load has nothing of an earlier one: what came out of its cache, it had put there itself. A warm load has what the
first load could keep: of that, something must have come out of the cache, or been confirmed by the server (304).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from harness.engines.browserlog import NOT_MODIFIED, BrowserLog, Request
from harness.model.condition import CacheState
from harness.probes.evidence import Evidence, listed

VALIDATORS = ("etag", "last-modified")
FRESH_FOR = re.compile(r"max-age\s*=\s*\"?0*[1-9]")


@dataclass(frozen=True)
class FirstVisit:
    """What the browser did before the load, when it filled its cache."""

    log: BrowserLog


def wrong_cache(evidence: Evidence) -> str | None:
    """What does not fit the cache of the condition; None when all does."""
    log = evidence.get(BrowserLog)
    if log is None:
        return None
    return _not_warm(evidence, log) if evidence.setup.cache is CacheState.WARM else _not_cold(log)


def _not_cold(log: BrowserLog) -> str | None:
    fetched = {_address(each) for each in log.requests if each.protocol and each.status != NOT_MODIFIED}
    asked = (each for each in log.requests if each.of_page)
    older = [each.url for each in asked if each.used_cache and _address(each) not in fetched]
    return listed("not cold: the cache held an earlier load's", older)


def _not_warm(evidence: Evidence, log: BrowserLog) -> str | None:
    visit = evidence.get(FirstVisit)
    if visit is None:
        return "not warm: the browser left no log of the first load"
    kept = {_address(each) for each in visit.log.page_requests if can_be_kept(each)}
    again = [each for each in log.requests if each.of_page and _address(each) in kept]
    if not again or any(each.used_cache for each in again):
        return None
    return listed(
        "not warm: the browser asked anew for all that it had kept of the first load:", _urls(again)
    )


def can_be_kept(request: Request) -> bool:
    """Whether a browser can use the answer again: it may be stored, and is fresh or can be confirmed."""
    headers = {name.lower(): value for name, value in request.exchange.answered_with}
    control = headers.get("cache-control", "").lower()
    usable = bool(FRESH_FOR.search(control)) or any(name in headers for name in VALIDATORS)
    return request.method == "GET" and request.status == 200 and usable and "no-store" not in control


def _address(request: Request) -> str:
    """What a cache knows an answer by; the hop passes on under http what the browser keeps under https."""
    return request.url.partition("#")[0].partition("://")[2]


def _urls(requests: Iterable[Request]) -> list[str]:
    return list(dict.fromkeys(each.url for each in requests))
