"""Pages that lie about their times, leave, or do not let go of the historical engine."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.errors import Outcome
from harness.model.engine import Driver, Engine
from harness.model.protocol import Protocol
from harness.model.trials import PlannedTrial
from harness.probes.evidence import Evidence
from harness.probes.loadedpage import PageConsole
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.trial.trial import browser_lab, run_observed
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About
from tests.facts import tells
from tests.system.conftest import OTHER_HOST, START_URL, condition, html, inside, picture

pytestmark = pytest.mark.side_by_side
FORGE = """<script>
var seven = function () { return 7 };
Object.defineProperty(window, "performance", {value: {timing: {navigationStart: 1, loadEventEnd: 8}, now: seven}});
["navigationStart", "loadEventEnd"].forEach(function (name) {
  Object.defineProperty(PerformanceTiming.prototype, name, {get: seven});
});
Object.getOwnPropertyNames(window).forEach(function (name) {
  if (/coldload/i.test(name)) document.write("<img src='/found/" + name + "'>");
});
["asked", "told", "connect", "0", "value", "get"].forEach(function (name) {
  Object.defineProperty(Object.prototype, name, {get: seven, set: seven});
});
Function.prototype.call = Function.prototype.apply = Function.prototype.bind = seven;
Number.prototype.toString = Number.prototype.valueOf = String.prototype.toString = String.prototype.valueOf = seven;
Array.prototype.join = Array.prototype.toJSON = Object.prototype.toJSON = Object.prototype.toString = seven;
JSON.stringify = JSON.parse = seven; JSON = Date = Math = null;
</script><p>I load in 7 ms"""
NOISE = """<p>noise<script>
for (var n = 0; n < 200000; n++) console.log("to memory " + n);
for (n = 0; n < 30; n++) console.error("error " + n);
console.warn("no error");
setTimeout(function () { nobody.knows() }, 0);
</script>"""
SPIN = "for (;;);"
STORES = """<html manifest="/cache.manifest"><script>
openDatabase("x", "1", "x", 100000).transaction(function (t) { t.executeSql("CREATE TABLE t (x)") });
localStorage.x = sessionStorage.x = document.cookie = "x=y; expires=Fri, 01 Jan 2100 00:00:00 GMT";
if (window.indexedDB) indexedDB.open("x");
</script><p>stores<iframe src="/file.bin"></iframe>"""


@dataclass(frozen=True)
class Seen:
    """A trial, and how long it took."""

    record: Record
    evidence: Evidence | None
    seconds: float


def to(url: str, status: int = 302, start: str = START_URL) -> Response:
    return Response(start, status, (("Location", url),), b"")


def page(body: str, url: str = START_URL) -> list[Response]:
    return [html(url, body), html(f"{START_URL}other", "<p>another document")]


def records(root: Path, pages: Mapping[str, Sequence[Response]], options: TrialOptions) -> dict[str, Seen]:
    """A trial of each page."""
    archives = {
        name: write_archive(root, name, About(START_URL, "t", "t", ()), responses)
        for name, responses in pages.items()
    }

    def run() -> dict[str, Seen]:
        found = {}
        with browser_lab(archives, [Protocol.HTTPS1], engine=Engine.QTWEBKIT, server="nginx") as opened:
            for number, name in enumerate(archives):
                cell = condition(name, Protocol.HTTPS1, Driver.PYQT, server="nginx")
                planned = PlannedTrial(f"{number:05d}", 1, number, cell)
                before = time.monotonic()
                record, evidence = run_observed(
                    opened.testbed, opened.browsers, planned, options, root / "kept"
                )
                found[name] = Seen(record, evidence, time.monotonic() - before)
        return found

    return inside(run)


def test_what_a_page_does_to_its_world_and_where_it_goes_changes_no_time(tmp_path: Path) -> None:
    late = f"{START_URL}other"
    pages = {
        "plain": page("<p>honest"),
        "forging": page(FORGE),
        "redirected": [
            to(f"https://{OTHER_HOST}/a"),
            to(late, 301, f"https://{OTHER_HOST}/a"),
            *page("")[1:],
        ],
        "to-404": [
            to(f"{START_URL}gone"),
            Response(f"{START_URL}gone", 404, (("Content-Type", "text/html"),), b"no"),
        ],
        "script-before": page(f"<script>location = '{late}'</script><p>here"),
        "reload-before": page("<script>location.reload()</script><p>here"),
        "refresh": page(f'<meta http-equiv="refresh" content="0;url={late}"><p>here'),
        "script-after": page(f"<script>onload = function () {{ location = '{late}' }}</script><p>here"),
        "fragment": [
            *page(
                "<script>location.hash = '#x'; history.pushState(1, '', '/elsewhere')</script><img src='/late.png'>"
            ),
            Response(f"{START_URL}late.png", 200, (("Content-Type", "image/png"),), picture(512)),
        ],
        "windows": page("<script>for (var n = 0; n < 9; n++) { open('/other'); print() }</script><p>here"),
        "closes": page("<script>close()</script><p>here"),
        "blank": page(""),
    }
    found = {name: each.record for name, each in records(tmp_path, pages, TrialOptions(20.0)).items()}
    failed = {
        name: (str(each.outcome), each.reason) for name, each in found.items() if each.outcome != Outcome.OK
    }
    went_on = "before its load event the page went on to another document: https://site.example/"
    assert failed == {
        "to-404": ("page-error", "the page itself was answered with 404"),
        "script-before": ("page-error", f"{went_on}other"),
        "reload-before": ("page-error", went_on),
        "closes": ("page-error", "the page was not loaded: the page took the request back"),
    }
    honest = found["plain"].observation
    assert honest.plt_ms is not None
    for name in found.keys() - failed.keys():
        seen = found[name].observation
        assert seen.ttfb_ms is not None
        assert seen.plt_ms is not None
        assert seen.dcl_ms is not None
        rounds = 3 * 2 if name == "redirected" else 2  # a handshake of TLS 1.2 is two more, for each host
        assert 10 * rounds <= seen.ttfb_ms <= seen.dcl_ms <= seen.plt_ms, name
        assert seen.plt_ms - (seen.client_late_ms or 0) < honest.plt_ms + 400, name  # it may have had no core
        assert seen.missed_requests == 0
        assert seen.requests == {"redirected": 3, "fragment": 2}.get(name, 1), name


def test_what_a_page_stores_stays_with_its_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the folder that the command was started in, above all."""
    file = Response(f"{START_URL}file.bin", 200, (("Content-Type", "application/octet-stream"),), b"file")
    manifest = Response(
        f"{START_URL}cache.manifest", 200, (("Content-Type", "text/cache-manifest"),), b"CACHE MANIFEST\n/"
    )
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    found = records(tmp_path, {"stores": [*page(STORES), file, manifest]}, TrialOptions(20.0, (), 0.5))
    assert (found["stores"].record.outcome, found["stores"].record.reason) == (Outcome.OK, None)
    assert [*Path().iterdir()] == []


