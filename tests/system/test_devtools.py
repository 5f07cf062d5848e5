"""A HAR of ours in the browser's own tools: Chromium's DevTools import it, and show its requests and their times."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from harness.browser.netlog import parse_netlog
from harness.system.program import find_program
from harness.trial.har import har
from tests.unit.harness.trial.goodload import evidence
from tests.unit.harness.trial.test_har import SEEN, planned

pytestmark = [pytest.mark.lengthy, pytest.mark.side_by_side]

NETWORK_PANEL = "devtools://devtools/bundled/devtools_app.html?panel=network"
NETLOGS = Path(__file__).parents[1] / "data" / "netlog"
PATIENCE_MS = 60_000  # they take seconds to start
COLUMNS = ("name", "status", "type", "initiator", "size", "time")


@pytest.fixture(scope="module", params=["http1", "h2", "h3"])
def made(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Of a real load of the agency page."""
    text = gzip.decompress((NETLOGS / f"{request.param}-load.json.gz").read_bytes()).decode()
    log = parse_netlog(text)
    start_url = f"http{'' if request.param == 'http1' else 's'}://agency.example/"
    return har(planned(), evidence(start_url=start_url, browser_log=log, served=()), log, SEEN)


@pytest.fixture(scope="module")
def tools(made: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The network panel, into which the HAR was imported."""
    file = tmp_path_factory.mktemp("har") / "load.har"
    file.write_text(json.dumps(made))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 1600})
        page.set_default_timeout(PATIENCE_MS)
        page.goto(NETWORK_PANEL)
        page.locator("input[type=file]").set_input_files(file)  # that of its button "Import HAR"
        expect(page.locator(".network-summary-bar")).to_contain_text("requests", timeout=PATIENCE_MS)
        yield page
        browser.close()


def rows(tools: Page) -> list[dict[str, str]]:
    cells = [text.split("\t") for text in tools.locator("table.data tr.data-grid-data-grid-node").all_inner_texts()]
    return [dict(zip(COLUMNS, each, strict=False)) for each in cells]


def test_every_request_is_there_with_its_name_status_and_time(tools: Page, made: dict[str, Any]) -> None:
    entries = made["log"]["entries"]
    expect(tools.locator(".network-summary-bar")).to_contain_text(f"{len(entries)} requests")
    shown = rows(tools)
    assert len(shown) == len(entries)
    for row, entry in zip(shown, entries, strict=True):
        path = urlsplit(entry["request"]["url"]).path
        assert row["name"].partition("?")[0] == (path.rpartition("/")[2] or "agency.example")
        assert row["status"] == str(entry["response"]["status"])
        assert milliseconds(row["time"]) == pytest.approx(entry["time"], rel=0.01, abs=1)


def milliseconds(text: str) -> float:
    number, unit = text.split("\xa0")
    return float(number) * {"ms": 1, "s": 1000}[unit]


def test_the_phases_of_a_request_are_those_of_the_har(tools: Page, made: dict[str, Any]) -> None:
    tools.locator("table.data tr.data-grid-data-grid-node").first.click()
    tools.get_by_role("tab", name="Timing").click()
    phases = made["log"]["entries"][0]["timings"]
    table = tools.locator(".network-timing-table")
    expect(table).to_be_visible()
    for name, key in (("DNS", "dns"), ("Initial connection", "connect"), ("Waiting", "wait"), ("download", "receive")):
        row = table.locator("tr", has_text=name).last.inner_text()
        assert milliseconds(row.split("\t")[-1].strip()) == pytest.approx(phases[key], rel=0.02, abs=0.1), name
