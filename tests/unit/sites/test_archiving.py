"""What is archived when a mirror is completed by a load, and as what the load is made."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from harness.engines.browserlog import BrowserLog, Connection, Exchange, Failure, Request, Span
from harness.engines.chromium.policy import device_commands, device_flags
from harness.errors import ArchiveError
from harness.model.engine import DESKTOP, MOBILE
from sites.archiving import broken_off, complete, device_of, not_found, said_back, uncompressed
from sites.browsing import Browsed
from sites.importers.recording import NEED_BODY, Head, Recording
from sites.importers.settle import settle
from sites.response import RecordedLoad, RecordedRequest, Response
from tests.facts import tells
from tests.unit.sites.importers.recordings import entry, har, saved

A, B, C, D, E = (f"https://a.example/{name}" for name in ("%c3%a9", "b", "c", "d", "e"))


def test_the_load_comes_first_and_the_mirror_fills_in(tmp_path: Path) -> None:
    with Recording(tmp_path) as recording:
        for url in (A, B):
            recording.add(Head(url, 200, (("Cache-Control", "max-age=1"),)), recording.keep(b"load"))
        mirrored = [Response(url, 200, (), b"mirror") for url in ("https://a.example/%C3%A9", C)]
        notes = complete(recording, mirrored)
        found = [(each.response.url, recording.body(each.body)) for each in recording.captures]
    assert found == [(A, b"load"), (B, b"load"), (C, b"mirror")]
    assert tells(notes[:1], "HTTrack did not see", f": 1 ({B})")
    assert tells(notes[1:2], "both", "from the load: 1")
    assert tells(notes[2:3], "HTTrack alone", ": 1.")


def asked(url: str, body: bytes, failure: Failure | None = None, **more: Any) -> Request:
    """A request whose body travelled, as far as it came."""
    return Request(url, "GET", True, False, 0.0, "h2", 200, failure, len(body), body=body, **more)


def without_body(url: str, **changes: Any) -> dict[str, Any]:
    """What Playwright writes of a request that was broken off, or whose body the inspector lost."""
    return entry(url, None, "image/png", **changes)


def at(second: int) -> dict[str, str]:
    return {"startedDateTime": f"2024-05-06T07:08:0{second}Z"}


PART, WHOLE = asked(C, b"wh", Failure.ABORTED), asked(C, b"whole")
SHOWN = entry(C, b"whole", "image/png", **at(2))


@pytest.mark.parametrize(
    ("entries", "requests"),
    [
        # A page that goes on to another one, which asks for it again.
        ((without_body(C, **at(1)), SHOWN), (PART, WHOLE)),
        # The inspector lost the whole one.
        ((without_body(C, **at(1)), without_body(C, **at(2))), (PART, WHOLE)),
        # The HAR has but one of them.
        ((without_body(C),), (PART, WHOLE)),
        # The log has the broken one alone.
        ((SHOWN,), (PART,)),
        ((SHOWN, without_body(C, **at(3))), (PART,)),
    ],
)
def test_a_whole_body_goes_before_one_that_was_broken_off(
    tmp_path: Path, entries: tuple[dict[str, Any], ...], requests: tuple[Request, ...]
) -> None:
    with Recording(tmp_path) as recording:
        Browsed("", saved(tmp_path, har(entry(B), *entries)), BrowserLog(requests, ())).read(recording)
        settled = settle(recording, B)
        bodies = [recording.body(each.body) for each in settled.captures if each.response.url == C]
    assert bodies == [b"whole"]
    assert broken_off(settled.captures) == []
    assert tells(settled.notes, "inspector", f"({B} {C})") == (WHOLE not in requests)


def test_a_body_that_was_broken_off_is_kept_as_far_as_it_came_and_told(tmp_path: Path) -> None:
    """A body as long as its header says is whole, and one that is shorter is not, whatever the log says."""
    sized = Exchange(answered_with=(("content-length", "5"),))
    others = asked(C, b"whole", Failure.ABORTED, exchange=sized), asked(D, b"who", exchange=sized)
    stream = asked(E, b"data: 1\n\n", exchange=Exchange(cancelled=True))
    log = BrowserLog((asked(A, b"wh", Failure.TRANSPORT), *others, stream), ())
    with Recording(tmp_path) as recording:
        told = saved(tmp_path, har(entry(B), *map(without_body, (A, C, D, E))))
        Browsed("", told, log).read(recording)
        captures = settle(recording, B).captures
        assert [recording.body(each.body) for each in captures[1:]] == [
            b"wh",
            b"whole",
            b"who",
            b"data: 1\n\n",
        ]
    assert tells(broken_off(captures), "broke off", "as far as they came", f": 3 ({A} {D} {E})")


def test_the_mirror_has_whole_what_the_load_broke_off(tmp_path: Path) -> None:
    with Recording(tmp_path) as recording:
        for url in (A, B, C):
            recording.add(Head(url, 200), recording.keep(b"lo"), cut=True)
        recording.add(Head(C, 200), recording.keep(b"load"))
        mirrored = [Response("https://a.example/%C3%A9", 200, (), b"mirror"), Response(B, 404, (), b"gone")]
        notes = complete(recording, [*mirrored, Response(C, 200, (), b"mirror")])
        captures = settle(recording, B).captures
        bodies = {each.response.url: recording.body(each.body) for each in captures}
    assert bodies == {A: b"mirror", B: b"lo", C: b"load"}
    assert tells(notes[1:2], "both", "from the load: 2", f"from HTTrack, as the load broke them off: 1 ({A})")
    assert tells(broken_off(captures), f": 1 ({B})")


def test_notes_hold_no_part_of_a_secret(tmp_path: Path) -> None:
    """An example of the tally is clipped, and what is left of a secret then looks like none."""
    secret = f"eyJ{'a b/c' * 120}"
    spelled = (secret.replace(" ", "%20"), quote(secret, safe=""))
    with Recording(tmp_path, (secret.replace(" ", "%20"), secret)) as recording:
        recording.add(Head(B, 200), recording.keep(b"<p>"))
        for each in spelled:
            recording.add(Head(f"{C}?token={each}", 200, method="POST"), recording.keep(b"1"))
            for body in (b"1", b"2", b"2"):
                recording.add(Head(f"{A}?token={each}", 200), recording.keep(body))
            recording.add(Head(f"{A}?token={each}", 304), recording.keep(b""))
            recording.add(Head(f"{A}?token={each}", 999), recording.keep(b""))
        notes = settle(recording, B).notes
    assert tells(notes, "POST kept", f"({C}?token=(hidden))")
    for what in ("in favour", "repeat an earlier one", "304", "status is not 200"):
        assert tells(notes, what, f"{A}?token=(hidden)"), what
    assert not any("eyJ" in note for note in notes)


def test_a_body_as_it_travelled_keeps_its_header(tmp_path: Path) -> None:
    """The HAR's text would be stored in UTF-8, and the header name that."""
    travelled = Request(A, "GET", True, True, 0.0, "h2", 200, None, 1, body=b"\xe9")
    log = saved(tmp_path, har(entry(A, "é"), entry(B, "é")))
    with Recording(tmp_path) as recording:
        Browsed("", log, BrowserLog((travelled,), ())).read(recording)
        recording.asked_for_coding = True
        captures = settle(recording, A).captures
        found = [(c.response.header("Content-Type"), recording.body(c.body)) for c in captures]
    assert found == [("text/html", b"\xe9"), ("text/html; charset=utf-8", "é".encode())]


