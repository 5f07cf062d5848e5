"""A loaded page as a reader sees it who scrolls through it."""

from __future__ import annotations

from pathlib import Path

from harness.browser.driver import Browser

MOST_SCREENS = 20


def take_screens(browser: Browser, folder: Path) -> None:
    """A screenshot of each screenful of the page, from the top, as 01.png and so on."""
    folder.mkdir(parents=True, exist_ok=True)
    for screenful in range(MOST_SCREENS):
        more = browser.scroll(screenful)
        browser.screenshot(folder / f"{screenful + 1:02d}.png")
        if not more:
            return
