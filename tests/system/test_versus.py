"""`coldload versus` on two releases of a small page: real loads, in a run that can be told again and packed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from harness.system.program import find_program
from tests.facts import tells
from tests.system.conftest import NO_ICON, Coldload, small_site, timed, wait_until

MORE = "<p>" + "one line more of the second release " * 400 + "</p>"


@pytest.fixture
def releases(coldload: Coldload) -> Coldload:
    """Two archives of one site; the document of the second is 14 kB larger."""
    for name, extra in (("one", ""), ("two", MORE)):
        small_site(coldload.folder / "archives", name, extra, NO_ICON)  # else requests differ by chance
    return coldload


def records(run: Path) -> list[dict[str, object]]:
    path = run / "records.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@timed("a machine that stays busy leaves a trial without a load that counts")
def test_two_releases_are_measured_in_turn_and_told_in_sentences(releases: Coldload) -> None:
    words = [
        "versus",
        "one",
        "two",
        "--link",
        "cable",
        "--trials",
        "3",
        "--fail-on",
        "3%",
        "--out",
        "out",
        "--json",
    ]
    code, out, err = releases.run(*words)
    run = releases.folder / "out"
    made = records(run)
    counted = [each for each in made if each["left_out"] is None]  # a load that was disturbed is made again
    assert [each["trial"] for each in counted] == [f"{number:05d}" for number in range(1, 10)], err
    assert {each["outcome"] for each in counted} == {"ok"}
    found = json.loads(out)  # and what is told of the run goes elsewhere
    assert "9 loads, about" in err
    assert (found["a"], found["b"]) == ("one", "two")
    told = {each["metric"]: each for each in found["conditions"]}
    assert list(told) == ["fcp_ms", "lcp_ms", "plt_ms", "tbt_ms", "bytes_down", "requests"]
    assert 12_000 < told["bytes_down"]["medians"][1] - told["bytes_down"]["medians"][0] < 20_000
    assert told["bytes_down"]["sentence"].startswith("B takes ")
    assert told["bytes_down"]["outcome"] == "above"
    assert told["requests"]["sentence"].startswith("the same, ")
    assert (found["outcome"], code) == ("above", 1)
    file = found["files"][0]  # what changed most; the pictures of the two differ, too
    assert file["b"] - file["a"] == len(MORE)

    code, out, err = releases.run("versus", "out", "--metric", "requests", "--fail-on", "3")
    assert (code, err) == (0, "")
    within = ("within", "exit code 0", "1 difference", "at most 3 % worse")
    assert tells(out.splitlines()[-1:], "--fail-on 3 %", *within)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program("chromium"), args=["--no-sandbox"])
        page, said = browser.new_page(viewport={"width": 420, "height": 900}), []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(f"file://{(run / 'versus.html').resolve()}")
        assert page.locator("h1").inner_text() == "two against one"
        assert page.locator("#answers .row").count() == 6
        assert page.locator("#waterfalls .waterfall .row").count() > 15  # of both loads
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        browser.close()
    assert said == []
    assert releases.run("pack", "out")[0] == 0
    assert "two against one" in (run / "report.html").read_text()

    again = json.loads(releases.run(*words)[1])
    assert again["conditions"] == found["conditions"]
    small_site(releases.folder / "archives", "two", "<p>a third release", NO_ICON)  # in place of the second
    code, out, err = releases.run(*words)
    assert (code, out) == (2, "")
    assert tells(err.splitlines(), "was begun with archive two", "choose another --out")


@pytest.mark.lengthy  # as any killed run: test_run.py
def test_a_killed_run_goes_on_with_the_same_command(releases: Coldload) -> None:
    run, seen = releases.folder / "out", list[object]()
    for wanted in (1, 3):
        process = releases.start(
            "versus", "one", "two", "--trials", "2", "--metric", "plt_ms", "--out", "out"
        )
        with process:
            wait_until(lambda: process.poll() is not None or len(records(run)) >= wanted, f"{wanted} records")  # noqa: B023
            assert process.poll() is None
            process.kill()
        lines = [each["started_utc"] for each in records(run)]
        assert lines[: len(seen)] == seen
        seen = lines
    assert len(seen) == len(set(seen)) >= 3
    wait_until(lambda: not releases.left_behind(), "the end of what the run had started")