def test_a_body_that_the_inspector_lost_is_taken_from_the_log(tmp_path: Path) -> None:
    """As of a frame that a script removed; of what the log lacks, too, nothing is archived."""
    travelled = Request(A, "GET", True, False, 0.0, "h2", 200, None, 1, body=b"frame")
    lost = [entry(url, "x") for url in (A, C)]
    for each in lost:
        each["response"]["content"] = {"size": -1, "mimeType": "text/html"}
    with Recording(tmp_path) as recording:
        Browsed("", saved(tmp_path, har(entry(B, "page"), *lost)), BrowserLog((travelled,), ())).read(
            recording
        )
        found = [(each.response.url, recording.body(each.body)) for each in recording.captures]
        assert recording.tally.count(NEED_BODY) == 1
    assert found == [(B, b"page"), (A, b"frame")]


def test_a_part_gets_the_body_that_is_as_long_as_it_says(tmp_path: Path) -> None:
    """The HAR lacks the request before it, for the beginning, which the player broke off."""

    def travelled(body: bytes) -> Request:
        return Request(A, "GET", True, False, 0.0, "h2", 206, None, len(body), body=body)

    ranged = [{"name": "Content-Range", "value": "bytes 0-4/5"}]
    end = entry(A, b"-----", "video/mp4", status=206, headers=ranged)
    log = BrowserLog((travelled(b"begi"), travelled(b"whole")), ())
    with Recording(tmp_path) as recording:
        Browsed("", saved(tmp_path, har(entry(B), end)), log).read(recording)
        found = [recording.body(each.body) for each in recording.captures]
    assert found == [b"<p>hello", b"whole"]


