"""The report on a replay counts every request once, by how it was answered."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.engines.browserlog import BrowserLog, Failure
from harness.errors import Outcome
from harness.model.condition import Condition
from harness.model.engine import MOBILE
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.trials import PlannedTrial
from harness.probes.evidence import Evidence
from harness.probes.registry import observe
from harness.records import Record
from harness.verify.verification import ReplayQuality, replay_quality
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.servers.server import Match
from sites.warc import About
from tests.unit.harness.probes.goodload import START, evidence, request, served

CDN = "https://cdn.example/"
PAGE = b'<link rel="shortcut icon" href="/i.png"><link rel=manifest href="https://cdn.example/m.json">'


def archive(root: Path) -> Archive:
    responses = [
        Response(START, 200, (("Content-Type", "text/html"),), PAGE),
        Response(f"{CDN}p.png", 404, (), b"x"),
        Response(f"{CDN}p.png", 200, (), b"x" * 90),
        Response(f"{CDN}p.png", 503, (), b"x" * 7),
    ]
    return write_archive(root, "page", About(START, "test", "", ()), responses)


def record_of(seen: Evidence, outcome: Outcome) -> Record:
    usual = Condition.usual("page", Protocol.H2, Link.of(10, 50))
    condition = replace(usual, server="apache", device=MOBILE)
    return Record(PlannedTrial("1", 1, 1, condition), outcome, None, "2026-01-01", observe(seen), 1.0, "d")


def report(root: Path, seen: Evidence, outcome: Outcome = Outcome.OK) -> ReplayQuality:
    return replay_quality(record_of(seen, outcome), seen, archive(root))


def test_requests_fall_into_exact_closest_and_missed(tmp_path: Path) -> None:
    urls = {
        START: Match.EXACT,
        f"{CDN}p.png": Match.EXACT,
        f"{CDN}a?x=1": Match.CLOSEST,
        f"{CDN}gone.js": Match.MISS,
        "https://site.example/i.png": Match.MISS,
        f"{CDN}m.json": Match.MISS,
        "https://cdn.example/favicon.ico": Match.MISS,
        f"{CDN}get?img=3": Match.CLOSEST,
        f"{CDN}get?css=3": Match.CLOSEST,
    }
    requests = [request(url) for url in urls]
    requests[-2] = request(f"{CDN}get?img=3", accepts="image", mime="text/html")  # of another kind
    requests[-1] = request(f"{CDN}get?css=3", accepts="text/css,*/*;q=0.1", mime="text/css")
    requests[1] = request(f"{CDN}p.png#part")
    requests += [
        request(f"{CDN}beacon", method="POST"),
        request(f"{CDN}beacon", method="OPTIONS"),
        request(f"{CDN}cancelled", failure=Failure.ABORTED, status=None),
        request("https://nowhere.example/x.js", failure=Failure.TRANSPORT, status=None),
        request("https://accounts.google.com/", of_page=False),
    ]
    log = [served(url, match=match) for url, match in {**urls, f"{CDN}beacon": Match.MISS}.items()]
    seen = evidence(browser_log=BrowserLog(tuple(requests), ()), served=tuple(log), console_errors=("boo",))
    found = report(tmp_path, seen)
    assert (found.asked, found.exact, found.closest) == (11, 2, (f"{CDN}a?x=1", f"{CDN}get?css=3"))
    assert found.missed == (
        f"{CDN}gone.js",
        "https://site.example/i.png",
        f"{CDN}m.json",
        f"{CDN}favicon.ico",
        f"{CDN}get?img=3 (answered with text/html)",
        f"{CDN}beacon (POST)",
        "https://nowhere.example/x.js (transport failure)",
    )
    assert found.core_missed == (
        f"{CDN}gone.js",
        f"{CDN}get?img=3 (answered with text/html)",
        "https://nowhere.example/x.js (transport failure)",
    )
    assert (found.core_asked, round(found.core_percent or 0)) == (7, 57)
    assert not found.ok
    assert (found.bytes_served, found.bytes_recorded) == (200, len(PAGE) + 90)
    assert (found.device, found.protocol, found.console_errors) == ("mobile", "h2", ("boo",))
    assert ReplayQuality.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_bytes_that_the_engine_does_not_tell_are_not_known(tmp_path: Path) -> None:
    silent = replace(request("https://site.example/"), body_bytes=None)
    assert report(tmp_path, evidence(browser_log=BrowserLog((silent,), ()))).bytes_served is None
    assert report(tmp_path, evidence(browser_log=BrowserLog((), ()))).bytes_served == 0


def test_damaged_reports_are_refused(tmp_path: Path) -> None:
    kept = json.loads(json.dumps(report(tmp_path, evidence()).to_json()))
    with pytest.raises(ValueError, match=r"Expected `int`, got `str` - at `\$\.asked`"):
        ReplayQuality.from_json({**kept, "asked": "11"})
    with pytest.raises(ValueError, match="missing required field `exact`"):
        ReplayQuality.from_json({key: value for key, value in kept.items() if key != "exact"})


def test_a_whole_replay_is_ok_and_a_failed_load_is_not(tmp_path: Path) -> None:
    good = report(tmp_path, evidence())
    assert (good.ok, good.missed, good.answered_percent, good.core_percent) == (True, (), 100.0, 100.0)
    assert not report(tmp_path, evidence(), Outcome.PAGE_TIMEOUT).ok
    nothing = report(tmp_path, evidence(browser_log=None), Outcome.PAGE_ERROR)
    assert (nothing.asked, nothing.answered_percent, nothing.ok) == (0, None, False)


def test_what_the_origin_itself_called_html_is_no_miss(tmp_path: Path) -> None:
    """JSONP and beacons; a document is none of them, and neither is what has another query than was recorded."""
    html = (("Content-Type", "text/html"),)
    recorded = [
        Response(START, 200, html, PAGE),
        Response(f"{CDN}jsonp?cb=f1&u=1", 200, html, b"f1({})"),
        Response(f"{CDN}beacon?short=1", 200, html, b""),
        Response(f"{CDN}soft404?_=1", 200, html, b"<!doctype html><p>Sorry"),
        Response(f"{CDN}page?id=1", 200, html, b"\xef\xbb\xbf <html>"),
    ]
    made = write_archive(tmp_path, "page", About(START, "test", "", ()), recorded)
    asked = {
        f"{CDN}jsonp?cb=f2&u=2": "script",
        f"{CDN}beacon?short=2": "image",
        f"{CDN}soft404?_=2": "script",
        f"{CDN}page?id=2": "script",
    }
    seen = evidence(
        browser_log=BrowserLog(
            tuple(request(url, accepts=kind, mime="text/html") for url, kind in asked.items()), ()
        ),
        served=tuple(served(url, match=Match.CLOSEST) for url in asked),
    )
    found = replay_quality(record_of(seen, Outcome.OK), seen, made)
    assert found.core_missed == (f"{CDN}page?id=2 (answered with text/html)",)
    assert found.closest == tuple(list(asked)[:3])


def test_the_favicon_of_a_host_with_a_port_is_no_core(tmp_path: Path) -> None:
    recorded = [
        Response(url, 200, (("Content-Type", "text/html"),), b"<p>")
        for url in (START, "https://cdn.example:8080/", "https://127.0.0.1:3000/", "https://[::1]:81/")
    ]
    made = write_archive(tmp_path, "page", About(START, "test", "", ()), recorded)
    icons = [f"{entry.url}favicon.ico" for entry in made.entries]
    seen = evidence(
        browser_log=BrowserLog(tuple(map(request, icons)), ()),
        served=tuple(served(url, match=Match.MISS) for url in icons),
    )
    found = replay_quality(record_of(seen, Outcome.OK), seen, made)
    assert (len(found.missed), found.core_missed, found.core_asked) == (4, (), 0)


def test_a_request_in_another_spelling_has_the_recorded_bytes_and_a_refused_one_is_missed(
    tmp_path: Path,
) -> None:
    recorded = [Response(START, 200, (), PAGE), Response(f"{CDN}a%2cb~", 200, (), b"x" * 90)]
    made = write_archive(tmp_path, "page", About(START, "test", "", ()), recorded)
    spelled, refused = f"{CDN}a,b%7E", f"{CDN}50%-off.png"
    seen = evidence(
        browser_log=BrowserLog((request(spelled), request(refused, status=400)), ()),
        served=(served(spelled, match=Match.EXACT),),
    )
    found = replay_quality(record_of(seen, Outcome.OK), seen, made)
    assert (found.exact, found.bytes_recorded, found.missed) == (1, 90, (refused,))
