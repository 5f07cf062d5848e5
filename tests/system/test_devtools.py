"""A HAR of ours in the browser's own tools: Chromium's DevTools import it, and show its requests and their times."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from harness.engines.chromium.netlog import parse_netlog
from harness.probes.har import har
from harness.system.program import find_program
from tests.unit.harness.probes.goodload import evidence
from tests.unit.harness.probes.test_har import SEEN, planned

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
    cells = [
        text.split("\t") for text in tools.locator("table.data tr.data-grid-data-grid-node").all_inner_texts()
    ]
    return [dict(zip(COLUMNS, each, strict=False)) for each in cells]


def test_every_request_is_there_with_its_name_status_and_time(tools: Page, made: dict[str, Any]) -> None:
    entries = made["log"]["entries"]
    expect(tools.locator(".network-summary-bar")).to_contain_text(f"{len(entries)} requests")
    shown = sorted((row["name"], row["status"], milliseconds(row["time"])) for row in rows(tools))
    wanted = sorted((name(each), str(each["response"]["status"]), each["time"]) for each in entries)
    assert [row[:2] for row in shown] == [row[:2] for row in wanted]
    for (*_, told), (*_, took) in zip(shown, wanted, strict=True):
        assert told == pytest.approx(took, rel=0.01, abs=1)


def name(entry: dict[str, Any]) -> str:
    """As the panel has it: the last part of the path with its query, or the host."""
    target = urlsplit(entry["request"]["url"])
    query = f"?{target.query}" if target.query else ""
    return f"{target.path.rpartition('/')[2]}{query}" or target.netloc


def milliseconds(text: str) -> float:
    number, unit = text.split("\xa0")
    return float(number) * {"\u03bcs": 0.001, "ms": 1, "s": 1000}[unit]


def test_the_phases_of_a_request_are_those_of_the_har(tools: Page, made: dict[str, Any]) -> None:
    tools.locator("table.data tr.data-grid-data-grid-node td.name-column").first.click()
    tools.get_by_role("tab", name="Timing").click()
    entry = made["log"]["entries"][0]
    table = tools.locator(".network-timing-table")
    expect(table).to_contain_text("Content download")
    told = {
        found[1]: milliseconds(found[2])
        for text in table.locator("tr").all_inner_texts()
        if (found := re.fullmatch(r"([A-Z][\w ]+)\t.*?([\d.]+\xa0\w+)\s*", text, re.DOTALL))
    }
    assert told["Request sent"] == pytest.approx(entry["timings"]["send"], abs=0.1)
    assert told["Waiting for server response"] == pytest.approx(entry["timings"]["wait"], abs=0.1)
    assert told["Content download"] == pytest.approx(entry["timings"]["receive"], abs=0.1)
    assert told["Explanation"] == pytest.approx(entry["time"], abs=0.1)  # of all of it