def test_a_user_agent_makes_a_device() -> None:
    assert device_of("mobile") is MOBILE
    assert device_of("desktop") == DESKTOP
    assert "Headless" not in (DESKTOP.user_agent or "Headless")
    assert device_of("My agent/1.0").user_agent == "My agent/1.0"
    for bad in ("", " ", "two\nlines", "caf\xe9"):
        with pytest.raises(ArchiveError, match="no browser can send"):
            device_of(bad)


def test_a_desktop_is_what_it_says_and_a_phone_is_one_in_all() -> None:
    assert (device_flags(DESKTOP), device_commands(DESKTOP)) == ((f"--user-agent={DESKTOP.user_agent}",), ())
    assert f"--user-agent={MOBILE.user_agent}" in device_flags(MOBILE)
    commands = dict(device_commands(MOBILE))
    metrics = commands["Emulation.setDeviceMetricsOverride"]
    assert (metrics["width"], metrics["height"], metrics["deviceScaleFactor"]) == (412, 915, 2.625)
    assert commands["Emulation.setTouchEmulationEnabled"]["enabled"] is True


def test_what_a_load_did_not_get_is_noted(tmp_path: Path) -> None:
    def asked(url: str, status: int | None, failure: Failure | None, *, of_page: bool = True) -> Request:
        return Request(url, "GET", of_page, False, 0.0, "h2", status, failure, 0)

    with Recording(tmp_path) as recording:
        recording.add(Head(A, 404), recording.keep(b""))
        recording.add(Head(B, 200), recording.keep(b"x"))
        requests = [asked(B, 200, None), asked(C, None, Failure.TRANSPORT), asked(A, None, Failure.ABORTED)]
        notes = not_found(
            recording, [*requests, asked("https://service.example/", None, Failure.TRANSPORT, of_page=False)]
        )
        assert not_found(recording, requests[:1])[1:] == []
    refused, unanswered = notes
    assert tells([refused], "by the page", "error: 1 (404 https://a.example/%c3%a9)")
    assert tells([unanswered], "by the page", f"nobody answered: 1 ({C})")


