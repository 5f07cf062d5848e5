"""The table of engines' browsers is whole, and tells their versions under the names that environment.json has."""

from __future__ import annotations

from harness.engines.browsers import MAKERS, browser_programs
from harness.model.engine import BROWSERS


def test_each_browser_has_its_maker_and_tells_its_own_version() -> None:
    assert set(MAKERS) == set(BROWSERS)
    for engine, maker in MAKERS.items():
        assert engine.value in maker.programs()
    assert set(browser_programs()) == {"chromium", "chromedriver", "firefox", "qtwebkit", "webkit", "weston"}
