"""Whether a browser died, by what its driver says: an address or a text of the page does not tell."""

from __future__ import annotations

import pytest
from playwright.sync_api import Error
from selenium.common.exceptions import (
    InvalidSessionIdException,
    JavascriptException,
    UnexpectedAlertPresentException,
    WebDriverException,
)

from harness.engines.chromium.playwright import PlaywrightBrowser
from harness.engines.chromium.selenium import SeleniumBrowser
from harness.errors import Outcome

PAGE = "https://site.example/"
ELSEWHERE = f"{PAGE}crash?page%20crashed,%20has%20been%20closed"


@pytest.mark.parametrize(
    ("said", "died"),
    [
        ("Page.goto: Page crashed", True),
        ("Page.evaluate: Target crashed ", True),
        ("Page.evaluate: Target page, context or browser has been closed", True),
        (f'Page.goto: Navigation to "{PAGE}" is interrupted by another navigation to "{ELSEWHERE}"', False),
        ("Page.goto: net::ERR_CONNECTION_RESET at https://crashed.example/", False),
    ],
)
def test_playwright_tells_that_a_browser_died_in_words_that_no_address_has(said: str, *, died: bool) -> None:
    failed = PlaywrightBrowser.__new__(PlaywrightBrowser)._meant(Error(said))
    assert (failed.outcome, failed.died, said in failed.reason) == (Outcome.PAGE_ERROR, died, True)


@pytest.mark.parametrize(
    ("failure", "died"),
    [
        (WebDriverException("disconnected: not connected to DevTools"), True),
        (WebDriverException("tab crashed"), True),
        (InvalidSessionIdException("invalid session id"), True),
        (UnexpectedAlertPresentException("unexpected alert open: {Alert text : the tab crashed}"), False),
        (JavascriptException("javascript error: disconnected"), False),
    ],
)
def test_selenium_tells_that_a_browser_died_in_no_words_of_the_page(
    failure: WebDriverException, *, died: bool
) -> None:
    failed = SeleniumBrowser.__new__(SeleniumBrowser)._meant(failure)
    assert (failed.outcome, failed.died) == (Outcome.PAGE_ERROR, died)
