"""What a command is refused before it gets an enclosure."""

from __future__ import annotations

import argparse

import pytest

from harness.cli.enclosing import in_enclosure
from harness.errors import UsageError
from harness.lab.needs import STALL_VARIABLE


def test_nothing_is_measured_over_links_that_are_late_on_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STALL_VARIABLE, "8:200")
    with pytest.raises(UsageError, match=f"{STALL_VARIABLE} is set .* unset it"):
        in_enclosure(argparse.Namespace(), lambda: 0)