def test_a_page_that_does_not_let_go_of_the_engine_ends_by_the_deadline(tmp_path: Path) -> None:
    deadline_s = 4.0
    pages = {
        "spins-after": page(
            f"<script>onload = function () {{ setTimeout(function () {{ {SPIN} }}, 30) }}</script>"
        ),
        "spins-in": page(f"<script>onload = function () {{ {SPIN} }}</script>"),
        "alerts": page("<script>onload = function () { for (;;) alert('again') }</script>"),
    }
    let_go = {
        "nowhere": page('<meta http-equiv="refresh" content="0;url=https://nowhere.example/"><p>here'),
        "noise": page(NOISE),
    }
    found = records(tmp_path, pages, TrialOptions(deadline_s, ("screenshot",), 0.1))
    told = {name: (str(each.record.outcome), each.record.reason) for name, each in found.items()}
    outcome, reason = told.pop("spins-after")
    assert outcome == "page-error"
    assert tells([reason or ""], "the page kept the engine busy", "after its load event", "0.1 s")
    assert told == {
        "spins-in": ("page-timeout", "no load event within 4 s"),
        "alerts": ("page-timeout", "no load event within 4 s"),
    }
    assert max(each.seconds for each in found.values()) < deadline_s + 60  # the engine starts in that, too
    ended = records(tmp_path, let_go, TrialOptions(60.0, ("screenshot",), 0.1))
    assert {(each.record.outcome, each.record.reason) for each in ended.values()} == {(Outcome.OK, None)}
    noise = ended["noise"].evidence
    assert noise is not None
    errors = noise.of(PageConsole).errors or ()
    assert [each.partition(" (")[0] for each in errors] == [f"error {number}" for number in range(20)]
