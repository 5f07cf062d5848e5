"""The waterfalls of a report in a real browser: usable by pointer and keyboard, and nothing of a page is executed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Locator, Page, sync_playwright

from analysis.charts.waterfallview import PICTURE_PIXELS
from analysis.evaluation.loads import load_changes, median_loads
from analysis.evaluation.results import Results, evaluate
from analysis.report.report import build
from analysis.runs.rundirectory import load as load_run
from harness.system.program import find_program
from tests.system.conftest import PATIENCE_S
from tests.unit.analysis.synthetic import Synthetic
from tests.unit.analysis.synthetic_film import keep_films
from tests.unit.analysis.synthetic_har import HOSTILE_URLS, entry, keep_hars, load

pytestmark = pytest.mark.side_by_side

# 300 trials in 12 conditions.
RUN = Synthetic(
    pages=("p",),
    protocols=("http1", "https1", "h2", "h3"),
    rates_mbps=(10.0,),
    rtts_ms=(20.0, 50.0, 100.0),
    trials=25,
)
SLOW_REQUESTS = 5000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first condition's median load has hostile names, the second's 5,000 requests; all were filmed."""
    made = keep_films(keep_hars(RUN.write(tmp_path_factory.mktemp("runs") / "run"), 100))
    first, second = median_loads(evaluate([load_run(made)])).loads[:2]
    hostile = load(5, first.plt_ms)
    hostile["log"]["entries"] += [entry(url, 10 + number) for number, url in enumerate(HOSTILE_URLS)]
    (made / "trials" / first.trial / "load.har").write_text(json.dumps(hostile))
    (made / "trials" / second.trial / "load.har").write_text(json.dumps(load(SLOW_REQUESTS, second.plt_ms)))
    build([made])
    return made


@pytest.fixture(scope="module")
def results(run: Path) -> Results:
    return evaluate([load_run(run)])


