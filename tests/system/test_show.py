"""`coldload show` in a real browser: the pages of a run by pointer and keyboard, hostile texts, damaged files."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Dialog, Locator, Page, Request, expect, sync_playwright

from harness.system.program import find_program
from tests.system.conftest import PATIENCE_S
from tests.unit.analysis.showing import (
    CUT,
    FILMED,
    HOSTILE,
    LARGE,
    MARKUP,
    MISSING,
    NOT_A_HAR,
    Made,
    shown_run,
)

pytestmark = pytest.mark.side_by_side

seen: list[str] = []  # what a page said, asked for or ran that it should not


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return shown_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def url(made: Made) -> Iterator[str]:
    """The address that the command printed; Ctrl-C ends it well."""
    command = [sys.executable, "-m", "harness.cli", "show", str(made.directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.send_signal(signal.SIGINT)
        assert server.wait() in (0, 130)  # 130: a busy machine took longer than a command has for its end


@pytest.fixture(scope="module")
def page(url: str) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program("chromium"), args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.set_default_timeout(PATIENCE_S * 1000)
        expect.set_options(timeout=PATIENCE_S * 1000)
        opened.on("pageerror", lambda error: seen.append(str(error)))
        opened.on("dialog", dismiss)
        opened.on("request", lambda request: asked(request, url))
        opened.on("console", lambda message: seen.append(message.text) if message.type == "error" else None)
        yield opened
        browser.close()


def asked(request: Request, url: str) -> None:
    if not request.url.startswith((url, "data:")):
        seen.append(request.url)


def dismiss(dialog: Dialog) -> None:
    seen.append(dialog.message)
    dialog.dismiss()


def column(page: Page, head: str) -> list[str]:
    """The cells below a heading."""
    heads = page.locator("thead th").all_inner_texts()
    number = next(at for at, text in enumerate(heads, start=1) if text.startswith(head))
    return page.locator(f"tbody td:nth-child({number})").all_inner_texts()


def follow(page: Page, link: Locator) -> None:
    """Click, and wait for the page that comes: a click alone ends while the old page goes."""
    with page.expect_navigation():
        link.click()


def test_the_first_page_tells_conditions_and_verdicts(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator("#conditions tbody tr")).to_have_count(4)
    expect(page.locator("#verdicts li").first).to_be_visible()
    expect(page.locator("main")).to_contain_text("All 24 trials are recorded.")


def test_trials_are_sorted_and_narrowed_down(page: Page, url: str) -> None:
    page.goto(f"{url}trials")
    assert len(column(page, "Trial")) == 24
    follow(page, page.get_by_role("link", name="Page-load time"))
    times = [float(text.replace(",", "")) for text in column(page, "Page-load")]
    assert times == sorted(times)
    follow(page, page.get_by_role("link", name="Page-load time"))
    assert [float(text.replace(",", "")) for text in column(page, "Page-load")] == sorted(times, reverse=True)
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("Page-load time")
    page.get_by_label("Condition").select_option(index=1)
    follow(page, page.get_by_role("button", name="Show"))
    assert len(set(column(page, "Condition"))) == 1
    assert len(column(page, "Condition")) == 6


def test_a_trial_is_opened_and_left_by_keyboard(page: Page, url: str) -> None:
    page.goto(f"{url}trials")
    page.locator("tbody a.row-link").nth(5).focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("h1")).to_have_text("Trial 00007")
    page.wait_for_load_state()  # a key before the page's script is read is nobody's
    panel = page.locator("[data-part=upper]")
    panel.focus()
    for key in ("ArrowDown", "ArrowDown", "End"):
        page.keyboard.press(key)
    expect(page.locator("[data-part=told]")).to_contain_text(
        "200 of 200 \u00b7 GET \u00b7 https://site.example/199.png"
    )
    expect(panel.locator(".row.chosen")).to_have_count(1)
    page.locator("h1").click()
    page.keyboard.press("n")
    expect(page.locator("h1")).not_to_have_text("Trial 00007")
    page.wait_for_load_state()
    page.keyboard.press("p")
    expect(page.locator("h1")).to_have_text("Trial 00007")


def test_nothing_of_a_trial_is_markup(page: Page, url: str) -> None:
    page.goto(f"{url}trials/{HOSTILE}/1")
    expect(page.locator("#console li").first).to_have_text(
        MARKUP.replace("\u202e", r"\u202e").replace("\x1b", r"\x1b")
    )
    expect(page.locator("#console")).to_contain_text("The first 2 of 30 errors.")
    assert page.locator("[data-part=upper] .name", has_text="onerror").count() == 1
    assert page.locator("main img").count() == 1  # the screenshot
    assert page.locator("#screenshot img").evaluate("(picture) => picture.naturalWidth") == 640
    assert json.loads(page.locator("#record pre").inner_text())["trial"] == HOSTILE
    with page.expect_download() as download:
        page.locator("#files a", has_text="evil<b>.html").click()
    assert download.value.suggested_filename.endswith(".html")


@pytest.mark.parametrize(
    ("trial", "said"),
    [
        (CUT, "The HAR cannot be drawn: "),
        (CUT, "The screenshot is damaged: it is no picture"),
        (MISSING, "No HAR of it was kept"),
        (CUT, "The film cannot be shown: "),
        (LARGE, "It was not filmed"),
        (MISSING, "1 of 4 pictures of the film are gone"),
        (NOT_A_HAR, "The HAR cannot be drawn: not a JSON object"),
    ],
)
def test_what_is_missing_or_damaged_is_said_in_a_line(page: Page, url: str, trial: str, said: str) -> None:
    page.goto(f"{url}trials/{trial}/1")
    expect(page.locator("main")).to_contain_text(said)
    expect(page.locator("#record pre")).to_contain_text(trial)
    assert "Traceback" not in page.content()


def test_5000_requests_stay_usable(page: Page, url: str) -> None:
    page.goto(f"{url}trials/{LARGE}/1")
    panel = page.locator("[data-part=upper]")
    assert panel.locator(".row").count() < 100
    panel.focus()
    page.keyboard.press("End")
    expect(page.locator("[data-part=told]")).to_contain_text("5000 of 5000")


def test_the_film_of_a_trial_is_shown_along_its_waterfall(page: Page, url: str) -> None:
    page.goto(f"{url}trials/{FILMED[0]}/1")
    frames = page.locator("#film img")
    frames.evaluate_all("(all) => Promise.all(all.map((each) => each.decode()))")
    assert page.locator("#film li").all_inner_texts() == [
        "0 ms, 0 %",
        "100 ms, 33 %",
        "200 ms, 67 %",
        "400 ms, 100 %",
    ]
    assert page.locator("[data-part=upper-film] img").count() > 2
    page.locator("[data-part=upper]").focus()
    page.keyboard.press("Home")
    expect(page.locator("[data-part=upper-seen]")).to_contain_text("first, at ")
    page.goto(f"{url}compare?of={FILMED[0]}&of={FILMED[1]}")
    expect(page.locator(".film:visible")).to_have_count(2)


def test_two_trials_are_compared_side_by_side(page: Page, url: str, made: Made) -> None:
    page.goto(f"{url}conditions/00004")
    pictures = page.locator(".beside img")
    pictures.evaluate_all("(all) => Promise.all(all.map((each) => each.decode()))")
    expect(pictures).to_have_count(6)
    page.locator(".beside input").nth(1).check()
    page.locator(".beside input").nth(2).check()
    page.get_by_role("button", name="Compare the two").click()
    expect(page.locator(".waterfall:visible")).to_have_count(2)
    expect(page.locator("[data-part=changes]")).to_contain_text("requests 200 and 200")
    expect(page.locator("#metrics tbody tr").first).to_be_visible()
    before = places(page, "first paint")
    page.get_by_label("Aligned at").select_option("first paint")
    after = places(page, "first paint")
    assert before[0] != before[1]
    assert after[0] == pytest.approx(after[1], abs=1)


def places(page: Page, mark: str) -> list[float]:
    """Where a mark stands in each panel."""
    return [
        each.evaluate("(line) => line.offsetLeft") for each in page.locator(f".mark[title^='{mark}']").all()
    ]


def test_on_top_of_each_other_the_slider_fades_and_stays_in_sight(page: Page) -> None:
    page.get_by_label("Shown").select_option("top")
    expect(page.locator(".waterfall:visible")).to_have_count(1)
    slider = page.locator("[data-part=blend]")
    first, second = page.locator("i.lane0").first, page.locator("i.lane1").first
    opacities = "(bar) => Number(bar.style.opacity)"
    slider.fill("0")
    assert (first.evaluate(opacities), second.evaluate(opacities)) == (1, 0)
    slider.fill("1")
    assert (first.evaluate(opacities), second.evaluate(opacities)) == (0, 1)
    panel = page.locator("[data-part=upper]")
    panel.focus()
    page.keyboard.press("End")
    panel.evaluate("(panel) => panel.scrollIntoView({block: 'end'})")
    expect(slider).to_be_in_viewport()
    expect(page.locator("[data-part=told]")).to_contain_text("first: 200")
    expect(page.locator("[data-part=told]")).to_contain_text("second: 200")


def test_what_changed_can_be_seen_alone(page: Page, url: str) -> None:
    page.goto(f"{url}compare?of={HOSTILE}&of=00006")
    page.get_by_label("Shown").select_option("top")
    page.locator("[data-part=which]").select_option("changed")
    expect(page.locator("[data-part=changes]")).to_contain_text("in the first alone")
    assert page.locator(".row .differs").count() == page.locator(".row").count() > 0


def test_two_that_are_not_two_are_said_so(page: Page, url: str) -> None:
    for given, said in (
        ("", "Choose two trials"),
        ("?of=00006&of=nothing", "The run holds no trial nothing"),
    ):
        page.goto(f"{url}compare{given}")
        expect(page.locator("main")).to_contain_text(said)


def test_it_fits_a_phone(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    for path in (
        "",
        "trials",
        "conditions/00004",
        "trials/00006/1",
        "compare?of=00006&of=00007",
        f"trials/{HOSTILE}/1",
    ):
        page.goto(f"{url}{path}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        expect(page.locator("h1")).to_be_in_viewport()
    page.set_viewport_size({"width": 1280, "height": 900})


def test_new_trials_appear_on_reload(page: Page, url: str, made: Made) -> None:
    page.goto(f"{url}trials")
    records = made.directory / "records.jsonl"
    with records.open("a") as file:
        file.write(f"{json.dumps({**made.records[-1], 'attempt': 2})}\n")
    page.reload()
    expect(page.locator("tbody a.row-link").last).to_have_text(f"{made.records[-1]['trial']}:2")


def answer(url: str, path: str, host: str, method: str = "GET") -> tuple[int, str]:
    with contextlib.closing(http.client.HTTPConnection(urlsplit(url).netloc)) as connection:
        connection.request(method, path, headers={"Host": host})
        got = connection.getresponse()
        return got.status, got.read().decode()


def test_connections_that_never_ask_leave_room(url: str) -> None:
    parts = urlsplit(url)
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            silent = stack.enter_context(
                socket.create_connection((str(parts.hostname), int(parts.port or 0)))
            )
            silent.send(b"GET / HT")
        assert answer(url, parts.path, parts.netloc)[0] == 200
        silent.settimeout(60)
        assert silent.recv(1) == b""  # and are closed


def test_strangers_are_refused(url: str) -> None:
    parts = urlsplit(url)
    assert answer(url, parts.path, parts.netloc)[0] == 200
    for path, host in (
        (parts.path, "evil.example"),
        (parts.path, f"evil.example:{parts.port}"),
        ("/", parts.netloc),
        ("/wrong/trials", parts.netloc),
        (f"{parts.path[:-2]}/trials", parts.netloc),
    ):
        status, text = answer(url, path, host)
        assert status == 403
        assert text.startswith("coldload show: ")
        assert "Trial" not in text
    assert answer(url, parts.path, parts.netloc, "POST")[0] == 405


@pytest.mark.parametrize(
    "head", ["G\x01T / HTTP/1.1", "GET / HTTP/1.1\r\nContent-Length: x", "GET / HTTP/9999.x"]
)
def test_what_cannot_be_read_is_refused_with_the_policy(url: str, head: str) -> None:
    parts = urlsplit(url)
    with socket.create_connection((str(parts.hostname), int(parts.port or 0))) as connection:
        connection.sendall(f"{head}\r\n\r\n".encode())
        said = connection.makefile("rb").read().decode()
    assert " 400 Bad Request" in said
    assert "Content-Security-Policy: default-src 'none'" in said
    assert "X-Content-Type-Options: nosniff" in said


def test_nothing_was_executed_asked_for_or_complained_of() -> None:
    assert seen == []
