"""The HAR of a load, from real NetLogs (Chromium 156, the agency page) and from loads put together."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.runs.harfile import load_of
from harness.engines.browserlog import BrowserLog, Connection, Exchange, Failure, Span
from harness.engines.chromium.netlog import parse_netlog
from harness.model.protocol import Protocol
from harness.model.trials import PlannedTrial
from harness.probes.har import CUT, har, keep_har
from harness.probes.registry import observe
from harness.study.planning import make_plan
from harness.study.studyfile import parse_study
from sites.importers.har import read_har
from sites.importers.recording import Recording
from tests.unit.harness.probes.goodload import PICTURE, START, changed, evidence, historical, log_of, request
from tests.unit.harness.probes.harschema import faults, sums

DATA = Path(__file__).parents[3] / "data" / "netlog"
PAGE = {"h3": "https://agency.example/", "h2": "https://agency.example/", "http1": "http://agency.example/"}
USED = {"h3": 6, "h2": 6, "http1": 14}  # connections
SEEN = {
    "plt_ms": 2000.0,
    "dcl_ms": 1500.0,
    "ttfb_ms": 100.0,
    "fcp_ms": 400.0,
    "lcp_ms": 900.0,
    "cls": 0.05,
    "tbt_ms": 30.0,
}
STUDY = """
name = "mine"
pages = ["one"]
protocols = ["h2"]
trials = 1
[[links]]
down_mbps = 10
rtt_ms = 20
"""


def planned() -> PlannedTrial:
    return make_plan(parse_study(STUDY, "mine.toml"), 1).trials[0]


def text_of(name: str) -> str:
    return gzip.decompress((DATA / f"{name}-load.json.gz").read_bytes()).decode()


def har_of(log: BrowserLog, start_url: str = START, **options: Any) -> dict[str, Any]:
    return har(planned(), evidence(start_url=start_url, browser_log=log, served=()), log, SEEN, **options)


@pytest.fixture(scope="module", params=list(PAGE))
def loaded(request: pytest.FixtureRequest) -> tuple[str, BrowserLog, dict[str, Any]]:
    log = parse_netlog(text_of(request.param))
    return request.param, log, har_of(log, PAGE[request.param])


Loaded = tuple[str, BrowserLog, dict[str, Any]]


def test_it_is_valid_and_its_phases_add_up(loaded: Loaded) -> None:
    _, _, made = loaded
    assert faults(made) == []
    for whole, parts in sums(made):
        assert whole == pytest.approx(parts, abs=1e-6)
    assert all(
        entry["timings"]["ssl"] <= max(entry["timings"]["connect"], -1) for entry in made["log"]["entries"]
    )


def test_it_holds_what_the_page_asked_for_and_nothing_of_the_browsers_own(loaded: Loaded) -> None:
    _, log, made = loaded
    asked = [entry["request"]["url"] for entry in made["log"]["entries"]]
    assert asked == [request.url for request in log.page_requests]
    assert log.service_requests
    assert made["log"]["browser"] == {"name": "Chromium", "version": "156.0.8078.79"}


def test_a_request_is_told_by_its_protocol_server_connection_priority_and_initiator(loaded: Loaded) -> None:
    name, _, made = loaded
    entries = made["log"]["entries"]
    protocol = {"http1": "http/1.1"}.get(name, name)
    assert {entry["request"]["httpVersion"] for entry in entries} == {protocol}
    assert {entry["serverIPAddress"] for entry in entries} == {"10.0.0.1"}
    used = {entry["connection"] for entry in entries}
    assert used <= {connection["connection"] for connection in made["log"]["_connections"]}
    assert len(used) == USED[name]
    assert entries[0]["_priority"] == "VeryHigh"
    assert "_initiator" not in entries[0]
    assert {entry["_initiator"]["url"] for entry in entries[1:]} >= {PAGE[name]}
    kinds = {entry["request"]["url"].rpartition(".")[2]: entry["_resourceType"] for entry in entries}
    assert (kinds["css"], kinds["js"], kinds["jpg"]) == ("stylesheet", "script", "image")


def test_a_handshake_counts_for_the_first_request_of_its_connection_alone(loaded: Loaded) -> None:
    _, _, made = loaded
    waited = [entry["connection"] for entry in made["log"]["entries"] if entry["timings"]["connect"] > 0]
    assert waited
    assert len(waited) == len(set(waited))


def test_sizes_are_those_that_travelled_and_those_unpacked(loaded: Loaded) -> None:
    name, _, made = loaded
    script = next(entry for entry in made["log"]["entries"] if entry["request"]["url"].endswith("/js/all.js"))
    travelled, content = script["response"]["bodySize"], script["response"]["content"]
    assert 300_000 < travelled < 700_000
    assert content["size"] == travelled + content["compression"] > 1_000_000
    assert content["mimeType"] == "application/javascript; charset=utf-8"
    assert (script["response"]["headersSize"] > 100) is (name == "http1")  # HTTP/2 packs them


def test_the_page_has_the_times_of_the_record() -> None:
    log = parse_netlog(text_of("h2"))
    began = min(request.asked_ms or 0 for request in log.page_requests)
    seen = evidence(
        start_url=PAGE["h2"],
        browser_log=log,
        navigate_ms=2100.0,
        timeline={"plt_ms": 2000.0, "navigation_start_ms": began - 7.5},
    )
    (page,) = har(planned(), seen, log, SEEN)["log"]["pages"]
    assert (page["startedDateTime"], page["title"]) == ("2026-11-22T12:37:57.504Z", PAGE["h2"])
    assert page["pageTimings"] == {
        "onContentLoad": 1500.0,
        "onLoad": 2000.0,
        "_ttfb": 100.0,
        "_firstContentfulPaint": 400.0,
        "_largestContentfulPaint": 900.0,
        "_totalBlockingTime": 30.0,
    }
    assert page["_cumulativeLayoutShift"] == 0.05


def test_what_painting_waited_for_is_told_of_the_requests_that_the_trace_tells_of() -> None:
    log = parse_netlog(text_of("h2"))
    script = next(request.url for request in log.page_requests if request.url.endswith("/js/all.js"))
    seen = evidence(start_url=PAGE["h2"], browser_log=log, render_blocking={script: "blocking"})
    entries = har(planned(), seen, log, SEEN)["log"]["entries"]
    told = {
        entry["request"]["url"]: entry["_renderBlocking"] for entry in entries if "_renderBlocking" in entry
    }
    assert told == {script: "blocking"}
    (read,) = (
        request for request in load_of({"log": {"entries": entries}}).requests if request.blocks is not None
    )
    assert (read.url, read.blocks) == (script, True)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["h2", "http1"])
def test_a_log_that_was_cut_off_anywhere_gives_what_is_known_and_says_so(name: str) -> None:
    text = text_of(name)
    start = text.index('"events": [') + 4000
    unfinished = 0
    for end in range(start, len(text) - 100, (len(text) - start) // 12):
        made = har_of(parse_netlog(text[:end]), PAGE[name])
        assert faults(made) == []
        assert made["log"]["_incomplete"] is True
        assert CUT in made["log"]["comment"]
        assert all(whole == pytest.approx(parts, abs=1e-6) for whole, parts in sums(made))
        unfinished += sum("_incomplete" in entry for entry in made["log"]["entries"])
    assert unfinished
    assert "_incomplete" not in har_of(parse_netlog(text), PAGE[name])["log"]


def test_an_answer_of_the_cache_may_have_a_status_of_its_own() -> None:
    """As in Firefox."""
    answer = Exchange(status_line="HTTP 200 OK", over_ms=1200)
    kept = request(PICTURE, protocol=None, from_cache=True, body_bytes=0, exchange=answer)
    fetched, cached = har_of(BrowserLog((request(PICTURE), kept), ()))["log"]["entries"]
    assert ("_fromCache" in fetched, cached["_fromCache"], cached["response"]["bodySize"]) == (
        False,
        "disk",
        0,
    )


def test_of_a_body_that_went_on_after_the_load_no_size_is_told() -> None:
    """A server's log has all of it."""
    film = request(PICTURE, answered_ms=1200, ended_ms=9000, body_bytes=None)
    log = BrowserLog((request(START), film), ())

    def size(seen: BrowserLog) -> int:
        made = har(planned(), evidence(browser_log=seen), seen, SEEN)
        return int(made["log"]["entries"][1]["response"]["bodySize"])

    assert (size(log), size(log.until(1500))) == (100, -1)