def test_a_connection_counts_for_its_first_request_where_the_har_tells_no_time(tmp_path: Path) -> None:
    """The HAR has the time of A's connection, in fractions of a ms; of B's, by QUIC, only the log tells."""

    def asked(url: str, connection: str) -> Request:
        on = Exchange(connection=connection)
        return Request(url, "GET", True, True, 0.0, "h3", 200, None, 1, body=b"x", exchange=on)

    tcp, quic = (
        Connection("192.0.2.7:443", local, "TLS 1.3", alpn, None, connect_ms=31.0)
        for local, alpn in (("10.0.0.1:1", "h2"), ("10.0.0.1:2", "h3"))
    )
    log = BrowserLog((asked(A, tcp.local), asked(B, quic.local), asked(C, quic.local)), (tcp, quic))
    timed = entry(A, "x", timings={"wait": 1, "connect": 62.5, "ssl": 31.25})
    told = saved(tmp_path, har(timed, entry(B, "x"), entry(C, "x")))
    with Recording(tmp_path) as recording:
        Browsed("", told, log).read(recording)
        assert [each.response.connect_ms for each in recording.captures] == [31.25, 31.0, None]


def test_the_load_is_told_on_the_clock_of_its_navigation(tmp_path: Path) -> None:
    """The log counts whole ms, so half of one is added."""

    def asked(url: str, at_ms: float, **more: Any) -> Request:
        on = Exchange(sending_ms=at_ms + 4)
        times = {"answered_ms": at_ms + 10, "ended_ms": at_ms + 12, "exchange": on, **more}
        return Request(url, "GET", True, url == A, at_ms, "h2", 200, None, 1, **times)

    made = Connection("192.0.2.7:443", "10.0.0.1:1", None, "h2", None, connecting=Span(1001, 1003))
    log = BrowserLog(
        (
            asked(A, 1000),
            asked(B, 1020, asked_ms=1018),
            asked(C, 1090),
            asked(C, 1020, exchange=Exchange()),
        ),
        (made,),
        lookups={"a.example": (Span(999, 1001),)},
        step_ms=1.0,
    )
    timeline = {"navigation_start_ms": 1000.25, "plt_ms": 100.0}
    browsed = Browsed("", tmp_path / "load.har", log, timeline=timeline)
    assert browsed.load(A) == RecordedLoad(
        100.0,
        (
            RecordedRequest("a.example", 0.0, 4.25, 10.25, 12.25),
            RecordedRequest("a.example", 18.25, 24.25, 30.25, 32.25),
        ),
        ((-0.75, 1.25), (1.25, 3.25)),
    )
    went_on = {**timeline, "navigation_start_ms": 1050.0}
    for other in ({}, {**timeline, "plt_ms": None}, went_on):
        assert replace(browsed, timeline=other).load(A) is None
    assert browsed.load(B) is None


def test_text_that_came_uncompressed_is_warned_of(tmp_path: Path) -> None:
    text, gzipped = (
        (("Content-Type", "text/css"),),
        (("Content-Type", "text/css"), ("Content-Encoding", "gzip")),
    )
    with Recording(tmp_path) as recording:
        recording.add(Head(A, 200, text), recording.keep(b"x" * 3000))
        recording.add(Head(B, 200, gzipped), recording.keep(b"y" * 3000))
        recording.add(Head(C, 200, text), recording.keep(b"small"))
        (warning,) = uncompressed(recording.captures)
        assert uncompressed(recording.captures[1:]) == []
    assert warning.startswith("Warning: ")
    assert tells([warning], "uncompressed", "1 responses, 3 kB", f"({A})")


def test_what_a_server_says_back_is_told_by_address(tmp_path: Path) -> None:
    hushed = "of-ours-alone"
    said = f"<p>{hushed}".encode()
    whole = [
        Response(A, 200, (("Content-Encoding", "gzip"),), gzip.compress(said)),
        Response(B, 200, (("X", hushed), ("Y", "1")), b"<p>"),
        Response(f"{C}?{hushed}", 200, (), b""),
        Response(C, 200, (("Content-Encoding", "br"),), b"no brotli"),
    ]
    warning, headers, left_out = said_back(whole, (hushed,))
    assert warning.startswith("Warning: ")
    assert tells([warning], "bodies", "cookie or header", f": 1 ({A})")
    assert headers.endswith(": 1")
    assert left_out.endswith(": 1")
    assert hushed not in f"{warning}{headers}{left_out}"
    assert said_back(whole, ("another-one",)) == []
