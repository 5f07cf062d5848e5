"""Pages that forge their times, never come to an end or go elsewhere: none counts falsely, none holds a run up."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.errors import Outcome
from harness.model.engine import Driver
from harness.model.protocol import Protocol
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.trial.trial import browser_lab, run_trial
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import (
    CANCELLED,
    CHROMIUMS,
    DIALOGS,
    OTHER_HOST,
    START_URL,
    condition,
    html,
    inside,
    page_of,
    picture,
    planned,
)

pytestmark = pytest.mark.side_by_side

PICTURE = '<img src="/p0.png">'
FORGED = "for (const key of Object.getOwnPropertyNames(it)) try { Object.defineProperty(it, key, {get: lie}) } catch {}"
HONEST = {
    "plain": "",
    "entries": "performance.getEntriesByType = () => [{loadEventEnd: 1e300, fetchStart: 0}];",
    "getters": f"""const lie = () => 1; for (const it of [PerformanceEntry.prototype, Performance.prototype,
        PerformanceNavigationTiming.prototype, PerformanceTiming.prototype]) {{{FORGED}}}
        Object.defineProperty(window, "performance", {{value: {{now: lie, timing: {{}}}}}});""",
    "builtins": """for (const name of ["requestAnimationFrame", "setTimeout", "setInterval", "PerformanceObserver",
        "Promise", "Date"]) window[name] = function () { return 1; };
        JSON.stringify = () => "1"; Array.prototype.push = Array.prototype.filter = () => []; Object.values = () => [];
        Array.prototype[Symbol.iterator] = function* () {}; Object.prototype.toJSON = () => 1;""",
    "reset": """onload = () => { performance.clearResourceTimings(); performance.clearMarks();
        dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true})); }""",
    "pushed": 'history.pushState({}, "", "/elsewhere");',
}
HANGING = {
    "spin": "onload = () => setTimeout(() => { for (;;); }, 0);",
    "dialogs": "onload = () => setTimeout(() => { for (;;) alert(1); }, 0);",
}
LEAVING = {
    "later": 'onload = () => setTimeout(() => { location = "/other"; }, 0);',
    "sooner": 'location = "/other";',
    "again": "onload = () => setTimeout(() => location.reload(), 0);",
}
OWN_REQUESTS = 2  # of such a page: itself and its picture
PAY, IDENTITY, SIGN_IN = (
    "https://pay.example",
    "https://identity.example",
    "https://accounts.identity.example",
)
SERVICE, WELL_KNOWN = "https://accounts.google.com", "https://other.example/.well-known/webauthn"
# What a page lets the browser ask for in other ways than by loading it.
ASKING = f"""new PaymentRequest([{{supportedMethods: "{PAY}/method"}}], {{total: {{label: "x",
      amount: {{currency: "EUR", value: "1"}}}}}}).canMakePayment();
    navigator.credentials.get({{identity: {{providers: [{{configURL: "{SIGN_IN}/config", clientId: "1"}}]}}}});
    navigator.credentials.get({{mediation: "conditional",
      publicKey: {{challenge: new Uint8Array(16), rpId: "other.example"}}}}).catch(() => 0);
    navigator.sendBeacon("{SERVICE}/ListAccounts");"""
CRASH = "new TextDecoder().decode(new Uint8Array(2 ** 31));"  # longer than a string may be
CRASHING = {"in-page": CRASH, "in-frame": ""}
RTT_MS = 10  # of the link; connection, TLS and page take three
LOST = "site.example:8443/lost.png"


def page(root: Path, name: str, script: str) -> Archive:
    png = (("Content-Type", "image/png"),)
    picture_response = Response(url=f"{START_URL}p0.png", status=200, headers=png, body=picture())
    start = html(START_URL, f"<script>{script}</script>{PICTURE}<p>text")
    other = html(f"{START_URL}other", "<p>another one")
    return write_archive(root, name, About(START_URL, "test", "test", ()), [start, other, picture_response])


def redirecting(root: Path, name: str) -> Archive:
    """`/go` answers 302 to the page, which loses a picture."""
    go = f"{START_URL}go"
    moved = Response(url=go, status=302, headers=(("Location", "/"),), body=b"")
    start = html(START_URL, f'<img src="https://{LOST}">')
    return write_archive(root, name, About(go, "test", "test", ()), [moved, start])


def asking(root: Path) -> Archive:
    """All that the page lets the browser ask for is archived, and a name of Chromium's own services."""
    link = ("Link", f'<{PAY}/manifest.json>; rel="payment-method-manifest"')
    config = {"accounts_endpoint": "/accounts", "id_assertion_endpoint": "/token", "login_url": "/login"}
    return write_archive(
        root,
        "asking",
        About(START_URL, "test", "test", ()),
        [
            html(START_URL, f"<script>{ASKING}</script><p>text"),
            Response(f"{PAY}/method", 200, (("Content-Type", "text/html"), link), b""),
            json_response(f"{PAY}/manifest.json", {"supported_origins": [PAY]}),
            json_response(f"{IDENTITY}/.well-known/web-identity", {"provider_urls": [f"{SIGN_IN}/config"]}),
            json_response(f"{SIGN_IN}/config", config),
            json_response(f"{SIGN_IN}/accounts", {"accounts": []}),
            json_response(WELL_KNOWN, {"origins": [START_URL]}),
            json_response(f"{SERVICE}/ListAccounts", {}),
        ],
    )


