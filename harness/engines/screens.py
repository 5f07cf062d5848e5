"""A loaded page as a reader sees it who scrolls through it, at once and later."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from harness.engines.browser import Browser

MOST_SCREENS = 20
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
    found = {}
    for path in folder.glob("*.png"):
        number = path.stem.removesuffix(_LATER)
        found[Screenful(int(number), later=number != path.stem)] = path
    return dict(sorted(found.items()))


def _scroll_through(browser: Browser, folder: Path, suffix: str) -> None:
    for screenful in range(MOST_SCREENS):
        more = browser.scroll(screenful)
        browser.screenshot(folder / f"{screenful + 1:02d}{suffix}.png")
        if not more:
            return
