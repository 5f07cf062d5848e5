"""Which of Firefox's processes hold pages."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from harness.engines.browser import Surroundings
from harness.engines.firefox.home import FirefoxHome

ISOLATED, RESERVE = b"Isolated Web Co\n", b"Web Content\n"
WORDS = (
    b"/usr/lib/firefox-esr/firefox-esr",
    b"-contentproc",
    b"-isForBrowser",
    b"-appDir",
    b"/usr/lib",
    b"6",
)


@pytest.mark.parametrize("between", [b" ", b"\0"])  # of a fork of its own, and of a program that was started
@pytest.mark.parametrize(
    ("kind", "name", "holds"),
    [(b"tab", ISOLATED, True), (b"tab", RESERVE, False), (b"socket", b"Socket Process\n", False)],
)
def test_pages_are_in_the_processes_of_tabs_that_are_not_in_reserve(
    between: bytes, kind: bytes, name: bytes, holds: bool
) -> None:
    home = FirefoxHome(Path("/nowhere"), cast("Surroundings", None))
    assert home.holds_pages(between.join((*WORDS, kind)) + b"\0", name) is holds


def test_the_browsers_own_process_holds_none() -> None:
    home = FirefoxHome(Path("/nowhere"), cast("Surroundings", None))
    assert not home.holds_pages(
        b"/usr/lib/firefox-esr/firefox-esr\0--marionette\0about:blank\0", b"firefox-esr\n"
    )