def json_response(url: str, body: object) -> Response:
    return Response(url, 200, (("Content-Type", "application/json"),), json.dumps(body).encode())


def crashing(root: Path, name: str, script: str) -> Archive:
    """A page whose renderer, or that of its frame of another site, does not survive."""
    frame = html(f"https://{OTHER_HOST}/", f"<script>{CRASH}</script>")
    start = html(START_URL, f'<script>{script}</script><iframe src="{frame.url}"></iframe><p>text')
    return write_archive(root, name, About(START_URL, "test", "test", ()), [start, frame])


def archives(root: Path) -> dict[str, Archive]:
    """All pages of this file, by name."""
    scripts = {**HONEST, **HANGING, **LEAVING}
    made = {name: page(root, name, script) for name, script in scripts.items()}
    made |= {name: crashing(root, name, script) for name, script in CRASHING.items()}
    made["cancelled"] = page_of(root, "cancelled", DIALOGS)
    return {**made, "asking": asking(root), "redirecting": redirecting(root, "redirecting")}


def loaded(driver: Driver, root: Path) -> dict[str, Record]:
    made = archives(root)
    with browser_lab(made, [Protocol.HTTPS1]) as opened:
        usual = TrialOptions(timeout_s=60, answer_s=30, vitals=True)
        options = dict.fromkeys(HANGING, replace(usual, timeout_s=6, answer_s=2))
        options["asking"] = replace(
            usual, linger_s=5.0
        )  # some of what it asks for comes after its load event
        return {
            name: run_trial(
                opened.testbed,
                opened.browsers,
                planned(number, condition(name, Protocol.HTTPS1, driver)),
                options.get(name, usual),
                root / "kept",
            )
            for number, name in enumerate(made, start=1)
        }


@pytest.fixture(
    scope="module",
    params=[pytest.param(each, marks=pytest.mark.lengthy) if n else each for n, each in enumerate(CHROMIUMS)],
)
def records(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Record]:
    """One load of each page."""
    return inside(partial(loaded, request.param, tmp_path_factory.mktemp("archives")))


@pytest.mark.parametrize("name", HONEST)
def test_what_a_page_overwrites_changes_no_figure(records: dict[str, Record], name: str) -> None:
    record, seen = records[name], records[name].observation
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    assert seen.plt_ms is not None
    assert seen.navigate_ms is not None
    assert 3 * RTT_MS < seen.plt_ms <= seen.navigate_ms + 2
    assert seen.fcp_ms is not None
    assert seen.lcp_ms is not None
    assert 3 * RTT_MS < seen.fcp_ms <= seen.lcp_ms
    assert seen.requests in (2, 3)  # the icon is asked for about when the load ends


def test_dialogs_are_cancelled_and_no_window_opens(records: dict[str, Record]) -> None:
    """Selenium tells of a dialog in place of the load."""
    record = records["cancelled"]
    if record.planned.condition.driver is Driver.SELENIUM:
        assert record.outcome is Outcome.PAGE_ERROR, record.reason
        assert "unexpected alert open" in (record.reason or "")
    else:
        assert (record.outcome, record.reason) == (Outcome.OK, None)
        assert record.observation.missed == (CANCELLED,)


@pytest.mark.parametrize("name", HANGING)
def test_a_page_that_hangs_after_its_load_event_ends_by_the_limit(
    records: dict[str, Record], name: str
) -> None:
    assert records[name].outcome is Outcome.PAGE_ERROR, records[name].reason
    assert records[name].observation.plt_ms is None


def another_document_counts(record: Record) -> bool:
    """Of a page that leaves, of which another document may count for nothing.

    Where its own times were read before the other document came, which a busy machine can bring about, they are true.
    """
    seen = record.observation
    if record.outcome is Outcome.OK:
        return bool(seen.requests != OWN_REQUESTS)
    return bool(record.outcome is not Outcome.PAGE_ERROR or seen.plt_ms is not None)


@pytest.mark.parametrize("name", LEAVING)
def test_another_document_than_the_page_counts_for_nothing(records: dict[str, Record], name: str) -> None:
    assert not another_document_counts(records[name]), records[name]


def test_a_start_that_redirects_hides_no_lost_object(records: dict[str, Record]) -> None:
    record = records["redirecting"]
    assert record.outcome is Outcome.MISSING_OBJECTS, record.reason
    assert LOST in str(record.reason)
    assert (record.observation.requests or 0) >= 3


def test_what_a_page_lets_the_browser_ask_for_is_the_pages(records: dict[str, Record]) -> None:
    """Payment methods, whom to sign in with, whose passkeys; and a name of Chromium's own services."""
    record, seen = records["asking"], records["asking"].observation
    assert (record.outcome, record.reason) == (Outcome.OK, None)
    assert seen.service_requests == 0
    assert (seen.requests or 0) + (seen.requests_after_load or 0) >= 7


@pytest.mark.parametrize("name", CRASHING)
def test_a_page_that_crashes_its_renderer_is_at_fault(records: dict[str, Record], name: str) -> None:
    assert records[name].outcome is Outcome.PAGE_ERROR, records[name].reason
    crash = "a process of the browser crashed while the page loaded: renderer by SIGTRAP"
    assert crash in (records[name].reason or "")
