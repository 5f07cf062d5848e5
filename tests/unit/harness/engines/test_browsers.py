"""The table of engines' browsers is whole, and tells their versions under the names that environment.json has."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from harness.engines.browsers import browser_programs, browser_settings, maker_of, recorder_of
from harness.model.engine import BROWSERS, Capability, Engine

OF_CHROMIUM = {"flags", "preferences", "unresolved"}


def test_each_browser_has_its_maker_and_tells_its_own_version() -> None:
    for engine in BROWSERS:
        assert engine.value in maker_of(engine).programs()
    assert set(browser_programs()) >= {"chromium", "chromedriver", "firefox", "qtwebkit", "webkit", "weston"}


def test_an_engine_and_a_driver_are_imported_for_themselves_alone() -> None:
    made = (
        "from harness.engines.browsers import maker_of; from harness.model.engine import Engine; import sys"
    )
    asked = f"{made}; maker_of(Engine.CHROMIUM); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    packages = {".".join(name.split(".")[:3]) for name in done.stdout.split()}
    assert "harness.engines.chromium" in packages
    assert packages.isdisjoint(
        f"harness.engines.{engine}" for engine in BROWSERS if engine is not Engine.CHROMIUM
    )
    assert packages.isdisjoint({"selenium", "playwright"})


def test_what_tells_bodies_as_they_travel_records_live_pages() -> None:
    for engine in Engine:
        if engine.can(Capability.WIRE_BODIES):
            assert recorder_of(engine).__module__ == f"harness.engines.{engine}.recording"
        else:
            with pytest.raises(ValueError, match="bodies"):
                recorder_of(engine)


@pytest.mark.parametrize(
    ("engines", "keys"),
    [
        ({Engine.CHROMIUM}, OF_CHROMIUM),
        ({Engine.FIREFOX}, {"firefox"}),
        ({Engine.CHROMIUM, Engine.WEBKIT, Engine.QTWEBKIT}, OF_CHROMIUM | {"webkit", "qtwebkit"}),
        ({Engine.K6}, set()),
    ],
    ids=lambda each: "-".join(sorted(each)),
)
def test_only_the_settings_of_the_browsers_in_use_are_told(engines: set[Engine], keys: set[str]) -> None:
    assert set(browser_settings(engines)) == keys


def test_settings_are_the_same_once_they_are_stored_and_read() -> None:
    """What a run was begun with is compared with what it goes on with, key by key."""
    told = browser_settings(BROWSERS)
    assert json.loads(json.dumps(told)) == told


def test_no_engine_has_a_name_that_is_a_setting_of_chromium() -> None:
    assert not set(maker_of(Engine.CHROMIUM).settings()) & {engine.value for engine in BROWSERS}
