"""What must be the same on every machine."""

from __future__ import annotations

import pytest

from harness.cluster.messages import MACHINE_VARIABLE, differences, machine_name, source_digest

ONE = {"programs": {"chromium": "Chromium 1", "caddy": "v2"}, "fonts": {"fonts": 3}, "machine": {"cores": 2}}


def test_a_machine_that_differs_in_its_programs_is_told_how() -> None:
    other = {**ONE, "programs": {"chromium": "Chromium 2", "caddy": "v2"}, "machine": {"cores": 64}}
    assert differences(other, ONE) == ["programs.chromium: Chromium 2, elsewhere Chromium 1"]
    assert differences(ONE, ONE) == []


def test_what_one_lacks_is_a_difference() -> None:
    assert differences({"programs": {"chromium": "Chromium 1"}, "fonts": {"fonts": 3}}, ONE) == [
        "programs.caddy: None, elsewhere v2"
    ]


def test_the_sources_have_one_digest() -> None:
    assert len(source_digest()) == 64


def test_a_machine_is_called_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MACHINE_VARIABLE, "lab-7")
    assert machine_name() == "lab-7"