def test_failed_aborted_cached_and_redirected_requests() -> None:
    moved = f"{START}moved"
    requests = (
        request(START, chain=1, exchange=Exchange(status_line="HTTP/1.1 200", over_ms=1200)),
        request(
            moved,
            chain=2,
            status=302,
            exchange=Exchange(
                status_line="HTTP/1.1 302 Found", answered_with=(("Location", "/p.png"),), over_ms=1150
            ),
        ),
        request(f"{START}p.png", chain=2, exchange=Exchange(status_line="HTTP/1.1 200 OK", over_ms=1200)),
        request(
            f"{START}p.png",
            chain=3,
            protocol=None,
            status=None,
            from_cache=True,
            exchange=Exchange(over_ms=1300),
        ),
        request(
            PICTURE,
            chain=4,
            protocol=None,
            status=None,
            failure=Failure.ABORTED,
            exchange=Exchange(error="net::ERR_ABORTED", over_ms=1250),
        ),
        request(
            "http://site.example/",
            chain=5,
            protocol=None,
            status=None,
            from_cache=True,
            exchange=Exchange(
                status_line="HTTP/1.1 307 Internal Redirect",
                answered_with=(("Location", START),),
                over_ms=1101,
            ),
        ),
    )
    made = har_of(BrowserLog(requests, ()))
    assert faults(made) == []
    document, redirect, target, cached, aborted, internal = made["log"]["entries"]
    assert (document["response"]["status"], document["response"]["statusText"]) == (200, "")
    assert (redirect["response"]["status"], redirect["response"]["redirectURL"]) == (302, "/p.png")
    assert target["_initiator"] == {"type": "redirect", "url": moved}
    assert (cached["_fromCache"], cached["response"]["status"], cached["response"]["bodySize"]) == (
        "disk",
        200,
        0,
    )
    assert (aborted["response"]["status"], aborted["response"]["_error"]) == (0, "net::ERR_ABORTED")
    assert (aborted["time"], aborted["timings"]["blocked"]) == (150, 150)
    assert (internal["response"]["status"], internal["response"]["redirectURL"]) == (307, START)
    assert "_fromCache" not in internal


