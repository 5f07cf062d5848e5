"""Probes of a page as it stands once it is loaded: its console, text that no font can show, and how it looks, in its
first screenful and to a reader who scrolls through it, at once and later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from harness.engines.browser import CONSOLE_LIMIT, CONSOLE_MOST, Browser
from harness.model.kind import SCREENSHOT
from harness.model.metric import Source, Unit, metric
from harness.probes.evidence import Evidence
from harness.probes.probe import Load, OpenPage, Probe

SCREENS, GLYPHS = "screens", "glyphs"  # in `keep`, beside SCREENSHOT
MOST_SCREENS = 20
SCREENS_S = 300.0  # the longest that a trial waits for the pictures
_LATER = "-later"


class Screenful(NamedTuple):
    """One screenful of a page, from 1; `later`: once what its scripts put off has run."""

    number: int
    later: bool = False

    def __str__(self) -> str:
        return f"{self.number} (later)" if self.later else str(self.number)


def take_screens(browser: Browser, folder: Path, settle_s: float) -> None:
    """A screenshot of each screenful of the page, from the top, as 01.png and so on; then, once its timers have run
    and it had `settle_s` to settle, of each again, as 01-later.png. The browser must have held its timers.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _scroll_through(browser, folder, "")
    browser.run_timers()
    browser.linger(settle_s)
    _scroll_through(browser, folder, _LATER)


def taken(folder: Path) -> dict[Screenful, Path]:
    """The screenshots in a folder."""
    screenshots = {}
    for path in folder.glob("*.png"):
        number = path.stem.removesuffix(_LATER)
        screenshots[Screenful(int(number), later=number != path.stem)] = path
    return dict(sorted(screenshots.items()))


def _scroll_through(browser: Browser, folder: Path, suffix: str) -> None:
    for screenful in range(MOST_SCREENS):
        more = browser.scroll(screenful)
        browser.screenshot(folder / f"{screenful + 1:02d}{suffix}.png")
        if not more:
            return


@dataclass(frozen=True)
class Screens:
    """Whether the page came to rest after the pictures of its screenfuls."""

    at_rest: bool | None = None


class ScreensProbe(Probe):
    """Lets the page go on after its load; one of which pictures are wanted goes on until it has come to rest again.

    For the pictures the timers of the page's scripts are held until they have been taken once.
    """

    screens = Screens()

    @classmethod
    def wanted(cls, load: Load) -> bool:
        return bool(load.options.linger_s)

    def before(self, page: OpenPage) -> None:
        if self.load.keeps(SCREENS):
            with page.answers("answer of the page"):
                page.browser.hold_timers()

    def ask(self, page: OpenPage) -> None:
        linger_s = self.load.options.linger_s
        with page.answers("answer of the page that goes on", linger_s):
            page.browser.linger(linger_s)
        folder = self.load.kept(SCREENS, "screens")
        if folder is None:
            return
        with page.watch.limit(SCREENS_S, "pictures of the page's screenfuls"):
            take_screens(page.browser, folder, linger_s)
        self.screens = Screens(page.comes_to_rest())
        page.end()

    def seen(self) -> Screens:
        return self.screens


class ScreenshotProbe(Probe):
    """The visible part of the loaded page."""

    def ask(self, page: OpenPage) -> None:
        screenshot = self.load.kept(SCREENSHOT, "screenshot.png")
        if screenshot is not None:
            with page.answers("picture of the page"):
                page.browser.screenshot(screenshot)


@dataclass(frozen=True)
class PageConsole:
    """The first errors and uncaught exceptions, how many the browser knew of, and characters without a glyph."""

    errors: tuple[str, ...] | None = None
    error_count: int | None = None
    without_glyph: Mapping[str, int] | None = None


@dataclass(frozen=True)
class ConsoleMetrics:
    """What the page wrote to its console."""

    console_errors: tuple[str, ...] | None = metric(
        "Console errors",
        Unit.TEXTS,
        Source.CONSOLE,
        "errors on the page's console and uncaught exceptions, the first 20",
    )
    console_error_count: int | None = metric(
        "Console errors known", Unit.COUNT, Source.CONSOLE, "how many of these errors the browser knew of"
    )


class ConsoleProbe(Probe):
    """Asked after the load event: more errors are kept of a page that is looked at screenful by screenful."""

    metrics = ConsoleMetrics
    console = PageConsole()

    def ask(self, page: OpenPage) -> None:
        load, browser = self.load, page.browser
        most = CONSOLE_MOST if load.options.linger_s and load.keeps(SCREENS) else CONSOLE_LIMIT
        with page.answers("console of the page"):
            errors = browser.console_errors(most)
            self.console = PageConsole(errors, browser.console_error_count)
        if load.keeps(GLYPHS):
            with page.answers("text of the page"):
                lacking = browser.text_without_glyph()
            self.console = PageConsole(errors, self.console.error_count, lacking)

    def seen(self) -> PageConsole:
        return self.console

    @staticmethod
    def reduce(evidence: Evidence) -> Mapping[str, Any]:
        seen = evidence.of(PageConsole)
        return {"console_errors": seen.errors, "console_error_count": seen.error_count}