@pytest.fixture(scope="module")
def page(run: Path) -> Iterator[Page]:
    """The report, opened; whatever it says, asks for or runs that it should not fails the last test."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program("chromium"), args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.set_default_timeout(PATIENCE_S * 1000)
        opened.on("console", lambda message: seen.append(message.text))
        opened.on("pageerror", lambda error: seen.append(str(error)))
        opened.on("dialog", dismiss)
        opened.on("request", lambda request: seen.append(request.url))
        opened.goto((run / "report.html").as_uri())
        opened.locator("#waterfalls > details > summary").click()
        yield opened
        browser.close()


seen: list[str] = []


def dismiss(dialog: Dialog) -> None:
    seen.append(dialog.message)
    dialog.dismiss()


def part(page: Page, name: str) -> Locator:
    return page.locator(f"#waterfalls [data-part={name}]")


def names(panel: Locator) -> list[str]:
    return panel.locator(".name").all_inner_texts()


def test_a_report_of_300_trials_stays_small_and_its_waterfalls_show(run: Path, page: Page) -> None:
    assert (run / "report.html").stat().st_size < 10_000_000
    assert page.locator("#waterfalls").is_visible()
    took_ms = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
    print(f"report.html of {(run / 'report.html').stat().st_size / 1e6:.1f} MB opened in {took_ms:.0f} ms")


def test_hostile_names_are_shown_as_text(page: Page) -> None:
    shown = names(part(page, "upper"))
    assert "script>" in shown  # the last part of a path that is markup
    assert any("onerror" in each for each in shown)
    assert page.locator("#waterfalls [data-part=upper] :is(img, script)").count() == 0


def test_5000_requests_can_be_walked_through_by_keyboard(page: Page) -> None:
    lower = part(page, "lower")
    assert lower.locator(".row").count() < 100  # those in sight
    assert lower.get_attribute("aria-label", timeout=0) == f"{label(page, 'second')}: 5000 of 5000 requests"
    lower.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "End"):
        page.keyboard.press(key)
    assert (
        part(page, "told")
        .inner_text()
        .startswith("5000 of 5000 \u00b7 GET \u00b7 https://site.example/4999.png")
    )
    assert lower.locator(".row.chosen .name").inner_text() == "4999.png?v=1"
    page.keyboard.press("Home")
    assert part(page, "told").inner_text().startswith("1 of 5000")


def label(page: Page, name: str) -> str:
    return str(part(page, name).evaluate("(select) => select.selectedOptions[0].textContent"))


def test_what_changed_is_what_the_analysis_says(page: Page, results: Results) -> None:
    loads = median_loads(results).loads
    for first, second in ((0, 1), (2, 3), (5, 0)):
        part(page, "first").select_option(str(first))
        part(page, "second").select_option(str(second))
        found = load_changes(loads[first].load, loads[second].load)
        told = part(page, "changes").inner_text()
        assert told.startswith(f"requests {found.requests[0]} and {found.requests[1]}, ")
        assert f"connections {found.connections[0]} and {found.connections[1]}" in told
        assert told.endswith(f"{found.moved} of {found.common} in another order")
        assert (f"{len(found.only_first)} in the first alone" in told) is bool(found.only_first)
        assert (f"{len(found.only_second)} in the second alone" in told) is bool(found.only_second)


def test_requests_are_filtered_by_type_and_host(page: Page) -> None:
    part(page, "first").select_option("2")
    part(page, "second").select_option("3")
    part(page, "type").select_option("document")
    assert names(part(page, "upper")) == names(part(page, "lower")) == ["/"]
    part(page, "type").select_option("")
    part(page, "host").select_option("site.example")
    assert len(names(part(page, "upper"))) > 10


def test_aligned_at_a_mark_both_loads_have_it_at_one_place(page: Page) -> None:
    def places(mark: str) -> list[float]:
        marks = page.locator(f"#waterfalls .mark[title^='{mark}']")
        return [float(each.evaluate("(line) => line.offsetLeft")) for each in marks.all()]

    part(page, "align").select_option("")
    upper, lower = places("first paint")
    assert upper != lower
    part(page, "align").select_option("first paint")
    upper, lower = places("first paint")
    assert upper == pytest.approx(lower, abs=1)
    part(page, "align").select_option("")


def test_zooming_makes_bars_wider_and_the_slider_stays_in_sight(page: Page) -> None:
    first = part(page, "upper").locator(".row").first.locator("i").last
    before = first.evaluate("(bar) => bar.getBoundingClientRect().width")
    part(page, "zoom").fill("1")
    after = first.evaluate("(bar) => bar.getBoundingClientRect().width")
    assert after == pytest.approx(2 * before, rel=0.1)
    part(page, "lower").evaluate("(panel) => panel.scrollIntoView({block: 'end'})")
    assert part(page, "zoom").evaluate("(slider) => slider.getBoundingClientRect().top") >= 0
    part(page, "zoom").fill("0")


def test_pointing_tells_of_a_request_and_the_time_in_both(page: Page) -> None:
    box = part(page, "upper").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 600, box["y"] + 27)
    assert part(page, "told").inner_text().startswith("2 of ")
    assert part(page, "time").inner_text().endswith((" ms", " s"))
    assert page.locator("#waterfalls .cursor").is_visible()


def test_films_run_along_the_waterfalls_and_one_cursor_through_both(page: Page) -> None:
    part(page, "first").select_option("2")
    part(page, "second").select_option("3")
    for name, which in (("upper", "first"), ("lower", "second")):
        pictures = part(page, f"{name}-film").locator("img")
        assert pictures.count() > 4
        assert (
            pictures.last.evaluate("(picture) => picture.complete && picture.naturalWidth") == PICTURE_PIXELS
        )
        assert part(page, f"{name}-seen").inner_text() == f"{which}, at the end: 100 %"
    part(page, "upper-film").evaluate("(film) => film.scrollIntoView({block: 'center'})")
    box = part(page, "upper-film").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 262, box["y"] + 10)
    told = [part(page, f"{name}-seen").inner_text() for name in ("upper", "lower")]
    assert all(each.endswith(": 0 %") for each in told)
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 10)
    told = [part(page, f"{name}-seen").inner_text() for name in ("upper", "lower")]
    assert all(each.endswith(": 100 %") for each in told)
    assert page.locator("#waterfalls .cursor").is_visible()


def test_the_film_follows_the_chosen_request(page: Page) -> None:
    part(page, "upper").focus()
    page.keyboard.press("Home")
    early = part(page, "upper-seen").inner_text()
    page.keyboard.press("End")
    assert early != part(page, "upper-seen").inner_text()
    assert early.startswith("first, at ")


def test_link_and_main_thread_have_rows_that_zoom_and_tell_their_value(page: Page) -> None:
    part(page, "first").select_option("0")
    assert "was not kept" in part(page, "upper-busy").inner_text()
    part(page, "first").select_option("2")
    rows = part(page, "upper-busy").locator("div")
    assert rows.all_inner_texts() == [
        "link down of 10 Mbit/s",
        "link up of 1 Mbit/s",
        "main thread, by the kernel",
    ]
    before = rows.first.locator("path").evaluate("(path) => path.getBBox().width")
    part(page, "zoom").fill("1")
    assert rows.first.locator("path").evaluate("(path) => path.getBBox().width") > before
    part(page, "zoom").fill("0")
    part(page, "upper-busy").evaluate("(rows) => rows.scrollIntoView({block: 'center'})")
    box = part(page, "upper-busy").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 270, box["y"] + 5)
    assert rows.all_inner_texts() == [
        "link down: 100 % of 10 Mbit/s",
        "link up: 5 % of 1 Mbit/s",
        "main thread, by the kernel: 0 %",
    ]


def test_a_row_can_be_a_connection_with_all_that_travelled_on_it(page: Page) -> None:
    upper = part(page, "upper")
    part(page, "rows").select_option("connection")
    assert names(upper) == ["site.example (100)"]
    assert upper.locator(".row i").count() > 100
    upper.focus()
    page.keyboard.press("Home")
    assert (
        part(page, "told")
        .inner_text()
        .startswith("1 of 1 \u00b7 connection 4000 \u00b7 h2 \u00b7 100 requests")
    )
    part(page, "rows").select_option("")
    assert len(names(upper)) > 10


def test_it_fits_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = part(page, "upper").bounding_box()
    assert box is not None
    assert box["width"] > 300
    assert part(page, "upper").locator("i").count() > 0


def test_nothing_was_executed_asked_for_or_complained_of(run: Path, page: Page) -> None:
    assert page.title()
    assert [each for each in seen if not each.startswith("data:")] == [(run / "report.html").as_uri()]