def test_bodies_are_there_when_asked_for_and_come_back_byte_by_byte(tmp_path: Path) -> None:
    latin = "<title>caf\xe9</title>".encode("latin-1")
    bodies = {START: ("text/html; charset=iso-8859-1", latin), PICTURE: ("image/png", bytes(range(256)))}
    bodies[f"{START}a.css"] = ("text/css", "a{content:'\N{SNOWMAN}'}\r\n".encode())
    bodies[f"{START}wrong.js"] = ("text/javascript", b"\xff\xfe not UTF-8")
    log = BrowserLog(
        tuple(
            request(
                url,
                exchange=Exchange(
                    answered_with=(("Content-Type", mime),), decoded=body, decoded_bytes=len(body)
                ),
            )
            for url, (mime, body) in bodies.items()
        ),
        (),
    )
    assert "text" not in json.dumps(har_of(log)["log"]["entries"][0]["response"]["content"]).replace(
        "text/html", ""
    )
    made = har_of(log, bodies=True)
    assert faults(made) == []
    assert made["log"]["entries"][2]["response"]["content"]["text"].startswith("a{content")
    path = tmp_path / "load.har"
    path.write_text(json.dumps(made))
    with Recording(tmp_path) as recording, path.open("rb") as file:
        read_har(file, recording)
        assert recording.pages[0] == START
        assert {capture.response.url: recording.body(capture.body) for capture in recording.captures} == {
            url: body for url, (_, body) in bodies.items()
        }


def test_what_qtwebkit_does_not_tell_comes_from_the_servers_log() -> None:
    """Connections by the client's port, and how long bodies were when they travelled."""
    seen = historical(
        Protocol.SPDY, of_request={"answered_ms": 1250, "exchange": Exchange(decoded_bytes=300)}
    )
    assert log_of(seen) is not None
    (made,) = log_of(seen).connections
    log = replace(
        log_of(seen),
        connections=(replace(made, connecting=Span(1010, 1060)),),
        lookups={"site.example": (Span(1000, 1010),)},
    )
    stored = har(planned(), changed(seen, browser_log=log), log, vars(observe(seen)))
    assert faults(stored) == []
    first, *others = stored["log"]["entries"]
    assert {entry["connection"] for entry in (first, *others)} == {"4000"}
    assert {entry["response"]["bodySize"] for entry in others} == {100}
    assert {entry["response"]["content"]["size"] for entry in others} == {300}
    assert first["timings"] == {
        "blocked": -1,
        "dns": 10,
        "connect": 50,
        "ssl": -1,
        "send": 0,
        "wait": 190,
        "receive": 50,
    }
    assert {(entry["timings"]["connect"], entry["timings"]["wait"]) for entry in others} == {(-1, 150)}
    assert "browser" not in stored["log"]


def test_a_name_that_is_looked_up_again_for_a_frame_counts_for_its_own_connection() -> None:
    made = [
        Connection("10.0.0.1:443", f"10.64.0.1:{port}", None, None, None, None, Span(began, began + 50))
        for port, began in ((4000, 1020), (4001, 1120))
    ]
    requests = tuple(
        request(
            f"{START}{number}",
            started_ms=at,
            answered_ms=at + 120,
            exchange=Exchange(connection=connection.local, sending_ms=at + 75, over_ms=at + 130),
        )
        for number, (connection, at) in enumerate(zip(made, (1000, 1095), strict=True))
    )
    log = BrowserLog(requests, tuple(made), lookups={"site.example": (Span(1001, 1020), Span(1100, 1120))})
    assert [entry["timings"]["dns"] for entry in har_of(log)["log"]["entries"]] == [19, 20]


@pytest.mark.thorough
def test_a_page_of_5000_requests_with_hostile_names_is_written_whole(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>\u202e%00" + "x" * 500
    halves = Exchange(answered_with=(("X-\ud800", "\udfff"),))  # of characters: no file can hold them
    requests = tuple(request(f"{START}{number}?{name}", exchange=halves) for number in range(5000))
    seen = evidence(browser_log=BrowserLog(requests, ()), served=())
    keep_har(tmp_path / "00001", planned(), seen, vars(observe(seen)), bodies=False)
    stored = json.loads((tmp_path / "00001" / "load.har").read_bytes())
    assert len(stored["log"]["entries"]) == 5000
    assert stored["log"]["entries"][1]["request"]["url"] == f"{START}1?{name}"


def test_there_is_none_of_a_load_without_a_log(tmp_path: Path) -> None:
    seen = evidence(browser_log=None)
    keep_har(tmp_path / "00001", planned(), seen, vars(observe(seen)), bodies=False)
    assert not (tmp_path / "00001").exists()
